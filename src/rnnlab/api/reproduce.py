"""The ledger: run what experiment files ask for, and say which of the documents' claims the runs support."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnlab.api.sweep import run_planned
from rnnlab.claims.judgement import decide
from rnnlab.comparing.studies import Study
from rnnlab.core.errors import ConfigError, did_you_mean
from rnnlab.core.words import both
from rnnlab.execute.executors import Executor
from rnnlab.show.pages.ledger import Ledger, provenance_of
from rnnlab.sweeps.execution import Display
from rnnlab.sweeps.sweep_file import PlannedStudy, SweepFile, plan_studies, read_sweep


@dataclass(frozen=True)
class Reproduced:
    files: tuple[SweepFile, ...]
    studies: dict[str, list[Study]]  # by the name of the file
    ledger: Ledger


def experiments_folder() -> Path:
    """Beside the code in an installed package, at the root of a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "experiments"
    return installed if installed.is_dir() else package.parents[1] / "experiments"


def find_experiments(names: Sequence[str] = ()) -> list[Path]:
    """The files of the documents' experiments, or those named: by name, by its beginning, or by path."""
    folder = experiments_folder()
    shipped = {path.stem: path for path in sorted(folder.glob("[0-9]*.toml"))}
    if not names:
        if not shipped:
            raise ConfigError("{folder}: no experiment files; give the path of one", folder=folder)
        return list(shipped.values())
    found = []
    for name in names:
        alike = [path for stem, path in shipped.items() if stem.startswith(name)]
        if name.endswith(".toml"):
            found.append(Path(name))
        elif len(alike) == 1:
            found.append(alike[0])
        else:
            hint = did_you_mean(name, shipped) or both(
                "; there are {names}, and files that end in .toml", names=", ".join(shipped)
            )
            raise ConfigError(
                both("{name}: several experiments begin so{hint}", name=name, hint=hint)
                if alike
                else both("{name}: no such experiment{hint}", name=name, hint=hint)
            )
    return found


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
) -> Reproduced:
    """Compute what isn't there yet, all files together, and decide every claim."""
    everything = [study for studies in planned for study in studies]
    found = iter(run_planned(everything, out, executor, display))
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
    everything_done = [study for own in studies.values() for study in own]
    provenance = provenance_of(everything_done, [command] if command else [], reduced)
    return Reproduced(tuple(files), studies, Ledger(tuple(findings), provenance))


def plan_all(files: Sequence[SweepFile]) -> list[list[PlannedStudy]]:
    return [plan_studies(file, file.name) for file in files]
