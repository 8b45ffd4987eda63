"""Whole training steps in native code against autograd, in double precision."""

import ctypes
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rnnlab import kernels as native
from rnnlab.answers.base import Answer
from rnnlab.answers.heads import StateHead, SummaryHead
from rnnlab.answers.label import Label
from rnnlab.answers.multi_label import MultiLabel
from rnnlab.answers.number import Number
from rnnlab.answers.tags import Tags
from rnnlab.data.batches import Batch
from rnnlab.data.sequences import IGNORE
from rnnlab.kernels import switched_off
from rnnlab.kernels.whole_steps import Member, Step, do_steps
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.embedding import SEPARATED
from rnnlab.models.network import Network, build_network
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import Training
from rnnlab.training.update import backward, member_of, training_steps

pytestmark = pytest.mark.skipif(not native.status().active, reason="there is no native library")
CLOSE = 1e-11
WORDS, CLASSES, TOKENS, FEATURES = 11, 3, 2, 5
WIDE = 40  # classes that need more than one vector of the processor


ANSWERS: dict[str, Answer] = {
    "class": Label(),
    "class a step": Tags(),
    "number": Number(close=0.3),
    "labels": MultiLabel(),
}


def network_of(settings: dict[str, Any], answer: str, tokens: int, classes: int = CLASSES, columns: int = 0) -> Network:
    per_step, outputs = answer == "class a step", 1 if answer == "number" else classes
    network = build_network(
        ARCHITECTURES.parse(({"embedding": {"width": tokens}} if tokens else {}) | settings),
        words=WORDS if tokens else None,
        features=None if tokens else FEATURES,
        tokens=TOKENS,
        columns=columns,
        pretrained=None,
        head=lambda width: (StateHead if per_step else SummaryHead)(width, outputs),
        reads="states" if per_step else "summary",
    )
    return network.double()


def batch_of(answer: str, tokens: int, seed: int, rows: int = 7, classes: int = CLASSES) -> Batch:
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 7, (rows,), generator=draw)
    steps = int(lengths.max())
    real = torch.arange(steps) < lengths[:, None]
    if tokens:
        inputs = torch.randint(1, WORDS, (rows, steps, TOKENS), generator=draw) * real[:, :, None]
    else:
        inputs = torch.randn(rows, steps, FEATURES, generator=draw, dtype=torch.float64) * real[:, :, None]
    if answer == "number":
        targets = torch.randn(rows, generator=draw, dtype=torch.float64)
    elif answer == "class":
        targets = torch.randint(0, classes, (rows,), generator=draw)
    elif answer == "labels":
        targets = (torch.rand(rows, classes, generator=draw) < 0.4).byte()
    else:
        asked = real & (torch.rand(rows, steps, generator=draw) < 0.8)
        asked[:, 0] = True
        targets = torch.where(asked, torch.randint(0, classes, (rows, steps), generator=draw), IGNORE)
    return Batch(inputs, lengths, targets)


class Side:
    """A network with its optimiser, as native code and as torch have it."""

    def __init__(
        self,
        seed: int,
        settings: dict[str, Any],
        answer: str,
        tokens: int,
        training: Training,
        classes: int,
        columns: int = 0,
        weights: Tensor | None = None,
    ):
        torch.manual_seed(seed)
        self.class_weights = weights
        self.network = network_of(settings, answer, tokens, classes, columns).train()
        self.training, self.answer = training, ANSWERS[answer]
        self.optimizer = Optimizer(self.network, training)
        self.member = member_of(self.network, self.optimizer, self.answer, training.clip, weights=weights)

    def steps(self, batches: list[Batch]) -> Any:
        return training_steps(self.optimizer, batches, [self.training.lr] * len(batches))

    def in_torch(self, batches: list[Batch]) -> list[tuple[float, float, float]]:
        """(loss, norm, right) of each."""
        found = []
        with switched_off():
            for batch in batches:
                loss, right = backward(self.network, self.answer, batch, self.class_weights)
                found.append((loss, self.optimizer.step(self.training.lr, self.training.clip), right))
        return found

    def weights(self) -> dict[str, Tensor]:
        return self.network.state_dict()


def assert_equal_weights(one: Side, other: Side) -> None:
    theirs = other.weights()
    for name, value in one.weights().items():
        torch.testing.assert_close(value, theirs[name], rtol=CLOSE, atol=CLOSE, msg=name)


RECURRENCES = [
    {"kind": "rnn", "hidden": 5},
    {"kind": "rnn", "hidden": 16, "activation": "relu", "layers": 2},
    {"kind": "gru", "hidden": 9, "layers": 3},
    {"kind": "lstm", "hidden": 6, "layers": 2, "bidirectional": True},
    {"kind": "gru", "hidden": 8, "bidirectional": True},
]
OPTIMIZERS = [
    {"optimizer": "sgd", "lr": 0.1, "momentum": 0.5, "weight_decay": 0.01, "clip": None},
    {"optimizer": "lazy-adam", "lr": 0.01, "clip": 0.1},
    {"optimizer": "adamw", "lr": 0.01, "clip": None},
]


@pytest.mark.parametrize("tokens", [4, 13, 0], ids=["tokens", "a small vocabulary", "features"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("settings", RECURRENCES, ids=lambda s: "-".join(map(str, s.values())))
def test_steps_are_those_of_autograd(settings: dict[str, Any], answer: str, tokens: int) -> None:
    number = RECURRENCES.index(settings)
    training = Training.model_validate(OPTIMIZERS[(number + (tokens > 0) + (tokens > WORDS)) % len(OPTIMIZERS)])
    classes = WIDE if number == 1 else CLASSES
    for seed in range(3):
        side, reference = (Side(seed, settings, answer, tokens, training, classes) for _ in range(2))
        batches = [batch_of(answer, tokens, 10 * seed + n, rows=3 + seed + n, classes=classes) for n in range(4)]
        steps = side.steps(batches)
        do_steps(side.member, steps, torch.float64)
        assert (side.member.done, side.member.stopped) == (4, 0)
        for step, (loss, norm, right) in zip(steps, reference.in_torch(batches), strict=True):
            assert step.loss == pytest.approx(loss, rel=CLOSE)
            assert step.norm == pytest.approx(norm, rel=1e-6)
            assert (step.share if answer == "class a step" else step.whole) == pytest.approx(right, rel=1e-6)
        assert_equal_weights(side, reference)


@pytest.mark.parametrize("tokens", [4, 13])
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: o["optimizer"])
@pytest.mark.parametrize("settings", RECURRENCES, ids=lambda s: "-".join(map(str, s.values())))
def test_what_words_bring_is_looked_up_and_learnt(
    settings: dict[str, Any], optimizer: dict[str, Any], tokens: int
) -> None:
    """In batches in which words come again and again, with padding in the middle of a row, too."""
    training = Training.model_validate(optimizer)
    side, reference = (Side(0, settings, "class a step", tokens, training, CLASSES) for _ in range(2))
    batches = [batch_of("class a step", tokens, n, rows=30 + n) for n in range(3)]
    for batch in batches:
        assert batch.lengths.sum() >= 4 * (WORDS + 1)  # more seldom, nothing is looked up
        batch.inputs[::5, 0] = 0
    do_steps(side.member, side.steps(batches), torch.float64)
    reference.in_torch(batches)
    assert (side.member.done, side.member.stopped) == (3, 0)
    assert_equal_weights(side, reference)


@pytest.mark.parametrize("tokens", [4, 13], ids=["tokens", "a small vocabulary"])
@pytest.mark.parametrize("settings", [*RECURRENCES, {"kind": "gru", "hidden": 7, "layer_norm": True}], ids=str)
def test_columns_are_those_of_autograd(settings: dict[str, Any], tokens: int) -> None:
    training = Training.model_validate(OPTIMIZERS[1])
    side, reference = (Side(0, settings, "class", tokens, training, CLASSES, columns=3) for _ in range(2))
    batches = [batch_of("class", tokens, n, rows=9) for n in range(4)]
    assert all((batch.inputs[:, :, 0] == SEPARATED).any() for batch in batches)
    do_steps(side.member, side.steps(batches), torch.float64)
    reference.in_torch(batches)
    assert (side.member.done, side.member.stopped) == (4, 0)
    assert_equal_weights(side, reference)
    assert side.network.embedding is not None
    assert side.network.embedding.segments is not None
    assert side.network.embedding.segments.any(dim=1).all()  # each was learnt


@pytest.mark.parametrize("classes", [CLASSES, WIDE])
@pytest.mark.parametrize("answer", ["class", "class a step"])
def test_weights_of_classes_are_those_of_autograd(answer: str, classes: int) -> None:
    weights = torch.rand(classes, generator=torch.Generator().manual_seed(5), dtype=torch.float64) * 9
    training = Training.model_validate(OPTIMIZERS[0])
    side, reference, alike = (
        Side(0, RECURRENCES[0], answer, 4, training, classes, weights=given) for given in (weights, weights, None)
    )
    batches = [batch_of(answer, 4, n, rows=9, classes=classes) for n in range(3)]
    steps = side.steps(batches)
    do_steps(side.member, steps, torch.float64)
    found, unweighted = reference.in_torch(batches), alike.in_torch(batches)
    for step, (loss, norm, _), (other, _, _) in zip(steps, found, unweighted, strict=True):
        assert step.loss == pytest.approx(loss, rel=CLOSE) != other
        assert step.norm == pytest.approx(norm, rel=1e-6)
    assert_equal_weights(side, reference)


POOLINGS = ["first+last", "mean", "max", "attention"]


@pytest.mark.parametrize("rows", [5, 20], ids=["few rows", "rows in two groups"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("settings", RECURRENCES, ids=lambda s: "-".join(map(str, s.values())))
def test_every_pooling_is_that_of_autograd(settings: dict[str, Any], pooling: str, rows: int) -> None:
    answer, tokens = ("class", 13) if rows == 5 else ("number", 4)
    settings = {**settings, "pooling": pooling}
    training = Training.model_validate(OPTIMIZERS[1])
    sides = [Side(0, settings, answer, tokens, training, CLASSES) for _ in range(2)]
    batches = [batch_of(answer, tokens, n, rows=rows + n) for n in range(4)]
    work = sides[0].steps(batches)
    do_steps(sides[0].member, work, torch.float64)
    for step, (loss, norm, right) in zip(work, sides[1].in_torch(batches), strict=True):
        assert step.loss == pytest.approx(loss, rel=CLOSE)
        assert step.norm == pytest.approx(norm, rel=1e-6)
        assert step.whole == right
    assert_equal_weights(*sides)


@pytest.mark.parametrize("tokens", [4, 13, 0], ids=["tokens", "a small vocabulary", "features"])
@pytest.mark.parametrize("answer", [*(f"class by {pooling}" for pooling in ["last", *POOLINGS]), "class a step"])
@pytest.mark.parametrize("settings", RECURRENCES, ids=lambda s: "-".join(map(str, s.values())))
def test_layer_norm_is_that_of_autograd(settings: dict[str, Any], answer: str, tokens: int) -> None:
    answer, _, pooling = answer.partition(" by ")
    settings = {**settings, "layer_norm": True, "pooling": pooling or "last"}
    training = Training.model_validate(OPTIMIZERS[(tokens + len(pooling)) % len(OPTIMIZERS)])
    sides = [Side(0, settings, answer, tokens, training, CLASSES) for _ in range(2)]
    for side in sides:  # so that gains and biases matter
        draw = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for name, weight in side.network.named_parameters():
                if "gain" in name or "cell_bias" in name:
                    weight += 0.3 * torch.randn(weight.shape, generator=draw, dtype=weight.dtype)
    batches = [batch_of(answer, tokens, n, rows=5 + n) for n in range(3)]
    work = sides[0].steps(batches)
    do_steps(sides[0].member, work, torch.float64)
    for step, (loss, norm, right) in zip(work, sides[1].in_torch(batches), strict=True):
        assert step.loss == pytest.approx(loss, rel=CLOSE)
        assert step.norm == pytest.approx(norm, rel=1e-6)
        assert (step.share if answer == "class a step" else step.whole) == pytest.approx(right, rel=1e-6)
    assert_equal_weights(*sides)


def test_equal_maxima_share_the_gradient() -> None:
    """Where a relu is closed, all states of a unit are 0; and a word that is repeated while nothing is remembered gives
    the same state again. That such states share the gradient, as torch has it, isn't left to chance."""
    settings = {"kind": "rnn", "hidden": 6, "activation": "relu", "pooling": "max"}
    training = Training.model_validate({"optimizer": "sgd", "lr": 0.5, "clip": None})
    sides = [Side(0, settings, "class", 4, training, CLASSES) for _ in range(2)]
    for side in sides:
        with torch.no_grad():
            for name, weight in side.network.named_parameters():
                if "weight_hh" in name:
                    weight.zero_()
    batch = batch_of("class", 4, 0, rows=9)
    batch.inputs[:, :4] = batch.inputs[:, :1]
    batch.lengths.clamp_(min=4)
    with switched_off(), torch.no_grad():
        states = sides[1].network.encode(batch.inputs, batch.lengths).states
        tied = (states[:, :4] == states[:, :4].amax(1, keepdim=True)).sum(1)
    assert (tied > 1).any()
    assert (states[:, :4].amax(1) > 0).any()
    do_steps(sides[0].member, sides[0].steps([batch]), torch.float64)
    sides[1].in_torch([batch])
    assert_equal_weights(*sides)


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("pooling", ["last", *POOLINGS])
def test_what_stands_at_padding_changes_no_update(pooling: str, layer_norm: bool) -> None:
    settings = {**RECURRENCES[3], "pooling": pooling, "layer_norm": layer_norm}
    found = []
    for padding in (0.0, float("nan")):
        side = Side(0, settings, "class", 0, Training(), CLASSES)
        batches = [batch_of("class", 0, n, rows=9) for n in range(3)]
        for batch in batches:
            batch.inputs[torch.arange(batch.inputs.shape[1]) >= batch.lengths[:, None]] = padding
        do_steps(side.member, side.steps(batches), torch.float64)
        assert side.member.done == 3
        found.append(side.optimizer.weights)
    assert torch.equal(*found)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_state_that_is_not_a_number_is_seen(pooling: str) -> None:
    """Maxima and weights that skipped it would hide a divergence."""
    for place in (0, 2, 5):
        side = Side(0, {**RECURRENCES[0], "pooling": pooling}, "class", 0, Training(), CLASSES)
        batch = batch_of("class", 0, 3, rows=3)
        batch = Batch(batch.inputs[:, :1].repeat(1, 6, 1), torch.full((3,), 6), batch.targets)
        batch.inputs[1, place] = float("nan")
        steps = side.steps([batch])
        do_steps(side.member, steps, torch.float64)
        assert (side.member.stopped, math.isnan(steps[0].loss)) == (1, True)


@pytest.mark.parametrize("what", ["loss", "norm"])
def test_a_step_that_breaks_changes_nothing_and_is_the_last(what: str) -> None:
    training = Training.model_validate(OPTIMIZERS[0])
    side = Side(0, RECURRENCES[0], "number", 0, training, CLASSES)
    batches = [batch_of("number", 0, n) for n in range(3)]
    bad = batches[1]
    if what == "loss":
        bad.targets[2] = float("nan")
    else:  # the loss is in bounds, its gradient isn't: 0 · ∞
        with torch.no_grad():
            linear = next(module for module in side.network.modules() if isinstance(module, nn.Linear))
            linear.weight.fill_(1e-300)
        bad.inputs[0, 0] = float("inf")
        bad.inputs[0, 0, 1:] = 0
    work = side.steps(batches)
    do_steps(side.member, work, torch.float64)
    assert (side.member.done, side.member.stopped) == (1, 1)
    reference = Side(0, RECURRENCES[0], "number", 0, training, CLASSES)
    if what == "loss":
        assert math.isnan(work[1].loss)
        assert work[1].norm == -1
        reference.in_torch(batches[:1])
        assert_equal_weights(side, reference)


@pytest.mark.parametrize("tokens", [4, 13])
@pytest.mark.parametrize("what", ["id", "class"])
def test_an_id_or_a_class_that_is_not_there_stops_the_network(what: str, tokens: int) -> None:
    side = Side(0, RECURRENCES[0], "class", tokens, Training(), CLASSES)
    batch = batch_of("class", tokens, 0)
    if what == "id":
        batch.inputs[0, 0, 0] = WORDS
    else:
        batch.targets[0] = CLASSES
    do_steps(side.member, side.steps([batch]), torch.float64)
    assert (side.member.done, side.member.stopped) == (0, 1)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn"])
def test_bits_of_an_answer_per_step_do_not_depend_on_threads(kind: str, dropout: float) -> None:
    """Nor do loss and hits: head and dropout are shared, too."""
    found = []
    for threads in (1, 2, 3):
        settings = {"kind": kind, "hidden": 35, "layers": 2, "dropout": dropout, "output_dropout": dropout}
        side = Side(0, settings, "class a step", 4, Training(), WIDE)
        side.member.threads = threads
        batches = [batch_of("class a step", 4, n, rows=90, classes=WIDE) for n in range(3)]
        steps = training_steps(side.optimizer, batches, [0.1] * 3, [5, 6, 7])
        do_steps(side.member, steps, torch.float64)
        found.append((side.optimizer.weights.tolist(), [(step.loss, step.share, step.whole) for step in steps]))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_bits_do_not_depend_on_the_threads_that_share_a_step(pooling: str, layer_norm: bool) -> None:
    found = []
    for threads in (1, 2, 3):
        settings = {**RECURRENCES[3], "pooling": pooling, "layer_norm": layer_norm}
        side = Side(0, settings, "class", 4, Training(), CLASSES)
        side.member.threads = threads
        do_steps(side.member, side.steps([batch_of("class", 4, n, rows=20) for n in range(3)]), torch.float64)
        found.append(side.optimizer.weights)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_structures_have_no_gaps() -> None:
    """As in whole_steps.cpp: every field is 8 bytes wide."""
    for structure in (Step, Member):
        assert ctypes.sizeof(structure) == 8 * len(structure._fields_)
