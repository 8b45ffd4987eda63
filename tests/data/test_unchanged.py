"""A file that is swapped while it is read: what is kept under its sum is what was read, or there is an error."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rnnlab.core.errors import DataError
from rnnlab.data import vectors
from rnnlab.data.store import fingerprint
from rnnlab.models.embedding import Embedding
from rnnlab.tasks import classify
from rnnlab.tasks.classify import Classify
from rnnlab.training import assemble


def rows(word: str) -> str:
    return "text,label\n" + "".join(f"{word} film {n},{'ab'[n % 2]}\n" for n in range(60))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "rows.csv"
    path.write_text(rows("old"))
    return path


def words_of(path: Path) -> set[str]:
    vocabulary = Classify(data=str(path)).encoded().vocabulary
    assert vocabulary is not None
    return {"old", "new"} & set(vocabulary.words)


def replace_with(path: Path, text: str) -> None:
    other = path.with_name("other" + path.suffix)
    other.write_text(text)
    os.replace(other, path)


def around(monkeypatch: pytest.MonkeyPatch, module: object, name: str, before: Callable, after: Callable) -> None:
    """Something happens just before a reader reads, and just after."""
    read = getattr(module, name)

    def disturbed(*arguments, **options):
        before()
        try:
            return read(*arguments, **options)
        finally:
            after()

    monkeypatch.setattr(module, name, disturbed)


def nothing() -> None:
    pass


@pytest.mark.parametrize("there", ["before", "after"])
def test_a_swap_between_summing_and_reading_is_read_again(data, monkeypatch, there):
    swaps = iter([lambda: replace_with(data, rows("new"))])
    swap = lambda: next(swaps, nothing)()  # noqa: E731 - once
    around(monkeypatch, classify, "read_examples", *((swap, nothing) if there == "before" else (nothing, swap)))
    assert words_of(data) == {"new"}
    monkeypatch.undo()
    monkeypatch.setenv("RNNLAB_CACHE", str(data.parent / "cache"))
    data.write_text(rows("old"))
    assert words_of(data) == {"old"}  # its sum wasn't poisoned


def test_a_swap_and_back_is_noticed(data, monkeypatch):
    """The sums before and after are equal, and yet other bytes were read."""
    backup = data.with_name("backup.csv")
    turns = iter(range(2))

    def away() -> None:
        if next(turns, 1) == 0:
            os.rename(data, backup)
            data.write_text(rows("new"))

    def back() -> None:
        if backup.exists():
            os.replace(backup, data)

    around(monkeypatch, classify, "read_examples", away, back)
    assert words_of(data) == {"old"}
    assert next(turns, None) is None  # read twice


def test_a_file_that_never_rests_is_an_error_and_leaves_nothing(data, monkeypatch):
    def append() -> None:
        with open(data, "a") as file:
            file.write("one more,a\n")

    around(monkeypatch, classify, "read_examples", nothing, append)
    for attempt in (Classify(data=str(data)).resolve, lambda: list(Classify(data=str(data)).resolve_splits([0, 1]))):
        with pytest.raises(DataError, match=r"rows\.csv: it changed while it was read, 3 times .* copy it"):
            attempt()
    assert not list((data.parent / "cache").glob("encoded/[a-z0-9]*"))


def test_half_a_file_that_is_being_written_is_read_again(data, monkeypatch):
    """What can't be read isn't held against it once it is whole."""
    data.write_text("text,label\nhalf a row")
    around(monkeypatch, classify, "read_examples", nothing, lambda: replace_with(data, rows("new")))
    with pytest.raises(DataError, match="it changed while it was read"):
        words_of(data)
    monkeypatch.undo()
    assert words_of(data) == {"new"}


def test_all_splits_are_of_the_same_rows(data, monkeypatch):
    """The file is swapped once the first split is found in the cache, before the second is read."""
    Classify(data=str(data)).resolve()
    monkeypatch.setattr(classify, "_last_read", None)  # as in a process that didn't read them
    swaps = iter([lambda: replace_with(data, rows("new"))])
    around(monkeypatch, classify, "read_examples", lambda: next(swaps, nothing)(), nothing)
    splits = Classify(data=str(data)).resolve_splits([0, 1])
    next(splits)
    with pytest.raises(DataError, match="it changed while it was read"):  # the first is of other rows
        next(splits)
    monkeypatch.undo()
    first, second = Classify(data=str(data)).resolve_splits([0, 1])
    assert first.fingerprint == fingerprint(Classify(data=str(data)).encoded())
    assert words_of(data) == {"new"}
    assert second.fingerprint is not None


def test_vectors_are_kept_under_the_sum_of_what_was_read(data, monkeypatch):
    source = data.with_name("vectors.txt")
    source.write_text("good 1 2\nbad 3 4\n")
    swaps = iter([lambda: replace_with(source, "good 5 6\nbad 7 8\n")])
    around(monkeypatch, vectors, "_read_text", lambda: next(swaps, nothing)(), nothing)
    embedding = Embedding(vectors=str(source), width=2)
    assert np.array_equal(assemble.look_up(embedding, ["bad"]), [[7, 8]])
    source.write_text("good 1 2\nbad 3 4\n")
    assert np.array_equal(assemble.look_up(embedding, ["bad"]), [[3, 4]])


def test_vectors_of_equal_size_and_time_are_not_taken_for_the_same(data):
    source = data.with_name("vectors.txt")
    source.write_text("good 1 2\n")
    before, stat = vectors.digest_of_source(str(source)), source.stat()
    replace_with(source, "good 3 4\n")
    os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert vectors.digest_of_source(str(source)) != before


def test_words_of_vectors_are_those_of_the_sum(data, monkeypatch):
    """The vocabulary has words of the vectors that the rows lack; the vectors are swapped before they are read."""
    source = data.with_name("vectors.txt")
    source.write_text("old 1 2\nnew 3 4\n")
    swaps = iter([lambda: replace_with(source, "old 5 6\n")])
    around(monkeypatch, vectors, "_read_text", lambda: next(swaps, nothing)(), nothing)
    task = Classify(data=str(data), extra_words=str(source))
    first = fingerprint(task.encoded())
    assert next(swaps, None) is None
    monkeypatch.setenv("RNNLAB_CACHE", str(data.parent / "another"))
    assert fingerprint(task.encoded()) == first  # of the new file, under its sum
