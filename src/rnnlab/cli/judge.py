"""rnnlab judge"""

from typing import Annotated, Literal

import typer

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag, option
from rnnlab.core import words
from rnnlab.core.words import say


def judge(
    results: Annotated[
        str,
        argument(
            "FILE",
            "One score per line (.csv .tsv .jsonl .parquet), columns model, seed, row, score and, if you have "
            "them, group, cost, baseline, diverged.",
        ),
    ],
    margin: Annotated[
        float | None,
        option(
            "M",
            "The largest difference that you wouldn't care about, in the unit of the score (0.01 if scores are "
            "0 and 1; needed otherwise).",
        ),
    ] = None,
    lower_is_better: Annotated[bool, flag("--lower-is-better", "Lower scores are better (errors, losses).")] = False,
    metric: Annotated[str | None, option("NAME", "Name of the score (accuracy if scores are 0 and 1).")] = None,
    columns: Annotated[str | None, option("A=B,…", "Names of the columns in the file: model=arm,score=acc.")] = None,
    cost_unit: Annotated[
        Literal["seconds", "milliseconds", "parameters"] | None,
        option("UNIT", "Unit of the costs: seconds (per epoch), milliseconds (per update) or parameters."),
    ] = None,
    alpha: Annotated[float, option("A", "The share of intervals that may miss the truth.")] = 0.05,
    as_json: Annotated[bool, flag("--json", "Print the verdict as JSON, nothing else.")] = False,
    quiet: options.Quiet = False,
    markdown: options.TableFile = None,
    report: Annotated[str | None, option("FILE.html", "Write a page to this file, too.")] = None,
    lang: options.PageLanguage = None,
) -> None:
    """Say which model to use, from the scores of any framework.

    Example: rnnlab judge results.csv --report verdict.html

    Each score says how well one run of a model did on one test row: 1 or 0 for right or wrong, or any number. All runs
    are scored on the same rows. In Python: rnnlab.judge(table).
    """
    from rnnlab.core.files import write_atomically
    from rnnlab.judging.results import gather
    from rnnlab.judging.results import judge as judge_results
    from rnnlab.show.judge_tables import markdown as as_markdown
    from rnnlab.show.judge_tables import print_verdict, to_json
    from rnnlab.show.result_files import page_path
    from rnnlab.show.terminal.output import Screen

    if report:
        page_path(report)  # a mistake in it shows before the work, not after
    found = gather(results, _pairs(columns))
    verdict = judge_results(
        found, margin=margin, lower_is_better=lower_is_better, metric=metric, alpha=alpha, cost_unit=cost_unit
    )
    screen = Screen(json=as_json, quiet=quiet)
    if as_json:
        typer.echo(to_json(verdict, found.notes), nl=False)
    else:
        print_verdict(screen, verdict, found.notes)
    if markdown:
        write_atomically(markdown, as_markdown(verdict))
    if report:
        from rnnlab.show.pages.judge import judge_page  # only now: it loads the charts

        text = judge_page(verdict, source=results, notes=found.notes, language=words.language())
        write_atomically(report, text)
        screen.report(report)


def _pairs(text: str | None) -> dict[str, str] | None:
    """``"model=arm, score=acc"`` → ``{"model": "arm", "score": "acc"}``."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and column.strip() for name, _, column in pairs):
        raise typer.BadParameter(say("--columns: pairs like model=arm,score=acc are needed (got {text!r})", text=text))
    return {name.strip(): column.strip() for name, _, column in pairs}
