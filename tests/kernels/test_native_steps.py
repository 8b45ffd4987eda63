"""The native kernels of a training step against torch, in both precisions."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab import kernels as native
from rnnlab.answers.heads import SummaryHead
from rnnlab.data.batches import Batch
from rnnlab.kernels import steps, switched_off
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.embedding import Embedding, TokenVectors
from rnnlab.models.network import Network, build_network
from rnnlab.tasks.classify import Classify
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import Training
from rnnlab.training.update import backward

pytestmark = pytest.mark.skipif(not native.status().active, reason="there are no native kernels")

DTYPES = [torch.float32, torch.float64]
CLOSE = {torch.float32: 1e-6, torch.float64: 1e-13}
WORDS, CLASSES = 40, 3
usual = settings(derandomize=True, deadline=None, max_examples=60)


def drawn(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


# Updates


def optimizer_of(kind: str, dtype: torch.dtype, words: int = WORDS) -> tuple[Network, Optimizer]:
    torch.manual_seed(0)
    model = ARCHITECTURES.parse({"kind": "linear", "hidden": 7, "embedding": {"width": 5}})
    network = build_network(
        model, words=words, features=None, pretrained=None, head=lambda width: SummaryHead(width, CLASSES)
    ).to(dtype)
    momentum = {"momentum": 0.9, "weight_decay": 0.1} if kind == "sgd" else {}
    return network, Optimizer(network, Training.model_validate({"optimizer": kind, **momentum}))


def trained(kind: str, dtype: torch.dtype, clip: float | None, threads: int = 1, words: int = WORDS) -> list[Tensor]:
    """Weights, memory and norms after some updates with gradients that don't depend on the weights."""
    network, optimizer = optimizer_of(kind, dtype, words)
    assert network.embedding is not None
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    norms = []
    for step in range(5):
        ids = torch.randint(0, words, (4, 6), generator=torch.Generator().manual_seed(step))
        (network.embedding(ids) * drawn(step, 4, 6, 5, dtype=dtype)).sum().backward()
        optimizer.gradient.add_(drawn(step + 100, optimizer.gradient.numel(), dtype=dtype))
        norms.append(optimizer.step(0.01, clip))
        assert not optimizer.gradient.any()
    torch.set_num_threads(before)
    return [*network.state_dict().values(), *optimizer.memory.values(), torch.tensor(norms, dtype=dtype)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("kind", ["lazy-adam", "adam", "adamw", "sgd"])
def test_an_update_is_that_of_torch(kind: str, clip: float | None, dtype: torch.dtype) -> None:
    native = trained(kind, dtype, clip)
    with switched_off():
        expected = trained(kind, dtype, clip)
    for one, other in zip(native, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=10 * CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_an_update_has_the_same_bits_on_any_number_of_threads(kind: str) -> None:
    """Of enough weights for several threads."""
    one, three = (trained(kind, torch.float32, 0.5, threads, words=30_000) for threads in (1, 3))
    assert all(torch.equal(a, b) for a, b in zip(one, three, strict=True))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 4095, 4097, 70_001])
def test_the_norm_takes_in_every_number(n: int) -> None:
    gradient = drawn(n, n)
    expected = float(gradient.norm())
    speed, weights = torch.zeros_like(gradient), torch.zeros_like(gradient)
    norm = steps.descend((weights, gradient, speed), None, clip=None, decay=0.0, momentum=0.0, rate=1.0)
    assert norm == pytest.approx(expected, rel=1e-12)
    torch.testing.assert_close(weights, -drawn(n, n))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("kind", ["lazy-adam", "adam", "sgd"])
def test_a_gradient_that_is_not_finite_changes_nothing(kind: str, bad: float) -> None:
    network, optimizer = optimizer_of(kind, torch.float32)
    assert network.embedding is not None
    before = [value.clone() for value in (*network.state_dict().values(), *optimizer.memory.values())]
    (network.embedding(torch.tensor([[3, 4]])) * bad).sum().backward()
    assert not math.isfinite(optimizer.step(0.01, 5.0))
    assert optimizer.steps == 0
    after = [*network.state_dict().values(), *optimizer.memory.values()]
    assert all(torch.equal(a, b) for a, b in zip(after, before, strict=True))


def test_a_gradient_is_used_once() -> None:
    network, optimizer = optimizer_of("lazy-adam", torch.float32)
    assert network.embedding is not None
    network.embedding(torch.tensor([[3, 4]])).sum().backward()
    assert optimizer.step(0.01, None) > 0
    assert optimizer.step(0.01, None) == 0


# Rows of the embedding


def vectors_of(dtype: torch.dtype, width: int, frozen_width: int) -> TokenVectors:
    frozen = drawn(2, WORDS, frozen_width, dtype=dtype) if frozen_width else None
    module = TokenVectors(drawn(1, WORDS, width, dtype=dtype), frozen, 0.0)
    module.lazy = True
    return module


@usual
@given(
    ids=st.lists(st.lists(st.integers(0, WORDS - 1), min_size=6, max_size=6), min_size=1, max_size=5),
    width=st.integers(1, 40),
    frozen_width=st.sampled_from([0, 3, 17]),
    dtype=st.sampled_from(DTYPES),
)
def test_vectors_and_their_gradients_are_those_of_torch(
    ids: list[list[int]], width: int, frozen_width: int, dtype: torch.dtype
) -> None:
    module, batch = vectors_of(dtype, width, frozen_width), torch.tensor(ids)
    ways = drawn(3, *batch.shape, width + frozen_width, dtype=dtype)

    def gradient() -> tuple[Tensor, Tensor]:
        x = module(batch)
        (x * ways).sum().backward()
        assert module.picked.grad is not None
        return x, torch.zeros(WORDS, width, dtype=dtype).index_add(0, module.rows, module.picked.grad)

    x, native = gradient()
    assert len(set(module.rows.tolist())) == len(module.rows)
    with switched_off():
        expected_x, expected = gradient()
    assert torch.equal(x, expected_x)
    torch.testing.assert_close(native, expected, rtol=10 * CLOSE[dtype], atol=10 * CLOSE[dtype])
    assert not native[0].any()


def test_two_passes_before_one_backward_do_not_disturb_each_other() -> None:
    module = vectors_of(torch.float64, 4, 0)
    first = module(torch.tensor([[3, 5, 3]]))
    picked, rows = module.picked, module.rows
    module(torch.tensor([[8, 9, 9]])).sum().backward()
    first.sum().backward()
    assert picked.grad is not None
    assert dict(zip(rows.tolist(), picked.grad[:, 0].tolist(), strict=True)) == {3: 2.0, 5: 1.0}


def test_ids_that_are_not_in_the_table_are_errors() -> None:
    for bad in (-1, WORDS):
        with pytest.raises(IndexError, match=f"table of {WORDS} rows"):
            vectors_of(torch.float32, 4, 0)(torch.tensor([[3, bad]]))


def test_the_gradient_of_vectors_that_lie_otherwise_in_memory() -> None:
    module = vectors_of(torch.float64, 4, 0)
    module(torch.tensor([[3, 5, 3]])).transpose(1, 2).contiguous().sum().backward()
    assert module.picked.grad is not None
    assert module.picked.grad.sum() == 12


# Head and loss


@usual
@given(
    batch=st.integers(1, 9),
    width=st.integers(1, 70),
    classes=st.integers(1, 20),
    dtype=st.sampled_from(DTYPES),
    size=st.sampled_from([0.1, 30.0]),
)
def test_head_and_loss_are_those_of_torch(
    batch: int, width: int, classes: int, dtype: torch.dtype, size: float
) -> None:
    x = (drawn(1, batch, width, dtype=dtype) * size).requires_grad_()
    weight, bias = (
        (drawn(2, classes, width, dtype=dtype)).requires_grad_(),
        drawn(3, classes, dtype=dtype).requires_grad_(),
    )
    targets = torch.randint(0, classes, (batch,), generator=torch.Generator().manual_seed(4))
    out = F.linear(x, weight, bias)
    loss = F.cross_entropy(out, targets)
    expected = torch.autograd.grad(loss, (x, weight, bias))
    weight.grad, bias.grad = torch.ones_like(weight), torch.ones_like(bias)
    value, d_x, right = classify(x.detach(), weight, bias, targets)
    rtol, atol = 200 * CLOSE[dtype], 50 * CLOSE[dtype] * size
    assert value == pytest.approx(loss.item(), rel=rtol, abs=atol)
    assert right == int((out.argmax(1) == targets).sum())
    for found, wanted in zip((d_x, weight.grad - 1, bias.grad - 1), expected, strict=True):  # they are added to
        torch.testing.assert_close(found, wanted, rtol=rtol, atol=atol)


def classify(x: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> tuple[float, Tensor, int]:
    head = nn.Linear(1, 1)
    for name, tensor in (("weight", weight), ("bias", bias)):
        parameter = nn.Parameter(tensor.detach())
        parameter.grad = tensor.grad
        setattr(head, name, parameter)
    found = steps.classify(x, head, targets)
    assert found is not None
    return found


def test_a_target_that_is_no_class_is_an_error() -> None:
    weight, bias = torch.zeros(3, 2), torch.zeros(3)
    weight.grad, bias.grad = torch.zeros(3, 2), torch.zeros(3)
    for bad in (-100, 3):
        with pytest.raises(IndexError, match="none of the 3 classes"):
            classify(torch.zeros(1, 2), weight, bias, torch.tensor([bad]))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_summary_that_is_not_finite_gives_a_loss_that_is_none(bad: float) -> None:
    weight, bias = torch.ones(3, 2), torch.zeros(3)
    weight.grad, bias.grad = torch.zeros(3, 2), torch.zeros(3)
    value, _, _ = classify(torch.tensor([[1.0, bad]]), weight, bias, torch.tensor([1]))
    assert math.isnan(value)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["rnn", "textcnn"])
@pytest.mark.parametrize("class_weights", [None, torch.tensor([0.5, 4.0, 1.5])], ids=["alike", "weighted"])
def test_a_whole_step_is_that_of_torch(kind: str, dropout: float, class_weights: Tensor | None) -> None:
    def losses() -> tuple[list[float], list[float], list[Tensor]]:
        torch.manual_seed(0)
        pooling = {"rnn": "last"}.get(kind, "max")  # of near maxima, rounding chooses the larger one
        embedding = Embedding(width=6, dropout=dropout)
        model = ARCHITECTURES.parse(
            {"kind": kind, "pooling": pooling, "embedding": embedding, "output_dropout": dropout}
        )
        network = build_network(
            model, words=WORDS, features=None, pretrained=None, head=lambda width: SummaryHead(width, CLASSES)
        )
        optimizer, answer, random = Optimizer(network, Training()), Classify.shape, torch.Generator().manual_seed(1)
        values, counts = [], []
        for _ in range(12):
            lengths = torch.randint(1, 8, (5,), generator=random)
            ids = torch.randint(1, WORDS, (5, 7), generator=random) * (torch.arange(7) < lengths[:, None])
            targets = torch.randint(0, CLASSES, (5,), generator=random)
            value, right = backward(network, answer, Batch(ids, lengths, targets), class_weights)
            optimizer.step(0.01, 1.0)
            values.append(value)
            counts.append(right)
        return values, counts, list(network.state_dict().values())

    values, counts, weights = losses()
    with switched_off():
        expected_values, expected_counts, expected_weights = losses()
    assert values == pytest.approx(expected_values, rel=1e-4)
    assert counts == expected_counts
    for one, other in zip(weights, expected_weights, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
