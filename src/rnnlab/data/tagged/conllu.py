"""CoNLL-U, the files of Universal Dependencies: ten columns between tabs, and what they don't have as ``_``."""

import itertools
import re
from collections.abc import Iterator

from rnnlab.core.errors import DataError, did_you_mean
from rnnlab.core.words import note
from rnnlab.data.formats.source import Source
from rnnlab.data.tagged.layout import HEAD, Sentence, Unusable
from rnnlab.data.tagged.token_lines import TokenLines

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
NOTHING = "_"
_TEXT = re.compile(r"#\s*text\s*=\s?(.*)", re.DOTALL)
_GLOBAL = re.compile(r"#\s*global\.columns\s*=\s*(.*)")
_WORD, _RANGE, _EMPTY = (re.compile(pattern, re.ASCII) for pattern in (r"[0-9]+", r"[0-9]+-[0-9]+", r"[0-9]+\.[0-9]+"))


class ConllU(TokenLines):
    """Words are read; multi-word tokens (``1-2``), whose words follow, and empty nodes (``1.1``) are passed over."""

    token_at: int
    tag_at: int
    key: str = ""  # of MISC, where the tags are there
    ranges: int = 0  # multi-word tokens, in the last reading
    empty_nodes: int = 0

    def __init__(self, source: Source, tags: str | None = None, tagged: bool = True):
        super().__init__(source)
        self.notes.extend(source.notes)
        head = [line.rstrip("\r\n") for line in itertools.islice(source.lines(), HEAD)]
        named = next((found for line in head[:20] if (found := _GLOBAL.match(line))), None)
        self.columns: tuple[str, ...] = tuple(named[1].lower().split()) if named else COLUMNS  # CoNLL-U Plus
        for name in ("id", "form"):
            if name not in self.columns:
                raise DataError(
                    "{path}: the columns that '# global.columns' names lack {name}", path=self.path, name=name.upper()
                )
        self.token_at = self.columns.index("form")
        self.column: str = (tags or "upos").lower()
        if self.column in self.columns:
            self.tag_at = self.columns.index(self.column)
        else:
            self._take_key(tags or "upos", head, tagged)
        self._head = head

    @property
    def has_tags(self) -> bool:
        rows = (line.split("\t") for line in self._head if not line.startswith("#"))
        return any(len(row) == len(self.columns) and row[self.tag_at] != NOTHING for row in rows)

    def _take_key(self, name: str, head: list[str], tagged: bool) -> None:
        keys: dict[str, None] = {}
        if "misc" in self.columns:
            self.tag_at = self.columns.index("misc")
            for line in head:
                fields = line.split("\t")
                if len(fields) == len(self.columns) and not line.startswith("#"):
                    keys.update(dict.fromkeys(_misc(fields[self.tag_at])))
        exact = {key.lower(): key for key in reversed(keys)} | {key: key for key in keys}
        found = exact.get(name) or exact.get(name.lower())
        if found is None and not tagged and "misc" in self.columns:
            found = name  # rows that are still to be answered
        if found is None:
            choices = [column for column in self.columns if column not in ("id", "form", "head", "deps", "misc")]
            raise DataError(
                "{path}: no column {name!r} for the tags{hint}\ncolumns: {columns}; keys of MISC: {keys}",
                path=self.path,
                name=name,
                hint=did_you_mean(name.lower(), [*choices, *keys]),
                columns=", ".join(choices),
                keys=", ".join([*keys][:20]) or "-",
            )
        self.key = self.column = found

    def fields_of(self, line: str, begun: bool) -> list[str] | None:
        if line.startswith("#"):
            return None
        fields = line.split("\t")
        if len(fields) != len(self.columns):
            raise Unusable(
                note("{count} columns between tabs instead of {wanted}", count=len(fields), wanted=len(self.columns))
            )
        if _WORD.fullmatch(fields[0]):
            return fields
        if _RANGE.fullmatch(fields[0]):
            self.ranges += 1
            return None
        if _EMPTY.fullmatch(fields[0]):
            self.empty_nodes += 1
            return None
        raise Unusable(note("the id {id!r} isn't a number, 1-2 or 1.1", id=fields[0][:40]))

    def tag_of(self, fields: list[str]) -> str:
        if self.key:
            return _misc(fields[self.tag_at]).get(self.key, "").strip() or NOTHING
        tag = fields[self.tag_at].strip()
        if not tag or (tag == NOTHING and self.column == "upos"):
            raise Unusable(note("a token without a tag"))
        return tag

    def text_of(self, line: str) -> str | None:
        found = _TEXT.fullmatch(line)
        return found[1].strip() if found else None

    def sentences(self, tagged: bool) -> Iterator[Sentence]:
        self.ranges = self.empty_nodes = 0
        return super().sentences(tagged)

    def notes_read(self) -> list[str]:
        if not self.ranges and not self.empty_nodes:
            return []
        return [
            note(
                "passed over: multi-word tokens, whose words are read ({ranges:,}), and empty nodes ({empty:,})",
                ranges=self.ranges,
                empty=self.empty_nodes,
            )
        ]

    def with_tag(self, fields: list[str], tag: str) -> list[str]:
        if self.key:
            others = [pair for pair in fields[self.tag_at].split("|") if pair not in ("", NOTHING)]
            kept = [pair for pair in others if not pair.startswith(f"{self.key}=")]
            tag = "|".join([*kept, f"{self.key}={tag}"])
        return super().with_tag(fields, tag)


def _misc(cell: str) -> dict[str, str]:
    """``SpaceAfter=No|Entity=B-PER``; of a key that stands there twice the last value."""
    pairs = (pair.partition("=") for pair in cell.split("|") if pair and pair != NOTHING)
    return {key: value for key, equals, value in pairs if equals}


def looks_like_conllu(source: Source) -> bool:
    """Whether the first token has ten columns between tabs and is the first: such a file may end in .conll, too."""
    rows = (
        line.rstrip("\r\n").split("\t") for line in itertools.islice(source.lines(), HEAD) if line[:1] not in "#\r\n"
    )
    first = next(rows, [])
    return len(first) == len(COLUMNS) and re.fullmatch("1(-[0-9]+)?", first[0]) is not None
