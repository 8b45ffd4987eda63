"""What the command line asks a model of recordings: WAV files, folders and archives of them, or a table of paths."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rnnlab.answers.prediction import Prediction
from rnnlab.core.errors import DataError, RunError, english
from rnnlab.core.files import write_atomically
from rnnlab.data import tables
from rnnlab.data.formats.base import BadRow
from rnnlab.data.sound.files import place_of, sounds
from rnnlab.data.sound.recordings import column_of_paths, is_table, one_sound
from rnnlab.data.sound.wav import decode
from rnnlab.use.predictor import Predictor

TOGETHER = 64  # recordings heard at a time
Answers = Iterator[tuple[list[str], list[Prediction | BadRow]]]


def ask_recordings(
    model: Predictor, paths: Sequence[str], column: str | Sequence[str] | None = None, skip_bad: bool = False
) -> Answers:
    """Answers in portions, each with a name for every recording."""
    if not paths:
        raise RunError("this model hears recordings: give WAV files, a folder or an archive of them, or --file")
    every = _found(paths, column)
    while some := list(islice(every, TOGETHER)):
        names = [name for name, _, _ in some]
        answers: list[Any] = []
        heard = []
        for number, (_, place, content) in enumerate(some, 1):
            try:
                heard.append(decode(content(), place))
                answers.append(None)
            except DataError as error:
                if not skip_bad:
                    raise
                answers.append(BadRow(number, english(error)))
        told = iter(model.predict(heard) if heard else [])
        yield names, [next(told) if answer is None else answer for answer in answers]


def _found(paths: Sequence[str], column: str | Sequence[str] | None) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """The name, how errors call it, and the bytes of every recording."""
    for given in paths:
        path = Path(given)
        if is_table(path) and path.is_file():
            table = tables.read(path)
            chosen = column if isinstance(column, str) else column_of_paths(path, table)
            for row, named in enumerate(table.values[chosen]):
                place = f"{path}:{table.lines[row]}: {named.strip()}"
                yield named.strip(), place, lambda at=path.parent / named.strip(), place=place: one_sound(at, place)
            continue
        if column is not None:
            raise RunError("--text names a column of a table, and {path} is none; leave it out", path=path)
        for name, content in sounds(path):
            place = place_of(path, name)
            yield given if path.is_file() and path.name == name else name, place, lambda content=content: content


def write_answers(answered: Answers, out: str | Path, columns: Sequence[str], cells: Callable[[Any], list[Any]]) -> int:
    """A table of all answers, ``file`` and what ``cells`` says of each; how many there are."""
    out = Path(out)
    if out.suffix.lower() not in (".csv", ".tsv"):
        raise DataError("{out}: answers to recordings can be written as .csv or .tsv; give -o such a name", out=out)
    made = io.StringIO()
    writer = csv.writer(made, delimiter="\t" if out.suffix.lower() == ".tsv" else ",", lineterminator="\n")
    writer.writerow(["file", *columns])
    rows = 0
    for names, answers in answered:
        writer.writerows([name, *cells(answer)] for name, answer in zip(names, answers, strict=True))
        rows += len(names)
    write_atomically(out, made.getvalue())
    return rows
