"""What the command line asks a model: texts, the lines of standard input, or a file, answered in portions."""

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from rnnlab.answers.prediction import Explanation, Prediction
from rnnlab.core.errors import DataError, RunError, english
from rnnlab.core.files import write_parts
from rnnlab.core.words import both, joined, note, plural, retold, say
from rnnlab.data import formats, series
from rnnlab.data.formats.base import Answered, BadRow, Cell, Portion, RowFile, texts_of
from rnnlab.data.reading import SHOWN, guess_text, require_column
from rnnlab.data.tables import tabulate
from rnnlab.use.predictor import Predictor, ReadingOn

Answer = Prediction | Explanation | BadRow
SAMPLE = 10_000  # rows by which the text column is guessed
Progress = Callable[[int, int], None]  # rows done, rows in all


def check_options(texts: Sequence[str] | None, file: str | None, out: str | None, explain: bool, as_json: bool) -> None:
    """Refuse options that contradict each other, before a model is opened."""
    if file is not None and texts:
        raise RunError("give texts or --file, not both")
    if out is not None and file is None:
        raise RunError("-o writes the rows of --file, which isn't given; redirect the output instead: > answers.tsv")
    if out is not None and as_json:
        raise RunError("-o writes the format of --file, and --json would be ignored; leave one of them out")
    if out is not None and explain:
        raise RunError("--explain is for reading, and has no columns in -o; leave one of them out")


def ask(
    model: Predictor,
    texts: Sequence[str] = (),
    *,
    file: str | None = None,
    column: str | None = None,
    skip_bad: bool = False,
    explain: bool = False,
) -> Iterator[tuple[Sequence[str], Sequence[Answer]]]:
    """Answers in portions, each with a name for every row: from arguments, from a file, or a line each from standard
    input."""
    if column and file is None:
        raise RunError("--text names a column of --file, which isn't given")
    if skip_bad and file is None:
        raise RunError("--skip-bad is about rows of --file, which isn't given")
    if file is not None:
        source = open_file(model, file, column, skip_bad)
        for portion, inputs, answers in _answered(model, source, skip_bad, explain):
            yield _names(model, portion, inputs), answers
    elif model.preprocessor.vocabulary is None:
        raise RunError("this model reads numeric sequences: give them with --file (.ts or .jsonl)")
    elif texts:
        yield texts, _tell(model, texts, explain)
    else:
        for lines in _lines_as_they_come():
            yield lines, _tell(model, lines, explain)


def read_on(model: Predictor) -> Iterator[tuple[str, Prediction]]:
    """Lines of standard input as parts of texts that grow, each with the answer to the text so far; an empty line
    begins a new text."""
    reading = ReadingOn(model)
    for lines in _lines_as_they_come():
        for line in lines:
            if line.strip():
                yield line, reading.add(line)
            else:
                reading.begin()


class InputFile:
    """A file of rows to answer: which of its columns is read, what is wrong with its rows, and its inputs in portions.

    ``column`` holds the texts (or the numbers, if ``numeric``); it is guessed where there is no doubt. Opening reads
    the file through once: rows that can't be read are found, and the columns known, before the first answer is worked
    out."""

    def __init__(self, path: str | Path, column: str | None, numeric: bool):
        file = formats.open_on_disk(path)
        self.file, self.numeric, suffix = file, numeric, file.source.suffix
        if numeric and "numbers" not in file.holds:
            raise DataError(
                "{path}: this model reads numbers, and a {suffix} file holds texts", path=path, suffix=suffix
            )
        if not numeric and "texts" not in file.holds:
            raise DataError(
                "{path}: this model reads texts, and a {suffix} file holds numbers", path=path, suffix=suffix
            )
        self.column = series.choose_column(file, column) if numeric else _text_column(file, column)
        self.rows = 0
        self.bad: list[BadRow] = []  # the first `SHOWN`
        self.bad_rows = 0
        for portion, _ in self.portions():
            self.rows += len(portion.lines)
            self.bad_rows += len(portion.problems)
            found = itertools.islice(sorted(portion.problems.items()), SHOWN - len(self.bad))
            self.bad += [BadRow(portion.lines[at], reason) for at, reason in found]
        if not self.rows:
            if file.takes_names:
                raise DataError("{path}: there are no rows, only the header", path=path)
            raise DataError("{path}: there are no rows", path=path)

    def portions(self) -> Iterator[tuple[Portion, list[Any]]]:
        """With the input of every row, a text or a (T, D) array; None where the portion has a problem."""
        if self.numeric:
            yield from series.with_arrays(self.file, self.column)
            return
        for portion in self.file.portions():
            texts, problems = texts_of(self.column, portion.values(self.column))
            portion = replace(portion, problems={**problems, **portion.problems})
            yield portion, [None if at in portion.problems else text for at, text in enumerate(texts)]


def _text_column(file: RowFile, column: str | None) -> str:
    if file.fixed is not None:
        if column is not None:
            raise DataError(
                "{path}: a {suffix} file has one text per line and no columns; leave --text out",
                path=file.path,
                suffix=file.source.suffix,
            )
        return file.fixed[0]
    first: list[Portion] = []
    for portion in file.portions():
        first.append(portion)
        if sum(len(portion.lines) for portion in first) >= SAMPLE:
            break
    sample = tabulate(file, first)
    if not len(sample):  # no row, or none that can be read: that is what to tell the user, not the column
        return next(iter(sample.columns), "")
    require_column(sample, "text", column)
    chosen = column if column is not None else guess_text(sample, set())
    if any(isinstance(value, list) for portion in first for value in portion.values(chosen)):
        raise DataError(
            "{path}: this model reads texts, and the column {chosen!r} holds arrays of numbers",
            path=file.path,
            chosen=chosen,
        )
    return chosen


@dataclass(frozen=True)
class FileAnswered:
    """What `predict_file` wrote."""

    out: str
    rows: int
    skipped: int  # bad rows, whose prediction is empty
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """In the current language."""
        told = both("{file}: {rows:,} rows", file=self.out, rows=self.rows)
        if self.skipped:
            told = both("{told}, {bad:,} of them bad and without a prediction", told=told, bad=self.skipped)
        return str(joined([*(both("note: {text}", text=retold(text)) for text in self.notes), told], "\n"))


def predict_file(
    model: Predictor,
    file: str | Path,
    out: str | Path,
    *,
    column: str | None = None,
    top: int = 1,
    probabilities: bool = False,
    skip_bad: bool = False,
    progress: Progress = lambda done, total: None,
) -> FileAnswered:
    """Write ``file`` to ``out``, in the same format, with the answers in columns behind its own. In constant memory
    (but for damaged quotes), and whole or not at all."""
    source = open_file(model, file, column, skip_bad)
    out, endings = Path(out), source.file.endings()
    if out.suffix.lower() not in endings:
        raise DataError(
            "{out}: {file} can be written as {names}; give -o such a name",
            out=out,
            file=file,
            names=" or ".join(endings),
        )
    if out.exists() and out.samefile(file):
        raise DataError("{out}: would be written over the rows it is made from; give -o another name", out=out)
    if model.task.answer.reads == "states" and (probabilities or top > 1):
        raise RunError(
            "--top and --probabilities need one label per row, and '{kind}' has one per step", kind=model.task.kind
        )
    added, notes = _added_columns(model, source, top, probabilities)
    skipped = 0

    def cells() -> Answered:
        nonlocal skipped
        done = 0
        for portion, _, answers in _answered(model, source, skip_bad):
            yield portion, [_cells(model, answer, top, probabilities) for answer in answers]
            skipped += sum(isinstance(answer, BadRow) for answer in answers)
            done += len(answers)
            progress(done, source.rows)

    write_parts(out, source.file.extended(out.suffix.lower(), added, cells()))
    return FileAnswered(str(out), source.rows, skipped, (*source.file.notes, *notes))


def open_file(model: Predictor, file: str | Path, column: str | None, skip_bad: bool) -> InputFile:
    """The file, read once; rows that can't be read are refused unless they are to be skipped."""
    source = InputFile(file, column, numeric=model.preprocessor.vocabulary is None)
    if source.bad and not skip_bad:
        _refuse(file, source.bad, source.bad_rows)
    if source.bad_rows == source.rows:
        raise DataError(
            "{file}: no row can be read; {file}:{line}: {reason}",
            file=file,
            line=source.bad[0].line,
            reason=retold(source.bad[0].reason),
        )
    return source


def _refuse(file: str | Path, bad: Sequence[BadRow], number: int) -> None:
    lines = [plural("{file}: {count:,} row can't be used", "{file}: {count:,} rows can't be used", number, file=file)]
    lines += [both("{file}:{line}: {reason}", file=file, line=row.line, reason=retold(row.reason)) for row in bad]
    if number > SHOWN:
        lines.append(both("... and {more:,} more", more=number - SHOWN))
    lines.append(both("mend them, or pass --skip-bad to leave their predictions empty"))
    raise DataError(joined(lines, "\n"))


def _answered(
    model: Predictor, source: InputFile, skip_bad: bool, explain: bool = False
) -> Iterator[tuple[Portion, list[Any], list[Answer]]]:
    for portion, inputs in source.portions():
        answers: list[Any] = [
            None if given is not None else BadRow(line, portion.problems[at])
            for at, (line, given) in enumerate(zip(portion.lines, inputs, strict=True))
        ]
        good = [at for at, given in enumerate(inputs) if given is not None]
        try:
            told: Sequence[Answer] = _tell(model, [inputs[at] for at in good], explain)
        except DataError:  # some row isn't for this model
            told = [_tell_one(model, inputs[at], portion.lines[at], explain) for at in good]
            refused = [answer for answer in told if isinstance(answer, BadRow)]
            if not skip_bad:
                _refuse(source.file.path, refused[:SHOWN], len(refused))
        for at, answer in zip(good, told, strict=True):
            answers[at] = answer
        yield portion, inputs, answers


def _tell(model: Predictor, inputs: Sequence[Any], explain: bool) -> Sequence[Answer]:
    return [model.explain(text) for text in inputs] if explain else model.predict(inputs)


def _tell_one(model: Predictor, given: Any, line: int, explain: bool) -> Answer:
    try:
        return _tell(model, [given], explain)[0]
    except DataError as error:
        return BadRow(line, english(error))


def _names(model: Predictor, portion: Portion, inputs: Sequence[Any]) -> list[str]:
    if model.preprocessor.vocabulary is None:
        return [say("row {line}", line=line) for line in portion.lines]
    return ["" if text is None else text for text in inputs]


def _added_columns(
    model: Predictor, source: InputFile, top: int, probabilities: bool
) -> tuple[dict[str, type], tuple[str, ...]]:
    """The new columns, and what to say of names that the file has already."""
    wanted: dict[str, type] = {"prediction": str, "probability": float}
    for place in range(2, min(top, len(model.labels)) + 1):
        wanted |= {f"prediction {place}": str, f"probability {place}": float}
    if probabilities:
        wanted |= {f"p({label})": float for label in model.labels}
    taken = set(source.file.columns)
    added: dict[str, type] = {}
    notes = []
    for name, kind in wanted.items():
        free = name
        while free in taken:
            free += "_new"
        if free != name:
            notes.append(note("there is a column {name!r} already; the new one is {free!r}", name=name, free=free))
        taken.add(free)
        added[free] = kind
    return added, tuple(notes)


def _cells(model: Predictor, answer: Answer, top: int, probabilities: bool) -> list[Cell]:
    places = max(1, min(top, len(model.labels)))
    if not isinstance(answer, Prediction):
        return [None] * (2 * places + (len(model.labels) if probabilities else 0))
    cells: list[Cell] = [answer.label, answer.probability]
    if places > 1:
        for label, probability in answer.top(places)[1:]:
            cells += [label, probability]
    if probabilities:
        cells += [answer.probabilities[label] for label in model.labels]
    return cells


def _lines_as_they_come() -> Iterator[list[str]]:
    """Whole lines of standard input, all that have arrived: whoever types gets an answer to every line at once."""
    stream = cast(BufferedReader, sys.stdin.buffer)
    number, rest = 0, b""
    while arrived := stream.read1(1 << 16):
        *lines, rest = (rest + arrived).split(b"\n")
        if lines:
            yield [_decoded(line, number + n) for n, line in enumerate(lines, 1)]
            number += len(lines)
    if rest:
        yield [_decoded(rest, number + 1)]


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\r")
    except UnicodeDecodeError:
        raise DataError(
            "standard input, line {number}: not UTF-8; convert it, or pass it as --file", number=number
        ) from None
