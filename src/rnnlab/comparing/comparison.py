"""What the runs of a comparison add up to: the one place from which the terminal, JSON and reports take figures."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from rnnlab.answers.score import Score
from rnnlab.comparing.endings import option_to_train_longer, seconds_of
from rnnlab.comparing.records import HeldOut, Record, by_arm, splits_vary, why_no_score
from rnnlab.comparing.tuning import Tuning
from rnnlab.core.terms import status_text
from rnnlab.core.words import Both, ResultNote, both, joined, note, retold
from rnnlab.judging.findings import ArmScores, Estimate, Unit, Verdict
from rnnlab.judging.verdict import MAJORITY, judge
from rnnlab.models.baselines import Baseline
from rnnlab.runs.directory import Diverged
from rnnlab.tasks.base import Task
from rnnlab.training.record import Recorded

FORMAT = 3  # 1 had other fields in the verdict; 2 had accuracy, macro_f1 and loss where there are score and scores
LENGTH_BUCKETS = 4
SEEN_SHARE = 0.01  # of the test rows, from which on those that stand in train are shown apart


@dataclass(frozen=True)
class Cell:
    """The judged score on a part of the test rows, all runs of an arm together."""

    score: float
    count: int  # test rows in this part


@dataclass(frozen=True)
class RunSummary:
    seed: int
    digest: str
    path: str
    status: str  # finished, diverged or failed
    valid_score: float | None  # the judged score on validation rows
    score: float | None  # on test rows
    scores: dict[str, float]  # every score on test rows, by name
    best_epoch: int | None
    reason: str | None  # why there is no score
    ended_by: str | None = None  # which setting: patience, or a limit; None for runs of versions that didn't say


@dataclass(frozen=True)
class ArmSummary:
    """One row of the table. Scores are None when no run of the arm finished."""

    label: str
    model: dict[str, Any]
    score: Estimate | None  # the judged one
    scores: dict[str, float]  # every score on test rows by name, the mean of the finished runs
    epoch_seconds: float | None  # None where batches are drawn afresh: there are no epochs
    step_seconds: float | None
    tokens_per_second: float | None
    row_seconds: float | None  # to answer a test row, in batches; None for runs of versions that didn't measure it
    best_epoch: float | None
    parameters: int | None
    peak_memory_mb: float | None
    by_tag: dict[str, Cell]
    by_length: dict[str, Cell]
    runs: tuple[RunSummary, ...]
    in_best_group: bool
    failed_seeds: tuple[int, ...] = ()  # that failed to learn: see `judging.failures`
    cut_short: bool = False  # whether its runs still improved when a limit ended them
    by_seen: dict[str, Cell] = field(default_factory=dict)  # "seen": test rows that stand in train, too; "unseen"
    total_seconds: float | None = None  # of training a run from its first epoch to its last, the median


@dataclass(frozen=True)
class Measure:
    """A score that is shown beside the judged one."""

    name: str = "loss"
    title: str = "loss"
    unit: Unit = "number"

    @classmethod
    def of(cls, score: Score) -> Self:
        return cls(score.name, score.title, score.unit)


@dataclass(frozen=True)
class Comparison:
    """The answer, with all it rests on."""

    profile: dict[str, Any]
    arms: tuple[ArmSummary, ...]  # best first
    baselines: tuple[ArmSummary, ...]
    verdict: Verdict
    question: str | None  # what the recommended run can be asked with `rnnlab predict`, for example
    recommended_run: str | None  # of the recommended arm, the run with the best *validation* score: test never selects
    notes: tuple[str, ...]
    folder: str | None = None  # where it is recorded; `rnnlab report` takes it
    tuning: Tuning | None = None  # with --tune: which settings were tried, and which were chosen
    beside: Measure = Measure()  # the second score of the tables
    use: str | None = None  # the command that uses the recommended run

    @property
    def ranking(self) -> tuple[ArmSummary, ...]:
        """Models and baselines in one list, the best first; those without a score last."""
        return _ranked((*self.arms, *self.baselines), self.verdict)

    @property
    def recommended_first(self) -> tuple[ArmSummary, ...]:
        """As pages list them: what is recommended, then all others as they rank."""
        return tuple(sorted(self.ranking, key=lambda arm: arm.label != self.verdict.recommended))

    @property
    def seen_matters(self) -> bool:
        """Whether enough test rows stand in the training rows that accuracy on them is worth two columns."""
        shares = [
            arm.by_seen["seen"].count / sum(c.count for c in arm.by_seen.values())
            for arm in self.ranking
            if "seen" in arm.by_seen
        ]
        return max(shares, default=0.0) >= SEEN_SHARE

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}


class _Arm:
    """The runs of an arm, with the answers of those that finished."""

    def __init__(self, label: str, runs: Sequence[Record]):
        self.label, self.runs, self.spec = label, runs, runs[0].spec
        self.finished = [run for run in runs if run.finished]
        self.answers = [run.answers for run in self.finished]
        self.baseline = isinstance(self.spec.model, Baseline)

    def median(self, name: str) -> float | None:
        """Of what the finished runs recorded."""
        values = [value for run in self.finished if (value := run.result.get(name)) is not None]
        return statistics.median(map(float, values)) if values else None


def summarise(
    task: Task,
    rows: HeldOut,
    records: Sequence[Record],
    profile: dict[str, Any],
    notes: Sequence[str] = (),
    *,
    spent: float = 1.0,
    look: int = 0,
) -> Comparison:
    """Score every arm on the answers in its run directories, and judge. Where every seed drew its own split, runs
    are scored on their own test rows; ``rows`` are those of one of them. ``spent``, ``look``: see `judging.looks`."""
    arms = [_Arm(label, runs) for label, runs in by_arm(records).items()]
    varies = splits_vary(records)
    judged = task.answer.judged
    verdict = judge(
        _arm_scores(arms, varies),
        np.zeros(1, int) if varies else rows.groups,
        metric=judged.title,
        margin=judged.margin,
        unit=judged.unit,
        lower_is_better=judged.lower_is_better,
        least=judged.least,
        fewest_groups=1 if varies else task.answer.fewest_groups,
        cost_unit=task.cost_unit,
        test_per_train=_test_per_train(task) if varies else None,
        spent=spent,
        look=look,
    )
    summaries = {arm.label: _summary(arm, rows, verdict) for arm in arms}
    recommended = best_run(summaries.get(verdict.recommended or ""), judged.lower_is_better)
    return Comparison(
        profile=profile,
        arms=_ranked([summaries[arm.label] for arm in arms if not arm.baseline], verdict),
        baselines=tuple(summaries[arm.label] for arm in arms if arm.baseline),
        verdict=verdict,
        question=task.example,
        recommended_run=recommended,
        use=None if recommended is None else task.use(recommended),
        beside=Measure.of(task.answer.beside_the_judged),
        notes=tuple(dict.fromkeys((*notes, *_chosen_notes(arms), *_mixed_notes(records)))),  # a report has them already
    )


def _chosen_notes(arms: Sequence[_Arm]) -> list[str]:
    """``chosen on validation: nbsvm: C 3, ngrams 1, loss softmax``, of the baselines that leave something open; where
    every seed has a split of its own, each choice once."""
    notes = []
    for arm in arms:
        found = [chosen for run in arm.finished if (chosen := run.result.get("chosen"))]
        texts = [_chosen_text(one) for one in found]
        if texts:
            choices = " / ".join(dict.fromkeys(texts))
            notes.append(ResultNote(note("chosen on validation: {label}: {names}", label=arm.label, names=choices)))
    return notes


def _chosen_text(chosen: dict[str, Any]) -> str:
    """Where names or values are words, a note, so that they can be retold."""
    if set(chosen) == {"steps"}:
        return note("the mean of {steps} steps", steps=f"{chosen['steps']:g}")
    if set(chosen) == {"trees"}:
        return note("{trees} trees", trees=f"{chosen['trees']:g}")
    if set(chosen) == {"penalty", "weights"}:
        penalty = f"{chosen['penalty']:g}"
        if chosen["weights"] == "shared":
            return note("penalty {penalty}, the same weights for all channels", penalty=penalty)
        return note("penalty {penalty}, weights by channel", penalty=penalty)
    return ", ".join(f"{k} {v:g}" if k == "C" else f"{k} {v}" for k, v in chosen.items())


def _mixed_notes(records: Sequence[Record]) -> list[str]:
    """What computed the trained runs, where that differs: they are no longer the same to the bit, and their times can't
    be compared."""
    trained = [run.result for run in records if run.finished and run.spec.training]
    kinds = sorted({result["environment"].get("kernels", "torch") for result in trained if "environment" in result})
    if len(kinds) < 2:
        return []
    told = note(
        "runs were computed by different kernels ({kernels}): scores differ as those of two seeds may, and times can't "
        "be compared",
        kernels=", ".join(kinds),
    )
    return [ResultNote(told)]


def _ranked(arms: Sequence[ArmSummary], verdict: Verdict) -> tuple[ArmSummary, ...]:
    """In the verdict's order: by mean, of equals the cheaper, then by name."""

    def place(arm: ArmSummary) -> tuple[float, float, str]:
        cost = verdict.costs.get(arm.label)
        sign = 1 if verdict.lower_is_better else -1
        return sign * arm.score.mean if arm.score else math.inf, math.inf if cost is None else cost, arm.label

    return tuple(sorted(arms, key=place))


def unfinished(result: Comparison) -> Both:
    """The runs without a score, a line each; empty when every run has one."""
    lines = [
        both(
            "{label} seed {seed} {status}: {reason}",
            label=arm.label,
            seed=run.seed,
            status=status_text(run.status),
            reason=retold(run.reason or ""),
        )
        for arm in (*result.arms, *result.baselines)
        for run in arm.runs
        if run.status != "finished"
    ]
    return joined(lines, "\n")


def arm_scores(records: Sequence[Record]) -> list[ArmScores]:
    """Every arm and baseline with the scores of its runs per test row, from their run directories; where every seed
    has test rows of its own, with the mean of each run."""
    return _arm_scores([_Arm(label, runs) for label, runs in by_arm(records).items()], splits_vary(records))


def _arm_scores(arms: Sequence[_Arm], varies: bool) -> list[ArmScores]:
    """``varies``: every seed has test rows of its own, so that a run has but one score."""
    majority = {
        run.spec.seed if varies else 0: saved.per_row()
        for arm in arms
        if arm.label == MAJORITY
        for run, saved in zip(arm.finished, arm.answers, strict=True)
    }
    return [_scores(arm, majority, varies) for arm in arms]


def _scores(arm: _Arm, majority: dict[int, np.ndarray], varies: bool) -> ArmScores:
    """A run that diverged counts as answering the majority class, where that is known; elsewhere it is left out."""
    by_seed = {run.spec.seed: saved.per_row() for run, saved in zip(arm.finished, arm.answers, strict=True)}
    diverged = []
    for run in arm.runs:
        counts_as = majority.get(run.spec.seed if varies else 0)
        if isinstance(run.outcome, Diverged) and counts_as is not None:
            by_seed[run.spec.seed] = counts_as
            diverged.append(run.spec.seed)
    scores = [np.mean(right, keepdims=True) if varies else right for right in by_seed.values()]
    update = arm.median("step_seconds")
    return ArmScores(
        label=arm.label,
        seeds=list(by_seed),
        scores=np.array(scores, np.float64),
        cost=arm.median("epoch_seconds") if arm.spec.task.cost_unit == "seconds" else update and 1000 * update,
        baseline=arm.baseline,
        diverged=diverged,
        longer=option_to_train_longer(arm.finished, arm.spec.task.answer.judged.margin),
    )


def _summary(arm: _Arm, rows: HeldOut, verdict: Verdict) -> ArmSummary:
    label, answers = arm.label, arm.answers
    scores = [_only_scores(run.result["test"], run.spec.task) for run in arm.finished]
    return ArmSummary(
        label=label,
        model=arm.spec.model.to_dict(),
        score=verdict.estimates.get(label),
        scores={name: statistics.fmean(one[name] for one in scores) for name in scores[0]} if scores else {},
        epoch_seconds=arm.median("epoch_seconds"),
        step_seconds=arm.median("step_seconds"),
        tokens_per_second=arm.median("tokens_per_second"),
        row_seconds=arm.median("row_seconds"),
        best_epoch=arm.median("best_epoch"),
        parameters=next((run.result["parameters"]["total"] for run in arm.finished), None),
        peak_memory_mb=arm.median("peak_memory_mb"),
        by_tag=_by_tag(answers, rows),
        by_length=_by_length(answers, rows),
        by_seen=_by_seen(answers),
        runs=tuple(_run_summary(run) for run in arm.runs),
        in_best_group=label in verdict.best_group,
        failed_seeds=verdict.failures[label].failed if label in verdict.failures else (),
        cut_short=label in verdict.cut_short,
        total_seconds=statistics.median(trained) if (trained := _training_times(arm.finished)) else None,
    )


def _training_times(runs: Sequence[Record]) -> list[float]:
    """Seconds of each; baselines, which record no epochs, have none."""
    return [seconds for run in runs if run.spec.training and (seconds := seconds_of(run.events))]


def _test_per_train(task: Task) -> float:
    """Test rows per training row of a split. A task that generates its rows makes new ones for every seed, training
    rows too: nothing overlaps then."""
    if not hasattr(task, "test_fraction"):
        return 0.0
    test, valid = getattr(task, "test_fraction"), getattr(task, "valid_fraction", 0.0)  # noqa: B009 (not every task's)
    return test / (1 - test - valid)


def _by_tag(answers: Sequence[Recorded], rows: HeldOut) -> dict[str, Cell]:
    if rows.tags is None:
        return {}
    return _by_part(answers, [saved.arrays.get("test.tags", rows.tags) for saved in answers], rows.tag_names)


def _by_length(answers: Sequence[Recorded], rows: HeldOut) -> dict[str, Cell]:
    lengths = [saved.lengths for saved in answers]
    edges, names = length_buckets(rows.lengths)
    return _by_part(answers, [np.minimum(np.searchsorted(edges, one), len(names) - 1) for one in lengths], names)


def _by_seen(answers: Sequence[Recorded]) -> dict[str, Cell]:
    """Runs of earlier versions don't say which rows stand in train."""
    seen = [saved.seen.astype(np.int64) for saved in answers if saved.seen is not None]
    return _by_part(answers, seen, ("unseen", "seen")) if len(seen) == len(answers) else {}


def _by_part(answers: Sequence[Recorded], parts: Sequence[np.ndarray], names: Sequence[str]) -> dict[str, Cell]:
    """The judged score of each part of the test rows, all runs together; ``parts`` number the rows of each run."""
    if not answers:
        return {}
    score, every = answers[0].answer.judged, np.concatenate(parts)
    counts = {name: np.concatenate([saved.counts[name] for saved in answers]) for name in score.columns}
    cells = {}
    for number, name in enumerate(names):
        inside = every == number
        if inside.any():
            value = score.of({column: values[inside] for column, values in counts.items()})
            cells[name] = Cell(value, round(int(inside.sum()) / len(answers)))
    return cells


def length_buckets(lengths: np.ndarray, buckets: int = LENGTH_BUCKETS) -> tuple[np.ndarray, list[str]]:
    """Equal parts of the test rows by length, as far as equal lengths allow: their upper ends, and names."""
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, buckets + 1)[1:], method="higher"))
    lows = [int(lengths.min()), *(int(edge) + 1 for edge in edges[:-1])]
    names = [f"{low}–{int(high)}" if low < high else str(low) for low, high in zip(lows, edges, strict=True)]
    return edges, names


def _run_summary(run: Record) -> RunSummary:
    result, judged = run.result, run.spec.task.answer.judged.name
    return RunSummary(
        seed=run.spec.seed,
        digest=run.spec.digest,
        path=str(run.path),
        status=type(run.outcome).__name__.lower(),
        valid_score=result.get("valid", {}).get(judged),
        score=result.get("test", {}).get(judged),
        scores=_only_scores(result.get("test", {}), run.spec.task),
        best_epoch=result.get("best_epoch"),
        reason=why_no_score(run.outcome),
        ended_by=result.get("ended_by"),
    )


def _only_scores(result: dict[str, Any], task: Task) -> dict[str, float]:
    return {score.name: result[score.name] for score in task.answer.scores if score.name in result}


def best_run(arm: ArmSummary | None, lower_is_better: bool = False) -> str | None:
    """The path of the run that did best on validation."""
    sign = -1 if lower_is_better else 1
    runs = [run for run in arm.runs if run.valid_score is not None] if arm else []
    return max(runs, key=lambda run: (sign * (run.valid_score or 0.0), -run.seed)).path if runs else None
