"""A sweep: the runs of all its studies, each computed once, what they add up to, and what becomes of its claims."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rnnlab.claims.judgement import decide
from rnnlab.comparing.records import why_no_score
from rnnlab.comparing.studies import Point, Repeat, Study, Target, first_step
from rnnlab.core.errors import ConfigError
from rnnlab.core.registry import load_plugin
from rnnlab.core.words import Both, both, joined, note, retold
from rnnlab.execute.executors import Executor, Limits, executor_for
from rnnlab.models.baselines import Baseline
from rnnlab.runs.directory import Diverged, Finished, Outcome, RunDirectory, Stopped
from rnnlab.show.notebook import Studies
from rnnlab.show.pages.ledger import Ledger, provenance_of
from rnnlab.sweeps.draws import require_optuna
from rnnlab.sweeps.execution import Display, Silent, run_all
from rnnlab.sweeps.experiment import seed_numbers
from rnnlab.sweeps.search import StudySearch
from rnnlab.sweeps.sweep_file import SweepFile, read_sweep
from rnnlab.sweeps.sweep_plan import PlannedPoint, PlannedStudy, plan_studies, with_target
from rnnlab.training.spec import RunSpec


def run_sweep(
    file: str | Path,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    settings: Sequence[str] = (),
    out: str | Path = "runs",
    on: str = "processes",
    jobs: int | None = None,
    limits: Limits = Limits(),
    plugins: Sequence[str] = (),
    display: Display | None = None,
) -> Studies:
    """Every study of a sweep file (or ``only`` some). Finished runs are found again; the others are computed."""
    for plugin in plugins:
        load_plugin(plugin)
    asked = read_sweep(file, quick=quick, settings=settings, only=only)
    planned = plan_studies(asked, str(file))
    return Studies(run_planned(planned, Path(out), executor_for(on, jobs, plugins, limits), display or Silent()))


def run_planned(planned: Sequence[PlannedStudy], out: Path, executor: Executor, display: Display) -> list[Study]:
    """Grids first, all together, so that no core waits for the last run of a study; then the searches, one by one."""
    if any(study.settings.strategy == "tpe" for study in planned):
        require_optuna()  # now, not after the grids
    grids = [study for study in planned if study.settings.strategy == "grid"]
    outcomes = _compute(grids, out, executor, display) if grids else {}
    found = []
    for study in planned:
        if study.settings.strategy == "grid":
            found.append(summarise(study, out, outcomes))
        else:
            drawn, of_trials = StudySearch(study, out, display).run(executor)
            found.append(summarise(with_target(drawn), out, of_trials))
    return found


def _compute(planned: Sequence[PlannedStudy], out: Path, executor: Executor, display: Display) -> dict[str, Outcome]:
    """The outcome of every run by its digest. A run that two studies ask for is computed once."""
    runs: dict[str, tuple[str, RunSpec]] = {}
    for study in planned:
        for point in study.points:
            label = f"{study.name}: {point.label}" if len(planned) > 1 else point.label
            for spec in point.specs:
                runs.setdefault(spec.digest, (label, spec))
    budgets = [study.settings.minutes for study in planned]
    minutes = None if None in budgets else sum(b for b in budgets if b is not None)
    deadline = math.inf if minutes is None else time.monotonic() + 60 * minutes
    records = run_all(list(runs.values()), out, executor, display, lambda label, spec: time.monotonic() < deadline)
    return {record.spec.digest: record.outcome for record in records}


def summarise(planned: PlannedStudy, out: Path, outcomes: Mapping[str, Outcome]) -> Study:
    """The study as data, from the run directories."""
    notes = list(planned.notes)
    points = []
    for point in planned.points:
        repeats = [_repeat(spec, out, outcomes.get(spec.digest), planned.target) for spec in point.specs]
        known = tuple(repeat for repeat in repeats if repeat is not None)
        points.append(Point(point.at, point.label, _as_often(known, point, planned)))
    lacking = sum(outcomes.get(spec.digest) is None for point in planned.points for spec in point.specs)
    if lacking:
        left = note(
            "{lacking} runs were not begun within the minutes of the file; the same command goes on", lacking=lacking
        )
        notes.append(left)
    return Study(
        name=planned.name,
        about=planned.settings.about,
        metric=planned.metric,
        lower_is_better=planned.lower_is_better,
        axes=planned.shown_axes,
        points=tuple(points),
        target=planned.target,
        heatmaps=planned.settings.heatmaps,
        notes=tuple(notes),
    )


def _repeat(spec: RunSpec, out: Path, outcome: Outcome | None, target: Target | None) -> Repeat | None:
    if outcome is None:
        return None
    run = RunDirectory(out / spec.digest)
    result: dict[str, Any] = outcome.result if isinstance(outcome, Finished | Diverged) else {}
    curve = tuple(
        {key: value for key, value in event.items() if key not in ("event", "gradients")}
        for event in run.events()
        if event.get("event") == "epoch"
    )
    return Repeat(
        seed=spec.seed,
        digest=spec.digest,
        path=str(run.path),
        status="pruned" if isinstance(outcome, Stopped) else type(outcome).__name__.lower(),
        curve=curve,
        reached=first_step(curve, target) if target else None,
        result=result,
        reason=why_no_score(outcome),
    )


def _as_often(repeats: tuple[Repeat, ...], point: PlannedPoint, planned: PlannedStudy) -> tuple[Repeat, ...]:
    """A baseline has no seed, and is the same beside every seed of the models: its one run stands for all of them."""
    if not repeats or not isinstance(point.specs[0].model, Baseline):
        return repeats
    return tuple(replace(repeats[0], seed=seed) for seed in seed_numbers(planned.settings.repeats))


def unfinished(studies: Sequence[Study]) -> Both:
    """The runs that failed, a line each; empty when none did. A diverged run is a result of a sweep, not a failure."""
    failed = {
        repeat.digest: both(
            "{study}, {point}, seed {seed}: {reason}",
            study=study.name,
            point=point.label,
            seed=repeat.seed,
            reason=retold(repeat.reason or ""),
        )
        for study in studies
        for point in study.points
        for repeat in point.repeats
        if repeat.status == "failed"
    }
    return joined(list(failed.values()), "\n")


# --- claims: run what experiment files ask for, and say which of the documents' claims the runs support -------------


def read_experiments(paths: Sequence[Path], quick: bool, settings: Sequence[str] = ()) -> list[SweepFile]:
    files = [read_sweep(path, quick=quick, settings=settings) for path in paths]
    without = [str(path) for path, file in zip(paths, files, strict=True) if not file.claims]
    if without:
        raise ConfigError(
            "{names}: no [[claim]] to decide; 'rnnlab sweep' runs a file without claims", names=", ".join(without)
        )
    return files


def reproduce(
    files: Sequence[SweepFile],
    planned: Sequence[Sequence[PlannedStudy]],
    out: Path,
    executor: Executor,
    display: Display,
    command: str = "",
) -> tuple[dict[str, list[Study]], Ledger]:
    """Compute what isn't there yet, all files together, and decide every claim: the studies by the names of the files,
    and the ledger."""
    done = run_planned([study for own in planned for study in own], out, executor, display)
    found = iter(done)
    studies = {file.name: [next(found) for _ in own] for file, own in zip(files, planned, strict=True)}
    findings = [
        decide(claim, {study.name: study for study in studies[file.name]}) for file in files for claim in file.claims
    ]
    reduced = {
        f"{file.name}, {name}": settings.reduced
        for file in files
        for name, settings in file.studies.items()
        if settings.reduced
    }
    return studies, Ledger(tuple(findings), provenance_of(done, [command] if command else [], reduced))
