"""Texts in the reader's language.

The English text stands in the code, with named gaps in braces, and is the key: ``say("{count} rows", count=3)``. Every
other language is one gettext catalogue, ``catalogues/zh.po``. A text without an entry is said in English; the tests
see to it that there is none. What is stored (run directories, JSON, CSV) is never translated.
"""

import json
import locale
import os
import re
import string
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
NOTE = "note"
"""The context of texts that are stored in English and translated when they are shown."""


# --- the language --------------------------------------------------------------------------------------------------

_chosen: Language | None = None


def language() -> Language:
    """The language that was chosen (`speaking`), else that of RNNLAB_LANG, else that of the locale, else English."""
    return _chosen or _found(os.environ.get("RNNLAB_LANG", "")) or _of_the_locale()


def _of_the_locale() -> Language:
    names = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    name = next((name for name in names if name), None) or locale.getlocale()[0] or ""
    return _found(name) or ("zh" if name.startswith("Chinese") else "en")  # Windows: Chinese (Simplified)_China


def _found(name: str) -> Language | None:
    return next((one for one in LANGUAGES if re.match(rf"{one}\b|{one}_", name)), None)


@contextmanager
def speaking(chosen: Language | None) -> Iterator[None]:
    """In this language within the block, and in the processes that it starts; None changes nothing."""
    global _chosen
    if chosen is None:
        yield
        return
    before, variable = _chosen, os.environ.get("RNNLAB_LANG")
    _chosen, os.environ["RNNLAB_LANG"] = chosen, chosen
    try:
        yield
    finally:
        _chosen = before
        if variable is None:
            del os.environ["RNNLAB_LANG"]
        else:
            os.environ["RNNLAB_LANG"] = variable


# --- texts ---------------------------------------------------------------------------------------------------------


class Both:
    """A text in every language: a page holds two of them and shows one; `str` is the current language's. See `both`."""

    def __getitem__(self, language: Language) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self[language()]

    def __eq__(self, other: object) -> bool:
        """Texts are equal that say the same in every language."""
        return isinstance(other, Both) and all(self[to] == other[to] for to in LANGUAGES)

    def __hash__(self) -> int:
        return hash(self.en)

    def __bool__(self) -> bool:
        return bool(self.en)

    @property
    def en(self) -> str:
        return self["en"]

    @property
    def zh(self) -> str:
        return self["zh"]

    def format(self, **gaps: Any) -> "Both":
        """With its gaps filled: with values that are the same in every language, or with a `Both`."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class _Text(Both):
    english: str
    plural: str | None = None  # said where the gap ``count`` isn't 1
    context: str | None = None
    gaps: dict[str, Any] = field(default_factory=dict)
    filled: bool = True  # False: the gaps are still to come

    def __getitem__(self, language: Language) -> str:
        many = self.plural is not None and self.gaps["count"] != 1
        text = self.plural if many and self.plural is not None else self.english
        if language != "en":
            text = catalogue(language).get(Key(self.english, self.context), text)
        if not self.filled:
            return text
        return text.format(**{name: spoken(value, language) for name, value in self.gaps.items()})

    def format(self, **gaps: Any) -> Both:
        return replace(self, gaps=self.gaps | gaps, filled=True)


@dataclass(frozen=True, eq=False)
class _Row(Both):
    """Things one after the other."""

    things: tuple[Any, ...]
    between: Both
    last: Both

    def __getitem__(self, language: Language) -> str:
        *most, last = [str(spoken(thing, language)) for thing in self.things] or [""]
        row = self.between[language].join(most) + self.last[language] + last if most else last
        return re.sub("(?<=[）】”。，、；：]) (?=[\u3400-\u9fff])", "", row)  # those marks have their space within

    def format(self, **gaps: Any) -> Both:
        return replace(self, things=tuple(t.format(**gaps) if isinstance(t, Both) else t for t in self.things))


@dataclass(frozen=True, eq=False)
class _Given(Both):
    texts: dict[str, str]

    def __getitem__(self, language: Language) -> str:
        return self.texts.get(language, self.texts["en"])

    def format(self, **gaps: Any) -> Both:
        filled = {to: {name: spoken(value, to) for name, value in gaps.items()} for to in LANGUAGES}
        return _Given({to: self[to].format(**filled[to]) for to in LANGUAGES})


@dataclass(frozen=True, eq=False)
class _Capital(Both):
    text: Both

    def __getitem__(self, language: Language) -> str:
        said = self.text[language]
        return said[:1].upper() + said[1:]

    def format(self, **gaps: Any) -> Both:
        return _Capital(self.text.format(**gaps))


def both(text: str, /, *, _context: Any = None, **gaps: Any) -> Both:
    """The text in every language. Gaps that aren't given can be filled later (`Both.format`), all at once."""
    return _Text(text, None, _context, gaps, filled=bool(gaps) or "{" not in text)


def plural(one: str, many: str, /, count: float, *, _context: Any = None, **gaps: Any) -> Both:
    """``plural("{count} row", "{count:,} rows", 3)``: ``one`` where the count is 1. Chinese has one form for both."""
    return _Text(one, many, _context, {"count": count, **gaps})


def say(text: str, /, *, _context: Any = None, **gaps: Any) -> str:
    """The text in the current language."""
    return str(both(text, _context=_context, **gaps))


def translated(text: str) -> str:
    """A text that stands elsewhere as it is, such as a docstring, in the current language."""
    return text if language() == "en" else catalogue(language()).get(Key(text), text)


def msgid(text: str) -> str:
    """Marks a text that another part of the code will say."""
    return text


def told_in(**texts: str) -> Both:
    """``told_in(en="Wind", zh="风速")``: what no catalogue of ours can hold, such as a plugin's own words."""
    return _Given(texts)


def same(text: Any) -> Both:
    """What isn't translated: a label, a number, a name."""
    return _Text("{text}", gaps={"text": text})


def listed(things: Sequence[Any], last: Literal["and", "or", "comma"] = "and") -> Both:
    """``a, b and c``"""
    comma = both(", ", _context="list")
    ends = {"and": both(" and ", _context="list"), "or": both(" or ", _context="list"), "comma": comma}
    return _Row(tuple(things), comma, ends[last])


def capitalised(text: Both) -> Both:
    """To begin a sentence or a title with."""
    return _Capital(text)


def joined(things: Sequence[Any], between: Both | str) -> Both:
    """With the same between all of them: `SENTENCES`, `STOPS`, `CLAUSES`, `COMMAS`, or any text."""
    between = same(between) if isinstance(between, str) else between
    return _Row(tuple(things), between, between)


SENTENCES = both("{first} {second}", _context="sentences", first="", second="")  # each has its full stop
STOPS = both(". ", _context="between")  # each gets one
CLAUSES = both("; ", _context="between")
COMMAS = both(", ", _context="between")


def spoken(value: Any, language: Language) -> Any:
    """What fills a gap: a text in that language, and everything else as it is."""
    if isinstance(value, Both):
        return value[language]
    if isinstance(value, Exception) and value.args and isinstance(value.args[0], Both):  # part of another error
        return value.args[0][language]
    return value


# --- what is stored in English -------------------------------------------------------------------------------------


def note(text: str, /, **gaps: Any) -> str:
    """In English, to be stored; `retold` finds the other languages."""
    return both(text, _context=NOTE, **gaps).en


class ResultNote(str):
    """A note on what the runs showed, which is said with the verdict; others are said before the runs begin. Stored,
    it is a text as any other."""


def note_list(notes: Sequence[str]) -> str:
    """Several notes in one, which is part of another."""
    said = ""
    for text in reversed(notes):
        said = note("{first}; {rest}", first=text, rest=said) if said else text
    return said


def retold(text: str) -> Both:
    """A stored text in every language. One that isn't known, because an earlier version or a plugin wrote it, stays."""
    return _Retold(text)


@dataclass(frozen=True, eq=False)
class _Retold(Both):
    text: str

    def __getitem__(self, language: Language) -> str:
        if language == "en":
            return self.text
        for pattern, translation in _patterns(language):
            found = pattern.fullmatch(self.text)
            if found:
                gaps = {name: _Retold(gap)[language] for name, gap in found.groupdict().items()}
                return translation.format(**gaps)
        return self.text

    def format(self, **gaps: Any) -> Both:
        return self


@cache
def _patterns(language: Language) -> list[tuple[re.Pattern[str], str]]:
    """Of the notes: what recognises one, and its translation without the gaps' formats. Most letters come first."""
    notes = {key.text: text for key, text in catalogue(language).items() if key.context == NOTE}
    most_letters = sorted(notes, key=lambda text: -len("".join(letters for letters, *_ in _parts(text))))
    return [(_recogniser(text), _without_formats(notes[text])) for text in most_letters]


def _recogniser(text: str) -> re.Pattern[str]:
    pattern, seen = "", set[str]()
    for letters, name, form, _ in _parts(text):
        pattern += re.escape(letters)
        if name is not None:
            number = r"[\d.,+−-]+" if form else ".+?"
            pattern += f"(?P={name})" if name in seen else f"(?P<{name}>{number})"
            seen.add(name)
    return re.compile(pattern, re.DOTALL)


def _without_formats(text: str) -> str:
    return "".join(
        letters.replace("{", "{{").replace("}", "}}") + ("" if name is None else f"{{{name}}}")
        for letters, name, _, _ in _parts(text)
    )


def _parts(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    return list(string.Formatter().parse(text))


# --- catalogues ----------------------------------------------------------------------------------------------------


class Key(NamedTuple):
    text: str
    context: str | None = None


class Entry(NamedTuple):
    key: Key
    plural: str | None
    translation: str
    comments: tuple[str, ...]  # "#: where", "#, flags", as they stand

    @property
    def fuzzy(self) -> bool:
        return any(comment.startswith("#,") and "fuzzy" in comment for comment in self.comments)


@cache
def catalogue(language: Language) -> dict[Key, str]:
    """The translations of a language by English text and context."""
    text = resources.files("rnnlab.core").joinpath("catalogues", f"{language}.po").read_text(encoding="utf-8")
    return {entry.key: entry.translation for entry in read_po(text) if not entry.fuzzy and entry.translation}


_FIELD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[0\])?) (".*")')


def read_po(text: str) -> list[Entry]:
    """The entries of a .po file, strictly: a line that isn't understood, or an entry that stands twice, is an error."""
    entries: dict[Key, Entry] = {}
    for block in re.split(r"\n\s*\n", text.strip()):
        fields: dict[str, list[str]] = {}
        lines = block.split("\n")
        comments = tuple(line for line in lines if line.startswith("#"))
        current: list[str] | None = None
        for line in lines:
            if line.startswith("#"):
                continue
            found = _FIELD.fullmatch(line)
            if found:
                current = fields.setdefault(found[1].removesuffix("[0]"), [])
            if current is None or not (found or re.fullmatch(r'".*"', line)):
                raise ValueError(f"not a line of a catalogue: {line}")
            current.append(json.loads(found[2] if found else line))
        if not fields and comments:
            continue
        texts = {name: "".join(parts) for name, parts in fields.items()}
        if not {"msgid", "msgstr"} <= texts.keys():
            raise ValueError(f"an entry of a catalogue needs msgid and msgstr: {block}")
        key = Key(texts["msgid"], texts.get("msgctxt"))
        if key in entries:
            raise ValueError(f"twice in the catalogue: {key}")
        entries[key] = Entry(key, texts.get("msgid_plural"), texts["msgstr"], comments)
    entries.pop(Key(""), None)  # the header
    return list(entries.values())
