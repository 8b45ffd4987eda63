"""Where taggers differ: tag by tag or type by type, on unseen words, and the sentences that they tag differently.

All figures come from the recorded predictions. Sentences are shown with the tags of one run per arm, the best by
validation: tags that most runs agree on, token by token, may be no answer that any run gave."""

from collections.abc import Sequence

import numpy as np

from rnnlab.comparing.chapters import (
    Confusion,
    Differences,
    DisputedSentence,
    TaggedBy,
    TaggerScore,
    Tagging,
)
from rnnlab.comparing.differences import MOST_LABELS, class_scores, disagreements, label_scores, most_disputed
from rnnlab.comparing.records import Record, by_arm
from rnnlab.core.errors import RunError
from rnnlab.data.tagged import schemes
from rnnlab.tasks.base import Task
from rnnlab.training.record import Recorded

SHOWN_TOKENS = 100  # of a sentence, the first
OUTSIDE = "O"
NO_TYPE = "–"  # of tags such as B, M, E and S alone, which part words


def tag_differences(records: Sequence[Record], labels: Sequence[str]) -> Differences:
    """Without the sentences, which need the data. ``labels`` are the tags behind the recorded numbers."""
    arms = {
        arm: [record.answers for record in runs if record.finished]
        for arm, runs in by_arm(records).items()
        if any(record.finished for record in runs)
    }
    if not labels or not arms:
        return Differences((), (), (), ())
    first = next(iter(arms.values()))[0]
    scheme = first.answer.scheme
    details = {
        arm: [one.answer.details(one.kept("test"), one.truth("test")) for one in runs] for arm, runs in arms.items()
    }
    names = tuple(kind or NO_TYPE for kind in schemes.types_of(labels, scheme)) if scheme else tuple(labels)
    kind = "type_confusion" if scheme else "tag_confusion"
    cells = {arm: np.mean([one[kind] for one in found], axis=0) for arm, found in details.items()}
    if scheme:
        tallies = {arm: [_tally(one["types"]) for one in found] for arm, found in details.items()}
        classes = [score for arm, found in tallies.items() for score in label_scores(arm, found, names)]
    else:
        classes = [score for arm, confusion in cells.items() for score in class_scores(arm, confusion, names)]
    return Differences(
        labels=names,
        classes=tuple(classes),
        confusions=tuple(
            Confusion(arm, len(arms[arm]), tuple(map(tuple, confusion.tolist())))
            for arm, confusion in cells.items()
            if len(names) <= MOST_LABELS
        ),
        rows=(),
        counted="entities" if scheme else "tokens",
        tagging=Tagging(
            sentences=len(first),
            tokens=int(first.counts["steps"].sum()),
            unseen=int(first.counts["unknown"].sum()),
            scheme=scheme,
            arms=tuple(_score(arm, runs, [one.get("illegal") for one in details[arm]]) for arm, runs in arms.items()),
        ),
    )


def _tally(types: dict[str, dict[str, int]]) -> np.ndarray:
    """(3, types): right, answered and true entities."""
    return np.array([[one[name] for one in types.values()] for name in ("right", "answered", "true")])


def _score(arm: str, runs: Sequence[Recorded], illegal: Sequence[int | None]) -> TaggerScore:
    """Of all runs together."""
    names = ("steps", "right_steps", "unknown", "right_unknown", "rows", "right_rows")
    total = {name: float(sum(run.counts[name].sum() for run in runs)) for name in names}
    seen = total["steps"] - total["unknown"]
    found = [number for number in illegal if number is not None]
    return TaggerScore(
        arm,
        seen=(total["right_steps"] - total["right_unknown"]) / seen if seen else None,
        unseen=total["right_unknown"] / total["unknown"] if total["unknown"] else None,
        whole=total["right_rows"] / total["rows"],
        illegal=float(np.mean(found)) if found else None,
    )


def _of_entities(tags: np.ndarray, offsets: np.ndarray, labels: Sequence[str], scheme: str | None) -> np.ndarray:
    """The tags of entities; what is part of none is outside, however it was tagged. Plain tags as they are."""
    if scheme is None:
        return tags
    found = schemes.find(tags, offsets, labels, scheme)
    edges = np.zeros(len(tags) + 1, np.int64)
    edges[found.starts] += 1
    np.subtract.at(edges, found.ends, 1)  # an entity may end where the next begins
    return np.where(np.cumsum(edges[:-1]) > 0, tags, labels.index(OUTSIDE))


def disputed_sentences(
    chosen: Sequence[Record], labels: Sequence[str], task: Task, most: int = 12
) -> tuple[DisputedSentence, ...]:
    """The test rows in whose first tokens tags, or entities, differ most between ``chosen``, a finished run per arm;
    `DataError` when the source changed."""
    answers: dict[str, np.ndarray] = {}
    labels = list(labels) if OUTSIDE in labels else [*labels, OUTSIDE]
    targets, offsets, groups = np.zeros(0, int), np.zeros(1, int), np.zeros(0, int)
    for record in chosen:
        saved = record.answers
        truth, tags = saved.truth("test"), saved.answer.tags(saved.kept("test"))
        if tags is None or truth.offsets is None:
            return ()
        if answers and not np.array_equal(truth.values, targets):
            raise RunError(
                "{path}: other test rows than those of {other}; compare them apart",
                path=record.path,
                other=chosen[0].path,
            )
        answers[record.label] = _of_entities(tags, truth.offsets, labels, saved.answer.scheme)
        targets, offsets, groups = truth.values, truth.offsets, saved.groups
    if len(answers) < 2:
        return ()
    differ = disagreements([tags[None] for tags in answers.values()], len(labels))
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    shown = np.arange(len(targets)) - offsets[owner] < SHOWN_TOKENS
    by_row = np.bincount(owner[shown], differ[shown], len(offsets) - 1)
    rows = most_disputed(by_row, groups, most)
    texts = task.sentences(rows) if rows else None
    if texts is None:
        return ()

    def named(tags: np.ndarray, row: int) -> tuple[str, ...]:
        return tuple(labels[number] for number in tags[offsets[row] : offsets[row + 1]].tolist())

    return tuple(
        DisputedSentence(
            row,
            tuple(tokens),
            named(targets, row),
            tuple(TaggedBy(arm, named(tags, row)) for arm, tags in answers.items()),
        )
        for row, tokens in zip(rows, texts, strict=True)
    )
