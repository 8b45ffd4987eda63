"""rnnlab predict"""

import sys
from typing import Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag, option


def predict(
    model: Annotated[str, argument("MODEL", "A run directory, for example runs/1f0c…, or a bundle (.rnnlab).")],
    texts: Annotated[
        list[str] | None,
        argument(
            "TEXT",
            "Texts to answer, or one per text column of the model; without any, lines of stdin are answered.",
        ),
    ] = None,
    file: Annotated[
        str | None,
        option(
            "FILE",
            "File with rows to answer: .csv .tsv .jsonl .parquet .xlsx, .txt (one text per line) or .ts; to be "
            "tagged, also .conllu, .bmes, .bio and the like; to be forecast, a table of series.",
        ),
    ] = None,
    out: Annotated[
        str | None, option("FILE", "Write the rows of --file with the answers added to this file.", "-o", "--out")
    ] = None,
    text: Annotated[
        list[str] | None,
        option("COLUMN", "The text column of --file; of a model of several, as many: --text subject,body."),
    ] = None,
    top: Annotated[int | None, option("K", "Show the K most probable labels.", min=1)] = None,
    probabilities: Annotated[
        bool, flag("--probabilities", "Show the probabilities of all labels; with -o, one column per label.")
    ] = False,
    explain: Annotated[bool, flag("--explain", "Show the tokens that speak for the label and against it.")] = False,
    token: Annotated[
        str | None,
        option("TOKEN", "The token whose tag --explain explains, by its text or number; else the least sure one."),
    ] = None,
    as_json: Annotated[bool, flag("--json", "Print one JSON object per line, with all probabilities.")] = False,
    skip_bad: Annotated[
        bool, flag("--skip-bad", "Leave the prediction of bad rows of --file empty and count them.")
    ] = False,
    stream: Annotated[
        bool,
        flag(
            "--stream",
            "Lines of stdin are one text that grows: each is answered with all before it; an empty line begins "
            "a new one. Of a forecaster: each is the next step, after those of --file.",
        ),
    ] = False,
    score: Annotated[
        str | None,
        option("FILE", "Of a language model: how surprised it is by this text, and where the most."),
    ] = None,
    beam: Annotated[
        int | None, option("K", "Of a translator: beginnings that are followed at a time (as trained).", min=1)
    ] = None,
    alternatives: Annotated[
        int | None, option("N", "Of a translator: show the N best texts, with their probabilities.", min=1)
    ] = None,
    coverage: Annotated[
        float | None,
        option("B", "Of a translator: rank texts lower that leave words of the source unread (0.2; 0: not)."),
    ] = None,
    copy_unknown: Annotated[
        bool,
        flag("--copy-unknown", "Of a translator: for a word it can't write, take that of the source it looked at."),
    ] = False,
    quiet: options.Quiet = False,
    plugin: options.Plugins = None,
    lang: options.Lang = None,
) -> None:
    """Ask a trained model.

    Example: rnnlab predict runs/1f0c "not good at all" "一部好电影"

    Example: rnnlab predict model.rnnlab --file reviews.csv -o answers.csv

    Example: rnnlab predict runs/1f0c --score text.txt

    Example: rnnlab predict runs/1f0c "How are you?" --beam 5 --alternatives 3

    Example: rnnlab predict runs/1f0c --file recent.csv -o forecast.csv
    """
    with options.loading():
        from rnnlab.core.errors import RunError
        from rnnlab.core.words import say
        from rnnlab.show.terminal.predictions import print_predictions
        from rnnlab.use import asking, load

    column = text[0] if text and len(text) == 1 else text
    asking.check_options(texts, file, out, explain, as_json, token)
    opened = load(model)
    if opened.forecasts:
        from rnnlab.show.terminal.forecasts import print_forecasts
        from rnnlab.use import forecasting

        given = {"TEXT": texts, "--text": text, "--top": top, "--probabilities": probabilities, "--explain": explain}
        forecasting.check_options(given | {"--skip-bad": skip_bad, "--score": score}, file, out, stream)
        found = forecasting.ask(opened.forecaster, file, stream)
        if out is None:
            print_forecasts(found, as_json, stream)
            return
        rows = forecasting.write_forecasts(list(found), out)
        if not quiet:
            print(say("{file}: {rows:,} rows", file=out, rows=rows), file=sys.stderr)
        return
    if stream and (texts or file is not None or explain):
        raise RunError("--stream reads standard input, and explains nothing; leave TEXT, --file and --explain out")
    if score is not None:
        from rnnlab.data.passages import read_passages
        from rnnlab.show.terminal.predictions import print_surprise
        from rnnlab.use.writing import load_writer

        if texts or file is not None or explain:
            raise RunError("--score reads the text of its file; leave TEXT, --file and --explain out")
        [text_of_file] = read_passages(score).texts
        print_surprise(load_writer(model).score(text_of_file), as_json)
        return
    if beam is not None or alternatives is not None or coverage is not None or copy_unknown:
        opened.translator.search_by(beam, alternatives, coverage=coverage, copy_unknown=copy_unknown)
    if file is not None and out is not None:
        from rnnlab.show.terminal.output import prediction_progress  # for one text it would take as long as the answer

        with prediction_progress(quiet) as progress:
            done = asking.predict_file(
                opened,
                file,
                out,
                column=column,
                top=top or 1,
                probabilities=probabilities,
                skip_bad=skip_bad,
                progress=progress,
            )
        if not quiet:
            print(done.sentence, file=sys.stderr)
        return
    asking.check_top(opened, top, probabilities)
    shown = len(opened.labels) if probabilities else alternatives or top
    if stream:
        for name, answer in asking.read_on(opened):
            print_predictions([name], [answer], as_json, shown)
        return
    portions = asking.ask(
        opened, texts or [], file=file, column=column, skip_bad=skip_bad, explain=explain, token=token
    )
    for names, answers in portions:
        print_predictions(names, answers, as_json, shown)
