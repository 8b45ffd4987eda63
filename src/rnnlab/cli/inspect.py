"""rnnlab inspect"""

from typing import Annotated, Any

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag, option
from rnnlab.core import words
from rnnlab.core.words import say


def inspect(
    run: Annotated[str | None, argument("RUN", "A run directory, for example runs/1f0c….", show_default=False)] = None,
    text: Annotated[str | None, option("TEXT", "Text to look at with the run.")] = None,
    exposure: Annotated[
        bool, flag("--exposure", "Of a language model: how it fares along its own tokens, by step.")
    ] = False,
    model: Annotated[str | None, option("NAME", "Look at an untrained model instead of a run.")] = None,
    settings: Annotated[
        list[str] | None, option("KEY=VALUE", "Setting of an untrained model, for example model.hidden=64.", "--set")
    ] = None,
    length: Annotated[
        int | None, option("N", "Length of the random input of an untrained model, in steps (50).", min=1, max=10_000)
    ] = None,
    seed: Annotated[
        int | None, option("N", "Seed of the weights and the input of an untrained model (0).", min=0)
    ] = None,
    units: Annotated[
        bool, flag("--units", "Of a language model: what single units follow (place in the line, quotes …); no page.")
    ] = False,
    output: Annotated[
        str | None, option("FILE", "File for the page (inspect-RUN.html).", "-o", "--output", "--report")
    ] = None,
    lang: options.PageLanguage = None,
    as_json: Annotated[bool, flag("--json", "Print JSON; a page is then written only with -o.")] = False,
    plugin: options.Plugins = None,
) -> None:
    """Look inside a model: gradients, gates, attention, saliency.

    Example: rnnlab inspect runs/1f0c --text "The pace drags, but overall it is worth seeing"

    Shows gradients through time, what gates and attention do, and what an answer rests on: a summary, and a page with
    charts, one file that needs no network. Without --text it looks at validation rows; of a translator, it shows which
    tokens of a text its translation rests on. A model that isn't trained:
    rnnlab inspect --model lstm --set model.hidden=64 --length 100
    """
    import sys

    _check(run, model, text, options.given(set=settings, length=length, seed=seed))
    if exposure:
        _show_exposure(run, options.given(text=text, output=output, units=units or None), as_json)
        return
    if units:
        _print_units(run, as_json, options.given(text=text, output=output))
        return
    chosen = words.language()

    from rnnlab.api.inspect import inspect_model, inspect_run, inspect_translation, writes_texts
    from rnnlab.core.files import write_atomically
    from rnnlab.inspecting.inspection import Inspection
    from rnnlab.inspecting.translating import WritingInspection
    from rnnlab.runs.directory import pretty_json
    from rnnlab.show.inspection_texts import lines
    from rnnlab.show.result_files import make_room
    from rnnlab.show.terminal.output import Screen
    from rnnlab.show.writing_inspection import writing_lines

    if output is not None:
        make_room(output)
    found: Inspection | WritingInspection
    if run is None:
        found = inspect_model(model or "", settings=settings or [], length=length, seed=seed or 0)
    elif text is not None and writes_texts(run):
        found = inspect_translation(run, text)
    else:
        found = inspect_run(run, text)
    name = found.name if isinstance(found, WritingInspection) else found.subject.name
    written = output if as_json else output or f"inspect-{name}.html"
    if written is not None:
        from rnnlab.show.pages.inspection import page, writing_page  # only now: they load the charts

        shown = writing_page(found, chosen) if isinstance(found, WritingInspection) else page(found, chosen)
        write_atomically(written, shown)
    if as_json:
        sys.stdout.write(pretty_json(found.to_dict()))
        return
    out = Screen().out
    said = writing_lines(found, chosen) if isinstance(found, WritingInspection) else lines(found, chosen)
    for line in [*said, "", say("Page: {file}", file=written)]:
        out.print(line, soft_wrap=True, markup=False, highlight=False)


def _show_exposure(run: str | None, others: dict[str, Any], as_json: bool) -> None:
    """A table, or JSON; there is no page."""
    import sys

    from rnnlab.api.inspect import inspect_exposure
    from rnnlab.core.errors import ConfigError
    from rnnlab.runs.directory import pretty_json
    from rnnlab.show.exposures import about, columns, remarks_on, rows
    from rnnlab.show.terminal.output import Screen, print_table

    if run is None or others:
        names = ", ".join(f"--{name}" for name in ({} if run else {"model": None}) | others)
        raise ConfigError("--exposure measures a run on its test text, and would ignore {names}", names=names)
    found = inspect_exposure(run)
    if as_json:
        sys.stdout.write(pretty_json(found.to_dict()))
        return
    out = Screen().out
    out.print(about(found), soft_wrap=True)
    print_table(out, "", columns(), [(row, None) for row in rows(found)])
    for line in remarks_on(found):
        out.print(line, soft_wrap=True)


def _print_units(run: str | None, as_json: bool, ignored: dict[str, Any]) -> None:
    """What `inspect_units` finds, as a table or as JSON."""
    import sys

    from rnnlab.core.errors import ConfigError

    if run is None:
        raise ConfigError("--units needs a run: an untrained model follows nothing")
    if ignored:
        names = ", ".join(f"--{name}" for name in ignored)
        raise ConfigError("{names}: --units prints a table alone, and it would be ignored", names=names)

    from rnnlab.api.inspect import inspect_units
    from rnnlab.runs.directory import pretty_json
    from rnnlab.show.terminal.output import Screen
    from rnnlab.show.unit_texts import unit_lines

    found = inspect_units(run)
    if as_json:
        sys.stdout.write(pretty_json(found.to_dict()))
        return
    out = Screen().out
    for line in unit_lines(found):
        out.print(line, soft_wrap=True, markup=False, highlight=False)


def _check(run: str | None, model: str | None, text: str | None, untrained: dict[str, Any]) -> None:
    """Either a run or a model, and nothing that would be ignored."""
    from rnnlab.core.errors import ConfigError

    if (run is None) == (model is None):
        raise ConfigError("give a run to look into, or --model for one that isn't trained")
    if run is None and text is not None:
        raise ConfigError("--text needs a run: an untrained model knows no words, and reads random ones")
    if run is not None and untrained:
        names = ", ".join(f"--{name}" for name in untrained)
        raise ConfigError(
            "{names}: of an untrained model (--model); a run has its own, and it would be ignored", names=names
        )
