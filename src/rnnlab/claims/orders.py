"""The measures that ask for an order: a trend along an axis, and which of its values comes first.

A run that never arrived comes after all that did; its place among others that didn't is unknown. A trend's interval
holds every order that these may have, and a winner is named only if no larger value of theirs would make another one.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from rnnlab.claims import intervals
from rnnlab.claims.claim import Claim, Verdict
from rnnlab.claims.evidence import Table, Undecided, cells, gather, select
from rnnlab.claims.findings import Finding, Note
from rnnlab.claims.intervals import LEVEL, Interval
from rnnlab.claims.verdicts import judged, refuse_if_none_arrived, with_table
from rnnlab.comparing.studies import AxisValue, Point, Study


def trend(finding: Finding, study: Study) -> Finding:
    """Spearman's rank correlation of the quantity with the axis, seed by seed: 1 rises all along, -1 falls all along.

    Many seeds may be in perfect order. Then what is known is that ranks can't differ by less than one exchange of
    neighbours, and that counts as the resolution; in perfect order by chance are (1 / values!) ** seeds of all cases.
    """
    claim = finding.claim
    points = select(study, claim.a)
    table = gather(points, claim.parsed_quantity, study)
    refuse_if_none_arrived(table)
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
        notes.append(Note("any order", {}))
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
    refuse_if_none_arrived(table)
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
        reason = Note("draws" if 1 - LEVEL < inside < LEVEL else "censored", {})
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
