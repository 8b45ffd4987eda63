"""What tokens bring to the first layer of a recurrence, as whoever reads without learning wants it: a product with the
weights, or a look-up in a table of all words; and layers packed for native code."""

from collections.abc import Callable

import torch
from torch import Tensor

from rnnlab.kernels import ops
from rnnlab.models.cells import Cell
from rnnlab.models.network import Network

LARGEST_TABLE = 1 << 26  # numbers in a table of all words: 256 MB

Source = Callable[[int, int, Tensor], object]
"""``(start, end, out)``: writes what the tokens from start to end bring to the gates of a layer, biases included."""


class FirstInputs:
    """What tokens, or numbers, bring to the first layer in one direction: their product with its weights (D, lanes),
    and the bias (lanes,)."""

    weights: Tensor
    bias: Tensor
    read: int

    def __init__(self, network: Network, weights: Tensor, bias: Tensor):
        self.network = network
        self.weights, self.bias = weights, bias
        self.words: int = 0 if network.embedding is None else words_of(network) * columns_of(network)
        self.read = 0  # tokens
        self.table: Tensor | None = None  # (V, lanes)

    def of(self, values: Tensor) -> tuple[Tensor, Tensor | None]:
        """``values`` (N,) ids or (N, D) numbers → (V, lanes) for all words, and the ids; or (N, lanes) and None."""
        self.count(values)
        return (self.product(values), None) if self.table is None else (self.table, values)

    def stepwise(self, values: Tensor) -> Source:
        self.count(values)
        if self.table is None:
            return lambda start, end, out: self.product(values[start:end], out)
        table = self.table
        return lambda start, end, out: torch.index_select(table, 0, values[start:end], out=out)

    def count(self, values: Tensor) -> None:
        """Makes the table when it pays."""
        self.read += len(values)
        small = values.ndim == 1 and self.words * len(self.bias) <= LARGEST_TABLE
        if self.table is None and small and self.read > self.words > 0:
            self.table = self.product(torch.arange(self.words))

    def product(self, values: Tensor, out: Tensor | None = None) -> Tensor:
        embedding = self.network.embedding
        if embedding is not None and embedding.segments is not None:
            words = words_of(self.network)
            vectors = embedding.vectors(values[None] % words)[0] + embedding.segments[values // words]
        else:
            vectors = values if embedding is None else embedding(values[None])[0]
        return torch.addmm(self.bias, vectors, self.weights, out=out)


def columns_of(network: Network) -> int:
    embedding = network.embedding
    return 1 if embedding is None or embedding.segments is None else len(embedding.segments)


def words_of(network: Network) -> int:
    return len(_any_channel(network))


def _any_channel(network: Network) -> Tensor:
    assert network.embedding is not None
    table = network.embedding.table
    found = table if table is not None else network.embedding.frozen
    assert found is not None
    return found


def packed(cell: Cell, begin: tuple[Tensor, ...]) -> ops.PackedLayer:
    assert cell.native is not None  # whoever asks has looked
    return ops.PackedLayer(cell.native, *cell.weights(), begin)
