"""The main job: from labelled data to a measured verdict; and its little sister, one model trained."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rnnlab.analysis.comparison import HeldOut, summarise
from rnnlab.config import digest_of
from rnnlab.data.encoded import EncodedData
from rnnlab.errors import RunsFailed
from rnnlab.experiment import Experiment, Match
from rnnlab.files import write_atomically
from rnnlab.registry import load_plugin
from rnnlab.report.notebook import Result, result_of
from rnnlab.runs import Failed, RunDirectory, pretty_json
from rnnlab.sweep.executors import executor_for
from rnnlab.sweep.plan import experiment_tree, plan
from rnnlab.sweep.run import Display, Silent, baseline_specs, run_all
from rnnlab.training.range_test import RangeTest, range_test


def compare(
    data: str | Path | None = None,
    *,
    models: Sequence[str] | None = None,
    seeds: int | None = None,
    task: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    vectors: str | None = None,
    match: Match | None = None,
    vary_split: bool | None = None,
    settings: Sequence[str] = (),
    out: str | Path = "runs",
    on: str = "processes",
    jobs: int | None = None,
    plugins: Sequence[str] = (),
    display: Display | None = None,
) -> Result:
    """Train every model over several seeds, beside the baselines, and judge.

    ``data`` is a file, a catalogue name, an experiment file (.toml), or None for the embedded reviews. ``task`` and
    ``training`` set fields (``task={"text": "body"}``, ``training={"epochs": 5}``); ``settings`` are ``--set`` texts.
    ``match="parameters"`` makes the models equally large, ``match="seconds"`` gives them the same training time (of
    ``training={"minutes": …}``). With ``vary_split=True`` the seed of a run draws the split of the data too, so that
    the verdict counts the luck of the split and of the training rows; ``seeds`` is then 5 where you don't say.
    """
    experiment, encoded = prepare(
        data,
        models=models,
        seeds=seeds,
        task=task,
        training=training,
        vectors=vectors,
        match=match,
        vary_split=vary_split,
        settings=settings,
        plugins=plugins,
    )
    return compare_prepared(experiment, encoded, out=out, on=on, jobs=jobs, plugins=plugins, display=display)


def prepare(
    data: str | Path | None = None, *, plugins: Sequence[str] = (), **options: Any
) -> tuple[Experiment, EncodedData]:
    """Check all that was asked for and read the data: everything that can go wrong before training starts."""
    for plugin in plugins:
        load_plugin(plugin)
    source = None if data is None else str(data)
    return plan(experiment_tree(source, **options), source or "options")


def compare_prepared(
    experiment: Experiment,
    data: EncodedData,
    *,
    out: str | Path = "runs",
    on: str = "processes",
    jobs: int | None = None,
    plugins: Sequence[str] = (),
    display: Display | None = None,
    command: str | None = None,
) -> Result:
    """``command`` is what a person typed to get here; it is kept with the comparison."""
    executor = executor_for(on, jobs, plugins)
    runs = baseline_specs(experiment, data) + experiment.specs()
    records = run_all(runs, Path(out), executor, display or Silent())
    comparison = summarise(experiment.task, HeldOut.of(data), records, data.profile, experiment.notes)
    folder = Path(out) / "comparisons" / digest_of([spec.digest for _, spec in runs])
    comparison = replace(comparison, folder=str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    asked = [(label, spec.digest) for label, spec in runs]
    about = {"name": experiment.name, "command": command, "vary_split": experiment.vary_split}
    origin = {"format": 1, **about, "runs": asked}
    write_atomically(folder / "origin.json", pretty_json(origin))
    write_atomically(folder / "comparison.json", pretty_json(comparison.to_dict()))
    write_atomically(folder / "profile.json", pretty_json(data.profile))
    return result_of(comparison)


def train(
    data: str | Path | None = None,
    *,
    model: str = "lstm",
    seed: int = 0,
    task: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    vectors: str | None = None,
    settings: Sequence[str] = (),
    out: str | Path = "runs",
    plugins: Sequence[str] = (),
    display: Display | None = None,
) -> RunDirectory:
    """Train one model once and return its run directory, which is the model."""
    experiment, _ = prepare(
        data,
        models=[model],
        task=task,
        training=training,
        vectors=vectors,
        plugins=plugins,
        settings=[*settings, f"seeds=[{seed}]"],
    )
    return train_prepared(experiment, out=out, plugins=plugins, display=display)


def train_prepared(
    experiment: Experiment,
    *,
    out: str | Path = "runs",
    plugins: Sequence[str] = (),
    display: Display | None = None,
) -> RunDirectory:
    record = run_all(experiment.specs(), Path(out), executor_for(jobs=1, plugins=plugins), display or Silent())[0]
    if isinstance(record.outcome, Failed):
        raise RunsFailed(f"{record.label}: {record.outcome.reason}")
    return RunDirectory(record.path)


def find_rate(experiment: Experiment, data: EncodedData) -> RangeTest:
    """The range test of learning rates for the one model of a prepared experiment. Nothing is written."""
    _, spec = experiment.specs()[0]
    return range_test(spec, data)
