"""rnnlab check"""

from typing import Annotated

import typer

from rnnlab.cli import options
from rnnlab.cli.loading import loading


def check(
    file: Annotated[str, typer.Argument(metavar="FILE.toml")],
    settings: options.Settings = None,
    plugin: options.Plugins = None,
) -> None:
    """List every problem of an experiment or sweep file, each with its path.

    Example: rnnlab check experiment.toml
    """
    with loading():
        from rnnlab.core.config import read_toml
        from rnnlab.core.errors import ConfigError
        from rnnlab.core.registry import load_plugin
        from rnnlab.sweeps.experiment import parse_experiment
        from rnnlab.sweeps.plan import experiment_tree, is_sweep
        from rnnlab.sweeps.studies import read_sweep

    if not file.endswith(".toml"):
        raise ConfigError(f"{file}: an experiment file ends in .toml; 'rnnlab data profile' looks at data")
    for path in plugin or []:
        load_plugin(path)
    if is_sweep(read_toml(file)):
        for quick in (True, False):
            found = read_sweep(file, quick=quick, settings=settings or [])
        studies = "1 study" if len(found.studies) == 1 else f"{len(found.studies)} studies"
        print(f"{file}: fine. {studies}, {len(found.claims)} claims")
        return
    experiment = parse_experiment(experiment_tree(file, settings=settings or []), file)
    print(f"{file}: fine. {len(experiment.arms)} arms × {len(experiment.seeds)} seeds")
