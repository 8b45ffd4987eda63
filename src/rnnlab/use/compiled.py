"""The recurrences of `folded` in native code: the same numbers, to float tolerance, in less time, most with few rows.

Rows lie end to end, as they come: the native code takes up the longest first, so padding is never computed here either.
What a token brings to the first layer is looked up in the same kind of table. A step adds up in the same order however
many rows there are, so over many steps a row stays the same to the bit, alone or beside others."""

import numpy as np
import torch
from torch import Tensor

from rnnlab.data.sequences import Sequences, gather_rows
from rnnlab.kernels import ops
from rnnlab.models.cells import Cell
from rnnlab.use.folded import FirstInputs, Folded, in_batches

FROM = 4096  # tokens: to find and load the library takes as long as torch takes for so many
ROWS = 512  # in a batch
TOKENS = 1 << 14  # in a batch: products of all of them with the weights are kept
LONGEST = 1 << 17  # tokens of a row: a longer one is left to torch, which keeps less


class Answers:
    """The outputs of a network that `fold` takes: by torch at first, by native code as soon as that pays for being
    loaded. It is never compiled for this: a compiler takes longer than most lists of texts."""

    def __init__(self, folded: Folded):
        self.folded = folded
        self.compiled: Compiled | None = None
        self.read = 0  # tokens
        self.asked = False

    def outputs(self, data: Sequences) -> np.ndarray:
        """(rows, C)."""
        if not self.asked:
            self.read += len(data.values)
            if self.read >= FROM:
                self.asked = True
                self.compiled = Compiled(self.folded) if ops.active() else None
        if self.compiled is None or (len(data.values) > LONGEST and data.lengths.max() > LONGEST):
            return self.folded.outputs(data)
        return self.compiled.outputs(data)


class Compiled:
    """The outputs of a network that `fold` takes, by native code."""

    @torch.inference_mode()
    def __init__(self, folded: Folded):
        self.folded = folded
        self.layers = [[_packed(direction.cell, direction.begin) for direction in layer] for layer in folded.layers]
        self.first = [FirstInputs(folded.network, layer.from_input, layer.bias) for layer in self.layers[0]]

    def outputs(self, data: Sequences) -> np.ndarray:
        """(rows, C)."""
        if len(data) <= ROWS and len(data.values) <= TOKENS:
            with torch.inference_mode():
                return self._batch(data.values, data.offsets).numpy()
        return in_batches(data, ROWS, TOKENS, lambda rows: self._batch(*gather_rows(data.values, data.offsets, rows)))

    def _batch(self, given: np.ndarray, offsets: np.ndarray) -> Tensor:
        """(B, C) for rows laid end to end."""
        values, starts = torch.from_numpy(given), torch.from_numpy(offsets)
        tokens, rows, hidden, width = len(values), len(starts) - 1, self.layers[0][0].hidden, self.folded.width
        sources = [first.of(values) for first in self.first]
        x = torch.empty(0)
        for number, directions in enumerate(self.layers):
            kept = self.folded.keeps_states(number)
            states = torch.empty(tokens, width) if kept else None
            ends = torch.empty(rows, width)
            for backward, (layer, (brought, ids)) in enumerate(zip(directions, sources, strict=True)):
                at = backward * hidden
                all_states = None if states is None else states[:, at:]
                summary = "last" if kept else self.folded.summary
                layer.read(starts, brought, ids, backward > 0, ends[:, at:], all_states, summary)
            if states is None:  # a summary is all that is asked for
                return self.folded.head(ends)
            x = x + states if self.folded.residual and number > 0 else states
            if number + 1 < len(self.layers):
                sources = [(torch.addmm(one.bias, x, one.from_input), None) for one in self.layers[number + 1]]
        return self.folded.head(self.folded.pooled(_padded(x, starts), starts.diff()))


def _packed(cell: Cell, begin: tuple[Tensor, ...]) -> ops.PackedLayer:
    assert cell.native is not None  # `fold` takes no other
    return ops.PackedLayer(cell.native, *cell.weights(), begin)


def _padded(x: Tensor, starts: Tensor) -> Tensor:
    """(N, H) → (B, T, H), zero at padding."""
    lengths = starts.diff()
    row = torch.repeat_interleave(lengths)
    out = x.new_zeros(len(lengths), int(lengths.max()), x.shape[1])
    out[row, torch.arange(len(x)) - starts[row]] = x
    return out
