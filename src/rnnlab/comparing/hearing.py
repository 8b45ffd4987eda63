"""Where recognisers differ: which words are taken for which, missed and added; and what was heard of some test rows.

All figures come from the recorded predictions. Rows are shown as one run per arm heard them, the best by validation."""

from collections.abc import Sequence

import numpy as np

from rnnlab.answers.edits import MISSED
from rnnlab.answers.words import heard_beside
from rnnlab.comparing.chapters import Confusion, Differences, HeardBy, HeardRow, Hearing, HearingScore
from rnnlab.comparing.differences import MOST_LABELS, label_scores
from rnnlab.comparing.records import Record, by_arm
from rnnlab.core.errors import RunError
from rnnlab.training.record import Recorded

WORST, OTHERS = 8, 4  # rows shown


def hearing_differences(records: Sequence[Record], labels: Sequence[str]) -> Differences:
    """Without the rows. ``labels`` are the words behind the recorded numbers."""
    arms = {
        arm: [record.answers for record in runs if record.finished]
        for arm, runs in by_arm(records).items()
        if any(record.finished for record in runs)
    }
    if not labels or not arms:
        return Differences((), (), (), ())
    cells = {arm: [_confusion(one, len(labels)) for one in runs] for arm, runs in arms.items()}
    tallies = {arm: [_tally(one) for one in found] for arm, found in cells.items()}
    first = next(iter(arms.values()))[0]
    lengths = _words_of(first)
    return Differences(
        labels=tuple(labels),
        classes=tuple(score for arm, found in tallies.items() for score in label_scores(arm, found, labels)),
        confusions=tuple(
            Confusion(arm, len(found), tuple(map(tuple, np.mean(found, axis=0).tolist())))
            for arm, found in cells.items()
            if len(labels) <= MOST_LABELS
        ),
        rows=(),
        counted="words",
        hearing=Hearing(
            rows=len(first),
            words=int(lengths.sum()),
            counts={
                int(number): int(rows) for number, rows in zip(*np.unique(lengths, return_counts=True), strict=True)
            },
            arms=tuple(_score(arm, runs) for arm, runs in arms.items()),
        ),
    )


def _words_of(saved: Recorded) -> np.ndarray:
    """(test rows,): how many words were said."""
    return saved.counts["words"].astype(np.int64)


def _confusion(saved: Recorded, labels: int) -> np.ndarray:
    """(words + 1, words + 1): what each word was heard as. The last column has those that were missed, the last line
    what was heard besides, as far as it was recorded."""
    kept, size = saved.kept("test"), labels + 1
    heard = np.where(kept["heard"] == MISSED, labels, kept["heard"]).astype(np.int64)
    cells = np.bincount(saved.truth("test").values * size + heard, minlength=size * size).reshape(size, size)
    if "beside" in kept:
        words = kept["beside"][kept["beside"] != MISSED]
        words = np.where(words < MISSED, -2 - words, words)
        cells[labels] += np.bincount(words, minlength=size)
    return cells


def _tally(cells: np.ndarray) -> np.ndarray:
    """(3, words): heard right, heard at all, and said."""
    return np.stack([np.diag(cells)[:-1], cells[:, :-1].sum(0), cells[:-1].sum(1)])


def _score(arm: str, runs: Sequence[Recorded]) -> HearingScore:
    """Of all runs together."""
    names = ("words", "changed", "missed", "added")
    counts = {name: np.concatenate([run.counts[name] for run in runs]) for name in names}
    said = float(counts["words"].sum())
    edits = counts["changed"] + counts["missed"] + counts["added"]
    by_words = {
        int(number): float(edits[counts["words"] == number].sum() / counts["words"][counts["words"] == number].sum())
        for number in np.unique(counts["words"])
        if number
    }
    return HearingScore(arm, *(float(counts[name].sum()) / said for name in names[1:]), by_words=by_words)


def heard_rows(
    chosen: Sequence[Record], labels: Sequence[str], tags: Sequence[str] = ()
) -> tuple[tuple[HeardRow, ...], tuple[HeardRow, ...]]:
    """The test rows that ``chosen``, a finished run per arm, heard worst together, of each group one, since its rows
    share recordings; and some of all others, from bad to good."""
    if not chosen:
        return (), ()
    first = chosen[0].answers
    truth, edits = first.truth("test"), np.zeros(len(first))
    for record in chosen:
        saved = record.answers
        if not np.array_equal(saved.truth("test").values, truth.values):
            raise RunError(
                "{path}: other test rows than those of {other}; compare them apart",
                path=record.path,
                other=chosen[0].path,
            )
        edits += saved.counts["edits"] / np.maximum(saved.counts["words"], 1)
    order = np.argsort(-edits, kind="stable").tolist()
    worst, seen = list[int](), set[int]()
    for row in order:
        if edits[row] and len(worst) < WORST and int(first.groups[row]) not in seen:
            seen.add(int(first.groups[row]))
            worst.append(row)
    rest = [row for row in order if row not in worst]
    others = [rest[at] for at in np.unique(np.linspace(0, len(rest) - 1, min(OTHERS, len(rest))).astype(int))]
    offsets, names = truth.offsets, None if first.tags is None or not tags else first.tags

    def told(row: int) -> HeardRow:
        assert offsets is not None
        own = slice(int(offsets[row]), int(offsets[row + 1]))
        words = tuple(labels[int(number)] for number in truth.values[own].tolist())
        answers = tuple(_heard(record, own, row, labels) for record in chosen)
        return HeardRow(row, None if names is None else tags[int(names[row])], words, answers)

    return tuple(map(told, worst)), tuple(map(told, others))


def _heard(record: Record, own: slice, row: int, labels: Sequence[str]) -> HeardBy:
    kept = record.answers.kept("test")
    heard = tuple(None if number == MISSED else labels[int(number)] for number in kept["heard"][own].tolist())
    beside = heard_beside(kept["beside"][own]) if "beside" in kept else [[] for _ in range(len(heard) + 1)]
    added = tuple(tuple(labels[number] for number in words) for words in beside)
    return HeardBy(record.label, heard, added, int(kept["added"][row]) - sum(map(len, added)))
