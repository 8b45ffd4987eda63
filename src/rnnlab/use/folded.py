"""Recurrences for answers alone: the same numbers as the network, to float tolerance, in less time.

Rows are sorted by length, the longest first, and laid out step by step: step t holds token t of the rows that have
one, and those are the first `rows[t]` rows. So padding is never computed, rows that have ended drop out at the end of
every buffer, and a backward reading just runs the steps in reverse: a row comes in, from its starting state, at its
last token.

- What a token brings to the gates of the first layer, ``W_xh x + b``, depends on the token alone. As soon as as many
  tokens were read as the vocabulary has words, it is computed for every word, and the product becomes a look-up.
- tanh(z) = 2 σ(2 z) - 1: the LSTM's candidate gets doubled weights, and one call of σ does for all four gates.
- Every step works in the same few buffers, `ROWS` rows at a time, which the processor's cache can hold.

Taken are `rnn`, `lstm` and `gru` with any number of layers, both directions, residual layers, any pooling and any
start; `fold` says no to layer norm, to a GRU that resets before the product, and to every other encoder."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from rnnlab.answers.heads import SummaryHead
from rnnlab.data import joined
from rnnlab.data.sequences import Sequences, gather_rows
from rnnlab.kernels import ops
from rnnlab.models.cells import Cell, GRUCell, LSTMCell, RNNCell
from rnnlab.models.first_inputs import FirstInputs, Source, columns_of, packed, words_of
from rnnlab.models.network import Network
from rnnlab.models.recurrent import RecurrentEncoder

ROWS = 512  # in a batch: 384 to 512 were fastest of 64 to 1,024 with 128 units
TOKENS = 1 << 16  # in a batch: its states, where they are kept, take tokens × hidden numbers
ALONG_THE_WAY = ("last", "mean", "max")  # summaries that need no more than the state of the moment
NATIVE_FROM = 4096  # tokens: to find and load the library takes as long as torch takes for so many
NATIVE_TOKENS = 1 << 14  # in a batch of native code: products of all of them with the weights are kept
NATIVE_LONGEST = 1 << 17  # tokens of a row: a longer one is left to torch, which keeps less


@dataclass(frozen=True)
class Steps:
    """Some rows, step by step: step t is ``[starts[t]:starts[t + 1]]`` of a flat array of tokens."""

    rows: list[int]  # (T,) how many rows have a step t; never grows
    starts: list[int]  # (T + 1,)
    row: Tensor  # (N,) of each token
    step: Tensor  # (N,) of each token
    lengths: Tensor  # (B,) falling

    @classmethod
    def of(cls, lengths: np.ndarray) -> "Steps":
        """``lengths`` (B,) falling, each >= 1."""
        rows = np.searchsorted(-lengths, -np.arange(lengths[0]))  # how many are longer than t
        starts = np.concatenate([[0], np.cumsum(rows)])
        step = np.repeat(np.arange(len(rows)), rows)
        row = np.arange(starts[-1]) - starts[step]
        return cls(
            rows.tolist(),
            starts.tolist(),
            torch.from_numpy(row),
            torch.from_numpy(step),
            torch.from_numpy(np.ascontiguousarray(lengths)),
        )


class Direction:
    """One layer in one direction, its weights as the steps want them."""

    hidden: int

    def __init__(self, cell: Cell, begin: tuple[Tensor, ...]):
        hidden = self.hidden = cell.hidden
        self.cell = cell
        self.relu: bool = isinstance(cell, RNNCell) and cell.activation == "relu"
        self.begin = begin  # (H,) each; empty: zeros
        scale = torch.ones(len(cell.gates) * hidden)
        bias = cell.bias_ih_l0 + cell.bias_hh_l0
        if isinstance(cell, LSTMCell):
            scale[2 * hidden : 3 * hidden] = 2
        if isinstance(cell, GRUCell):  # the candidate's second bias is inside the reset gate
            bias = bias.clone()
            bias[2 * hidden :] = cell.bias_ih_l0[2 * hidden :]
            self.candidate_bias: Tensor = cell.bias_hh_l0[2 * hidden :].clone()
        self.from_input: Tensor = (cell.weight_ih_l0 * scale[:, None]).t().contiguous()  # (D, G · H)
        self.from_state: Tensor = (cell.weight_hh_l0 * scale[:, None]).t().contiguous()  # (H, G · H)
        self.bias: Tensor = bias * scale

    def run(self, steps: Steps, source: Source, backward: bool, states: Tensor | None, summary: str = "last") -> Tensor:
        """The last state of every row, (B, H), or the ``mean`` or ``max`` of all its states, which go to ``states``
        (N, H) if it is given."""
        batch = steps.rows[0]
        h, *rest = [part.repeat(batch, 1) for part in self.begin] or torch.zeros(self.cell.parts, batch, self.hidden)
        gates = torch.empty(batch, len(self.bias))
        spare = torch.empty(batch, self.hidden)
        known = torch.full((batch, self.hidden), -torch.inf if summary == "max" else 0.0)  # sums, or maxima, so far
        order = range(len(steps.rows))
        begun = 0  # rows that have a state; the others are at zero, and need no product
        for t in reversed(order) if backward else order:
            n, start, end = steps.rows[t], steps.starts[t], steps.starts[t + 1]
            source(start, end, gates[:n])
            self._step(n if self.begin else min(begun, n), gates[:n], h[:n], *(part[:n] for part in rest), spare[:n])
            begun = n
            if summary != "last":
                known[:n].add_(h[:n]) if summary == "mean" else torch.maximum(known[:n], h[:n], out=known[:n])
            if states is not None:
                states[start:end] = h[:n]
        if summary == "last":
            return h
        return known / steps.lengths[:, None] if summary == "mean" else known

    def _step(self, begun: int, gates: Tensor, h: Tensor, *rest: Tensor) -> None:
        """``gates`` (n, G · H) holds what the input brings; the state is overwritten, and so are the others. A form of
        its own of the cell's ``step``, which would make a new tensor of every part at every step: the tests hold it to
        the network's answers."""
        if isinstance(self.cell, LSTMCell):
            c, _ = rest
            gates[:begun].addmm_(h[:begun], self.from_state)
            i, f, g, o = gates.sigmoid_().split(self.hidden, dim=1)
            c.mul_(f).addcmul_(i, g, value=2).sub_(i)  # f c + i (2 σ(2 z) - 1)
            torch.tanh(c, out=h).mul_(o)
        elif isinstance(self.cell, GRUCell):
            (u_n,) = rest
            both = 2 * self.hidden
            gates[:begun, :both].addmm_(h[:begun], self.from_state[:, :both])
            r, z = gates[:, :both].sigmoid_().split(self.hidden, dim=1)
            torch.addmm(self.candidate_bias, h, self.from_state[:, both:], out=u_n)
            torch.addcmul(gates[:, both:], r, u_n, out=u_n).tanh_()
            h.sub_(u_n).mul_(z).add_(u_n)  # (1 - z) n + z h
        else:
            gates[:begun].addmm_(h[:begun], self.from_state)
            torch.clamp(gates, min=0, out=h) if self.relu else torch.tanh(gates, out=h)


class Folded:
    """The outputs of a network that `fold` takes."""

    network: Network
    encoder: RecurrentEncoder
    residual: bool

    def __init__(self, network: Network):
        encoder = network.encoder
        assert isinstance(encoder, RecurrentEncoder)
        assert isinstance(network.head, SummaryHead)
        self.head: nn.Linear = network.head.linear  # (B, H) → (B, C)
        self.network, self.encoder = network, encoder
        self.residual, self.summary = encoder.settings.residual, encoder.settings.pooling
        self.width: int = encoder.state_width
        self.layers: list[list[Direction]] = [
            [Direction(cell, encoder.starting(number, layer)) for number, cell in enumerate(cells)]
            for layer, cells in enumerate(zip(*filter(len, (encoder.ahead, encoder.back)), strict=True))
        ]
        self.first: list[FirstInputs] = [FirstInputs(network, one.from_input, one.bias) for one in self.layers[0]]

    def outputs(self, data: Sequences) -> np.ndarray:
        """(rows, C)."""
        data = told_apart(data, self.network)
        return in_batches(data, ROWS, TOKENS, lambda rows: self._batch(data, rows)[1:])

    def _batch(self, data: Sequences, rows: np.ndarray) -> Tensor:
        """(B, C) for rows of falling length. The longest is there twice: MKL multiplies a single row in another order,
        so without its double it would get other last digits alone than beside others."""
        rows = np.concatenate([rows[:1], rows])
        begins = data.offsets[rows]
        steps = Steps.of(data.offsets[rows + 1] - begins)
        values = torch.from_numpy(data.values[begins[steps.row.numpy()] + steps.step.numpy()])
        sources = [first.stepwise(values) for first in self.first]
        x = torch.empty(0)
        for number, directions in enumerate(self.layers):
            kept = self.keeps_states(number)
            states = torch.empty(len(values), self.width) if kept else None
            summary = "last" if kept else self.summary
            ends = [
                direction.run(steps, source, backward > 0, _columns(states, direction.hidden, backward), summary)
                for backward, (direction, source) in enumerate(zip(directions, sources, strict=True))
            ]
            if states is None:  # a summary is all that is asked for
                return self.head(torch.cat(ends, dim=1))
            x = x + states if self.residual and number > 0 else states
            if number + 1 < len(self.layers):
                sources = [_product(x, direction) for direction in self.layers[number + 1]]
        return self.pooled(x, steps.row, steps.step, steps.lengths)

    def keeps_states(self, layer: int) -> bool:
        """Whether more than a `summary` of the states of a layer is asked for."""
        return layer + 1 < len(self.layers) or self.residual or self.summary not in ALONG_THE_WAY

    def pooled(self, states: Tensor, row: Tensor, step: Tensor, lengths: Tensor) -> Tensor:
        """States (N, H), each of a row and a step, and lengths (B,) → (B, C)."""
        padded = states.new_zeros(len(lengths), int(lengths.max()), states.shape[1])
        padded[row, step] = states
        return self.head(self.encoder.pool(padded, lengths)[0])


def fold(network: Network) -> Folded | None:
    """None where the network itself has to be asked. It is in evaluation mode, and its weights stay as they are."""
    encoder = network.encoder
    if type(encoder) is not RecurrentEncoder or type(network.head) is not SummaryHead or network.reads == "states":
        return None
    segments = None if network.embedding is None else network.embedding.segments
    if network.embedding is not None and segments is not None and segments.shape[1] != network.embedding.width:
        return None  # several ids per step, in several columns
    for cell in (*encoder.ahead, *encoder.back):
        if type(cell) not in (RNNCell, LSTMCell, GRUCell) or not cell.plain:
            return None
    with torch.inference_mode():
        return Folded(network)


def told_apart(data: Sequences, network: Network) -> Sequences:
    """Where texts are several columns, a word is another one in each of them: word + column · words. What it brings
    then still depends on it alone."""
    columns = columns_of(network)
    if columns == 1:
        return data
    column = joined.segments(data.values, data.offsets, columns)
    return replace(data, values=(data.values + column * words_of(network)).astype(np.int32))


def _product(x: Tensor, direction: Direction) -> Source:
    return lambda start, end, out: torch.addmm(direction.bias, x[start:end], direction.from_input, out=out)


def _columns(states: Tensor | None, hidden: int, backward: int) -> Tensor | None:
    return None if states is None else states[:, backward * hidden : (backward + 1) * hidden]


def in_batches(data: Sequences, most_rows: int, most_tokens: int, answer: Callable[[np.ndarray], Tensor]) -> np.ndarray:
    """(rows, C): the outputs for some rows of falling length at a time, at most so many and, unless one is longer, so
    many tokens; in the order of the data."""
    order = np.argsort(-data.lengths, kind="stable")
    found, start = [], 0
    with torch.inference_mode():
        while start < len(order):
            rows = max(1, min(most_rows, most_tokens // int(data.lengths[order[start]])))
            found.append(answer(order[start : start + rows]))
            start += rows
    outputs = np.empty((len(data), found[0].shape[1]), np.float32)
    outputs[order] = torch.cat(found).numpy()
    return outputs


# --- in native code -------------------------------------------------------------------------------------------------


class Answers:
    """The outputs of a network that `fold` takes: by torch at first, by native code as soon as that pays for being
    loaded. It is never compiled for this: a compiler takes longer than most lists of texts."""

    read: int
    asked: bool

    def __init__(self, folded: Folded):
        self.folded = folded
        self.compiled: Compiled | None = None
        self.read = 0  # tokens
        self.asked = False

    def outputs(self, data: Sequences) -> np.ndarray:
        """(rows, C)."""
        if not self.asked:
            self.read += len(data.values)
            if self.read >= NATIVE_FROM:
                self.asked = True
                self.compiled = Compiled(self.folded) if ops.active() else None
        if self.compiled is None or (len(data.values) > NATIVE_LONGEST and data.lengths.max() > NATIVE_LONGEST):
            return self.folded.outputs(data)
        return self.compiled.outputs(data)


class Compiled:
    """The outputs of a network that `fold` takes, by native code: the same numbers, to float tolerance, in less time,
    most with few rows.

    Rows lie end to end, as they come: the native code takes up the longest first, so padding is never computed here
    either. What a token brings to the first layer is looked up in the same kind of table. A step adds up in the same
    order however many rows there are, so over many steps a row stays the same to the bit, alone or beside others."""

    @torch.inference_mode()
    def __init__(self, folded: Folded):
        self.folded = folded
        self.layers: list[list[ops.PackedLayer]] = [
            [packed(direction.cell, direction.begin) for direction in layer] for layer in folded.layers
        ]
        self.first: list[FirstInputs] = [
            FirstInputs(folded.network, layer.from_input, layer.bias) for layer in self.layers[0]
        ]

    def outputs(self, data: Sequences) -> np.ndarray:
        """(rows, C)."""
        data = told_apart(data, self.folded.network)
        if len(data) <= ROWS and len(data.values) <= NATIVE_TOKENS:
            with torch.inference_mode():
                return self._batch(data.values, data.offsets).numpy()
        return in_batches(
            data, ROWS, NATIVE_TOKENS, lambda rows: self._batch(*gather_rows(data.values, data.offsets, rows))
        )

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
        row = torch.repeat_interleave(starts.diff())
        return self.folded.pooled(x, row, torch.arange(len(x)) - starts[row], starts.diff())
