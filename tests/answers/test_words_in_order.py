"""Words without places: losses, decodings and word error rates against brute force and against jiwer."""

import itertools
from typing import Any

import jiwer
import numpy as np
import pytest
import torch

from rnnlab.answers import ctc
from rnnlab.answers.edits import MISSED, align
from rnnlab.answers.prediction import Asked
from rnnlab.answers.words import IMPOSSIBLE, MOST_BESIDE, Words, heard_beside
from rnnlab.data.batches import Batch
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import IGNORE, Sequences, Targets, offsets_of

RNG = np.random.default_rng(0)


def collapsed(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(word for word, _ in itertools.groupby(path) if word != blank)


def every_share(scores: np.ndarray) -> dict[tuple[int, ...], float]:
    """All words that a row (T, C + 1) can be, each with the sum over its alignments, one by one."""
    shares = np.exp(ctc.log_shares(scores))
    found: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(scores.shape[1]), repeat=len(scores)):
        words = collapsed(path, scores.shape[1] - 1)
        found[words] = found.get(words, 0.0) + float(np.prod([shares[t, word] for t, word in enumerate(path)]))
    return found


def batch_of(lengths: list[int], targets: list[list[int]]) -> Batch:
    longest = max(map(len, targets))
    padded = [row + [IGNORE] * (longest - len(row)) for row in targets]
    return Batch(torch.zeros(len(lengths), max(lengths), 1), torch.tensor(lengths), torch.tensor(padded))


def answered(heard: list[list[int]], steps: int, words: int) -> torch.Tensor:
    """Outputs whose best alignments are these words, a blank behind each."""
    out = torch.zeros(len(heard), steps, words + 1)
    out[:, :, words] = 5
    for row, said in enumerate(heard):
        for place, word in enumerate(said):
            out[row, 2 * place, word] = 9
    return out


@pytest.mark.parametrize(("steps", "words"), [(1, 2), (3, 2), (5, 2), (4, 3)])
def test_a_wide_beam_finds_all_words_with_the_shares_of_brute_force(steps: int, words: int):
    for _ in range(5):
        scores = RNG.normal(size=(steps, words + 1)) * 2
        expected = every_share(scores)
        found = dict(ctc.best_words(scores, beam=10_000, most=10_000))
        assert found.keys() == expected.keys()
        for said, share in expected.items():
            assert np.exp(found[said]) == pytest.approx(share, rel=1e-9)
        assert sum(expected.values()) == pytest.approx(1)
        best, _ = ctc.best_words(scores, beam=10_000)[0]
        assert expected[best] == max(expected.values())


def test_the_loss_is_that_of_brute_force():
    scores = RNG.normal(size=(5, 4))
    for words, share in every_share(scores).items():
        if not words:
            continue
        targets = torch.tensor([words])
        found = ctc.nats(torch.from_numpy(scores)[None], torch.tensor([5]), targets, torch.tensor([len(words)]))
        assert float(found) == pytest.approx(-np.log(share), rel=1e-6)


def test_greedy_is_the_best_alignment_and_a_beam_sums_alignments():
    """The best path of blanks is 0.36 of all, more than any other; but all paths of the word together have 0.64."""
    scores = np.log(np.array([[0.4, 0.6], [0.4, 0.6]]))
    words, offsets = ctc.best_alignments(scores, np.array([0, 2]))
    assert (words.tolist(), offsets.tolist()) == ([], [0, 0])
    assert ctc.best_words(scores, 4)[0][0] == (0,)
    assert Words(beam=1).decoded(scores, np.array([0, 2])) == [[]]
    assert Words(beam=4).decoded(scores, np.array([0, 2])) == [[0]]


def test_best_alignments_are_those_of_each_row_alone():
    lengths = RNG.integers(1, 9, 40)
    scores, offsets = RNG.normal(size=(lengths.sum(), 4)), offsets_of(lengths)
    heard, ends = ctc.best_alignments(scores, offsets)
    for row in range(len(lengths)):
        path = tuple(scores[offsets[row] : offsets[row + 1]].argmax(1).tolist())
        assert tuple(heard[ends[row] : ends[row + 1]].tolist()) == collapsed(path, 3)


def test_word_error_rates_are_those_of_jiwer():
    true = [RNG.integers(0, 4, RNG.integers(1, 7)).tolist() for _ in range(300)]
    heard = [RNG.integers(0, 4, RNG.integers(0, 8)).tolist() for _ in range(300)]
    answer, steps = Words(), 16
    kept = answer.keep(answered(heard, steps, 4), batch_of([steps] * 300, true))
    flat = np.concatenate([kept["heard"][row, : len(words)] for row, words in enumerate(true)])
    arrays: dict[str, Any] = {name: part.numpy() for name, part in kept.items()} | {"heard": flat}
    targets = Targets(np.concatenate(true), offsets_of(np.array(list(map(len, true)))))
    counts = answer.counts(arrays, targets)
    for row in range(300):
        told = jiwer.process_words(" ".join(map(str, true[row])), " ".join(map(str, heard[row])))
        assert counts["edits"][row] == told.substitutions + told.deletions + told.insertions
    values = answer.values(arrays, targets)
    assert values["wer"] == pytest.approx(
        jiwer.wer([" ".join(map(str, one)) for one in true], [" ".join(map(str, one)) for one in heard])
    )
    assert values["exact"] == np.mean([one == other for one, other in zip(true, heard, strict=True)])


@pytest.mark.parametrize(
    ("true", "heard", "expected"),
    [
        ([1, 2, 3], [1, 2, 3], ([1, 2, 3], [])),
        ([1, 2, 3], [1, 3], ([1, MISSED, 3], [])),
        ([1, 2], [1, 4, 2, 2], ([1, 2], [(1, 4), (1, 2)])),
        ([1, 2], [7, 1, 2, 8, 9], ([1, 2], [(0, 7), (2, 8), (2, 9)])),
        ([1, 2], [], ([MISSED, MISSED], [])),
        ([], [5], ([], [(0, 5)])),
        ([1, 2], [3, 2], ([3, 2], [])),
    ],
)
def test_each_word_is_told_what_it_was_heard_as(true: list[int], heard: list[int], expected: Any):
    assert align(true, heard) == expected


def test_what_was_added_is_kept_with_its_place():
    """From what is kept, what was heard is put together again."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        true = rng.integers(0, 4, rng.integers(1, 6)).tolist()
        heard = [word for word, _ in itertools.groupby(rng.integers(0, 4, rng.integers(0, 9)).tolist())]
        kept = Words().keep(answered([heard], 20, 4), batch_of([20], [true]))
        beside = heard_beside(kept["beside"][0].numpy())
        again = list(beside[0])
        for word, more in zip(kept["heard"][0].tolist(), beside[1:], strict=True):
            again += [*([] if word == MISSED else [word]), *more]
        assert int(kept["added"][0]) >= sum(map(len, beside))
        if all(len(more) < MOST_BESIDE for more in beside):
            assert again == heard
            assert int(kept["added"][0]) == sum(map(len, beside))


def test_rows_too_short_for_their_words_teach_nothing_and_are_counted():
    """Two equal words need a blank between them."""
    out = torch.randn(3, 4, 3, requires_grad=True)
    batch = batch_of([2, 3, 4], [[1, 1], [1, 1], [0, 1]])
    Words().loss(out, batch).backward()
    assert out.grad is not None
    assert not out.grad[0].any()
    assert out.grad[1, :3].any()
    assert not out.grad[1, 3].any()
    kept = Words().keep(out.detach(), batch)
    assert kept["impossible"].tolist() == [True, False, False]
    assert float(kept["nats"][0]) == pytest.approx(2 * IMPOSSIBLE)


def test_right_counts_whole_rows():
    heard = [[0, 1], [0, 1], [1], [], [2, 2]]
    batch = batch_of([12] * 5, [[0, 1], [1, 0], [1, 1], [2], [2, 2]])
    assert Words().right(answered(heard, 12, 3), batch) == 2


def test_predictions_tell_words_and_alternatives():
    scores = RNG.normal(size=(5, 3))
    shares = every_share(scores)
    rows = Sequences.end_to_end(np.zeros((5, 1), np.float32), np.array([0, 5]), np.zeros(1, np.int64), np.zeros(1))
    asked = Asked(["a.wav"], rows, np.ones(1), Preprocessor(labels=("no", "yes")))
    for beam in (1, 50):
        (told,) = Words(beam).predictions(scores, asked)
        names = {"no": 0, "yes": 1}
        assert told.probability == pytest.approx(shares[tuple(names[word] for word in told.words)])
        for label, share in told.probabilities.items():
            assert share == pytest.approx(shares[tuple(names[word] for word in label.split())])
        assert told.to_dict()["words"] == list(told.words)
    assert told.label == told.top(1)[0][0]


def test_silence_is_what_networks_begin_with():
    targets = Targets(np.array([0, 1, 1]), np.array([0, 1, 3]))
    assert Words().chance(targets) == 1.0
