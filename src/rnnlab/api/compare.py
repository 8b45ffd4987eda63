"""The main job: from labelled data to a measured verdict; and its little sister, one model trained."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rnnlab.comparing.comparison import Comparison, summarise
from rnnlab.comparing.records import HeldOut, Record
from rnnlab.core.config import digest_of
from rnnlab.core.errors import ConfigError, RunsFailed
from rnnlab.core.files import write_atomically
from rnnlab.core.registry import load_plugin
from rnnlab.core.words import ResultNote, note, say
from rnnlab.data import memory
from rnnlab.data.encoded import EncodedData
from rnnlab.execute.executors import Executor, at_a_time, executor_for
from rnnlab.judging.looks import in_play, part_of_alpha, schedule
from rnnlab.runs.directory import Failed, RunDirectory, pretty_json
from rnnlab.show.experiment_file import experiment_file
from rnnlab.show.gathering import data_name
from rnnlab.show.notebook import Result, result_of
from rnnlab.show.telling import EXPERIMENT
from rnnlab.show.tuning_texts import tuning_notes
from rnnlab.sweeps.budget import Budget, Spent, refuse_budget
from rnnlab.sweeps.execution import Display, Silent, baseline_specs, run_all
from rnnlab.sweeps.experiment import Experiment, Match
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.sweeps.tune import tune as tune_arms
from rnnlab.training.range_test import RangeTest, range_test
from rnnlab.training.spec import RunSpec

Data = Any
"""A path, a name, or rows in memory: see `compare`."""
MOST_SEEDS = 20
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class UntilSure:
    """Add seeds until the recommendation is firm, at most so many per model, for about so many seconds."""

    max_seeds: int = MOST_SEEDS
    budget: float | None = None

    @classmethod
    def of(cls, max_seeds: int | None = None, budget: str | None = None) -> "UntilSure":
        """``budget`` is a text such as ``30m``, ``90s`` or ``1.5h``."""
        return cls(MOST_SEEDS if max_seeds is None else max_seeds, None if budget is None else seconds_of(budget))


def seconds_of(budget: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", budget.strip().lower())
    if not found or float(found[1]) == 0:
        raise ConfigError("budget: must be a time such as 30m, 90s or 1.5h (got {budget!r})", budget=budget)
    return float(found[1]) * _SECONDS[found[2]]


def compare(
    data: Data = None,
    *,
    models: Sequence[str] | None = None,
    seeds: int | None = None,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    task: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    vectors: str | None = None,
    match: Match | None = None,
    vary_split: bool | None = None,
    lookup: bool | None = None,
    until_sure: UntilSure | None = None,
    budget: str | None = None,
    tune: int | None = None,
    settings: Sequence[str] = (),
    out: str | Path = "runs",
    on: str = "processes",
    jobs: int | None = None,
    plugins: Sequence[str] = (),
    display: Display | None = None,
) -> Result:
    """Train every model over several seeds, beside the baselines, and judge.

    ``data`` is a file, a catalogue name, an experiment file (.toml), or None for the embedded reviews; or rows in
    memory: a pandas or polars frame, a dict of columns, a list of (text, label), a tuple of inputs and labels, a
    ``datasets.Dataset``, or a dict of these by split. Their runs are those of the same rows in a file. ``text`` and
    ``label`` name columns; several text columns, ``text=["subject", "body"]``, are read together. ``task`` and
    ``training`` set fields (``task={"metric": "macro-f1"}``, ``training={"class_weights": "balanced"}``); ``settings``
    are ``--set`` texts.
    ``match="parameters"`` makes the models equally large, ``match="seconds"`` gives them the same training time (of
    ``training={"minutes": …}``). With ``vary_split=True`` the seed of a run draws the split of the data too, so that
    the verdict counts the luck of the split and of the training rows; ``seeds`` is then 5 where you don't say.
    With ``lookup=True`` rows that stand in the training rows are answered by their labels there, by every model.
    ``until_sure=rnnlab.UntilSure.of(max_seeds=20, budget="30m")`` adds seeds where they can still change the
    recommendation, until it is firm. ``budget="10m"`` spends at most that: epochs are planned from a few timed updates,
    and seeds go to the models that can still win. ``tune=12`` tries 12 settings per model and baseline first, and
    compares those that did best on validation; ``result.tuning`` says which.
    """
    experiment, encoded = prepare(
        data,
        models=models,
        seeds=seeds,
        task=_with_columns(task, text, label),
        training=training,
        vectors=vectors,
        match=match,
        vary_split=vary_split,
        lookup=lookup,
        tune=tune,
        settings=settings,
        plugins=plugins,
    )
    return compare_prepared(
        experiment,
        encoded,
        until_sure=until_sure,
        budget=None if budget is None else seconds_of(budget),
        out=out,
        on=on,
        jobs=jobs,
        plugins=plugins,
        display=display,
    )


def _with_columns(
    task: dict[str, Any] | None, text: str | Sequence[str] | None, label: str | None
) -> dict[str, Any] | None:
    """The settings of the task, and the columns that were named beside them."""
    named = {key: value for key, value in (("text", text), ("label", label)) if value is not None}
    twice = [key for key in named if key in (task or {})]
    if twice:
        raise ConfigError("{key}: it is given twice, by itself and in task; leave one of them out", key=twice[0])
    return {**(task or {}), **named} if named else task


def prepare(data: Data = None, *, plugins: Sequence[str] = (), **options: Any) -> tuple[Experiment, EncodedData]:
    """Check all that was asked for and read the data: everything that can go wrong before training starts."""
    for plugin in plugins:
        load_plugin(plugin)
    if memory.is_in_memory(data):
        files = memory.as_files(data)
        data = files.pop("data")
        options["task"] = files | (options.get("task") or {})
    source = None if data is None else str(data)
    return plan(experiment_tree(source, **options), source or "options")


def compare_prepared(
    experiment: Experiment,
    data: EncodedData,
    *,
    until_sure: UntilSure | None = None,
    budget: float | None = None,
    out: str | Path = "runs",
    on: str = "processes",
    jobs: int | None = None,
    plugins: Sequence[str] = (),
    display: Display | None = None,
    trial_display: Display | None = None,
    command: str | None = None,
    seconds: Mapping[str, float] | None = None,
    watch: Callable[[str], None] = lambda _: None,
) -> Result:
    """``budget`` is in seconds, as that of ``until_sure`` is. ``command`` is what a person typed to get here; it is
    kept with the comparison. ``trial_display`` shows the trials of ``tune``. ``seconds`` are what a run of each arm is
    likely to take, where that was measured: the longest begin first. ``watch`` hears of settings that were chosen and
    of seeds that are added."""
    executor = executor_for(on, jobs, plugins)
    looks = [len(experiment.seeds)]
    if until_sure is not None:
        if until_sure.max_seeds < len(experiment.seeds):
            raise ConfigError(
                "max_seeds: must be at least seeds, {count} (got {max_seeds}); leave it out, or ask for fewer seeds",
                count=len(experiment.seeds),
                max_seeds=until_sure.max_seeds,
            )
        looks = schedule(len(experiment.seeds), until_sure.max_seeds)
    budget = until_sure.budget if until_sure and until_sure.budget is not None else budget
    if experiment.tune is not None and budget is not None:
        raise ConfigError(
            "--budget can't be kept with --tune {tune}: every model gets as many trials, however long they take; leave "
            "one of them out, or tune with fewer --models, --epochs or trials",
            tune=experiment.tune,
        )
    tuning = None
    if experiment.tune is not None:
        experiment, tuning = tune_arms(experiment, data, Path(out), executor, trial_display or Silent())
        experiment = replace(experiment, notes=(*experiment.notes, *tuning_notes(tuning, experiment.vary_split)))
        trials = sum(len(arm.trials) for arm in tuning.arms)
        watch(say("settings are chosen, from {total} trials; now over the seeds", total=trials))
    if budget is None:
        found = _look_until_sure(
            experiment, data, looks, until_sure, Path(out), executor, display or Silent(), seconds, watch
        )
    else:
        refuse_budget(experiment)
        places, shown = at_a_time(on, jobs), display or Silent()
        found = Budget(experiment, data, budget, looks[-1], Path(out), executor, places, shown, watch).spend()
    runs = [(record.label, record.spec) for record in found.records]
    folder = _folder_with_experiment(runs, experiment.name, Path(out))
    comparison = replace(found.comparison, tuning=tuning, folder=str(folder))
    asked = [(label, spec.digest) for label, spec in runs]
    about = {"name": experiment.name, "command": command, "vary_split": experiment.vary_split}
    origin = {"format": 1, **about, "look": comparison.verdict.look, "spent": found.alpha, "runs": asked}
    if tuning is not None:
        origin["tuning"] = tuning.to_dict()
    write_atomically(folder / "origin.json", pretty_json(origin))
    write_atomically(folder / "comparison.json", pretty_json(comparison.to_dict()))
    write_atomically(folder / "profile.json", pretty_json(data.profile))
    return result_of(comparison)


def _folder_with_experiment(runs: Sequence[tuple[str, RunSpec]], name: str, out: Path) -> Path:
    """Where the comparison of these runs is recorded; with the file that asks for them, where there is one."""
    folder = out / "comparisons" / digest_of([spec.digest for _, spec in runs])
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / EXPERIMENT).exists():
        text = experiment_file(name or data_name(runs[0][1].task), [(label, spec.to_dict()) for label, spec in runs])
        if text is not None:
            write_atomically(folder / EXPERIMENT, text)
    return folder


def _look_until_sure(
    experiment: Experiment,
    data: EncodedData,
    looks: Sequence[int],
    until_sure: UntilSure | None,
    out: Path,
    executor: Executor,
    display: Display,
    seconds: Mapping[str, float] | None,
    watch: Callable[[str], None],
) -> Spent:
    """Run, judge, and add seeds to the models that can still change the decision, as long as there are looks left."""
    runs = baseline_specs(experiment, data) + experiment.specs()
    if len(looks) == 1:  # all runs are known: if they are interrupted, the file that asks for them is there
        _folder_with_experiment(runs, experiment.name, out)
    records: list[Record] = []
    notes = list(experiment.notes)
    for number, seeds in enumerate(looks):
        records += run_all(runs, out, executor, display, seconds=seconds)
        spent = part_of_alpha(looks, number)
        comparison = summarise(
            experiment.task, HeldOut.of(data), records, data.profile, notes, spent=spent, look=number
        )
        if until_sure is None:
            return Spent(comparison, records, spent)
        labels = in_play(comparison.verdict, looks[-1] - seeds)
        why = _why_stop(comparison, labels, number + 1 == len(looks))
        if why is not None:
            said = note("until sure: {why}, with {seeds} seeds of the models that mattered", why=why, seeds=seeds)
            return Spent(replace(comparison, notes=(*comparison.notes, ResultNote(said))), records, spent)
        more = experiment.with_more_seeds(labels, seeds, looks[number + 1])
        runs = (baseline_specs(more, data) if experiment.vary_split else []) + more.specs()
        most, names = looks[number + 1], ", ".join(labels)
        watch(say("not settled with {seeds} seeds: up to {most} for {names}", seeds=seeds, most=most, names=names))
    raise AssertionError("the last look ends it")


def _why_stop(comparison: Comparison, labels: Sequence[str], last: bool) -> str | None:
    """None where it is worth going on."""
    if comparison.verdict.firm:
        return note("the recommendation is firm")
    if comparison.verdict.too_short:
        return note("stopped, since the test part is too short to judge, however many seeds there are")
    if last:
        return note("stopped at the most seeds allowed (--max-seeds)")
    if comparison.verdict.cut_short and comparison.verdict.advice is None:
        return note("stopped, since more seeds would not tell how good longer training is")
    if not labels:
        return note("stopped, since the seeds allowed (--max-seeds) would hardly settle it")
    return None


def train(
    data: Data = None,
    *,
    model: str = "lstm",
    seed: int = 0,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
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
        task=_with_columns(task, text, label),
        training=training,
        vectors=vectors,
        plugins=plugins,
        settings=[*settings, f"seeds=[{seed}]"],
    )
    return train_prepared(experiment, out=out, plugins=plugins, display=display)


def train_prepared(
    experiment: Experiment, *, out: str | Path = "runs", plugins: Sequence[str] = (), display: Display | None = None
) -> RunDirectory:
    record = run_all(experiment.specs(), Path(out), executor_for(jobs=1, plugins=plugins), display or Silent())[0]
    if isinstance(record.outcome, Failed):
        raise RunsFailed("{label}: {reason}", label=record.label, reason=record.outcome.reason)
    return RunDirectory(record.path)


def find_rate(experiment: Experiment, data: EncodedData) -> RangeTest:
    """The range test of learning rates for the one model of a prepared experiment. Nothing is written."""
    _, spec = experiment.specs()[0]
    return range_test(spec, data)
