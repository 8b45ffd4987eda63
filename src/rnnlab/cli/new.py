"""rnnlab new"""

from rnnlab.cli import options


def new(lang: options.Lang = None) -> None:
    """Print a filled, commented experiment file.

    Example: rnnlab new > experiment.toml
    """
    with options.loading():
        from rnnlab.show.template import experiment_file

    print(experiment_file(), end="")
