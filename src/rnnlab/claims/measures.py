"""The measures with one number per seed, and those that count runs: value, difference, ratio and share."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rnnlab.claims import intervals
from rnnlab.claims.claim import Claim
from rnnlab.claims.evidence import Table, Undecided, cells, gather, select, yes_or_no
from rnnlab.claims.findings import Finding, Note
from rnnlab.claims.intervals import Interval, Share, Tally
from rnnlab.claims.verdicts import judged, refuse_if_none_arrived, with_outcomes, with_table
from rnnlab.comparing.studies import Point, Study

Pair = tuple[list[Point], list[Point]]  # settings of a and of b


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
        per_seed = [_mean(table.of(a, seed) - table.of(b, seed) for a, b in pairs) for seed in table.seeds]
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
        middle = _mean(math.log(table.mean(a) / table.mean(b)) for a, b in pairs)
        interval = Interval(middle, middle + around_zero.low, middle + around_zero.high) if around_zero else None
    else:
        per_seed = [_mean(math.log(table.of(a, s) / table.of(b, s)) for a, b in pairs) for s in table.seeds]
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
        notes = [Note("independent shares", {})]
    of_a, of_b = zip(*tallies, strict=True)
    finding = replace(finding, sides=(_share_of(of_a), _share_of(of_b)), counts=_sum(of_a), counts_b=_sum(of_b))
    return judged(with_outcomes(finding, [side for pair in both for side in pair], notes), interval)


def _tally(found: Sequence[Mapping[int, bool]]) -> Tally:
    outcomes = [outcome for by_seed in found for outcome in by_seed.values()]
    return sum(outcomes), len(outcomes)


def _sum(tallies: Sequence[Tally]) -> Tally:
    return sum(hits for hits, _ in tallies), sum(runs for _, runs in tallies)


def _share_of(tallies: Sequence[Tally]) -> float:
    """The mean of the cells, which all count alike."""
    return _mean(hits / runs for hits, runs in tallies)


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
    refuse_if_none_arrived(table)
    a, b = select(study, claim.a), select(study, claim.b)
    return replace(finding, sides=(table.mean(a), table.mean(b)), capped=(table.capped(a), table.capped(b))), table


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


def _mean(values: Any) -> float:
    return statistics.fmean(values)
