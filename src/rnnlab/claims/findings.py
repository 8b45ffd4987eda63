"""What became of a claim: plain data, to JSON and back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from rnnlab.claims.claim import Claim, Verdict
from rnnlab.comparing.studies import AxisValue
from rnnlab.core.config import parse


@dataclass(frozen=True)
class Note:
    """Something worth saying, by the name of its phrase (`show.claim_texts`), with what fills its gaps."""

    kind: str
    gaps: dict[str, Any]


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
    notes: tuple[Note, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(replace(self, claim=None)), "claim": self.claim.to_dict()}  # type: ignore[arg-type]  # put in below

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(
            claim=parse(Claim, values["claim"]),
            verdict=values["verdict"],
            value=values["value"],
            low=values["low"],
            high=values["high"],
            sides=tuple(values["sides"]) if values["sides"] else None,
            capped=tuple(values.get("capped", (0, 0))),  # type: ignore[arg-type]  # two numbers; older ledgers have none
            winners=tuple((value, share) for value, share in values["winners"]),
            counts=tuple(values["counts"]) if values["counts"] else None,
            counts_b=tuple(values["counts_b"]) if values.get("counts_b") else None,
            seeds=tuple(values["seeds"]),
            runs=tuple(Run(**run) for run in values["runs"]),
            reason=Note(**values["reason"]) if values["reason"] else None,
            notes=tuple(Note(**note) for note in values["notes"]),
        )
