"""From a table of scores to the runs of every model, each with a score for every test row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import both
from rnnlab.judging.findings import ArmScores
from rnnlab.judging.result_table import Coded, ResultTable

LARGEST_SEED = 2**53  # what JSON keeps to the last digit


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of every model, and the group of every test row ``groups (N,)``. ``notes`` say what was decided."""

    arms: list[ArmScores]
    groups: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def right_or_wrong(self) -> bool:
        """Whether all scores are 0 or 1, so that their mean is a share."""
        return all(bool(((arm.scores == 0) | (arm.scores == 1)).all()) for arm in self.arms)


def runs_of(table: ResultTable) -> Results:
    model, seed, row = (table.coded(name) for name in ("model", "seed", "row"))
    runs = _Runs.of(model, seed)
    scores = _grid(table, table.scores(), runs, row)
    numbers, note = _seed_numbers(seed.texts)
    costs = _said(table, "cost", table.costs(), runs.of_entry, runs.names)
    diverged = _said(table, "diverged", table.flags("diverged"), runs.of_entry, runs.names)
    baselines = _said(table, "baseline", table.flags("baseline"), model.codes, model.texts)
    arms = []
    for number, label in enumerate(model.texts):
        own = np.flatnonzero(runs.models == number)
        seeds = [numbers[one] for one in runs.seeds[own]]
        known = costs[own][~np.isnan(costs[own])]
        arms.append(
            ArmScores(
                label=label,
                seeds=seeds,
                scores=scores[own],
                cost=float(np.median(known)) if len(known) else None,
                baseline=bool(baselines[number]),
                diverged=[one for one, lost in zip(seeds, diverged[own], strict=True) if lost],
            )
        )
    return Results(arms, _groups(table, row), table.notes + note)


@dataclass(frozen=True, eq=False)
class _Runs:
    """The pairs of model and seed that the table has: ``of_entry (N,)`` numbers them, the others are by run."""

    of_entry: np.ndarray
    models: np.ndarray
    seeds: np.ndarray
    names: list[str]

    @classmethod
    def of(cls, model: Coded, seed: Coded) -> "_Runs":
        pairs, of_entry = np.unique(model.codes * len(seed.texts) + seed.codes, return_inverse=True)
        models, seeds = np.divmod(pairs, len(seed.texts))
        names = [f"{model.texts[m]}, seed {seed.texts[s]}" for m, s in zip(models, seeds, strict=True)]
        return cls(of_entry, models, seeds, names)


def _grid(table: ResultTable, scores: np.ndarray, runs: _Runs, row: Coded) -> np.ndarray:
    """``(runs, rows)``: every run has every row once."""
    rows = len(row.texts)
    cells = runs.of_entry * rows + row.codes
    grid = np.full(len(runs.names) * rows if len(cells) == len(runs.names) * rows else 0, np.nan)
    if len(grid):
        grid[cells] = scores
    if not len(grid) or np.isnan(grid).any():
        _refuse_twice(table, cells, runs, row)
        _refuse_gaps(table, runs, row)
    return grid.reshape(-1, rows)


def _refuse_twice(table: ResultTable, cells: np.ndarray, runs: _Runs, row: Coded) -> None:
    order = np.argsort(cells, kind="stable")
    again = np.flatnonzero(np.diff(cells[order]) == 0)
    if len(again):
        pairs = np.stack([order[again], order[again + 1]], axis=1)
        first, second = pairs[np.argmin(pairs[:, 1])]
        more = both("; there are {count:,} such scores", count=len(again)) if len(again) > 1 else ""
        raise DataError(
            "{where}: {names}, row {texts!r} has a score already, at {where_2}{more}\neach run has one "
            "score per row: remove one of the two, or give the second run a seed of its own",
            where=table.where(second),
            names=runs.names[runs.of_entry[first]],
            texts=row.texts[row.codes[first]],
            where_2=table.where(first),
            more=more,
        )


def _refuse_gaps(table: ResultTable, runs: _Runs, row: Coded) -> NoReturn:
    """No run has a row twice, so what is wrong is that some lack rows, or that some have rows that others don't."""
    runs_of_row = np.bincount(row.codes)
    many = len(runs.names)
    rare = np.flatnonzero(runs_of_row * 2 < many)
    if (many - runs_of_row[rare]).sum() * 2 > (many - runs_of_row).sum():  # most gaps are at rows that few runs have
        entry = int(np.flatnonzero(row.codes == rare[0])[0])
        more = both("; there are {count:,} such rows", count=len(rare)) if len(rare) > 1 else ""
        raise DataError(
            "{where}: row {texts!r} is in {runs_of_row} of {many:,} runs only, for example in "
            "{names}{more}\nevery run must be scored on the same rows, with the same names: mend the "
            "names, or remove these rows",
            where=table.where(entry),
            texts=row.texts[rare[0]],
            runs_of_row=runs_of_row[rare[0]],
            many=many,
            names=runs.names[runs.of_entry[entry]],
            more=more,
        )
    rows_of_run = np.bincount(runs.of_entry)
    short = np.flatnonzero(rows_of_run < len(row.texts))
    lacks = np.setdiff1d(np.arange(len(row.texts)), row.codes[runs.of_entry == short[0]])
    more = both("; {count:,} runs lack rows", count=len(short)) if len(short) > 1 else ""
    raise DataError(
        "{source}: {names} has no score for {count:,} of {count_2:,} rows, for example row "
        "{texts!r}{more}\nevery run must be scored on the same rows: add the scores, or remove "
        "these rows from all runs",
        source=table.source,
        names=runs.names[short[0]],
        count=len(lacks),
        count_2=len(row.texts),
        texts=row.texts[lacks[0]],
        more=more,
    )


def _groups(table: ResultTable, row: Coded) -> np.ndarray:
    """A number per row. Without groups every row is one by itself."""
    if "group" not in table:
        return np.arange(len(row.texts))
    group = table.coded("group")
    first = np.unique(row.codes, return_index=True)[1]  # the entry in which each row is first seen
    differs = np.flatnonzero(group.codes != group.codes[first][row.codes])
    if len(differs):
        entry, before = int(differs[0]), int(first[row.codes[differs[0]]])
        raise DataError(
            "{where}: row {texts!r} is in group {texts_2!r}, but in {texts_3!r} at {where_2}\na row "
            "belongs to one group, whichever run is scored on it",
            where=table.where(entry),
            texts=row.texts[row.codes[entry]],
            texts_2=group.texts[group.codes[entry]],
            texts_3=group.texts[group.codes[before]],
            where_2=table.where(before),
        )
    return group.codes[first]


def _said(table: ResultTable, name: str, values: np.ndarray, owners: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """What each run (or model) says, NaN where it says nothing; ``values`` and ``owners`` are by entry. It may say so
    in one of its lines, and must say the same in all."""
    entries = np.flatnonzero(~np.isnan(values))
    first = np.full(len(names), -1)
    first[owners[entries[::-1]]] = entries[::-1]
    differs = entries[values[entries] != values[first[owners[entries]]]]
    if len(differs):
        one, other = int(differs[0]), int(first[owners[differs[0]]])
        raise DataError(
            "{where}: {name} of {names} is {values:g}, but {values_2:g} at {where_2}\nit must be the "
            "same in all its lines",
            where=table.where(one),
            name=name,
            names=names[owners[one]],
            values=values[one],
            values_2=values[other],
            where_2=table.where(other),
        )
    return np.where(first < 0, np.nan, values[first])


def _seed_numbers(texts: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
    """Whole numbers stay what they are; if any seed is none, all are numbered in the order of the table."""
    try:
        numbers = [int(text) for text in texts]
    except ValueError:
        numbers = []
    if len(set(numbers)) == len(texts) and all(abs(number) < LARGEST_SEED for number in numbers):
        return numbers, ()
    shown = ", ".join(f"{number} is {text!r}" for number, text in enumerate(texts[:10]))
    more = f" and {len(texts) - 10} more" if len(texts) > 10 else ""
    return list(range(len(texts))), (f"seeds are numbered: {shown}{more}",)
