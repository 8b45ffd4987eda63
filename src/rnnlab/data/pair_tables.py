"""Tables of pairs of texts, one side to be written when the other is read: which columns these are, and whether the
first line is a header."""

import csv
import itertools
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from rnnlab.core.errors import DataError
from rnnlab.core.words import both, note
from rnnlab.data import formats, guessing
from rnnlab.data.classes import listed
from rnnlab.data.formats.base import RowFile
from rnnlab.data.formats.delimited import Delimited
from rnnlab.data.formats.source import Source
from rnnlab.data.reading import described_columns, require_column
from rnnlab.data.tables import Table, tabulate

PEEK = 1 << 18  # bytes of a file that tell what it is
LOOKED_AT = 2_000  # rows of it
MOST_COLUMNS = 20  # of a table that is looked at more closely
FEWEST = 8  # rows from which on two columns are taken for pairs
ALIKE = 8  # letters at the beginning of values that are made by one pattern, such as credits
# fmt: off
_NAMES = {
    "read": """
        source src input original question informal noisy word before 原文 源 源语言 原句 输入 上联""",
    "written": """
        target tgt trg output translation translated answer formal corrected pronunciation after
        译文 目标 目标语言 译句 输出 翻译 下联""",
    "either": """
        text sentence string phrase attribution 句子 文本
        english chinese mandarin cantonese german french spanish italian portuguese russian japanese korean arabic hindi
        dutch swedish turkish polish czech finnish greek latin hebrew vietnamese thai indonesian ukrainian
        英语 英文 汉语 中文 日语 日文 德语 德文 法语 法文 俄语 俄文 韩语 韩文 西班牙语 粤语 普通话 文言文 古文 白话文
        现代文""",
}
# fmt: on
_READ, _WRITTEN, _EITHER = (set(words.split()) for words in _NAMES.values())
_CODE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")  # of a language


def looks_like_pairs(path: str | Path) -> bool:
    """Whether a table is two columns of texts to be translated: nearly unique texts both, and beside them nothing that
    could be a label or another text. Its head tells."""
    try:
        cls = formats.format_of(path, holding="texts")
        if not Path(path).is_file():
            return False
        file = cls(head_of(path, cls))
        if len(file.columns) > MOST_COLUMNS:
            return False
        values = _first_rows(file)
        if cls.takes_names and not is_header(file.columns, values):
            names = _numbered(len(file.columns))
            values = {name: [old, *values[old]] for name, old in zip(names, values, strict=True)}
            named = False
        else:
            named = True
    except DataError:
        return False
    sides = [_Side(name, column) for name, column in values.items()]
    texts = [side for side in sides if side.fits]
    if len(texts) != 2 or len(texts[0].values) < FEWEST or any(side.may_be_more for side in sides):
        return False
    if named and not all(side.is_neutral for side in texts):
        return False
    return any(side.about.prose for side in texts) or (named and all(side.known for side in texts))


# --- which columns ------------------------------------------------------------------------------------------------


class _Side:
    """A column, as one of a pair."""

    def __init__(self, name: str, values: Sequence[str]):
        self.about: guessing.Column = guessing.Column(name, values)
        self.values = values

    @cached_property
    def words(self) -> set[str]:
        return {word.casefold() for word in re.findall(r"[^\W\d_]+", self.about.name.text)}

    @property
    def known(self) -> bool:
        """Whether its name says that it is a side of a pair."""
        return bool(self.words & (_READ | _WRITTEN | _EITHER)) or _CODE.fullmatch(self.about.name.text) is not None

    @property
    def is_neutral(self) -> bool:
        """Whether its name says so, or at least nothing else."""
        return self.known or self.about.name.kinds in ([], ["unknown"])

    @property
    def patterned(self) -> bool:
        """Whether nearly all values begin alike, as credits do."""
        begins = [value[:ALIKE] for value in self.about.sample]
        return len(begins) >= 3 and max(map(begins.count, set(begins[:20]))) * 10 >= 9 * len(begins)

    @property
    def fits(self) -> bool:
        """Texts, most of them unique."""
        about = self.about
        if not about.sample or about.measured or about.nested or about.name.is_id or self.patterned:
            return False
        lettered = sum(re.search(r"[^\W\d_]", value) is not None for value in about.sample)
        return lettered * 2 >= len(about.sample) and about.distinct * 2 > len(self.values)

    @property
    def may_be_more(self) -> bool:
        """Whether it could be the label of a row."""
        return not self.fits and not self.patterned and (self.about.like_classes or self.about.label_score > 0)


def chosen_columns(table: Table, source: str | int | None, target: str | int | None) -> tuple[str, str]:
    """The names of the two columns."""
    first, second = _named(table, "source", source), _named(table, "target", target)
    if first is not None and first == second:
        raise DataError(
            "{path}: {name!r} can't be both sides of a pair; --source and --target choose two columns",
            path=table.path,
            name=first,
        )
    free = [name for name in table.columns if name not in (first, second)]
    if first is None and second is None:
        return _both_sides(table, free)
    if first is None or second is None:
        free = free if len(free) == 1 else [name for name in free if _Side(name, table.values[name]).fits]
        if len(free) != 1:
            _ask(table, free)
        return (first or free[0]), (second or free[0])
    return first, second


def _both_sides(table: Table, free: list[str]) -> tuple[str, str]:
    """Guessed by names, and by contents; the one that stands first is read."""
    if len(free) > 2:
        sides = [_Side(name, table.values[name]) for name in free]
        fitting = [side for side in sides if side.fits]
        known = [side for side in fitting if side.known]
        free = [side.about.name.text for side in (known if len(known) == 2 else fitting)]
    if len(free) != 2:
        _ask(table, free)
    turned = _says(free[0], _WRITTEN) and not _says(free[0], _READ) and not _says(free[1], _WRITTEN)
    return (free[1], free[0]) if turned or (_says(free[1], _READ) and not _says(free[0], _READ)) else (free[0], free[1])


def _says(name: str, words: set[str]) -> bool:
    return bool({word.casefold() for word in re.findall(r"[^\W\d_]+", name)} & words)


def _named(table: Table, role: str, given: str | int | None) -> str | None:
    """A column by its name or, unless a column is called so, by its number from 1."""
    if given is None or given in table.columns:
        return given if given is None else str(given)
    if isinstance(given, int) or given.isdecimal():
        if not 1 <= int(given) <= len(table.columns):
            raise DataError(
                "{path}: no column {number} for --{role}: there are {count}",
                path=table.path,
                number=given,
                role=role,
                count=len(table.columns),
            )
        return table.columns[int(given) - 1]
    require_column(table, role, given)
    return given


def _ask(table: Table, candidates: Sequence[str]) -> NoReturn:
    raise DataError(
        "{path}: which column is read, and which is written? {found}; pass --source and --target, names or numbers "
        "from 1\n{described}",
        path=table.path,
        found=both("it could be {names}", names=listed(candidates)) if candidates else both("no two look like texts"),
        described=described_columns(table),
    )


# --- with a header or without -------------------------------------------------------------------------------------


def is_header(names: Sequence[str], values: Mapping[str, Sequence[str]]) -> bool:
    """Whether the first line names the columns: it has a name that is common for sides of pairs or in tables, or it has
    short words alone above columns of longer texts."""
    if any(name.startswith("Unnamed: ") or name in values[name][:LOOKED_AT] for name in names):
        return False
    if any(len(name) > 40 or re.search(r"[.!?。！？…]$", name) or not re.search(r"[^\W\d_]", name) for name in names):
        return False
    sides = [_Side(name, values[name][:LOOKED_AT]) for name in names]
    if any(side.known and len(side.about.name.text.split()) <= 3 for side in sides):
        return True
    if any(kind in ("text", "label", "id", "rating") for side in sides for kind in side.about.name.kinds):
        return all(len(name.split()) <= 4 for name in names)
    wordy = [side for side in sides if side.about.prose]
    return len(wordy) >= 2 and not any(guessing.is_wordy(side.about.name.text) for side in wordy)


def read_table(
    path: str | Path, source: str | int | None, target: str | int | None, columns: Sequence[str] | None
) -> Table:
    cls = formats.format_of(path, holding="texts")
    if columns is not None or not cls.takes_names:
        file = formats.read_whole(path, columns, holding="texts")
        return tabulate(file, file.portions())
    loaded = Source.load(path)
    try:
        file = cls(loaded)
    except DataError:
        if not issubclass(cls, Delimited):
            raise
        width = _width(loaded, cls)  # two cells of a first row that are equal, or one that is blank, are no header
        if width < 2:
            raise
        return _without_header(cls, loaded, width)
    table = tabulate(file, file.portions())
    given = {name for name in (source, target) if isinstance(name, str)}
    if given & set(table.columns) or is_header(table.columns, table.values):
        return table
    return _without_header(cls, loaded, len(table.columns))


def _without_header(cls: type[RowFile], source: Source, width: int) -> Table:
    file = cls(source, _numbered(width))
    file.notes += (note("no header: the first line is a row like the others; --columns names the columns"),)
    return tabulate(file, file.portions())


def _numbered(width: int) -> list[str]:
    return [f"column {number}" for number in range(1, width + 1)]


def _width(source: Source, cls: type[RowFile]) -> int:
    """How many fields the first line has."""
    delimiter = cls(source, ["any"]).delimiter if issubclass(cls, Delimited) else ","
    line = next((line for line in source.lines() if line.strip()), "").rstrip("\r\n")
    try:
        return len(next(csv.reader([line], delimiter=delimiter, strict=True)))
    except (csv.Error, StopIteration):
        return len(line.split(delimiter))


def head_of(path: str | Path, cls: type[RowFile]) -> Source:
    """Of a file of lines, those at its beginning; another as it is on the disk."""
    if (cls.takes_names and not issubclass(cls, Delimited)) or Path(path).suffix.lower() == ".parquet":
        return Source.on_disk(path)
    with open(path, "rb") as file:
        head = file.read(PEEK)
    if not head.strip():
        raise DataError("{path}: the file is empty", path=path)
    if len(head) < PEEK or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Source(path, head)
    return Source(path, head[: head.rfind(b"\n") + 1] or head)


def _first_rows(file: RowFile) -> dict[str, Sequence[str]]:
    table = tabulate(file, itertools.islice(file.portions(), 1))
    if len(table.bad) * 10 > len(table):
        raise DataError("{path}: no table", path=file.path)
    return {name: table.values[name][:LOOKED_AT] for name in table.columns}
