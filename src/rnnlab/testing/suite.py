"""What the suites of laws share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from rnnlab.core.config import Config, parse
from rnnlab.models.base import Architecture, Encoded
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import Network, build_network

LENGTHS = (7, 1, 4, 2, 7, 3)  # of the sequences in most laws: T = 7, with and without padding, and one of one step
WORDS = 40  # in the vocabulary of the laws that begin with tokens
TOLERANCE = 1e-5  # float32; a batch of another shape adds in another order


@contextmanager
def holding(subject: str, check: Callable[..., None]) -> Iterator[None]:
    """Whatever goes wrong meanwhile is an AssertionError that names the law. It runs from a fixed seed and leaves the
    caller's random numbers alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            yield
        except Exception as error:
            what = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            raise AssertionError(f"{subject} breaks the law '{check.__name__}': {what}") from error


def survives_json(settings: Config) -> None:
    """Written out and read again, they are the same."""
    written: dict[str, Any] = {key: value for key, value in settings.to_dict().items() if key != "kind"}
    assert parse(type(settings), written) == settings, f"{written} reads as something else"


def close(one: Tensor, other: Tensor, what: str) -> None:
    assert one.shape == other.shape, f"{what} are {tuple(one.shape)} and {tuple(other.shape)}"
    same = torch.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)
    assert same, f"{what} differ by {float((one - other).detach().abs().max()):.2g}, more than {TOLERANCE:g}"


# Small architectures, networks and batches


def tokens() -> tuple[Tensor, Tensor]:
    """Random ids of `LENGTHS`, zero at padding."""
    ids = torch.randint(2, WORDS, (len(LENGTHS), max(LENGTHS)))
    lengths = torch.tensor(LENGTHS)
    return ids * real(ids, lengths), lengths


def batch_of(input_width: int) -> tuple[Tensor, Tensor]:
    """Random sequences of `LENGTHS`, zero at padding."""
    lengths = torch.tensor(LENGTHS)
    x = torch.randn(len(LENGTHS), max(LENGTHS), input_width)
    return x * real(x, lengths)[:, :, None], lengths


def real(x: Tensor, lengths: Tensor) -> Tensor:
    """(B, T) bool; written out here so that the suite doesn't share a mistake with the code it checks."""
    return torch.tensor([[step < length for step in range(x.shape[1])] for length in lengths.tolist()])


def network_of(architecture: Architecture) -> Network | None:
    """Embedding, encoder and a head of three classes, for a vocabulary of `WORDS`; None where it isn't for text."""
    if architecture.embedding is None:
        two = Embedding(vectors="of the laws", channels="two", width=5)
        architecture = architecture.replace(embedding=two if architecture.needs_vectors else Embedding(width=6))
    if architecture.check("tokens"):
        return None
    embedding = architecture.embedding
    pretrained = torch.randn(WORDS, embedding.width) if embedding is not None and embedding.vectors else None
    return build_network(architecture, words=WORDS, features=None, pretrained=pretrained, head=Head)


class Head(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear: nn.Linear = nn.Linear(width, 3)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.summary)
