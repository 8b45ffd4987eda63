"""On which terms the arms of a comparison took part: size, work, tuning and stopping; and where its runs come from."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import safetensors

from rnnlab.comparing.chapters import Provenance, Setting, Terms
from rnnlab.comparing.comparison import Record
from rnnlab.core.config import canonical_json
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.inspecting.cost import cost, has_formula
from rnnlab.models.base import Architecture
from rnnlab.runs.directory import Diverged, Failed, Finished, RunDirectory
from rnnlab.tasks.base import Task
from rnnlab.training.spec import RunSpec, Training

NOT_TUNED = ("monitor", "device", "threads")  # settings of the training by which nobody looks for a better score

Events = list[dict[str, Any]]


def terms(records: Sequence[Record], all_specs: Sequence[dict[str, Any]]) -> tuple[Terms, ...]:
    """One for each arm, in the order in which they appear. ``all_specs`` are the spec.json of every run of the folder:
    a model of which many settings were tried had more chances to look good."""
    by_label: dict[str, list[Record]] = {}
    for record in records:
        by_label.setdefault(record.label, []).append(record)
    shape = next((_Shape.of(record) for record in records if isinstance(record.outcome, Finished)), None)
    return tuple(_terms(label, runs, shape, all_specs) for label, runs in by_label.items())


class _Shape:
    """What the arms of a comparison share: what goes in, what comes out, and how long it usually is."""

    def __init__(self, preprocessor: Preprocessor, length: int):
        self.preprocessor, self.length = preprocessor, length

    @classmethod
    def of(cls, finished: Record) -> "_Shape":
        run = RunDirectory(finished.path)
        with safetensors.safe_open(run.verified("predictions.safetensors"), "numpy") as saved:
            length = int(np.median(saved.get_tensor("test.lengths")))
        return cls(Preprocessor.from_json(run.verified("model.json").read_text(encoding="utf-8")), length)

    def flops(self, spec: RunSpec) -> int | None:
        """Of a forward pass over a row of that length; None where there is no formula."""
        model, preprocessor = spec.model, self.preprocessor
        if not isinstance(model, Architecture) or not has_formula(model):
            return None
        return cost(
            model,
            words=len(preprocessor.vocabulary) if preprocessor.vocabulary else None,
            features=preprocessor.features,
            tokens=preprocessor.tokens,
            classes=len(preprocessor.labels) or 1,
            length=self.length,
            reads=spec.task.answer.reads,
        ).flops_per_sequence


def _terms(label: str, runs: Sequence[Record], shape: _Shape | None, all_specs: Sequence[dict[str, Any]]) -> Terms:
    spec = runs[0].spec
    events = [RunDirectory(run.path).events() for run in runs]
    results = [run.outcome.result for run in runs if isinstance(run.outcome, Finished)]
    epochs = [
        run.outcome.result["epochs"]
        for run in runs
        if isinstance(run.outcome, Finished | Diverged) and "epochs" in run.outcome.result
    ]
    advancing = [seconds for result in results if (seconds := result.get("advance_seconds")) is not None]
    endings = (ending(run, own) for run, own in zip(runs, events, strict=True))
    return Terms(
        arm=label,
        baseline=spec.training is None,
        parameters=results[0]["parameters"] if results else {},
        flops=shape.flops(spec) if shape else None,
        flops_length=shape.length if shape else 0,
        settings_tried=_settings_tried(spec, all_specs),
        stopping=dict(Counter(why for why in endings if why is not None)),
        epochs=(min(epochs), max(epochs)) if epochs else None,
        seconds=_seconds(events),
        settings=settings_of((run.spec.digest, run.spec.to_dict()) for run in runs),
        advance_seconds=statistics.median(advancing) if advancing else None,
    )


def settings_of(runs: Iterable[tuple[str, dict[str, Any]]]) -> tuple[Setting, ...]:
    """Runs, (digest, spec.json), by what they share."""
    found: dict[str, Setting] = {}
    for digest, spec in runs:
        shared = {key: value for key, value in spec.items() if key != "seed"}
        known = found.setdefault(canonical_json(shared), Setting(shared, ()))
        found[canonical_json(shared)] = replace(known, runs=(*known.runs, (spec["seed"], digest)))
    return tuple(found.values())


def _seconds(events: Sequence[Events]) -> float:
    return sum((event.get("seconds", 0.0) for own in events for event in own), 0.0)


def _settings_tried(spec: RunSpec, all_specs: Sequence[dict[str, Any]]) -> int:
    """Different ones of this kind of model on this data, its own among them."""
    own = spec.to_dict()
    return len({_settings(other) for other in (own, *all_specs) if _what(other) == _what(own)})


def _what(spec: dict[str, Any]) -> tuple[Any, ...]:
    """A model on some data; one that reads both ways goes by another name, ``bilstm``, and is another model."""
    model, task = spec["model"], spec["task"]
    return model["kind"], model.get("bidirectional", False), task["kind"], task.get("fingerprint")


def _settings(spec: dict[str, Any]) -> str:
    training = spec["training"]
    tuned = training and {key: value for key, value in training.items() if key not in NOT_TUNED}
    return canonical_json([spec["model"], tuned])


def ending(run: Record, events: Events) -> str | None:
    """Why a run ended. Where several limits were reached at once, the one that tells most: a score that was good
    enough, one that no longer rose, a limit that was set. None for baselines, and where the events are lost."""
    if isinstance(run.outcome, Diverged):
        return "diverged"
    if isinstance(run.outcome, Failed):
        return "failed"
    if run.spec.training is None or not isinstance(run.outcome, Finished):
        return None
    return _limit(run.spec.training, run.spec.task, run.outcome.result, events)


def _limit(training: Training, task: Task, result: dict[str, Any], events: Events) -> str | None:
    """Which limit ended a finished run, by the rules of `training.loop`."""
    scores = [
        event[f"valid_{task.answer.chosen.name}"] for event in events if f"valid_{task.answer.chosen.name}" in event
    ]
    best = (min if task.answer.chosen.lower_is_better else max)(scores, default=None)
    if training.until is not None and best is not None:
        reached = best <= training.until if task.answer.chosen.lower_is_better else best >= training.until
        if reached:
            return "until"
    if training.patience is not None and result["epochs"] - result["best_epoch"] >= training.patience:
        return "patience"
    if training.minutes is not None and _seconds([events]) >= training.minutes * 60:
        return "minutes"
    if training.steps is not None and events and events[-1].get("step") == training.steps:
        return "steps"
    return "epochs" if result["epochs"] == training.epochs else None


def environments(records: Sequence[Record]) -> tuple[dict[str, Any], ...]:
    """The different ones in which the runs were computed, whatever the order of the runs."""
    results = [run.outcome.result for run in records if isinstance(run.outcome, Finished | Diverged)]
    found = {canonical_json(result["environment"]): result["environment"] for result in results}
    return tuple(found[key] for key in sorted(found))


def provenance(records: Sequence[Record], command: str | None, experiment: str | None = None) -> Provenance:
    """``command`` is what was typed, ``experiment`` a file that repeats it (`show.experiment_file`)."""
    return Provenance(
        command=command,
        experiment=experiment,
        environments=environments(records),
        task=records[0].spec.task.to_dict(),
        seconds=_seconds([RunDirectory(run.path).events() for run in records]),
    )
