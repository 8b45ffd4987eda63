"""From a claim and the runs to a verdict: supported, contradicted, or cannot tell, and on what grounds.

The whole 95 % interval decides. Each measure makes one number of every seed (`claims.evidence` finds the values,
`claims.intervals` the interval); whatever is missing leads to "cannot tell" with its reason, never to an error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rnnlab.claims.claim import Claim
from rnnlab.claims.evidence import Undecided, select
from rnnlab.claims.findings import Finding, Note, Run
from rnnlab.claims.measures import difference, ratio, share, value
from rnnlab.claims.orders import best, trend
from rnnlab.comparing.studies import Point, Study

_MEASURES = {"value": value, "difference": difference, "ratio": ratio, "trend": trend, "best": best, "share": share}


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
