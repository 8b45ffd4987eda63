"""Tagged sentences as flat arrays, ready to train on: split, numbered and spelled."""

import importlib.util
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.numbers import percent_text
from rnnlab.core.words import note
from rnnlab.data import splits
from rnnlab.data.encoded import SPLITS, EncodedData, words_beyond
from rnnlab.data.examples import Examples
from rnnlab.data.marks import OF_WORDS, Kind, Marks
from rnnlab.data.ngrams import Ngrams
from rnnlab.data.preprocessor import Side
from rnnlab.data.sequences import Sequences, gather_rows, offsets_of
from rnnlab.data.spelling import Spelling
from rnnlab.data.tagged import schemes
from rnnlab.data.tagged.sentences import Sentences
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import UNKNOWN, Vocabulary

OVERLAP = 0.1  # of the test sentences, from which on it is worth a warning
SAMPLE = 10_000  # tokens by which Chinese is told
LETTERS = 20  # of each word, unless the user says how many


@dataclass(frozen=True)
class DividedSentences:
    """Which rows each split has, counted through the given parts laid end to end. So are all arrays."""

    given: list[Sentences]
    labels: tuple[str, ...]
    contents: np.ndarray  # (rows,) as `splits.contents` numbers them
    rows: dict[str, np.ndarray]  # per split

    def place(self, row: int) -> tuple[Sentences, int]:
        for part in self.given:
            if row < len(part):
                return part, row
            row -= len(part)
        raise IndexError(row)

    def row(self, split: str, number: int) -> list[str]:
        """The tokens of a row of a split."""
        part, at = self.place(int(self.rows[split][number]))
        return part.tokens_of(at)


def divide_sentences(
    parts: Mapping[str, Sentences], valid_fraction: float, test_fraction: float, split_seed: int
) -> DividedSentences:
    """What isn't given is split off ``train``, as fractions of its sentences; equal sentences stay together, and every
    tag has its share in each split, as far as that can be."""
    given = [parts[name] for name in SPLITS if name in parts]
    labels = tuple(sorted({tag for part in given for tag in part.tags or ()}))
    if len(labels) < 2:
        raise DataError(
            "{source}: every token has the tag {tag!r}; at least two are needed",
            source=given[0].source,
            tag=labels[0] if labels else "",
        )
    examples = [
        Examples(part.source, [""] * len(part), texts=[" ".join(part.tokens_of(row)) for row in range(len(part))])
        for part in given
    ]
    contents = splits.contents(examples)
    units = splits.units(examples, contents)[0]
    train = parts["train"]
    present = np.zeros((len(train), len(labels)), np.uint8)
    owner = np.repeat(np.arange(len(train)), np.diff(train.offsets))
    present[owner, schemes.ids_of(train.tags or [], labels)] = 1
    wanted = {"test": test_fraction, "valid": valid_fraction}
    fractions = {name: fraction for name, fraction in wanted.items() if name not in parts}
    rows = splits.assign(present, units, fractions, split_seed, train.source)
    start = len(train)
    for name in SPLITS[1:]:
        if name in parts:
            rows[name] = np.arange(start, start + len(parts[name]))
            start += len(parts[name])
    return DividedSentences(given, labels, np.concatenate(contents), {name: rows[name] for name in SPLITS})


def encode_sentences(
    parts: Mapping[str, Sentences],
    *,
    tokenizer: str = "auto",
    letters: int | None = None,
    marks: Sequence[Kind] | None = None,
    lowercase: bool = True,
    min_count: int = 1,
    max_size: int | None = None,
    ngrams: Sequence[int] = (),
    ngram_size: int = 200_000,
    extra_words: Sequence[str] = (),
    valid_fraction: float = 0.1,
    test_fraction: float = 0.2,
    split_seed: int = 0,
) -> EncodedData:
    """Vocabulary and letters come from the training rows alone; behind what they chose, the vocabulary has words of
    ``extra_words`` that they lack."""
    divided = divide_sentences(parts, valid_fraction, test_fraction, split_seed)
    given, labels = divided.given, divided.labels
    words = [token for part in given for token in part.tokens]
    offsets = _joint_offsets([part.offsets for part in given])
    tags = schemes.ids_of([tag for part in given for tag in part.tags or ()], labels).astype(np.int64)  # torch's losses

    by_characters = given[0].unit == "characters"
    length = letters if letters is not None else 0 if by_characters else LETTERS
    cut_by = tokenizer if tokenizer != "auto" else "chars" if by_characters else "words"
    train_words = gather_rows(np.arange(len(words)), offsets, divided.rows["train"])[0].tolist()
    spelling = Spelling.build((words[at] for at in train_words), length, lowercase)
    looked_up = [word.lower() for word in words] if lowercase else words
    counts = Counter(looked_up[at] for at in train_words)
    vocabulary = Vocabulary.build(list(counts), counts.values(), min_count=min_count, max_size=max_size)
    cutter = Tokenizer(cut_by, lowercase=False)

    notes = []
    ids = np.array(vocabulary.encode(looked_up), np.int32)
    if ngrams:
        own, own_offsets = gather_rows(ids, offsets, divided.rows["train"])
        vocabulary = replace(vocabulary, ngrams=Ngrams.build(own, own_offsets, ngrams, ngram_size, len(vocabulary)))
        notes.append(
            note(
                "inputs besides the tokens: {count:,} n-grams that the training rows hold at least twice",
                count=vocabulary.further,
            )
        )
    kinds = usual_marks(by_characters, words) if marks is None else tuple(marks)
    _refuse_marks(kinds, by_characters, given[0].source)
    seen: Marks | None = None
    if kinds:
        train_offsets = gather_rows(ids, offsets, divided.rows["train"])[1]
        seen = Marks.build(kinds, [words[at] for at in train_words], train_offsets)
        vocabulary = replace(vocabulary, marks=len(seen))
        notes.append(
            note("inputs besides the tokens: {count:,} marks ({names})", count=len(seen), names=", ".join(kinds))
        )
    if len(extra_words):
        every = sorted(set(looked_up))
        held_out, frequent = words_beyond(every, np.array([counts[word] for word in every]), extra_words, cutter)
        vocabulary = vocabulary.extended([*held_out, *frequent])
        ids = np.array(vocabulary.encode(looked_up), np.int32)
        notes.append(
            note(
                "vectors of their own for words that the training rows lack: {count:,} of the validation "
                "and test rows, and the first {count_2:,} others of the vectors' file",
                count=len(held_out),
                count_2=len(frequent),
            )
        )
    if length:
        notes.append(
            note(
                "inputs besides the words: their letters, up to {length}, of {count:,} kinds",
                length=spelling.length,
                count=len(spelling.letters),
            )
        )
    tokens = 1 + len(ngrams) + len(kinds)
    side = Side(tokenizer=cutter, vocabulary=vocabulary, tokens=tokens, marks=seen, spelling=spelling)
    values = side.with_looks(vocabulary.with_ngrams(ids, offsets), words, offsets)
    in_train = {words[at] for at in train_words}
    unseen = np.fromiter((word not in in_train for word in words), bool, len(words))
    sequences = {}
    for name, chosen in divided.rows.items():
        own, own_offsets = gather_rows(values, offsets, chosen)
        targets = gather_rows(tags, offsets, chosen)[0].astype(np.int64)  # as losses want them
        groups = divided.contents[chosen].astype(np.int64)
        rows = Sequences.end_to_end(own, own_offsets, targets, groups, target_offsets=own_offsets)
        sequences[name] = replace(rows, unseen=gather_rows(unseen, offsets, chosen)[0])
    facts = _profile(divided, sequences, vocabulary, notes, lowercase)
    return EncodedData(**sequences, **vars(side), labels=labels, profile=facts)


def usual_marks(by_characters: bool, words: Sequence[str]) -> tuple[Kind, ...]:
    """Of words, how they begin, end and look. Of Chinese characters, where they stand in the words of a dictionary, if
    its package is there."""
    if not by_characters:
        return OF_WORDS
    chinese = sum("\u4e00" <= word[:1] <= "\u9fff" for word in words[:SAMPLE])
    there = importlib.util.find_spec("rjieba") is not None
    return ("segments",) if there and chinese > 0.5 * len(words[:SAMPLE]) else ()


def _refuse_marks(kinds: Sequence[Kind], by_characters: bool, source: str) -> None:
    wrong = [kind for kind in kinds if (kind == "segments") != by_characters]
    if wrong and by_characters:
        raise DataError(
            "{source}: tokens are characters, of which '{kind}' says nothing; take marks = [\"segments\"], or []",
            source=source,
            kind=wrong[0],
        )
    if wrong:
        raise DataError(
            "{source}: 'segments' says where a character stands in a word, and tokens are words; take marks = {names}",
            source=source,
            names=json.dumps(OF_WORDS),
        )


def _joint_offsets(every: Sequence[np.ndarray]) -> np.ndarray:
    return offsets_of(np.concatenate([np.diff(offsets) for offsets in every]))


def _profile(
    divided: DividedSentences,
    sequences: Mapping[str, Sequences],
    vocabulary: Vocabulary,
    notes: Sequence[str],
    lowercase: bool,
) -> dict[str, Any]:
    """What a person should know about the data, as lines, and what others ask for by name."""
    first, labels = divided.given[0], divided.labels
    rows = {name: len(part) for name, part in sequences.items()}
    tokens = {name: int(part.offsets[-1]) for name, part in sequences.items()}
    unknown = {name: float((part.tokens == UNKNOWN).mean()) for name, part in sequences.items()}
    in_train = set(divided.contents[divided.rows["train"]].tolist())
    overlap = {
        name: int(sum(content in in_train for content in divided.contents[divided.rows[name]].tolist()))
        for name in ("valid", "test")
    }
    counts = np.bincount(np.concatenate([part.targets for part in sequences.values()]), minlength=len(labels))
    unit = note("characters") if first.unit == "characters" else note("words")
    lines = [
        note(
            "{sentences:,} sentences: train {train:,}, valid {valid:,}, test {test:,}",
            sentences=sum(rows.values()),
            **rows,
        ),
        note("{tokens:,} tokens, which are {unit}", tokens=sum(tokens.values()), unit=unit),
        _about_tags(counts, labels, first.scheme),
        note(
            "vocabulary: {entries:,} entries from the training rows{lower}; unknown tokens: valid {valid}, test {test}",
            entries=len(vocabulary.learnt_words),
            lower=note(", in lower case") if lowercase else "",
            valid=percent_text(unknown["valid"]),
            test=percent_text(unknown["test"]),
        ),
        note("sentences that stand in train too: {valid:,} of valid, {test:,} of test", **overlap),
    ]
    seen = set(np.unique(sequences["train"].targets).tolist())
    never = [labels[tag] for tag in range(len(labels)) if tag not in seen]
    if never:
        lines.append(
            note("tags that no training row has, and no model can learn: {names}", names=", ".join(never[:10]))
        )
    skipped = sum(len(part.skipped) for part in divided.given)
    if skipped:
        lines.append(note("skipped: {rows:,} sentences that can't be used", rows=skipped))
    lines += dict.fromkeys(text for part in divided.given for text in part.notes)
    warnings = [
        note(
            "{share} of the test sentences stand in train too, so that a part of the score is learnt by heart",
            share=percent_text(overlap["test"] / rows["test"]),
        )
        for _ in range(overlap["test"] > OVERLAP * rows["test"])
    ]
    return {
        "lines": [*lines, *notes, *(note("warning: {text}", text=text) for text in warnings)],
        "warnings": warnings,
        "scheme": first.scheme,
        "unit": "characters" if first.unit == "characters" else "tokens",
        "overlap": overlap,
        "tokens": tokens,
        "rows": rows,
        "unknown": unknown,
        "tags": {label: int(count) for label, count in zip(labels, counts, strict=True)},
    }


def _about_tags(counts: np.ndarray, labels: Sequence[str], scheme: str | None, most: int = 6) -> str:
    if scheme is not None:
        types = schemes.types_of(labels, scheme)
        return note(
            "{count:,} types of entities, in {tags:,} tags of the scheme {scheme}: {names}",
            count=len(types),
            tags=len(labels),
            scheme=scheme,
            names=", ".join(types[:12]),
        )
    order = np.argsort(-counts, kind="stable")[:most]
    shown = ", ".join(f"{labels[tag]} {percent_text(counts[tag] / counts.sum())}" for tag in order)
    return note("{count:,} tags; the most frequent: {shown}", count=len(labels), shown=shown)
