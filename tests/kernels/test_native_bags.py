"""Whole training steps of a bag of n-grams in native code against autograd, in double precision."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from test_native_whole_steps import CLOSE, Label
from torch import Tensor

from rnnlab import kernels as native
from rnnlab.answers.base import Answer
from rnnlab.answers.heads import SummaryHead
from rnnlab.answers.multi_label import MultiLabel
from rnnlab.data.batches import Batch
from rnnlab.kernels import switched_off
from rnnlab.kernels.whole_steps import do_steps
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import build_network
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import Training
from rnnlab.training.update import backward, member_of, training_steps

pytestmark = pytest.mark.skipif(not native.status().active, reason="there is no native library")
WORDS, BUCKETS = 30, 40
CLIP = 0.05  # it bites
SHORT = Training.model_validate({"optimizer": "lazy-sgd", "lr": 1.0, "clip": CLIP})
FORMS = [
    {"ngrams": 2, "embedding": {"width": 5}},
    {"ngrams": 3, "ends": True, "embedding": {"width": 8}},
    {"ngrams": 3, "hashing": "mixed", "embedding": {"width": 16}},
    {"ngrams": 4, "ends": True, "hashing": "mixed", "embedding": {"width": 21}},
]
OPTIMIZERS = [
    {"optimizer": "lazy-sgd", "lr": 1.0, "clip": None},
    {"optimizer": "sgd", "lr": 0.5, "momentum": 0.5, "weight_decay": 0.01},
    {"optimizer": "lazy-adam", "lr": 0.01, "clip": 0.1},
    {"optimizer": "adamw", "lr": 0.01},
]


class Side:
    """A bag with its optimiser, as native code and as torch have it. The n-grams' vectors don't begin at zero here."""

    def __init__(
        self, form: dict[str, Any], training: Training = SHORT, classes: int = 5, answer: Answer | None = None
    ):
        torch.manual_seed(0)
        self.answer = answer or Label()
        model = ARCHITECTURES.parse({"kind": "fasttext", "buckets": BUCKETS, **form})
        self.network = build_network(
            model, words=WORDS, features=None, pretrained=None, head=lambda width: SummaryHead(width, classes)
        )
        self.network = self.network.double().train()
        with torch.no_grad():
            self.network.get_parameter("embedding.table")[1:].normal_()
        self.training = training
        self.optimizer = Optimizer(self.network, training)
        self.member = member_of(self.network, self.optimizer, self.answer, training.clip)

    def natively(self, batches: list[Batch]) -> list[tuple[float, float, float]]:
        """(loss, norm, right) of those that were tried."""
        steps = training_steps(self.optimizer, batches, [self.training.lr] * len(batches))
        do_steps(self.member, steps, torch.float64)
        self.optimizer.steps += self.member.done
        return [(step.loss, step.norm, step.whole) for step in steps[: self.member.done + self.member.stopped]]

    def in_torch(self, batches: list[Batch]) -> list[tuple[float, float, float]]:
        found = []
        with switched_off():
            for batch in batches:
                loss, right = backward(self.network, self.answer, batch)
                found.append((loss, self.optimizer.step(self.training.lr, self.training.clip), right))
        return found

    def weights(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.network.state_dict().items()}


def batch_of(seed: int, rows: int, classes: int = 5) -> Batch:
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 9, (rows,), generator=draw)
    steps = int(lengths.max())
    ids = torch.randint(1, WORDS, (rows, steps), generator=draw)
    ids[torch.rand(rows, steps, generator=draw) < 0.1] = 0  # holes, even where all of a text is one
    ids[torch.arange(steps) >= lengths[:, None]] = 0
    return Batch(ids, lengths, torch.randint(0, classes, (rows,), generator=draw))


def batches_of(classes: int = 5) -> list[Batch]:
    return [batch_of(seed, rows, classes) for seed, rows in enumerate((64, 17, 64, 1))]  # the last one is short


def assert_equal(one: Side, other: Side) -> None:
    theirs = other.weights()
    for name, value in one.weights().items():
        torch.testing.assert_close(value, theirs[name], rtol=CLOSE, atol=CLOSE, msg=name)


@pytest.mark.parametrize("classes", [2, 5, 50])
def test_several_labels_per_row_are_those_of_autograd(classes: int) -> None:
    side, reference = (Side(FORMS[0], classes=classes, answer=MultiLabel()) for _ in range(2))
    draw = torch.Generator().manual_seed(0)
    batches = [
        replace(batch, targets=(torch.rand(len(batch.inputs), classes, generator=draw) < 0.3).byte())
        for batch in batches_of(classes)
    ]
    found, expected = side.natively(batches), reference.in_torch(batches)
    assert len(found) == len(batches)
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    assert_equal(side, reference)


@pytest.mark.parametrize("classes", [2, 5, 50])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form['ngrams']}-grams")
def test_steps_are_those_of_autograd(form: dict[str, Any], classes: int) -> None:
    side, reference, batches = Side(form, classes=classes), Side(form, classes=classes), batches_of(classes)
    found, expected = side.natively(batches), reference.in_torch(batches)
    assert all(norm > CLIP for _, norm, _ in expected)
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    assert_equal(side, reference)
    assert not side.member.scratch.any(), "left as it was"


@pytest.mark.parametrize("settings", OPTIMIZERS, ids=lambda settings: settings["optimizer"])
def test_steps_are_those_of_autograd_with_every_optimizer(settings: dict[str, Any]) -> None:
    training = Training.model_validate(settings)
    side, reference = Side(FORMS[3], training), Side(FORMS[3], training)
    for one, other in zip(side.natively(batches_of()), reference.in_torch(batches_of()), strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    assert_equal(side, reference)


@pytest.mark.parametrize("what", ["id", "negative id", "class", "nan"])
def test_a_step_that_breaks_changes_nothing(what: str) -> None:
    side, batches = Side(FORMS[3]), batches_of()
    broken = batches[2]
    if what == "class":
        broken.targets[3] = 5
    elif what == "nan":  # in the vector of a word that the batches before it lack
        unique = WORDS - 1
        for batch in batches[:2]:
            batch.inputs[batch.inputs == unique] = 2
        broken.inputs[0, 0] = unique
        with torch.no_grad():
            side.network.get_parameter("embedding.table")[unique] = math.nan
    else:
        broken.inputs[5, 0] = WORDS if what == "id" else -1
    found = side.natively(batches)
    assert (side.member.done, side.member.stopped) == (2, 1)
    assert math.isnan(found[2][0])
    assert found[2][1] == -1
    reference = Side(FORMS[3])
    assert reference.natively(batches[:2]) == found[:2]
    theirs = reference.weights()
    for name, value in side.weights().items():
        same = (value == theirs[name]) | value.isnan()
        assert same.all(), name
    assert not side.member.scratch.any()
