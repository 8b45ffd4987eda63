"""Inside a model that writes a text for another: where it looked before it wrote each token, what each written token
rests on, and how it fares along its own tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlab.answers.translation import tokens_before
from rnnlab.data.batches import collate
from rnnlab.data.sequences import IGNORE, Sequences
from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN
from rnnlab.inspecting.exposure import Estimate, over_blocks
from rnnlab.inspecting.readings import in_double
from rnnlab.kernels import switched_off
from rnnlab.models.base import Encoded
from rnnlab.models.network import Network
from rnnlab.models.search import in_order_of_length
from rnnlab.training.forcing import ByDecoder
from rnnlab.training.monitor import undisturbed

NEVER = (PADDING, UNKNOWN, BEGIN, END)  # what no row reads behind its first token
AT_A_TIME = 256  # rows
FEWEST_ROWS = 20  # that have so many tokens: beyond, a mean says little

Grid = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class WritingInspection:
    """What `rnnlab inspect` finds out about a model that writes, with one text."""

    name: str  # the run's
    kind: str
    settings: dict[str, Any]  # of the model
    tokens: tuple[str, ...]  # that were read
    unknown: tuple[int, ...]  # positions of those that the model doesn't know
    text: str  # that was written
    written: tuple[str, ...]  # its tokens, the last of them `</s>` where it came to an end
    probabilities: tuple[float, ...]  # of each of these, after those before
    attention: Grid | None  # (T, S); None without attention
    gradients: Grid  # (T, S)

    @property
    def probability(self) -> float:
        """Of the whole text."""
        return float(np.prod(self.probabilities))

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "model": {"kind": self.kind, **self.settings},
            "tokens": self.tokens,
            "unknown": self.unknown,
            "text": self.text,
            "probability": self.probability,
            "written": self.written,
            "probabilities": self.probabilities,
            "attention": self.attention,
            "gradients": self.gradients,
        }


def token_probabilities(network: Network, read: Sequence[int], written: Sequence[int]) -> tuple[float, ...]:
    """(T,): of each written token, after those before it, among those that a search may write."""
    inputs, lengths, before, _ = _as_batch(read, written)
    with undisturbed(network), torch.no_grad():
        logits = network(inputs, lengths, before)[0].double()
    logits[:, [PADDING, UNKNOWN, BEGIN]] = -torch.inf
    chances = F.softmax(logits, dim=1)
    return tuple(chances[torch.arange(len(written)), torch.tensor(list(written))].tolist())


def attention_map(network: Network, read: Sequence[int], written: Sequence[int]) -> Grid | None:
    """(T, S): where it looked, among S tokens that were read, before it wrote each of T tokens (the last of them
    `</s>`); a line adds up to 1. None without attention. Of a Transformer, the mean of the heads of its last layer."""
    assert network.decoder is not None
    inputs, lengths, before, asked = _as_batch(read, written)
    with undisturbed(network), torch.no_grad():
        weights = network.decoder.looks(network.remember(inputs, lengths), before, asked)
    return None if weights is None else _grid(weights[0])


def gradient_map(network: Network, read: Sequence[int], written: Sequence[int]) -> Grid:
    """(T, S): ‖∂ log p(token j) / ∂ x_i‖, by how much the log probability of each of T written tokens moves with the
    vector of each of S tokens that were read; the written ones before it stay as they are. In double precision, and
    for any network."""
    double = in_double(network)
    assert double.decoder is not None
    assert double.embedding is not None
    inputs, lengths, before, asked = _as_batch(read, written)
    x = double.embedding(inputs).detach().requires_grad_()
    with switched_off():
        memory = double.decoder.remember(double.encoder(x, lengths), lengths)
        states = double.decoder(memory, before, asked)
        chances = F.log_softmax(double.head(Encoded(states, states[:, 0])), dim=2)[0]
        every = [
            torch.autograd.grad(chances[at, token], x, retain_graph=True)[0][0].norm(dim=1)
            for at, token in enumerate(written)
        ]
    return _grid(torch.stack(every))


def _as_batch(read: Sequence[int], written: Sequence[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One row: what is read and its length, what stands before each written token, and how many they are."""
    targets = torch.tensor([list(written)])
    inputs = torch.tensor([list(read)])
    return inputs, torch.tensor([len(read)]), tokens_before(targets), torch.tensor([len(written)])


def _grid(values: Tensor) -> Grid:
    return tuple(map(tuple, values.double().tolist()))


# --- exposure bias ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WritingExposure:
    """Nats of the true token by its number in the text, that of the first one first: the true tokens before it being
    read (forced), and those that the network itself finds most probable (free)."""

    rows: int
    groups: int  # of rows that belong together, over which intervals go
    forced: tuple[Estimate, ...]
    free: tuple[Estimate, ...]
    gap: tuple[Estimate, ...]  # free - forced, row by row
    mean_gap: Estimate  # of all tokens

    def to_dict(self) -> dict[str, Any]:
        curves = {name: [one.to_dict() for one in getattr(self, name)] for name in ("forced", "free", "gap")}
        return {"rows": self.rows, "groups": self.groups, "mean_gap": self.mean_gap.to_dict(), **curves}


def writing_exposure(network: Network, data: Sequences, most: int = 400) -> WritingExposure:
    """On up to so many rows, spread evenly. The first token has the same nats either way: nothing stands before it."""
    chosen = np.unique(np.linspace(0, len(data) - 1, min(most, len(data))).astype(np.int64))
    assert data.target_offsets is not None
    longest = int(data.target_counts[chosen].max())
    forced, free = (np.full((len(chosen), longest), np.nan) for _ in range(2))
    with undisturbed(network):
        for some in in_order_of_length(data.target_counts[chosen], AT_A_TIME):
            for nats, own in ((forced, False), (free, True)):
                found = _gone_along(network, data, chosen[some], own)
                nats[some, : found.shape[1]] = found
    groups = np.asarray(data.groups)[chosen]
    reached = (~np.isnan(forced)).sum(0)
    steps = max(1, int((reached >= min(FEWEST_ROWS, reached[0])).sum()))
    gap = free - forced
    inside = ~np.isnan(gap)
    return WritingExposure(
        rows=len(chosen),
        groups=len(np.unique(groups)),
        forced=_curve(forced, groups, steps),
        free=_curve(free, groups, steps),
        gap=_curve(gap, groups, steps),
        mean_gap=over_blocks(gap[inside], np.repeat(groups, inside.sum(1))),
    )


def _gone_along(network: Network, data: Sequences, rows: np.ndarray, own: bool) -> np.ndarray:
    """(B, L): nats of the true tokens; NaN behind the end of a row."""
    batch = collate(data, rows)
    targets = batch.targets.numpy()
    true = tokens_before(batch.targets).numpy()
    reader, nats = ByDecoder(network, batch), np.full(targets.shape, np.nan)
    read = true[:, 0]
    for step in range(targets.shape[1]):
        logits = reader.go_on(np.ascontiguousarray(read)).astype(np.float64)
        shifted = logits - logits.max(axis=1, keepdims=True)
        asked = targets[:, step] != IGNORE
        token = np.where(asked, targets[:, step], 0)
        surprise = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(token)), token]
        nats[asked, step] = surprise[asked]
        if step + 1 < targets.shape[1]:
            logits[:, NEVER] = -np.inf
            read = logits.argmax(axis=1) if own else true[:, step + 1]
    return nats


def _curve(values: np.ndarray, groups: np.ndarray, steps: int) -> tuple[Estimate, ...]:
    found = []
    for step in range(steps):
        there = ~np.isnan(values[:, step])
        found.append(over_blocks(values[there, step], groups[there]))
    return tuple(found)
