"""The whole of a model: embedding → encoder → output dropout → head."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.core.errors import ConfigError
from rnnlab.core.words import joined, note, retold
from rnnlab.models.base import Architecture, Encoded, Encoder, State
from rnnlab.models.decoder import Decoder, Memory, build_decoder
from rnnlab.models.dropout import dropout_of
from rnnlab.models.embedding import PADDING, TokenVectors
from rnnlab.models.pooling import Pool

Reads = Literal["summary", "states"]
AFTER = (1, 10, 100, 1000)  # steps read before one more is measured
TIMES = 15  # of which the median counts


class Network(nn.Module):
    """``(inputs, lengths (B,)) -> logits``, whatever the head makes of `Encoded`. Inputs are ids (B, T), several ids a
    step (B, T, K), or features (B, T, D)."""

    embedding: TokenVectors | None

    def __init__(
        self,
        embedding: TokenVectors | None,
        encoder: Encoder,
        dropout: float,
        head: nn.Module,
        reads: Reads = "summary",
        locked: bool = False,
        decoder: Decoder | None = None,
    ):
        super().__init__()
        self.reads = reads  # what the head reads: the summary, or the state at every step
        self.embedding = embedding
        self.encoder = encoder
        self.decoder = decoder  # where a text is written: the head reads its states
        self.dropout: nn.Dropout = dropout_of(dropout, locked=locked)
        self.head = head

    def forward(self, inputs: Tensor, lengths: Tensor, read: Tensor | None = None) -> Tensor:
        """``read`` (B, L), where a text is written: the tokens before those that are to be written."""
        return self.head(self.before_head(inputs, lengths, read))

    def before_head(self, inputs: Tensor, lengths: Tensor, read: Tensor | None = None) -> Encoded:
        """What the head reads: `encode`, or what the decoder makes of it, with dropout on it."""
        encoded = self.encode(inputs, lengths)
        if getattr(self.head, "reads_inputs", False):
            encoded = replace(encoded, read=(inputs, lengths))
        if self.decoder is not None:
            assert read is not None
            states = self.decoder(self.decoder.remember(encoded, lengths), read, (read != PADDING).sum(1))
            encoded = Encoded(states, encoded.summary)
        if not self.dropout.p:
            return encoded
        if self.reads == "states":
            return replace(encoded, states=self.dropout(encoded.states))
        return replace(encoded, summary=self.dropout(encoded.summary))

    def begin(self, rows: int) -> State:
        """Before the first step of so many sequences; see `advance`."""
        if self.embedding is not None and self.embedding.segments is not None:
            raise ConfigError("the model reads several text columns, of which a text that grows is one")
        state = self.encoder.begin(rows)
        if self.pool is None:
            return state
        return *state, *self.pool.begin(rows, next(self.encoder.parameters()))

    def advance(self, inputs: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        """Go on reading, in evaluation: what the head makes of the summary of all steps so far, (B, C), or of the new
        steps, (B, T, C), and the state after them. ``lengths`` may be 0 where something was read before."""
        if self.pool is None:
            x = inputs if self.embedding is None else self.embedding(inputs)
            states, state = self.encoder.advance(x, lengths, state)
            return self.head(Encoded(states, states[:, 0])), state
        summary, state = self.advance_summary(inputs, lengths, state)
        return self.head(Encoded(summary[:, None], summary)), state

    def advance_summary(self, inputs: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        """Go on reading as `advance` does: the summary of all steps so far, (B, S), and the state after them."""
        assert self.pool is not None
        x = inputs if self.embedding is None else self.embedding(inputs)
        carried = len(self.pool.begin(1, x))
        states, after = self.encoder.advance(x, lengths, state[:-carried])
        summary, pooled = self.pool.advance(states, lengths, state[-carried:])
        return summary, (*after, *pooled)

    @property
    def goes_on(self) -> bool:
        """Whether it can `advance`."""
        pooled = self.reads == "states" or isinstance(getattr(self.encoder, "pool", None), Pool)
        in_columns = self.embedding is not None and self.embedding.segments is not None
        reads_back = getattr(self.head, "reads_inputs", False)  # all that was read, whenever it answers
        return self.encoder.causal and pooled and not in_columns and self.decoder is None and not reads_back

    @property
    def pool(self) -> Pool | None:
        """What makes the summary that the head reads; None where it reads states."""
        if self.reads == "states":
            return None
        pool = getattr(self.encoder, "pool", None)
        if not isinstance(pool, Pool):
            raise ConfigError(
                "{kind} makes its summary in a way of its own, which can't be carried from step to "
                "step; give it `self.pool = Pool(…)`, and the summary from that",
                kind=type(self.encoder).__name__,
            )
        return pool

    def stored_state(self) -> dict[str, Tensor]:
        """As ``state_dict``, with the vectors of extra words in the tables: what is kept once training is over."""
        state = self.state_dict()
        if self.embedding is not None and self.embedding.extra is not None:
            whole = self.embedding.with_rows(self.embedding.extra)
            state |= {f"embedding.{name}": table for name, table in whole.items()}
        return state

    def remember(self, inputs: Tensor, lengths: Tensor) -> Memory:
        """What the decoder is told of texts that are read."""
        assert self.decoder is not None
        return self.decoder.remember(self.encode(inputs, lengths), lengths)

    def go_on_writing(self, memory: Memory, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """What the head makes of one more token of each text, (B,): (B, C), and the state to go on from; it begins with
        that of ``decoder.begin``. In evaluation."""
        assert self.decoder is not None
        states, state = self.decoder.advance(memory, ids, state)
        return self.head(Encoded(states[:, None], states))[:, 0], state

    def encode(self, inputs: Tensor, lengths: Tensor) -> Encoded:
        """Everything before the head, for display: states, summary and, with attention pooling, its weights."""
        x = inputs if self.embedding is None else self.embedding(inputs)
        return self.encoder(x, lengths)


@dataclass(frozen=True)
class Extra:
    """Words that the training rows lack. Their vectors are given, and zero in a random channel."""

    words: int  # E
    pretrained: Tensor | None  # (E, D)
    in_tables: bool  # else they stand apart from what is trained, which is the same then whatever they are

    def give(self, embedding: TokenVectors) -> None:
        known = torch.zeros(self.words, 0) if self.pretrained is None else self.pretrained
        vectors = F.pad(known, (embedding.width - known.shape[1], 0))  # of two channels, the second is pre-trained
        embedding.silence_unknown()
        if self.in_tables:
            embedding.append(vectors)
        elif self.words:
            embedding.extra = vectors


def build_network(
    architecture: Architecture,
    *,
    words: int | None,
    features: int | None,
    pretrained: Tensor | None,
    ngrams: int = 0,
    extra: Extra | None = None,
    tokens: int = 1,
    columns: int = 0,
    letters: int = 0,
    narrow: bool = False,
    head: Callable[[int], nn.Module],
    reads: Reads = "summary",
    written: int = 0,
) -> Network:
    """A fresh network, drawn from torch's global generator in a fixed order: embedding, encoder, decoder, head.

    Either ``words`` (the size of the vocabulary) or ``features`` (the width of the numeric input) is given.
    ``pretrained`` is (words, D), for an embedding that has vectors; ``ngrams`` come behind the words, zero at first:
    what training doesn't tell about says nothing. ``extra`` are words beyond those. Nothing is drawn for either.
    ``tokens`` is how many ids a step has; ``columns``, of how many columns texts are, if of several; ``letters``, of
    how many kinds those of words are, if they are inputs too; ``narrow``, as `TokenVectors` says. ``head`` is told the
    width of what it ``reads``; where a text is ``written``, of so many kinds of tokens, that of the decoder's states.
    """
    if (words is None) == (features is None):
        raise ValueError("give either words or features")
    problems = architecture.check("features" if words is None else "tokens")
    if words is not None and architecture.embedding is None:
        problems = problems or [note("model.embedding: required for text")]
    if problems:
        raise ConfigError(joined([retold(problem) for problem in problems], "\n"))
    embedding = None
    if words is not None:
        embedding = architecture.embed(words, pretrained)
        if ngrams:
            embedding.append(torch.zeros(ngrams, embedding.width))
        if extra is not None:
            extra.give(embedding)
        embedding.narrow = narrow
        features = embedding.step_width(tokens)
        if letters:
            assert architecture.embedding is not None
            embedding.spell(tokens, architecture.embedding.build_letters(letters))
            features += architecture.embedding.letter_filters
        if columns:
            embedding.tell_columns(columns, features)
    assert features is not None
    encoder = architecture.build(features)
    encoder.causal = architecture.causal
    decoder = build_decoder(architecture, written, encoder) if written else None
    width = encoder.state_width if reads == "states" else encoder.width
    width = width if decoder is None else decoder.width
    locked = architecture.locked_dropout
    return Network(embedding, encoder, architecture.output_dropout, head(width), reads, locked, decoder)


def parameter_counts(network: Network) -> dict[str, int]:
    """``total`` = ``embedding`` + ``encoder`` + ``head``, and ``decoder`` where there is one. Frozen vectors and those
    of extra words count in all but ``trainable``."""
    embedding = network.embedding
    kept = () if embedding is None else (embedding.frozen, embedding.extra)
    frozen = sum(vectors.numel() for vectors in kept if vectors is not None)
    counts = {
        "embedding": frozen + (_count(embedding) if embedding is not None else 0),
        "encoder": _count(network.encoder),
        "head": _count(network.head),
    }
    if network.decoder is not None:
        counts["decoder"] = _count(network.decoder)
    trainable = sum(p.numel() for p in network.parameters() if p.requires_grad)
    return {"total": sum(counts.values()), "trainable": trainable, **counts}


def _count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@dataclass(frozen=True)
class Pace:
    """Of one sequence: ``milliseconds`` for one more step and an answer, after so many."""

    after: int
    milliseconds: float

    def to_dict(self) -> dict[str, float]:
        return {"after": self.after, "milliseconds": self.milliseconds}


def measure_pace(
    network: Network, inputs: torch.Tensor, longest: int | None = None, prefixes: tuple[int, ...] = AFTER
) -> tuple[Pace, ...]:
    """With the steps of ``inputs`` (B, T, …), over and over; empty where the network can't go on from a state. Steps
    beyond ``longest``, which it can't read, are left out."""
    if not network.goes_on:
        return ()
    found: list[Pace] = []
    was_training = network.training
    network.eval()
    one = torch.ones(1, dtype=torch.int64)
    try:
        with torch.inference_mode():
            for after in prefixes:
                if longest is not None and after >= longest:
                    break
                rows = torch.arange(after) % inputs.shape[1]
                _, state = network.advance(inputs[:1, rows], one * after, network.begin(1))
                seconds = []
                for _ in range(TIMES):
                    started = time.perf_counter()
                    network.advance(inputs[:1, :1], one, state)
                    seconds.append(time.perf_counter() - started)
                found.append(Pace(after, 1000 * statistics.median(seconds)))
    finally:
        network.train(was_training)
    return tuple(found)
