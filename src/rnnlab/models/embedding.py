"""From token ids to vectors: random, pre-trained (frozen or tuned), or both side by side as two channels."""

from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from rnnlab.core.config import Config
from rnnlab.core.errors import ConfigError, WrongValue
from rnnlab.kernels import ops
from rnnlab.models.dropout import dropout_of
from rnnlab.models.letters import LetterVectors, Reader

PADDING = 0  # the id of padding: its vector is zero and stays zero
UNKNOWN = 1  # the id of words that the vocabulary lacks
SEPARATED = 2  # the id of what stands between text columns, where there are several
Channels = Literal["random", "frozen", "tuned", "two"]


class Embedding(Config):
    """How tokens become vectors. Without ``vectors`` the channels are ``random``; with them, the caller chooses
    where the user didn't (``two`` for an architecture that needs vectors, else ``tuned``)."""

    added: ClassVar[tuple[str, ...]] = (
        "spread",
        "word_dropout",
        "letters",
        "letter_width",
        "letter_filters",
        "type_dropout",
    )

    width: int = Field(
        default=50, ge=1, description="Of the trainable vectors; frozen and tuned take it from the file."
    )
    vectors: str | None = Field(default=None, description="Pre-trained vectors: a file, or the name of a known set.")
    vectors_digest: str | None = Field(default=None, description="Identifies the content of the vectors; filled in.")
    channels: Channels | None = Field(
        default=None,
        description="random: trained from scratch. frozen or tuned: the pre-trained ones, kept or trained on. "
        "two: a random channel and a frozen one, side by side.",
    )
    dropout: float = Field(default=0.0, ge=0, lt=1, description="On the embedded tokens, in training.")
    spread: float = Field(
        default=0.1, gt=0, description="Standard deviation of a random channel at first; PyTorch's own is 1."
    )

    word_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the tokens that are unknown words, in training."
    )

    type_dropout: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Share of the vocabulary whose vectors are zero in an update, wherever these words stand.",
    )

    letters: Reader = Field(
        default="cnn", description="Where the letters of words are inputs: what reads them, cnn or bilstm."
    )
    letter_width: int = Field(default=30, ge=1, description="Of a letter's vector.")
    letter_filters: int = Field(
        default=50, ge=2, multiple_of=2, description="Of the vector that a word gets from its letters."
    )

    @model_validator(mode="before")
    @classmethod
    def _random_without_vectors(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("vectors") is None and values.get("channels") is None:
            return {**values, "channels": "random"}
        return values

    @model_validator(mode="after")
    def _vectors_are_used(self) -> Self:
        if self.vectors is None and self.channels != "random":
            raise WrongValue(
                "channels = '{channels}' needs pre-trained vectors; pass vectors (--vectors FILE, or "
                "--vectors glove-6b-50d), or take channels = 'random'",
                channels=self.channels,
            )
        if self.vectors is not None and self.channels == "random":
            raise WrongValue(
                "channels = 'random' would ignore the vectors '{vectors}'; take channels = 'frozen', "
                "'tuned' or 'two', or leave the vectors out",
                vectors=self.vectors,
            )
        if self.channels in ("frozen", "tuned") and self.spread != type(self).model_fields["spread"].default:
            raise WrongValue(
                "channels = '{channels}' starts from the vectors and would ignore spread = {spread:g}",
                channels=self.channels,
                spread=self.spread,
            )
        if self.vectors is None and self.vectors_digest is not None:
            raise WrongValue("vectors_digest is given, but no vectors")
        return self

    def build(self, words: int, pretrained: Tensor | None = None, *, locked: bool = False) -> "TokenVectors":
        """With ``locked``, dropout is the same at every step.

        ``pretrained`` is (words, D), zero in the rows of words that have no vector. Draws from torch's generator."""
        dropped = self.dropout, self.type_dropout, locked
        if self.channels == "random":
            return TokenVectors(_random_table(words, self.width, self.spread), None, *dropped)
        if self.channels is None or pretrained is None:
            raise ConfigError(
                "model.embedding: the vectors '{vectors}' were not looked up, or no channels chosen",
                vectors=self.vectors,
            )
        if pretrained.shape[0] != words:
            raise ConfigError(
                "model.embedding: {shape} vectors for a vocabulary of {words} words",
                shape=pretrained.shape[0],
                words=words,
            )
        if self.channels == "two":
            return TokenVectors(_random_table(words, self.width, self.spread), _filled(pretrained), *dropped)
        if pretrained.shape[1] != self.width:
            raise ConfigError(
                "model.embedding.width: {width}, but '{vectors}' has vectors of {shape} numbers; write "
                "width = {shape}, or leave it out",
                width=self.width,
                vectors=self.vectors,
                shape=pretrained.shape[1],
            )
        if self.channels == "tuned":
            return TokenVectors(_filled(pretrained), None, *dropped)
        return TokenVectors(None, _filled(pretrained), *dropped)

    def build_letters(self, letters: int) -> LetterVectors:
        """Draws from torch's generator."""
        return LetterVectors(letters, self.letter_width, self.letter_filters, self.letters)


class TokenVectors(nn.Module):
    """Ids (B, T) int64 → vectors (B, T, width): first the trained channel, then the frozen one. Several ids a step,
    (B, T, K), give their vectors one after the other, (B, T, K · width).

    Where texts are several columns, each column has a vector of its own, ``segments``, which is added at every step of
    it: so every architecture is told which column a token is from. The separators before a token say which it is.

    Where the letters of each word are inputs too, their ids come behind the others of a step, and the vector that is
    made of them behind theirs. With ``narrow``, the frozen channel is that of the first id of a step alone, and stands
    behind the trained vectors of all.

    With ``lazy`` (the optimiser sets it), a forward pass in training mode never makes a dense (V, D) gradient. It
    leaves behind, for the one optimiser step that follows:

    - ``rows`` (R,): the distinct ids of the batch, in any order; padding may be left out;
    - ``picked`` (R, D): a leaf that stands for those rows. After ``backward()``, ``picked.grad`` (R, D) is their
      gradient, complete, and zero for padding. ``table.grad`` stays as it is.
    """

    table: nn.Parameter | None  # (V, D), trained; row 0 is zero
    frozen: Tensor | None  # (V, D'), a buffer: saved with the weights, so that a run directory needs no vector file
    segments: nn.Parameter | None  # (columns, K · width), zero at first
    spelled: LetterVectors | None  # what reads the letters
    extra: Tensor | None  # (E, width): the ids from V on, which no training row has; training knows nothing of them
    rows: Tensor
    picked: Tensor

    def __init__(
        self,
        table: Tensor | None,
        frozen: Tensor | None,
        dropout: float,
        type_dropout: float = 0.0,
        locked: bool = False,
    ):
        super().__init__()
        self.register_parameter("table", None if table is None else nn.Parameter(table))
        self.register_buffer("frozen", frozen)
        self.dropout: nn.Dropout = dropout_of(dropout, locked=locked)
        self.type_dropout = type_dropout
        self.register_parameter("segments", None)
        self.spelled = None
        self.tokens: int = 1  # ids per step that are looked up; those behind them are letters
        self.narrow = False
        self.register_buffer("extra", None, persistent=False)
        self.width: int = sum(channel.shape[1] for channel in (table, frozen) if channel is not None)
        self.lazy = False
        self._places: Tensor | None = None

    def forward(self, ids: Tensor) -> Tensor:
        x = self.vectors(ids)
        if self.segments is not None:
            x = x + F.embedding(columns_of(ids, len(self.segments)), self.segments)
        return self.dropout(x) if self.dropout.p else x

    def vectors(self, ids: Tensor) -> Tensor:
        """Of the tokens alone, whatever column they are from."""
        tokens = ids
        if self.spelled is not None:
            tokens = ids[:, :, 0] if self.tokens == 1 else ids[:, :, : self.tokens]
        narrow = self.narrow and tokens.dim() == 3
        x = self._look_up_narrowly(tokens) if narrow else self._look_up(tokens)
        if self.type_dropout and self.training:
            x = x * self._kept_words(tokens[:, :, 0] if narrow else tokens)
        x = x if x.dim() == 3 else x.flatten(2)  # of several ids per step, one vector behind the other
        return x if self.spelled is None else torch.cat([x, self.spelled(ids[:, :, self.tokens :])], dim=2)

    def step_width(self, tokens: int) -> int:
        """Of the vectors of so many ids, without letters."""
        further = self.table.shape[1] if self.narrow and self.table is not None else self.width
        return self.width + (tokens - 1) * further

    def spell(self, tokens: int, letters: LetterVectors) -> None:
        """Behind so many ids, those of letters follow."""
        self.tokens, self.spelled = tokens, letters

    def tell_columns(self, columns: int, width: int) -> None:
        """Texts are several columns. Nothing is drawn for them."""
        self.segments = nn.Parameter(torch.zeros(columns, width))

    @torch.no_grad()
    def with_rows(self, rows: Tensor) -> dict[str, Tensor]:
        """``table`` and ``frozen``, those that there are, with further ``rows`` (R, width) behind their own."""
        found = {}
        if self.table is not None:
            found["table"] = torch.cat([self.table, rows[:, : self.table.shape[1]]])
        if self.frozen is not None:
            found["frozen"] = torch.cat([self.frozen, rows[:, -self.frozen.shape[1] :]])
        return found

    def append(self, rows: Tensor) -> None:
        found = self.with_rows(rows)
        self.table = nn.Parameter(found["table"]) if self.table is not None else None
        self.frozen = found.get("frozen")

    @torch.no_grad()
    def silence_unknown(self) -> None:
        for channel in (self.table, self.frozen):
            if channel is not None:
                channel[UNKNOWN] = 0

    def _kept_words(self, ids: Tensor) -> Tensor:
        """(…, 1): 0 for words that an update is to do without, wherever they stand, 1 / (1 - p) for the others."""
        like = next(channel for channel in (self.table, self.frozen) if channel is not None)
        return F.embedding(ids, F.dropout(like.new_ones(len(like), 1), self.type_dropout))

    def _look_up(self, ids: Tensor) -> Tensor:
        """(…, width)."""
        if self.extra is None or self.training:
            return self._of_tables(ids)
        rows = len(next(channel for channel in (self.table, self.frozen) if channel is not None))
        beyond = ids >= rows
        vectors = F.embedding((ids - rows).clamp(min=0), self.extra)
        return torch.where(beyond.unsqueeze(-1), vectors, self._of_tables(ids.masked_fill(beyond, PADDING)))

    def _look_up_narrowly(self, ids: Tensor) -> Tensor:
        """(B, T, K) → (B, T, K · D + D'). Words beyond those of training are zero in the trained channel."""
        if self.table is None or self.frozen is None:
            return self._look_up(ids)
        own, given = ids[:, :, 0], self.extra is not None and not self.training
        if given:
            ids = ids.masked_fill(ids >= len(self.table), PADDING)
        if self.lazy and self.training:
            found = ops.pick(ids, self.table.detach(), None, self.places)
            trained = self._pick(ids, self.table.detach()) if found is None else self._picked(*found)
        else:
            trained = F.embedding(ids, self.table, padding_idx=PADDING)
        kept = F.embedding(ids[:, :, 0], self.frozen)
        if given:
            assert self.extra is not None
            beyond = own >= len(self.table)
            vectors = F.embedding((own - len(self.table)).clamp(min=0), self.extra[:, -self.frozen.shape[1] :])
            kept = torch.where(beyond.unsqueeze(-1), vectors, kept)
        return torch.cat([trained.flatten(2), kept], dim=2)

    def _of_tables(self, ids: Tensor) -> Tensor:
        if self.table is None:
            assert self.frozen is not None
            return F.embedding(ids, self.frozen)
        if not (self.lazy and self.training):
            trained = F.embedding(ids, self.table, padding_idx=PADDING)  # padding_idx: no gradient for that row
        else:
            # Forward and backward of this module at B=64, T=9, V=16,000, D=50, one thread: 150 µs natively; 185 µs in
            # `_pick`; 880 µs with torch's dense gradient, and then a step over the whole table.
            found = ops.pick(ids, self.table.detach(), self.frozen, self.places)
            if found is not None:
                return self._picked(*found)
            trained = self._pick(ids, self.table.detach())
        return trained if self.frozen is None else torch.cat([trained, F.embedding(ids, self.frozen)], dim=-1)

    def _pick(self, ids: Tensor, table: Tensor) -> Tensor:
        rows, numbers = ids.unique(return_inverse=True)
        picked = table.index_select(0, rows).requires_grad_()
        self.leave(rows, picked)
        padded = int(rows[0]) == PADDING  # the rows ascend, so padding is the first one or not there
        return F.embedding(numbers, picked, padding_idx=0 if padded else None)

    def _picked(self, vectors: Tensor, rows: Tensor, numbers: Tensor) -> Tensor:
        assert self.table is not None
        picked = torch.empty((len(rows), self.table.shape[1]), dtype=self.table.dtype, requires_grad=True)
        self.leave(rows, picked)
        return _Picked.apply(picked, (vectors, numbers))  # type: ignore[no-any-return]  # torch types it as Any

    def places(self) -> Tensor:
        """Scratch space of the native kernels, (V,): zero before and after."""
        assert self.table is not None
        if self._places is None or len(self._places) != len(self.table):
            self._places = torch.zeros(len(self.table), dtype=torch.int32)
        return self._places

    def leave(self, rows: Tensor, picked: Tensor) -> None:
        """For the optimiser."""
        # past nn.Module's own way to set a tensor, which takes as long as a native kernel
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "picked", picked)


def columns_of(ids: Tensor, columns: int) -> Tensor:
    """Ids (B, T), or (B, T, K) → (B, T): how many separators there are up to each token."""
    tokens = ids if ids.dim() == 2 else ids[:, :, 0]
    return (tokens == SEPARATED).cumsum(1).clamp_(max=columns - 1)


class _Picked(torch.autograd.Function):
    """Vectors (…, width) that were copied from the rows for which ``picked`` (R, D) stands."""

    @staticmethod
    def forward(ctx: Any, picked: Tensor, found: tuple[Tensor, Tensor]) -> Tensor:
        vectors, ctx.numbers = found
        ctx.shape = picked.shape
        return vectors

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]  # the decorator hides ctx's name
        return ops.gather_gradients(gradients[0].contiguous(), ctx.numbers, *ctx.shape), None


def _random_table(words: int, width: int, spread: float) -> Tensor:
    """Small normal numbers, by default: the unit ones of ``nn.Embedding`` drown what is learnt about rare words. An
    unknown word is zero, which says nothing, because the training rows may hold none to learn from."""
    table = torch.randn(words, width) * spread
    table[: UNKNOWN + 1] = 0
    return table


def _filled(pretrained: Tensor) -> Tensor:
    """A copy in which words without a vector have a random one, with the mean and spread of the found vectors in each
    dimension. In a frozen channel it stays as drawn: such words remain distinct from each other and from padding."""
    vectors = pretrained.to(torch.float32, copy=True)
    missing = (vectors == 0).all(dim=1)
    found = vectors[~missing]
    mean, spread = (found.mean(0), found.std(0, correction=0)) if len(found) else (0.0, 1.0)
    vectors[missing] = torch.randn(int(missing.sum()), vectors.shape[1]) * spread + mean
    vectors[PADDING] = 0
    return vectors
