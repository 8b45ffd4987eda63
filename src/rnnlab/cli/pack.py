"""rnnlab pack"""

from typing import Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument, option


def pack(
    run: Annotated[str, argument("RUN", "A run directory, for example runs/1f0c….")],
    output: Annotated[
        str | None, option("FILE.rnnlab", "File to write (KIND-DIGEST.rnnlab).", "-o", "--output")
    ] = None,
    lang: options.Lang = None,
) -> None:
    """Pack a trained model into one file, to use it elsewhere.

    Example: rnnlab pack runs/1f0c -o model.rnnlab

    It holds weights, vocabulary, labels and a model card, each with its checksum. predict, export and serve take it
    in the place of a run. It is a zip archive: unzip -p model.rnnlab card.md shows the card.
    """
    with options.loading():
        from rnnlab.show.terminal.output import Screen
        from rnnlab.use.card_markdown import packed_lines
        from rnnlab.use.stored import open_model
        from rnnlab.use.stored import pack as pack_run

    written = pack_run(run, output)
    model = open_model(written)
    out = Screen().out
    task = model.spec.task
    use = task.use(written)
    commands = [use, f"rnnlab serve {written}" if use is not None or task.answer.continues else None]
    for line in packed_lines(written, model.card, [command for command in commands if command is not None]):
        out.print(line, soft_wrap=True)
