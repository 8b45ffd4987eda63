"""Our update step against torch's own optimisers, on the same gradients."""

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import build_network
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import Training

WORDS, CLASSES = 30, 3


class Head(torch.nn.Linear):
    def forward(self, encoded):  # type: ignore[override]  # a head takes what the encoder made
        return super().forward(encoded.summary)


def network() -> Any:
    torch.manual_seed(0)
    model = ARCHITECTURES.parse({"kind": "lstm", "hidden": 6, "embedding": {"width": 4}})
    return build_network(model, words=WORDS, features=None, pretrained=None, head=lambda width: Head(width, CLASSES))


def batches(steps: int = 30, words: int = WORDS):
    random = torch.Generator().manual_seed(1)
    for _ in range(steps):
        ids = torch.randint(2, words, (5, 7), generator=random)
        lengths = torch.randint(1, 8, (5,), generator=random)
        ids[torch.arange(7) >= lengths[:, None]] = 0
        yield ids, lengths, torch.randint(0, CLASSES, (5,), generator=random)


TORCH = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.05),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=0.05),
}


@pytest.mark.parametrize("clip", [None, 0.05])
@pytest.mark.parametrize("kind", TORCH)
def test_equal_to_torch(kind, clip):
    ours, theirs = network(), network()
    extra = {} if kind == "adam" else {"weight_decay": 0.05}
    momentum = {"momentum": 0.9} if kind == "sgd" else {}
    settings = Training.model_validate({"optimizer": kind, **extra, **momentum})
    optimizer, reference = Optimizer(ours, settings), TORCH[kind](theirs.parameters())
    for ids, lengths, targets in batches():
        F.cross_entropy(ours(ids, lengths), targets).backward()
        norm = optimizer.step(0.01, clip)
        reference.zero_grad()
        F.cross_entropy(theirs(ids, lengths), targets).backward()
        expected = torch.nn.utils.clip_grad_norm_(theirs.parameters(), clip or float("inf"))
        reference.step()
        assert norm == pytest.approx(float(expected), rel=1e-4)
    for name, value in ours.state_dict().items():
        torch.testing.assert_close(value, theirs.state_dict()[name], rtol=1e-4, atol=1e-6)


def test_lazy_adam_is_sparse_adam_on_the_embedding_and_adam_elsewhere():
    ours, theirs = network(), network()
    optimizer = Optimizer(ours, Training(optimizer="lazy-adam"))
    table = theirs.embedding.table
    rest = [p for p in theirs.parameters() if p is not table]
    sparse, dense = torch.optim.SparseAdam([table], lr=0.01), torch.optim.Adam(rest, lr=0.01)
    for ids, lengths, targets in batches():
        F.cross_entropy(ours(ids, lengths), targets).backward()
        optimizer.step(0.01, None)
        sparse.zero_grad()
        dense.zero_grad()
        F.cross_entropy(theirs(ids, lengths), targets).backward()
        used = ids[ids > 0].unique()
        rows = table.grad[used]
        table.grad = torch.sparse_coo_tensor(used[None], rows, table.shape, check_invariants=True)
        sparse.step()
        dense.step()
    for name, value in ours.state_dict().items():  # SparseAdam adds ε before the bias correction, Adam and we after it
        torch.testing.assert_close(value, theirs.state_dict()[name], rtol=1e-4, atol=2e-4)


def test_lazy_adam_is_not_dense_adam():
    """The tolerance above is far below what separates the two."""
    lazy, dense = network(), network()
    for model, kind in ((lazy, "lazy-adam"), (dense, "adam")):
        optimizer = Optimizer(model, Training.model_validate({"optimizer": kind}))
        for ids, lengths, targets in batches():
            F.cross_entropy(model(ids, lengths), targets).backward()
            optimizer.step(0.01, None)
    difference = lazy.embedding.table - dense.embedding.table
    assert difference.abs().max() > 0.01


@pytest.mark.parametrize("clip", [None, 0.05])
def test_lazy_sgd_is_sgd_without_momentum(clip):
    """A row that is not in use has no gradient, and stays where it is with or without laziness."""
    lazy, dense = network(), network()
    optimizers = [Optimizer(lazy, Training(optimizer="lazy-sgd")), Optimizer(dense, Training(optimizer="sgd"))]
    assert sum(value.numel() for value in optimizers[0].memory.values()) == optimizers[0].weights.numel()
    for ids, lengths, targets in batches():
        norms = []
        for model, optimizer in zip((lazy, dense), optimizers, strict=True):
            F.cross_entropy(model(ids, lengths), targets).backward()
            norms.append(optimizer.step(0.5, clip))
        assert norms[0] == pytest.approx(norms[1], rel=1e-4)
    for name, value in lazy.state_dict().items():
        torch.testing.assert_close(value, dense.state_dict()[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["lazy-adam", "lazy-sgd"])
def test_rows_that_are_not_used_are_not_touched(kind):
    ours = network()
    before = ours.embedding.table.detach().clone()
    optimizer = Optimizer(ours, Training.model_validate({"optimizer": kind}))
    for ids, lengths, targets in batches(words=10):
        F.cross_entropy(ours(ids, lengths), targets).backward()
        optimizer.step(0.01, 5.0)
    after = ours.embedding.table
    assert torch.equal(after[10:], before[10:])
    assert torch.equal(after[0], torch.zeros(4))  # padding
    assert not torch.equal(after[2:10], before[2:10])


def test_a_gradient_that_is_not_finite_changes_nothing():
    ours = network()
    optimizer = Optimizer(ours, Training(optimizer="adam"))
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    ids, lengths, targets = next(batches())
    (F.cross_entropy(ours(ids, lengths), targets) * float("inf")).backward()
    assert not optimizer.step(0.01, 5.0) < float("inf")
    assert all(torch.equal(value, before[name]) for name, value in ours.state_dict().items())
