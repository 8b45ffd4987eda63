"""What a model that writes reads while it learns: the true tokens, or those that it drew itself.

With teacher forcing it always reads the truth, and never meets its own mistakes before it writes. Scheduled sampling
(Bengio et al. 2015) reads the truth with a probability ε that falls as training goes on, and else what the model drew
from its own distribution, step by step; the answers that are asked for stay the true ones.

Gradients don't flow through a token that was drawn. So what an update reads is found beforehand, without gradients and
in evaluation mode (`rolled_out`), and the ordinary training step, native or not, reads that in place of the truth.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rnnlab.answers.stepping import ByRecurrence, recurrence_of
from rnnlab.answers.translation import tokens_before
from rnnlab.core.errors import ConfigError
from rnnlab.core.seeding import stream_seed
from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN
from rnnlab.models.base import State
from rnnlab.models.decoder import Memory
from rnnlab.models.network import Network
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.models.sampling import choose, counted_uniforms
from rnnlab.training.spec import Forcing, RunSpec

LITTLE = 0.01  # of the way that the inverse sigmoid is still away from its end after its length


def share_of_truth(forcing: Forcing, update: int, updates: int) -> float:
    """ε, the probability of the true token, at an update, counted from 0; an epoch has so many ``updates``."""
    if forcing.mode != "scheduled":
        return 1.0 if forcing.mode == "teacher" else 0.0
    assert forcing.start is not None
    assert forcing.end is not None
    assert forcing.length is not None
    fall = forcing.length * updates
    if update >= fall:
        return forcing.end
    left = 1 - update / fall
    if forcing.decay == "inverse-sigmoid":
        k = steepness(fall)
        left = k / (k + math.exp(update / k))
    return forcing.end + (forcing.start - forcing.end) * left


def steepness(fall: float) -> float:
    """k of the inverse sigmoid k / (k + exp(i / k)) that is `LITTLE` after i = ``fall`` updates: k (ln k + c) = fall,
    found by halving."""
    constant = math.log(1 / LITTLE - 1)
    low, high = 1e-9, max(2.0, fall)
    for _ in range(100):
        k = (low + high) / 2
        low, high = (k, high) if k * (math.log(k) + constant) < fall else (low, k)
    return max(1.0, high)


@dataclass(frozen=True)
class Draws:
    """The uniform numbers of an update: those of a row at a step depend on (seed, update, row, step) alone."""

    seed: int
    update: int

    def coins(self, rows: int, steps: int) -> np.ndarray:
        """(B, T): whether the truth is read."""
        return self._numbers(0, rows, steps)

    def tokens(self, rows: int, steps: int) -> np.ndarray:
        """(B, T): which token is drawn."""
        return self._numbers(1, rows, steps)

    def _numbers(self, of: int, rows: int, steps: int) -> np.ndarray:
        key = stream_seed(self.seed, "forcing", self.update, of)
        return counted_uniforms(key, np.arange(rows), np.arange(steps))


def rolled_out(
    reader: Callable[[], "Reader"], true: Tensor, lengths: Tensor, share: float, draws: Draws, never: np.ndarray
) -> Tensor:
    """(B, T): what rows read that read the ``true`` token (B, T) with probability ``share`` (ε) at each step but the
    first, and else one that the network draws, given what the row read so far; padding, behind ``lengths`` (B,), stays.
    ``reader()`` begins to read the rows, with a network in evaluation mode; ids of ``never`` aren't drawn."""
    truth = true.cpu().numpy()
    rows, steps = truth.shape
    drawn = draws.coins(rows, steps) >= share
    drawn[:, 0] = False
    drawn &= np.arange(steps) < lengths.cpu().numpy()[:, None]
    if not drawn.any():
        return true
    last = int(np.flatnonzero(drawn.any(axis=0))[-1])  # what comes after it is the truth
    numbers = draws.tokens(rows, last + 1)
    read, reading = truth.copy(), reader()
    for step in range(last):
        logits = reading.go_on(read[:, step])
        if not np.isfinite(logits).all():
            return true  # the update itself finds that it diverged, and where
        own = drawn[:, step + 1]
        if own.any():
            read[own, step + 1] = choose(logits[own], 1.0, None, 1.0, numbers[own, step + 1], never)
    return torch.from_numpy(read).to(true.device)


class Reader(Protocol):
    """Rows that grow side by side."""

    def go_on(self, ids: np.ndarray) -> np.ndarray:
        """Read one more token of each (B,); logits (B, V) of what comes next."""
        ...


class ByAdvancing:
    """Any causal network."""

    def __init__(self, network: Network, rows: int, state: State | None):
        self.network = network
        self.state: State = network.begin(rows) if state is None else state
        self.lengths: Tensor = torch.ones(rows, dtype=torch.int64, device=next(network.parameters()).device)

    def go_on(self, ids: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            inputs = torch.from_numpy(ids[:, None]).to(self.lengths.device)
            out, self.state = self.network.advance(inputs, self.lengths, self.state)
        return out[:, 0].cpu().numpy()


class ByDecoder:
    """What is written for texts that were read."""

    def __init__(self, network: Network, batch: Batch):
        assert network.decoder is not None
        self.network = network
        with torch.inference_mode():
            self.memory: Memory = network.remember(batch.inputs, batch.lengths)
            self.state: State = network.decoder.begin(self.memory)

    def go_on(self, ids: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            read = torch.from_numpy(ids).to(self.memory.states.device)
            logits, self.state = self.network.go_on_writing(self.memory, read, self.state)
        return logits.cpu().numpy()


def reader_of(network: Network, rows: int, state: State | None) -> Reader:
    """By native steps, where there are such."""
    on_cpu = next(network.parameters()).device.type == "cpu"
    recurrence = recurrence_of(network) if on_cpu else None
    if recurrence is None:
        return ByAdvancing(network, rows, state)
    found, parts = ByRecurrence(recurrence), len(recurrence.starts[0])
    begun = network.begin(rows) if state is None else state
    with torch.inference_mode():
        found.go_on_from([begun[at : at + parts] for at in range(0, len(begun), parts)])
    return found


@dataclass(frozen=True)
class OwnTokens:
    """The tokens that the updates of a run read."""

    forcing: Forcing
    seed: int
    updates: int  # of an epoch
    streams: bool
    never: np.ndarray  # ids that aren't drawn

    def in_place_of_truth(self, network: Network, batch: Batch, update: int) -> Batch:
        """What update number ``update``, counted from 0, reads; the network is in training mode before and after."""
        share = share_of_truth(self.forcing, update, self.updates)
        if share >= 1:
            return batch
        network.eval()
        draws = Draws(self.seed, update)
        if network.decoder is None:
            rows = len(batch.lengths)
            state = carried_state(network, rows) if self.streams else None
            begin = partial(reader_of, network, rows, state)
            changed = {"inputs": rolled_out(begin, batch.inputs, batch.lengths, share, draws, self.never)}
        else:
            true = tokens_before(batch.targets)
            begin = partial(ByDecoder, network, batch)
            changed = {"read": rolled_out(begin, true, (true != PADDING).sum(1), share, draws, self.never)}
        network.train()
        return replace(batch, **changed)

    def begins_to_count(self, done: int) -> bool:
        """Whether an evaluation after so many updates is compared with none before: ε was still falling then."""
        return self.forcing.mode == "scheduled" and done - self.updates <= (self.forcing.length or 0) * self.updates


def reads_own_tokens(spec: RunSpec, data: EncodedData, updates: int) -> OwnTokens | None:
    """None where the truth is read. An epoch has so many ``updates``."""
    assert spec.training is not None
    forcing = spec.training.forcing
    if forcing.mode == "teacher":
        return None
    embedding = getattr(spec.model, "embedding", None)
    if embedding is not None and embedding.word_dropout:
        raise ConfigError(
            "training.forcing: '{mode}' together with model.embedding.word_dropout = {rate:g} would drop true tokens "
            "alone, not those that are drawn; set one of them to its default",
            mode=forcing.mode,
            rate=embedding.word_dropout,
        )
    read = data.train.targets if spec.task.answer.writes else data.train.values
    unknown = () if (read == UNKNOWN).any() else (UNKNOWN,)
    never = np.array([PADDING, BEGIN, END, *unknown])  # what no row reads behind its first token
    return OwnTokens(forcing, spec.seed, updates, spec.task.streams, never)


def carried_state(network: Network, rows: int) -> State | None:
    """Where training goes on in a stream, as `Network.begin` has it; None: at the beginning."""
    encoder = network.encoder
    if not isinstance(encoder, RecurrentEncoder) or encoder.settings.state != "carried":
        return None
    if encoder.carried is None:
        return tuple(torch.zeros_like(part) for part in network.begin(rows))
    return tuple(part[:rows] for layer in encoder.carried for part in layer)
