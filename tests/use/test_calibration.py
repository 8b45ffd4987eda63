"""Temperatures that are known, calibration errors that are counted by hand."""

import numpy as np
import pytest

from rnnlab.answers.calibration import BELIEF, COLDEST, HOTTEST, calibrate, ece, fit_temperature


def drawn(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits (N, C) whose probabilities are true: targets are drawn by them."""
    random = np.random.default_rng(seed)
    logits = 2 * random.normal(size=(rows, classes))
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return logits.astype(np.float32), (shares.cumsum(1) > random.random((rows, 1))).argmax(1)


def loss(logits: np.ndarray, targets: np.ndarray, temperature: float) -> float:
    scaled = logits.astype(np.float64) / temperature
    normal = np.log(np.exp(scaled - scaled.max(1, keepdims=True)).sum(1)) + scaled.max(1)
    return float((normal - scaled[np.arange(len(targets)), targets]).mean())


@pytest.mark.parametrize("factor", [0.08, 0.5, 1.0, 3.0, 15.0])
@pytest.mark.parametrize("classes", [2, 5])
def test_recovers_a_known_temperature(factor, classes):
    logits, targets = drawn(20_000, classes, seed=classes)
    assert fit_temperature(logits * factor, targets) == pytest.approx(factor, rel=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_temperature_is_likelier(seed):
    """On few rows, where the fit is far from the truth; with the rows that stand for the belief in the logits, by the
    definition: each class of each row, with its probability at T = 1."""
    logits, targets = drawn(40, 3, seed)
    found = fit_temperature(logits, targets)
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)

    def objective(temperature: float) -> float:
        believed = sum(
            float(shares[row, label]) * loss(logits[row : row + 1], np.array([label]), temperature)
            for row in range(40)
            for label in range(3)
        )
        return 40 * loss(logits, targets, temperature) + BELIEF * believed / 40

    best = objective(found)
    assert best <= min(objective(t) for t in np.geomspace(COLDEST, HOTTEST, 40)) + 1e-6
    assert objective(found * 1.02) > best < objective(found / 1.02)


def test_few_rows_do_not_ask_for_much():
    """Six right and one wrong, all 70 % sure: the rows alone would say 86 %; so few don't carry that far."""
    logits = np.tile(np.log([0.7, 0.3]), (7, 1))
    few = fit_temperature(logits, np.array([0] * 6 + [1]))
    many = fit_temperature(np.tile(logits, (200, 1)), np.array(([0] * 6 + [1]) * 200))
    assert many == pytest.approx(np.log(0.7 / 0.3) / np.log(6), rel=0.02)
    assert many < few < 1


def test_all_right_leaves_the_logits_alone():
    """Colder would be likelier without end; nothing says how cold."""
    logits, _ = drawn(100, 4, 0)
    assert fit_temperature(logits, logits.argmax(1)) == 1.0


def test_nearly_all_right_ends_at_the_bound():
    logits, _ = drawn(1000, 4, 0)
    targets = logits.argmax(1)
    targets[0] = (targets[0] + 1) % 4
    assert fit_temperature(logits * 1e-4, targets) == pytest.approx(COLDEST, rel=1e-4)


def test_all_wrong_ends_at_the_other_bound():
    logits, _ = drawn(100, 4, 0)
    assert fit_temperature(logits, logits.argmin(1)) == pytest.approx(HOTTEST, rel=1e-4)


def test_odd_logits():
    alike = np.zeros((6, 3), np.float32)
    assert fit_temperature(alike, np.array([0, 1, 2, 0, 1, 2])) == 1.0  # no temperature changes anything
    ruled_out = np.array([[0.0, -np.inf], [1.0, 0.0], [0.0, 1.0]], np.float32)
    assert COLDEST <= fit_temperature(ruled_out, np.array([0, 1, 1])) <= HOTTEST
    assert fit_temperature(np.zeros((0, 3), np.float32), np.zeros(0, np.int64)) == 1.0


def test_never_changes_the_first_label():
    logits, targets = drawn(500, 5, 1)
    for factor in (0.2, 7.0):
        scaled = logits * np.float32(factor)
        temperature = fit_temperature(scaled, targets)
        assert np.array_equal((scaled / temperature).argmax(1), scaled.argmax(1))


def test_ece_counted_by_hand():
    """Four rows that are 80 % sure, of which two are right; two that are 60 % sure, of which one is right; and one
    that is quite sure and right: (4 · 0.3 + 2 · 0.1 + 1 · 0) / 7."""
    sure = np.array([0.8, 0.8, 0.8, 0.8, 0.6, 0.6, 1 - 1e-9])
    logits = np.stack([np.log(sure), np.log(1 - sure)], axis=1)
    targets = np.array([0, 0, 1, 1, 0, 1, 0])
    assert ece(logits, targets) == pytest.approx((4 * 0.3 + 2 * 0.1) / 7, abs=1e-6)


def test_errors_of_one_bin_cancel_and_those_of_two_do_not():
    """As the definition has it: 70 % sure, and right in seven cases of ten, is no error."""
    logits = np.tile(np.log([0.7, 0.3]), (10, 1))
    assert ece(logits, np.array([0] * 7 + [1] * 3)) == pytest.approx(0, abs=1e-12)
    assert ece(logits, np.zeros(10, np.int64)) == pytest.approx(0.3)


def test_the_last_bin_ends_with_certainty():
    """Twenty rows that are 95 % sure and right, and a certain one that is wrong, are one bin: the errors cancel."""
    logits = np.array([[np.log(0.95), np.log(0.05)]] * 20 + [[0.0, -1000.0]])
    assert ece(logits, np.array([0] * 20 + [1])) == pytest.approx(0, abs=1e-12)


def test_calibrate_makes_test_rows_better():
    valid, valid_targets = drawn(5000, 4, 2)
    test, test_targets = drawn(5000, 4, 3)
    found = calibrate(3 * valid, valid_targets, 3 * test, test_targets)
    assert found.temperature == pytest.approx(3, rel=0.05)
    assert (found.rows, found.test_rows) == (5000, 5000)
    assert found.ece_before == ece(3 * test, test_targets) > 0.1
    assert found.ece_after < 0.02
