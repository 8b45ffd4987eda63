"""Columns between tabs or spaces, as CoNLL-2003 has them: a token, its tag, and perhaps others between."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator

from rnnlab.core.errors import DataError
from rnnlab.core.words import note
from rnnlab.data.formats.source import Source
from rnnlab.data.tagged.layout import HEAD, Sentence, Unusable
from rnnlab.data.tagged.schemes import recognise
from rnnlab.data.tagged.token_lines import TokenLines

DOCUMENT = "-DOCSTART-"
TOKEN_NAMES = ("token", "tokens", "word", "words", "form", "char", "character")
TAG_NAMES = ("tag", "tags", "label", "labels", "ner", "entity", "pos", "upos", "xpos", "chunk", "bio")
_SPACES = re.compile(r"[ \t]+")  # no others: an ideographic space may be a token


class Columns(TokenLines):
    """The first column is the token, unless it counts the tokens of a sentence; which one is the tag, is told from its
    values, unless it is named, by its number."""

    width: int = 0  # columns of most lines
    token_at: int
    tag_at: int
    column: str
    documents: int = 0  # lines that begin one, in the last reading

    def __init__(self, source: Source, tags: str | None = None, tokens: str | None = None, tagged: bool = True):
        super().__init__(source)
        self.notes.extend(source.notes)
        filled = (line.rstrip("\r\n") for line in source.lines() if line.strip(" \t\r\n"))
        head = list(itertools.islice(filled, HEAD))
        self.delimiter = "\t" if sum("\t" in line for line in head) * 2 > len(head) else " "
        widths = Counter(len(self._cut(line)) for line in head if not line.startswith(("#", DOCUMENT)))
        self.width = max(widths, key=lambda width: (widths[width], width), default=0)
        cut = ((line, self._cut(line)) for line in head)
        rows = [row for line, row in cut if len(row) == self.width and not self._is_no_token(line, row)]
        self.header: list[str] | None = None
        if rows and self.width > 1 and _is_header(rows[0]):
            self.header = rows.pop(0)
            self.notes.append(note("the first line names the columns"))
        if not rows:
            raise DataError("{path}: no line has a token, only comments", path=self.path)
        self.token_at = self._place(tokens, "tokens") if tokens else int(_counts_tokens(rows))
        if self.width - 1 <= self.token_at and tagged:
            raise DataError(
                "{path}: there are tokens, and no tags; a line is a token, a tab or a space, and its tag",
                path=self.path,
            )
        if tags is None:
            self.tag_at = self._likely_tags(rows)
        elif not tagged and tags.isdecimal() and int(tags[:5]) > self.width:  # rows that are still to be answered
            self.tag_at = max(self.width, self.token_at + 1)
        else:
            self.tag_at = self._place(tags, "tags")
        self.column = self.header[self.tag_at] if self.header and self.tag_at < self.width else str(self.tag_at + 1)
        if self.width > 2 + self.token_at and not tags:
            self.notes.append(
                note(
                    "tags are column {number} of {width}; --tags chooses another", number=self.column, width=self.width
                )
            )

    @property
    def has_tags(self) -> bool:
        return self.tag_at < self.width

    def _cut(self, line: str) -> list[str]:
        fields = line.split(self.delimiter)
        if self.delimiter == " " and ("" in fields or "\t" in line):
            return _SPACES.split(line.strip(" \t"))
        return fields

    def _is_no_token(self, line: str, fields: list[str]) -> bool:
        """A comment or the mark between documents. A # with as many columns as others have is a token."""
        if line.startswith(DOCUMENT):
            return True
        return line.startswith("#") and (
            len(fields) != self.width or (self.delimiter == "\t" and re.match(r"#+ ", line) is not None)
        )

    def _place(self, name: str, what: str) -> int:
        if self.header and name in self.header:
            return self.header.index(name)
        if re.fullmatch(r"-?[0-9]{1,4}", name, re.ASCII) and int(name) and -self.width <= int(name) <= self.width:
            return int(name) - 1 if int(name) > 0 else self.width + int(name)
        raise DataError(
            "{path}: no column {name!r} for the {what}; the columns are {known}",
            path=self.path,
            name=name,
            what=what,
            known=", ".join(self.header or map(str, range(1, self.width + 1))),
        )

    def _likely_tags(self, rows: list[list[str]]) -> int:
        """The last column in a scheme; the first, where tokens are counted (behind the entities, GermEval has those
        within them). Else the last that has several values."""
        behind = range(self.token_at + 1, self.width)
        values = {at: {row[at].strip() for row in rows} for at in behind}
        entities = [at for at in behind if recognise(values[at])]
        if entities:
            return entities[0 if self.token_at else -1]
        several = [at for at in behind if len(values[at]) > 1]
        return several[-1] if several else max(self.width - 1, self.token_at + 1)

    def fields_of(self, line: str, begun: bool) -> list[str] | None:
        fields = self._cut(line)
        if line.startswith(DOCUMENT):
            self.documents += 1
            return None
        if not begun and line.startswith("#") and self._is_no_token(line, fields):
            return None
        if fields == self.header:
            return None
        if len(fields) > self.width or (len(fields) < self.width and len(fields) <= self.token_at):
            raise Unusable(
                note("{count} columns, where other lines have {wanted}", count=len(fields), wanted=self.width)
            )
        return fields

    def sentences(self, tagged: bool) -> Iterator[Sentence]:
        self.documents = 0
        return super().sentences(tagged)

    def notes_read(self) -> list[str]:
        if not self.documents:
            return []
        return [note("passed over: {count:,} lines that begin a document (-DOCSTART-)", count=self.documents)]

    def tag_of(self, fields: list[str]) -> str:
        if len(fields) < self.width:
            if len(fields) == 1:
                raise Unusable(note("a token without a tag"))
            raise Unusable(
                note("{count} columns, where other lines have {wanted}", count=len(fields), wanted=self.width)
            )
        tag = fields[self.tag_at].strip()
        if not tag:
            raise Unusable(note("a token without a tag"))
        return tag


def _is_header(fields: list[str]) -> bool:
    names = [name.strip().lower() for name in fields]
    return any(name in TOKEN_NAMES for name in names) and any(name in TAG_NAMES for name in names)


def _counts_tokens(rows: list[list[str]]) -> bool:
    """Whether the first column is 1, 2, 3 … in each sentence, and there are two others."""
    firsts = [row[0] for row in rows]
    if len(rows[0]) < 3 or not all(first.isascii() and first.isdigit() and len(first) < 10 for first in firsts):
        return False
    numbers = list(map(int, firsts))
    return all(b == a + 1 or b in (0, 1) for a, b in itertools.pairwise(numbers)) and numbers[0] in (0, 1)
