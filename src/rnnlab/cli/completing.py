"""What may come next on a command line, for the shell that asks: without torch, in about a tenth of a second.

A script of `rnnlab completion` calls ``rnnlab __complete SHELL WORD… CURRENT``. The answer is a line that says what the
others are (``words`` or ``files``), then a line for each: the value, and after a tab what it means.
"""

import csv
import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from rnnlab.core.other_names import OTHER_NAMES
from rnnlab.core.words import say
from rnnlab.sweeps.experiment_names import shipped_experiments

PACKAGE = Path(__file__).parent.parent
TABLES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".ts")
MOST_RUNS = 200  # that are looked into


@dataclass(frozen=True)
class Line:
    """A command line up to the word that is being written, which is ``current``."""

    verb: Any  # of typer: a command or a group
    current: str
    awaits: Any = None  # the option whose value comes now
    positionals: tuple[str, ...] = ()
    given: dict[str, str] = field(default_factory=dict)  # options by name, with their values
    ended: bool = False  # by "--": no more options


def complete(app: Any, words: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    """(``words`` or ``files``, (value, meaning) of each) for the last of ``words``."""
    line = read(app, words)
    name, equals, value = line.current.partition("=")
    if equals and name.startswith("--") and not line.ended and line.awaits is None:
        option = _option(line.verb, name)
        kind, found = _values(option, Line(line.verb, value, option, line.positionals, line.given))
        return kind, [(f"{name}={one}", meaning) for one, meaning in found]
    if line.awaits is not None:
        return _values(line.awaits, line)
    if line.current.startswith("-") and not line.ended:
        return "words", [*_options(line)]
    commands = getattr(line.verb, "commands", None)
    if commands:
        return "words", _beginning(line.current, [(name, one.short_help or "") for name, one in commands.items()])
    return _positional(line)


def read(app: Any, words: Sequence[str]) -> Line:
    """Walk along the words before the last."""
    verb, awaits, ended = app, None, False
    positionals: list[str] = []
    given: dict[str, str] = {}
    for word in words[:-1]:
        if awaits is not None:
            given[awaits.name] = word
            awaits = None
        elif word == "--" and not ended:
            ended = True
        elif word.startswith("-") and not ended:
            name, equals, value = word.partition("=")
            option = _option(verb, name)
            if option is not None:
                given[option.name] = value
                awaits = option if not equals and not _is_flag(option) else None
        elif word in getattr(verb, "commands", {}):
            verb = verb.commands[word]
        else:
            positionals.append(word)
    return Line(verb, words[-1] if words else "", awaits, tuple(positionals), given, ended)


def _option(verb: Any, name: str) -> Any:
    return next((param for param in verb.params if name in param.opts), None)


def _is_flag(option: Any) -> bool:
    return bool(getattr(option, "is_flag", False))


def _options(line: Line) -> Iterator[tuple[str, str]]:
    """Those that aren't given yet, or that may be given again."""
    for param in line.verb.params:
        again = getattr(param, "multiple", False) or param.name not in line.given
        for option in param.opts:
            if option.startswith("--") and option.startswith(line.current) and again and not param.hidden:
                yield option, param.help or ""
    if "--help".startswith(line.current):
        yield "--help", say("Show this message and exit.")


# --- values ----------------------------------------------------------------------------------------------------------

Found = list[tuple[str, str]]


def _values(option: Any, line: Line) -> tuple[str, Found]:
    """Of an option: by its name, else by what the help calls its value."""
    if option is None:
        return "words", []
    metavar = str(getattr(option, "metavar", "") or "")
    if option.name in OPTIONS:
        return "words", OPTIONS[option.name](line)
    choices = _choices(line.verb, option.name) or (metavar.split("|") if "|" in metavar else [])
    if choices:
        return "words", _beginning(line.current, [(str(choice), "") for choice in choices])
    if metavar.startswith("FOLDER"):
        return "files", _files(line.current, ())
    if metavar.startswith("FILE"):
        return "files", _files(line.current, (Path(metavar).suffix,) if "." in metavar else None)
    if metavar == "COLUMN":
        return "words", _listed(line.current, [(name, "") for name in _columns(line)])
    return "words", []


def _positional(line: Line) -> tuple[str, Found]:
    """The next argument of the verb; the last one may be repeated."""
    arguments = [param for param in line.verb.params if param.param_type_name == "argument"]
    if not arguments or (len(line.positionals) >= len(arguments) and arguments[-1].nargs != -1):
        return "words", [*_options(line)] if not line.current else []
    argument = arguments[min(len(line.positionals), len(arguments) - 1)]
    key = f"{line.verb.name} {argument.name}"
    if key in ARGUMENTS:
        return ARGUMENTS[key](line.current)
    return "words", _beginning(line.current, [(choice, "") for choice in _choices(line.verb, argument.name)])


def _choices(verb: Any, name: str) -> list[str]:
    """Those of a ``Literal`` in the signature of the verb."""

    def within(annotation: Any) -> list[str]:
        if get_origin(annotation) is Literal:
            return [str(choice) for choice in get_args(annotation)]
        return [choice for inner in get_args(annotation) for choice in within(inner)]

    parameters = inspect.signature(verb.callback).parameters if verb.callback else {}
    return within(parameters[name].annotation) if name in parameters else []


def _beginning(current: str, choices: Sequence[tuple[str, str]]) -> Found:
    return [(value, meaning) for value, meaning in choices if value.startswith(current)]


def _listed(current: str, choices: Sequence[tuple[str, str]]) -> Found:
    """For values with commas: ``rnn,ls`` is completed to ``rnn,lstm``."""
    before, comma, last = current.rpartition(",")
    used = before.split(",")
    return [(f"{before}{comma}{v}", meaning) for v, meaning in choices if v.startswith(last) and v not in used]


def _files(current: str, suffixes: Sequence[str] | None) -> Found:
    """Folders, and files that end so (None: all). A hidden one is shown to whoever begins with a dot."""
    folder, slash, name = current.rpartition("/")
    found = []
    try:
        beside = sorted(Path(f"{folder}{slash}" or ".").expanduser().iterdir())
    except OSError:
        return []
    for path in beside:
        if not path.name.startswith(name) or (path.name.startswith(".") and not name.startswith(".")):
            continue
        if path.is_dir():
            found.append((f"{folder}{slash}{path.name}/", ""))
        elif suffixes is None or path.suffix.lower() in suffixes:
            found.append((f"{folder}{slash}{path.name}", ""))
    return found


def model_names() -> list[str]:
    """As the registry has them (a test compares), read from the sources: to import them takes a second."""
    shorts = re.findall(r'^    "([\w-]+)": \("\w+", \{', (PACKAGE / "sweeps" / "plan.py").read_text("utf-8"), re.M)
    return sorted([*_registered("models", "architecture"), *shorts])


def task_names() -> list[str]:
    return sorted(_registered("tasks", "task"))


def data_set_names() -> list[str]:
    text = (PACKAGE / "data" / "published.py").read_text("utf-8")
    return [*re.findall(r'Entry\(\s*name="([^"]+)"', text), "reviews"]


def _registered(room: str, decorator: str) -> list[str]:
    texts = (path.read_text("utf-8") for path in (PACKAGE / room).glob("*.py"))
    return [name for text in texts for name in _decorated(text, decorator)]


def _decorated(text: str, decorator: str) -> list[str]:
    return re.findall(rf'^@(?:\w+\.)?{decorator}\("([^"]+)"\)', text, re.M)


def _models(line: Line) -> Found:
    """With those of the plugin that stands before."""
    try:
        own = _decorated(Path(line.given.get("plugin", "")).read_text("utf-8"), "architecture")
    except (OSError, UnicodeError):
        own = []
    return [(name, "") for name in [*model_names(), *own]]


def _settings(line: Line) -> Found:
    """The usual ones; ``rnnlab list models lstm`` shows all of a model."""
    paths = [f"{path}=" for path in OTHER_NAMES if "." in path and not path.endswith(".kind")]
    return _beginning(line.current, [(path, "") for path in paths])


def _studies(line: Line) -> Found:
    """Of the sweep file that the line names."""
    from rnnlab.core.errors import ConfigError
    from rnnlab.sweeps.experiment_names import experiment_file

    try:
        tree = tomllib.loads(experiment_file(line.positionals[0]).read_text("utf-8-sig"))
        return [(name, str(study.get("about", ""))) for name, study in tree.get("study", {}).items()]
    except (ConfigError, OSError, ValueError, IndexError, AttributeError):
        return []


def _columns(line: Line) -> list[str]:
    """The header of the table that the line names."""
    name = line.given.get("file") or (line.positionals[0] if line.positionals else "")
    try:
        with open(name, "rb") as file:
            first = file.readline(100_000)
    except OSError:
        return []
    if not name.endswith((".csv", ".tsv")):
        return []
    try:
        text = first.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = first.decode("gb18030", "replace")
    return next(csv.reader([text], delimiter="\t" if name.endswith(".tsv") else ","), [])


def _runs(current: str, suffixes: Sequence[str] = (".rnnlab",)) -> tuple[str, Found]:
    """Run directories of ./runs or of the folder that is being written, and other files."""
    folder = current.rpartition("/")[0] or "runs"
    found = []
    for spec in islice(sorted(Path(folder).expanduser().glob("*/spec.json")), MOST_RUNS):
        path = f"{folder}/{spec.parent.name}"
        if path.startswith(current):
            found.append((path, _run_meaning(spec)))
    runs = {path for path, _ in found}
    others = [(path, meaning) for path, meaning in _files(current, suffixes) if path.rstrip("/") not in runs]
    return ("words" if found else "files"), [*found, *others]


def _run_meaning(spec: Path) -> str:
    try:
        said = json.loads(spec.read_text("utf-8"))
        data = said["task"].get("data") or said["task"].get("kind", "")
        return f"{said['model']['kind']}, {data}, seed {said['seed']}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""


def _data(current: str) -> tuple[str, Found]:
    names = _beginning(current, [(name, "") for name in [*data_set_names(), *shipped_experiments()]])
    files = _files(current, (*TABLES, ".toml"))
    return ("words" if names else "files"), [*names, *files]


def _experiments(current: str) -> tuple[str, Found]:
    names = _beginning(current, [(name, "") for name in shipped_experiments()])
    return ("words" if names else "files"), [*names, *_files(current, (".toml",))]


METRICS = ("accuracy", "macro-f1", "balanced-accuracy", "log-loss")  # where each row has one label
LABEL_METRICS = ("micro-f1", "macro-f1", "exact", "log-loss")  # where it may have several


def _names(*choices: str) -> Callable[[Line], Found]:
    return lambda line: _beginning(line.current, [(choice, "") for choice in choices])


OPTIONS: dict[str, Callable[[Line], Found]] = {
    "models": lambda line: _listed(line.current, _models(line)),
    "model": lambda line: _beginning(line.current, _models(line)),
    "task": lambda line: _beginning(line.current, [(name, "") for name in task_names()]),
    "settings": _settings,
    "metric": lambda line: _names(*(LABEL_METRICS if "multi_label" in line.given else METRICS))(line),
    "only": lambda line: _listed(line.current, _studies(line)),
    "tokenizer": _names("auto", "words", "chars", "whitespace", "jieba"),
    "device": _names("auto", "cpu", "cuda", "mps"),
    "on": _names("processes", "serial", "dask", "ray"),
    "match": _names("parameters", "seconds"),
    "vectors": lambda line: [*_names("glove-6b-50d")(line), *_files(line.current, None)],
}
ARGUMENTS: dict[str, Callable[[str], tuple[str, Found]]] = {
    **dict.fromkeys(("compare data", "train data", "profile data"), _data),
    **dict.fromkeys(("sweep file", "check file", "reproduce names"), _experiments),
    **dict.fromkeys(("predict model", "export model", "serve models"), _runs),
    **dict.fromkeys(("pack run", "inspect run", "report runs", "runs folder"), lambda current: _runs(current, ())),
    "judge results": lambda current: ("files", _files(current, (".csv", ".tsv", ".jsonl", ".parquet"))),
    "audit target": lambda current: ("files", _files(current, (".py",))),
    "get name": lambda current: ("words", _beginning(current, [(n, "") for n in data_set_names() if n != "reviews"])),
    "models name": lambda current: ("words", _beginning(current, [(name, "") for name in model_names()])),
    "tasks name": lambda current: ("words", _beginning(current, [(name, "") for name in task_names()])),
}


# --- the shell's side ------------------------------------------------------------------------------------------------


def answer(app: Any, shell: str, words: Sequence[str]) -> list[str]:
    """The lines for a script of `cli.completion`."""
    if shell != "bash":
        kind, found = complete(app, words)
        return [kind, *(f"{value}\t{_short(meaning)}" if meaning else value for value, meaning in found)]
    words = _rejoined([_unquoted(word) for word in words])
    kind, found = complete(app, words)
    current = words[-1] if words else ""
    kept = max(current.rfind("="), current.rfind(":")) + 1  # bash puts the answer behind these signs
    return [kind, *(value[kept:].rstrip("/" if kind == "files" else "") for value, _ in found)]


def _rejoined(words: Sequence[str]) -> list[str]:
    """Bash takes ``--models=rnn`` and ``dask://host`` apart at = and at the colon."""
    whole: list[str] = []
    glue = False
    for word in words:
        signs = bool(word) and not word.strip("=:")
        if whole and (signs or glue):
            whole[-1] += word
        else:
            whole.append(word)
        glue = signs
    return whole


def _unquoted(word: str) -> str:
    """``"my\\ file`` → ``my file``: quotes that are still open, too."""
    return re.sub(r"\\(.)", r"\1", word.lstrip("\"'")).rstrip("\"'")


def _short(meaning: str, most: int = 72) -> str:
    text = " ".join(meaning.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
