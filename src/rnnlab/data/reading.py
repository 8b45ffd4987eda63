"""Labelled examples from a file: which column is the text, which the label, and which rows can't be used."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np

from rnnlab.core.errors import DataError, did_you_mean
from rnnlab.core.words import Both, both, joined, note, retold
from rnnlab.data import formats, guessing, label_sets, series
from rnnlab.data.classes import NOTHING, SHOWN, hint_to_divide, listed, short
from rnnlab.data.examples import Examples
from rnnlab.data.formats.base import BadRow, RowFile
from rnnlab.data.joined import joined_columns, named_columns
from rnnlab.data.label_sets import labels_of
from rnnlab.data.series import Series
from rnnlab.data.tables import Table, tabulate

MANY = 1_000  # classes beyond which a column is certainly no label
MANY_BLANKS = 100  # one row in so many without a text is too many
NO_TEXT, NO_LABEL = note("no text"), note("no label")
OFTEN = 50  # rows per text from which on texts are suspiciously few

T = TypeVar("T")


def read_examples(
    path: str | Path,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    group: str | None = None,
    tag: str | None = None,
    columns: Sequence[str] | None = None,
    skip_bad: bool = False,
    multi_label: str | None = None,
) -> Examples:
    """Read a labelled file: a table, or series of numbers (.ts, or JSON lines where ``text`` is a column of arrays).

    ``text`` and ``label`` are guessed where there is no doubt. Several columns, as a list or as ``"a,b"``, are one text
    (`data.joined`). ``columns`` names the columns of a file without a
    header. Rows that can't be used are one error that lists them, or with ``skip_bad`` go to ``skipped``. At
    ``multi_label`` the cells of the label column are split into several labels; an empty one has none."""
    table, numbers = _open(path, text, columns)
    require_rows(table, skip_bad)
    given = {name for name in (label, group, tag) if name is not None}
    for role, name in (("label", label), ("group", group), ("tag", tag)):
        require_column(table, role, name)
    several: tuple[str, ...] = ()
    if numbers is None:
        named = named_columns(text, table.columns)
        for name in named:
            require_column(table, "text", name)
        text_column = ",".join(named) or guess_text(table, given)
        several = named if len(named) > 1 else ()
    else:
        text_column = numbers.column
        if not table.columns:
            raise DataError("{path}: there are only series, without labels", path=path)
    label_column = label if label is not None else _guess_label(table, given | {text_column, *several}, multi_label)
    if label_column in (text_column, *several):
        raise DataError(
            "{path}: {text_column!r} can't be both the text and the label; pass --text and --label",
            path=path,
            text_column=label_column,
        )

    texts = None
    if numbers is None:
        texts = table.values[text_column] if not several else joined_columns([table.values[name] for name in several])
    labels, sets = _stripped(table, label_column), None
    if multi_label is not None:
        sets = label_sets.read_sets(labels, multi_label)
        labels = sets.cells
    groups = None if group is None else _stripped(table, group)
    tags = None if tag is None else _stripped(table, tag)
    unusable = _unusable(table, texts, None if sets else labels, groups)
    unusable += [BadRow(int(table.lines[row]), problem) for row, problem in (sets.problems if sets else {}).items()]
    bad = sorted(table.bad + unusable, key=lambda row: row.line)
    if bad and not skip_bad and not few_blanks(table, bad):
        missing = any(row.reason == NO_LABEL for row in bad)
        refuse_rows(table, bad, hint_to_divide(Counter(labels)) if missing else NOTHING)

    keep = np.flatnonzero(~np.isin(table.lines, np.array([row.line for row in bad], np.int64)))
    if not len(keep):
        none_left(table, bad)
    labels = _pick(labels, keep)
    _check_label_column(table, label_column, [one for cell in labels for one in labels_of(cell, multi_label)])
    if texts is not None:
        texts = _pick(texts, keep)
        _check_text_column(table, text_column, texts)
    notes, rows = [*table.notes, *(sets.notes if sets else ())], len(table) + len(table.bad)
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
        text_columns=several,
        separator=multi_label,
    )


def _open(
    path: str | Path, text: str | Sequence[str] | None, columns: Sequence[str] | None
) -> tuple[Table, Series | None]:
    """The table, and the series in it if its inputs are numbers. The file is read once."""
    file = formats.read_whole(path, columns)
    if _holds_series(file, text):
        found = series.gather(file, text if text is None or isinstance(text, str) else ",".join(text))
        return found.table, found
    return tabulate(file, file.portions()), None


def _holds_series(file: RowFile, text: str | Sequence[str] | None) -> bool:
    if len(file.holds) == 1:
        return "numbers" in file.holds
    arrays, seen = series.peek(file)
    if text is not None:
        named = named_columns(text, seen)
        numeric = [name for name in named if name in arrays]
        if numeric and len(named) > 1:
            raise DataError(
                "{path}: --text {names}: several columns are joined as texts, and {numeric!r} holds arrays of numbers; "
                "leave it out, or give it alone",
                path=file.path,
                names=",".join(named),
                numeric=numeric[0],
            )
        return bool(numeric)
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
            listed=listed(table.columns),
        )


def guess_text(table: Table, taken: set[str]) -> str:
    known = guessing.text_candidates((name, table.values[name]) for name in table.columns if name not in taken)
    if len(known) != 1:
        _ask(table, "text", known)
    return known[0]


def _guess_label(table: Table, taken: set[str], multi_label: str | None = None) -> str:
    """Where rows may have several labels, a cell is taken for its first one."""
    columns = {name: table.values[name] for name in table.columns if name not in taken}
    if multi_label is not None:
        columns = {name: [cell.split(multi_label)[0] for cell in values] for name, values in columns.items()}
    known = guessing.label_candidates(columns.items())
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
        found = both("it could be {names}", names=listed(candidates))
    may_lack_header = formats.format_of(table.path).takes_names
    hint = NOTHING
    if may_lack_header:
        hint = both("\n(if the first line isn't a header, name the columns with --columns)")
    todo = both("pass --{role} NAME", role=role)
    if role == "text" and len(candidates) > 1:
        todo = both("{todo}, or several to be read together: --text {names}", todo=todo, names=_command(candidates))
        if len(candidates) == 2:
            read, written = map(shlex.quote, candidates)
            todo = both(
                "{todo}; to translate one into the other: --source {read} --target {written}",
                todo=todo,
                read=read,
                written=written,
            )
    raise DataError(
        "{path}: which column is the {role}? {found}; {todo}\n{described}{hint}",
        path=table.path,
        role=role,
        found=found,
        todo=todo,
        described=described_columns(table),
        hint=hint,
    )


def _command(names: Sequence[str]) -> str:
    """As an option takes them."""
    if any("," in name for name in names):
        return " --text ".join(map(shlex.quote, names))
    return shlex.quote(",".join(names))


def described_columns(table: Table) -> Both:
    lines = []
    for name in table.columns[:SHOWN]:
        values = table.values[name]
        example = next((value for value in values if value.strip()), "")
        lines.append(
            both(
                "  {name}: {count:,} distinct, for example {example}",
                name=short(name),
                count=len(set(values)),
                example=short(example),
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
        most=short(texts[int(rows[counts.argmax()])]),
        described=described_columns(table),
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
        "{what}; pass --label with a column of classes{hint}\n{described}",
        path=table.path,
        column=column,
        distinct=distinct,
        count=len(labels),
        what=what,
        hint=hint_to_divide(Counter(labels)),
        described=described_columns(table),
    )


# Rows


def require_rows(table: Table, skip_bad: bool) -> None:
    if len(table):
        return
    if not table.bad:
        raise DataError("{path}: there are no rows, only the header", path=table.path)
    reasons = {row.reason for row in table.bad}
    if len(table.bad) > SHOWN and len(reasons) == 1:  # it isn't the rows that are wrong
        raise DataError(
            "{path}: all {count:,} rows have the same problem: {reason}; if titles stand above the header, remove them",
            path=table.path,
            count=len(table.bad),
            reason=retold(reasons.pop()),
        )
    if skip_bad:
        none_left(table, table.bad)
    refuse_rows(table, table.bad)


def none_left(table: Table, bad: list[BadRow]) -> NoReturn:
    raise DataError(
        "{path}: all {count:,} rows are bad, none is left; {path}:{line_of}",
        path=table.path,
        count=len(bad),
        line_of=_line_of(bad[0]),
    )


def _unusable(
    table: Table, texts: Sequence[str] | None, labels: list[str] | None, groups: list[str] | None
) -> list[BadRow]:
    """Rows whose text is blank, or which have no label or group."""
    reasons: dict[int, str] = {}
    for reason, values in ((note("no group"), groups), (NO_LABEL, labels), (NO_TEXT, texts)):
        if values is not None:
            reasons.update({row: reason for row, value in enumerate(values) if not value.strip()})
    return [BadRow(int(table.lines[row]), reason) for row, reason in reasons.items()]


def few_blanks(table: Table, bad: list[BadRow]) -> bool:
    """Whether all that is wrong is a text that is blank here and there: that is everyday, and no reason to stop."""
    return all(row.reason == NO_TEXT for row in bad) and len(bad) * MANY_BLANKS < len(table) + len(table.bad)


def refuse_rows(table: Table, bad: list[BadRow], hint: Both = NOTHING) -> NoReturn:
    refuse(table.path, len(table) + len(table.bad), bad, hint)


def refuse(path: str, rows: int, bad: Sequence[BadRow], hint: Both = NOTHING) -> NoReturn:
    """One error of all bad rows, of so many."""
    lines = [both("{path}:{row}", path=path, row=_line_of(row)) for row in bad[:SHOWN]]
    if len(bad) > SHOWN:
        lines.append(both("... and {more:,} more", more=len(bad) - SHOWN))
    raise DataError(
        "{path}: {bad:,} of {rows:,} rows can't be used\n{listed}\nmend these rows, or pass --skip-bad to leave "
        "them out{hint}",
        path=path,
        bad=len(bad),
        rows=rows,
        listed=joined(lines, "\n"),
        hint=hint,
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
