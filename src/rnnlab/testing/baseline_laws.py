"""The laws that every baseline obeys, for rnnlab's own and for a plugin's.

    from rnnlab.testing import check_baseline

    def test_my_baseline():
        check_baseline(MyBaseline())

A broken law is an AssertionError that names it.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

import numpy as np
import safetensors.numpy

from rnnlab.answers.ctc import best_alignments
from rnnlab.answers.edits import align
from rnnlab.data.preprocessor import Preprocessor, Side
from rnnlab.data.sequences import IGNORE, Sequences, offsets_of
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import BEGIN, END, SPECIAL, UNKNOWN, WRITTEN, Vocabulary
from rnnlab.models.baselines import Baseline, Labelled, Learnt
from rnnlab.models.continuing import Continuing
from rnnlab.models.forecasting import Forecasting
from rnnlab.models.translating import Translating
from rnnlab.testing.suite import holding, survives_json

CLASSES, WORDS, CHANNELS = 3, 30, 2
HORIZON, SEASON = 3, 2
WORDS_OF_A_ROW = 3
TRAIN, HELD_OUT = 90, 30  # rows
TOLERANCE = 1e-4

_SPELLED = tuple(f"w{number}" for number in range(WORDS - len(WRITTEN)))
TRANSLATED = Preprocessor(
    vocabulary=Vocabulary((*WRITTEN, *_SPELLED), written=True),
    tokenizer=Tokenizer("whitespace"),
    writes=Side(vocabulary=Vocabulary((*WRITTEN, *_SPELLED), written=True), tokenizer=Tokenizer("whitespace")),
)

BASELINE_LAWS: dict[str, Callable[[Baseline], None]] = {}


def check_baseline(baseline: Baseline) -> None:
    """Hold a baseline to every law."""
    for law in BASELINE_LAWS.values():
        law(baseline)


def rows_for(baseline: Baseline, rows: int, seed: int) -> Labelled:
    """Rows in which the class can be seen: in the words, or in the height of the numbers."""
    random = np.random.default_rng(seed)
    if baseline.answers == "words":
        return _strings(rows, random)
    if baseline.answers == "tags":
        return _tagged(baseline, rows, random)
    if baseline.answers in ("next", "translation"):
        return _running(rows, random)
    targets = np.arange(rows) % CLASSES
    lengths = random.integers(1, 12, rows) + (HORIZON if baseline.answers == "forecast" else 0)
    each = np.repeat(targets, lengths)
    if baseline.inputs in ("features", "sound"):
        values = (random.normal(size=(lengths.sum(), CHANNELS)) + each[:, None]).astype(np.float32)
    else:
        own = random.random(lengths.sum()) < 0.6
        values = np.where(own, 2 + each, random.integers(2 + CLASSES, WORDS, lengths.sum())).astype(np.int32)
    return Labelled(values, offsets_of(lengths), targets)


def _strings(rows: int, random: np.random.Generator) -> Labelled:
    """Up to `WORDS_OF_A_ROW` words each, loud ones with quiet around them."""
    targets = np.full((rows, WORDS_OF_A_ROW), IGNORE)
    values, lengths = [], []
    for row in targets:
        said = random.integers(0, CLASSES, random.integers(1, WORDS_OF_A_ROW + 1))
        row[: len(said)] = said
        heights = [np.full((random.integers(6, 9), CHANNELS), -9.0)]
        for word in said:
            loud = np.stack([np.full(12, word), np.full(12, CLASSES - word)], 1)
            heights += [loud, np.full((random.integers(6, 9), CHANNELS), -9.0)]
        values.append(np.concatenate(heights))
        lengths.append(len(values[-1]))
    steps = np.concatenate(values)
    noisy = (steps + random.normal(scale=0.1, size=steps.shape)).astype(np.float32)
    return Labelled(noisy, offsets_of(np.array(lengths)), targets)


def _tagged(baseline: Baseline, rows: int, random: np.random.Generator, word: int | None = None) -> Labelled:
    """Each word has a tag of its own, most of the time. With ``word``, all rows consist of that one."""
    offsets = offsets_of(random.integers(1, 12, rows))
    ids = random.integers(2, WORDS, offsets[-1]).astype(np.int32)
    if word is not None:
        ids[:] = word
    other = random.random(len(ids)) < 0.1
    targets = np.where(other, random.integers(0, CLASSES, len(ids)), ids % CLASSES).astype(np.int64)
    words = Vocabulary((*SPECIAL, *(f"w{number}" for number in range(WORDS))))
    data = Sequences.end_to_end(ids, offsets, targets, np.arange(rows), target_offsets=offsets)
    return Labelled(*baseline.rows(data, Side(vocabulary=words)), targets)


def _running(rows: int, random: np.random.Generator, word: int | None = None) -> Labelled:
    """Texts in which most tokens tell the next one; targets are those. With ``word``, of nothing else."""
    values, targets = [], []
    for length in random.integers(2, 12, rows):
        tokens = [int(random.integers(4, WORDS))]
        while len(tokens) < length:
            follows = 4 + (tokens[-1] * 7) % (WORDS - 4)
            tokens.append(follows if random.random() < 0.8 else int(random.integers(4, WORDS)))
        tokens = tokens if word is None else [word] * length
        values.append(np.array([BEGIN, *tokens], np.int32))
        targets.append(np.array([*tokens, END], np.int64))
    return Labelled(np.concatenate(values), offsets_of(np.array(list(map(len, values)))), np.concatenate(targets))


def _as_sequences(rows: Labelled) -> Sequences:
    groups = np.arange(len(rows.offsets) - 1)
    return Sequences.end_to_end(rows.values, rows.offsets, rows.targets, groups, target_offsets=rows.offsets)


def _as_windows(rows: Labelled) -> Sequences:
    """Each row is a window, and behind it what is asked."""
    groups = np.arange(len(rows.offsets) - 1)
    scales = np.ones((1, 3, CHANNELS))
    return Sequences(rows.values, rows.offsets[:-1], rows.offsets[1:] - HORIZON, rows.values, groups, horizon=HORIZON,
                     series=np.zeros(len(groups), np.int64), scales=scales)  # fmt: skip


def _law(check: Callable[[Baseline], None]) -> Callable[[Baseline], None]:
    @wraps(check)
    def held(baseline: Baseline) -> None:
        with holding(f"'{baseline.kind}'", check):
            check(baseline)

    BASELINE_LAWS[check.__name__] = held
    return held


@_law
def settings_survive_json(baseline: Baseline) -> None:
    """The settings, written out and read again, are the same."""
    survives_json(baseline)


@_law
def the_same_rows_teach_the_same(baseline: Baseline) -> None:
    """Fitting twice gives the same arrays; and its input is left as it was."""
    train = rows_for(baseline, TRAIN, 0)
    given = [array.copy() for array in train]
    first, again = _fitted(baseline), _fitted(baseline)
    assert first.keys() == again.keys(), "fitting twice gives other arrays"
    for name in first:
        assert np.array_equal(first[name], again[name]), f"fitting twice gives another '{name}'"
    _fit(baseline, train, rows_for(baseline, HELD_OUT, 1))
    assert all(np.array_equal(a, b) for a, b in zip(train, given, strict=True)), "fitting changed the rows"


@_law
def the_order_of_training_rows_does_not_matter(baseline: Baseline) -> None:
    """Shares of the classes differ by at most 5 points: a fit may end before its optimum, and not elsewhere."""
    train, valid = rows_for(baseline, TRAIN, 0), rows_for(baseline, HELD_OUT, 1)
    order = np.random.default_rng(2).permutation(TRAIN)
    if isinstance(baseline, Forecasting):  # rows are views of a series, whose steps have an order that does matter
        windows = _as_windows(train)
        views = replace(windows, starts=windows.starts[order], ends=windows.ends[order], groups=windows.groups[order])
        shuffled = baseline.fit_windows(views, _as_windows(valid), SEASON)
    else:
        shuffled = _fit(baseline, _chosen(train, order), valid)
    found, expected = (np.exp(_logits(baseline, learnt, valid)) for learnt in (shuffled, _fitted(baseline)))
    gap = float(np.abs(found / found.sum(1, keepdims=True) - expected / expected.sum(1, keepdims=True)).max())
    assert gap <= 0.05, f"after another order a share differs by {gap:.2f}"


@_law
def outputs_have_a_row_for_each_row(baseline: Baseline) -> None:
    """(rows, C), or (N, C + 1), finite."""
    rows = rows_for(baseline, HELD_OUT, 3)
    found = _logits(baseline, _fitted(baseline), rows)
    wanted = {
        "row": (HELD_OUT, CLASSES),
        "words": (len(rows.values), CLASSES + 1),
        "tags": (len(rows.values), CLASSES),
        "next": (len(rows.values), 2),
        "translation": (HELD_OUT, WORDS),
        "forecast": (HELD_OUT, HORIZON * CHANNELS),
    }[baseline.answers]
    assert found.shape == wanted, f"outputs are {found.shape}, not {wanted}"
    assert np.isfinite(found).all(), "outputs are not finite"


@_law
def answers_do_not_depend_on_neighbours(baseline: Baseline) -> None:
    """A row alone gets what it gets among others, and unknown words are no error."""
    learnt, rows = _fitted(baseline), rows_for(baseline, HELD_OUT, 4)
    together = _logits(baseline, learnt, rows)
    for row in range(0, HELD_OUT, 5):
        alone = _logits(baseline, learnt, _chosen(rows, np.array([row])))
        of_row = (
            slice(row, row + 1)
            if baseline.answers in ("row", "translation", "forecast")
            else slice(*rows.offsets[row : row + 2])
        )
        _close(alone, together[of_row], f"of row {row} alone")
    if baseline.answers == "tags":
        unseen = _tagged(baseline, 3, np.random.default_rng(0), UNKNOWN)
        assert np.isfinite(_logits(baseline, learnt, unseen)).all(), "words that it never saw have no finite outputs"
    elif baseline.answers == "next":
        unseen = _running(3, np.random.default_rng(0), UNKNOWN)
        assert np.isfinite(_logits(baseline, learnt, unseen)).all(), "words that it never saw have no finite outputs"
    elif baseline.inputs in ("any", "tokens"):
        unseen = Labelled(np.array([WORDS + 5, WORDS + 6], np.int32), np.array([0, 2]), np.zeros(1, np.int64))
        assert np.isfinite(_logits(baseline, learnt, unseen)).all(), "words that it never saw have no finite outputs"


@_law
def what_is_learnt_is_plain_arrays(baseline: Baseline) -> None:
    """It survives the file of a run."""
    learnt, rows = _fitted(baseline), rows_for(baseline, HELD_OUT, 5)
    read = safetensors.numpy.load(safetensors.numpy.save({k: np.ascontiguousarray(v) for k, v in learnt.items()}))
    _close(_logits(baseline, read, rows), _logits(baseline, learnt, rows), "after it was written and read")


@_law
def answers_are_not_worse_than_the_majority(baseline: Baseline) -> None:
    """On rows in which the class can be seen; of texts, than any token as often as any other."""
    train = rows_for(baseline, TRAIN, 0)
    if isinstance(baseline, Continuing):
        nats = baseline.surprise(_fitted(baseline), _as_sequences(train)).mean()
        assert nats < np.log(WORDS), (
            f"its own training texts have {nats:.2f} nats per token; {np.log(WORDS):.2f} is chance"
        )
        return
    if isinstance(baseline, Translating):
        found = baseline.written(_fitted(baseline), _as_sequences(train), TRANSLATED)
        assert all(ids[-1:] == [END] and END not in ids[:-1] for ids in found), "a text that is written has no end"
        return
    if isinstance(baseline, Forecasting):
        learnt, windows = _fitted(baseline), _as_windows(train)
        later = windows.values.copy()
        later[windows.ends[0] :] += 100 + np.arange(len(later) - windows.ends[0])[:, None]
        others = replace(windows, values=later, targets=later)
        before, after = (baseline.forecast(learnt, one)[0] for one in (windows, others))
        assert np.allclose(before, after, atol=1e-6), "what comes at or after an origin changes its forecast"
        return
    found = _logits(baseline, _fitted(baseline), train)
    right = _share_of_words(found, train) if baseline.answers == "words" else (found.argmax(1) == train.targets).mean()
    assert right >= 1 / CLASSES - 1e-9, f"{right:.0%} of its own training rows are right; the largest class has a third"


@_law
def what_comes_next_is_as_surprising_as_it_is_improbable(baseline: Baseline) -> None:
    """Of one that continues texts: shares of all tokens sum to 1, and are those by which it is surprised."""
    if not isinstance(baseline, Continuing):
        return
    learnt, rows = _fitted(baseline), rows_for(baseline, 3, 6)
    nats = baseline.surprise(learnt, _as_sequences(rows))
    for row in range(3):
        tokens = rows.targets[rows.offsets[row] : rows.offsets[row + 1]]
        for at, token in enumerate(tokens.tolist()):
            shares = baseline.next_shares(learnt, tokens[None].astype(np.int32), np.array([at]))[0]
            assert abs(shares.sum() - 1) < 1e-9, f"the shares of what comes next sum to {shares.sum()}"
            gap = abs(-np.log(shares[token]) - nats[rows.offsets[row] + at])
            assert gap < 1e-9, f"token {at} of row {row}: share and surprise differ by {gap:.2g} nats"


def _share_of_words(found: np.ndarray, rows: Labelled) -> float:
    """That were heard as what they are."""
    heard, ends = best_alignments(found, rows.offsets)
    right = 0
    for row, targets in enumerate(rows.targets):
        said = targets[targets != IGNORE].tolist()
        taken_for, _ = align(said, heard[ends[row] : ends[row + 1]].tolist())
        right += sum(one == other for one, other in zip(said, taken_for, strict=True))
    return right / int((rows.targets != IGNORE).sum())


def _fitted(baseline: Baseline) -> Learnt:
    return _fit(baseline, rows_for(baseline, TRAIN, 0), rows_for(baseline, HELD_OUT, 1))


def _fit(baseline: Baseline, train: Labelled, valid: Labelled) -> Learnt:
    if isinstance(baseline, Continuing):
        return baseline.fit_text(_as_sequences(train), _as_sequences(valid), WORDS)
    if isinstance(baseline, Forecasting):
        return baseline.fit_windows(_as_windows(train), _as_windows(valid), SEASON)
    if isinstance(baseline, Translating):
        return baseline.fit_pairs(_as_sequences(train), _as_sequences(valid), TRANSLATED)
    return baseline.fit_chosen(train, valid, CLASSES)


def _logits(baseline: Baseline, learnt: Learnt, rows: Labelled) -> np.ndarray:
    """Up to a constant per row, which means nothing; of one that continues texts, for and against each token; of one
    that translates, how far behind each token is written for the last time; of one that forecasts, all points."""
    if isinstance(baseline, Forecasting):
        return baseline.forecast(learnt, _as_windows(rows)).reshape(len(rows.offsets) - 1, -1)
    if isinstance(baseline, Translating):
        found = np.zeros((len(rows.offsets) - 1, WORDS))
        for row, ids in enumerate(baseline.written(learnt, _as_sequences(rows), TRANSLATED)):
            found[row, ids] = np.arange(1, len(ids) + 1)
        return found
    if isinstance(baseline, Continuing):
        nats = baseline.surprise(learnt, _as_sequences(rows))
        return np.stack([nats, -nats], axis=1)
    found = baseline.logits(learnt, rows.values, rows.offsets).astype(np.float64)
    return found - found.mean(1, keepdims=True)


def _chosen(rows: Labelled, chosen: np.ndarray) -> Labelled:
    parts = [rows.values[rows.offsets[row] : rows.offsets[row + 1]] for row in chosen]
    targets = rows.targets[chosen]
    if len(rows.targets) == rows.offsets[-1] != len(rows.offsets) - 1:  # one per token
        targets = np.concatenate([rows.targets[rows.offsets[row] : rows.offsets[row + 1]] for row in chosen])
    return Labelled(np.concatenate(parts), offsets_of(np.array([len(p) for p in parts])), targets)


def _close(found: np.ndarray, expected: np.ndarray, where: str) -> None:
    gap = float(np.abs(found - expected).max())
    assert gap <= TOLERANCE * max(1.0, float(np.abs(expected).max())), f"outputs {where} differ by {gap:.3g}"
