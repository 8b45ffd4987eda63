"""Labelled examples from a file: which column is the text, which the label, and which rows can't be used."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np

from rnnlab.core.errors import DataError, did_you_mean
from rnnlab.core.words import Both, both, joined, note, retold, same
from rnnlab.data import formats, guessing, series
from rnnlab.data.examples import Examples
from rnnlab.data.formats.base import BadRow, RowFile
from rnnlab.data.series import Series
from rnnlab.data.tables import Table, tabulate

SHOWN = 20  # bad rows, columns or classes listed in one error
MANY = 1_000  # classes beyond which a column is certainly no label
MANY_BLANKS = 100  # one row in so many without a text is too many
NO_TEXT = note("no text")
OFTEN = 50  # rows per text from which on texts are suspiciously few

T = TypeVar("T")


def read_examples(
    path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    group: str | None = None,
    tag: str | None = None,
    columns: Sequence[str] | None = None,
    skip_bad: bool = False,
) -> Examples:
    """Read a labelled file: a table, or series of numbers (.ts, or JSON lines where ``text`` is a column of arrays).

    ``text`` and ``label`` are guessed where there is no doubt. ``columns`` names the columns of a file without a
    header. Rows that can't be used are one error that lists them, or with ``skip_bad`` go to ``skipped``."""
    table, numbers = _open(path, text, columns)
    _require_rows(table, skip_bad)
    given = {name for name in (label, group, tag) if name is not None}
    for role, name in (("label", label), ("group", group), ("tag", tag)):
        require_column(table, role, name)
    if numbers is None:
        require_column(table, "text", text)
        text_column = text if text is not None else guess_text(table, given)
    else:
        text_column = numbers.column
        if not table.columns:
            raise DataError("{path}: there are only series, without labels", path=path)
    label_column = label if label is not None else _guess_label(table, given | {text_column})
    if label_column == text_column:
        raise DataError(
            "{path}: {text_column!r} can't be both the text and the label; pass --text and --label",
            path=path,
            text_column=text_column,
        )

    texts = table.values[text_column] if numbers is None else None
    labels = _stripped(table, label_column)
    groups = None if group is None else _stripped(table, group)
    tags = None if tag is None else _stripped(table, tag)
    bad = sorted(table.bad + _unusable(table, texts, labels, groups), key=lambda row: row.line)
    if bad and not skip_bad and not _few_blanks(table, bad):
        _refuse(table, bad)

    keep = np.flatnonzero(~np.isin(table.lines, np.array([row.line for row in bad], np.int64)))
    if not len(keep):
        _none_left(table, bad)
    labels = _pick(labels, keep)
    _check_label_column(table, label_column, labels)
    if texts is not None:
        texts = _pick(texts, keep)
        _check_text_column(table, text_column, texts)
    notes, rows = list(table.notes), len(table) + len(table.bad)
    if None in (text, label) and text_column:
        if numbers is None:
            notes.append(
                note(
                    "text column {text!r}, label column {label!r}; --text and --label choose others",
                    text=text_column,
                    label=label_column,
                )
            )
        else:
            notes.append(
                note(
                    "values column {text!r}, label column {label!r}; --text and --label choose others",
                    text=text_column,
                    label=label_column,
                )
            )
    if bad and not skip_bad:
        notes.append(note("rows without a text, which are left out: {count:,} of {rows:,}", count=len(bad), rows=rows))
    elif bad:
        notes.append(note("{count:,} bad rows skipped", count=len(bad)) if len(bad) > 1 else note("1 bad row skipped"))
    return Examples(
        source=str(path),
        labels=labels,
        texts=texts,
        series=None if numbers is None else _pick(numbers.arrays, keep),
        groups=None if groups is None else _pick(groups, keep),
        tags=None if tags is None else _pick(tags, keep),
        lines=table.lines[keep],
        digest=table.digest,
        skipped=tuple(bad),
        notes=tuple(notes),
    )


def check_classes(labels: Sequence[str], source: str) -> None:
    """Refuse to train on fewer than two classes, or on a class with one row, which couldn't be validated."""
    counts = Counter(labels)
    if len(counts) < 2:
        if counts:
            label = _short(next(iter(counts)))
            found = both("all {count:,} rows have the class {label}", count=len(labels), label=label)
        else:
            found = both("there are no rows")
        raise DataError("{source}: {found}; a classifier needs at least two classes", source=source, found=found)
    single = sorted(name for name, count in counts.items() if count == 1)
    if single:
        if len(single) == 1:
            what = both("the class {label} has only one row", label=_short(single[0]))
        else:
            what = both("{count:,} classes have only one row: {labels}", count=len(single), labels=_listed(single))
        raise DataError(
            "{source}: {what}\na class needs two, to learn from one and check on "
            "the other; add rows, or merge or drop the class",
            source=source,
            what=what,
        )


def _open(path: str | Path, text: str | None, columns: Sequence[str] | None) -> tuple[Table, Series | None]:
    """The table, and the series in it if its inputs are numbers. The file is read once."""
    file = formats.read_whole(path, columns)
    if _holds_series(file, text):
        found = series.gather(file, text)
        return found.table, found
    return tabulate(file, file.portions()), None


def _holds_series(file: RowFile, text: str | None) -> bool:
    if len(file.holds) == 1:
        return "numbers" in file.holds
    arrays, seen = series.peek(file)
    if text is not None:
        return text in arrays
    return bool(arrays) and not any(guessing.is_text_name(name) for name in seen if name not in arrays)


# Columns


def require_column(table: Table, role: str, name: str | None) -> None:
    if name is not None and name not in table.columns:
        hint = did_you_mean(name, table.columns)
        raise DataError(
            "{path}: no column {name!r} for the {role}{hint}\ncolumns: {listed}",
            path=table.path,
            name=name,
            role=role,
            hint=hint,
            listed=_listed(table.columns),
        )


def guess_text(table: Table, taken: set[str]) -> str:
    known = guessing.text_candidates((name, table.values[name]) for name in table.columns if name not in taken)
    if len(known) != 1:
        _ask(table, "text", known)
    return known[0]


def _guess_label(table: Table, taken: set[str]) -> str:
    known = guessing.label_candidates((name, table.values[name]) for name in table.columns if name not in taken)
    if len(known) != 1:
        _ask(table, "label", known)
    if guessing.says_nothing(known[0]) and known[0] in map(str.strip, table.values[known[0]]):
        raise DataError(
            "{path}: line 1 is taken as the header, but reads like a row: {known!r} is also a value "
            "of its column; if there is no header, name the columns with --columns, otherwise pass "
            "--label",
            path=table.path,
            known=known[0],
        )
    return known[0]


def _ask(table: Table, role: str, candidates: list[str]) -> NoReturn:
    found = both("no column looks like it")
    if candidates:
        found = both("it could be {names}", names=_listed(candidates))
    may_lack_header = formats.format_of(table.path).takes_names
    hint = same("")
    if may_lack_header:
        hint = both("\n(if the first line isn't a header, name the columns with --columns)")
    raise DataError(
        "{path}: which column is the {role}? {found}; pass --{role} NAME\n{described}{hint}",
        path=table.path,
        role=role,
        found=found,
        described=_described(table),
        hint=hint,
    )


def _described(table: Table) -> Both:
    lines = []
    for name in table.columns[:SHOWN]:
        values = table.values[name]
        example = next((value for value in values if value.strip()), "")
        lines.append(
            both(
                "  {name}: {count:,} distinct, for example {example}",
                name=_short(name),
                count=len(set(values)),
                example=_short(example),
            )
        )
    if len(table.columns) > SHOWN:
        lines.append(both("  ... and {more:,} more", more=len(table.columns) - SHOWN))
    return joined(lines, "\n")


def _check_text_column(table: Table, column: str, texts: Sequence[str]) -> None:
    """A column of a few texts over and over, or nearly always the same one, is nothing to learn from."""
    hashes = guessing.hashes_of(texts)
    _, rows, counts = np.unique(hashes, return_index=True, return_counts=True)
    if len(texts) < OFTEN or (len(counts) * OFTEN > len(texts) and counts.max() * 20 < 19 * len(texts)):
        return
    raise DataError(
        "{path}: the text column {column!r} has {distinct:,} different values in {count:,} rows, most often {most}: "
        "there is little to learn from; pass --text with a column of texts\n{described}",
        path=table.path,
        column=column,
        distinct=len(counts),
        count=len(texts),
        most=_short(texts[int(rows[counts.argmax()])]),
        described=_described(table),
    )


def _check_label_column(table: Table, column: str, labels: Sequence[str]) -> None:
    """A column of very many values isn't one of classes."""
    distinct = len(set(labels))
    if distinct <= guessing.FEW or (distinct <= MANY and distinct * 5 <= len(labels)):
        return
    what = both("that looks like free text")
    if guessing.is_numeric(labels):
        what = both("these are numbers, and regression isn't supported")
    raise DataError(
        "{path}: the label column {column!r} has {distinct:,} different values in {count:,} rows: "
        "{what}; pass --label with a column of classes\n{described}",
        path=table.path,
        column=column,
        distinct=distinct,
        count=len(labels),
        what=what,
        described=_described(table),
    )


# Rows


def _require_rows(table: Table, skip_bad: bool) -> None:
    if len(table):
        return
    if not table.bad:
        raise DataError("{path}: there are no rows, only the header", path=table.path)
    if skip_bad:
        _none_left(table, table.bad)
    _refuse(table, table.bad)


def _none_left(table: Table, bad: list[BadRow]) -> NoReturn:
    raise DataError(
        "{path}: all {count:,} rows are bad, none is left; {path}:{line_of}",
        path=table.path,
        count=len(bad),
        line_of=_line_of(bad[0]),
    )


def _unusable(table: Table, texts: Sequence[str] | None, labels: list[str], groups: list[str] | None) -> list[BadRow]:
    """Rows whose text is blank, or which have no label or group."""
    reasons: dict[int, str] = {}
    for reason, values in ((note("no group"), groups), (note("no label"), labels), (NO_TEXT, texts)):
        if values is not None:
            reasons.update({row: reason for row, value in enumerate(values) if not value.strip()})
    return [BadRow(int(table.lines[row]), reason) for row, reason in reasons.items()]


def _few_blanks(table: Table, bad: list[BadRow]) -> bool:
    """Whether all that is wrong is a text that is blank here and there: that is everyday, and no reason to stop."""
    return all(row.reason == NO_TEXT for row in bad) and len(bad) * MANY_BLANKS < len(table) + len(table.bad)


def _refuse(table: Table, bad: list[BadRow]) -> NoReturn:
    rows = len(table) + len(table.bad)
    listed = [both("{path}:{row}", path=table.path, row=_line_of(row)) for row in bad[:SHOWN]]
    if len(bad) > SHOWN:
        listed.append(both("... and {more:,} more", more=len(bad) - SHOWN))
    raise DataError(
        "{path}: {bad:,} of {rows:,} rows can't be used\n{listed}\nmend these rows, or pass --skip-bad to leave "
        "them out",
        path=table.path,
        bad=len(bad),
        rows=rows,
        listed=joined(listed, "\n"),
    )


def _line_of(row: BadRow) -> Both:
    return both("{line}: {reason}", line=row.line, reason=retold(row.reason))


def _stripped(table: Table, column: str) -> list[str]:
    """Values without the spaces around them. Equal ones are one object, however many rows have them."""
    known: dict[str, str] = {}
    stripped = map(str.strip, table.values[column])
    return [known.setdefault(value, value) for value in stripped]


def _pick(values: Sequence[T], rows: np.ndarray) -> Sequence[T]:
    return values if len(rows) == len(values) else [values[row] for row in rows.tolist()]


def _listed(names: Sequence[str]) -> Both:
    shown = ", ".join(map(_short, names[:SHOWN]))
    if len(names) <= SHOWN:
        return same(shown)
    return both("{listed} and {more:,} more", listed=shown, more=len(names) - SHOWN)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
