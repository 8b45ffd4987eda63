"""A task of your own is one file: here a tagger, for files of a token and its tag per line.

rnnlab compare --plugin examples/tagging.py --task tagging --set task.data=train.tsv
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from rnnlab import Task, task
from rnnlab.answers.base import Answer
from rnnlab.answers.tags import Tags
from rnnlab.core.config import digest_of
from rnnlab.core.errors import DataError
from rnnlab.core.seeding import generator
from rnnlab.data import store
from rnnlab.data.encoded import EncodedData
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import Vocabulary

Sentence = list[tuple[str, str]]  # tokens with their tags


@task("tagging")
class Tagging(Task):
    """A tag for every token of a sentence; the file has a token and a tag per line."""

    shape: ClassVar[Answer] = Tags()
    question: ClassVar[str | None] = "the cat sat"
    split_by: ClassVar[str | None] = "split_seed"

    data: str = Field(description="A file: token, tab, tag; an empty line ends a sentence.")
    split_seed: int = Field(default=0, ge=0, description="Which sentences are held out: a tenth each.")

    def encoded(self) -> EncodedData:
        settings = self.to_dict() | {"fingerprint": None, "data": Path(self.data).read_text("utf-8")}
        return store.cached(digest_of(settings), self._encode)

    def _encode(self) -> EncodedData:
        every = list(self._read())
        order, tenth = generator(self.split_seed, "split").permutation(len(every)), max(1, len(every) // 10)
        parts = {"test": order[:tenth], "valid": order[tenth : 2 * tenth], "train": order[2 * tenth :]}
        counted = Counter(word for row in parts["train"] for word, _ in every[row])
        words = Vocabulary.build(list(counted), counted.values())
        tags = tuple(sorted({tag for sentence in every for _, tag in sentence}))
        return EncodedData(
            **{name: _sequences([every[row] for row in rows], rows, words, tags) for name, rows in parts.items()},
            labels=tags,
            tokenizer=Tokenizer("whitespace"),
            vocabulary=words,
            profile={"lines": [f"{Path(self.data).name}: {len(every):,} sentences, {len(tags)} tags"]},
        )

    def _read(self) -> Iterator[Sentence]:
        lines = enumerate(Path(self.data).read_text("utf-8").splitlines(), 1)
        for blank, sentence in groupby(lines, lambda line: not line[1].strip()):
            if not blank:
                yield [_pair(self.data, number, line) for number, line in sentence]


def _pair(file: str, number: int, line: str) -> tuple[str, str]:
    token, _, tag = line.partition("\t")
    if not token.strip() or not tag.strip():
        raise DataError(f"{file}:{number}: a line has a token, a tab and a tag (got {line!r})")
    return token.strip(), tag.strip()


def _sequences(part: Sequence[Sentence], rows: np.ndarray, words: Vocabulary, tags: Sequence[str]) -> Sequences:
    offsets = offsets_of(np.array([len(sentence) for sentence in part]))
    ids = np.array(words.encode([word for sentence in part for word, _ in sentence]), np.int32)
    targets = np.array([tags.index(tag) for sentence in part for _, tag in sentence], np.int64)
    return Sequences.end_to_end(ids, offsets, targets, rows, target_offsets=offsets)
