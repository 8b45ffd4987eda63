"""What became of a claim, as data, and how it is judged: what all measures have in common.

A run that never arrived counts with the cap, and its true value is larger. So only what larger values couldn't reverse
is decided: such runs leave an end of the interval open (`_known_ends`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from pydantic import TypeAdapter

from rnnlab.claims.claim import Claim, Verdict
from rnnlab.claims.evidence import Note, Table, listed_states, states_of
from rnnlab.claims.intervals import Interval
from rnnlab.comparing.studies import AxisValue, Study


@dataclass(frozen=True)
class Run:
    """A run that was looked at."""

    point: str
    seed: int
    status: str
    digest: str
    path: str


@dataclass(frozen=True)
class Finding:
    """What became of a claim. Figures are in the quantity's unit; a share is between 0 and 1."""

    claim: Claim
    verdict: Verdict = "cannot tell"
    value: float | None = None  # what was measured; of 'best', the share of draws whose winner is in the rule's list
    low: float | None = None  # 95 % interval; None where runs that never arrived leave this end open
    high: float | None = None
    sides: tuple[float, float] | None = None  # difference, ratio: the means of a and b
    capped: tuple[int, int] = (0, 0)  # runs of a and of b that never arrived: the true value of each is larger
    winners: tuple[tuple[AxisValue, float], ...] = ()  # best: the share of draws that each value wins, largest first
    counts: tuple[int, int] | None = None  # share, and difference of shares: how many of how many runs of a
    counts_b: tuple[int, int] | None = None  # difference of shares: of b
    seeds: tuple[int, ...] = ()  # that were compared
    runs: tuple[Run, ...] = ()
    reason: Note | None = None  # why there is no telling
    notes: tuple[Note, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(replace(self, claim=None)), "claim": self.claim.to_dict()}  # type: ignore[arg-type]  # put in below

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What earlier versions wrote lacks some of it."""
        return TypeAdapter(cls).validate_python(values)


def judged(finding: Finding, interval: Interval | None, none_arrived: bool = False) -> Finding:
    """The verdict. A single seed never decides: how much runs differ is then unknown."""
    claim, seeds = finding.claim, len(finding.seeds)
    if all(finding.capped):
        return replace(finding, reason=Note("both capped"))
    if interval is None:
        return replace(finding, reason=Note("no spread", {"seeds": seeds}) if seeds > 1 else Note("one seed"))
    shown = _within_unit(claim, interval)
    low, high = _known_ends(finding, shown)
    above, below = finding.capped
    finding = replace(finding, value=shown.value, low=None if below else low, high=None if above else high)
    if seeds == 1 and not claim.parsed_quantity.exact:
        kind = "one seed rows" if claim.parsed_quantity.per_row else "one seed"
        return replace(finding, reason=Note(kind))
    verdict = claim.parsed_rule.judge(low, high, beyond=none_arrived)
    if verdict != "cannot tell":
        return replace(finding, verdict=verdict)
    if none_arrived:
        return replace(finding, reason=Note("never arrived"))
    if claim.parsed_rule.judge(shown.low, shown.high) != "cannot tell":
        return replace(finding, reason=Note("censored"))
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
