"""Labelled recordings: from a folder or an archive whose names tell, or from a table with a column of paths."""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, NoReturn, TypeVar

from rnnlab.core.errors import DataError, did_you_mean, english
from rnnlab.core.words import both, joined, note, plural, retold
from rnnlab.data import guessing, tables
from rnnlab.data.formats.base import BadRow
from rnnlab.data.sound.files import content_of, content_of_files, is_archive, place_of, sounds
from rnnlab.data.sound.names import FOLDERS, Pattern, suggested
from rnnlab.data.sound.wav import Waveform, decode
from rnnlab.data.unchanged import Content

SHOWN = 5  # files that an error names
TABLES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")

Heard = TypeVar("Heard")


@dataclass
class Recordings(Generic[Heard]):
    """Columns of equal length, in the order of the names."""

    source: str
    names: list[str] = field(default_factory=list)  # seen from the source, with slashes
    labels: list[str] = field(default_factory=list)
    fields: dict[str, list[str]] = field(default_factory=dict)  # what else is known of each, by name
    heard: list[Heard] = field(default_factory=list)
    skipped: list[BadRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)

    def column(self, name: str, role: str) -> list[str]:
        """A field, or the label by its own name."""
        if name in self.fields:
            return self.fields[name]
        raise DataError(
            "{source}: no field {name!r} for the {role}{hint}\nfields: {fields}",
            source=self.source,
            name=name,
            role=role,
            hint=did_you_mean(name, self.fields),
            fields=", ".join(self.fields) or "–",
        )


def is_table(path: str | Path) -> bool:
    return str(path).lower().endswith(TABLES)


def names_recordings(path: str | Path) -> bool:
    """Whether a table has a column of WAV files, as far as its beginning tells."""
    path = Path(path)
    if not path.is_file() or path.suffix.lower() not in (".csv", ".tsv", ".jsonl"):
        return False
    with path.open("rb") as file:
        rows = [line for line in itertools.islice(file, 6) if line.strip()]
    rows = rows if path.suffix.lower() == ".jsonl" else rows[1:]  # without the header
    return bool(rows) and all(re.search(rb"\.wave?[\"']?\s*([,;\t}]|$)", line.lower()) for line in rows)


def read_recordings(
    path: str | Path,
    hear: Callable[[Waveform], Heard],
    *,
    pattern: str | None = None,
    column: str | None = None,
    label: str | None = None,
    skip_bad: bool = False,
) -> Recordings[Heard]:
    """All recordings at a path, each as ``hear`` keeps it; their sounds are never all in memory.

    Labels and fields come from the ``pattern`` of their names, by default a folder per label; or, where the path is a
    table, from its columns, of which ``column`` holds the paths of the files, seen from the table. ``label`` names the
    field or column that is the label. Recordings that can't be read are one error that lists them, or with ``skip_bad``
    go to ``skipped``."""
    found: Recordings[Heard] = Recordings(str(path))
    if is_table(path):
        if pattern is not None:
            raise DataError(
                "{path}: a table names its columns, and 'pattern' would be ignored; leave it out", path=path
            )
        rows = _from_table(found, Path(path), column, label)
    else:
        if column is not None:
            raise DataError("{path}: 'text' names a column of a table, and this is none; leave it out", path=path)
        rows = _from_names(found, Path(path), pattern, label)
    for number, (name, place, known, content) in enumerate(rows, 1):
        try:
            heard = hear(decode(content(), place))
        except DataError as error:
            found.skipped.append(BadRow(number, english(error)))
            continue
        found.names.append(name)
        found.heard.append(heard)
        for key, value in known.items():
            found.fields.setdefault(key, []).append(value)
    if found.skipped and (not skip_bad or not found.names):
        _refuse(found)
    if found.skipped:
        found.notes.append(
            note(
                "{count:,} recordings skipped that can't be read, the first: {reason}",
                count=len(found.skipped),
                reason=found.skipped[0].reason,
            )
        )
    chosen = label or "label"
    found.labels = found.column(chosen, "label")
    del found.fields[chosen]
    if pattern is None and not is_table(path) and len(set(found.labels)) == 1:
        _unlike(Path(path), found.names[0], None)
    _sort(found)
    return found


def content_of_recordings(path: str | Path, column: str | None = None) -> Content:
    """What stands for the bytes of all recordings at a path; of a table, for its own too."""
    path = Path(path)
    if not is_table(path):
        return content_of(path)
    own, table = Content.of({"table": path}), tables.read(path)
    named = table.values.get(column or column_of_paths(path, table), ())
    there = [name.strip() for name in named if (path.parent / name.strip()).is_file()]  # the others are told of later
    files = content_of_files(path.parent, there)
    return Content((*own.lines, *files.lines), (*own.stamps, *files.stamps))


_Row = tuple[str, str, dict[str, str], Callable[[], bytes]]
"""Name, how errors call it, what is known of it, and its bytes."""


def _from_names(found: Recordings[Heard], path: Path, pattern: str | None, label: str | None) -> Iterator[_Row]:
    reader = Pattern(pattern or FOLDERS)
    if (label or "label") not in reader.fields:
        raise DataError(
            "pattern {pattern!r} has no field {{{label}}}: one must be the label; its fields are {fields}",
            pattern=reader.text,
            label=label or "label",
            fields=", ".join(reader.fields),
        )
    if not path.is_dir() and not is_archive(path) and path.exists():
        raise DataError(
            "{path}: one recording is too little to learn from; give a folder or an archive of them, or a table with "
            "their paths and labels",
            path=path,
        )
    for name, content in sounds(path):
        known = reader.read(name)
        if known is None:
            _unlike(path, name, pattern)
        yield name, place_of(path, name), known, lambda content=content: content


def _unlike(path: Path, name: str, pattern: str | None) -> NoReturn:
    if pattern is not None:
        raise DataError(
            "{place}: not of the pattern {pattern!r}; mend the pattern, or move the file elsewhere",
            place=place_of(path, name),
            pattern=pattern,
        )
    guess = suggested([name]) or "{label}_{speaker}_{n}.wav"
    raise DataError(
        "{place}: what is its label? There is no folder per label; say how the names tell it, for example: --pattern "
        "{guess!r}",
        place=place_of(path, name),
        guess=guess,
    )


def _from_table(found: Recordings[Heard], path: Path, column: str | None, label: str | None) -> Iterator[_Row]:
    table = tables.read(path)
    if table.bad:
        raise DataError("{path}:{line}: {reason}", path=path, line=table.bad[0].line, reason=table.bad[0].reason)
    found.fields = {name: [] for name in table.columns}
    column = column or column_of_paths(path, table)
    if column not in table.values:
        found.column(column, "path")
    if label is None and "label" not in table.values:
        others = [name for name in table.columns if name != column]
        known = guessing.label_candidates((name, table.values[name]) for name in others)
        raise DataError(
            "{path}: which column is the label? Pass --label NAME; it could be {names}",
            path=path,
            names=", ".join(map(repr, known or others)) or "–",
        )
    found.column(label or "label", "label")
    del found.fields[column]
    for row, named in enumerate(table.values[column]):
        known = {name: table.values[name][row].strip() for name in table.columns if name != column}
        at = path.parent / named.strip()
        place = f"{path}:{table.lines[row]}: {named.strip()}"
        yield named.strip(), place, known, lambda at=at, place=place: one_sound(at, place)


def one_sound(path: Path, place: str) -> bytes:
    """The bytes of a file that a table names."""
    if not path.is_file():
        raise DataError("{place}: no such file", place=place)
    return next(sounds(path))[1]


def column_of_paths(path: Path, table: tables.Table) -> str:
    """The one column of a table whose values are WAV files."""
    likely = [
        name
        for name in table.columns
        if len(table)
        and sum(value.strip().lower().endswith((".wav", ".wave")) for value in table.values[name]) * 2 > len(table)
    ]
    if len(likely) != 1:
        raise DataError(
            "{path}: which column has the paths of the recordings? Pass --text NAME\ncolumns: {names}",
            path=path,
            names=", ".join(map(repr, table.columns)),
        )
    return likely[0]


def _sort(found: Recordings[Heard]) -> None:
    """By name, in whatever order an archive has them."""
    order = sorted(range(len(found)), key=found.names.__getitem__)
    for column in (found.names, found.labels, found.heard, *found.fields.values()):
        column[:] = [column[row] for row in order]  # pyright: ignore


def _refuse(found: Recordings[Heard]) -> NoReturn:
    count = len(found.skipped)
    lines = [
        plural(
            "{source}: {count:,} recording can't be read",
            "{source}: {count:,} recordings can't be read",
            count,
            source=found.source,
        ),
        *(retold(bad.reason) for bad in found.skipped[:SHOWN]),
    ]
    if count > SHOWN:
        lines.append(both("... and {more:,} more", more=count - SHOWN))
    if found.names:
        lines.append(both("mend them, or pass --skip-bad to leave them out"))
    raise DataError(joined(lines, "\n"))
