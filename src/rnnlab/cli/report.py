"""rnnlab report"""

from typing import Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument, option
from rnnlab.core import words


def report(
    runs: Annotated[
        list[str] | None,
        argument(
            "RUNS",
            "Folders of runs (runs), or one comparison or sweep in them, or single run directories.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[str | None, option("FILE.html", "File for the page (report.html).", "-o", "--output")] = None,
    figures: Annotated[
        str | None, option("FOLDER", "Write the charts to this folder as PNG and SVG; the page only with -o.")
    ] = None,
    lang: options.PageLanguage = None,
    plugin: options.Plugins = None,
    quiet: options.Quiet = False,
) -> None:
    """Show on one page what runs found: verdict, charts, differences.

    Example: rnnlab report runs -o report.html

    One file that needs no network; it switches between English and Chinese, light and dark, and prints on A4.
    """
    from rnnlab.api.report import write_report
    from rnnlab.show.terminal.output import Screen

    if output is None and figures is None:
        output = "report.html"
    screen = Screen(quiet=quiet)
    with screen.working() as watch:
        written = write_report(
            runs or ["runs"], output, figures_in=figures, language=words.language(), plugins=plugin or [], watch=watch
        )
    screen.written(written, written[0])
