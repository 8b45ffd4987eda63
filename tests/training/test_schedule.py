"""The learning rate against torch's own schedulers, and its shape where torch has none."""

import pytest
import torch

from rnnlab.tasks.classify import Classify
from rnnlab.training import schedule
from rnnlab.training.checkpoint import Progress
from rnnlab.training.loop import count_evaluation
from rnnlab.training.schedule import begin_fall_if_due, learning_rate, reason_to_end
from rnnlab.training.spec import Training

PER_EPOCH = 4


def rates(epochs: int = 12, **schedule) -> list[float]:
    training = Training.model_validate({"epochs": epochs, "lr": 0.1, "schedule": schedule})
    return [
        learning_rate(training, step, step // PER_EPOCH, PER_EPOCH, Progress()) for step in range(epochs * PER_EPOCH)
    ]


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
    assert learning_rate(training, 9, 2, PER_EPOCH, Progress()) < 0.01


BY = Classify.shape.chosen


class Run:
    """A run whose validation scores are given: how its rate goes, and what ends it."""

    def __init__(self, scores: list[float], chance: float = 0.5, **training):
        self.training = Training.model_validate({"lr": 0.1, "patience": 2, "epochs": 30, **training})
        self.progress, self.rates, self.went_back = Progress(), list[float](), 0
        for score in scores:
            self.rates += [self._rate(step) for step in range(self.progress.step, self.progress.step + PER_EPOCH)]
            self.progress.step += PER_EPOCH
            count_evaluation(self.progress, {"accuracy": score, "loss": 1.0}, BY)
            self.went_back += begin_fall_if_due(self.progress, self.training, BY, PER_EPOCH, chance)
            self.ended_by = reason_to_end(self.progress, self.training, BY, chance)
            if self.ended_by:
                break

    def _rate(self, step: int) -> float:
        return learning_rate(self.training, step, step // PER_EPOCH, PER_EPOCH, self.progress)


@pytest.fixture
def impatient_at_once(monkeypatch):
    monkeypatch.setattr(schedule, "FIRST_UPDATES", 0)


def test_patience_does_not_count_in_the_first_updates(monkeypatch):
    scores = [0.6, 0.7, *[0.7] * 20]
    monkeypatch.setattr(schedule, "FIRST_UPDATES", 10 * PER_EPOCH)
    late = Run(scores)
    assert late.progress.fall_begins == 10 * PER_EPOCH
    monkeypatch.setattr(schedule, "FIRST_UPDATES", 0)
    assert Run(scores).progress.fall_begins == 4 * PER_EPOCH


@pytest.mark.usefixtures("impatient_at_once")
def test_a_plateau_holds_until_patience_fires_then_falls_to_zero_from_the_best_weights():
    run = Run([0.6, 0.7, 0.8, 0.9, 0.9, 0.9, 0.91, 0.92, 0.99])
    assert run.ended_by == "patience"
    assert run.progress.epoch == 8  # two without an improvement, then half as many as up to the best one
    assert run.went_back == 1
    assert run.rates[: 6 * PER_EPOCH] == [0.1] * 6 * PER_EPOCH
    assert run.rates[6 * PER_EPOCH :] == pytest.approx([0.1 * (1 - n / 8) for n in range(8)])
    assert run.progress.best_epoch == 8


@pytest.mark.usefixtures("impatient_at_once")
def test_patience_does_not_count_below_the_majority_class():
    flat = [0.5, 0.4, 0.5, 0.5, 0.5, 0.5]
    assert Run([*flat, 0.6, 0.7, 0.7, 0.7]).went_back == 1
    assert Run(flat).went_back == 0
    assert Run(flat, chance=0.45).went_back == 1
    assert Run([0.5] * 30).ended_by == "epochs"
    assert Run(flat, schedule="constant").ended_by == "patience"


def test_a_lower_loss_at_an_equal_score_is_no_reason_to_go_on():
    progress = Progress()
    for loss in (1.0, 0.9, 0.8):
        assert count_evaluation(progress, {"accuracy": 1.0, "loss": loss}, BY)
    assert (progress.best_epoch, progress.rose_epoch) == (3, 1)


def test_a_limit_lets_the_rate_fall_in_time():
    run = Run([n / 100 for n in range(51, 90)], epochs=12)
    assert run.ended_by == "epochs"
    assert run.progress.epoch == 12
    assert run.rates[-1] < 0.1 / 10
    assert run.progress.fall_begins == 8 * PER_EPOCH


def test_steps_that_end_within_an_epoch_still_end_it():
    run = Run([0.6, 0.7, 0.8], steps=3 * PER_EPOCH, epochs="none")
    assert run.ended_by == "steps"


def test_a_plateau_rises_first():
    run = Run([0.6], schedule={"shape": "plateau", "rise": 3})
    assert run.rates == pytest.approx([0.025, 0.05, 0.075, 0.1])


def test_settings_of_a_plateau_belong_to_it():
    with pytest.raises(ValueError, match="'cosine' schedule would ignore 'rise'"):
        Training.model_validate({"schedule": {"shape": "cosine", "rise": 3}})
