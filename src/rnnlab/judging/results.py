"""The verdict on results of any framework: scores by model, seed and test row, from a file or from memory."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.errors import ConfigError, DataError, did_you_mean
from rnnlab.judging import verdict
from rnnlab.judging.findings import ArmScores, CostUnit, Verdict
from rnnlab.judging.result_runs import Results, runs_of
from rnnlab.judging.result_table import code, read_table, table_of

POINT = 0.01  # of shares: what few people would care about
MOST_MARGIN = 0.2  # of shares: "--margin 0.5" means half a point, not 50


def judge(
    results: Any,
    *,
    margin: float | None = None,
    lower_is_better: bool = False,
    metric: str | None = None,
    alpha: float = 0.05,
    cost_unit: CostUnit | None = None,
    columns: Mapping[str, str] | None = None,
    groups: Sequence[Any] | None = None,
    costs: Mapping[str, float] | None = None,
    baselines: Iterable[str] | None = None,
) -> Verdict:
    """Which model to use, how sure that is, and what would make it surer.

    ``results`` has one score per model, seed and test row: a file (.csv .tsv .jsonl .parquet), a dict of columns, a
    list of dicts, or a frame (pandas, polars, Arrow) with the columns model, seed, row and score, and optionally group,
    cost, baseline and diverged; ``columns={"model": "arm"}`` where they have other names. Or a dict of arrays
    ``(seeds, rows)`` by model, with ``groups`` of the rows, ``costs`` by model and the names of ``baselines``.

    ``margin`` is the largest difference that nobody would care about, in the unit of the score: one point where scores
    are 0 and 1, and to be given where they are anything else.
    """
    found = gather(results, columns, groups, costs, baselines)
    _check_options(found, alpha, cost_unit)
    share = found.right_or_wrong
    return verdict.judge(
        found.arms,
        found.groups,
        metric=metric or _metric(share, lower_is_better),
        alpha=alpha,
        margin=_margin(margin, share),
        cost_unit=cost_unit or "unnamed",
        unit="percent" if share else "number",
        lower_is_better=lower_is_better,
    )


def gather(
    results: Any,
    columns: Mapping[str, str] | None = None,
    groups: Sequence[Any] | None = None,
    costs: Mapping[str, float] | None = None,
    baselines: Iterable[str] | None = None,
) -> Results:
    """`judge` without the judgement: what it is asked, checked and in order. `Results` are taken as they are."""
    if _holds_arrays(results):
        _refuse_unused("a dict of arrays by model has no columns", columns=columns)
        return _from_arrays(results, groups, costs, baselines)
    _refuse_unused("a table says this in a column of its own", groups=groups, costs=costs, baselines=baselines)
    if isinstance(results, Results):
        _refuse_unused("these results are in order already", columns=columns)
        return results
    is_file = isinstance(results, str | Path)
    return runs_of(read_table(results, columns) if is_file else table_of(results, columns))


def _refuse_unused(reason: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise ConfigError("{name}: {reason}; leave it out", name=name, reason=reason)


# Arrays by model


def _holds_arrays(results: Any) -> bool:
    """A dict whose values are tables themselves, not columns."""
    if not isinstance(results, Mapping) or not results:
        return False
    firsts = [next(iter(values), None) if hasattr(values, "__iter__") else None for values in results.values()]
    return any(isinstance(first, list | tuple) or getattr(first, "ndim", 0) > 0 for first in firsts)


def _from_arrays(
    arrays: Mapping[str, Any],
    groups: Sequence[Any] | None,
    costs: Mapping[str, float] | None,
    baselines: Iterable[str] | None,
) -> Results:
    scores = {str(label): _array(str(label), values) for label, values in arrays.items()}
    widths = {label: found.shape[1] for label, found in scores.items()}
    rows = next(iter(widths.values()))
    other = next((label for label, width in widths.items() if width != rows), None)
    if other is not None:
        raise DataError(
            "the table: {next} has scores for {rows:,} rows and {other} for {widths:,}; every model "
            "must be scored on the same rows",
            next=next(iter(widths)),
            rows=rows,
            other=other,
            widths=widths[other],
        )
    costs = dict(costs or {})
    fixed = [baselines] if isinstance(baselines, str) else list(baselines or ())
    _refuse_strangers("costs", costs, scores)
    _refuse_strangers("baselines", fixed, scores)
    arms = [
        ArmScores(label, range(len(found)), found, costs.get(label), baseline=label in fixed)
        for label, found in scores.items()
    ]
    return Results(arms, _row_groups(groups, rows))


def _array(label: str, values: Any) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError):
        raise DataError(
            "the table: the scores of {label} aren't an array of numbers (seeds, rows)",
            label=label,
        ) from None
    if found.ndim != 2 or not found.size:
        raise DataError(
            "the table: the scores of {label} must have the shape (seeds, rows), found {shape}",
            label=label,
            shape=found.shape,
        )
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        at, row = bad[0]
        raise DataError(
            "the table: {label}, seed {at}, row {row}: the score is {found}; write a number",
            label=label,
            at=at,
            row=row,
            found=found[at, row],
        )
    return found


def _row_groups(groups: Sequence[Any] | None, rows: int) -> np.ndarray:
    if groups is None:
        return np.arange(rows)
    found = code(groups).codes
    if len(found) != rows:
        raise DataError(
            "groups: one group per row is needed, found {count:,} groups for {rows:,} rows", count=len(found), rows=rows
        )
    return found


def _refuse_strangers(option: str, labels: Iterable[str], known: Mapping[str, Any]) -> None:
    for label in labels:
        if label not in known:
            raise ConfigError(
                "{option}: there is no model {label!r}{hint}",
                option=option,
                label=label,
                hint=did_you_mean(str(label), known),
            )


# Options


def _check_options(found: Results, alpha: float, cost_unit: CostUnit | None) -> None:
    if not 0 < alpha < 1:
        raise ConfigError("alpha: must lie between 0 and 1 (got {alpha:g}); 0.05 gives 95 % intervals", alpha=alpha)
    if cost_unit is not None and all(arm.cost is None for arm in found.arms):
        raise ConfigError(
            "cost_unit: there are no costs that could be in {cost_unit}; add a column cost, or leave it out",
            cost_unit=cost_unit,
        )


def _margin(margin: float | None, right_or_wrong: bool) -> float:
    if margin is None:
        if right_or_wrong:
            return POINT
        raise ConfigError(
            "margin: scores that aren't 0 and 1 need a margin (--margin), in the unit of the score: "
            "the largest difference that you wouldn't care about. Two models within it count as "
            "equally good. For accuracy it is 0.01; for a loss or an error, ask what difference would "
            "make you change the model."
        )
    if not 0 < margin < float("inf"):
        raise ConfigError("margin: must be a number above 0 (got {margin:g})", margin=margin)
    if right_or_wrong and margin > MOST_MARGIN:
        raise ConfigError(
            "margin: scores of 0 and 1 are shares, so {margin:g} would be {margin_2:g} points (at "
            "most {most_margin:g}); half a point is 0.005",
            margin=margin,
            margin_2=100 * margin,
            most_margin=100 * MOST_MARGIN,
        )
    return margin


def _metric(right_or_wrong: bool, lower_is_better: bool) -> str:
    if right_or_wrong:
        return "error rate" if lower_is_better else "accuracy"
    return "score"
