"""What an architecture is: settings that build an encoder. An encoder knows no task."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import torch
from pydantic import Field
from torch import Tensor, nn

from rnnlab.core.config import Config
from rnnlab.core.errors import ConfigError
from rnnlab.core.registry import Registry
from rnnlab.core.words import note
from rnnlab.models.decoding import DecoderSettings
from rnnlab.models.embedding import Embedding, TokenVectors
from rnnlab.models.pooling import Pool, Pooling, inside
from rnnlab.models.space import Space

State = tuple[Tensor, ...]
"""What an encoder knows of the steps so far: tensors (B, …), so that to choose rows of a state, as a beam does, is
`select_rows`, and each means what it means alone."""


@dataclass(frozen=True)
class Encoded:
    """What an encoder makes of a batch."""

    states: Tensor  # (B, T, H), zero at padding
    summary: Tensor  # (B, S), what pooling made of them
    weights: Tensor | None = None  # (B, T), where attention pooling looked; zero at padding, each row sums to 1
    read: tuple[Tensor, Tensor] | None = None  # the inputs (B, T, D) and lengths (B,), for a head that reads them too


class Encoder(nn.Module):
    """What `Architecture.build` returns. A subclass sets both widths and writes ``forward``."""

    width: int
    """S, of the summary."""
    state_width: int
    """H, of the states."""
    carried: Tensor | None = None
    """What training takes from one batch to the next; not a weight, but part of a checkpoint."""
    causal: bool = False
    """As its architecture says."""
    pool: Pool  # what makes the summary of the states, where nothing else does; no such attribute: something does

    def summarise_by(self, kind: Pooling, state_width: int, backward_width: int = 0) -> None:
        """Set `pool` and both widths; the last columns of a state read from the end."""
        self.state_width = state_width
        self.pool = Pool(kind, state_width, backward_width)
        self.width = self.pool.width

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        """``x`` is (B, T, input_width), right-padded; ``lengths`` is (B,), each >= 1."""
        raise NotImplementedError

    def begin(self, rows: int) -> State:
        """Before the first step of so many sequences."""
        if not self.causal:
            raise ConfigError(
                "{kind} reads what comes later too, so it can't go on from a state: its answers would "
                "change with every new step. Take one that reads the past alone: bidirectional = false, "
                "look_ahead = false; `rnn`, `gru` and `lstm` do so unless told otherwise",
                kind=type(self).__name__,
            )
        return self._begin(rows)

    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        """Go on, in evaluation: the states (B, T, H) of new steps ``x`` (B, T, input_width), zero at padding, and the
        state after them. ``lengths`` (B,) may be 0: such a row stays as it is. Reading in parts gives what `forward`
        gives, to rounding.

        This one runs everything anew, from the first step on, which is right for any encoder and slow."""
        before, known = state
        after = known + lengths
        steps = max(1, int(after.max()))
        whole = x.new_zeros(len(x), steps, x.shape[2])
        if before.shape[1]:
            whole[:, : before.shape[1]] = before
        row, step = inside(lengths, x.shape[1]).nonzero(as_tuple=True)
        whole[row, known[row] + step] = x[row, step]
        every = self(whole, after.clamp(min=1)).states
        states = every.new_zeros(*x.shape[:2], every.shape[2])
        states[row, step] = every[row, known[row] + step]
        return states, (whole, after)

    def _begin(self, rows: int) -> State:
        """All steps so far, (B, T, input_width), and how many they are, (B,)."""
        like = next(self.parameters(), torch.empty(0))
        return like.new_zeros(rows, 0, 0), torch.zeros(rows, dtype=torch.int64, device=like.device)


def select_rows(state: State, rows: Tensor) -> State:
    """The state of some sequences, (R,) numbers of rows: as if those alone had been read."""
    return tuple(part.index_select(0, rows) for part in state)


class Architecture(Config):
    """Pure data: its fields are its schema, its documentation and its sweep axes."""

    added: ClassVar[tuple[str, ...]] = ("lookup", "crf", "tied", "locked_dropout", "decoder")
    needs_vectors: ClassVar[bool] = False
    """Whether it has pre-trained vectors unless the user chooses to do without."""
    sizes: ClassVar[tuple[str, ...]] = ("hidden",)
    """Fields that ``compare --match parameters`` may change, the coarse one first; none: it keeps its size."""
    training_defaults: ClassVar[dict[str, Any]] = {}
    """How it is trained unless the user or the task says otherwise: docs/decisions/0022."""
    model_defaults: ClassVar[dict[str, Any]] = {}
    """Its settings unless the user says otherwise, where a field has a better value than its default: one that came
    later, whose default must stay as it is (docs/decisions/0011), or one that suits texts better (0022)."""
    text_defaults: ClassVar[dict[str, Any]] = {"output_dropout": 0.3, "embedding": {"dropout": 0.3}}
    """The same where texts are read and the task is `regularised`."""
    usual_width: ClassVar[int] = Embedding.model_fields["width"].default
    """Of its vectors, unless the user or a file of vectors says otherwise."""
    reads_in_turn: ClassVar[bool] = False
    """Whether it is a recurrence, step by step."""
    knows_no_longer: ClassVar[bool] = False
    """Whether steps beyond those of the longest training row are strange to it: positions that it never met."""
    speed_only: ClassVar[tuple[str, ...]] = ()
    """Fields that change how the answer is computed, and not the answer."""
    locks_dropout: ClassVar[bool] = False
    """Whether its own ``dropout``, if it has one, can be the same at every step (``locked_dropout``)."""
    space: ClassVar[Space] = {}
    """What ``compare --tune`` may vary; none: it has nothing to tune."""

    embedding: Embedding | None = Field(
        default=None, description="Token embedding; filled in for text, refused for numbers."
    )
    output_dropout: float = Field(default=0.0, ge=0, lt=1, description="Dropout on the summary, before the head.")
    lookup: bool = Field(
        default=False, description="Rows that stand in the training rows are answered by their labels there."
    )
    crf: bool = Field(
        default=False,
        description="Where every token has a tag: tags are scored by those beside them, too, and the best path counts.",
    )

    tied: bool = Field(
        default=False,
        description="Where a text is continued or written: the vectors of the tokens that are read also score those "
        "to come.",
    )
    decoder: DecoderSettings | None = Field(
        default=None, description="Where one text is written for another: what writes it; filled in there."
    )

    locked_dropout: bool = Field(
        default=False,
        description="What is dropped is the same at every step of a row: on embedded tokens, between layers, and on "
        "states before the head.",
    )

    @property
    def causal(self) -> bool:
        """Whether ``states[:, t]`` depends on inputs up to t only; ``check_architecture`` holds it to that."""
        return False

    @property
    def defaults_per_token(self) -> dict[str, Any]:
        """Its settings, unless the user says otherwise, where every token is answered and may see what comes later."""
        return {}

    def embedding_or_usual(self) -> Embedding:
        """For text: as it is set, with the usual width where neither the user nor vectors have one."""
        embedding = self.embedding or Embedding()
        if embedding.vectors is None and "width" not in embedding.model_fields_set:
            return embedding.replace(width=self.usual_width)
        return embedding

    def embed(self, words: int, pretrained: Tensor | None) -> TokenVectors:
        """A fresh token embedding, drawn as `build` draws; ``pretrained`` is (words, D) where there are vectors."""
        assert self.embedding is not None  # spelled out before, for text
        return self.embedding.build(words, pretrained, locked=self.locked_dropout)

    def build(self, input_width: int) -> Encoder:
        """A fresh encoder. Weights are drawn from torch's global generator alone: the caller seeds it."""
        raise NotImplementedError

    def check(self, input_kind: Literal["tokens", "features"]) -> list[str]:
        """Why these settings don't suit such input; empty when they do."""
        if input_kind == "tokens" or self.embedding is None:
            return []
        return [note("model.embedding: the sequences are numbers, which have no embedding; leave it out")]


ARCHITECTURES: Registry[Architecture] = Registry(
    "model",
    (
        "rnnlab.models.recurrent",
        "rnnlab.models.parallel",
        "rnnlab.models.convolution",
        "rnnlab.models.dilated",
        "rnnlab.models.hybrid",
        "rnnlab.models.transformer",
        "rnnlab.models.linear",
        "rnnlab.models.fasttext",
    ),
)
A = TypeVar("A", bound=Architecture)


def architecture(name: str) -> Callable[[type[A]], type[A]]:
    """Class decorator: ``@architecture("mgu")`` gives a subclass of `Architecture` its name."""
    return ARCHITECTURES.register(name)
