"""The verdict on what was measured, and the notes that go with it: what all measures have in common.

A run that never arrived counts with the cap, and its true value is larger. So only what larger values couldn't reverse
is decided: such runs leave an end of the interval open (`_known_ends`), and `claims.orders` says what becomes of
orders and first places.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rnnlab.claims.claim import Claim
from rnnlab.claims.evidence import Table, Undecided, listed_states, states_of
from rnnlab.claims.findings import Finding, Note
from rnnlab.claims.intervals import Interval
from rnnlab.comparing.studies import Study


def judged(finding: Finding, interval: Interval | None, none_arrived: bool = False) -> Finding:
    """The verdict. A single seed never decides: how much runs differ is then unknown."""
    claim, seeds = finding.claim, len(finding.seeds)
    if all(finding.capped):
        return replace(finding, reason=Note("both capped", {}))
    if interval is None:
        return replace(finding, reason=Note("no spread", {"seeds": seeds}) if seeds > 1 else Note("one seed", {}))
    shown = _within_unit(claim, interval)
    low, high = _known_ends(finding, shown)
    above, below = finding.capped
    finding = replace(finding, value=shown.value, low=None if below else low, high=None if above else high)
    if seeds == 1 and not claim.parsed_quantity.exact:
        kind = "one seed rows" if claim.parsed_quantity.per_row else "one seed"
        return replace(finding, reason=Note(kind, {}))
    verdict = claim.parsed_rule.judge(low, high, beyond=none_arrived)
    if verdict != "cannot tell":
        return replace(finding, verdict=verdict)
    if none_arrived:
        return replace(finding, reason=Note("never arrived", {}))
    if claim.parsed_rule.judge(shown.low, shown.high) != "cannot tell":
        return replace(finding, reason=Note("censored", {}))
    return replace(finding, reason=Note("both sides", {"rule": claim.rule}))


def _known_ends(finding: Finding, interval: Interval) -> tuple[float, float]:
    """The interval is of values that runs which never arrived only exceed. A mean is at least that of its capped
    values; so what is measured is at least the lower end if such runs are a's, and at most the upper end if they are
    b's, which is subtracted or divided by."""
    above, below = finding.capped
    least = 0.0 if finding.claim.measure == "ratio" else -math.inf
    return least if below else interval.low, math.inf if above else interval.high


def _within_unit(claim: Claim, interval: Interval) -> Interval:
    """No share beyond 0 and 1, and no negative time."""
    share = claim.parsed_quantity.unit == "share"
    if claim.measure in ("value", "share"):
        return _clipped(interval, 0.0, 1.0 if share else math.inf)
    if claim.measure == "difference" and share:
        return _clipped(interval, -1.0, 1.0)
    return interval


def _clipped(interval: Interval, low: float, high: float) -> Interval:
    return Interval(interval.value, max(low, interval.low), min(high, interval.high))


def with_table(finding: Finding, table: Table, study: Study, notes: Sequence[Note]) -> Finding:
    """With the seeds compared, and notes about runs that count in a special way, or not at all."""
    found = [*notes, *_about_capped(table, study)]
    unused = sum(repeat.seed not in table.seeds or (p.label, repeat.seed) not in table.readings
                 for p in table.points for repeat in p.repeats)  # fmt: skip
    if unused:
        total = sum(len(p.repeats) for p in table.points)
        found.append(Note("unused", {"unused": unused, "runs": total, "states": states_of(table.points)}))
    return replace(finding, seeds=table.seeds, notes=tuple(found))


def _about_capped(table: Table, study: Study) -> list[Note]:
    lasts = [round(reading.value) for reading in table.counted() if reading.capped]
    if not lasts or study.target is None:
        return []
    gaps = {"capped": len(lasts), "runs": len(table.points) * len(table.seeds)}
    if min(lasts) < study.target.cap:
        return [Note("cut short", gaps | {"least": min(lasts)})]
    return [Note("none arrived" if table.none_arrived else "capped", gaps | {"cap": study.target.cap})]


def with_outcomes(finding: Finding, found: Sequence[Sequence[Mapping[int, bool]]], notes: Sequence[Note]) -> Finding:
    """With the seeds of the runs that say yes or no, and a note about those that say neither."""
    seeds = sorted({seed for side in found for by_seed in side for seed in by_seed})
    states = [run.status for run in finding.runs]
    silent = sum(state not in ("finished", "diverged") for state in states)
    gaps = {"unused": silent, "runs": len(states), "states": listed_states(states)}
    return replace(finding, seeds=tuple(seeds), notes=(*notes, *([Note("silent", gaps)] if silent else [])))


def refuse_if_none_arrived(table: Table) -> None:
    if table.none_arrived:
        raise Undecided("never arrived")
