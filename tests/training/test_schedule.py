"""The learning rate against torch's own schedulers, and its shape where torch has none."""

import pytest
import torch

from rnnlab.experiment import Training
from rnnlab.training.schedule import learning_rate

PER_EPOCH = 4


def rates(epochs: int = 12, **schedule) -> list[float]:
    training = Training.model_validate({"epochs": epochs, "lr": 0.1, "schedule": schedule})
    return [learning_rate(training, step, step // PER_EPOCH, PER_EPOCH) for step in range(epochs * PER_EPOCH)]


def torch_rates(make, every_step: bool, epochs: int = 12) -> list[float]:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    scheduler = make(optimizer)
    found = []
    for step in range(epochs * PER_EPOCH):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if every_step or (step + 1) % PER_EPOCH == 0:
            scheduler.step()
    return found


def test_constant():
    assert set(rates(shape="constant")) == {0.1}


def test_step():
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.StepLR(o, 3, 0.5), every_step=False)
    assert rates(shape="step", every=3, gamma=0.5) == pytest.approx(expected)


def test_multi_step():
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [2, 7], 0.3), every_step=False)
    assert rates(shape="multi-step", at=[2, 7], gamma=0.3) == pytest.approx(expected)


def test_cosine():
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 12 * PER_EPOCH), every_step=True)
    assert rates(shape="cosine") == pytest.approx(expected)


def test_one_cycle_rises_and_falls():
    found = rates(shape="one-cycle", warmup=0.25)
    top = found.index(max(found))
    assert top == 12
    assert found[top] == pytest.approx(0.1)
    assert found[: top + 1] == sorted(found[: top + 1])
    assert found[top:] == sorted(found[top:], reverse=True)
    assert found[0] < 0.01
    assert found[-1] < 0.001


def test_steps_shorten_a_cosine():
    training = Training.model_validate({"epochs": 12, "steps": 10, "lr": 0.1, "schedule": "cosine"})
    assert learning_rate(training, 9, 2, PER_EPOCH) < 0.01
