"""What the runs of a study have to say about a claim: every setting's value for every seed, or why there is none."""

import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from rnnlab.claims.claim import Where
from rnnlab.claims.quantities import AnsweredRows, Quantity, Reading, answered_rows, read, score_grid
from rnnlab.comparing.studies import Axis, AxisValue, Point, Repeat, Study
from rnnlab.core.errors import RunError, english


@dataclass(frozen=True)
class Note:
    """Something worth saying, by the name of its phrase (`show.claim_texts`), with what fills its gaps."""

    kind: str
    gaps: dict[str, Any] = field(default_factory=dict)


class Undecided(Exception):
    """There is no telling, and why."""

    def __init__(self, kind: str, **gaps: Any):
        super().__init__(kind)
        self.note: Note = Note(kind, gaps)


@dataclass(frozen=True, eq=False)
class Table:
    """Values of several settings for the seeds that have all of them."""

    points: tuple[Point, ...]
    seeds: tuple[int, ...]
    readings: Mapping[tuple[str, int], Reading]  # by the point's label and the seed
    rows: Mapping[tuple[str, int], AnsweredRows]  # of a per-row quantity
    grid: float = 0.0  # the steps in which all values move

    def of(self, points: Sequence[Point], seed: int) -> float:
        """The mean over some of the settings."""
        return statistics.fmean(self.readings[point.label, seed].value for point in points)

    def mean(self, points: Sequence[Point]) -> float:
        return statistics.fmean(self.of(points, seed) for seed in self.seeds)

    def capped(self, points: Sequence[Point], seed: int | None = None) -> int:
        """How many of these runs never arrived, with this seed or with all."""
        seeds = self.seeds if seed is None else (seed,)
        return sum(self.readings[point.label, number].capped for point, number in product(points, seeds))

    @property
    def none_arrived(self) -> bool:
        return all(reading.capped for reading in self.counted())

    def counted(self) -> Iterator[Reading]:
        return (self.readings[point.label, seed] for point, seed in product(self.points, self.seeds))

    @property
    def resolution(self) -> float:
        return max(self.grid, *(reading.resolution for reading in self.counted()))


def select(study: Study, where: Where) -> list[Point]:
    """The points with these values; Undecided if there is none."""
    wanted = {axis: value if isinstance(value, tuple) else (value,) for axis, value in where.items()}
    found = [p for p in study.points if all(p.at.get(axis) in values for axis, values in wanted.items())]
    if not found:
        raise Undecided("no point", study=study.name, where=describe(where))
    return found


def cells(
    points: Sequence[Point], axes: Sequence[Axis], named: Collection[str]
) -> dict[tuple[AxisValue, ...], list[Point]]:
    """The points by the values of the axes that aren't ``named``."""
    others = [axis.name for axis in axes if axis.name not in named]
    found: dict[tuple[AxisValue, ...], list[Point]] = {}
    for point in points:
        found.setdefault(tuple(point.at[name] for name in others), []).append(point)
    return found


def gather(points: Sequence[Point], quantity: Quantity, study: Study) -> Table:
    """Only seeds that have a value at every point are kept: the same seeds are compared everywhere."""
    if quantity.needs_target and study.target is None:
        raise Undecided("no target", study=study.name)
    readings: dict[tuple[str, int], Reading] = {}
    rows: dict[tuple[str, int], AnsweredRows] = {}
    for point, repeat in ((chosen, repeat) for chosen in points for repeat in chosen.repeats):
        key = (point.label, repeat.seed)
        if quantity.per_row:
            answers = _answers(quantity, repeat)
            if answers is not None:
                rows[key], readings[key] = answers, Reading(float(answers.values.mean()))
        elif (reading := read(quantity, repeat, study)) is not None:
            readings[key] = reading
    for point in points:
        if not any((point.label, repeat.seed) in readings for repeat in point.repeats):
            states = states_of([point]) or "not run"
            raise Undecided("no value", point=point.label, quantity=quantity.text, states=states)
    seeds = sorted({seed for _, seed in readings})
    seeds = [seed for seed in seeds if all((point.label, seed) in readings for point in points)]
    if not seeds:
        raise Undecided("incomplete", quantity=quantity.text, states=states_of(points))
    for seed in seeds if quantity.per_row else ():
        if any(rows[p.label, seed].test_set != rows[p.label, seeds[0]].test_set for p in points):
            raise Undecided("rows by seed")
    grid = score_grid(quantity, (repeat for point in points for repeat in point.repeats))
    return Table(tuple(points), tuple(seeds), readings, rows, grid)


def yes_or_no(points: Sequence[Point], quantity: Quantity, study: Study) -> list[dict[int, bool]]:
    """For each point, whether it is so, by seed. Every run that finished or diverged counts, with or without a
    counterpart elsewhere."""
    if quantity.needs_target and study.target is None:
        raise Undecided("no target", study=study.name)
    found = []
    for point in points:
        readings = {repeat.seed: read(quantity, repeat, study) for repeat in point.repeats}
        found.append({seed: reading.value == 1 for seed, reading in readings.items() if reading is not None})
    if not any(found):
        states = states_of(points) or "not run"
        raise Undecided("no value", point=points[0].label, quantity=quantity.text, states=states)
    return found


def _answers(quantity: Quantity, repeat: Repeat) -> AnsweredRows | None:
    try:
        return answered_rows(quantity, repeat)
    except RunError as error:
        raise Undecided("unreadable", reason=english(error)) from None
    except OSError as error:
        raise Undecided("unreadable", reason=f"{repeat.path}: {error.strerror or error}") from None


def states_of(points: Sequence[Point]) -> str:
    """``3 finished, 2 diverged``."""
    return listed_states(repeat.status for point in points for repeat in point.repeats)


def listed_states(states: Iterable[str]) -> str:
    return ", ".join(f"{count} {state}" for state, count in Counter(states).items())


def describe(where: Where) -> str:
    """``lr 0.1/0.5, layers 2``: the last part of an axis's name says enough."""
    parts = []
    for axis, value in where.items():
        values = value if isinstance(value, tuple) else (value,)
        parts.append(f"{axis.rpartition('.')[2]} {'/'.join(map(str, values))}")
    return ", ".join(parts)
