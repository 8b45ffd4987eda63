"""Several text columns as one text: joined by a separator, which becomes a token of its own.

A row of the columns subject and body is the text ``"Refund ‖ I was charged twice"``. Whatever handles texts (splits,
duplicates, samples, the cache, reports) handles it as it is. Tokens are made of each column by itself; the separator
stands between them, and a network knows by counting separators which column a token is from (`models.embedding`)."""

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.core.words import both
from rnnlab.data.sequences import offsets_of
from rnnlab.data.tables import Column
from rnnlab.data.text import Tokenized, tokenize_all, translate
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import PADDING, SEPARATED, SEPARATOR, Vocabulary


def join(parts: Sequence[str]) -> str:
    """One text. A separator inside of a column is a space."""
    return f" {SEPARATOR} ".join(part.replace(SEPARATOR, " ").strip() for part in parts).strip()


def named_columns(text: str | Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """The columns that ``text`` names: as a list; or as ``"a,b"``, unless a column has that name."""
    if text is None:
        return ()
    if isinstance(text, str):
        text = [text] if text in known else [name.strip() for name in text.split(",") if name.strip()] or [text]
    twice = [name for name, count in Counter(text).items() if count > 1]
    if twice:
        raise DataError(
            "--text {names}: {twice!r} stands there twice; name each column once", names=",".join(text), twice=twice[0]
        )
    return tuple(text)


def joined_columns(columns: Sequence[Iterable[str]]) -> Column:
    """The texts of several columns, row by row; empty where all of them are blank."""
    rows = zip(*columns, strict=True)
    return Column(join(row) if any(map(str.strip, row)) else "" for row in rows)


def columns_of_text(given: Any, columns: Sequence[str]) -> str:
    """What a model of these columns is asked, as one text: given as one already, as an object by column (JSON, if it is
    a text), or as a list in their order."""
    if isinstance(given, str) and SEPARATOR not in given and given.lstrip().startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            given = json.loads(given)
    if isinstance(given, Mapping):
        missing = [name for name in columns if name not in given]
        unknown = [str(name) for name in given if name not in columns]
        if not missing and not unknown and all(isinstance(given[name], str) for name in columns):
            return join([given[name] for name in columns])
    elif isinstance(given, list | tuple):
        if len(given) == len(columns) and all(isinstance(part, str) for part in given):
            return join(given)
    elif isinstance(given, str) and given.count(SEPARATOR) == len(columns) - 1:
        return given
    raise DataError(
        "this model reads the columns {names}; give them as {example}, or as an object by column: {object} (got {got})",
        names=", ".join(columns),
        example=repr(f" {SEPARATOR} ".join(f"…{name}…" for name in columns)),
        object="{" + ", ".join(f'"{name}": "…"' for name in columns) + "}",
        got=_described(given),
    )


def _described(given: Any) -> Any:
    if isinstance(given, str):
        return both("a text with {count} of {separator}", count=given.count(SEPARATOR), separator=SEPARATOR)
    if isinstance(given, Mapping):
        return both("an object with {names}", names=", ".join(map(str, given)) or "{}")
    return type(given).__name__


def parts_of(texts: Iterable[str]) -> Iterator[str]:
    """The columns of each text, one after the other."""
    for text in texts:
        yield from text.split(SEPARATOR)


def check_length(max_length: int | None, columns: int) -> None:
    """A separator before each column but the first, and a token of each, must have room."""
    if max_length is not None and columns and max_length < 2 * columns - 1:
        raise ConfigError(
            "max_length: {columns} text columns and the separators between them need at least {least} (got {got})",
            columns=columns,
            least=2 * columns - 1,
            got=max_length,
        )


def tokenize_joined(
    texts: Iterable[str], columns: int, tokenizer: Tokenizer, max_length: int | None = None
) -> Tokenized:
    """As `tokenize_all`, of texts of several columns."""
    return join_tokens(tokenize_all(parts_of(texts), tokenizer, max_length), columns, max_length)


def encode_joined(
    texts: Iterable[str], columns: int, tokenizer: Tokenizer, vocabulary: Vocabulary, max_length: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """As `encode_texts`, of texts of several columns."""
    tokenized = tokenize_joined(texts, columns, tokenizer, max_length)
    return translate(tokenized.values, numbers_in(tokenized, vocabulary)), tokenized.offsets


def numbers_in(tokenized: Tokenized, vocabulary: Vocabulary) -> np.ndarray:
    """As `Tokenized.numbers_in`; the last of its tokens is the separator, which is no word."""
    return np.append(np.array(vocabulary.encode(tokenized.tokens[:-1]), np.int32), np.int32(SEPARATED))


def join_tokens(parts: Tokenized, columns: int, max_length: int | None) -> Tokenized:
    """Of the tokens of every column of every row, laid end to end, those of the rows: a separator stands before each
    column but the first. It is the last of ``tokens``.

    A row that is longer than ``max_length`` keeps the first tokens of each column: of a column that has at most its
    share of the room all, and what it leaves goes to the others in equal parts."""
    lengths = parts.lengths.reshape(-1, columns)
    room = None if max_length is None else max_length - (columns - 1)
    kept = lengths if room is None else shared_out(lengths, room)
    stored = np.diff(parts.offsets)
    assert (kept.ravel() <= stored).all()
    separator = len(parts.tokens)
    whole = kept.copy()
    whole[:, 1:] += 1
    values = np.empty(int(whole.sum()), np.int32)
    starts = offsets_of(whole.ravel())
    is_token = np.ones(len(values), bool)
    separators = starts[:-1].reshape(-1, columns)[:, 1:].ravel()
    is_token[separators] = False
    values[separators] = separator
    values[is_token] = _first_tokens(parts, kept.ravel())
    return Tokenized(
        values,
        offsets_of(whole.sum(1)),
        [*parts.tokens, SEPARATOR],
        (lengths.sum(1) + columns - 1).astype(np.int32),
    )


def shared_out(lengths: np.ndarray, room: int) -> np.ndarray:
    """Lengths (rows, columns) → how many tokens of each column have room: all, or none above an equal share of what
    the shorter ones leave."""
    kept = lengths.copy()
    left = np.full(len(lengths), room)
    order = np.argsort(lengths, axis=1, kind="stable")
    columns = lengths.shape[1]
    for place in range(columns):  # the shortest first
        rows, column = np.arange(len(lengths)), order[:, place]
        kept[rows, column] = np.minimum(lengths[rows, column], left // (columns - place))
        left = left - kept[rows, column]
    return kept


def _first_tokens(parts: Tokenized, kept: np.ndarray) -> np.ndarray:
    stored = np.diff(parts.offsets)
    if np.array_equal(kept, stored):
        return parts.values
    at = np.arange(int(kept.sum())) + np.repeat(parts.offsets[:-1] - offsets_of(kept)[:-1], kept)
    return parts.values[at]


def segments(values: np.ndarray, offsets: np.ndarray, columns: int) -> np.ndarray:
    """(N,) int64: of each token of rows laid end to end, which column it is from; a separator is of the column that it
    begins."""
    seen = np.cumsum(values == SEPARATED)
    before = np.concatenate([[0], seen])[offsets[:-1]]
    return np.minimum(seen - np.repeat(before, np.diff(offsets)), columns - 1)


def with_column_words(
    values: np.ndarray, offsets: np.ndarray, columns: int, words: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ids, which are below ``words``, for models that count: behind the tokens of a row stands padding, of
    which no n-gram is, and then every token once more, as a word of its column. So what is said anywhere counts, and
    where it is said counts, too: docs/decisions/0026."""
    lengths = np.diff(offsets)
    row = np.repeat(np.arange(len(lengths)), lengths)
    longer = offsets_of(2 * lengths + 1)
    first = np.arange(len(values)) + (longer - offsets)[row]
    found = np.full(longer[-1], PADDING, np.int64)
    found[first] = values
    found[first + lengths[row] + 1] = values + words * (1 + segments(values, offsets, columns))
    return found, longer
