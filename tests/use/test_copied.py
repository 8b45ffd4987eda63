"""Copied passages as a person sees them: pieces of the text."""

import numpy as np
import pytest

from rnnlab.data.tokenizers import Tokenizer
from rnnlab.use.copied import cut_by


@pytest.mark.parametrize(
    ("name", "tokens", "inside", "pieces"),
    [
        ("chars", list("abcd"), [0, 1, 1, 0], [("a", False), ("bc", True), ("d", False)]),
        ("words", ["To", "be", ",", "or", "(", "not", ")"], [1, 1, 0, 0, 1, 1, 1],
         [("To be", True), (", or", False), (" (not)", True)]),
        ("whitespace", ["a", "\n", "b", "c"], [0, 0, 1, 1], [("a\n", False), ("b c", True)]),
        ("chars", [], [], []),
    ],
)  # fmt: skip
def test_pieces_are_the_text(name, tokens, inside, pieces):
    tokenizer = Tokenizer(name, lowercase=False, verbatim=True)
    found = cut_by(np.array(inside, bool), tokens, tokenizer)
    assert list(found) == pieces
    assert "".join(piece for piece, _ in found) == tokenizer.join(tokens)
