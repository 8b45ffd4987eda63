"""Running text as flat arrays, ready to be continued: one long stream, or rows such as poems and names.

A stream is split by position: the first tokens are for validation, and the last ones for the test (not side by side:
decision 32). They are read in blocks, each with the tokens before
it as context, which is read and not counted; so every token is scored once, whoever reads. Rows are split as a whole,
and equal rows stay together. Each file, and each row, begins with ``<s>``; a row ends with ``</s>``.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.numbers import percent_text
from rnnlab.core.words import note
from rnnlab.data import splits
from rnnlab.data.encoded import SPLITS, EncodedData
from rnnlab.data.examples import Examples
from rnnlab.data.formats.source import Source
from rnnlab.data.sequences import Sequences, gather_rows, offsets_of
from rnnlab.data.text import Tokenized, count_values, tokenize_all
from rnnlab.data.tokenizers import LINE_END, Tokenizer, choose_tokenizer
from rnnlab.data.vocabulary import BEGIN, END, UNKNOWN, Vocabulary

TextPer = Literal["file", "paragraph", "line"]
Unit = Literal["chars", "words"]
Layout = Callable[[np.ndarray, np.ndarray | None], dict[str, Sequences]]
"""From the ids of all tokens, and how many characters each is, to the rows of each split."""
FEWEST = 50  # tokens of a held-out part, and of train: below that nothing can be said
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
PEEK = 1 << 16  # bytes of a file that tell whether it is a table
SAMPLE = 20_000  # characters at a time by which is told how words are written


@dataclass(frozen=True)
class Passages:
    """The texts of a file: one, or one per row."""

    source: str
    texts: tuple[str, ...]
    notes: tuple[str, ...] = ()


def is_running_text(path: str | Path) -> bool:
    """Whether a file is neither a table nor anything else that has rows: a ``.txt`` without a tab in its head."""
    path = Path(path)
    if path.suffix.lower() not in (".txt", ".text") or not path.is_file():
        return False
    with open(path, "rb") as file:
        return b"\t" not in file.read(PEEK)


def read_passages(path: str | Path, text_per: TextPer = "file") -> Passages:
    """Line ends become ``\\n``, whatever the file has; an empty row is left out."""
    source = Source.load(path)
    text = source.text().replace("\r\n", LINE_END).replace("\r", LINE_END)
    if "\0" in text:
        line = text.count(LINE_END, 0, text.index("\0")) + 1
        raise DataError("{path}, line {line}: a NUL character; this is not a text", path=path, line=line)
    texts: Sequence[str]
    if text_per == "file":
        texts = [text]
    elif text_per == "line":
        texts = [line.strip() for line in text.split(LINE_END)]
    else:
        texts = [passage.strip(LINE_END) for passage in _BLANK_LINES.split(text)]
    return Passages(Path(path).name, tuple(text for text in texts if text.strip()), source.notes)


def tokenizer_for(unit: Unit, parts: Mapping[str, Passages]) -> tuple[Tokenizer, str]:
    """How texts are cut, and why: of words, at spaces where signs stand apart from words already."""
    if unit == "chars":
        return Tokenizer("chars", lowercase=False, verbatim=True), note("characters as they stand")
    text = "".join(passage[:SAMPLE] for passage in parts["train"].texts[:: max(1, len(parts["train"].texts) // 20)])
    apart = len(re.findall(r"\s[.,;:!?](?=\s)", text))
    beside = len(re.findall(r"\w[.,;:!?](?=\s)", text))
    if choose_tokenizer([text])[0].name == "chars":
        return Tokenizer("jieba", lowercase=False, verbatim=True), note("words by jieba's dictionary")
    if "<unk>" in text or apart > 4 * beside:
        return Tokenizer("whitespace", lowercase=False, verbatim=True), note("words stand apart from signs already")
    return Tokenizer("words", lowercase=False, verbatim=True), note("words and signs; a line end is a token")


def encode_passages(
    parts: Mapping[str, Passages],
    *,
    text_per: TextPer = "file",
    unit: Unit = "chars",
    min_count: int = 1,
    max_size: int | None = None,
    context: int = 256,
    block: int = 1000,
    valid_fraction: float = 0.05,
    test_fraction: float = 0.1,
    split_seed: int = 0,
) -> EncodedData:
    """``parts`` holds ``train`` and, where they are given, ``valid`` and ``test``; what isn't given is split off
    ``train``. The vocabulary comes from the training part alone."""
    tokenizer, reason = tokenizer_for(unit, parts)
    tokenized = tokenize_all((text for part in parts.values() for text in part.texts), tokenizer)
    bounds = offsets_of(np.array([len(part.texts) for part in parts.values()]))  # the texts of each part
    fractions = {
        name: fraction for name, fraction in (("test", test_fraction), ("valid", valid_fraction)) if name not in parts
    }
    if text_per == "file":
        in_train, laid_out = _divide_stream(tokenized, bounds, list(parts), fractions, context, block)
    else:
        in_train, laid_out = _divide_rows(tokenized, _by_row(parts, bounds, fractions, split_seed))
    vocabulary = Vocabulary.build(
        tokenized.tokens,
        count_values(in_train, len(tokenized.tokens)).tolist(),
        min_count=min_count,
        max_size=max_size,
        written=True,
    )
    ids = tokenized.numbers_in(vocabulary)[tokenized.values]
    lengths = None if unit == "chars" else _lengths_of(tokenized.tokens, tokenizer)[tokenized.values]

    sequences = laid_out(ids, lengths)
    for name, part in sequences.items():
        tokens = int((part.truth.values >= 0).sum())
        if tokens < FEWEST:
            raise DataError(
                "{source}: {tokens} tokens for {name}, and at least {fewest} are needed; a longer text is wanted",
                source=parts["train"].source,
                tokens=tokens,
                name=name,
                fewest=FEWEST,
            )
    lines = _about(parts, sequences, vocabulary, text_per, unit, reason)
    unknown = {name: _unknown(part) for name, part in sequences.items()}
    return EncodedData(
        train=sequences["train"],
        valid=sequences["valid"],
        test=sequences["test"],
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        profile={"lines": lines, "unknown": unknown},
    )


def _lengths_of(tokens: Sequence[str], tokenizer: Tokenizer) -> np.ndarray:
    """(tokens,) int32: how many characters a token takes in a text, with the space behind it."""
    space = 0 if tokenizer.name == "jieba" else 1
    return np.array([1 if token == LINE_END else len(token) + space for token in tokens], np.int32)


# --- a stream -----------------------------------------------------------------------------------------------------

Piece = tuple[int, int]  # tokens from … up to …


def _divide_stream(
    tokenized: Tokenized,
    bounds: np.ndarray,
    given: Sequence[str],
    fractions: Mapping[str, float],
    context: int,
    block: int,
) -> tuple[np.ndarray, Layout]:
    """The tokens of train, and what makes rows of all."""
    ends = tokenized.offsets[bounds].tolist()
    files = dict(zip(given, itertools.pairwise(ends), strict=True))
    pieces = _by_position(files, fractions)

    def laid_out(ids: np.ndarray, lengths: np.ndarray | None) -> dict[str, Sequences]:
        begin = {name: _file_of(piece, files) for name, piece in pieces.items()}
        held_out = {
            name: _blocks(ids, lengths, pieces[name], begin[name], context, block) for name in ("valid", "test")
        }
        return {"train": _stream(ids, lengths, pieces["train"], begin["train"]), **held_out}

    return tokenized.values[slice(*pieces["train"])], laid_out


def _by_position(files: Mapping[str, Piece], fractions: Mapping[str, float]) -> dict[str, Piece]:
    """The tokens of each split: those of files that are given; else the first of train are for validation, and the last
    for the test."""
    start, end = files["train"]
    whole = end - start
    found = dict(files)
    if "test" in fractions:
        end -= max(1, round(whole * fractions["test"]))
        found["test"] = (end, files["train"][1])
    if "valid" in fractions:
        start += max(1, round(whole * fractions["valid"]))
        found["valid"] = (files["train"][0], start)
    found["train"] = (start, max(start, end))
    return {name: found[name] for name in SPLITS}


def _file_of(piece: Piece, files: Mapping[str, Piece]) -> int:
    """Where the file begins that has a piece."""
    return next(start for start, end in files.values() if start <= piece[0] and piece[1] <= end)


def _stream(ids: np.ndarray, lengths: np.ndarray | None, piece: Piece, file: int) -> Sequences:
    """One row: ``<s>`` and all tokens but the last are read, all tokens are answered."""
    own = ids[slice(*piece)]
    before = BEGIN if piece[0] == file else ids[piece[0] - 1]
    offsets = np.array([0, len(own)], np.int64)
    rows = Sequences.end_to_end(
        np.append(np.int32(before), own[:-1]).astype(np.int32),
        offsets,
        own.astype(np.int64),
        np.zeros(1, np.int64),
        target_offsets=offsets,
    )
    return rows if lengths is None else replace(rows, characters=lengths[slice(*piece)])


def _blocks(
    ids: np.ndarray, lengths: np.ndarray | None, piece: Piece, file: int, context: int, block: int
) -> Sequences:
    """Rows of about ``block`` tokens that are counted, behind up to ``context`` that are read alone."""
    first = max(file, piece[0] - context)
    own = ids[first : piece[1]]
    before = np.int32(BEGIN if first == file else ids[first - 1])
    values = np.append(before, own[:-1]).astype(np.int32)  # values[i] comes before own[i]
    counted = piece[1] - piece[0]
    cuts = piece[0] - first + np.linspace(0, counted, max(1, round(counted / block)) + 1).astype(np.int64)
    starts, ends = np.maximum(cuts[:-1] - context, 0), cuts[1:]
    target_offsets = offsets_of(ends - starts)
    targets = np.concatenate([own[start:end] for start, end in zip(starts, ends, strict=True)]).astype(np.int64)
    rows = Sequences(
        values,
        starts,
        ends,
        targets,
        np.arange(len(starts)),
        target_offsets=target_offsets,
        scored_from=cuts[:-1] - starts,
    )
    if lengths is None:
        return rows
    sizes = lengths[first : piece[1]]
    return replace(rows, characters=np.concatenate([sizes[start:end] for start, end in zip(starts, ends, strict=True)]))


# --- rows ---------------------------------------------------------------------------------------------------------


def _by_row(
    parts: Mapping[str, Passages], bounds: np.ndarray, fractions: Mapping[str, float], seed: int
) -> dict[str, np.ndarray]:
    """Row numbers of each split, counted through the parts; equal rows stay together."""
    examples = [Examples(part.source, [""] * len(part.texts), texts=list(part.texts)) for part in parts.values()]
    contents = splits.contents(examples)
    units = splits.units(examples, contents)
    at = list(parts).index("train")
    train = len(parts["train"].texts)
    found = splits.assign(np.zeros(train, np.int64), units[at], fractions, seed, parts["train"].source)
    found = {name: rows + bounds[at] for name, rows in found.items()}
    for number, name in enumerate(parts):
        if name != "train":
            found[name] = np.arange(bounds[number], bounds[number + 1])
    return {name: found[name] for name in SPLITS}


def _divide_rows(tokenized: Tokenized, rows: Mapping[str, np.ndarray]) -> tuple[np.ndarray, Layout]:
    """The tokens of train, and what makes rows of all."""

    def laid_out(ids: np.ndarray, lengths: np.ndarray | None) -> dict[str, Sequences]:
        return {name: _whole_rows(ids, lengths, tokenized.offsets, own) for name, own in rows.items()}

    return gather_rows(tokenized.values, tokenized.offsets, rows["train"])[0], laid_out


def _whole_rows(ids: np.ndarray, lengths: np.ndarray | None, offsets: np.ndarray, rows: np.ndarray) -> Sequences:
    """``<s>`` and the tokens are read; the tokens and ``</s>`` are answered."""
    cut = [ids[offsets[row] : offsets[row + 1]] for row in rows.tolist()]
    own_offsets = offsets_of(np.array([len(row) + 1 for row in cut], np.int64))
    values = np.concatenate([part for row in cut for part in ([BEGIN], row)]).astype(np.int32)
    targets = np.concatenate([part for row in cut for part in (row, [END])]).astype(np.int64)
    found = Sequences.end_to_end(values, own_offsets, targets, np.arange(len(rows)), target_offsets=own_offsets)
    if lengths is None:
        return found
    sizes = [part for row in rows.tolist() for part in (lengths[offsets[row] : offsets[row + 1]], [1])]
    return replace(found, characters=np.concatenate(sizes).astype(np.int32))


# --- what a person should know ------------------------------------------------------------------------------------


def _unknown(part: Sequences) -> float:
    counted = part.truth.values
    return float((counted == UNKNOWN).sum() / max(1, (counted >= 0).sum()))


def _about(
    parts: Mapping[str, Passages],
    sequences: Mapping[str, Sequences],
    vocabulary: Vocabulary,
    text_per: TextPer,
    unit: Unit,
    reason: str,
) -> list[str]:
    counts = {name: int((part.truth.values >= 0).sum()) for name, part in sequences.items()}
    source, kinds = parts["train"].source, len(vocabulary) - len(vocabulary.special)
    shown = note("train {train:,}, valid {valid:,}, test {test:,}", **counts)
    every = sum(counts.values())
    lines = [
        note(
            "{source}: {every:,} characters ({shown}), {kinds:,} distinct ones in train",
            source=source,
            every=every,
            shown=shown,
            kinds=kinds,
        )
        if unit == "chars"
        else note(
            "{source}: {every:,} words ({shown}), {kinds:,} distinct ones in train; {reason}",
            source=source,
            every=every,
            shown=shown,
            kinds=kinds,
            reason=reason,
        )
    ]
    if text_per == "file":
        lines.append(
            note(
                "one stream, split by position; where each line, or each part between blank lines, is a text of its "
                "own: --text-per line, --text-per paragraph"
            )
        )
    else:
        lengths = sequences["train"].lengths - 1
        lines.append(
            note(
                "{rows:,} rows of {low:,} to {high:,} tokens, split as a whole",
                rows=sum(map(len, sequences.values())),
                low=int(lengths.min()),
                high=int(lengths.max()),
            )
        )
    unknown = _unknown(sequences["test"])
    if unknown:
        lines.append(
            note(
                "{share} of the test tokens are unknown to the training part: their spelling isn't asked for",
                share=percent_text(unknown),
            )
        )
    return [*lines, *(text for part in parts.values() for text in part.notes)]
