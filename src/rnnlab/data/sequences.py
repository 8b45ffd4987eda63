"""Rows of one split as flat arrays: no per-row Python objects, and no torch."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

IGNORE = -100  # the target of a step that isn't asked for; torch's losses leave it out
BLOCK = 1 << 18  # values gathered at a time: their positions take more memory than they do


@dataclass(frozen=True)
class Targets:
    """What would be right, row by row. Row i's are ``values[offsets[i]:offsets[i + 1]]``; without offsets each row has
    one."""

    values: np.ndarray
    """(rows,) or (M,): int64 classes, IGNORE where nothing is asked; or float32 numbers; or (rows, C) uint8, 1 where a
    row has a label."""
    offsets: np.ndarray | None = None  # (rows + 1,) int64
    unseen: np.ndarray | None = None  # (M,) bool: of tokens that the training rows lack; None: nobody asks
    characters: np.ndarray | None = None  # (M,) int32: how many a token is in a running text; None: one, or nobody asks
    scales: np.ndarray | None = None  # (rows, 3, C), of windows of series: as `Sequences.scales`, row by row

    def __len__(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1

    def sum_by_row(self, column: np.ndarray) -> np.ndarray:
        """(M,), a number for each target → (rows,) float64. A row without targets has 0."""
        if self.offsets is None:
            return np.asarray(column, np.float64)
        sums = np.concatenate([[0.0], np.cumsum(column, dtype=np.float64)])
        return sums[self.offsets[1:]] - sums[self.offsets[:-1]]


@dataclass(frozen=True)
class Sequences:
    """Rows of one split, as views of flat arrays: row i is ``values[starts[i]:ends[i]]``. Rows may overlap."""

    values: np.ndarray  # (N,) or, several per step, (N, K) int32 token ids; or (N, D) float32 features
    starts: np.ndarray  # (rows,) int64
    ends: np.ndarray  # (rows,) int64
    targets: np.ndarray  # as `Targets.values`; (M,) as target_offsets say
    groups: np.ndarray  # (rows,) int64: rows with the same number are not independent of each other
    tags: np.ndarray | None = None  # (rows,) int64, numbers into the task's tag names
    target_offsets: np.ndarray | None = None  # (rows + 1,) int64: as `Targets.offsets`
    scored_from: np.ndarray | None = None  # (rows,) int64: targets before are context, read and not counted; None: 0
    unseen: np.ndarray | None = None  # as `Targets.unseen`
    characters: np.ndarray | None = None  # as `Targets.characters`
    horizon: int | None = None  # of windows: row i's targets are targets[ends[i] : ends[i] + horizon], (H, C) float32
    known_from: int | None = None  # of windows: the columns from here on are known of steps ahead, too: the calendar
    series: np.ndarray | None = None  # (rows,) int32 or int64: of which series a window is
    origins: np.ndarray | None = None
    """(rows,) int64 of windows: the date of the first step that is asked, in seconds since 1970; without dates, its
    number in its series. None for windows to train on."""
    scales: np.ndarray | None = None
    """(series, 3, C) of windows: mean and standard deviation by which values were standardised, and the mean error of
    the seasonal naive forecast before the test part, all as in the file."""

    @classmethod
    def end_to_end(
        cls,
        values: np.ndarray,
        offsets: np.ndarray,
        targets: np.ndarray,
        groups: np.ndarray,
        tags: np.ndarray | None = None,
        target_offsets: np.ndarray | None = None,
    ) -> Self:
        """Rows that lie one after the other: row i is ``values[offsets[i]:offsets[i + 1]]``."""
        return cls(values, offsets[:-1], offsets[1:], targets, groups, tags, target_offsets)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> np.ndarray:
        return self.ends - self.starts

    @property
    def laid_end_to_end(self) -> bool:
        return len(self) > 0 and self.starts[0] == 0 and bool((self.starts[1:] == self.ends[:-1]).all())

    @cached_property
    def offsets(self) -> np.ndarray:
        """(rows + 1,), of rows that lie one after the other."""
        if not self.laid_end_to_end:
            raise ValueError("these rows don't lie end to end; take starts and ends")
        return np.append(self.starts, self.ends[-1:])

    def row(self, number: int) -> np.ndarray:
        return self.values[self.starts[number] : self.ends[number]]

    def chosen(self, rows: np.ndarray) -> Self:
        """Copies of some rows, in this order, laid end to end."""
        values, offsets = gather_rows(self.values, self.offsets, rows)
        if self.target_offsets is None:
            return type(self).end_to_end(values, offsets, self.targets[rows], self.groups[rows])
        targets, target_offsets = gather_rows(self.targets, self.target_offsets, rows)
        return type(self).end_to_end(values, offsets, targets, self.groups[rows], target_offsets=target_offsets)

    def in_windows(self, longest: int) -> tuple[Self, np.ndarray]:
        """Rows with a target at every step, in windows of up to ``longest`` steps that begin in the middle of the one
        before, as far as something in them counts: each target counts in the first window that has it, where half of
        the window stands before it. With the place that each of their targets has among those of the rows, -1 where it
        doesn't count."""
        assert self.target_offsets is not None
        stride = max(1, longest // 2)
        asked = self.scored_from if self.scored_from is not None else np.zeros(len(self), np.int64)
        starts, ends, counted, row_of = [], [], [], []
        for row, (length, first) in enumerate(zip(self.lengths.tolist(), asked.tolist(), strict=True)):
            reached = first  # targets before are context, or counted already
            at = 0
            while reached < length:
                end = min(at + longest, length)
                if end > reached:
                    starts.append(at)
                    ends.append(end)
                    counted.append(reached - at)
                    row_of.append(row)
                    reached = end
                at += stride
        begin, end, row = (np.array(one, np.int64) for one in (starts, ends, row_of))
        at = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)])
        place = at + np.repeat(self.target_offsets[row], end - begin)
        offsets = offsets_of(end - begin)
        windows = type(self)(
            self.values,
            self.starts[row] + begin,
            self.starts[row] + end,
            self.targets[place],
            self.groups[row],
            target_offsets=offsets,
            scored_from=np.array(counted, np.int64),
        )
        return windows, np.where(windows.truth.values == IGNORE, -1, place)

    @property
    def target_counts(self) -> np.ndarray:
        """(rows,)"""
        return np.ones(len(self), np.int64) if self.target_offsets is None else np.diff(self.target_offsets)

    @cached_property
    def truth(self) -> Targets:
        """What is asked and counted: targets that are context alone are ignored."""
        if self.horizon is not None:
            return Targets(self.ahead(np.arange(len(self))), scales=self.scales_of(np.arange(len(self))))
        if self.scored_from is None or self.target_offsets is None:
            return Targets(self.targets, self.target_offsets, self.unseen, self.characters)
        number = np.arange(len(self.targets)) - np.repeat(self.target_offsets[:-1], self.target_counts)
        context = number < np.repeat(self.scored_from, self.target_counts)
        asked = np.where(context, IGNORE, self.targets)
        return Targets(asked, self.target_offsets, self.unseen, self.characters)

    def ahead(self, rows: np.ndarray) -> np.ndarray:
        """(B, H, C) float32, of windows: what comes after each; NaN where it is missing."""
        return self.targets[self.steps_ahead(rows)]

    def steps_ahead(self, rows: np.ndarray) -> np.ndarray:
        """(B, H) of windows: where the steps are that come after each."""
        assert self.horizon is not None
        return self.ends[rows][:, None] + np.arange(self.horizon)

    def scales_of(self, rows: np.ndarray) -> np.ndarray:
        """(B, 3, C) float32, of windows."""
        assert self.series is not None
        assert self.scales is not None
        return self.scales[self.series[rows]].astype(np.float32)

    @property
    def ids_per_step(self) -> int:
        """Token ids; 1 for a series, too."""
        return self.values.shape[1] if self.values.ndim == 2 and self.values.dtype.kind == "i" else 1

    @property
    def tokens(self) -> np.ndarray:
        """(N,): of several ids per step the first, which is the token's own; of a series all values, (N, D)."""
        return np.ascontiguousarray(self.values[:, 0]) if self.ids_per_step > 1 else self.values


def balanced_weights(targets: np.ndarray, classes: int) -> np.ndarray:
    """(C,): what a row of each class counts so that all classes that have rows count the same, and a row 1 on
    average."""
    rows = np.bincount(targets, minlength=classes)
    return len(targets) / (np.count_nonzero(rows) * np.maximum(rows, 1))


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Where each row starts, and where the last one ends: (rows + 1,) int64."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def gather_rows(
    values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, max_length: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of flat ``values`` (N, …), in the given order, each cut to ``max_length``; with their own offsets."""
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    if max_length is not None:
        lengths = np.minimum(lengths, max_length)
    taken = offsets_of(lengths)
    gathered = np.empty((taken[-1], *values.shape[1:]), values.dtype)
    edges = np.searchsorted(taken, [*range(0, taken[-1], BLOCK), taken[-1]]).tolist()
    for first, last in itertools.pairwise(edges):
        block = slice(int(taken[first]), int(taken[last]))
        at = np.arange(block.start, block.stop)
        at += np.repeat(starts[first:last] - taken[first:last], lengths[first:last])
        gathered[block] = values[at]
    return gathered, taken
