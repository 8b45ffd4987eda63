"""The laws as pairs of passes that must give a sequence the same answer, and by how much they don't."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlab.auditing.subject import VARIANTS, CannotRun, Run, Subject
from rnnlab.core.words import note

MORE = (1, 7, 64)  # steps of padding
ROUNDING = 1e-5  # float32; a batch of another shape adds in another order
GARBAGE = (1.0, 1e4)  # size of the numbers in the padding

RULES = {
    "repeatable": note("the same input gives the same answer twice"),
    "finite": note("answers are finite numbers"),
    "different": note("different sequences get different answers"),
    "padding": note("more padding doesn't change an answer"),
    "neighbours": note("the other sequences of a batch don't change an answer"),
    "order": note("shuffling a batch shuffles its answers and changes nothing else"),
    "garbage": note("what stands in the padding doesn't change an answer"),
    "training": note("in training mode, dropout off, neighbours and padding don't change an answer either"),
}
TRAINING_WITHOUT_PADDING = note("in training mode, dropout off, neighbours don't change an answer either")


@dataclass(frozen=True)
class Pair:
    """Two passes that must agree on a sequence."""

    change: str  # "7 more steps"
    plain: Run
    changed: Run

    @property
    def sequence(self) -> int:
        return self.changed.sequences[self.changed.row]


@dataclass(frozen=True)
class Case:
    """A pair, run."""

    pair: Pair
    length: int
    difference: float  # the largest, of any number of the answer; infinite where one is not finite
    problem: str | None = None  # why the changed pass can't be run


def padding(groups: dict[int, int], pad_to: int | None) -> list[Pair]:
    """``groups`` says which sequence is the first of a length. Each alone, and padded."""
    pairs = []
    for length, first in groups.items():
        ends = {note("{steps} more steps", steps=n) if n > 1 else note("1 more step"): length + n for n in MORE}
        if pad_to is not None and pad_to > length:
            ends = {name: steps for name, steps in ends.items() if steps < pad_to}
            ends[note("padded to {steps}", steps=pad_to)] = pad_to
        pairs += [Pair(name, Run((first,), length), Run((first,), steps)) for name, steps in ends.items()]
    return pairs


def neighbours(groups: dict[int, int], steps: int, own_lengths: bool) -> list[Pair]:
    """Each alone, and among others; with the same padding, so that it isn't what makes the difference."""
    pairs = []
    if own_lengths:
        for length, first in groups.items():
            batch = tuple(range(first, first + VARIANTS))
            pairs += [
                Pair(note("among others of its length"), Run((one,), length), Run(batch, length, row))
                for row, one in enumerate(batch)
            ]
    mixed = longest_first(groups)
    pairs += [
        Pair(note("among longer ones"), Run((one,), steps), Run(mixed, steps, row))
        for row, one in enumerate(mixed)
        if row
    ]
    return pairs


def order(groups: dict[int, int], steps: int) -> list[Pair]:
    """Longest first, as some modules need it; and shuffled."""
    straight = longest_first(groups)
    shuffled = tuple(straight[1::2] + straight[0::2])
    return [
        Pair(note("in another order"), Run(straight, steps, straight.index(one)), Run(shuffled, steps, row))
        for row, one in enumerate(shuffled)
    ]


def garbage(groups: dict[int, int]) -> list[Pair]:
    return [
        Pair(change, Run((first,), length + 7), Run((first,), length + 7, garbage=size))
        for size in GARBAGE
        for change in [note("numbers of size {size}", size=f"{size:g}")]
        for length, first in groups.items()
    ]


def training(first: int, length: int, *, with_padding: bool) -> list[Pair]:
    """Two sequences with two more; and four, padded."""
    two, four = (first, first + 1), tuple(range(first, first + VARIANTS))
    more, padded = note("with two more neighbours"), note("7 more steps of padding")
    pairs = [Pair(more, Run(two, length, row), Run(four, length, row)) for row in range(2)]
    if with_padding:
        pairs += [Pair(padded, Run(four, length, row), Run(four, length + 7, row)) for row in range(4)]
    return pairs


def longest_first(groups: dict[int, int]) -> tuple[int, ...]:
    """One sequence of each length; at least two of the longest, so that there is a batch."""
    lengths = sorted(groups, reverse=True)
    return (groups[lengths[0]] + 1, *(groups[length] for length in lengths))


def run(subject: Subject, pairs: Iterable[Pair]) -> list[Case]:
    """Raises `CannotRun` if a plain pass can't be run; a changed one that can't is a case with a problem."""
    cases = []
    for pair in pairs:
        length, plain = subject.length(pair.sequence), subject.answer(pair.plain)
        try:
            cases.append(Case(pair, length, largest_difference(plain, subject.answer(pair.changed))))
        except CannotRun as error:
            cases.append(Case(pair, length, 0.0, str(error)))
    return cases


def largest_difference(one: Tensor, other: Tensor) -> float:
    if one.shape != other.shape:
        raise CannotRun(
            note("the answer of one sequence has {one} numbers, then {other}", one=one.numel(), other=other.numel())
        )
    difference = (one.double() - other.double()).abs()
    same = (one == other) | (one.isnan() & other.isnan())  # inf - inf
    return float(difference.masked_fill(same, 0.0).nan_to_num(nan=torch.inf, posinf=torch.inf).max())


def scale(answers: Sequence[Tensor]) -> tuple[float, float]:
    """How much two passes may differ for the order of additions alone, and how much different sequences do.

    Rounding is relative to what is added up, which a small answer may not show: so a part of the spread that is too
    small to matter counts as rounding too."""
    together = torch.cat(list(answers))
    spread = float(together.double().std(0).mean())
    return max(100 * torch.finfo(together.dtype).eps * float(together.abs().max()), 1e-4 * spread), spread
