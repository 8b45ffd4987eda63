"""rnnlab predict"""

from typing import Annotated

import typer

from rnnlab.cli import options


def predict(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run directory, for example runs/1f0c….")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Texts; without any, one a line from stdin.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="A table with a text column, or a .ts file.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="COLUMN", help="Its text column.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with all probabilities.")] = False,
    plugin: options.Plugins = None,
) -> None:
    """Ask a trained model.

    Example: rnnlab predict runs/1f0c "not good at all" "一部好电影"
    """
    from rnnlab.predict import load, read_inputs
    from rnnlab.registry import load_plugin
    from rnnlab.report import terminal

    for path in plugin or []:
        load_plugin(path)
    model = load(run)
    for names, inputs in read_inputs(model, texts or [], file, text):
        terminal.predictions(names, model.stream(inputs), as_json)
