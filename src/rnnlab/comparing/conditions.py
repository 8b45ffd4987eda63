"""On which terms the arms of a comparison took part: size, work, tuning and stopping; and where its runs come from."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import safetensors

from rnnlab.comparing.chapters import Provenance, Setting, Terms
from rnnlab.comparing.endings import Events, ended_by, seconds_of
from rnnlab.comparing.records import Record, by_arm
from rnnlab.core.config import canonical_json
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.inspecting.cost import cost, has_formula
from rnnlab.models.base import Architecture
from rnnlab.runs.directory import Diverged, Failed, RunDirectory
from rnnlab.training.spec import RunSpec

NOT_TUNED = ("monitor", "device", "threads")  # settings of the training by which nobody looks for a better score


def terms(records: Sequence[Record], all_specs: Sequence[dict[str, Any]]) -> tuple[Terms, ...]:
    """One for each arm, in the order in which they appear. ``all_specs`` are the spec.json of every run of the folder:
    a model of which many settings were tried had more chances to look good."""
    shape = next((_Shape.of(record) for record in records if record.finished), None)
    return tuple(_terms(label, runs, shape, all_specs) for label, runs in by_arm(records).items())


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
            columns=len(preprocessor.text_columns),
            letters=preprocessor.letters,
            narrow=preprocessor.narrow,
            classes=spec.task.answer.outputs(preprocessor),
            length=self.length,
            reads=spec.task.answer.reads,
        ).flops_per_sequence


def _terms(label: str, runs: Sequence[Record], shape: _Shape | None, all_specs: Sequence[dict[str, Any]]) -> Terms:
    spec = runs[0].spec
    events = [run.events for run in runs]
    results = [run.result for run in runs if run.finished]
    epochs = [run.result["epochs"] for run in runs if "epochs" in run.result]
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
        seconds=sum(map(seconds_of, events)),
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
    """Why a run ended; None for baselines, and where the events are lost."""
    if isinstance(run.outcome, Diverged):
        return "diverged"
    if isinstance(run.outcome, Failed):
        return "failed"
    if run.spec.training is None or not run.finished:
        return None
    return ended_by(run.spec.training, run.spec.task.answer.chosen, run.result, events)


def environments(records: Sequence[Record]) -> tuple[dict[str, Any], ...]:
    """The different ones in which the runs were computed, whatever the order of the runs."""
    found = {canonical_json(run.result["environment"]): run.result["environment"] for run in records if run.result}
    return tuple(found[key] for key in sorted(found))


def provenance(records: Sequence[Record], command: str | None, experiment: str | None = None) -> Provenance:
    """``command`` is what was typed, ``experiment`` a file that repeats it (`show.experiment_file`)."""
    return Provenance(
        command=command,
        experiment=experiment,
        environments=environments(records),
        task=records[0].spec.task.to_dict(),
        seconds=sum(seconds_of(run.events) for run in records),
        signatures=_signatures(records),
    )


def _signatures(records: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    """By the title of a score, in the order in which they are met: splits may have other references."""
    titles = {score.name: score.title for score in records[0].spec.task.answer.scores}
    every: list[tuple[str, str]] = [pair for run in records for pair in run.result.get("signatures", {}).items()]
    return tuple(dict.fromkeys((titles.get(name, name), text) for name, text in every))
