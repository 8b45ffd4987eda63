"""Plain recurrences that go on token by token, in native code: the same numbers as `Network.advance`, to float
tolerance, with less around each step. A row's numbers are the same to the bit, alone or beside others, so that what is
written doesn't depend on what else is written at the same time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.answers.heads import StateHead, TiedHead
from rnnlab.data.sequences import offsets_of
from rnnlab.kernels import ops
from rnnlab.models.cells import Cell, GRUCell, LSTMCell, RNNCell
from rnnlab.models.first_inputs import LARGEST_TABLE, FirstInputs, packed
from rnnlab.models.network import Network
from rnnlab.models.recurrent import RecurrentEncoder

FEWEST = 16  # rows of a product: MKL multiplies fewer ones in another order


@dataclass(frozen=True)
class Recurrence:
    """A network's weights, packed once for all texts."""

    layers: list[ops.PackedLayer]
    starts: list[tuple[Tensor, ...]]  # of each layer, (padded,) each
    first: FirstInputs
    table: Tensor | None  # (V, lanes): what each word brings to the first layer, unless there are too many
    heads: list[tuple[Tensor, Tensor]]  # weights (D, C) and bias of the products that make logits of a state
    residual: bool


def recurrence_of(network: Network) -> Recurrence | None:
    """None where the network itself has to be asked. It is in evaluation mode, and its weights stay as they are."""
    encoder, embedding = network.encoder, network.embedding
    if type(encoder) is not RecurrentEncoder or type(network.head) not in (StateHead, TiedHead) or not network.goes_on:
        return None
    if embedding is None or not ops.active():
        return None
    known = (RNNCell, LSTMCell, GRUCell)  # and none that is made of them
    cells = [cell for cell in encoder.ahead if isinstance(cell, Cell) and type(cell) in known and cell.plain]
    if len(cells) < len(encoder.ahead) or any(cell.native is None for cell in cells):
        return None
    with torch.inference_mode():
        layers = [packed(cell, ()) for cell in cells]
        first = FirstInputs(network, layers[0].from_input, layers[0].bias)
        small = first.words * len(first.bias) <= LARGEST_TABLE
        table = first.product(torch.arange(first.words)) if small else None
        zeros = (torch.zeros(encoder.settings.hidden),) * encoder.parts
        starts = [
            tuple(F.pad(part, (0, layer.padded - layer.hidden)) for part in encoder.starting(0, at) or zeros)
            for at, layer in enumerate(layers)
        ]
        return Recurrence(layers, starts, first, table, _products(network.head), encoder.settings.residual)


def _products(head: nn.Module) -> list[tuple[Tensor, Tensor]]:
    if isinstance(head, StateHead):
        return [(head.linear.weight.t(), head.linear.bias)]
    assert isinstance(head, TiedHead)
    project = head.project
    first = [(project.weight.t(), project.bias)] if isinstance(project, nn.Linear) else []
    return [*first, (head.vectors.t(), head.bias)]


class ByRecurrence:
    """Texts that grow side by side (`writing.Continuation`)."""

    def __init__(self, recurrence: Recurrence):
        self.recurrence = recurrence
        self.state: list[tuple[Tensor, ...]] = []  # of each layer, (B, padded) each

    def start(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        with torch.inference_mode():
            starts = self.recurrence.starts
            self.state = [tuple(part.repeat(len(rows), 1) for part in start) for start in starts]
            offsets = offsets_of(np.array([len(row) for row in rows]))
            return self._read(np.concatenate(rows), offsets)

    def go_on_from(self, state: Sequence[tuple[Tensor, ...]]) -> None:
        """Rows that have read something already: of each layer, (B, H) each."""
        layers = zip(self.recurrence.layers, state, strict=True)
        self.state = [tuple(F.pad(part, (0, layer.padded - layer.hidden)) for part in parts) for layer, parts in layers]

    def go_on(self, ids: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return self._read(ids, np.arange(len(ids) + 1))

    def keep(self, rows: np.ndarray) -> None:
        left = torch.from_numpy(rows)
        self.state = [tuple(part.index_select(0, left) for part in layer) for layer in self.state]

    def _read(self, given: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(B, V) after rows laid end to end."""
        whole, places = self.recurrence, torch.from_numpy(offsets)
        values = torch.from_numpy(given.astype(np.int32))
        brought, ids = (whole.first.product(values), None) if whole.table is None else (whole.table, values)
        single = len(values) == len(offsets) - 1  # a token each: the state after it is all
        x = torch.empty(0)
        for number, (layer, state) in enumerate(zip(whole.layers, self.state, strict=True)):
            if number:
                brought, ids = product(x, layer.from_input, layer.bias), None
            states = None if single else torch.empty(len(values), layer.hidden)
            layer.go_on(places, brought, ids, state, states)
            after = state[0][:, : layer.hidden] if states is None else states
            x = x + after if whole.residual and number > 0 else after
        last = x if single else x[places[1:] - 1]
        for weights, bias in whole.heads:
            last = product(last, weights, bias)
        return last.numpy()


def product(x: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """``x`` (N, D) · weights (D, C) + bias, each row as if it were alone."""
    if len(x) >= FEWEST:
        return torch.addmm(bias, x, weights)
    return torch.addmm(bias, F.pad(x, (0, 0, 0, FEWEST - len(x))), weights)[: len(x)]
