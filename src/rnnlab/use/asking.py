"""What the command line asks a model: texts, the lines of standard input, or a file, answered in portions."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rnnlab.answers.prediction import Explanation, Prediction
from rnnlab.answers.tags import TagsPrediction
from rnnlab.core.errors import DataError, RunError, english
from rnnlab.core.files import write_parts
from rnnlab.core.words import both, joined, plural, retold, say
from rnnlab.data.classes import SHOWN
from rnnlab.data.formats.base import Answered, BadRow, Cell, Portion
from rnnlab.data.joined import join
from rnnlab.data.vocabulary import SEPARATOR
from rnnlab.use.answer_columns import added_columns, cells_of
from rnnlab.use.predictor import Predictor, ReadingOn

if TYPE_CHECKING:
    from rnnlab.use.input_file import InputFile
    from rnnlab.use.tagged_file import TaggedFile

Answer = Prediction | Explanation | BadRow
Tell = Callable[[Sequence[Any]], Sequence[Answer]]
Progress = Callable[[int, int], None]  # rows done, rows in all


def check_options(
    texts: Sequence[str] | None, file: str | None, out: str | None, explain: bool, as_json: bool, token: str | None
) -> None:
    """Refuse options that contradict each other, before a model is opened."""
    if token is not None and not explain:
        raise RunError("--token chooses what --explain explains, which isn't given")
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
    column: str | Sequence[str] | None = None,
    skip_bad: bool = False,
    explain: bool = False,
    token: str | None = None,
) -> Iterator[tuple[Sequence[str], Sequence[Answer]]]:
    """Answers in portions, each with a name for every row: from arguments, from a file, or a line each from standard
    input. ``token`` is that of each text whose tag is explained."""
    if column and file is None:
        raise RunError("--text names a column of --file, which isn't given")
    if skip_bad and file is None:
        raise RunError("--skip-bad is about rows of --file, which isn't given")
    tell = partial(_explained, model, token) if explain else model.predict
    if model.preprocessor.sound is not None:
        from rnnlab.use.hearing import ask_recordings

        if explain:
            raise RunError("--explain is for texts, and this model hears recordings; leave it out")
        yield from ask_recordings(model, [*texts, *([] if file is None else [file])], column, skip_bad)
    elif file is not None:
        source = open_file(model, file, column, skip_bad)
        for portion, inputs, answers in _answered(source, skip_bad, tell):
            yield _names(model, portion, inputs), answers
    elif model.preprocessor.vocabulary is None:
        raise RunError("this model reads numeric sequences: give them with --file (.ts or .jsonl)")
    elif texts:
        texts = _as_one(texts, model.preprocessor.text_columns)
        yield texts, tell(texts)
    else:
        for lines in _lines_as_they_come():
            yield lines, tell(lines)


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


def _as_one(texts: Sequence[str], columns: Sequence[str]) -> Sequence[str]:
    """As many texts as the model has columns are one question, unless each has all columns by itself."""
    if len(texts) != len(columns) or any(SEPARATOR in text or text.lstrip().startswith("{") for text in texts):
        return texts
    return [join(texts)]


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
    column: str | Sequence[str] | None = None,
    top: int = 1,
    probabilities: bool = False,
    skip_bad: bool = False,
    progress: Progress = lambda done, total: None,
) -> FileAnswered:
    """Write ``file`` to ``out``, in the same format, with the answers in columns behind its own; a file of tagged
    sentences, with the answers as its tags. In constant memory (but for damaged quotes), and whole or not at all."""
    from rnnlab.use.input_file import InputFile

    if model.preprocessor.sound is not None:
        return _recordings_to_file(model, file, out, column, top, probabilities, skip_bad)
    source = open_file(model, file, column, skip_bad)
    out, endings = Path(out), source.endings()
    if out.suffix.lower() not in endings:
        raise DataError(
            "{out}: {file} can be written as {names}; give -o such a name",
            out=out,
            file=file,
            names=" or ".join(endings),
        )
    if out.exists() and out.samefile(file):
        raise DataError("{out}: would be written over the rows it is made from; give -o another name", out=out)
    check_top(model, top, probabilities)
    if model.preprocessor.thresholds and top > 1:
        raise RunError(
            "--top needs one label per row, and here rows may have several: -o has a column for each label anyway"
        )
    skipped = 0

    def portions() -> Iterator[tuple[Portion, list[Answer]]]:
        nonlocal skipped
        done = 0
        for portion, _, answers in _answered(source, skip_bad, model.predict):
            skipped += sum(isinstance(answer, BadRow) for answer in answers)
            done += len(answers)
            progress(done, source.rows)  # before the rows are written: nobody may ask for more than the last ones
            yield portion, answers

    notes = source.notes
    if isinstance(source, InputFile):
        added, more = added_columns(model, source.file.columns, top, probabilities)
        cells: Answered = (
            (portion, [cells_of(model, answer, top, probabilities) for answer in answers])
            for portion, answers in portions()
        )
        write_parts(out, source.file.extended(out.suffix.lower(), added, cells))
        notes += more
    else:
        told = (answer for _, answers in portions() for answer in answers if isinstance(answer, TagsPrediction))
        write_parts(out, source.answered(([tag for tag, _ in answer.steps] for answer in told), model.scheme))
    return FileAnswered(str(out), source.rows, skipped, notes)


def _recordings_to_file(
    model: Predictor,
    file: str | Path,
    out: str | Path,
    column: str | Sequence[str] | None,
    top: int,
    probabilities: bool,
    skip_bad: bool,
) -> FileAnswered:
    """A table of the files and their answers."""
    from rnnlab.use.hearing import ask_recordings, write_answers

    check_top(model, top, probabilities)
    added, notes = added_columns(model, ["file"], top, probabilities)
    skipped = 0

    def cells(answer: Answer) -> list[Cell]:
        nonlocal skipped
        skipped += isinstance(answer, BadRow)
        return cells_of(model, answer, top, probabilities)

    rows = write_answers(ask_recordings(model, [str(file)], column, skip_bad), out, list(added), cells)
    return FileAnswered(str(out), rows, skipped, notes)


def check_top(model: Predictor, top: int | None, probabilities: bool) -> None:
    answer = model.task.answer
    if answer.reads == "states" and not answer.ranks and (probabilities or (top or 1) > 1):
        raise RunError(
            "--top and --probabilities need one label per row, and '{kind}' has one per step; --json has the "
            "probability of each",
            kind=model.task.kind,
        )
    if answer.reads == "states" and probabilities:
        raise RunError(
            "--probabilities needs one label per row, and '{kind}' has several words; take --top K or --json",
            kind=model.task.kind,
        )


def open_file(
    model: Predictor, file: str | Path, column: str | Sequence[str] | None, skip_bad: bool
) -> "InputFile | TaggedFile":
    """The file, read once; rows that can't be read are refused unless they are to be skipped."""
    source = _opened(model, file, column)
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


def _opened(model: Predictor, file: str | Path, column: str | Sequence[str] | None) -> "InputFile | TaggedFile":
    """A model that tags tokens reads files of sentences, too."""
    if model.tags_tokens:
        from rnnlab.use.tagged_file import open_tagged

        if (tagged := open_tagged(model, file, column)) is not None:
            return tagged
    from rnnlab.use.input_file import InputFile  # a text to be answered at once needs none of it

    side = model.preprocessor
    return InputFile(file, column, numeric=side.vocabulary is None, columns=side.text_columns)


def _refuse(file: str | Path, bad: Sequence[BadRow], number: int) -> None:
    lines = [plural("{file}: {count:,} row can't be used", "{file}: {count:,} rows can't be used", number, file=file)]
    lines += [both("{file}:{line}: {reason}", file=file, line=row.line, reason=retold(row.reason)) for row in bad]
    if number > SHOWN:
        lines.append(both("... and {more:,} more", more=number - SHOWN))
    lines.append(both("mend them, or pass --skip-bad to leave their predictions empty"))
    raise DataError(joined(lines, "\n"))


def _answered(
    source: "InputFile | TaggedFile", skip_bad: bool, tell: Tell
) -> Iterator[tuple[Portion, list[Any], list[Answer]]]:
    for portion, inputs in source.portions():
        answers: list[Any] = [
            None if given is not None else BadRow(line, portion.problems[at])
            for at, (line, given) in enumerate(zip(portion.lines, inputs, strict=True))
        ]
        good = [at for at, given in enumerate(inputs) if given is not None]
        try:
            told = tell([inputs[at] for at in good])
        except DataError:  # some row isn't for this model
            told = [_tell_one(tell, inputs[at], portion.lines[at]) for at in good]
            refused = [answer for answer in told if isinstance(answer, BadRow)]
            if not skip_bad:
                _refuse(source.path, refused[:SHOWN], len(refused))
        for at, answer in zip(good, told, strict=True):
            answers[at] = answer
        yield portion, inputs, answers


def _explained(model: Predictor, token: str | None, inputs: Sequence[Any]) -> Sequence[Answer]:
    return [model.explain(text, token=token) for text in inputs]


def _tell_one(tell: Tell, given: Any, line: int) -> Answer:
    try:
        return tell([given])[0]
    except DataError as error:
        return BadRow(line, english(error))


def _names(model: Predictor, portion: Portion, inputs: Sequence[Any]) -> list[str]:
    if model.preprocessor.vocabulary is None:
        return [say("row {line}", line=line) for line in portion.lines]
    return ["" if text is None else model.preprocessor.text_of(text) for text in inputs]


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
