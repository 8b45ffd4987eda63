"""CSV and TSV: through the ``csv`` module where all is well, and through `parse_carefully` where it isn't: there an
open quote costs one row, not the rest of the file. Whether quotes are marks or text is told from the rows."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rnnlab.core.errors import DataError
from rnnlab.core.words import both, note
from rnnlab.data.formats.base import (
    FIELD_CAP,
    Answered,
    Cell,
    Portion,
    RowFile,
    as_text,
    check_names,
    field_problem,
    file_format,
    in_portions,
    named_columns,
    refuse_unreadable,
)
from rnnlab.data.formats.source import Source

QUOTES_ARE_TEXT = note("quotes are read as text")
QUOTES_ENCLOSE = note("quotes are read as marks around fields")
WIDE = 100  # columns from which on a portion has fewer rows
DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}

Record = tuple[int, list[str], str]  # the line where it begins, its fields, and what is wrong with it
Parser = Callable[["Delimited", int | None], Iterator[Record]]  # told how wide the table is, if it has no header


@file_format(*DELIMITERS)
class Delimited(RowFile):
    """A comma may turn out to be a semicolon or a tab."""

    takes_names = True
    are_texts = True
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    delimiter: str

    def __init__(self, source: Source, names: Sequence[str] | None = None):
        super().__init__(source)
        self.notes = source.notes
        self.delimiter = DELIMITERS[source.suffix]
        if self.delimiter == ",":
            self.delimiter = delimiter_of(next((line for line in source.lines() if line.strip()), ""))
            self.notes += {";": (note("separated by semicolons"),), "\t": (note("separated by tabs"),)}.get(
                self.delimiter, ()
            )
        self._names = names
        self._choose_parser()

    def portions(self) -> Iterator[Portion]:
        blank = [""] * len(self.columns)
        wide = len(self.columns) > WIDE
        for rows in in_portions(self._rows(), weigh=(lambda row: 4 * len(row[1])) if wide else None):
            problems = {at: problem for at, (_, _, problem) in enumerate(rows) if problem}
            content = [fields for _, fields, _ in rows]
            usable = content
            if problems:
                usable = [blank if at in problems else fields for at, fields in enumerate(content)]
            columns = dict(zip(self.columns, zip(*usable, strict=True), strict=True))
            yield Portion([line for line, _, _ in rows], columns, problems, content)

    def extended(self, suffix: str, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        enclose = QUOTES_ARE_TEXT not in self.notes
        width, newline = len(self.columns), self.source.newline
        header = to_lines([[*self._header, *added]], self.delimiter, newline, enclose)
        yield self.source.mark + self.source.encode(header)
        for portion, cells in answered:
            rows = zip(portion.content, cells, strict=True)
            whole = ([*fields, *[""] * (width - len(fields)), *map(as_text, more)] for fields, more in rows)
            yield self.source.encode(to_lines(whole, self.delimiter, newline, enclose))

    @classmethod
    def written(cls, suffix: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
        delimiter = DELIMITERS[suffix]
        check_names("the columns", columns)
        yield to_lines([columns], delimiter).encode()
        for portion in in_portions(rows):
            texts = [list(map(as_text, row)) for row in portion]
            for row in texts:
                for column, text in zip(columns, row, strict=True):
                    refuse_unreadable(column, text)
                    if delimiter == "\t" in text and _NEWLINE.search(text):
                        raise DataError(
                            "{column!r}: a tab and a line break in one field can't be told from rows", column=column
                        )
            yield to_lines(texts, delimiter).encode()

    # Records

    def _rows(self) -> Iterator[Record]:
        records = self._parser(self, None if self._names is None else len(self._names))
        if self._names is None:
            next(records)
        return records

    def _choose_parser(self) -> None:
        """As text where there are no quotes; otherwise as the csv module reads it, if it can and there is no doubt."""
        if not self.source.contains('"'):
            return self._use(Delimited._split_lines)
        # The csv module's own field limit belongs to the whole process, so it is left alone: a field beyond it is a
        # csv.Error, and the careful parser, which has our cap, takes over; so it does with NUL, which csv lets through.
        try:
            if csv.field_size_limit() > FIELD_CAP or self.source.contains("\0"):
                raise csv.Error
            self._use(Delimited._by_csv)
            good, bad = self._count()
        except csv.Error:
            self._use(Delimited._carefully)
            good, bad = self._count()
        often_quoted = self.delimiter != "\t"
        if not bad and (often_quoted or len(self.columns) == 1):  # well-formed, and beyond suspicion
            return None
        filled_lines = sum(1 for line in self.source.lines() if line.strip("\r\n"))
        if not bad and good + (self._names is None) >= filled_lines:
            return None
        unquoted = self._split_lines(len(self.columns))
        as_text = quotes_are_text(unquoted, len(self.columns), good, bad, often_quoted=often_quoted)
        self.notes += (QUOTES_ARE_TEXT if as_text else QUOTES_ENCLOSE,)
        return self._use(Delimited._split_lines) if as_text else None

    def _use(self, parser: Parser) -> None:
        self._parser = parser  # of the class: bound to this file, it would keep its bytes alive
        if self._names is not None:
            self.columns = self._header = tuple(self._names)
            return
        line, fields, problem = next(parser(self, None), (0, [], ""))
        if problem:
            raise DataError(
                "{path}:{line}: the header can't be read: {problem}", path=self.path, line=line, problem=problem
            )
        if not fields:
            raise DataError("{path}: the file is empty", path=self.path)
        self._header = tuple(name.strip() for name in fields)
        self.columns = named_columns(self._header)
        check_names(both("{path}:{line}: the header", path=self.path, line=line), self.columns)

    def _count(self) -> tuple[int, int]:
        """Good rows and bad ones."""
        parse = self._parser
        if parse is Delimited._by_csv:
            self._parser = Delimited._by_csv_without_texts
        good = bad = 0
        for _, _, problem in self._rows():
            if problem:
                bad += 1
            else:
                good += 1
        self._parser = parse
        return good, bad

    def _split_lines(self, width: int | None) -> Iterator[Record]:
        """One record per line; quotes are characters like any other."""
        for number, line in enumerate(self.source.lines(), 1):
            if content := line.rstrip("\r\n"):
                fields = content.split(self.delimiter)
                problem = (len(content) > FIELD_CAP or "\0" in content) and field_problem(fields)
                if len(fields) != width and not problem:
                    if _is_blank(fields):
                        continue
                    problem = width is not None and _ragged(fields, width)
                    width = width or len(fields)
                yield number, fields, problem or ""

    def _by_csv(self, width: int | None) -> Iterator[Record]:
        return csv_records(self.source.lines(), self.delimiter, width)

    def _by_csv_without_texts(self, width: int | None) -> Iterator[Record]:
        """As `_by_csv` but for the texts of bad rows: a third faster."""
        return csv_records(self.source.lines(), self.delimiter, width, with_texts=False)

    def _carefully(self, width: int | None) -> Iterator[Record]:
        return parse_carefully(self.source.text(), self.delimiter, width)


def delimiter_of(first_line: str) -> str:
    """A comma, unless the first line has none and does have semicolons or tabs."""
    bare = re.sub(r'"[^"]*"', "", first_line)
    return next((mark for mark in ",;\t" if mark in bare), ",")


def to_lines(rows: Iterable[Sequence[str]], delimiter: str, newline: str = "\n", enclose: bool = True) -> str:
    """Rows of fields to lines. The csv module before Python 3.13 wouldn't enclose a carriage return."""
    special = re.compile(f'["\r\n{delimiter}]')

    def enclosed(field: str) -> str:
        return '"' + field.replace('"', '""') + '"' if special.search(field) else field

    lines = []
    for fields in rows:
        if enclose and special.search("".join(fields)):
            fields = map(enclosed, fields)
        line = delimiter.join(fields)
        lines.append((line or '""' if enclose else line) + newline)  # an empty line would be no row
    return "".join(lines)


def csv_records(lines: Iterable[str], delimiter: str, width: int | None, with_texts: bool = True) -> Iterator[Record]:
    """Records by the csv module. A ragged row of several lines may be an open quote: that too is a ``csv.Error``."""
    last = ""

    def remembered() -> Iterator[str]:
        nonlocal last
        for last in lines:  # noqa: UP028  # the line is looked at below
            yield last

    reader = csv.reader(remembered() if with_texts else lines, delimiter=delimiter, strict=True)
    start = 1
    for fields in reader:
        if fields and (len(fields) == width or not _is_blank(fields)):
            width = width or len(fields)
            if len(fields) == width:
                yield start, fields, ""
            elif reader.line_num > start:
                raise csv.Error("ragged row of several lines")
            else:
                yield start, [last.rstrip("\r\n")], _ragged(fields, width)
        start = reader.line_num + 1


_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)"')
_NEWLINE = re.compile(r"\r\n|\r|\n")


def parse_carefully(text: str, delimiter: str, width: int | None) -> Iterator[Record]:
    """The records of ``csv.reader(strict=True)``, but after a quote that isn't closed, or not in the right place, it
    goes on with the line after the one where that quote opened. The one field of a bad record is its text. Linear in
    the text for a fixed ``width``."""
    bare = re.compile(f"[^{delimiter}\r\n]*+")
    at, line = 0, 1
    while at < len(text):
        if blank := _NEWLINE.match(text, at):
            at, line = blank.end(), line + 1
            continue
        begin, start = at, line
        fields, problem, at, line = _parse_record(text, at, line, delimiter, bare, width)
        if problem:
            yield line - 1, [text[begin:at].rstrip("\r\n")], problem
        elif len(fields) == width or not _is_blank(fields):
            width = width or len(fields)
            problem = field_problem(fields) or ("" if len(fields) == width else _ragged(fields, width))
            yield start, [text[begin:at].rstrip("\r\n")] if problem else fields, problem


def _parse_record(
    text: str, at: int, line: int, delimiter: str, bare: re.Pattern[str], width: int | None
) -> tuple[list[str], str, int, int]:
    """The fields of one record; what is wrong with its last line; the position and the line to go on with."""

    def give_up(opened: int, line: int, reason: str) -> tuple[list[str], str, int, int]:
        return [], reason, _next_line(text, opened), line + 1

    fields: list[str] = []
    spanning: tuple[int, int] | None = None  # position and line where the first field of several lines opens
    while True:
        if text.startswith('"', at):
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                return give_up(at, line, note("the quote that opens here is never closed"))
            breaks = len(_NEWLINE.findall(quoted[1]))
            if text[quoted.end() : quoted.end() + 1] not in ("", delimiter, "\r", "\n"):
                reason = note("text follows right after a closing quote")
                if breaks:
                    reason = note(
                        "the quote that opens here isn't closed (in line {line}, {reason})",
                        line=line + breaks,
                        reason=reason,
                    )
                return give_up(at, line, reason)
            if breaks and spanning is None:
                spanning = at, line
            fields.append(quoted[1].replace('""', '"'))
            at, line = quoted.end(), line + breaks
        else:
            found = bare.match(text, at)
            assert found is not None  # it matches the empty string too
            fields.append(found[0])
            at = found.end()
        if spanning and width and len(fields) > width:
            return give_up(
                *spanning,
                note("the quote that opens here isn't closed, or there are more than {width} fields", width=width),
            )
        if not text.startswith(delimiter, at):
            return fields, "", _next_line(text, at), line + 1
        at += 1


def _next_line(text: str, at: int) -> int:
    newline = _NEWLINE.search(text, at)
    return newline.end() if newline else len(text)


def _is_blank(fields: list[str]) -> bool:
    return len(fields) == 1 and not fields[0].strip()


def _ragged(fields: list[str], width: int) -> str:
    if len(fields) == 1:
        return note("1 field instead of {width}", width=width)
    return note("{count} fields instead of {width}", count=len(fields), width=width)


def quotes_are_text(unquoted: Iterable[Record], width: int, good: int, bad: int, *, often_quoted: bool) -> bool:
    """Whether quotes are data rather than marks around fields; read as marks, so many rows are ``good`` and ``bad``.

    They are if two things hold. First, without quoting the rows are no worse: hardly more of them are bad, and the
    lines that quoting would join look like whole rows (a text of several lines would leave ragged pieces). Second,
    quotes at the start of a field often have no proper end. In a comma-separated file, where quoting is the custom,
    one or two such quotes are mistakes to be reported."""
    records = bad_as_text = broken = whole = 0
    for _, fields, problem in unquoted:
        records += 1
        bad_as_text += bool(problem)
        for field in fields:
            if field.startswith('"'):
                is_whole = _QUOTED.fullmatch(field) is not None
                whole += is_whole
                broken += not is_whole
    joined = max(0, records - 1 - good - bad)
    no_worse = bad_as_text <= bad + joined // 4
    often_broken = broken >= (3 if often_quoted or whole else 1) and broken * 4 >= whole
    return no_worse and often_broken
