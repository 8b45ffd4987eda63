"""Where translators differ: by the length of what is read, with a beam and without, and sentence by sentence. All
figures come from the recorded counts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rnnlab.answers.base import References
from rnnlab.answers.chrf import CHRF
from rnnlab.answers.score import Counts, Score
from rnnlab.answers.translation import EXACT, ExactTranslation, Translation, of_greedy
from rnnlab.comparing.comparison import length_buckets
from rnnlab.comparing.records import Record
from rnnlab.core.errors import RunError
from rnnlab.judging.findings import Estimate, Unit
from rnnlab.judging.spread import group_sums, measure
from rnnlab.training.record import Recorded

if TYPE_CHECKING:
    from rnnlab.inspecting.translating import Grid, WritingExposure

ALPHA = 0.05
MOST_BUCKETS, FEWEST_ROWS = 8, 25  # of lengths, and of test rows in each
SHOWN = 4  # sentences of each side
WORTH_SHOWING = 0.1  # of chrF: sentences that differ by less are translated about as well

SourcesOf = Callable[[Sequence[int]], Sequence[str]]
"""What is read in some test rows."""
TextsOf = Callable[[Record, Sequence[int]], Sequence[str]]
"""What a run wrote for them."""


@dataclass(frozen=True)
class ByLength:
    """The score of an arm on the test rows of some lengths: of all their counts together, and the mean of its runs."""

    arm: str
    parts: tuple[tuple[str, int, Estimate], ...]  # lengths ("4–6"), test rows, the score


@dataclass(frozen=True)
class BeamGain:
    """What a beam is worth to a network, the mean of its runs."""

    arm: str
    beam: Estimate
    greedy: Estimate
    gain: Estimate  # the first less the second, row by row; positive where the beam is better, whatever the score


@dataclass(frozen=True)
class Rendered:
    text: str
    right: bool  # one of the references to the letter
    chrf: float  # of this sentence alone


@dataclass(frozen=True)
class SentencePair:
    """A test sentence as two arms translate it."""

    row: int  # its place among the test rows, from 0
    source: str
    references: tuple[str, ...]
    ours: Rendered
    theirs: Rendered


@dataclass(frozen=True)
class Beside:
    """The best run of an arm beside that of another: how many test sentences each translates better, and those with
    the largest difference."""

    ours: str
    theirs: str
    ahead: int
    behind: int
    rows: int
    ahead_shown: tuple[SentencePair, ...]
    behind_shown: tuple[SentencePair, ...]


@dataclass(frozen=True)
class SentenceMap:
    """Where a model looked before it wrote each of T tokens, among S tokens that it read."""

    row: int
    read: tuple[str, ...]
    written: tuple[str, ...]
    weights: "Grid"  # (T, S)
    aligned: "Grid | None"  # (T, S): how likely each was written for each, by IBM model 1; None where it didn't run


@dataclass(frozen=True)
class Translated:
    """What there is to tell of translators alone."""

    score: str  # by which they are shown, its title
    unit: Unit
    lower_is_better: bool
    by_length: tuple[ByLength, ...]  # empty where all test rows are about as long
    beam: int  # how wide it was
    beams: tuple[BeamGain, ...]
    beside: tuple[Beside, ...]  # what is recommended, or else the best, beside each other one
    one_right: bool  # whether one text alone is right, so that sentences are right or wrong
    looked: str | None = None  # the arm whose maps are shown
    maps: tuple[SentenceMap, ...] = ()
    exposures: "tuple[tuple[str, WritingExposure], ...]" = ()  # by arm, of its best run


def translated(
    records: Sequence[Record],
    chosen: Sequence[Record],
    ours: str | None,
    references: References,
    sources_of: SourcesOf,
    texts_of: TextsOf,
) -> Translated | None:
    """``chosen`` is a finished run per arm, of which ``ours`` is shown beside the others; all have the same test rows,
    whose right translations are the ``references``. None without a finished run."""
    finished = [_Run(record, record.answers) for record in records if record.finished]
    if not finished or not chosen:
        return None
    arms: dict[str, list[_Run]] = {}
    for run in finished:
        arms.setdefault(run.record.label, []).append(run)
    best = [run for record in chosen for run in finished if run.record is record]
    answer = best[0].saved.answer
    assert isinstance(answer, Translation)
    score = next((one for one in answer.scores if one.name in ("bleu", "chrf", "exact")), answer.judged)
    one_right = isinstance(answer, ExactTranslation)
    return Translated(
        score=score.title,
        unit=score.unit,
        lower_is_better=score.lower_is_better,
        by_length=_by_length(arms, score),
        beam=answer.manner.beam,
        beams=tuple(gain for arm, runs in arms.items() if (gain := _beam_gain(arm, runs, score)) is not None),
        beside=_beside(best, ours, one_right, _Texts(references, sources_of, texts_of)),
        one_right=one_right,
    )


@dataclass(frozen=True)
class _Run:
    record: Record
    saved: Recorded


@dataclass(frozen=True)
class _Texts:
    references: References
    sources_of: SourcesOf
    texts_of: TextsOf


# --- by length --------------------------------------------------------------------------------------------------------


def _by_length(arms: dict[str, list[_Run]], score: Score) -> tuple[ByLength, ...]:
    first = next(iter(arms.values()))[0].saved
    buckets = min(MOST_BUCKETS, max(1, len(first) // FEWEST_ROWS))
    edges, names = length_buckets(first.lengths, buckets)
    if len(names) < 2:
        return ()
    part = np.minimum(np.searchsorted(edges, first.lengths), len(names) - 1)
    found = []
    for arm, runs in arms.items():
        counts = [run.saved.counts for run in runs]
        cells = []
        for number, name in enumerate(names):
            inside = part == number
            rows = np.stack([score.per_row(_some(one, score, inside)) for one in counts])
            cells.append((name, int(inside.sum()), estimate(rows, first.groups[inside], score)))
        found.append(ByLength(arm, tuple(cells)))
    return tuple(found)


def _some(counts: Counts, score: Score, rows: np.ndarray) -> Counts:
    return {name: counts[name][rows] for name in score.columns}


def estimate(scores: np.ndarray, groups: np.ndarray, score: Score | None = None) -> Estimate:
    """The mean of (S, N) scores, or of differences of two such, and its 95 % interval: the luck of the seeds and of
    the groups of test rows. That of a ``score`` stays where scores can be."""
    spread = measure(*group_sums(scores, groups))
    reach = spread.reach(ALPHA)
    low, high = spread.mean - reach, spread.mean + reach
    if score is not None and score.unit != "number":
        low, high = max(0.0, low), min(1.0, high)
    return Estimate(spread.mean, low, high)


# --- with a beam and without ------------------------------------------------------------------------------------------


def _beam_gain(arm: str, runs: Sequence[_Run], score: Score) -> BeamGain | None:
    """None of a baseline, which searches nothing."""
    answers, greedy = [run.saved for run in runs], of_greedy(score, score.title)
    if any(name not in one.counts for one in answers for name in greedy.columns):
        return None
    groups = answers[0].groups
    wide, narrow = (np.stack([one.per_row(of) for one in answers]) for of in (score, greedy))
    gain = estimate(score.sign * (wide - narrow), groups)
    return BeamGain(arm, estimate(wide, groups, score), estimate(narrow, groups, score), gain)


# --- sentence by sentence ---------------------------------------------------------------------------------------------


def _beside(runs: Sequence[_Run], ours: str | None, one_right: bool, texts: _Texts) -> tuple[Beside, ...]:
    mine = next((run for run in runs if run.record.label == ours), runs[0])
    groups, own = mine.saved.groups, _goodness(mine, one_right)
    least = 0.0 if one_right else WORTH_SHOWING
    found = []
    for other in runs:
        if other is mine:
            continue
        theirs = _goodness(other, one_right)
        if not np.array_equal(other.saved.groups, groups):
            raise RunError(
                "{path}: other test rows than those of {other}; compare them apart",
                path=other.record.path,
                other=mine.record.path,
            )
        gap = own - theirs
        ahead, behind = (_pairs(_largest(side, groups, least), mine, other, texts) for side in (gap, -gap))
        better, worse = int((gap > least).sum()), int((-gap > least).sum())
        found.append(Beside(mine.record.label, other.record.label, better, worse, len(gap), ahead, behind))
    return tuple(found)


def _goodness(run: _Run, one_right: bool) -> np.ndarray:
    """(test rows,): whether each sentence is right, where one text alone is; else its chrF, which says something of
    the shortest sentence, too."""
    return _right(run.saved.counts) if one_right else _chrf(run.saved.counts)


def _right(counts: Counts) -> np.ndarray:
    return np.asarray(counts[EXACT.columns[0]], np.float64)


def _chrf(counts: Counts) -> np.ndarray:
    columns = [np.asarray(counts[name], np.float64) for name in CHRF.columns]
    return np.array([CHRF.value(np.concatenate(parts)) for parts in zip(*columns, strict=True)])


def _largest(gap: np.ndarray, groups: np.ndarray, least: float) -> list[int]:
    """Rows with the largest gap, one of each group, whose rows resemble each other."""
    found, seen = list[int](), set[int]()
    for row in np.argsort(-gap, kind="stable").tolist():
        if gap[row] <= least or len(found) == SHOWN:
            break
        if int(groups[row]) not in seen:
            seen.add(int(groups[row]))
            found.append(row)
    return found


def _pairs(rows: Sequence[int], mine: _Run, other: _Run, texts: _Texts) -> tuple[SentencePair, ...]:
    if not rows:
        return ()
    ours, theirs = (_rendered(run, rows, texts) for run in (mine, other))
    return tuple(
        SentencePair(row, source, tuple(texts.references[row]), one, another)
        for row, source, one, another in zip(rows, texts.sources_of(rows), ours, theirs, strict=True)
    )


def _rendered(run: _Run, rows: Sequence[int], texts: _Texts) -> list[Rendered]:
    some = {name: np.asarray(column)[list(rows)] for name, column in run.saved.counts.items()}
    written = texts.texts_of(run.record, rows)
    return [
        Rendered(text, bool(right), float(chrf))
        for text, right, chrf in zip(written, _right(some), _chrf(some), strict=True)
    ]
