"""Where arms differ: class by class, what they take for what, and the test rows on which they disagree most.

For tasks that ask for one label per sequence, or for several: there a set of labels is an answer, and what is taken for
what can't be said. All figures come from the recorded predictions; majority, which says the
same of every row, is left out. Where every seed has test rows of its own, no row was answered by all runs of an arm, so
none is listed.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rnnlab.comparing.chapters import Answered, ClassScore, Confusion, Differences, DisputedRow
from rnnlab.comparing.records import Record
from rnnlab.core.config import canonical_json
from rnnlab.core.errors import RunError
from rnnlab.models.baselines import Majority
from rnnlab.tasks.base import Task

MOST_LABELS = 100  # of a confusion matrix: a larger one can neither be read nor carried by a page
BLOCK = 1 << 21  # shares of answers held at a time
JOINER = "\N{ZERO WIDTH JOINER}"
DECIMALS = 9  # to which disagreements are told apart: sums of thirds differ in the last digits alone


def differences(
    records: Sequence[Record], labels: Sequence[str], *, tags: Sequence[str] = (), most: int = 30
) -> Differences:
    """``labels`` and ``tags`` are the names behind the recorded numbers; ``most`` rows are listed."""
    taking_part = [record for record in records if record.finished and not isinstance(record.spec.model, Majority)]
    sets = _Sets(labels)
    splits, arms = _read(taking_part, len(labels), sets)
    if not labels or not arms:
        return Differences((), (), (), ())
    if sets.tallies:
        return Differences(
            labels=tuple(labels),
            classes=tuple(
                score for arm, tallies in sets.tallies.items() for score in label_scores(arm, tallies, labels)
            ),
            confusions=(),
            rows=tuple(_disputed_rows(splits[0], arms, sets.names, tags, most)) if len(splits) == 1 else (),
        )
    counts = {arm: _confusion(runs, len(labels)) for arm, runs in arms.items()}
    return Differences(
        labels=tuple(labels),
        classes=tuple(score for arm, confusion in counts.items() for score in class_scores(arm, confusion, labels)),
        confusions=tuple(
            Confusion(arm, len(arms[arm]), tuple(map(tuple, confusion.tolist())))
            for arm, confusion in counts.items()
            if len(labels) <= MOST_LABELS
        ),
        rows=tuple(_disputed_rows(splits[0], arms, labels, tags, most)) if len(splits) == 1 else (),
    )


def with_texts(found: Differences, task: Task, longest: int = 400) -> Differences:
    """The same with the words of the disputed rows, where there are words; `DataError` when the source changed."""
    texts = task.texts([row.row for row in found.rows]) if found.rows else None
    if texts is None:
        return found
    rows = []
    for row, text in zip(found.rows, texts, strict=True):
        shown = shorten(text, longest)
        rows.append(replace(row, text=shown, cut=len(shown) < len(text)))
    return replace(found, rows=tuple(rows))


def shorten(text: str, longest: int) -> str:
    """At most so many characters; never a letter without its accent, nor a part of a joined emoji."""
    if len(text) <= longest:
        return text
    end = longest
    while end > 0 and (_leans(text[end]) or text[end - 1] == JOINER):
        end -= 1
    return text[: end or longest]


def _leans(character: str) -> bool:
    """Whether it changes the one before: an accent, a variant, a skin colour, a joiner."""
    marks = unicodedata.category(character) in ("Mn", "Mc", "Me")  # accents, vowel signs, variation selectors
    return marks or character == JOINER or "\U0001f3fb" <= character <= "\U0001f3ff"


# --- what was answered --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """The test rows of a split; arrays (rows,)."""

    path: Path  # of a run that has them
    targets: np.ndarray
    groups: np.ndarray
    tags: np.ndarray | None


@dataclass(frozen=True, eq=False)
class _Run:
    rows: _Rows
    answers: np.ndarray  # (rows,) numbers of labels


class _Sets:
    """Sets of labels as numbers, in the order in which they are met; and how often each label was met."""

    def __init__(self, labels: Sequence[str]):
        self.labels, self.names = labels, list[str]()
        self.tallies: dict[str, list[np.ndarray]] = {}  # by arm, of each run: right, given and true labels, (3, C)
        self._numbers: dict[bytes, int] = {}

    def numbers_of(self, members: np.ndarray) -> np.ndarray:
        """(rows,), of which rows have which labels (rows, C) bool."""
        found, which = np.unique(members, axis=0, return_inverse=True)
        numbers = []
        for one in found:
            if one.tobytes() not in self._numbers:
                self._numbers[one.tobytes()] = len(self.names)
                self.names.append(", ".join(self.labels[number] for number in np.flatnonzero(one).tolist()) or "–")
            numbers.append(self._numbers[one.tobytes()])
        return np.array(numbers, np.int32)[which.ravel()]

    def read(self, arm: str, answered: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What was answered and what is right, as numbers."""
        tally = np.stack([(answered & true).sum(0), answered.sum(0), true.sum(0)])
        self.tallies.setdefault(arm, []).append(tally)
        return self.numbers_of(answered), self.numbers_of(true)


def _read(records: Sequence[Record], labels: int, sets: _Sets) -> tuple[list[_Rows], dict[str, list[_Run]]]:
    """The test rows of every split and, by arm, what its runs answered. One file is open at a time, and of its outputs
    only the answers are kept."""
    splits: dict[str, _Rows] = {}
    arms: dict[str, list[_Run]] = {}
    small = np.int16 if labels <= np.iinfo(np.int16).max else np.int32
    for record in records:
        saved = record.answers
        kept, targets = saved.kept("test"), saved.truth("test").values
        answers, several = saved.answer.classes(kept), saved.answer.answers(kept)
        if several is not None:
            answers, targets = sets.read(record.label, several, targets > 0)
            small = np.int32
        if answers is None:  # there is no label per row, and nothing to confuse
            continue
        data = canonical_json(record.spec.task.identity())
        if data not in splits:
            splits[data] = _Rows(record.path, targets, saved.groups, saved.arrays.get("test.tags"))
        rows = splits[data]
        if not np.array_equal(targets, rows.targets):
            raise RunError(
                "{path}: other test rows than those of {other}; compare them apart", path=record.path, other=rows.path
            )
        arms.setdefault(record.label, []).append(_Run(rows, answers.astype(small)))
    return list(splits.values()), arms


# --- class by class -----------------------------------------------------------------------------------------------


def _confusion(runs: Sequence[_Run], labels: int) -> np.ndarray:
    """(true label, answer): test rows, the mean of the runs."""
    cells = np.zeros(labels * labels, np.int64)
    for run in runs:
        cells += np.bincount(run.rows.targets * labels + run.answers, minlength=labels * labels)
    return cells.reshape(labels, labels) / len(runs)


def class_scores(arm: str, confusion: np.ndarray, labels: Sequence[str]) -> Iterator[ClassScore]:
    """Of the classes that the test has. Precision is of all answers of the runs together, as the matrix shows them: a
    run that gives an answer once has no precision worth an equal say."""
    rows, said, found = confusion.sum(1), confusion.sum(0), np.diag(confusion)
    for number, label in enumerate(labels):
        if rows[number]:
            recall = float(found[number] / rows[number])
            precision = float(found[number] / said[number]) if said[number] else None
            yield ClassScore(arm, label, round(float(rows[number])), recall, precision)


def label_scores(arm: str, tallies: Sequence[np.ndarray], labels: Sequence[str]) -> Iterator[ClassScore]:
    """The same where a row may have several labels."""
    right, said, rows = np.mean(tallies, axis=0)
    for number, label in enumerate(labels):
        if rows[number]:
            precision = float(right[number] / said[number]) if said[number] else None
            yield ClassScore(arm, label, round(float(rows[number])), float(right[number] / rows[number]), precision)


# --- row by row ---------------------------------------------------------------------------------------------------


def _disputed_rows(
    rows: _Rows, arms: dict[str, list[_Run]], labels: Sequence[str], tags: Sequence[str], most: int
) -> Iterator[DisputedRow]:
    answers = {arm: np.stack([run.answers for run in runs]) for arm, runs in arms.items()}  # each (runs, rows)
    disagreement = disagreements(list(answers.values()), len(labels))
    for row in most_disputed(disagreement, rows.groups, most):
        target = int(rows.targets[row])
        yield DisputedRow(
            row=row,
            text=None,
            cut=False,
            label=labels[target],
            tag=tags[int(rows.tags[row])] if tags and rows.tags is not None else None,
            disagreement=float(disagreement[row]),
            answers=tuple(_answered(arm, found[:, row], target, labels) for arm, found in answers.items()),
        )


def disagreements(answers: Sequence[np.ndarray], labels: int) -> np.ndarray:
    """(rows,) the chance that two arms, drawn at random with a run each, answer differently. ``answers`` has (runs,
    rows) numbers for each arm.

    With p_a(c) the share of arm a's runs that answer c, two arms agree with the chance Σ_c p_a(c) p_b(c). Summed over
    all pairs of different arms that is Σ_c (Σ_a p_a(c))² − Σ_a Σ_c p_a(c)²."""
    rows = answers[0].shape[1]
    pairs = len(answers) * (len(answers) - 1)
    if not pairs:
        return np.zeros(rows)
    found = np.empty(rows)
    step = max(1, BLOCK // labels)
    for start in range(0, rows, step):
        block = slice(start, min(rows, start + step))
        size = block.stop - start
        together, own = np.zeros((size, labels)), np.zeros(size)
        for arm in answers:
            cells = (np.arange(size) * labels + arm[:, block]).ravel()
            shares = np.bincount(cells, minlength=size * labels).reshape(size, labels) / len(arm)
            together += shares
            own += np.square(shares).sum(1)
        agreement = (np.square(together).sum(1) - own) / pairs
        found[block] = 1 - agreement
    return np.clip(np.round(found, DECIMALS), 0, 1)


def most_disputed(disagreement: np.ndarray, groups: np.ndarray, most: int) -> list[int]:
    """Row numbers, the most disputed first, of equals the first; one of each group, since its rows resemble each
    other. Rows on which all agree aren't disputed."""
    order = np.argsort(-disagreement, kind="stable")
    chosen, seen = list[int](), set[int]()
    for row in order[: np.count_nonzero(disagreement)].tolist():
        if len(chosen) >= most:
            break
        group = int(groups[row])
        if group not in seen:
            seen.add(group)
            chosen.append(row)
    return chosen


def _answered(arm: str, answers: np.ndarray, target: int, labels: Sequence[str]) -> Answered:
    """What most runs said; of answers given equally often, the first in the order of the labels."""
    votes = np.bincount(answers, minlength=len(labels))
    answer = int(votes.argmax())
    return Answered(arm, labels[answer], int(votes[answer]), len(answers), answer == target)
