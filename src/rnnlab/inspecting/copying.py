"""What of a sample stands verbatim in the training text: the longest run, and the share that lies in long ones.

The training text is sorted once by what follows each place (a suffix array: ids compared up to the end of their row).
Then the longest run that begins at a token of a sample is found by halving, for all tokens at the same time.
"""

from dataclasses import dataclass

import numpy as np

LEAST: dict[str, int] = {"characters": 30, "words": 8}  # tokens, from which on a run is no chance
BLOCK = 32  # tokens that are compared at once


@dataclass(frozen=True)
class Passage:
    """A run that can't be longer on either side: the tokens ``start`` to ``end`` of the sample are those of the
    training text from ``place`` on (one place of maybe several)."""

    start: int
    end: int
    place: int


@dataclass(frozen=True)
class Copied:
    longest: Passage | None  # None: no token of the sample stands in the training text
    share: float  # of the sample's tokens, those in a passage
    passages: tuple[Passage, ...]  # of at least so many tokens, by start; they may overlap
    inside: np.ndarray  # (tokens,) bool: whether a token lies in a passage


@dataclass(frozen=True)
class TrainingText:
    """Rows, each followed by -1, which no sample has: so no run reaches from one row into another."""

    ids: np.ndarray  # (N + rows,) int32
    order: np.ndarray  # (N + rows,) int32: places, by what follows them

    @classmethod
    def sort(cls, ids: np.ndarray, offsets: np.ndarray) -> "TrainingText":
        """Of rows ``ids[offsets[r]:offsets[r + 1]]``; a stream is one row."""
        if len(ids) and ids.min() < 0:
            raise ValueError(f"ids must be from 0 on, and are from {ids.min()} on")
        rows = len(offsets) - 1
        text = np.full(len(ids) + rows, -1, np.int32)
        text[np.arange(len(ids)) + np.repeat(np.arange(rows), np.diff(offsets))] = ids
        return cls(text, _sorted_suffixes(text))

    def copied(self, sample: np.ndarray, least: int) -> Copied:
        """``sample`` (tokens,) int: ids, those that the training text lacks included."""
        if least < 1:
            raise ValueError(f"least must be at least 1, and is {least}")
        lengths, places = self.longest_runs(sample)
        begins = lengths > np.append(0, lengths[:-1] - 1)[: len(lengths)]  # else it is the end of the one before
        passages = [
            Passage(int(start), int(start + lengths[start]), int(places[start]))
            for start in np.flatnonzero(begins & (lengths >= least))
        ]
        inside = np.zeros(len(sample), bool)
        for passage in passages:
            inside[passage.start : passage.end] = True
        longest = None
        if lengths.any():
            start = int(lengths.argmax())
            longest = Passage(start, int(start + lengths[start]), int(places[start]))
        return Copied(longest, float(inside.mean()) if len(sample) else 0.0, tuple(passages), inside)

    def longest_runs(self, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(tokens,) each: how many tokens from here on stand in the training text, and where, as a place in those ids
        that `sort` was given (0 if none do)."""
        own = np.append(np.where(sample < 0, -3, sample), -2).astype(np.int64)  # an end that nothing is equal to
        starts = np.arange(len(sample))
        low, high = np.full(len(sample), -1), np.full(len(sample), len(self.order))  # below; not below
        of_low, of_high = np.zeros(len(sample), np.int64), np.zeros(len(sample), np.int64)  # tokens in common
        while np.any(open_ := high - low > 1):
            middle = (low + high)[open_] // 2
            same, below = self._compare(own, starts[open_], self.order[middle], np.minimum(of_low, of_high)[open_])
            rows = np.flatnonzero(open_)
            low[rows[below]], of_low[rows[below]] = middle[below], same[below]
            high[rows[~below]], of_high[rows[~below]] = middle[~below], same[~below]
        lengths = np.maximum(of_low, of_high)
        nearest = np.where(of_low >= of_high, low, high)
        places = self.order[nearest[lengths > 0]].astype(np.int64)
        found = np.zeros(len(sample), np.int64)
        found[lengths > 0] = places - np.searchsorted(np.flatnonzero(self.ids < 0), places)
        return lengths, found

    def _compare(
        self, own: np.ndarray, starts: np.ndarray, places: np.ndarray, same: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """How many tokens are the same, of which so many are known to be, and whether the training text is below."""
        same, going = same.copy(), np.arange(len(starts))
        while len(going):
            steps = same[going, None] + np.arange(BLOCK)
            here = own[np.minimum(starts[going, None] + steps, len(own) - 1)]
            there = self.ids[np.minimum(places[going, None] + steps, len(self.ids) - 1)]
            differ = here != there
            first = np.where(differ.any(axis=1), differ.argmax(axis=1), BLOCK)
            same[going] += first
            going = going[first == BLOCK]
        return same, self.ids[np.minimum(places + same, len(self.ids) - 1)] < own[starts + same]


def _sorted_suffixes(text: np.ndarray) -> np.ndarray:
    """(N,) int32: places, by what follows them; the end is below all tokens.

    A place's rank is how many are below it by their first k tokens. The ranks of a place and of that k tokens further
    on are its rank by 2 k tokens (Manber & Myers 1993); only places with a rank that others have, too, are sorted on.
    """
    size = len(text)
    k, keys = _first_tokens(text)
    active, ranks = np.arange(size), np.zeros(size, np.int64)
    while len(active):
        order = np.argsort(keys)
        active, keys = active[order], keys[order]
        before = ranks[active]
        differs = np.append(True, keys[1:] != keys[:-1])
        other_rank = np.append(True, before[1:] != before[:-1])
        numbers = np.arange(len(active))
        of_key, of_rank = (np.maximum.accumulate(np.where(first, numbers, 0)) for first in (differs, other_rank))
        ranks[active] = before + of_key - of_rank
        shared = ~(differs & np.append(differs[1:], True))
        active = active[shared]
        further = np.append(ranks, -1)[np.minimum(active + k, size)]
        keys = ranks[active] * (size + 1) + further + 1
        k *= 2
    found = np.empty(size, np.int32)
    found[ranks] = np.arange(size)
    return found


def _first_tokens(text: np.ndarray) -> tuple[int, np.ndarray]:
    """As many tokens as 63 bits hold, and a key (N,) int64 of so many from each place on; 0 stands for none."""
    bits = int(text.max(initial=0) + 2).bit_length()
    count = 63 // bits
    codes = np.append(text.astype(np.int64) + 2, np.zeros(count, np.int64))
    keys = np.zeros(len(text), np.int64)
    for further in range(count):
        keys = keys << bits | codes[further : further + len(text)]
    return count, keys
