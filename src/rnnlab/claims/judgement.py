"""From a claim and the runs to a verdict: supported, contradicted, or cannot tell, and on what grounds.

The whole 95 % interval decides. Each measure makes one number of every seed (`claims.evidence` finds the values,
`claims.intervals` the interval) or counts runs; whatever is missing leads to "cannot tell" with its reason, never to
an error.

A run that never arrived comes after all that did; its place among others that didn't is unknown. A trend's interval
holds every order that these may have, and a winner is named only if no larger value of theirs would make another one.
"""

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from rnnlab.claims import intervals
from rnnlab.claims.claim import Claim, Verdict
from rnnlab.claims.evidence import Note, Table, Undecided, cells, gather, select, yes_or_no
from rnnlab.claims.intervals import LEVEL, Interval, Share, Tally
from rnnlab.claims.verdicts import Finding, Run, judged, with_outcomes, with_table
from rnnlab.comparing.studies import AxisValue, Point, Study

Pair = tuple[list[Point], list[Point]]  # settings of a and of b


def decide(claim: Claim, studies: Mapping[str, Study]) -> Finding:
    """Look at the runs and judge."""
    study = studies.get(claim.study)
    finding = Finding(claim)
    if study is None or not study.points:
        return replace(finding, reason=Note("not run", {"study": claim.study}))
    try:
        points = select(study, claim.a)
        points += [point for point in select(study, claim.b) if point not in points] if claim.b else []
        runs = [Run(point.label, r.seed, r.status, r.digest, r.path) for point in points for r in point.repeats]
        finding = replace(finding, runs=tuple(runs), seeds=tuple(sorted({run.seed for run in runs})))
        return MEASURES[claim.measure](finding, study)
    except Undecided as undecided:
        return replace(finding, verdict="cannot tell", reason=undecided.note)


def value(finding: Finding, study: Study) -> Finding:
    claim, quantity = finding.claim, finding.claim.parsed_quantity
    points = select(study, claim.a)
    table = gather(points, quantity, study)
    finding = replace(finding, capped=(table.capped(points), 0))
    if quantity.per_row:
        interval, notes = _crossed(table, {point.label: 1 / len(points) for point in points})
    else:
        per_seed = [table.of(points, seed) for seed in table.seeds]
        interval, notes = _over_seeds(finding, per_seed, table.resolution, of_two=False)
        if table.none_arrived and len(set(per_seed)) == 1:
            # Not a measured value, which would have a spread, but one that every run is known to be beyond.
            interval, notes = Interval(per_seed[0], per_seed[0], per_seed[0]), []
    return judged(with_table(finding, table, study, notes), interval, table.none_arrived)


def difference(finding: Finding, study: Study) -> Finding:
    quantity = finding.claim.parsed_quantity
    pairs = _pairs(finding.claim, study)
    if quantity.yes_or_no:
        return _difference_of_shares(finding, study, pairs)
    finding, table = _two_sides(finding, study, pairs)
    if quantity.per_row:
        coefficients = {p.label: 1 / len(a) / len(pairs) for a, _ in pairs for p in a}
        coefficients |= {p.label: -1 / len(b) / len(pairs) for _, b in pairs for p in b}
        interval, notes = _crossed(table, coefficients)
    else:
        per_seed = [statistics.fmean(table.of(a, seed) - table.of(b, seed) for a, b in pairs) for seed in table.seeds]
        interval, notes = _over_seeds(finding, per_seed, table.resolution)
    return judged(with_table(finding, table, study, notes), interval)


def ratio(finding: Finding, study: Study) -> Finding:
    """On the logarithmic scale, where twice as much and half as much are equally far from one."""
    quantity = finding.claim.parsed_quantity
    pairs = _pairs(finding.claim, study)
    finding, table = _two_sides(finding, study, pairs)
    if any(reading.value <= 0 for reading in table.counted()):
        raise Undecided("not positive", quantity=quantity.text)
    if quantity.per_row:
        # A small change of an accuracy changes its logarithm by as much in proportion.
        coefficients = {p.label: 1 / len(a) / len(pairs) / table.mean(a) for a, _ in pairs for p in a}
        coefficients |= {p.label: -1 / len(b) / len(pairs) / table.mean(b) for _, b in pairs for p in b}
        around_zero, notes = _crossed(table, coefficients)
        middle = statistics.fmean(math.log(table.mean(a) / table.mean(b)) for a, b in pairs)
        interval = Interval(middle, middle + around_zero.low, middle + around_zero.high) if around_zero else None
    else:
        per_seed = [statistics.fmean(math.log(table.of(a, s) / table.of(b, s)) for a, b in pairs) for s in table.seeds]
        interval, notes = _over_seeds(finding, per_seed, table.resolution / min(finding.sides or (1.0,)))
    if interval:
        interval = Interval(math.exp(interval.value), math.exp(interval.low), math.exp(interval.high))
    return judged(with_table(finding, table, study, notes), interval)


def share(finding: Finding, study: Study) -> Finding:
    claim, quantity = finding.claim, finding.claim.parsed_quantity
    found = yes_or_no(select(study, claim.a), quantity, study)
    hits, runs = _tally(found)
    finding = with_outcomes(replace(finding, counts=(hits, runs)), [found], [])
    return judged(finding, intervals.clopper_pearson(hits, runs))


def _difference_of_shares(finding: Finding, study: Study, pairs: Sequence[Pair]) -> Finding:
    """Run by run where every run has a counterpart; else all runs count, however many there are on either side."""
    quantity = finding.claim.parsed_quantity
    both = [(yes_or_no(a, quantity, study), yes_or_no(b, quantity, study)) for a, b in pairs]
    tallies = [(_tally(a), _tally(b)) for a, b in both]
    if all(len(a) == len(b) == 1 and a[0].keys() == b[0].keys() for a, b in both):
        matched = [(float(a[0][seed]), float(b[0][seed])) for a, b in both for seed in a[0]]
        interval = intervals.paired_shares(*zip(*matched, strict=True))
        notes = [Note("paired shares", {"pairs": len(matched)})]
    else:
        interval = intervals.independent_shares(tallies)
        notes = [Note("independent shares")]
    of_a, of_b = (statistics.fmean(hits / runs for hits, runs in side) for side in zip(*tallies, strict=True))
    finding = replace(
        finding,
        sides=(of_a, of_b),  # means of the cells, which all count alike
        counts=_tally([outcomes for a, _ in both for outcomes in a]),
        counts_b=_tally([outcomes for _, b in both for outcomes in b]),
    )
    return judged(with_outcomes(finding, [side for pair in both for side in pair], notes), interval)


def _tally(found: Sequence[Mapping[int, bool]]) -> Tally:
    outcomes = [outcome for by_seed in found for outcome in by_seed.values()]
    return sum(outcomes), len(outcomes)


def _pairs(claim: Claim, study: Study) -> list[Pair]:
    """Settings of a and b that differ in nothing but what the claim names."""
    a = cells(select(study, claim.a), study.axes, claim.a)
    b = cells(select(study, claim.b), study.axes, claim.b)
    if a.keys() != b.keys():
        odd = next(iter(a.keys() ^ b.keys()))
        raise Undecided("unpaired", where=", ".join(map(str, odd)))
    return [(a[key], b[key]) for key in a]


def _two_sides(finding: Finding, study: Study, pairs: Sequence[Pair]) -> tuple[Finding, Table]:
    """The finding with the means of a and b, and how many of the runs behind each never arrived."""
    claim = finding.claim
    table = gather([point for pair in pairs for side in pair for point in side], claim.parsed_quantity, study)
    _refuse_if_none_arrived(table)
    a, b = select(study, claim.a), select(study, claim.b)
    return replace(finding, sides=(table.mean(a), table.mean(b)), capped=(table.capped(a), table.capped(b))), table


def _crossed(table: Table, coefficients: Mapping[str, float]) -> tuple[Interval | None, list[Note]]:
    shares = [Share(c, [table.rows[label, seed] for seed in table.seeds]) for label, c in coefficients.items()]
    notes = []
    if len({share.rows[0].test_set for share in shares}) > 1:
        notes.append(Note("other rows"))
    return intervals.reach_of(intervals.crossed(shares)), notes


def _over_seeds(
    finding: Finding, per_seed: Sequence[float], resolution: float, of_two: bool = True
) -> tuple[Interval | None, list[Note]]:
    if finding.claim.parsed_quantity.exact and len(set(per_seed)) == 1:
        return Interval(per_seed[0], per_seed[0], per_seed[0]), [Note("exact")]
    interval = intervals.student(per_seed, resolution, of_two)
    by_chance = intervals.student(per_seed)
    notes = []
    if interval and (by_chance is None or (interval.high - interval.low) > 1.3 * (by_chance.high - by_chance.low)):
        notes.append(Note("rounded"))
    return interval, notes


def trend(finding: Finding, study: Study) -> Finding:
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
    # (S, rows, 3): the least that it may be, with those that never arrived as equals, and the most
    found = np.array([[_rank_correlations(claim, row, table, seed) for row in rows] for seed in table.seeds])
    smallest_step = 12 / (values * (values**2 - 1))
    least, middle, most = (intervals.student(each, smallest_step, of_two=False) for each in found.mean(axis=1).T)
    interval = middle and least and most and Interval(middle.value, max(-1.0, least.low), min(1.0, most.high))
    notes = [Note("spearman", {"axis": str(claim.along), "values": values})]
    if table.capped(points):
        notes.append(Note("any order"))
    return judged(with_table(finding, table, study, notes), interval)


def _rank_correlations(
    claim: Claim, row: Sequence[Sequence[Point]], table: Table, seed: int
) -> tuple[float, float, float]:
    """Of one seed: those that never arrived come after all others, in falling order, as equals, and in rising order."""
    values = [table.of(points, seed) for points in row]
    capped = [table.capped(points, seed) > 0 for points in row]
    arrived = [value for value, unknown in zip(values, capped, strict=True) if not unknown]
    last = max(arrived, default=-math.inf)
    if any(unknown and value < last for value, unknown in zip(values, capped, strict=True)):
        raise Undecided("order unknown", axis=str(claim.along))

    def in_order(step: int) -> list[float]:
        """The values, with those that never arrived later by a step for each place: falling, equal or rising."""
        end = max(values) + len(values)
        return [end + step * n if capped[n] else value for n, value in enumerate(values)]

    falling, equal, rising = (_rank_correlation(in_order(step)) for step in (-1, 0, 1))
    return falling, equal, rising


def _rank_correlation(values: Sequence[float]) -> float:
    """Of ``values`` with their order; 0 when they are all the same."""
    if len(set(values)) == 1:
        return 0.0
    return round(float(np.corrcoef(np.arange(len(values)), stats.rankdata(values))[0, 1]), 12)  # 1 is 1


def _along(claim: Claim, points: Sequence[Point]) -> list[list[Point]]:
    """The points of each value of the axis, in its order."""
    axis = str(claim.along)
    values = sorted({point.at[axis] for point in points}, key=float)
    return [[point for point in points if point.at[axis] == value] for value in values]


def best(finding: Finding, study: Study) -> Finding:
    claim = finding.claim
    axis, quantity = str(claim.along), claim.parsed_quantity
    contenders, lost = _contenders(claim, study)
    table = gather([point for row in contenders.values() for point in row], quantity, study)
    _refuse_if_none_arrived(table)
    notes = [Note("lost", {"axis": axis, "values": ", ".join(map(str, lost))})] if lost else []
    finding = with_table(finding, table, study, notes)
    by_value = {str(value): [table.of(row, seed) for seed in table.seeds] for value, row in contenders.items()}
    if len(table.seeds) < 2 and not quantity.exact:
        raise Undecided("one seed")
    resolution = table.resolution
    if resolution == 0 and not quantity.exact and all(np.ptp(values) == 0 for values in by_value.values()):
        raise Undecided("no spread", seeds=len(table.seeds))
    if quantity.exact:
        by_value = {name: values[:1] * 2 for name, values in by_value.items()}
    lowest, members = claim.best == "lowest", {str(value) for value in claim.parsed_rule.members}

    def draw(endless: Collection[str] = ()) -> tuple[dict[str, float], float]:
        """First places, and how many of them are in the rule's list."""
        shares = intervals.first_places(by_value, lowest, resolution, endless)
        return shares, sum(share for value, share in shares.items() if value in members)

    shares, inside = draw()
    # What never arrived may be larger without limit: then it is no longer the lowest, or it is the highest.
    capped = {str(value) for value, row in contenders.items() if table.capped(row)}
    least, most = draw(capped & members)[1], draw(capped - members)[1]
    if not lowest:
        least, most = most, least
    verdict: Verdict = "supported" if least >= LEVEL else "contradicted" if most <= 1 - LEVEL else "cannot tell"
    reason = None
    if verdict == "cannot tell":
        reason = Note("draws" if 1 - LEVEL < inside < LEVEL else "censored")
    winners = sorted(((value, shares[str(value)]) for value in contenders), key=lambda won: -won[1])
    return replace(finding, verdict=verdict, value=inside, winners=tuple(winners), reason=reason)


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


def _refuse_if_none_arrived(table: Table) -> None:
    if table.none_arrived:
        raise Undecided("never arrived")


MEASURES = {"value": value, "difference": difference, "ratio": ratio, "trend": trend, "best": best, "share": share}
