"""What writes a text for another one: any causal architecture, told of the source by a state, by an input at every
step, and by attention."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from rnnlab.core.errors import ConfigError
from rnnlab.models.attention import Attention
from rnnlab.models.base import Architecture, Encoded, Encoder, State, select_rows
from rnnlab.models.decoding import DecoderSettings
from rnnlab.models.embedding import TokenVectors
from rnnlab.models.pooling import inside, zero_padding
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.models.transformer import Transformer
from rnnlab.models.transformer_decoder import TransformerLayers


@dataclass(frozen=True)
class Memory:
    """What a decoder is told of texts that were read; the same for all that is written for them."""

    states: Tensor  # (B, S, M), zero at padding
    summary: Tensor  # (B, width of the summary)
    real: Tensor  # (B, S), false at padding
    keys: State = ()  # (B, S, ·) each, computed once

    def select(self, rows: Tensor) -> "Memory":
        """Of some of the texts, (R,) numbers of rows."""
        chosen = (self.states, self.summary, self.real, *self.keys)
        states, summary, real, *keys = select_rows(chosen, rows)
        return Memory(states, summary, real, tuple(keys))


class Decoder(nn.Module):
    """Tokens that were written so far, and the memory of what was read → states (B, L, width) that the head reads.

    Training reads the true tokens, all at a time (`forward`); writing goes on from a state, token by token
    (`begin`, `advance`). Both give the same, to rounding."""

    embedding: TokenVectors
    width: int  # of the states

    @property
    def words(self) -> int:
        """Kinds of tokens that can be written."""
        assert self.embedding.table is not None
        return len(self.embedding.table)

    def remember(self, source: Encoded, lengths: Tensor) -> Memory:
        return Memory(source.states, source.summary, inside(lengths, source.states.shape[1]))

    def forward(self, memory: Memory, read: Tensor, lengths: Tensor) -> Tensor:
        """``read`` (B, L) are the tokens before those that are to be written, ``lengths`` (B,) how many they are."""
        raise NotImplementedError

    def begin(self, memory: Memory) -> State:
        raise NotImplementedError

    def advance(self, memory: Memory, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """One more token of each text, (B,): the state of the step, (B, width), and the state to go on from. In
        evaluation."""
        raise NotImplementedError

    def looks(self, memory: Memory, read: Tensor, lengths: Tensor) -> Tensor | None:
        """(B, L, S): where it looked before it wrote each token; None without attention."""
        raise NotImplementedError


def build_decoder(architecture: Architecture, words: int, reader: Encoder) -> Decoder:
    """A fresh decoder for texts of ``words`` kinds of tokens, as the settings of the model that reads ask for. Draws
    from torch's generator."""
    settings = architecture.decoder or DecoderSettings()
    writes = writing_architecture(architecture)
    embedding = (settings.embedding or architecture.embedding_or_usual()).build(words)
    if isinstance(writes, Transformer):
        return TransformerDecoder(writes, embedding, reader.state_width)
    return AttendingDecoder(settings, writes, embedding, reader)


def writing_architecture(architecture: Architecture) -> Architecture:
    """The model that writes: as the settings say, else that which reads, without what looks ahead."""
    settings = architecture.decoder or DecoderSettings()
    if settings.model is not None:
        found: Architecture = settings.model
    else:
        fields = type(architecture).model_fields
        ahead: dict[str, Any] = {"bidirectional": False, "look_ahead": False}
        changes = {name: value for name, value in ahead.items() if name in fields}
        found = architecture.model_copy(update={**changes, "decoder": None})
    if not found.causal:
        raise ConfigError(
            "model.decoder.model: '{kind}' reads what comes later, which isn't written yet; take one that can do "
            'without, for example {{ kind = "gru" }}',
            kind=found.kind,
        )
    return found


class AttendingDecoder(Decoder):
    """A causal encoder of what was written. Recurrences begin in a state that is made of the source's summary; others
    read the summary beside every token. With attention, each of its states looks at the states of the source, and what
    it found is mixed in: tanh(W [found; state])."""

    def __init__(self, settings: DecoderSettings, writes: Architecture, embedding: TokenVectors, reader: Encoder):
        super().__init__()
        self.embedding = embedding
        self.feeds: bool = settings.input_feeding
        recurrent = writes.reads_in_turn and hasattr(writes, "cell")
        beside = (0 if recurrent else reader.width) + (reader.state_width if self.feeds else 0)
        self.encoder: Encoder = writes.build(embedding.width + beside)
        self.encoder.causal = True
        self.starts: nn.Linear | None = None
        if isinstance(self.encoder, RecurrentEncoder):
            parts = self.encoder.parts * self.encoder.settings.layers
            self.starts = nn.Linear(reader.width, parts * self.encoder.state_width)
        self.width: int = self.encoder.state_width
        self.attention: Attention | None = None
        if settings.attention != "none":
            self.attention = Attention(settings.attention, self.width, reader.state_width)
            self.mix: nn.Linear = nn.Linear(reader.state_width + self.width, self.width)

    def remember(self, source: Encoded, lengths: Tensor) -> Memory:
        memory = super().remember(source, lengths)
        keys = () if self.attention is None else (self.attention.keys(memory.states),)
        return Memory(memory.states, memory.summary, memory.real, keys)

    def forward(self, memory: Memory, read: Tensor, lengths: Tensor) -> Tensor:
        return self._run(memory, read, lengths)[0]

    def looks(self, memory: Memory, read: Tensor, lengths: Tensor) -> Tensor | None:
        return self._run(memory, read, lengths)[1]

    def _run(self, memory: Memory, read: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | None]:
        vectors = self.embedding(read)
        if self.feeds:
            return self._step_by_step(memory, vectors, lengths)
        x = self._beside(memory, vectors)
        if self.starts is None:
            states = self.encoder(x, lengths).states
        else:
            states, _ = self.encoder.advance(x, lengths, self._start(memory))
        return self._look(memory, states)

    def _step_by_step(self, memory: Memory, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """What was found at a step is read at the next one."""
        state, found = self._start_or_begin(memory), memory.states.new_zeros(len(vectors), memory.states.shape[2])
        one = torch.ones_like(lengths)
        every, looks = [], []
        for step in range(vectors.shape[1]):
            x = torch.cat([self._beside(memory, vectors[:, step : step + 1]), found[:, None]], dim=2)
            states, state = self.encoder.advance(x, one, state)
            assert self.attention is not None
            means, weights = self.attention(states, *memory.keys, memory.states, memory.real)
            found = means[:, 0]
            every.append(torch.tanh(self.mix(torch.cat([means, states], dim=2))))
            looks.append(weights)
        return zero_padding(torch.cat(every, dim=1), lengths), torch.cat(looks, dim=1)

    def _beside(self, memory: Memory, vectors: Tensor) -> Tensor:
        if self.starts is not None:
            return vectors
        return torch.cat([vectors, memory.summary[:, None].expand(-1, vectors.shape[1], -1)], dim=2)

    def _start(self, memory: Memory) -> State:
        """h, or h and c, of each layer in turn, (B, H) each."""
        assert self.starts is not None
        return tuple(
            part.contiguous() for part in torch.tanh(self.starts(memory.summary)).split(self.encoder.state_width, dim=1)
        )

    def _start_or_begin(self, memory: Memory) -> State:
        return self.encoder.begin(len(memory.summary)) if self.starts is None else self._start(memory)

    def _look(self, memory: Memory, states: Tensor) -> tuple[Tensor, Tensor | None]:
        if self.attention is None:
            return states, None
        means, weights = self.attention(states, *memory.keys, memory.states, memory.real)
        return torch.tanh(self.mix(torch.cat([means, states], dim=2))), weights

    def begin(self, memory: Memory) -> State:
        state = self._start_or_begin(memory)
        if not self.feeds:
            return state
        return *state, memory.states.new_zeros(len(memory.states), memory.states.shape[2])

    def advance(self, memory: Memory, ids: Tensor, state: State) -> tuple[Tensor, State]:
        x = self._beside(memory, self.embedding(ids[:, None]))
        one = torch.ones_like(ids)
        if not self.feeds:
            states, state = self.encoder.advance(x, one, state)
            return self._look(memory, states)[0][:, 0], state
        states, after = self.encoder.advance(torch.cat([x, state[-1][:, None]], dim=2), one, state[:-1])
        assert self.attention is not None
        means, _ = self.attention(states, *memory.keys, memory.states, memory.real)
        return torch.tanh(self.mix(torch.cat([means, states], dim=2)))[:, 0], (*after, means[:, 0])


class TransformerDecoder(Decoder):
    """Layers that look at what was written so far, and at what was read."""

    def __init__(self, settings: Transformer, embedding: TokenVectors, memory_width: int):
        super().__init__()
        self.embedding = embedding
        self.layers: TransformerLayers = TransformerLayers(settings, embedding.width, memory_width)
        self.width: int = settings.width

    def remember(self, source: Encoded, lengths: Tensor) -> Memory:
        memory = super().remember(source, lengths)
        return Memory(memory.states, memory.summary, memory.real, self.layers.keys(memory.states))

    def forward(self, memory: Memory, read: Tensor, lengths: Tensor) -> Tensor:
        states, _ = self.layers(self.embedding(read), memory.keys, memory.real)
        return zero_padding(states, lengths)

    def looks(self, memory: Memory, read: Tensor, lengths: Tensor) -> Tensor | None:
        return self.layers(self.embedding(read), memory.keys, memory.real, looked_at=True)[1]

    def begin(self, memory: Memory) -> State:
        return self.layers.begin(len(memory.states))

    def advance(self, memory: Memory, ids: Tensor, state: State) -> tuple[Tensor, State]:
        states, state = self.layers.advance(self.embedding(ids[:, None]), memory.keys, memory.real, state)
        return states[:, 0], state
