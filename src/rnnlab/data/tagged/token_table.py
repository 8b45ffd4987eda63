"""Tables with a row per sentence: a column of tokens and a column of tags, as lists or with spaces between."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rnnlab.core.errors import DataError, did_you_mean
from rnnlab.core.words import note
from rnnlab.data import formats
from rnnlab.data.classes import listed
from rnnlab.data.formats.base import Portion, RowFile, field_problem, unicode_problem
from rnnlab.data.formats.json_lines import JsonLines, parse
from rnnlab.data.formats.parquet import Parquet
from rnnlab.data.formats.source import Source
from rnnlab.data.tagged.layout import HEAD, LONGEST, Layout, Sentence, Unusable

TOKENS = ("tokens", "words", "token", "word", "chars", "characters")
TAGS = ("ner_tags", "ner", "tags", "tag", "labels", "label", "upos", "pos_tags", "pos", "xpos", "chunk_tags", "bio")


class TokenTable(Layout):
    """Columns are told by their names and by what they hold, if they aren't given."""

    def __init__(self, source: Source, tags: str | None = None, tokens: str | None = None, tagged: bool = True):
        super().__init__(source)
        self.file: RowFile = _opened(source)
        self.notes: list[str] = list(self.file.notes)
        head = _head_of(self.file)
        self.tokens: str = tokens or _first_named(TOKENS, head) or ""
        if self.tokens not in head:
            raise DataError(
                "{path}: which column has the tokens? there is none named {names!r}{hint}\ncolumns: {columns}",
                path=self.path,
                names=tokens or "tokens",
                hint=did_you_mean(self.tokens, head),
                columns=listed(list(head)),
            )
        fitting = _fitting(head, self.tokens)
        only = fitting[0] if len(fitting) == 1 else None
        self.column: str = tags or _first_named(TAGS, fitting) or only or _first_named(TAGS, head) or ""
        self._is_there = self.column in head
        if tagged and not self._is_there:
            raise DataError(
                "{path}: which column has the tags{given}? it needs as many as there are tokens in every row; pass "
                "--tags NAME{hint}\ncolumns: {columns}",
                path=self.path,
                given=f" ({tags!r})" if tags else "",
                hint=did_you_mean(self.column, head),
                columns=listed(list(head)),
            )
        self.column = self.column or "tags"
        if tagged and (tags is None or tokens is None):
            self.notes.append(
                note(
                    "tokens column {tokens!r}, tags column {tags!r}; --tags chooses another",
                    tokens=self.tokens,
                    tags=self.column,
                )
            )

    @property
    def has_tags(self) -> bool:
        return self._is_there

    @classmethod
    def fits(cls, source: Source) -> bool:
        """Whether the head of a table has tokens and as many tags, and not one of each in every row."""
        try:
            head = _head_of(_opened(source))
        except DataError:
            return False
        tokens = _first_named(TOKENS, head)
        fitting = _fitting(head, tokens) if tokens else []
        return tokens is not None and any(name.lower() in TAGS for name in fitting) and _has_several(head[tokens])

    def sentences(self, tagged: bool) -> Iterator[Sentence]:
        for portion in self.file.portions():
            yield from self._sentences(portion, tagged)

    def _sentences(self, portion: Portion, tagged: bool) -> Iterator[Sentence]:
        """One for every row, with a problem or without."""
        tags = portion.values(self.column)
        for at, (line, cell) in enumerate(zip(portion.lines, portion.values(self.tokens), strict=True)):
            try:
                if at in portion.problems:
                    raise Unusable(portion.problems[at])
                tokens = items_of(cell, self.tokens)
                if not tokens or len(tokens) > LONGEST:
                    raise Unusable(
                        note("{count:,} tokens; there may be 1 to {limit:,}", count=len(tokens), limit=LONGEST)
                    )
                own = items_of(tags[at], self.column) if tagged else []
                if tagged and len(own) != len(tokens):
                    raise Unusable(
                        note(
                            "{tokens:,} tokens and {tags:,} of {column!r}, which must be as many",
                            tokens=len(tokens),
                            tags=len(own),
                            column=self.column,
                        )
                    )
                yield Sentence(line, tokens, own)
            except Unusable as error:
                yield Sentence(line, problem=str(error))

    def answered(self, answers: Iterator[Sequence[str]], scheme: str | None) -> Iterator[bytes]:
        """Spelt as the tokens are: as a list, or with spaces between."""
        file, added = self.file, dict[str, type]()
        if isinstance(file, Parquet):
            file.schema = self._schema(file.schema)
        elif isinstance(file, JsonLines) or not self._is_there:
            added = {self.column: str}
        portions = (self._answered(portion, answers) for portion in file.portions())
        return file.extended(self.source.suffix, added, portions)

    def _answered(self, portion: Portion, answers: Iterator[Sequence[str]]) -> tuple[Portion, list[list[Any]]]:
        """The portion with other tags, and what is to be added to its rows."""
        cells: list[Any] = [None] * len(portion.lines)
        spelling = portion.values(self.tokens)
        for at, sentence in enumerate(self._sentences(portion, tagged=False)):
            if not sentence.problem:
                cells[at] = spelt_as(spelling[at], next(answers))
        if isinstance(self.file, Parquet):
            return replace(portion, content=self._batch(self.file.schema, portion, cells)), [[] for _ in cells]
        if isinstance(self.file, JsonLines):  # what has no answer stays as it is, as a row with a problem does
            left = {at: "" for at, cell in enumerate(cells) if cell is None}
            lines = [line if at in left else self._without_tags(line) for at, line in enumerate(portion.content)]
            return replace(portion, content=lines, problems=left), [[cell] for cell in cells]
        if not self._is_there:
            return portion, [[cell or ""] for cell in cells]
        place = self.file.columns.index(self.column)
        rows = zip(portion.content, cells, strict=True)
        content = [row if cell is None else [*row[:place], cell, *row[place + 1 :]] for row, cell in rows]
        return replace(portion, content=content), [[] for _ in cells]

    def _without_tags(self, line: str) -> str:
        row = parse(line)
        assert isinstance(row, dict)
        row.pop(self.column, None)
        return json.dumps(row, ensure_ascii=line.isascii())

    def _schema(self, schema: Any) -> Any:
        """Of a Parquet file whose tags are lists of texts, or texts, as its tokens are."""
        field = schema.field(self.tokens).with_name(self.column)
        return schema.set(schema.get_field_index(self.column), field) if self._is_there else schema.append(field)

    def _batch(self, schema: Any, portion: Portion, cells: list[Any]) -> Any:
        import pyarrow

        tags = pyarrow.array(cells, schema.field(self.column).type)
        arrays = [tags if name == self.column else portion.content.column(name) for name in schema.names]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _opened(source: Source) -> RowFile:
    return JsonLines(source) if source.suffix == ".json" else formats.format_of(source.path)(source)


def _head_of(file: RowFile) -> dict[str, list[Any]]:
    """The first rows without a problem, by column."""
    portion = next(file.portions(), None)
    if portion is None:
        raise DataError("{path}: there are no rows", path=file.path)
    good = list(itertools.islice((at for at in range(len(portion.lines)) if at not in portion.problems), HEAD))
    return {name: [portion.values(name)[at] for at in good] for name in file.columns}


def _first_named(names: Sequence[str], columns: Mapping[str, Any] | Sequence[str]) -> str | None:
    by_name = {column.strip().lower(): column for column in columns}
    return next((by_name[name] for name in names if name in by_name), None)


def _fitting(head: Mapping[str, list[Any]], tokens: str) -> list[str]:
    """The columns that have as many items as there are tokens, in nearly every row."""
    wanted = [_count(cell) for cell in head[tokens]]

    def fits(values: list[Any]) -> bool:
        equal = [count == _count(cell) for count, cell in zip(wanted, values, strict=True) if count]
        return sum(equal) >= 0.95 * max(1, len(equal))

    return [name for name, values in head.items() if name != tokens and fits(values)]


def _has_several(cells: Sequence[Any]) -> bool:
    return any(_count(cell) > 1 for cell in cells)


def _count(cell: Any) -> int:
    try:
        return len(items_of(cell, ""))
    except Unusable:
        return 0


# --- cells --------------------------------------------------------------------------------------------------------

_ITEM = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)"|([^\s,'"\[\]]++))\s*(?:,|(?=['"])|(?=\s)|$)""")


def items_of(cell: Any, column: str) -> list[str]:
    """A list of texts, or of numbers; the JSON of one; Python's spelling of one (``['a', 'b']``); or words between
    spaces."""
    if isinstance(cell, str):
        stripped = cell.strip()
        if not (stripped.startswith("[") and stripped.endswith("]")) or len(stripped) < 2:
            return stripped.split()
        if (parsed := parse(f'{{"items": {stripped}}}')) and isinstance(parsed, dict):
            cell = parsed["items"]
        else:
            cell = _python_items(stripped[1:-1], column)
    if not isinstance(cell, list):
        raise Unusable(note("{column!r} is no list", column=column))
    items = []
    for item in cell:
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise Unusable(note("{column!r} has an item that isn't a text", column=column))
        text = item.strip() or item if isinstance(item, str) else str(item)
        if not text:
            raise Unusable(note("{column!r} has an empty item", column=column))
        items.append(text)
    if problem := field_problem(items) or unicode_problem("".join(items)):
        raise Unusable(note("{column!r}: {problem}", column=column, problem=problem))
    return items


def _python_items(text: str, column: str) -> list[str]:
    items, at = [], 0
    while at < len(text.rstrip()):
        found = _ITEM.match(text, at)
        if found is None or found.end() == at:
            raise Unusable(note("{column!r} is no list", column=column))
        single, double, bare = found.groups()
        items.append(bare if bare is not None else re.sub(r"\\(.)", r"\1", single if double is None else double))
        at = found.end()
    return items


def spelt_as(tokens: Any, tags: Sequence[str]) -> Any:
    """Tags in a cell such as the one of their tokens."""
    if isinstance(tokens, list):
        return list(tags)
    has_space = any(character.isspace() for tag in tags for character in tag)
    if has_space or str(tokens).strip().startswith("["):
        return json.dumps(list(tags), ensure_ascii=False)
    return " ".join(tags)
