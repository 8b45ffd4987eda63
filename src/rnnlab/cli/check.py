"""rnnlab check"""

from typing import Annotated

import typer

from rnnlab.cli import options
from rnnlab.core.words import plural, say


def check(
    file: Annotated[str, typer.Argument(metavar="FILE.toml")],
    settings: options.Settings = None,
    plugin: options.Plugins = None,
    lang: options.Lang = None,
) -> None:
    """List every problem of an experiment or sweep file, each with its path.

    Example: rnnlab check experiment.toml
    """
    with options.loading():
        from rnnlab.core.config import read_toml
        from rnnlab.core.errors import ConfigError
        from rnnlab.sweeps.experiment import parse_experiment
        from rnnlab.sweeps.plan import experiment_tree, is_sweep
        from rnnlab.sweeps.sweep_file import read_sweep

    if not file.endswith(".toml"):
        raise ConfigError("{file}: an experiment file ends in .toml; 'rnnlab data profile' looks at data", file=file)
    if is_sweep(read_toml(file)):
        for quick in (True, False):
            found = read_sweep(file, quick=quick, settings=settings or [])
        studies = plural("{count} study", "{count} studies", len(found.studies))
        print(say("{file}: fine. {studies}, {claims} claims", file=file, studies=studies, claims=len(found.claims)))
        return
    experiment = parse_experiment(experiment_tree(file, settings=settings or []), file)
    arms, seeds = len(experiment.arms), len(experiment.seeds)
    print(say("{file}: fine. {arms} arms × {seeds} seeds", file=file, arms=arms, seeds=seeds))
