"""The laws that every file format obeys, for rnnlab's own and for a plugin's.

    from rnnlab.testing import check_format

    def test_my_format():
        check_format(MyFormat)

Each law is a function of its own, listed in `FORMAT_LAWS`; a broken one is an AssertionError that names it. A format
may refuse to write what it can't hold (a ``DataError``): what it does write must be read back as it was.
"""

import pickle
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.data import formats, series
from rnnlab.data.formats import base
from rnnlab.data.formats.base import Portion, RowFile, texts_of
from rnnlab.data.formats.source import Source
from rnnlab.testing.suite import holding

PLAIN = (
    *("a plain text", " spaces around ", "two  spaces", "这部电影真的很好看", "naïve Straße", "emoji 😀👍🏽", "it's"),
    *("007", "1e5", "1_000", "NA", "null", "NaN", "true", "-", "#comment", "100 %", "back\\slash \\n", "comma, comma"),
)
"""Texts that every format can write."""
HARD = (
    *("", " ", "\t", "tab\there", "line\nbreak", "a\rb", "a\r\nb\r\n", "\n"),
    *('"', '""', '"whole"', 'a "quote", b', '"open'),
    *("semi;colon", "=1+1", "@data", "{}", '{"a": 1}', "[1, 2]", "\\ud83d", "\ufeffmark", "\u2028 \x0b \x0c \x1c \x85"),
    *("long " * 20_000, "nul \0", "half of a pair \ud800", "very long" * 120_000),
)
"""Texts that a format may refuse to write."""
CUTS = 60  # places at which a file is cut short
ADDED: dict[str, type] = {"prediction": str, "probability": float}

Law = Callable[[type[RowFile]], None]
FORMAT_LAWS: dict[str, Law] = {}


def check_format(format: type[RowFile]) -> None:
    """Hold a format to every law."""
    for law in FORMAT_LAWS.values():
        law(format)


def _law(check: Callable[["_Bench"], None]) -> Law:
    """Register a law. It has a folder of its own and is tried with every ending and kind of value that the format
    has."""

    @wraps(check)
    def held(format: type[RowFile]) -> None:
        for suffix in format.suffixes:
            for kind in sorted(format.holds):
                law = holding(f"'{format.__name__}' ({suffix}, {kind})", check)
                with tempfile.TemporaryDirectory(prefix="rnnlab-laws-") as folder, law:
                    check(_Bench(format, suffix, kind, Path(folder)))

    FORMAT_LAWS[check.__name__] = held
    return held


@dataclass(frozen=True)
class _Rows:
    """What was read: cells are texts, or series as (shape, bytes)."""

    lines: list[int]
    cells: list[tuple[Any, ...]]
    problems: dict[int, str]  # by line
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Bench:
    """A format with one of its endings and one kind of values, and a folder for files."""

    format: type[RowFile]
    suffix: str
    kind: str
    folder: Path

    @property
    def columns(self) -> tuple[str, ...]:
        if self.format.fixed is not None:
            return self.format.fixed
        return ("series", "label") if self.kind == "numbers" else ("text", "label", "note")

    def row(self, number: int, text: str = "some text") -> tuple[Any, ...]:
        """A row that can be found in its file by `marker`; for formats of numbers, ``text`` isn't in it."""
        if self.kind == "numbers":
            rest = np.random.default_rng(number).normal(0, 100, (number % 4, 2)).astype(np.float32)
            return np.concatenate([np.array([[20000.5 + number, 0]], np.float32), rest]), "ab"[number % 2]
        if len(self.columns) == 1:
            return (f"{text} {self.marker(number)}",)
        return (text, self.marker(number), "ab"[number % 2])

    def marker(self, number: int) -> str:
        return f"{20000 + number}.5" if self.kind == "numbers" else f"mark{number:03}"

    def write(self, rows: Sequence[Sequence[Any]], name: str = "file") -> Path:
        path = self.folder / f"{name}{self.suffix}"
        path.write_bytes(b"".join(self.format.written(self.suffix, self.columns, rows)))
        return path

    def open(self, path: Path, on_disk: bool = False) -> RowFile:
        return self.format(Source.on_disk(path) if on_disk else Source.load(path))

    def read(self, file: RowFile) -> _Rows:
        """All rows of an open file; a cell that has no text is a problem too."""
        found = _Rows([], [], {}, file.notes)
        for portion, columns in self._portions(file):
            for at, line in enumerate(portion.lines):
                if at in portion.problems:
                    found.problems[line] = portion.problems[at]
                else:
                    found.lines.append(line)
                    found.cells.append(tuple(_comparable(column[at]) for column in columns))
        return found

    def _portions(self, file: RowFile) -> Iterator[tuple[Portion, list[Sequence[Any]]]]:
        """Every portion with the values of `columns`."""
        if self.kind == "numbers":
            chosen = series.choose_column(file, None)
            for portion, arrays in series.with_arrays(file, chosen):
                yield portion, [arrays, *(texts_of(name, portion.values(name))[0] for name in self.columns[1:])]
            return
        for portion in file.portions():
            told = [texts_of(name, portion.values(name)) for name in self.columns]
            problems = {at: problem for _, found in told for at, problem in found.items()} | dict(portion.problems)
            yield Portion(portion.lines, portion.columns, problems), [texts for texts, _ in told]


def _comparable(value: Any) -> Any:
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def _cells(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return [tuple(map(_comparable, row)) for row in rows]


def _same(found: Sequence[Any], wanted: Sequence[Any], what: str) -> None:
    assert len(found) == len(wanted), f"{what}: {len(found)} rows instead of {len(wanted)}"
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert one == other, f"{what}: row {number} is {str(one)[:80]!r} instead of {str(other)[:80]!r}"


@_law
def what_is_written_is_read_back(bench: _Bench) -> None:
    """Every row, in its order, to the character and to the bit; none is bad."""
    rows = [bench.row(number, text) for number, text in enumerate(PLAIN * 3)]
    if bench.kind == "numbers":
        limits = np.finfo(np.float32)
        rows.append((np.array([[limits.max, -limits.tiny], [-0.0, 1 / 3]], np.float32), "a"))
    for number in (len(rows), 1):
        found = bench.read(bench.open(bench.write(rows[:number])))
        assert not found.problems, f"bad rows: {found.problems}"
        _same(found.cells, _cells(rows[:number]), f"{number} rows")


@_law
def hard_texts_are_refused_or_read_back(bench: _Bench) -> None:
    """Wherever in the file the text is, and as the only one of its kind: quotes, line breaks, NUL, half pairs."""
    if bench.kind == "numbers":
        return
    for text in HARD:
        for place in (0, 2, 4):
            rows = [bench.row(number, "a text") for number in range(5)]
            rows[place] = (text, *rows[place][1:])
            try:
                path = bench.write(rows)
            except DataError:
                continue
            found = bench.read(bench.open(path))
            assert not found.problems, f"{text[:40]!r} was written and can't be read: {found.problems}"
            _same(found.cells, _cells(rows), f"with {text[:40]!r} in row {place}")


@_law
def rows_have_the_number_of_their_line(bench: _Bench) -> None:
    """From 1, where the row is in the file; in a file without lines, rows are counted, the header among them or not."""
    path = bench.write([bench.row(number) for number in range(12)])
    found = bench.read(bench.open(path))
    lines = path.read_bytes().split(b"\n")
    markers = [bench.marker(number).encode() for number in range(12)]
    has_lines = all(any(marker in content for content in lines) for marker in markers)
    assert len(found.lines) == len(markers), f"{len(found.lines)} rows instead of {len(markers)}"
    for number, (line, marker) in enumerate(zip(found.lines, markers, strict=True)):
        if has_lines:
            assert 1 <= line <= len(lines), f"row {number} is said to be in line {line} of {len(lines)}"
            assert marker in lines[line - 1], f"row {number} isn't in line {line}"
        else:
            assert line - number == found.lines[0] in (1, 2), f"row {number} has the number {line}"


@_law
def a_bad_row_is_named_and_costs_no_other(bench: _Bench) -> None:
    """A NUL in a row is a problem of that row, with its line; all others are as before."""
    path = bench.write([bench.row(number) for number in range(12)])
    whole, before = path.read_bytes(), bench.read(bench.open(path))
    for number in (0, 5, 11):
        marker = bench.marker(number).encode()
        if whole.count(marker) != 1:
            continue  # compressed
        path.write_bytes(whole.replace(marker, marker[:-1] + b"\0"))
        found = bench.read(bench.open(path))
        assert list(found.problems) == [before.lines[number]], f"row {number} is bad, told are {found.problems}"
        assert found.problems[before.lines[number]], "the problem has no reason"
        _same(found.cells, before.cells[:number] + before.cells[number + 1 :], f"without row {number}")


@_law
def portions_change_nothing(bench: _Bench) -> None:
    """Portions of one row, of a few, and of few characters give the rows that one of all gives, with their lines."""
    path = bench.write([bench.row(number, text) for number, text in enumerate(PLAIN)])
    path.write_bytes(path.read_bytes().replace(bench.marker(7).encode(), bench.marker(7)[:-1].encode() + b"\0"))
    at_once = bench.read(bench.open(path))
    for name, size in (("PORTION", 1), ("PORTION", 2), ("PORTION", 7), ("HEAVY", 1), ("HEAVY", 100)):
        with mock.patch.object(base, name, size):
            assert bench.read(bench.open(path)) == at_once, f"other rows with {name} {size}"


@_law
def from_the_disk_as_from_memory(bench: _Bench) -> None:
    path = bench.write([bench.row(number, text) for number, text in enumerate(PLAIN)])
    assert bench.read(bench.open(path, on_disk=True)) == bench.read(bench.open(path)), "other rows from the disk"


@_law
def reading_again_gives_the_same(bench: _Bench) -> None:
    """Of one open file, as often as one likes, and after a reader that stopped in the middle."""
    rows = [bench.row(number, text) for number, text in enumerate(PLAIN)]
    file = bench.open(bench.write(rows))
    with mock.patch.object(base, "PORTION", 3):
        next(file.portions())
        once, twice = bench.read(file), bench.read(file)
    _same(once.cells, _cells(rows), "read once")
    assert twice == once, "read twice, it has other rows"


@_law
def columns_are_added_and_nothing_is_lost(bench: _Bench) -> None:
    """The same file with two more columns has the rows of before in their order, each with its answer."""
    rows = [bench.row(number, text) for number, text in enumerate(PLAIN)]
    path = bench.write(rows)
    file = bench.open(path, on_disk=True)
    fixed = bench.format.fixed is not None  # such a file becomes another one
    for ending in [ending for ending in file.endings() if not fixed or ending != bench.suffix]:
        out = path.with_name(f"out{ending}")
        with mock.patch.object(base, "PORTION", 4):
            out.write_bytes(b"".join(file.extended(ending, ADDED, _answered(file))))
        after = bench.open(out) if not fixed else formats.read_whole(out)
        found = [portion for portion in after.portions() if not _require_no_problem(portion)]
        lines = [line for portion in found for line in portion.lines]
        assert len(lines) == len(rows), f"{ending}: {len(lines)} rows instead of {len(rows)}"
        told = [text for portion in found for text in texts_of("", portion.values("prediction"))[0]]
        _same(told, [f"answer, {number}" for number in range(len(rows))], f"{ending}: the answers")
        shares = [float(value) for portion in found for value in portion.values("probability")]
        assert np.allclose(shares, 0.5), f"{ending}: other numbers than were added: {shares}"
        if not fixed:
            _same(bench.read(after).cells, _cells(rows), f"{ending}: the columns of before")
        elif "text" in after.columns:
            texts = [(text,) for portion in found for text in portion.values("text")]
            _same(texts, _cells(rows), f"{ending}: the texts of before")


def _answered(file: RowFile) -> Iterator[tuple[Portion, list[list[Any]]]]:
    number = 0
    for portion in file.portions():
        numbers = range(number, number + len(portion.lines))
        yield portion, [[f"answer, {n}", 0.5] for n in numbers]
        number = numbers.stop


def _require_no_problem(portion: Portion) -> None:
    assert not portion.problems, f"bad rows in what was written: {portion.problems}"


@_law
def a_file_cut_short_is_noticed_or_harmless(bench: _Bench) -> None:
    """Wherever it is cut: an error, a bad row, or the first rows as they were; of the last one's last cell, an end may
    be missing."""
    rows = [bench.row(number, text) for number, text in enumerate((*PLAIN[:8], 'a "quote", b'))]
    whole = bench.write(rows).read_bytes()
    wanted = _cells(rows)
    for cut in sorted({len(whole) * step // CUTS for step in range(CUTS)} | {len(whole) - 1, len(whole) - 2}):
        path = bench.folder / f"cut{bench.suffix}"
        path.write_bytes(whole[:cut])
        try:
            found = bench.read(bench.open(path))
        except DataError:
            continue
        if found.problems:
            continue
        assert len(found.cells) <= len(wanted), f"cut at byte {cut}, it has more rows than before"
        _same(found.cells[:-1], wanted[: max(0, len(found.cells) - 1)], f"cut at byte {cut}")
        for last, before in zip(found.cells[-1:], wanted[len(found.cells) - 1 :], strict=False):
            is_start = isinstance(last[-1], str) and isinstance(before[-1], str) and before[-1].startswith(last[-1])
            assert last[:-1] == before[:-1], f"cut at byte {cut}, the last row is {last} instead of {before}"
            assert is_start or last[-1] == before[-1], f"cut at byte {cut}, the last row is {last}, not {before}"


@_law
def nothing_is_executed(bench: _Bench) -> None:
    """Expressions in cells and lines, and a pickle in place of the file, do nothing when they are read."""
    done = bench.folder / "done"
    expression = f"__import__('pathlib').Path({str(done)!r}).touch()"
    rows = [bench.row(number, expression) for number in range(3)]
    path = bench.write(rows)
    contents = [path.read_bytes()]
    contents.append(contents[0].replace(bench.marker(1).encode(), expression.encode()))
    contents += [f"{expression}\n{expression}\n".encode(), *(pickle.dumps(_Touch(done), level) for level in (0, 2, 4))]
    for content in contents:
        path.write_bytes(content)
        for on_disk in (False, True):
            try:
                bench.read(bench.open(path, on_disk))
            except DataError:
                continue
    assert not done.exists(), "what is in the file was executed"


class _Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@_law
def any_bytes_are_rows_or_a_kind_error(bench: _Bench) -> None:
    """Random bytes, and a file with random damage, give rows, problems or a ``DataError``; never another error."""
    whole = bench.write([bench.row(number, text) for number, text in enumerate(PLAIN)]).read_bytes()
    chance = random.Random(0)
    path = bench.folder / f"damaged{bench.suffix}"
    for _ in range(100):
        content = bytearray(whole if chance.random() < 0.8 else chance.randbytes(chance.randrange(200)))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(content) + 1)
            content[at : at + chance.randrange(3)] = chance.choice((b"", b"\0", b'"', b"\n", b"\xff", b",", b"{", b":"))
        path.write_bytes(bytes(content))
        message = str(path)
        try:
            bench.read(bench.open(path))
        except DataError as error:
            message = str(error)
        assert str(path) in message, f"an error that doesn't name the file: {message}"
