"""Recurrences for answers alone, in native code: weights packed once, what inputs bring looked up or given."""

from ctypes import Structure, byref

import torch
from torch import Tensor

from rnnlab.kernels.calls import N, P, fields, function, place
from rnnlab.kernels.recurrence import GATES, KINDS

SUMMARIES = {"last": 0, "mean": 1, "max": 2}
VECTORS = 4  # in a panel of an RNN's weights; those of LSTM and GRU hold one vector of units, all gates side by side


class Reading(Structure):
    """The fields of Reading in inference.cpp, in its order."""

    _fields_ = fields(
        *(N, "kind batch tokens hidden reverse threads", P, "offsets ids", N, "words"),
        *(P, "brought weights candidate_bias h_start c_start", N, "start_row", P, "states", N, "states_step"),
        *(P, "ends", N, "end_row", P, "c_ends", N, "summary"),
    )


class Layer:
    """One layer in one direction, float32. Its lanes are its gates in the order of the panels, padded to vectors:
    `from_input` (D, lanes) and `bias` (lanes,) make of inputs what `read` wants to know of them."""

    kind: int
    hidden: int
    padded: int
    """Numbers of a state's part, of which the first `hidden` count."""

    def __init__(
        self, kind: str, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, start: tuple[Tensor, ...] = ()
    ):
        """``w_ih`` (G · H, D), ``w_hh`` (G · H, H), biases (G · H,); ``start`` (H,) for each part of the state, or
        nothing: zeros."""
        width = function("inference_width")()
        self.kind, self.hidden, gates = KINDS[kind], w_hh.shape[1], GATES[kind]
        self.padded = -(-self.hidden // width) * width
        order = _lanes(gates, self.hidden, width)
        bias = b_ih + b_hh
        candidate_bias = None
        if kind == "gru":  # the candidate's second bias is inside the reset gate
            bias[2 * self.hidden :] = b_ih[2 * self.hidden :]
            candidate_bias = _padded(b_hh[2 * self.hidden :], width)
        self.from_input: Tensor = _rows(w_ih, order).t().contiguous()
        self.bias: Tensor = _rows(bias[:, None], order)[:, 0].contiguous()
        panels = _rows(w_hh, order).split(width * (VECTORS if gates == 1 else gates))
        weights = torch.cat([panel.t().flatten() for panel in panels])
        h_start, c_start = (*(_padded(part, width) for part in start), None, None)[:2]
        self._kept = (weights, candidate_bias, h_start, c_start)
        self._places = tuple(map(place, self._kept))

    def read(
        self,
        offsets: Tensor,
        brought: Tensor,
        ids: Tensor | None,
        reverse: bool,
        ends: Tensor,
        states: Tensor | None,
        summary: str = "last",
    ) -> None:
        """All steps of sequences laid end to end, ``offsets`` (B + 1,) int64. ``brought`` (V, lanes) has what each of
        the ``ids`` (N,) int32 brings to the gates; without ids, (N, lanes), each token. Written are the last states to
        ``ends`` (B, H), or what else of `SUMMARIES` is asked for, and, if wanted, all states to ``states`` (N, H): each
        may be part of a wider tensor."""
        assert offsets.dtype == torch.int64
        assert ids is None or ids.dtype == torch.int32
        tokens = len(brought if ids is None else ids)
        task = Reading(
            self.kind, len(offsets) - 1, tokens, self.hidden, reverse, torch.get_num_threads(),
            offsets.data_ptr(), place(ids), len(brought), brought.data_ptr(), *self._places, 0,
            place(states), 0 if states is None else states.stride(0), ends.data_ptr(), ends.stride(0), None,
            SUMMARIES[summary],
        )  # fmt: skip
        self._run(task)

    def go_on(
        self, offsets: Tensor, brought: Tensor, ids: Tensor | None, state: tuple[Tensor, ...], states: Tensor | None
    ) -> None:
        """As `read`, from the state of each sequence: h, or h and c, (B, padded) each, which are overwritten by those
        after its last token."""
        h, c = state[0], state[1] if len(state) > 1 else None
        tokens = len(brought if ids is None else ids)
        assert offsets.dtype == torch.int64
        assert ids is None or ids.dtype == torch.int32
        assert all(part.shape == (len(offsets) - 1, self.padded) and part.is_contiguous() for part in state)
        task = Reading(
            self.kind, len(offsets) - 1, tokens, self.hidden, False, torch.get_num_threads(),
            offsets.data_ptr(), place(ids), len(brought), brought.data_ptr(), *self._places[:2],
            h.data_ptr(), place(c), self.padded, place(states), 0 if states is None else states.stride(0),
            h.data_ptr(), self.padded, place(c), SUMMARIES["last"],
        )  # fmt: skip
        self._run(task)

    def _run(self, task: Reading) -> None:
        found = function("inference_read")(byref(task))
        if found == 1:
            raise ValueError("offsets must be those of sequences of at least one token each, and of all tokens")
        if found:
            raise IndexError(f"an id is not in the table of {task.words} rows")


def _lanes(gates: int, hidden: int, width: int) -> Tensor:
    """The row of the weights (G · H, ·) that each lane has; G · H where it has none."""
    unit = torch.arange(-(-hidden // width) * width).view(-1, 1, width)
    row = unit + hidden * torch.arange(gates)[:, None]  # (vectors, G, width)
    return torch.where(unit < hidden, row, gates * hidden).flatten()


def _rows(weights: Tensor, order: Tensor) -> Tensor:
    return torch.cat([weights, weights.new_zeros(1, weights.shape[1])])[order]


def _padded(values: Tensor, width: int) -> Tensor:
    return torch.nn.functional.pad(values, (0, -len(values) % width))
