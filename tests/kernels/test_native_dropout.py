"""What whole training steps drop: what a hash of the seed says, forward and backward, as autograd does with it."""

from typing import Any

import numpy as np
import pytest
import torch
from test_native_whole_steps import CLASSES, CLOSE, OPTIMIZERS, Side, assert_equal_weights, batch_of
from torch import Tensor, nn

from rnnlab import kernels as native
from rnnlab.data.batches import Batch
from rnnlab.kernels.whole_steps import do_steps
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.training.spec import Training
from rnnlab.training.update import drops, training_steps

pytestmark = pytest.mark.skipif(not native.status().active, reason="there is no native library")
EVERYWHERE = {"dropout": 0.3, "recurrent_dropout": 0.4, "output_dropout": 0.25}
AS_IN_AWD = {"dropout": 0.3, "weight_dropout": 0.5, "output_dropout": 0.25, "locked_dropout": True}
RECURRENCES: list[dict[str, Any]] = [
    {"kind": "rnn", "hidden": 5, "activation": "relu", "layers": 2, "pooling": "max"},
    {"kind": "lstm", "hidden": 18, "layers": 2, "bidirectional": True},
    {"kind": "gru", "hidden": 9, "layers": 3, "bidirectional": True, "pooling": "max"},
    {"kind": "gru", "hidden": 8, "layers": 2, "pooling": "attention"},
    {"kind": "lstm", "hidden": 7, "layers": 2, "bidirectional": True, "layer_norm": True, "pooling": "max"},
]


def scrambled(z: np.ndarray) -> np.ndarray:
    z = (z ^ z >> 30) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> 27) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> 31


def factors(p: float, seed: int, site: int, rows: int, steps: int, columns: int) -> Tensor:
    """What native code multiplies with, (rows, steps, columns): 0 or 1 / (1 - p). As in dropout.h."""
    of_site = scrambled(np.array([(seed + 0x9E3779B97F4A7C15 * (site + 1)) % 2**64], dtype=np.uint64))
    row, step = np.arange(rows, dtype=np.uint64)[:, None], np.arange(steps, dtype=np.uint64)
    token = scrambled(of_site + (row << np.uint64(32) | step))[:, :, None]
    z = np.arange(columns, dtype=np.uint32) + token.astype(np.uint32)
    z = (z ^ z >> 16) * np.uint32(0x21F0AAAD)
    z = (z ^ z >> 15) + (token >> np.uint64(32)).astype(np.uint32)
    z = (z ^ z >> 16) * np.uint32(0xD35A2D97)
    return torch.from_numpy(np.where(z ^ z >> 15 < np.uint32(p * 2**32), 0.0, 1 / (1 - p)))


class Given(nn.Module):
    """Drops what it is told to: at each call the next of its sites, from the first on with each batch."""

    def __init__(self, p: float, sites: list[int], locked: bool = False):
        super().__init__()
        self.p, self.sites, self.locked, self.seed, self.calls = p, sites, locked, 0, 0

    def begin(self, seed: int) -> None:
        self.seed, self.calls = seed, 0

    def forward(self, x: Tensor) -> Tensor:
        site = self.sites[self.calls]
        self.calls += 1
        rows, steps, columns = x.shape if x.ndim == 3 else (x.shape[0], 1, x.shape[1])
        found = factors(self.p, self.seed, site, rows, 1 if self.locked else steps, columns)
        return x * found.expand(rows, steps, columns).reshape(x.shape)


class Told:
    """A side whose network drops, in torch, what native code does."""

    def __init__(self, side: Side):
        network, encoder = side.network, side.network.encoder
        assert isinstance(encoder, RecurrentEncoder)
        settings, ways = encoder.settings, 2 if encoder.settings.bidirectional else 1
        self.side, self.parts, self.locked = side, list[Given](), settings.locked_dropout
        if network.embedding is not None and network.embedding.dropout.p:
            network.embedding.dropout = self._given(network.embedding.dropout.p, [0])  # type: ignore[assignment]  # it acts as one
        if settings.dropout:
            encoder.dropout = self._given(settings.dropout, [1 + 3 * layer for layer in range(1, settings.layers)])  # type: ignore[assignment]
        if settings.recurrent_dropout:
            sites = [2 + 3 * layer + way for layer in range(settings.layers) for way in range(ways)]
            states = self._given(settings.recurrent_dropout, sites)
            encoder._mask = lambda x: states(x.new_ones(len(x), settings.hidden))  # type: ignore[method-assign]
        if settings.weight_dropout:
            both = filter(len, (encoder.ahead, encoder.back))
            cells: list[Any] = [cell for layer in zip(*both, strict=True) for cell in layer]
            for number, cell in enumerate(cells):
                self._drop_weights(cell, self._given(settings.weight_dropout, [2 + 3 * settings.layers + number]))
        if network.dropout.p:
            network.dropout = self._given(network.dropout.p, [1 + 3 * settings.layers])  # type: ignore[assignment]

    def _given(self, p: float, sites: list[int]) -> Given:
        self.parts.append(Given(p, sites, self.locked))
        return self.parts[-1]

    @staticmethod
    def _drop_weights(cell: Any, given: Given) -> None:
        def drop() -> None:
            cell.dropped = (given(cell.weight_hh_l0),)

        cell.drop_weights = drop

    def in_torch(self, batches: list[Batch], seeds: list[int]) -> list[tuple[float, float, float]]:
        found = []
        for batch, seed in zip(batches, seeds, strict=True):
            for part in self.parts:
                part.begin(seed)
            found += self.side.in_torch([batch])
            assert all(part.calls == len(part.sites) for part in self.parts)
        return found


def side_of(settings: dict[str, Any], answer: str, tokens: int, training: Training, of_tokens: float = 0.35) -> Side:
    embedding = {"width": tokens, "dropout": of_tokens} if tokens else None
    return Side(0, {**settings, **({"embedding": embedding} if tokens else {})}, answer, tokens, training, CLASSES)


def steps_of(side: Side, batches: list[Batch], seeds: list[int]) -> Any:
    return training_steps(side.optimizer, batches, [side.training.lr] * len(batches), seeds)


@pytest.mark.parametrize("tokens", [4, 13, 0], ids=["tokens", "a small vocabulary", "features"])
@pytest.mark.parametrize("answer", ["class", "class a step", "number"])
@pytest.mark.parametrize("settings", RECURRENCES, ids=lambda s: "-".join(map(str, s.values())))
def test_steps_are_those_of_autograd_with_the_same_masks(settings: dict[str, Any], answer: str, tokens: int) -> None:
    training = Training.model_validate(OPTIMIZERS[RECURRENCES.index(settings) % len(OPTIMIZERS)])
    sides = [side_of({**settings, **EVERYWHERE}, answer, tokens, training) for _ in range(2)]
    assert drops(sides[0].member)
    batches = [batch_of(answer, tokens, n, rows=17 + n) for n in range(3)]
    seeds = [5, 2**62 + 3, 0]
    work = steps_of(sides[0], batches, seeds)
    do_steps(sides[0].member, work, torch.float64)
    for step, (loss, norm, right) in zip(work, Told(sides[1]).in_torch(batches, seeds), strict=True):
        assert step.loss == pytest.approx(loss, rel=CLOSE)
        assert step.norm == pytest.approx(norm, rel=1e-6)
        assert (step.share if answer == "class a step" else step.whole) == pytest.approx(right, rel=1e-6)
    assert_equal_weights(*sides)


@pytest.mark.parametrize("answer", ["class", "class a step"])
@pytest.mark.parametrize("settings", RECURRENCES[:4], ids=lambda s: "-".join(map(str, s.values())))
def test_locked_steps_and_dropped_weights_are_those_of_autograd(settings: dict[str, Any], answer: str) -> None:
    sides = [side_of({**settings, **AS_IN_AWD}, answer, 4, Training()) for _ in range(2)]
    assert sides[0].member.locked
    batches, seeds = [batch_of(answer, 4, n, rows=17 + n) for n in range(3)], [5, 2**62 + 3, 0]
    work = steps_of(sides[0], batches, seeds)
    do_steps(sides[0].member, work, torch.float64)
    for step, (loss, norm, _) in zip(work, Told(sides[1]).in_torch(batches, seeds), strict=True):
        assert step.loss == pytest.approx(loss, rel=CLOSE)
        assert step.norm == pytest.approx(norm, rel=1e-6)
    assert_equal_weights(*sides)


@pytest.mark.parametrize("where", ["weight_dropout", "dropout", "recurrent_dropout", "output_dropout", "embedding"])
def test_each_place_drops_by_itself_and_by_its_seed(where: str) -> None:
    base = {"kind": "gru", "hidden": 8, "layers": 2, "bidirectional": True, "pooling": "max"}
    settings = base if where == "embedding" else {**base, where: 0.5}
    losses = []
    for seed in (1, 1, 2):
        side = side_of(settings, "class", 4, Training(), of_tokens=0.5 if where == "embedding" else 0.0)
        work = steps_of(side, [batch_of("class", 4, 0, rows=9)], [seed])
        do_steps(side.member, work, torch.float64)
        losses.append(work[0].loss)
    assert losses[0] == losses[1] != losses[2]


def test_as_many_are_dropped_as_should_be() -> None:
    """By the hash as it is written here, which the steps above agree with."""
    p = 0.3
    kept = torch.stack([factors(p, seed, 4, 50, 20, 30) != 0 for seed in range(5)]).double()
    for over in ((0, 1, 2, 3), (0, 1, 2), (0, 2, 3), (1, 2, 3)):  # all, by column, by row, by seed
        share = kept.mean(over)
        sigma = (p * (1 - p) * share.numel() / kept.numel()) ** 0.5
        assert float((share - (1 - p)).abs().max()) < 4 * sigma
