"""Experiment files by name: ``001`` and ``001-addition`` are files that come with rnnlab."""

from collections.abc import Collection, Sequence
from pathlib import Path

from rnnlab.core.errors import ConfigError, did_you_mean
from rnnlab.core.words import both


def experiments_folder() -> Path:
    """Beside the code in an installed package, at the root of a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "experiments"
    return installed if installed.is_dir() else package.parents[1] / "experiments"


def shipped_experiments() -> dict[str, Path]:
    """All files that come with rnnlab, by name."""
    return {path.stem: path for path in sorted(experiments_folder().glob("*.toml"))}


def experiment_file(name: str | Path) -> Path:
    """The file that a person means: a path (.toml), the name of an experiment, or the beginning of one."""
    if isinstance(name, Path) or name.endswith(".toml") or Path(name).is_file():
        return Path(name)
    shipped = shipped_experiments()
    alike = [name] if name in shipped else [stem for stem in shipped if stem.startswith(name)]
    if len(alike) == 1:
        return shipped[alike[0]]
    if alike:
        raise ConfigError("{name}: several experiments begin so: {names}", name=name, names=", ".join(alike))
    hint = did_you_mean(name, shipped) or both(
        "; there are {names}, and files that end in .toml", names=", ".join(shipped)
    )
    raise ConfigError("{name}: no such experiment{hint}", name=name, hint=hint)


def experiment_meant(data: str, data_sets: Collection[str]) -> Path | None:
    """The experiment where data may stand as well: what is neither a path nor one of the ``data_sets``, and is the name
    of an experiment or its number."""
    if data.endswith(".toml"):
        return Path(data)
    if data in data_sets or Path(data).exists():
        return None
    shipped = shipped_experiments()
    return experiment_file(data) if data in shipped or any(stem.split("-")[0] == data for stem in shipped) else None


def find_experiments(names: Sequence[str] = ()) -> list[Path]:
    """The files of these experiments; without names, those of the documents, which are numbered."""
    if names:
        return [experiment_file(name) for name in names]
    numbered = [path for stem, path in shipped_experiments().items() if stem[0].isdigit()]
    if not numbered:
        raise ConfigError("{folder}: no experiment files; give the path of one", folder=experiments_folder())
    return numbered
