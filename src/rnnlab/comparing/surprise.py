"""Where language models differ: a passage as each reads it, tokens that some expect and others don't, and how much they
gain from what stands before. All figures come from the recorded predictions."""

from collections.abc import Sequence

import numpy as np

from rnnlab.comparing.chapters import ContestedToken, Continued, FromBeginning, Surprised
from rnnlab.comparing.records import Record, by_arm
from rnnlab.core.errors import RunError
from rnnlab.data.sequences import IGNORE
from rnnlab.data.tokenizers import LINE_END, Tokenizer
from rnnlab.data.vocabulary import END, Vocabulary

PASSAGE = {"chars": 300, "words": 80}  # tokens that are shown
CONTESTED = 12
APART = 20  # tokens between two that are contested: neighbours are so for the same reason
OFTEN = 2  # times that one and the same token is shown
BEFORE = {"chars": 40, "words": 8}  # tokens shown before one of them


def continued(
    records: Sequence[Record], chosen: Sequence[Record], vocabulary: Vocabulary, tokenizer: Tokenizer, streams: bool
) -> Continued | None:
    """``chosen`` is a finished run per arm. None without one."""
    if not chosen:
        return None
    unit = "chars" if tokenizer.name == "chars" else "words"
    truth = chosen[0].answers.truth("test")
    counted = truth.values != IGNORE
    targets = truth.values[counted]
    nats = np.stack([_nats(record, truth.values, chosen[0]) for record in chosen])  # (arms, tokens)
    tokens = [vocabulary.words[token] for token in targets.tolist()]
    begin = _line_begin(tokens[: PASSAGE[unit]]) if streams else 0
    shown = slice(begin, begin + PASSAGE[unit])

    def before(at: int) -> str:
        """Of the same text."""
        first = max(0, at - BEFORE[unit])
        ends = np.flatnonzero(targets[first:at] == END)
        return tokenizer.join(tokens[first + int(ends[-1]) + 1 if len(ends) else first : at])

    return Continued(
        tokens=tuple(tokens[shown]),
        passage=tuple(
            Surprised(record.label, tuple(own[shown].tolist())) for record, own in zip(chosen, nats, strict=True)
        ),
        contested=tuple(
            ContestedToken(before(at), tokens[at], tuple(nats[:, at].tolist())) for at in _contested(nats, targets)
        ),
        from_beginning=() if streams else tuple(_from_beginning(records)),
        spaced=tokenizer.name in ("words", "whitespace"),
    )


def _line_begin(tokens: list[str]) -> int:
    """A stream is cut wherever its share ends, mostly in the middle of a word: the passage begins with the next line
    that isn't blank."""
    after_an_end = (at for at in range(1, len(tokens)) if tokens[at - 1] == LINE_END != tokens[at])
    return next(after_an_end, 0)


def _nats(record: Record, values: np.ndarray, first: Record) -> np.ndarray:
    saved = record.answers
    if not np.array_equal(saved.truth("test").values, values):
        raise RunError(
            "{path}: other test rows than those of {other}; compare them apart", path=record.path, other=first.path
        )
    return saved.kept("test")["nats"][values != IGNORE].astype(np.float64)


def _contested(nats: np.ndarray, targets: np.ndarray) -> list[int]:
    """Tokens with the largest difference between two of the arms; none close to another, and none too often."""
    gaps = nats.max(0) - nats.min(0)
    found: list[int] = []
    for at in np.argsort(-gaps, kind="stable")[: np.count_nonzero(gaps)].tolist():
        often = sum(targets[at] == targets[other] for other in found) >= OFTEN
        if not often and all(abs(at - other) >= APART for other in found):
            found.append(at)
        if len(found) == CONTESTED:
            break
    return found


def _from_beginning(records: Sequence[Record]) -> list[FromBeginning]:
    """In parts that double: the first token of a row, the second, the third and fourth, and so on."""
    found = []
    for arm, runs in by_arm(records).items():
        sums, counts = np.zeros(64), np.zeros(64, np.int64)
        for record in (one for one in runs if one.finished):
            saved = record.answers
            truth = saved.truth("test")
            assert truth.offsets is not None
            place = np.arange(len(truth.values)) - np.repeat(truth.offsets[:-1], np.diff(truth.offsets))
            part = np.ceil(np.log2(place + 1)).astype(np.int64)  # 0, 1, 2, 2, 3, 3, 3, 3 …
            asked = truth.values != IGNORE
            sums += np.bincount(part[asked], saved.kept("test")["nats"][asked].astype(np.float64), 64)
            counts += np.bincount(part[asked], minlength=64)
        runs_done = sum(one.finished for one in runs)
        parts = tuple(
            (_named(at), float(sums[at] / counts[at]), int(counts[at]) // runs_done)
            for at in np.flatnonzero(counts).tolist()
        )
        if parts:
            found.append(FromBeginning(arm, parts))
    return found


def _named(part: int) -> str:
    first, last = (1, 1) if part == 0 else (2 ** (part - 1) + 1, 2**part)
    return str(first) if first == last else f"{first}–{last}"
