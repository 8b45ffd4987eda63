"""The file of sentences that were answered, with the answers as its tags."""

from collections.abc import Sequence
from pathlib import Path

from rnnlab.core.errors import DataError
from rnnlab.core.files import write_parts
from rnnlab.data.formats.source import Source
from rnnlab.data.tagged import schemes
from rnnlab.data.tagged.finding import open_layout
from rnnlab.data.tagged.sentences import Unit


def write_tagged(
    source_path: str | Path,
    out_path: str | Path,
    answers: Sequence[Sequence[str]],
    *,
    tags: str | None = None,
    tokens: str | None = None,
    unit: Unit | None = None,
    scheme: str | None = None,
) -> None:
    """The source as it is, but for its tags: one answer per sentence that `read_sentences` read there, and of it one
    tag per token. ``tags``, ``tokens`` and ``unit`` as they were then; ``scheme`` that of the answers, told from them
    where it isn't given."""
    layout = open_layout(Source.load(source_path), tags, tokens, unit, tagged=False)
    asked = (len(sentence.tokens) for sentence in layout.sentences(tagged=False) if not sentence.problem)
    if list(asked) != list(map(len, answers)):
        raise DataError("{path}: it has other sentences than those that were answered", path=source_path)
    if scheme is None:
        scheme = schemes.recognise({tag for answer in answers for tag in answer})
    write_parts(out_path, layout.answered(iter(answers), scheme))
