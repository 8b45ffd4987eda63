"""Which tokens have vectors that point the same way: what a network learnt to treat alike."""

from dataclasses import dataclass

import numpy as np
import torch

from rnnlab.data.vocabulary import SPECIAL, Vocabulary
from rnnlab.models.network import Network

SHOWN = 16  # tokens
NEAREST = 5
KNOWN = 2000  # the most frequent tokens, among which is searched: vectors of rare ones are mostly as they began
SHORTEST = 4  # letters of a word that is shown: shorter ones mostly hold a sentence together


@dataclass(frozen=True)
class Neighbours:
    token: str
    nearest: tuple[tuple[str, float], ...]  # and the cosine


def neighbours(network: Network, vocabulary: Vocabulary, characters: bool) -> tuple[Neighbours, ...]:
    """Of the most frequent letters, or of the most frequent words of some length; none without vectors of tokens."""
    if network.embedding is None:
        return ()
    words = vocabulary.words[: KNOWN + len(SPECIAL)]
    kept = [number for number, word in enumerate(words) if _is_shown(word, characters)]
    asked = [number for number in kept if characters or _has_content(words[number])]
    if len(kept) <= NEAREST:
        return ()
    with torch.no_grad():
        vectors = network.embedding.vectors(torch.tensor([kept]))[0].double().numpy()
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    places = {number: at for at, number in enumerate(kept)}
    found = []
    for number in asked[:SHOWN]:
        cosines = vectors @ vectors[places[number]]
        cosines[places[number]] = -np.inf
        best = np.argsort(-cosines, kind="stable")[:NEAREST].tolist()
        found.append(Neighbours(words[number], tuple((words[kept[at]], float(cosines[at])) for at in best)))
    return tuple(found)


def _is_shown(word: str, characters: bool) -> bool:
    """No ``<s>``, no sign and no space."""
    return word.isalpha() and (not characters or len(word) == 1)


def _has_content(word: str) -> bool:
    return len(word) >= SHORTEST or (len(word) >= 2 and not word.isascii())
