"""rnnlab check"""

from typing import Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument
from rnnlab.core.words import plural, say


def check(
    file: Annotated[str, argument("FILE", "An experiment or sweep file (.toml), or the name of an experiment: 001.")],
    settings: options.Settings = None,
    plugin: options.Plugins = None,
    lang: options.Lang = None,
) -> None:
    """List every problem of an experiment file, each with its path.

    Example: rnnlab check experiment.toml
    """
    with options.loading():
        from rnnlab.core.config import read_toml
        from rnnlab.core.errors import ConfigError
        from rnnlab.sweeps.experiment import parse_experiment
        from rnnlab.sweeps.experiment_names import experiment_file
        from rnnlab.sweeps.plan import experiment_tree, is_sweep
        from rnnlab.sweeps.sweep_file import check_sweep

    path = experiment_file(file)
    if path.suffix != ".toml":
        raise ConfigError("{file}: an experiment file ends in .toml; 'rnnlab data profile' looks at data", file=file)
    if is_sweep(read_toml(path)):
        found = check_sweep(file, settings or [])
        studies = plural("{count} study", "{count} studies", len(found.studies))
        print(say("{file}: fine. {studies}, {claims} claims", file=file, studies=studies, claims=len(found.claims)))
        return
    experiment = parse_experiment(experiment_tree(file, settings=settings or []), file)
    arms, seeds = len(experiment.arms), len(experiment.seeds)
    print(say("{file}: fine. {arms} arms × {seeds} seeds", file=file, arms=arms, seeds=seeds))
