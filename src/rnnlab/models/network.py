"""The whole of a model: embedding → encoder → output dropout → head."""

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor, nn

from rnnlab.errors import ConfigError
from rnnlab.models.base import Architecture, Encoded, Encoder
from rnnlab.models.embedding import TokenVectors


class Network(nn.Module):
    """``(inputs, lengths (B,)) -> logits``, whatever the head makes of `Encoded`. Inputs are ids (B, T), several ids a
    step (B, T, K), or features (B, T, D)."""

    embedding: TokenVectors | None

    def __init__(
        self, embedding: TokenVectors | None, encoder: Encoder, dropout: float, head: nn.Module, per_step: bool = False
    ):
        super().__init__()
        self.per_step = per_step  # whether the head reads the states, not the summary
        self.embedding = embedding
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.head = head

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        return self.head(self.before_head(inputs, lengths))

    def before_head(self, inputs: Tensor, lengths: Tensor) -> Encoded:
        """What the head reads: `encode`, with dropout on it."""
        encoded = self.encode(inputs, lengths)
        if not self.dropout.p:
            return encoded
        if self.per_step:
            return replace(encoded, states=self.dropout(encoded.states))
        return replace(encoded, summary=self.dropout(encoded.summary))

    def encode(self, inputs: Tensor, lengths: Tensor) -> Encoded:
        """Everything before the head, for display: states, summary and, with attention pooling, its weights."""
        x = inputs if self.embedding is None else self.embedding(inputs)
        return self.encoder(x, lengths)


def build_network(
    architecture: Architecture,
    *,
    words: int | None,
    features: int | None,
    pretrained: Tensor | None,
    tokens: int = 1,
    head: Callable[[int], nn.Module],
    per_step: bool = False,
) -> Network:
    """A fresh network, drawn from torch's global generator in a fixed order: embedding, encoder, head.

    Either ``words`` (the size of the vocabulary) or ``features`` (the width of the numeric input) is given.
    ``pretrained`` is (words, D), for an embedding that has vectors; ``tokens`` is how many ids a step has. ``head`` is
    told the width of the summary, or of the states where there is an answer ``per_step``."""
    if (words is None) == (features is None):
        raise ValueError("give either words or features")
    problems = architecture.check("features" if words is None else "tokens")
    if words is not None and architecture.embedding is None:
        problems = problems or ["model.embedding: required for text"]
    if problems:
        raise ConfigError("\n".join(problems))
    embedding = None
    if words is not None:
        embedding = architecture.embed(words, pretrained)
        features = tokens * embedding.width
    assert features is not None
    encoder = architecture.build(features)
    read = encoder.state_width if per_step else encoder.width
    return Network(embedding, encoder, architecture.output_dropout, head(read), per_step)


def parameter_counts(network: Network) -> dict[str, int]:
    """``total`` = ``embedding`` + ``encoder`` + ``head``. Frozen vectors count in all but ``trainable``."""
    embedding = network.embedding
    frozen = embedding.frozen.numel() if embedding is not None and embedding.frozen is not None else 0
    counts = {
        "embedding": frozen + (_count(embedding) if embedding is not None else 0),
        "encoder": _count(network.encoder),
        "head": _count(network.head),
    }
    trainable = sum(p.numel() for p in network.parameters() if p.requires_grad)
    return {"total": sum(counts.values()), "trainable": trainable, **counts}


def _count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())
