"""What the runs of a comparison add up to: the one place from which the terminal, JSON and reports take figures."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import safetensors.numpy

from rnnlab.judging.findings import ArmScores, CostUnit, Estimate, Verdict
from rnnlab.judging.verdict import judge
from rnnlab.data.encoded import EncodedData
from rnnlab.experiment import RunSpec
from rnnlab.models.baselines import Baseline
from rnnlab.runs import Diverged, Failed, Finished, Outcome, RunDirectory
from rnnlab.tasks.base import Task

FORMAT = 1
LENGTH_BUCKETS = 4


class Record(Protocol):
    """A run with what became of it (`sweep.run.RunRecord`)."""

    @property
    def label(self) -> str: ...
    @property
    def spec(self) -> RunSpec: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def path(self) -> Path: ...


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What must be known of the test rows besides the answers."""

    groups: np.ndarray  # (N,)
    lengths: np.ndarray  # (N,)
    tags: np.ndarray | None  # (N,) numbers into the names
    tag_names: tuple[str, ...]

    @classmethod
    def of(cls, data: EncodedData) -> Self:
        test = data.test
        tags = None if test.tags is None else np.asarray(test.tags)
        return cls(np.asarray(test.groups), test.lengths, tags, data.tag_names)

    @classmethod
    def recorded(cls, predictions: Path) -> Self:
        """As the file of a finished run has them."""
        with safetensors.safe_open(predictions, "numpy") as saved:
            names = json.loads((saved.metadata() or {}).get("test.tag_names", "[]"))
            tags = saved.get_tensor("test.tags") if names else None  # earlier versions kept numbers without names
            return cls(saved.get_tensor("test.groups"), saved.get_tensor("test.lengths"), tags, tuple(names))


@dataclass(frozen=True)
class Cell:
    """Accuracy on a part of the test rows, all runs of an arm together."""

    accuracy: float
    count: int  # test rows in this part


@dataclass(frozen=True)
class RunSummary:
    seed: int
    digest: str
    path: str
    status: str  # finished, diverged or failed
    valid_accuracy: float | None
    accuracy: float | None
    macro_f1: float | None
    best_epoch: int | None
    reason: str | None  # why there is no score


@dataclass(frozen=True)
class ArmSummary:
    """One row of the table. Scores are None when no run of the arm finished."""

    label: str
    model: dict[str, Any]
    accuracy: Estimate | None
    macro_f1: float | None
    loss: float | None
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

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}


def summarise(
    task: Task, rows: HeldOut, records: Sequence[Record], profile: dict[str, Any], notes: Sequence[str] = ()
) -> Comparison:
    """Score every arm on the predictions in its run directories, and judge."""
    by_label: dict[str, list[Record]] = {}
    for record in records:
        by_label.setdefault(record.label, []).append(record)
    predictions = {label: _predictions(runs) for label, runs in by_label.items()}
    baselines = [label for label, runs in by_label.items() if isinstance(runs[0].spec.model, Baseline)]
    unit: CostUnit = "milliseconds" if task.streamed else "seconds"
    scores = {label: _scores(label, by_label[label], predictions[label], len(rows.groups), unit) for label in by_label}
    verdict = judge(
        [scores[label] for label in by_label if label not in baselines],
        rows.groups,
        baselines=[scores[label] for label in baselines],
        metric_name=task.accuracy_name,
        cost_unit=unit,
    )
    summaries = {label: _summary(label, runs, predictions[label], rows, verdict) for label, runs in by_label.items()}
    arms = [summaries[label] for label in by_label if label not in baselines]
    return Comparison(
        profile=profile,
        arms=tuple(sorted(arms, key=lambda arm: -arm.accuracy.mean if arm.accuracy else 1.0)),
        baselines=tuple(summaries[label] for label in baselines),
        verdict=verdict,
        question=task.question,
        recommended_run=best_run(summaries.get(verdict.recommended or "")),
        notes=tuple(notes),
    )


def unfinished(result: Comparison) -> str:
    """The runs without a score, a line each; empty when every run has one."""
    return "\n".join(
        f"{arm.label} seed {run.seed} {run.status}: {run.reason}"
        for arm in (*result.arms, *result.baselines)
        for run in arm.runs
        if run.status != "finished"
    )


def _predictions(runs: Sequence[Record]) -> list[dict[str, np.ndarray]]:
    """Of the finished runs, in their order."""
    finished = [run for run in runs if isinstance(run.outcome, Finished)]
    paths = [RunDirectory(run.path).verified("predictions.safetensors") for run in finished]
    return [safetensors.numpy.load_file(path) for path in paths]


def _correct(predictions: Sequence[dict[str, np.ndarray]], rows: int) -> np.ndarray:
    """(runs, test rows) from 0 to 1."""
    right = [_right(saved) for saved in predictions]
    return np.array(right, np.float64).reshape(len(predictions), rows)


def _right(saved: dict[str, np.ndarray]) -> np.ndarray:
    """How right each answer was; runs of earlier versions, all of one label a sequence, didn't keep it."""
    if "test.right" in saved:
        return saved["test.right"]
    return saved["test.logits"].argmax(1) == saved["test.targets"]


def _scores(
    label: str, runs: Sequence[Record], predictions: Sequence[dict[str, np.ndarray]], rows: int, unit: CostUnit
) -> ArmScores:
    finished = [run for run in runs if isinstance(run.outcome, Finished)]
    update = _median(finished, "step_seconds")
    return ArmScores(
        label=label,
        seeds=[run.spec.seed for run in finished],
        correct=_correct(predictions, rows),
        cost=_median(finished, "epoch_seconds") if unit == "seconds" else update and 1000 * update,
    )


def _summary(
    label: str,
    runs: Sequence[Record],
    predictions: Sequence[dict[str, np.ndarray]],
    rows: HeldOut,
    verdict: Verdict,
) -> ArmSummary:
    finished = [run for run in runs if isinstance(run.outcome, Finished)]
    correct = _correct(predictions, len(rows.groups))
    return ArmSummary(
        label=label,
        model=runs[0].spec.model.to_dict(),
        accuracy=verdict.estimates.get(label),
        macro_f1=_mean(finished, "test", "macro_f1"),
        loss=_mean(finished, "test", "loss"),
        epoch_seconds=_median(finished, "epoch_seconds"),
        step_seconds=_median(finished, "step_seconds"),
        tokens_per_second=_median(finished, "tokens_per_second"),
        row_seconds=_median(finished, "row_seconds"),
        best_epoch=_median(finished, "best_epoch"),
        parameters=_parameters(finished),
        peak_memory_mb=_median(finished, "peak_memory_mb"),
        by_tag={} if rows.tags is None else _by_part(correct, rows.tags, rows.tag_names),
        by_length=_by_part(correct, *_length_buckets(rows.lengths)),
        runs=tuple(_run_summary(run) for run in runs),
        in_best_group=label in verdict.best_group,
    )


def _by_part(correct: np.ndarray, part: np.ndarray, names: Sequence[str]) -> dict[str, Cell]:
    """Accuracy on each part of the test rows; ``part`` numbers them."""
    if not len(correct):
        return {}
    counts = np.bincount(part, minlength=len(names))
    sums = np.bincount(part, weights=correct.mean(0), minlength=len(names))
    return {
        name: Cell(float(total / count), int(count))
        for name, total, count in zip(names, sums, counts, strict=True)
        if count
    }


def _length_buckets(lengths: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Quarters of the test rows by length, as far as equal lengths allow, named by their bounds."""
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, LENGTH_BUCKETS + 1)[1:], method="higher"))
    lows = [int(lengths.min()), *(int(edge) + 1 for edge in edges[:-1])]
    names = [f"{low}–{int(high)}" if low < high else str(low) for low, high in zip(lows, edges, strict=True)]
    return np.searchsorted(edges, lengths), names


def _run_summary(run: Record) -> RunSummary:
    outcome = run.outcome
    result: dict[str, Any] = outcome.result if isinstance(outcome, Finished | Diverged) else {}
    reason = None
    if isinstance(outcome, Failed):
        reason = outcome.reason
    elif isinstance(outcome, Diverged):
        reason = f"step {result['divergence']['step']}: {result['divergence']['reason']}"
    return RunSummary(
        seed=run.spec.seed,
        digest=run.spec.digest,
        path=str(run.path),
        status=type(outcome).__name__.lower(),
        valid_accuracy=result.get("valid", {}).get("accuracy"),
        accuracy=result.get("test", {}).get("accuracy"),
        macro_f1=result.get("test", {}).get("macro_f1"),
        best_epoch=result.get("best_epoch"),
        reason=reason,
    )


def best_run(arm: ArmSummary | None) -> str | None:
    """The path of the run that did best on validation."""
    runs = [run for run in arm.runs if run.valid_accuracy is not None] if arm else []
    return max(runs, key=lambda run: (run.valid_accuracy or 0.0, -run.seed)).path if runs else None


def _values(runs: Sequence[Record], *path: str) -> list[float]:
    found = []
    for run in runs:
        value: Any = run.outcome.result  # type: ignore[union-attr]  # only finished runs come here
        for part in path:
            value = value.get(part) if value is not None else None
        if value is not None:
            found.append(float(value))
    return found


def _parameters(runs: Sequence[Record]) -> int | None:
    counts = _values(runs, "parameters", "total")
    return int(counts[0]) if counts else None


def _mean(runs: Sequence[Record], *path: str) -> float | None:
    values = _values(runs, *path)
    return statistics.fmean(values) if values else None


def _median(runs: Sequence[Record], *path: str) -> float | None:
    values = _values(runs, *path)
    return statistics.median(values) if values else None
