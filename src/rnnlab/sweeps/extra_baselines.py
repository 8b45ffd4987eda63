"""Baselines that need an extra: which of them run beside the models."""

import importlib.util
from collections.abc import Mapping

from rnnlab.core.errors import ConfigError, known_are
from rnnlab.core.words import note
from rnnlab.data.encoded import EncodedData
from rnnlab.models.baselines import BASELINES, Baseline
from rnnlab.models.forecasting import Forecasting, Work
from rnnlab.sweeps.experiment import Experiment
from rnnlab.tasks.base import Task

LONGEST = 60.0  # seconds that a baseline may take that nobody asked for


def with_extra_baselines(
    experiment: Experiment, task: Task, data: EncodedData
) -> tuple[Mapping[str, Baseline], list[str]]:
    """The baselines of the experiment and those that are installed and fitted soon; and notes on what is left out."""
    found, notes, missing = dict(experiment.baselines), [], []
    beside = task.answer.baselines
    for cls in BASELINES:
        if not cls.extra:
            continue
        asked = cls.kind in found
        if cls.kind not in beside:
            if asked:
                raise ConfigError(
                    "baselines.{kind}: it doesn't suit the task '{task}'{hint}",
                    kind=cls.kind,
                    task=task.kind,
                    hint=known_are(sorted(beside)),
                )
        elif not all(map(installed, cls.packages)):
            if asked:
                raise ConfigError(
                    "baselines.{kind}: it needs {packages}: pip install 'rnnlab[{extra}]'",
                    kind=cls.kind,
                    packages=", ".join(cls.packages),
                    extra=cls.extra,
                )
            missing.append(cls)
        elif not asked:
            model = cls()
            seconds = likely_seconds(model, data)
            if seconds <= LONGEST:
                found[cls.kind] = model
            else:
                notes.append(
                    note(
                        "{kind} is left out: it would take about {seconds:,.0f} seconds; to have it, name it among the "
                        "models: --models gru,{kind}",
                        kind=cls.kind,
                        seconds=seconds,
                    )
                )
    if missing:
        notes.append(
            note(
                "{kinds} are left out: they need an extra: pip install 'rnnlab[{extra}]'",
                kinds=", ".join(cls.kind for cls in missing),
                extra=missing[0].extra,
            )
        )
    return found, notes


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def likely_seconds(model: Baseline, data: EncodedData) -> float:
    if not isinstance(model, Forecasting):
        return 0.0
    assert data.train.scales is not None
    series, _, channels = data.train.scales.shape
    parts = (data.valid, data.test)
    return model.seconds(
        Work(
            series=series * channels,
            steps=len(data.train.values) // series,
            read=sum(int(part.lengths.sum()) for part in parts) * channels,
            asked=sum(len(part) * (part.horizon or 0) for part in parts) * channels,
            season=data.profile["settled"]["season"],
        )
    )
