"""Several labels per row: scores are scikit-learn's, thresholds are chosen on validation rows and are worth it."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score
from sklearn.metrics import f1_score as typed_f1_score

from rnnlab.answers.base import Kept
from rnnlab.answers.multi_label import MultiLabel
from rnnlab.answers.prediction import Asked
from rnnlab.answers.thresholds import By, choose_thresholds
from rnnlab.data.batches import Batch
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences, Targets

f1_score: Any = typed_f1_score  # whose zero_division may well be a number


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(2, 6), st.integers(2, 60), st.integers(0, 100))
def test_scores_equal_scikit_learn(classes: int, rows: int, seed: int):
    random = np.random.default_rng(seed)
    kept = {"logits": random.normal(size=(rows, classes)).astype(np.float32), "cuts": random.normal(size=classes)}
    true = (random.random((rows, classes)) < 0.3).astype(np.uint8)
    answered = (kept["logits"] >= kept["cuts"]).astype(np.uint8)
    found = MultiLabel().values(kept, Targets(true))
    assert found["micro_f1"] == pytest.approx(f1_score(true, answered, average="micro", zero_division=0))
    assert found["exact"] == pytest.approx(accuracy_score(true, answered))
    occurring = (true | answered).any(0)  # a label that nobody has and nobody gives says nothing
    if occurring.sum() > 1:  # scikit-learn takes a single column for two classes
        expected = f1_score(true[:, occurring], answered[:, occurring], average="macro", zero_division=0)
        assert found["macro_f1"] == pytest.approx(expected)
    losses = torch.nn.functional.binary_cross_entropy_with_logits(
        torch.from_numpy(kept["logits"]).double(), torch.from_numpy(true).double(), reduction="sum"
    )
    assert found["loss"] == pytest.approx(float(losses) / rows, rel=1e-6)


def test_without_any_label_scores_are_numbers():
    nothing = MultiLabel().values({"logits": np.full((3, 2), -1.0, np.float32)}, Targets(np.zeros((3, 2), np.uint8)))
    assert (nothing["micro_f1"], nothing["macro_f1"], nothing["exact"]) == (0.0, 0.0, 1.0)


def test_the_loss_of_a_batch_is_the_mean_over_rows_of_all_labels():
    out = torch.tensor([[0.0, 0.0], [2.0, -2.0]])
    batch = Batch(torch.zeros(2, 1), torch.ones(2), torch.tensor([[1, 0], [1, 0]], dtype=torch.uint8))
    expected = (2 * np.log(2) + 2 * np.log1p(np.exp(-2.0))) / 2
    assert float(MultiLabel().loss(out, batch)) == pytest.approx(expected)
    assert MultiLabel().right(out, batch) == 1


@pytest.mark.parametrize("metric", ["micro-f1", "macro-f1", "exact", "log-loss"])
def test_it_can_be_judged_by_each_of_its_scores(metric: str):
    assert MultiLabel().judged_by(metric).judged.option == metric


# Thresholds


def drawn(rows: int, seed: int, sharpness: float = 1.0, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Log odds of labels (rows, 8) of very different frequency, honest unless they are made sharper or shifted; and
    which rows have them."""
    shares = np.geomspace(0.01, 0.4, 8)
    strength = np.linspace(2.5, 1.5, 8)
    random = np.random.default_rng(seed)
    true = random.random((rows, 8)) < shares
    seen = random.normal(size=true.shape) + strength * true
    logits = np.log(shares / (1 - shares)) + strength * seen - strength**2 / 2
    return sharpness * logits + shift, true


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


@pytest.mark.parametrize("by", ["all", "each", "decision"])
def test_with_many_rows_no_other_threshold_is_better(by: By):
    logits, true = drawn(4000, 0, 1.5, -0.5)
    shares = sigmoid(logits)
    value = {
        "all": lambda answered: f1_score(true, answered, average="micro"),
        "each": lambda answered: f1_score(true, answered, average="macro"),
        "decision": lambda answered: (true == answered).mean(),
    }[by]
    chosen = choose_thresholds(shares, true, by)
    reached = value(shares >= chosen)
    for label in range(8):
        others = np.tile(chosen, (40, 1))
        others[:, label] = np.quantile(shares[:, label], np.linspace(0.5, 0.999, 40))
        best = max(value(shares >= other) for other in others)
        assert best <= reached + 0.003, f"label {label}"  # a little is left to the probabilities' own word


def test_few_rows_do_not_choose_an_odd_threshold():
    """One of three rows that have the label got 1 %: its threshold stays where honest probabilities have theirs."""
    shares = np.full((100, 1), 0.002)
    shares[:3, 0] = [0.01, 0.8, 0.9]
    true = np.zeros((100, 1), bool)
    true[:3] = True
    for by in ("all", "each"):
        (threshold,) = choose_thresholds(shares, true, by)
        assert 0.1 < threshold < 0.8


def test_without_rows_that_have_it_a_label_has_the_threshold_of_honest_probabilities():
    logits, true = drawn(500, 1)
    true[:, 0] = False
    shares = sigmoid(logits)
    chosen = choose_thresholds(shares, true)
    reached = f1_score(true, shares >= chosen, average="micro")
    assert chosen[0] == pytest.approx(reached / 2, abs=0.03)
    assert choose_thresholds(shares, true, "decision")[0] == pytest.approx(0.5)
    assert (choose_thresholds(shares[:0], true[:0]) == 0.5).all()


def test_probabilities_that_are_all_the_same_get_the_best_constant_answer():
    """As `majority` gives them: labels that are worth giving to every row, and no others."""
    true = np.random.default_rng(0).random((2000, 3)) < [0.8, 0.5, 0.2]
    shares = np.tile(true.mean(0), (2000, 1))
    assert (shares[0] >= choose_thresholds(shares, true)).tolist() == [True, True, False]
    assert (shares[0] >= choose_thresholds(shares, true, "each")).tolist() == [True, True, True]
    assert (shares[0] >= choose_thresholds(shares, true, "decision")).tolist()[::2] == [True, False]


@pytest.mark.parametrize(("sharpness", "shift"), [(1.0, 0.0), (2.5, 0.0), (0.5, -1.0)])
def test_thresholds_raise_scores_on_rows_that_did_not_choose_them(sharpness: float, shift: float):
    """Of honest probabilities, of too sure and of too timid ones; mean of 10 draws."""
    gains, rarest = [], []
    for seed in range(10):
        (chosen_on, true), (logits, held_out) = (
            drawn(500, seed, sharpness, shift),
            drawn(4000, 100 + seed, sharpness, shift),
        )
        for metric, score in (("micro-f1", "micro"), ("macro-f1", "macro")):
            answer = MultiLabel().judged_by(metric)
            cuts = answer.decided({"logits": chosen_on}, Targets(true.astype(np.uint8)))["cuts"]
            before, after = (f1_score(held_out, logits >= cut, average=score, zero_division=0) for cut in (0.0, cuts))
            gains.append(after - before)
            rarest.append(cuts[0])
    micro, macro = np.mean(gains[::2]), np.mean(gains[1::2])
    assert np.mean(rarest) < -0.3  # a label that hardly ever reaches a half
    assert micro > 0.015
    assert macro > 0.04


def test_each_score_has_the_thresholds_that_suit_it():
    """On other rows: thresholds for macro-F1 have the higher macro-F1, those for micro-F1 the higher micro-F1."""
    reached = {"micro": [], "macro": []}
    for seed in range(10):
        (chosen_on, true), (logits, held_out) = drawn(1000, seed), drawn(4000, 100 + seed)
        for by in ("all", "each"):
            answered = sigmoid(logits) >= choose_thresholds(sigmoid(chosen_on), true, by)
            for score, values in reached.items():
                values.append(f1_score(held_out, answered, average=score))
    assert np.mean(reached["micro"][::2]) > np.mean(reached["micro"][1::2])
    assert np.mean(reached["macro"][1::2]) > np.mean(reached["macro"][::2])


def test_predictions_are_what_was_counted():
    """Outputs divided by the temperature reach a threshold where they reached the cut."""
    logits, true = drawn(400, 3, 3.0)
    answer, truth = MultiLabel(";"), Targets(true.astype(np.uint8))
    kept: Kept = {"logits": logits.astype(np.float32)}
    kept = {**kept, **answer.decided(kept, truth)}
    labels = tuple("abcdefgh")
    prepared = answer.prepared(Preprocessor(labels=labels), kept, truth)
    found = answer.calibration((kept, truth), (kept, truth))
    assert found is not None
    assert found.ece_after < found.ece_before
    assert (found.rows, found.test_rows) == (400, 400)
    rows = Sequences.end_to_end(np.zeros(400, np.int32), np.arange(401), true, np.arange(400))
    said = answer.predictions(kept["logits"], Asked([], rows, np.ones(400), prepared, found.temperature))
    counted = answer.answers(kept)
    assert counted is not None
    for row, one in enumerate(said):
        assert one.labels == tuple(label for label, given in zip(labels, counted[row], strict=True) if given)
        assert one.label == ";".join(one.labels)
    none = next(one for one in said if not one.labels)
    assert none.remark == "no label reaches its threshold"
    assert Preprocessor.from_json(prepared.to_json()).thresholds == prepared.thresholds


def test_chance_is_the_best_answer_that_is_always_the_same():
    true = (np.random.default_rng(0).random((500, 3)) < [0.7, 0.3, 0.02]).astype(np.uint8)
    constant = np.tile([1, 0, 0], (500, 1)), np.tile([1, 1, 0], (500, 1))
    best = max(f1_score(true, answered, average="micro") for answered in constant)
    assert MultiLabel().chance(Targets(true)) == pytest.approx(best)
