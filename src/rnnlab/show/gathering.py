"""What a folder of runs holds that a report can tell of: comparisons, sweeps, and runs that belong to neither."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from rnnlab.comparing.records import Record, splits_vary
from rnnlab.comparing.studies import Study
from rnnlab.comparing.tuning import Tuning
from rnnlab.core.config import canonical_json
from rnnlab.core.errors import RnnlabError, RunError, english
from rnnlab.core.words import both, joined, note, retold
from rnnlab.runs.directory import Failed, RunDirectory, find_runs
from rnnlab.sweeps.plan import SHORT_NAMES
from rnnlab.tasks.base import Task
from rnnlab.training.spec import RunSpec

ORIGIN = "origin.json"  # beside comparison.json and sweep.json: the command, and where its runs are
NO_RESULT = note("not finished: the command that began it goes on with it")


@dataclass(frozen=True)
class RecordedComparison:
    name: str
    task: Task  # of the first run
    records: tuple[Record, ...]  # in the order in which they were asked for
    notes: tuple[str, ...] = ()
    profile: dict[str, Any] | None = None  # None: it wasn't kept
    command: str | None = None
    folder: str | None = None  # where it is recorded
    look: int = (
        0  # how many times seeds had been added when it was judged, and what part of alpha that look could spend
    )
    spent: float = 1.0
    tuning: Tuning | None = None  # with `compare --tune`

    @property
    def splits_vary(self) -> bool:
        """Whether seeds have training and test rows of their own, as with ``compare --vary-split``."""
        return splits_vary(self.records)

    @property
    def digests(self) -> frozenset[str]:
        return frozenset(record.spec.digest for record in self.records)

    @property
    def trials(self) -> frozenset[str]:
        """Digests of the runs that chose its settings."""
        return frozenset(trial.digest for arm in (self.tuning.arms if self.tuning else ()) for trial in arm.trials)


@dataclass(frozen=True)
class RecordedSweep:
    name: str
    studies: tuple[Study, ...]
    runs: Path  # the folder in which they lie
    command: str | None = None


@dataclass(frozen=True)
class Gathered:
    comparisons: tuple[RecordedComparison, ...]  # the largest first
    sweeps: tuple[RecordedSweep, ...]  # by name
    specs: tuple[dict[str, Any], ...]  # of every run in the folders
    remarks: tuple[str, ...]  # what was left out, and why


def gather(paths: Sequence[str | PathLike[str]]) -> Gathered:
    """``paths`` are folders of runs, folders of one comparison or sweep within them, or single runs."""
    comparisons: list[RecordedComparison] = []
    sweeps: list[RecordedSweep] = []
    loose: list[RunDirectory] = []
    specs: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for path in map(Path, paths):
        if (path / "comparison.json").is_file():
            comparisons.append(_comparison(path))
            specs |= _specs(find_runs(path.parent.parent))
        elif (path / "sweep.json").is_file():
            sweeps.append(_sweep(path))
        elif (path / "spec.json").is_file():
            loose.append(RunDirectory(path))
            specs |= _specs([loose[-1]])
        else:
            runs = find_runs(path)
            comparisons += _readable(path.glob("comparisons/*/comparison.json"), _comparison, remarks)
            sweeps += _readable(path.glob("sweeps/*/sweep.json"), _sweep, remarks)
            told = _told(comparisons, sweeps)
            loose += [run for run in runs if run.path.name not in told]
            specs |= _specs(runs)
    comparisons = [*_without_parts(comparisons), *_group(loose, remarks)]
    comparisons.sort(key=lambda found: (-len(found.records), found.name, sorted(found.digests)))
    if not comparisons and not sweeps:
        said = joined([both("\n  {remark}", remark=retold(remark)) for remark in remarks], "")
        raise RunError("{names}: no run that a report could tell of{said}", names=", ".join(map(str, paths)), said=said)
    ordered = sorted(sweeps, key=lambda found: found.name)
    return Gathered(tuple(comparisons), tuple(ordered), tuple(specs.values()), tuple(remarks))


def _readable(files: Iterable[Path], read: Any, remarks: list[str]) -> list[Any]:
    """Those that can be read; what a folder holds besides doesn't stop the report."""
    found = []
    for file in sorted(files):
        try:
            found.append(read(file.parent))
        except RnnlabError as error:
            remarks.append(english(error))
    return found


def _comparison(folder: Path) -> RecordedComparison:
    """As `rnnlab compare` recorded it; the runs lie where the folder lies."""
    saved, origin = _json(folder / "comparison.json"), _json(folder / ORIGIN, missing={})
    summaries = {
        run["digest"]: (arm["label"], run) for arm in saved["baselines"] + saved["arms"] for run in arm["runs"]
    }
    order = origin.get("runs") or [[label, digest] for digest, (label, _) in summaries.items()]
    records = []
    for label, digest in order:
        run = RunDirectory(folder.parent.parent / digest)
        outcome = run.outcome() or Failed(summaries[digest][1]["reason"] or NO_RESULT)
        records.append(Record(label, RunSpec.from_dict(run.spec()), outcome, run.path))
    task = records[0].spec.task
    name = origin.get("name") or data_name(task)
    return RecordedComparison(
        name,
        task,
        tuple(records),
        tuple(saved["notes"]),
        saved["profile"],
        origin.get("command"),
        str(folder),
        origin.get("look", 0),
        origin.get("spent", 1.0),
        _tuning(folder, origin),
    )


def _tuning(folder: Path, origin: dict[str, Any]) -> Tuning | None:
    if origin.get("tuning") is None:
        return None
    try:
        return Tuning.from_dict(origin["tuning"])
    except (KeyError, TypeError, ValueError) as error:
        raise RunError("{folder}: damaged: {error}", folder=folder / ORIGIN, error=error) from None


def _sweep(folder: Path) -> RecordedSweep:
    saved, origin = _json(folder / "sweep.json"), _json(folder / ORIGIN, missing={})
    try:
        studies = tuple(Study.from_dict(study) for study in saved["studies"])
    except (KeyError, TypeError, ValueError) as error:
        raise RunError("{folder}: damaged: {error}", folder=folder / "sweep.json", error=error) from None
    runs = folder.resolve() / origin.get("runs", "../..")
    return RecordedSweep(folder.resolve().name, studies, runs, origin.get("command"))


def _json(path: Path, missing: dict[str, Any] | None = None) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if missing is None:
            raise
        return missing
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RunError("{path}: damaged: {error}", path=path, error=error) from None


def _specs(runs: Sequence[RunDirectory]) -> dict[str, dict[str, Any]]:
    found = {}
    for run in runs:
        try:
            found[run.path.name] = run.spec()
        except RunError:  # said where the run itself is read
            continue
    return found


def _told(comparisons: Sequence[RecordedComparison], sweeps: Sequence[RecordedSweep]) -> set[str]:
    """Digests of the runs that a comparison or a sweep tells of."""
    of_comparisons = {digest for found in comparisons for digest in found.digests | found.trials}
    points = [point for found in sweeps for study in found.studies for point in study.points]
    return of_comparisons | {repeat.digest for point in points for repeat in point.repeats}


def _without_parts(comparisons: Sequence[RecordedComparison]) -> list[RecordedComparison]:
    """A comparison whose runs are all in a larger one is told there."""
    return [one for one in comparisons if not any(one.digests < other.digests for other in comparisons)]


def _group(runs: Sequence[RunDirectory], remarks: list[str]) -> list[RecordedComparison]:
    """Runs that nobody compared, by their data. Runs without a result are left out: nothing is known of them."""
    by_data: dict[str, list[tuple[RunDirectory, RunSpec]]] = {}
    unfinished = 0
    for run in runs:
        try:
            if run.outcome() is None:
                unfinished += 1
                continue
            spec = RunSpec.from_dict(run.spec())
        except RnnlabError as error:
            remarks.append(english(error))
            continue
        by_data.setdefault(canonical_json(spec.task.identity()), []).append((run, spec))
    if unfinished:
        remarks.append(note("{unfinished} runs without a result are left out", unfinished=unfinished))
    alone = [found for found in by_data.values() if all(spec.training is None for _, spec in found)]
    remarks += [
        note("{data_name}: baselines alone, without a model to compare", data_name=data_name(found[0][1].task))
        for found in alone
    ]
    return [_of_one_data(found) for found in by_data.values() if found not in alone]


def _of_one_data(found: Sequence[tuple[RunDirectory, RunSpec]]) -> RecordedComparison:
    ordered = sorted(found, key=lambda pair: (pair[1].seed, pair[1].model.kind, pair[1].digest))
    labels = arm_labels([spec for _, spec in ordered])
    records = [
        Record(label, spec, run.outcome() or Failed(NO_RESULT), run.path)
        for (run, spec), label in zip(ordered, labels, strict=True)
    ]
    task = ordered[0][1].task
    return RecordedComparison(data_name(task), task, tuple(records))


def data_name(task: Task) -> str:
    """``reviews.csv``, ``movie-reviews``, ``addition``."""
    source = getattr(task, "data", None)
    return Path(source).name if source else task.kind


def arm_labels(specs: Sequence[RunSpec]) -> list[str]:
    """A name for each run's arm: that of its model, and the settings in which models of that name differ."""
    named = [(_model_name(spec), _settings(spec)) for spec in specs]
    seen: dict[str, dict[str, set[str]]] = {}  # by name and setting, the different values
    for name, own in named:
        for key, value in own.items():
            seen.setdefault(name, {}).setdefault(key, set()).add(canonical_json(value))
    return [
        " ".join([name, *(f"{key.rpartition('.')[2]}={_said(own[key])}" for key in own if len(seen[name][key]) > 1)])
        for name, own in named
    ]


def _settings(spec: RunSpec) -> dict[str, Any]:
    return _flat({"model": spec.model.to_dict(), "training": spec.training.to_dict() if spec.training else {}})


def _model_name(spec: RunSpec) -> str:
    model = spec.model.to_dict()
    for short, (kind, settings) in SHORT_NAMES.items():
        if model["kind"] == kind and all(model.get(key) == value for key, value in settings.items()):
            return short
    return model["kind"]


def _flat(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{path}{key}.") if isinstance(value, Mapping) else {f"{path}{key}": value}
    return found


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
