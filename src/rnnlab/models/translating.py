"""What translates without a network: what is read, as it is; the translation of the most similar training text; and
word for word, by a dictionary that is learnt (IBM model 1)."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rnnlab.data.preprocessor import Preprocessor, Side
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.data.vocabulary import END, PADDING, UNKNOWN
from rnnlab.models.baselines import Baseline, Inputs, Learnt, Taught, baseline

if TYPE_CHECKING:
    from scipy import sparse

BEYOND = np.iinfo(np.int64).max
BLOCK = 512  # texts that are looked up at a time
NULL = PADDING  # stands for the word that none is: words of a translation that no word was read for


class Translating(Baseline):
    """One that writes a text for a text."""

    inputs: ClassVar[Inputs] = "tokens"
    answers: ClassVar[Taught] = "translation"

    def fit_pairs(self, train: Sequences, valid: Sequences, preprocessor: Preprocessor) -> Learnt:
        """Targets are what is to be written, each ending with `</s>`."""
        raise NotImplementedError

    def written(self, learnt: Learnt, data: Sequences, preprocessor: Preprocessor) -> list[list[int]]:
        """For each row the ids of what is written, the last of them `</s>`."""
        raise NotImplementedError

    def texts(
        self, learnt: Learnt, data: Sequences, preprocessor: Preprocessor, given: Sequence[str] | None = None
    ) -> list[str]:
        """What is written, as texts. ``given`` are the rows as a person wrote them, where they are known."""
        writes = _writes(preprocessor)
        return [writes.written(ids) for ids in self.written(learnt, data, preprocessor)]


@baseline("copy")
class Copied(Translating):
    """Every text as it was read: names and numbers are right, and whatever both sides spell alike."""

    title: ClassVar[str] = "what is read, as it is"

    def fit_pairs(self, train: Sequences, valid: Sequences, preprocessor: Preprocessor) -> Learnt:
        """(words read,) the number that each has among the words that are written, or unknown."""
        read, writes = preprocessor.vocabulary, _writes(preprocessor).vocabulary
        assert read is not None
        assert writes is not None
        numbers = np.full(len(read), UNKNOWN, np.int64)
        spelled = {word.lower(): number for word, number in reversed(writes.index.items())} | writes.index
        for word, number in read.index.items():
            numbers[number] = spelled.get(word, UNKNOWN)
        return {"numbers": numbers}

    def written(self, learnt: Learnt, data: Sequences, preprocessor: Preprocessor) -> list[list[int]]:
        """Words that are never written are unknown."""
        numbers = learnt["numbers"]
        numbers = np.where(data.tokens < len(numbers), numbers[np.minimum(data.tokens, len(numbers) - 1)], UNKNOWN)
        return [[*numbers[start:end].tolist(), END] for start, end in zip(data.starts, data.ends, strict=True)]

    def texts(
        self, learnt: Learnt, data: Sequences, preprocessor: Preprocessor, given: Sequence[str] | None = None
    ) -> list[str]:
        """As a person wrote them; else the words that are known on the side that is read."""
        if given is not None:
            return list(given)
        tokenizer, vocabulary = preprocessor.tokenizer, preprocessor.vocabulary
        assert tokenizer is not None
        assert vocabulary is not None
        rows = (data.tokens[start:end] for start, end in zip(data.starts, data.ends, strict=True))
        return [tokenizer.join(vocabulary.spelled(row[row != UNKNOWN].tolist())) for row in rows]


@baseline("translation-memory")
class TranslationMemory(Translating):
    """The translation of the training text that shares most with what is read: words count by how rare they are."""

    title: ClassVar[str] = "translation of the nearest training text"

    def fit_pairs(self, train: Sequences, valid: Sequences, preprocessor: Preprocessor) -> Learnt:
        """Texts that are read and what was written for them, in an order that doesn't depend on that of the rows."""
        assert train.target_offsets is not None
        rows = [
            (train.row(row) if train.ids_per_step == 1 else train.row(row)[:, 0], _target(train, row))
            for row in range(len(train))
        ]
        rows.sort(key=lambda pair: (pair[0].tolist(), pair[1].tolist()))
        words = int(train.tokens.max(initial=0)) + 1
        held = _bags(np.concatenate([a for a, _ in rows]), offsets_of(np.array([len(a) for a, _ in rows])), words)
        idf = np.log((len(rows) + 1) / (1 + np.bincount(held.indices, minlength=words))) + 1
        idf[[PADDING, UNKNOWN]] = 0
        return {
            "read": np.concatenate([a for a, _ in rows]).astype(np.int32),
            "read_offsets": offsets_of(np.array([len(a) for a, _ in rows])),
            "written": np.concatenate([b for _, b in rows]).astype(np.int32),
            "written_offsets": offsets_of(np.array([len(b) for _, b in rows])),
            "idf": idf,
        }

    def written(self, learnt: Learnt, data: Sequences, preprocessor: Preprocessor) -> list[list[int]]:
        nearest = self.nearest(learnt, data)
        ends = learnt["written_offsets"]
        return [learnt["written"][ends[row] : ends[row + 1]].tolist() for row in nearest.tolist()]

    def nearest(self, learnt: Learnt, data: Sequences) -> np.ndarray:
        """(rows,): the number of the nearest text in memory: of the words of both, each weighing its idf, it shares the
        largest part. Of equals the one whose length is closest, then the first."""
        idf, lengths = learnt["idf"], np.diff(learnt["read_offsets"])
        memory = _bags(learnt["read"], learnt["read_offsets"], len(idf))
        known = np.where(data.tokens < len(idf), data.tokens, UNKNOWN)
        asked = _bags(known, data.offsets, len(idf))
        by_word, weights = memory.T.tocsr(), memory @ idf
        found = np.empty(len(data), np.int64)
        for start in range(0, len(data), BLOCK):
            block = asked[start : start + BLOCK]
            whole = (block @ idf)[:, None] + weights
            block.data *= idf[block.indices]
            shared = (block @ by_word).toarray()
            near = np.round(shared / np.maximum(whole - shared, 1e-9), 9)  # the same sums in another order are equals
            apart = np.abs(lengths - data.lengths[start : start + BLOCK, None])
            found[start : start + BLOCK] = np.where(near == near.max(1, keepdims=True), apart, BEYOND).argmin(1)
        return found


@baseline("ibm1")
class Ibm1(Translating):
    """Word for word in the order of what is read, by a dictionary that is learnt from the pairs: expectation
    maximisation says which word each token was written for (Brown et al. 1993, model 1), and each word is written as
    the tokens side by side that were written for it most often, which may be none."""

    title: ClassVar[str] = "word for word (IBM model 1)"

    iterations: int = Field(default=10, ge=1, le=1000, description="Rounds of expectation maximisation.")

    def fit_pairs(self, train: Sequences, valid: Sequences, preprocessor: Preprocessor) -> Learnt:
        """t(written | read) for all pairs of words that stand in a training pair. What stands there several times
        counts as often."""
        writes = _writes(preprocessor).vocabulary
        assert writes is not None
        size = len(writes)
        read, write, token = _together(train)
        cells, cell = np.unique(read.astype(np.int64) * size + write, return_inverse=True)
        sources = cells // size
        chance = np.ones(len(cells)) / len(cells)
        for _ in range(self.iterations):
            weight = chance[cell]
            weight /= np.bincount(token, weight)[token]
            counts = np.bincount(cell, weight, len(cells))
            chance = counts / np.bincount(sources, counts)[sources]
        words, written = _dictionary(train, _explained(chance[cell], token))
        return {
            "cells": cells,
            "chance": chance,
            "size": np.array([size], np.int64),
            "words": words,
            "written": np.array([number for one in written for number in one], np.int64),
            "written_offsets": offsets_of(np.array([len(one) for one in written], np.int64)),
        }

    def written(self, learnt: Learnt, data: Sequences, preprocessor: Preprocessor) -> list[list[int]]:
        """What was never read is left out, too."""
        flat, ends = learnt["written"].tolist(), learnt["written_offsets"].tolist()
        known = {word: flat[ends[at] : ends[at + 1]] for at, word in enumerate(learnt["words"].tolist())}
        rows = (data.tokens[start:end].tolist() for start, end in zip(data.starts, data.ends, strict=True))
        return [[*(number for word in row for number in known.get(word, ())), END] for row in rows]

    def alignment(self, learnt: Learnt, read: Sequence[int], written: Sequence[int]) -> np.ndarray:
        """(T, S): how likely each of T written words was written for each of S words that were read; what a row lacks
        to 1 is for none of them."""
        keys = np.array([NULL, *read], np.int64) * learnt["size"][0] + np.asarray(written, np.int64)[:, None]
        chance = _looked_up(learnt["cells"], learnt["chance"], keys)
        whole = chance.sum(1, keepdims=True)
        return (chance / np.where(whole > 0, whole, 1))[:, 1:]


def _explained(chance: np.ndarray, token: np.ndarray) -> np.ndarray:
    """(tokens,): by which of the words that were read, none being 0, each written token is explained best; the last of
    equals, so that a word comes before none. ``token`` numbers that of each explanation, in their order."""
    starts = np.flatnonzero(np.diff(token, prepend=-1))
    best = np.flatnonzero(chance >= np.maximum.reduceat(chance, starts)[token] * (1 - 1e-9))
    return best[np.flatnonzero(np.diff(token[best], append=-1))] - starts


def _dictionary(train: Sequences, explained: np.ndarray) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Words that are read, in order, and what each is written as most often; of equals the smaller ids."""
    counts: dict[int, Counter[tuple[int, ...]]] = defaultdict(Counter)
    tokens, at = train.tokens, 0
    for row, (start, end) in enumerate(zip(train.starts.tolist(), train.ends.tolist(), strict=True)):
        target = _target(train, row)[:-1].tolist()
        words = tokens[start:end].tolist()
        places, at = explained[at : at + len(target)].tolist(), at + len(target)
        runs = [
            (place, tuple(t for _, t in run)) for place, run in groupby(zip(places, target, strict=True), itemgetter(0))
        ]
        for place, run in runs:
            if place and UNKNOWN not in run:
                counts[words[place - 1]][run] += 1
        for number in set(range(1, len(words) + 1)).difference(places):
            counts[words[number - 1]][()] += 1
    known = sorted(word for word in counts if word != UNKNOWN)
    return np.array(known, np.int64), [min(counts[w], key=lambda run: (-counts[w][run], run)) for w in known]


def _together(train: Sequences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each word that is read, and none, beside each that is written for it: both, and the number of the written token.
    The end isn't translated."""
    assert train.target_offsets is not None
    tokens = train.tokens
    read, written, token = [], [], []
    at = 0
    for row, (start, end) in enumerate(zip(train.starts.tolist(), train.ends.tolist(), strict=True)):
        words = np.append(NULL, tokens[start:end])
        target = train.targets[train.target_offsets[row] : train.target_offsets[row + 1] - 1]
        read.append(np.tile(words, len(target)))
        written.append(np.repeat(target, len(words)))
        token.append(np.repeat(np.arange(at, at + len(target)), len(words)))
        at += len(target)
    return np.concatenate(read), np.concatenate(written), np.concatenate(token)


def _looked_up(cells: np.ndarray, chance: np.ndarray, keys: np.ndarray) -> np.ndarray:
    at = np.minimum(np.searchsorted(cells, keys), len(cells) - 1)
    return np.where(cells[at] == keys, chance[at], 0.0)


def _target(data: Sequences, row: int) -> np.ndarray:
    assert data.target_offsets is not None
    return data.targets[data.target_offsets[row] : data.target_offsets[row + 1]]


def _writes(preprocessor: Preprocessor) -> Side:
    assert preprocessor.writes is not None
    return preprocessor.writes


def _bags(values: np.ndarray, offsets: np.ndarray, words: int) -> "sparse.csr_array":
    """(rows, words): which words each row has."""
    from scipy import sparse

    where = values.astype(np.int64), offsets.copy()  # which scipy would change in place
    found = sparse.csr_array((np.ones(len(values)), *where), shape=(len(offsets) - 1, words))
    found.sum_duplicates()
    found.data[:] = 1
    return found
