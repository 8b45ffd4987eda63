import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss

from rnnlab.tasks.tally import Tally


def tally(targets, answers, classes, losses):
    confusion = np.zeros((classes, classes), np.int64)
    np.add.at(confusion, (targets, answers), 1)
    return Tally(float(np.sum(losses)), confusion)


def test_it_adds_up_to_the_figures_over_all_rows():
    generator = np.random.default_rng(0)
    targets, answers = generator.integers(0, 3, 50), generator.integers(0, 3, 50)
    losses = generator.random(50)
    whole = tally(targets, answers, 4, losses)  # the fourth class occurs nowhere and doesn't count
    parts = tally(targets[:7], answers[:7], 4, losses[:7]) + tally(targets[7:], answers[7:], 4, losses[7:])
    assert parts.count == whole.count == 50
    for scores in (whole.score(), parts.score()):
        assert scores["accuracy"] == pytest.approx(accuracy_score(targets, answers))
        assert scores["macro_f1"] == pytest.approx(f1_score(targets, answers, average="macro"))
        assert scores["loss"] == pytest.approx(losses.mean())


def test_the_loss_is_the_cross_entropy():
    import torch

    from rnnlab.data.batches import Batch
    from rnnlab.tasks.classify import Classify, probabilities

    logits = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
    targets = torch.arange(20) % 3
    batch = Batch(torch.ones(20, 1, dtype=torch.int64), torch.ones(20, dtype=torch.int64), targets)
    shares = probabilities(logits.numpy().astype(np.float64))
    found = Classify().tally(logits, batch)
    assert found.score()["loss"] == pytest.approx(log_loss(targets.numpy(), shares), rel=1e-5)
    assert found.score()["loss"] == pytest.approx(float(Classify().loss(logits, batch)), rel=1e-5)
    assert found.confusion.sum(1).tolist() == [7, 7, 6]
    assert found.score()["accuracy"] == pytest.approx(float((logits.argmax(1) == targets).float().mean()))
