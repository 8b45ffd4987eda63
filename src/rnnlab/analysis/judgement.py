"""From a claim and the runs to a verdict: supported, contradicted, or cannot tell, and on what grounds.

The whole 95 % interval decides. Each measure makes one number of every seed (`analysis.evidence` finds the values,
`analysis.intervals` the interval); whatever is missing leads to "cannot tell" with its reason, never to an error.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from rnnlab.analysis import intervals
from rnnlab.analysis.claim_findings import Finding, Note, Run
from rnnlab.analysis.claims import Claim, Verdict
from rnnlab.analysis.evidence import Table, Undecided, cells, gather, select, states_of
from rnnlab.analysis.intervals import LEVEL, Interval, Share
from rnnlab.analysis.quantities import read
from rnnlab.analysis.studies import AxisValue, Point, Study


def decide(claim: Claim, studies: Mapping[str, Study]) -> Finding:
    """Look at the runs and judge."""
    study = studies.get(claim.study)
    finding = Finding(claim)
    if study is None or not study.points:
        return replace(finding, reason=Note("not run", {"study": claim.study}))
    try:
        points = _concerned(claim, study)
        finding = replace(finding, runs=_runs(points), seeds=_all_seeds(points))
        return _MEASURES[claim.measure](finding, study)
    except Undecided as undecided:
        return replace(finding, verdict="cannot tell", reason=undecided.note)


def _concerned(claim: Claim, study: Study) -> list[Point]:
    points = select(study, claim.a)
    return points + [point for point in select(study, claim.b) if point not in points] if claim.b else points


def _runs(points: Sequence[Point]) -> tuple[Run, ...]:
    return tuple(
        Run(point.label, repeat.seed, repeat.status, repeat.digest, repeat.path)
        for point in points
        for repeat in point.repeats
    )


def _all_seeds(points: Sequence[Point]) -> tuple[int, ...]:
    return tuple(sorted({repeat.seed for point in points for repeat in point.repeats}))


# The measures


def _value(finding: Finding, study: Study) -> Finding:
    claim, quantity = finding.claim, finding.claim.parsed_quantity
    points = select(study, claim.a)
    table = gather(points, quantity, study)
    _refuse_if_none_arrived(table)
    if quantity.per_row:
        interval, notes = _crossed(table, {point.label: 1 / len(points) for point in points})
    else:
        per_seed = [table.of(points, seed) for seed in table.seeds]
        interval, notes = _over_seeds(finding, per_seed, table.resolution, of_two=False)
    return _judged(_with(finding, table, study, notes), interval, table)


def _difference(finding: Finding, study: Study) -> Finding:
    claim, quantity = finding.claim, finding.claim.parsed_quantity
    pairs, table = _paired(finding, study)
    sides = (table.mean(select(study, claim.a)), table.mean(select(study, claim.b)))
    if quantity.per_row:
        coefficients = {p.label: 1 / len(a) / len(pairs) for a, _ in pairs for p in a}
        coefficients |= {p.label: -1 / len(b) / len(pairs) for _, b in pairs for p in b}
        interval, notes = _crossed(table, coefficients)
    elif quantity.yes_or_no and all(len(a) == len(b) == 1 for a, b in pairs):
        both = [(table.of(a, seed), table.of(b, seed)) for a, b in pairs for seed in table.seeds]
        interval, notes = (
            intervals.paired_shares(*zip(*both, strict=True)),
            [Note("paired shares", {"pairs": len(both)})],
        )
    else:
        per_seed = [_mean(table.of(a, seed) - table.of(b, seed) for a, b in pairs) for seed in table.seeds]
        interval, notes = _over_seeds(finding, per_seed, table.resolution)
    return _judged(_with(replace(finding, sides=sides), table, study, notes), interval, table)


def _ratio(finding: Finding, study: Study) -> Finding:
    """On the logarithmic scale, where twice as much and half as much are equally far from one."""
    claim, quantity = finding.claim, finding.claim.parsed_quantity
    pairs, table = _paired(finding, study)
    if any(reading.value <= 0 for reading in table.counted()):
        raise Undecided("not positive", quantity=claim.quantity)
    sides = (table.mean(select(study, claim.a)), table.mean(select(study, claim.b)))
    if quantity.per_row:
        # A small change of an accuracy changes its logarithm by as much in proportion.
        coefficients = {p.label: 1 / len(a) / len(pairs) / table.mean(a) for a, _ in pairs for p in a}
        coefficients |= {p.label: -1 / len(b) / len(pairs) / table.mean(b) for _, b in pairs for p in b}
        around_zero, notes = _crossed(table, coefficients)
        middle = _mean(math.log(table.mean(a) / table.mean(b)) for a, b in pairs)
        interval = Interval(middle, middle + around_zero.low, middle + around_zero.high) if around_zero else None
    else:
        per_seed = [_mean(math.log(table.of(a, s) / table.of(b, s)) for a, b in pairs) for s in table.seeds]
        interval, notes = _over_seeds(finding, per_seed, table.resolution / min(sides))
    if interval:
        interval = Interval(math.exp(interval.value), math.exp(interval.low), math.exp(interval.high))
    return _judged(_with(replace(finding, sides=sides), table, study, notes), interval, table)


def _trend(finding: Finding, study: Study) -> Finding:
    """Spearman's rank correlation of the quantity with the axis, seed by seed: 1 rises all along, -1 falls all along.

    Many seeds may be in perfect order. Then what is known is that ranks can't differ by less than one exchange of
    neighbours, and that counts as the resolution; in perfect order by chance are (1 / values!) ** seeds of all cases.
    """
    claim = finding.claim
    points = select(study, claim.a)
    table = gather(points, claim.parsed_quantity, study)
    _refuse_if_none_arrived(table)
    rows = [_along(claim, row) for row in cells(points, study.axes, {*claim.a, str(claim.along)}).values()]
    values = len({point.at[str(claim.along)] for point in points})
    if values < 3 or any(len(row) != values for row in rows):
        raise Undecided("few values", axis=str(claim.along), values=values)
    per_seed = [_mean(_rank_correlation([table.of(p, s) for p in row]) for row in rows) for s in table.seeds]
    smallest_step = 12 / (values * (values**2 - 1))
    interval = intervals.student(per_seed, smallest_step, of_two=False)
    notes = [Note("spearman", {"axis": str(claim.along), "values": values})]
    return _judged(_with(finding, table, study, notes), interval, table, _clipped(interval, -1.0, 1.0))


def _best(finding: Finding, study: Study) -> Finding:
    claim = finding.claim
    axis, quantity = str(claim.along), claim.parsed_quantity
    contenders, lost = _contenders(claim, study)
    table = gather([point for row in contenders.values() for point in row], quantity, study)
    _refuse_if_none_arrived(table)
    notes = [Note("lost", {"axis": axis, "values": ", ".join(map(str, lost))})] if lost else []
    finding = _with(finding, table, study, notes)
    by_value = {str(value): [table.of(row, seed) for seed in table.seeds] for value, row in contenders.items()}
    if len(table.seeds) < 2 and not quantity.exact:
        raise Undecided("one seed")
    resolution = table.resolution
    if resolution == 0 and not quantity.exact and all(np.ptp(values) == 0 for values in by_value.values()):
        raise Undecided("no spread", seeds=len(table.seeds))
    if quantity.exact:
        by_value = {name: values[:1] * 2 for name, values in by_value.items()}
    shares = intervals.first_places(by_value, claim.best == "lowest", resolution)
    winners = sorted(((v, shares[str(v)]) for v in contenders), key=lambda won: -won[1])
    inside = sum(share for value, share in winners if value in claim.parsed_rule.members)
    verdict: Verdict = "supported" if inside >= LEVEL else "contradicted" if inside <= 1 - LEVEL else "cannot tell"
    reason = Note("draws", {}) if verdict == "cannot tell" else None
    return replace(finding, verdict=verdict, value=inside, winners=tuple(winners), reason=reason)


def _share(finding: Finding, study: Study) -> Finding:
    claim, quantity = finding.claim, finding.claim.parsed_quantity
    points = select(study, claim.a)
    if quantity.needs_target and study.target is None:
        raise Undecided("no target", study=study.name)
    repeats = [repeat for point in points for repeat in point.repeats if repeat.status in ("finished", "diverged")]
    if not repeats:
        raise Undecided(
            "no value", point=points[0].label, quantity=claim.quantity, states=states_of(points) or "not run"
        )
    hits = sum(reading.value == 1 for repeat in repeats if (reading := read(quantity, repeat, study)))
    notes = []
    silent = len(finding.runs) - len(repeats)
    if silent:
        notes.append(Note("silent", {"unused": silent, "runs": len(finding.runs), "states": states_of(points)}))
    finding = replace(finding, counts=(hits, len(repeats)), notes=tuple(notes))
    return _judged(finding, intervals.clopper_pearson(hits, len(repeats)), None)


_MEASURES = {
    "value": _value,
    "difference": _difference,
    "ratio": _ratio,
    "trend": _trend,
    "best": _best,
    "share": _share,
}


# What they have in common


def _paired(finding: Finding, study: Study) -> tuple[list[tuple[list[Point], list[Point]]], Table]:
    """Settings of a and b that differ in nothing but what the claim names."""
    claim = finding.claim
    a = cells(select(study, claim.a), study.axes, claim.a)
    b = cells(select(study, claim.b), study.axes, claim.b)
    if a.keys() != b.keys():
        odd = next(iter(a.keys() ^ b.keys()))
        raise Undecided("unpaired", where=", ".join(map(str, odd)))
    pairs = [(a[key], b[key]) for key in a]
    table = gather([point for pair in pairs for side in pair for point in side], claim.parsed_quantity, study)
    _refuse_if_none_arrived(table)
    both = any(table.capped(x, seed) and table.capped(y, seed) for x, y in pairs for seed in table.seeds)
    if both and claim.parsed_rule.kind == "between":
        raise Undecided("both capped")
    return pairs, table


def _refuse_if_none_arrived(table: Table) -> None:
    if all(reading.capped for reading in table.counted()):
        raise Undecided("never arrived")


def _crossed(table: Table, coefficients: Mapping[str, float]) -> tuple[Interval | None, list[Note]]:
    shares = [Share(c, [table.rows[label, seed] for seed in table.seeds]) for label, c in coefficients.items()]
    notes = []
    if len({share.rows[0].test_set for share in shares}) > 1:
        notes.append(Note("other rows", {}))
    return intervals.reach_of(intervals.crossed(shares)), notes


def _over_seeds(
    finding: Finding, per_seed: Sequence[float], resolution: float, of_two: bool = True
) -> tuple[Interval | None, list[Note]]:
    if finding.claim.parsed_quantity.exact and len(set(per_seed)) == 1:
        return Interval(per_seed[0], per_seed[0], per_seed[0]), [Note("exact", {})]
    interval = intervals.student(per_seed, resolution, of_two)
    by_chance = intervals.student(per_seed)
    notes = []
    if interval and (by_chance is None or (interval.high - interval.low) > 1.3 * (by_chance.high - by_chance.low)):
        notes.append(Note("rounded", {}))
    return interval, notes


def _with(finding: Finding, table: Table, study: Study, notes: Sequence[Note]) -> Finding:
    """The finding with the seeds compared, and notes about runs that count in a special way, or not at all."""
    found = list(notes)
    capped = sum(reading.capped for reading in table.counted())
    if capped and study.target:
        runs = len(table.points) * len(table.seeds)
        found.append(Note("capped", {"capped": capped, "runs": runs, "cap": study.target.cap}))
    unused = sum(repeat.seed not in table.seeds or (p.label, repeat.seed) not in table.readings
                 for p in table.points for repeat in p.repeats)  # fmt: skip
    if unused:
        total = sum(len(p.repeats) for p in table.points)
        found.append(Note("unused", {"unused": unused, "runs": total, "states": states_of(table.points)}))
    return replace(finding, seeds=table.seeds, notes=tuple(found))


def _judged(
    finding: Finding, interval: Interval | None, table: Table | None, clipped: Interval | None = None
) -> Finding:
    """The verdict. A single seed never decides: how much runs differ is then unknown."""
    claim = finding.claim
    if interval is None:
        assert table is not None
        several = len(table.seeds) > 1
        reason = Note("no spread", {"seeds": len(table.seeds)}) if several else Note("one seed", {})
        return replace(finding, value=None, reason=reason)
    shown = clipped or _within_unit(claim, interval)
    finding = replace(finding, value=shown.value, low=shown.low, high=shown.high)
    if table is not None and len(table.seeds) == 1 and not claim.parsed_quantity.exact:
        kind = "one seed rows" if claim.parsed_quantity.per_row else "one seed"
        return replace(finding, verdict="cannot tell", reason=Note(kind, {}))
    verdict = claim.parsed_rule.judge(shown.low, shown.high)
    reason = Note("both sides", {"rule": claim.rule}) if verdict == "cannot tell" else None
    return replace(finding, verdict=verdict, reason=reason)


def _within_unit(claim: Claim, interval: Interval) -> Interval:
    """No share beyond 0 and 1, and no negative time."""
    share = claim.parsed_quantity.unit == "share"
    if claim.measure in ("value", "share"):
        return _clipped(interval, 0.0, 1.0 if share else math.inf) or interval
    if claim.measure == "difference" and share:
        return _clipped(interval, -1.0, 1.0) or interval
    return interval


def _clipped(interval: Interval | None, low: float, high: float) -> Interval | None:
    if interval is None:
        return None
    return Interval(interval.value, max(low, interval.low), min(high, interval.high))


def _contenders(claim: Claim, study: Study) -> tuple[dict[AxisValue, list[Point]], list[AxisValue]]:
    """Values of the axis with their points, and those that can't win because every run of one of their points diverged
    without leaving a value."""
    quantity, axis = claim.parsed_quantity, str(claim.along)
    by_value: dict[AxisValue, list[Point]] = {}
    for point in select(study, claim.a):
        by_value.setdefault(point.at[axis], []).append(point)
    lost = []
    for value, points in list(by_value.items()):
        try:
            for point in points:
                gather([point], quantity, study)
        except Undecided as undecided:
            if undecided.note.kind != "no value" or any(r.status != "diverged" for p in points for r in p.repeats):
                raise
            lost.append(value)
            del by_value[value]
    if not by_value:
        raise Undecided("all diverged")
    return by_value, lost


def _along(claim: Claim, points: Sequence[Point]) -> list[list[Point]]:
    """The points of each value of the axis, in its order."""
    axis = str(claim.along)
    values = sorted({point.at[axis] for point in points}, key=float)
    return [[point for point in points if point.at[axis] == value] for value in values]


def _rank_correlation(values: Sequence[float]) -> float:
    """Of ``values`` with their order; 0 when they are all the same."""
    if len(set(values)) == 1:
        return 0.0
    return round(float(np.corrcoef(np.arange(len(values)), stats.rankdata(values))[0, 1]), 12)  # 1 is 1


def _mean(values: Any) -> float:
    return statistics.fmean(values)
