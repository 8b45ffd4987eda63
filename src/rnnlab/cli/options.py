"""What several verbs share: options, declared once, and what is done with them."""

import gc
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rnnlab.core import words
from rnnlab.core.words import say

if TYPE_CHECKING:
    from rnnlab.comparing.comparison import Comparison
    from rnnlab.show.terminal.output import Screen
    from rnnlab.sweeps.experiment import Experiment
    from rnnlab.sweeps.sweep_plan import PlannedStudy
    from rnnlab.training.spec import Training


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option that takes a value: what its value is called, and what the help says. It is named as its parameter."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def flag(name: str, help: str) -> Any:
    """An option that is given or not."""
    return typer.Option(name, help=help)


def argument(metavar: str, help: str, **more: Any) -> Any:
    return typer.Argument(metavar=metavar, help=help, **more)


def _load_plugins(paths: list[str] | None) -> list[str] | None:
    from rnnlab.core.registry import load_plugin

    for path in paths or []:
        load_plugin(path)
    return paths


Data = Annotated[
    str | None,
    argument(
        "DATA",
        "A file (.csv .tsv .jsonl .parquet .xlsx .ts .conllu .bmes, .txt to be continued), a folder (also of .wav, or "
        "their archive), a data set of the catalogue, an experiment (.toml, or its name), or nothing: the embedded "
        "reviews.",
        show_default=False,
    ),
]
Task = Annotated[str | None, option("NAME", "A generated task instead of DATA: see rnnlab list tasks (classify).")]
Text = Annotated[
    list[str] | None,
    option("COLUMN", "Column that holds the text (or the numbers). Several are read together: --text subject,body."),
]
Label = Annotated[str | None, option("COLUMN", "Column that holds the label.")]
Tags = Annotated[
    str | None,
    option("COLUMN", "Tag every token: the column that holds the tags, of CoNLL-U upos (default), xpos or deprel."),
]
MultiLabel = Annotated[
    str | None,
    option("SEP", "A row may have several labels, with this between them, for example ';'.", "--multi-label"),
]
Group = Annotated[str | None, option("COLUMN", "Rows with equal values in this column stay in the same split.")]
Tag = Annotated[str | None, option("COLUMN", "Show accuracy by the values of this column.")]
Pattern = Annotated[
    str | None, option("PATTERN", "What names of recordings tell, for example '{label}_{speaker}_{n}.wav'.")
]
TestWhere = Annotated[
    str | None, option("WHERE", "Test recordings by a field: speaker=theo, n=0,1,2 or n<5.", "--test-where")
]
LeaveOut = Annotated[
    str | None,
    option("FIELD", "Values of this field are the test recordings one by one, with --vary-split.", "--leave-out"),
]
Columns = Annotated[str | None, option("A,B,…", "Names of the columns, if the file has no header.")]
Valid = Annotated[str | None, option("FILE", "File with the validation rows (else they are split off).")]
Test = Annotated[str | None, option("FILE", "File with the test rows (else they are split off).")]
SkipBad = Annotated[bool, flag("--skip-bad", "Leave bad rows out and count them.")]
Tokenizer = Annotated[str | None, option("NAME", "Tokeniser: auto, words, chars, whitespace or jieba.")]
Unit = Annotated[
    str | None, option("chars|words", "Continue a text: what a token is, a character (default) or a word.")
]
TextPer = Annotated[
    str | None,
    option("WHAT", "Continue texts: one per file (a stream), paragraph (between blank lines) or line.", "--text-per"),
]
SourceColumn = Annotated[
    str | None, option("COLUMN", "Translate: the column that is read, by name or number (1, 2 …).", "--source")
]
TargetColumn = Annotated[str | None, option("COLUMN", "Translate: the column that is written.", "--target")]
Horizon = Annotated[int | None, option("N", "Forecast: steps to forecast (else one season).", min=1)]
Lookback = Annotated[int | None, option("N", "Forecast: steps that are read (else by the season).", min=1)]
Season = Annotated[int | None, option("N", "Forecast: steps after which it begins anew (else by the dates).", min=1)]
Targets = Annotated[str | None, option("A,B,…", "Forecast: the columns to forecast (else all numbers).")]
DateColumn = Annotated[str | None, option("COLUMN", "Forecast: the column with the dates (else guessed).", "--date")]
SeriesColumn = Annotated[
    str | None, option("COLUMN", "Forecast: the column that names the series, if there are several.", "--series")
]
Language = Annotated[str | None, option("en|zh", "Language of the embedded reviews.")]
Rows = Annotated[int | None, option("N", "Number of embedded reviews (6,000).")]
Vectors = Annotated[str | None, option("FILE", "Pre-trained vectors: a file, or glove-6b-50d.")]
Metric = Annotated[
    str | None,
    option(
        "NAME",
        "Score that chooses epochs and trials and judges the models: accuracy (default), macro-f1, "
        "balanced-accuracy or log-loss.",
    ),
]
Epochs = Annotated[int | None, option("N", "Epochs per run at most (100).")]
Minutes = Annotated[float | None, option("M", "Minutes per run at most.")]
Device = Annotated[str | None, option("NAME", "Device: auto (default), cpu, cuda or mps.")]
Settings = Annotated[
    list[str] | None, option("KEY=VALUE", "Set any option by its path; may be given several times.", "--set")
]
Yes = Annotated[bool, flag("--yes", "Don't ask before a long run (on a terminal, rnnlab asks above 30 minutes).")]
Out = Annotated[str, option("FOLDER", "Folder for the run directories.")]
Plugins = Annotated[
    list[str] | None, option("FILE.py", "Python file that registers your own models or tasks.", callback=_load_plugins)
]
"""Loaded while the options are read, before the verb begins."""
Quick = Annotated[bool, flag("--quick", "Run the small version that the file describes under [quick].")]
DryRun = Annotated[
    bool, flag("--dry-run", "Say how many runs there are, how long they take and how much disk they need, and stop.")
]
On = Annotated[
    str, option("ENGINE", "Where runs are computed: processes, serial, dask, ray, dask://HOST:PORT or ray://HOST:PORT.")
]
Jobs = Annotated[int | None, option("N", "Runs at the same time (number of cores); 0 computes in this process.")]
LimitMinutes = Annotated[float | None, option("M", "Minutes per run; a longer run is ended and counts as failed.")]
LimitMemory = Annotated[int | None, option("MB", "Memory per run; a larger run is ended and counts as failed.")]
Report = Annotated[str | None, option("FILE.html", "Write the report page to this file, too; see rnnlab report.")]
TableFile = Annotated[str | None, option("FILE", "Write the table to this file, too.")]
Quiet = Annotated[
    bool,
    typer.Option("-q", "--quiet", help="Print only the result and errors: no notes, progress or questions."),
]
Json = Annotated[bool, flag("--json", "Print JSON.")]
LANG_HELP = "Language of what is printed and of pages (RNNLAB_LANG, or that of the system)."
Lang = Annotated[Literal["en", "zh"] | None, option("en|zh", LANG_HELP, hidden=True)]
"""Every verb takes it; it is read before typer reads the options (`cli.translation`)."""
PageLanguage = Annotated[Literal["en", "zh"] | None, option("en|zh", LANG_HELP, show_default=False)]

TASK = (
    "text",
    "label",
    "tags",
    "multi_label",
    "group",
    "tag",
    "columns",
    "valid",
    "test",
    "skip_bad",
    "tokenizer",
    "unit",
    "text_per",
    "source",
    "target",
    "horizon",
    "lookback",
    "season",
    "date",
    "series",
    "language",
    "rows",
    "metric",
    "pattern",
    "test_where",
    "leave_out",
)


def task_settings(verb: Mapping[str, Any]) -> dict[str, Any]:
    """What was given for the task among the parameters of a verb (its ``locals()``)."""
    settings = {name: verb.get(name) for name in TASK} | {"columns": names(verb["columns"])}
    settings["targets"] = names(verb.get("targets"))
    if verb.get("text"):  # given once, it may be "a,b": the reader knows the columns
        settings["text"] = verb["text"][0] if len(verb["text"]) == 1 else verb["text"]
    return given(kind=verb.get("task"), **settings)


def given(**values: Any) -> dict[str, Any]:
    """The options that were given: those that aren't None (or a False flag)."""
    return {name: value for name, value in values.items() if value is not None and value is not False}


def names(text: str | None) -> list[str] | None:
    """``"a, b"`` → ``["a", "b"]``."""
    if text is None:
        return None
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise typer.BadParameter(say("names separated by commas are needed (got {text!r})", text=text))
    return found


def typed(more: Sequence[str] = ()) -> str:
    """The command as it was typed, with more options."""
    return "rnnlab " + shlex.join([*sys.argv[1:], *more])


def say_if_slow(screen: "Screen", trainings: Sequence["Training | None"]) -> None:
    """Once per command, before it trains: that there are no native kernels, what that costs and what to do."""
    from rnnlab import kernels as native
    from rnnlab.training.assemble import resolve_device

    why = native.slower()
    if why and any(training and resolve_device(training.device) == "cpu" for training in trainings):
        screen.note(why)


def trainings_of(studies: Sequence["PlannedStudy"]) -> list["Training | None"]:
    """Of all runs that are known by now; a search draws its own later, and has the usual ones until then."""
    from rnnlab.training.spec import Training

    known = [spec.training for study in studies for point in study.points for spec in point.specs]
    return known or [Training()]


def propose_score(screen: "Screen", profile: Mapping[str, Any], experiment: "Experiment") -> None:
    """Where labels are out of balance: the command that judges and trains by all of them alike, unless it is this
    one."""
    from rnnlab.data.cautions import imbalance

    answer = experiment.task.answer
    if "labels" not in profile or imbalance(profile) is None or not answer.balances:
        return
    if answer.judged.unit == "number":  # of probabilities, which weights would distort
        return
    weighed = all(arm.training.class_weights for arm in experiment.arms.values())
    more = [] if experiment.task.metric else ["--metric", "macro-f1"]
    more += [] if weighed else ["--set", "training.class_weights=balanced"]
    if more:
        screen.note(say("so that rare labels count as much as common ones: {command}", command=typed(more)))


def write_report(screen: "Screen", folder: str, report: str, judged: "Sequence[Comparison]" = ()) -> None:
    """What --report asks for, after the runs."""
    from rnnlab.api.report import write_report  # only now: it loads the charts

    with screen.working() as watch:
        write_report(folder, report, language=words.language(), judged=judged, watch=watch)
    screen.report(report)


@contextmanager
def loading() -> Iterator[None]:
    """Around the imports of a command that is over in a moment.

    Modules are hundreds of thousands of objects, and none of them is garbage. Python looks through all of them again
    and again while they are loaded, and once more at the end of the process: a quarter of the time that `predict`
    would take. So it doesn't look while they are loaded, and never again at what was there by then."""
    if "torch" in sys.modules:  # a longer-lived process, such as a test: its garbage is to be found
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
