"""Counts add up to the reference libraries' scores, however rows are cut; influence is what a bootstrap finds."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, log_loss

from rnnlab.answers.base import Answer
from rnnlab.answers.label import MACRO_F1, Label, probabilities
from rnnlab.answers.number import Number
from rnnlab.answers.score import Score, numeric_gradient, ratio
from rnnlab.answers.tags import Tags
from rnnlab.data.batches import Batch, evaluation_batches
from rnnlab.data.sequences import IGNORE, Sequences, Targets, balanced_weights, offsets_of


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(2, 6), st.integers(2, 60), st.integers(0, 100))
def test_scores_of_labels_equal_scikit_learn(classes: int, rows: int, seed: int):
    random = np.random.default_rng(seed)
    logits = random.normal(size=(rows, classes)).astype(np.float32)
    targets, answers = random.integers(0, classes, rows), logits.argmax(1)
    found = Label().values({"logits": logits}, Targets(targets))
    assert found["accuracy"] == pytest.approx(accuracy_score(targets, answers))
    assert found["macro_f1"] == pytest.approx(f1_score(targets, answers, average="macro"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of answers that no row has
        assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(targets, answers))
    expected = log_loss(targets, probabilities(logits.astype(np.float64)), labels=range(classes))
    assert found["loss"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("metric", Label().metrics)
def test_learning_begins_above_the_best_constant_answer(metric: str):
    targets = np.array([0] * 6 + [1] * 3 + [3])
    answer = Label().judged_by(metric)
    constants = [np.tile(np.eye(4)[one] * 50, (10, 1)) for one in range(4)]
    constants.append(np.tile(np.log([0.6, 0.3, 1e-30, 0.1]), (10, 1)))
    found = [answer.chosen.of(answer.totals({"logits": logits}, Targets(targets))) for logits in constants]
    best = min(found) if answer.chosen.lower_is_better else max(found)
    assert answer.chance(Targets(targets)) == pytest.approx(best)


def test_a_chosen_score_is_judged_and_chooses_epochs():
    plain, number = Label(), Number(close=0.1)
    changed = plain.judged_by("macro-f1")
    assert (changed.judged.name, changed.chosen.name, changed.beside_the_judged.name) == (
        "macro_f1",
        "macro_f1",
        "accuracy",
    )
    assert (plain.judged.name, plain.beside_the_judged.name) == ("accuracy", "macro_f1")
    assert plain.judged_by("log-loss").chosen.lower_is_better
    assert changed.native == plain.native  # the loss is the same
    assert (number.chosen.name, number.judged_by("accuracy").chosen.name) == ("loss", "accuracy")


@pytest.mark.parametrize("steps", [False, True])
def test_a_weight_counts_like_so_many_rows(steps: bool):
    """A class of weight 3 has the loss and the gradient of rows that stand there three times."""
    random = torch.Generator().manual_seed(3)
    out = torch.randn((5, 2, 3) if steps else (5, 3), generator=random, dtype=torch.float64)
    targets = torch.tensor([[0, 1], [2, IGNORE], [1, 1], [0, 2], [2, 0]] if steps else [0, 1, 2, 1, 0])
    answer: Answer = Tags() if steps else Label()
    weights = torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64)
    flat, labels = out.reshape(-1, 3), targets.flatten()
    times = torch.where(labels == IGNORE, 0, weights[labels.clamp(min=0)].long())
    losses, rows = (
        torch.nn.functional.cross_entropy(
            flat.repeat_interleave(times, 0), labels.repeat_interleave(times), reduction="sum"
        ),
        int((labels != IGNORE).sum()),
    )
    weighted = answer.weighted_loss(out, Batch(torch.zeros(5, 2, 1), torch.full((5,), 2), targets), weights)
    assert float(weighted) == pytest.approx(float(losses) / rows)


def test_balanced_weights_make_all_classes_count_the_same():
    targets = np.array([0] * 500 + [1] * 2 + [3] * 10)
    weights = balanced_weights(targets, 5)
    in_all = weights * np.bincount(targets, minlength=5)
    assert np.allclose(in_all[[0, 1, 3]], len(targets) / 3)
    assert weights[targets].mean() == pytest.approx(1)


def of_rows(random: np.random.Generator, rows: int, steps: bool) -> tuple[Sequences, int]:
    """Random rows with a class per row, or per step; some steps aren't asked for."""
    classes, lengths = 4, random.integers(1, 9, rows)
    offsets = offsets_of(lengths)
    values = random.integers(2, 20, offsets[-1]).astype(np.int32)
    if not steps:
        return Sequences.end_to_end(values, offsets, random.integers(0, classes, rows), np.arange(rows)), classes
    targets = np.where(random.random(offsets[-1]) < 0.7, random.integers(0, classes, offsets[-1]), IGNORE)
    targets[offsets[:-1]] = 1  # at least one per row
    return Sequences.end_to_end(values, offsets, targets, np.arange(rows), target_offsets=offsets), classes


ANSWERS: list[tuple[Answer, bool]] = [(Label(), False), (Tags(), True), (Tags("exact match", whole=True), True)]


@pytest.mark.parametrize(("answer", "steps"), ANSWERS)
@pytest.mark.parametrize("seed", range(3))
def test_counts_add_over_any_partition_and_totals_are_their_sums(answer: Answer, steps: bool, seed: int):
    random = np.random.default_rng(seed)
    data, classes = of_rows(random, 40, steps)
    logits = random.normal(size=(len(data.targets), classes)).astype(np.float32)
    kept = {"logits": logits} if not steps else answer.upgrade({"logits": logits}, data.truth)
    counts = answer.counts(kept, data.truth)
    for name, total in answer.totals(kept, data.truth).items():
        assert np.allclose(total[0], counts[name].sum(0)), name
    cut = random.random(len(data)) < 0.4
    for score in answer.scores:
        whole, parts = score.of(counts), [{k: v[chosen] for k, v in counts.items()} for chosen in (cut, ~cut)]
        joined = {k: np.concatenate([part[k] for part in parts]) for k in counts}
        assert score.of(joined) == pytest.approx(whole)
        assert score.per_row(counts).mean() == pytest.approx(whole)


@pytest.mark.parametrize(("answer", "steps"), ANSWERS)
def test_what_is_kept_does_not_depend_on_the_batches(answer: Answer, steps: bool):
    """Rows that were evaluated with others, padded, count as those that were evaluated alone."""
    from rnnlab.training.evaluate import evaluate

    data, classes = of_rows(np.random.default_rng(0), 30, steps)
    table = torch.randn(20, classes, generator=torch.Generator().manual_seed(0))

    class Fixed(torch.nn.Module):
        def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            return table[inputs] if steps else table[inputs[:, 0]]

    network: Any = Fixed()
    kept = evaluate(network, answer, data, torch.device("cpu"))
    for row in range(len(data)):
        alone = Sequences.end_to_end(
            data.row(row),
            np.array([0, data.lengths[row]]),
            data.targets[data.starts[row] : data.ends[row]] if steps else data.targets[row : row + 1],
            np.zeros(1, np.int64),
            target_offsets=np.array([0, data.lengths[row]]) if steps else None,
        )
        own = answer.counts(evaluate(network, answer, alone, torch.device("cpu")), alone.truth)
        every = answer.counts(kept, data.truth)
        assert all(np.allclose(own[name][0], every[name][row]) for name in own)


@pytest.mark.parametrize("whole", [False, True])
def test_right_in_training_is_what_counts_say(whole: bool):
    answer = Tags(whole=whole)
    data, classes = of_rows(np.random.default_rng(3), 50, steps=True)
    for rows, batch in evaluation_batches(data, 60):
        out = torch.randn(*batch.targets.shape, classes, generator=torch.Generator().manual_seed(len(rows)))
        flat = {name: part[batch.targets != IGNORE].numpy() for name, part in answer.keep(out, batch).items()}
        asked = (batch.targets != IGNORE).sum(1)
        truth = Targets(batch.targets[batch.targets != IGNORE].numpy(), offsets_of(asked.numpy()))
        counts = answer.counts(flat, truth)
        share = counts["right_rows"] if whole else counts["right_steps"] / counts["steps"]
        assert answer.right(out, batch) == pytest.approx(share.sum(), rel=1e-5)


def test_a_number_is_right_when_it_is_close():
    answer = Number(close=0.1)
    kept, truth = (
        {"logits": np.array([[0.0], [0.55], [1.0]], np.float32)},
        Targets(np.array([0.05, 0.5, 0.0], np.float32)),
    )
    found = answer.values(kept, truth)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["loss"] == pytest.approx((0.05**2 + 0.05**2 + 1) / 3, rel=1e-6)
    assert answer.chosen.name == "loss"
    assert answer.chance(truth) == pytest.approx(np.var([0.05, 0.5, 0.0]))


def test_context_is_read_and_not_counted():
    data = Sequences(
        np.arange(10, dtype=np.int32),
        starts=np.array([0, 2]),
        ends=np.array([5, 8]),  # they overlap
        targets=np.arange(11, dtype=np.int64),
        groups=np.zeros(2, np.int64),
        target_offsets=np.array([0, 5, 11]),
        scored_from=np.array([0, 3]),
    )
    assert data.truth.values.tolist() == [0, 1, 2, 3, 4, IGNORE, IGNORE, IGNORE, 8, 9, 10]
    (_, batch), *rest = evaluation_batches(data)
    assert not rest
    assert batch.inputs.tolist() == [[0, 1, 2, 3, 4, 0], [2, 3, 4, 5, 6, 7]]
    assert batch.targets[1].tolist() == [IGNORE, IGNORE, IGNORE, 8, 9, 10]


# --- influence ------------------------------------------------------------------------------------------------------


def test_the_influence_on_a_share_is_whether_the_row_is_right():
    right = np.array([1.0, 0, 1, 1, 0])
    score = ratio("accuracy", "accuracy", "right", "rows")
    assert score.per_row({"right": right, "rows": np.ones(5)}) == pytest.approx(right)


@pytest.mark.parametrize("name", ["macro_f1", "ratio", "log"])
def test_influence_spreads_as_a_real_bootstrap_does(name: str):
    """The standard error by influence against 2,000 bootstrap samples of the rows."""
    random = np.random.default_rng(1)
    rows = 600
    if name == "macro_f1":
        score, targets = MACRO_F1, random.choice(3, rows, p=[0.7, 0.2, 0.1])
        logits = np.eye(3)[targets] + random.normal(size=(rows, 3)) * 0.8
        counts = Label().counts({"logits": logits}, Targets(targets))
    else:
        value = (lambda t: float(np.exp(t[0] / t[1]))) if name == "log" else (lambda t: float(t[0] / t[1]))
        score = Score("s", "s", ("nats", "tokens"), value)
        tokens = random.integers(1, 60, rows).astype(float)
        counts = {"nats": tokens * random.gamma(4, 0.5, rows), "tokens": tokens}
    by_influence = score.per_row(counts).std(ddof=1) / rows**0.5
    drawn = [random.integers(0, rows, rows) for _ in range(2000)]
    real = np.std([score.of({k: v[at] for k, v in counts.items()}) for at in drawn])
    assert by_influence == pytest.approx(real, rel=0.08)


def test_gradients_by_differences_are_those_by_hand():
    score, totals = ratio("x", "x", "a", "b"), np.array([300.0, 1000.0])
    assert score.gradient is not None
    assert numeric_gradient(score.value, totals) == pytest.approx(score.gradient(totals), rel=1e-6)


def test_a_loss_of_its_own_is_not_what_native_code_knows():
    class Weighted(Label):
        def loss(self, out: torch.Tensor, batch: Batch) -> torch.Tensor:
            return 2 * super().loss(out, batch)

    assert Label().native == "class"
    assert Weighted().native is None
