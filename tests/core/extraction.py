"""Every text of the code, for the catalogues: where it stands, and as what.

python tests/core/extraction.py      writes src/rnnlab/core/catalogues/*.po anew: new texts get an empty translation,
                                     those that are gone go, the others stay as they are
"""

import ast
import json
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jinja2
import jinja2.nodes

from rnnlab.core.words import NOTE, Entry, Key, read_po

SOURCE = Path(__file__).parents[2] / "src" / "rnnlab"
CATALOGUES = SOURCE / "core" / "catalogues"
FUNCTIONS = ("say", "both", "plural", "note", "msgid")
ERRORS = (
    "RnnlabError",
    "DataError",
    "ConfigError",
    "RunError",
    "BundleError",
    "RunsFailed",
    "Interrupted",
    "ExportError",
    "WrongValue",
)
HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: {language}\\n"\n'


class Text(NamedTuple):
    key: Key
    plural: str | None
    where: str  # the file


def texts(source: Path = SOURCE) -> dict[Key, Text]:
    """By key, in the order of the files; a text that stands in several is that of the first."""
    found: dict[Key, Text] = {}
    for text in [*_in_modules(source), *_in_templates(source), *_in_help(), *_in_settings()]:
        known = found.setdefault(text.key, text)
        if (known.plural is None) != (text.plural is None):
            found[text.key] = known if known.plural else text
    return found


def _in_modules(source: Path) -> Iterator[Text]:
    for path in sorted(source.rglob("*.py")):
        where = path.relative_to(source).as_posix()
        if where != "core/words.py":
            yield from in_module(path.read_text(encoding="utf-8"), where)
    words = (source / "core" / "words.py").read_text(encoding="utf-8")
    yield from (text for text in in_module(words, "core/words.py", strict=False) if text.key.context)


def in_module(code: str, where: str, strict: bool = True) -> Iterator[Text]:
    """The literals that `say`, `both`, `plural`, `note`, `msgid` and the errors are called with. Anything else would
    escape the catalogues, and is an error; an error may also be given a text that was made before."""
    tree = ast.parse(code)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported = {(node.module, alias.name) for node in imports for alias in node.names}
    functions = {name for module, name in imported if module == "rnnlab.core.words"} if strict else set(FUNCTIONS)
    names = functions & set(FUNCTIONS) | {name for _, name in imported} & set(ERRORS)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names):
            continue
        name = node.func.id
        if name in ERRORS and not isinstance(node.args[0], ast.Constant | ast.JoinedStr):
            continue
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        arguments = node.args[: 2 if name == "plural" else 1]
        literals = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
        context = keywords.get("_context")
        if len(literals) < len(arguments) or not (context is None or isinstance(context, ast.Constant)):
            if strict:
                raise ValueError(f"{where}:{node.lineno}: {name} needs a text that stands there as it is")
            continue
        given = {keyword for keyword in keywords if keyword != "_context"} | ({"count"} if name == "plural" else set())
        if given and None not in given and given != gap_names(*map(str, literals)):  # None: some come as **gaps
            raise ValueError(f"{where}:{node.lineno}: the gaps of the text are not those that are filled: {given}")
        about = NOTE if name == "note" else str(context.value) if isinstance(context, ast.Constant) else None
        yield Text(Key(str(literals[0]), about), str(literals[1]) if name == "plural" else None, where)


def gap_names(*texts: str) -> set[str]:
    return {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def _in_templates(source: Path) -> Iterator[Text]:
    for path in sorted(source.rglob("*.html")):
        tree = jinja2.Environment().parse(path.read_text(encoding="utf-8"))
        for call in tree.find_all(jinja2.nodes.Call):
            if isinstance(call.node, jinja2.nodes.Name) and call.node.name == "both":
                assert isinstance(call.args[0], jinja2.nodes.Const)
                yield Text(Key(call.args[0].value), None, path.relative_to(source).as_posix())


def _in_help() -> Iterator[Text]:
    """What the command line says of its verbs and options."""
    from rnnlab.cli.translation import help_texts

    for text, where in help_texts():
        yield Text(Key(text), None, where)


def _in_settings() -> Iterator[Text]:
    """What `rnnlab list models` and `rnnlab list tasks` say of kinds and their options."""
    from rnnlab.models.base import ARCHITECTURES
    from rnnlab.models.baselines import BASELINES
    from rnnlab.show.terminal.kinds import Kind, options
    from rnnlab.tasks.base import TASKS
    from rnnlab.training.spec import Monitor, Schedule, Training

    own = [cls for cls in (*ARCHITECTURES, *BASELINES, *TASKS) if cls.__module__.startswith("rnnlab.")]
    for cls in (*own, Training, Schedule, Monitor):
        meanings = [meaning for *_, meaning in options(cls.model_json_schema()) if meaning]
        yield from (Text(Key(text), None, cls.__module__) for text in (Kind(cls, cls.kind).about(), *meanings))


def written(language: str, wanted: dict[Key, Text], entries: list[Entry]) -> str:
    """The catalogue with exactly the wanted texts."""
    known = {entry.key: entry for entry in entries}
    blocks = [HEADER.format(language=language)]
    for key, text in wanted.items():
        lines = [f"#: {text.where}"]
        if key.context is not None:
            lines.append(f"msgctxt {_quoted(key.context)}")
        lines.append(f"msgid {_quoted(key.text)}")
        entry = known.get(key)
        translation = entry.translation if entry else ""
        if text.plural is not None:
            lines += [f"msgid_plural {_quoted(text.plural)}", f"msgstr[0] {_quoted(translation)}"]
        else:
            lines.append(f"msgstr {_quoted(translation)}")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    wanted = texts()
    for path in sorted(CATALOGUES.glob("*.po")):
        entries = read_po(path.read_text(encoding="utf-8"))
        path.write_text(written(path.stem, wanted, entries), encoding="utf-8")
        missing = sum(not entry.translation for entry in read_po(path.read_text(encoding="utf-8")))
        print(f"{path.name}: {len(wanted)} texts, {missing} without a translation", file=sys.stderr)
