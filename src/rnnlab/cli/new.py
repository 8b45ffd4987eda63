"""rnnlab new"""


def new() -> None:
    """Print a filled, commented experiment file.

    Example: rnnlab new > experiment.toml
    """
    from rnnlab.report.template import experiment_file

    print(experiment_file(), end="")
