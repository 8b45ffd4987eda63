"""How gradients travel through time.

For a recurrence s_k = F(x_k, s_{k-1}) with the state s = h, or (h, c) for the LSTM, the chain rule gives

    ∂s_T/∂s_t = J_T J_{T-1} … J_{t+1},   J_k = ∂s_k/∂s_{k-1}

and three figures of decreasing precision, the spectral norm ‖·‖₂ throughout:

    ‖∂s_T/∂s_t‖  ≤  ‖J_T‖ · … · ‖J_{t+1}‖  ≤  ‖W_hh‖^(T-t)

The last holds for the plain RNN alone, where J_k = diag(f'(z_k)) W_hh and f' ≤ 1. It is a ceiling: whether gradients
vanish is decided by the first. All is computed in float64, and exactly: by automatic differentiation of the steps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlab.inspecting.readings import Reading, first_state, in_double, kind_of, readings
from rnnlab.models.cells import Cell, LSTMCell, RNNCell
from rnnlab.models.network import Network
from rnnlab.models.parallel import MinimalLayer
from rnnlab.training.monitor import input_gradients, mean_by_lag, memory_length

FURTHEST = 200  # lags looked at


@dataclass(frozen=True)
class StateGradients:
    """One recurrent layer in one direction, on one sequence. Index i of each curve is lag i: T - t."""

    name: str
    kind: str  # rnn, lstm, gru, minimal
    hidden: int
    memory: int | None  # the lag from which on ‖∂h_T/∂h_t‖ is below 1 %; None: further than was looked
    cell_memory: int | None  # lstm: likewise ‖∂c_T/∂c_t‖
    spectral_norm: dict[str, float]  # ‖W_hh‖ by gate
    spectral_radius: dict[str, float]  # its largest |eigenvalue| by gate
    state: tuple[float, ...]  # ‖∂h_T/∂h_t‖
    cell: tuple[float, ...] | None  # lstm: ‖∂c_T/∂c_t‖
    forget: tuple[float, ...] | None  # lstm: of c's own path alone, the largest of the products f_T · … · f_{t+1}
    factors: tuple[float, ...]  # ‖J_T‖ · … · ‖J_{t+1}‖, of the whole state
    bound: tuple[float, ...] | None  # plain rnn: ‖W_hh‖^(T-t)

    @property
    def lags(self) -> int:
        """The furthest one."""
        return len(self.state) - 1

    def to_dict(self) -> dict[str, Any]:
        curves = ("state", "cell", "forget", "factors", "bound")
        return vars(self) | {name: finite(getattr(self, name)) for name in curves}


@dataclass(frozen=True)
class InputGradients:
    """For any architecture: ‖∂ highest output / ∂ x_t‖ by distance from the end, the mean over some sequences."""

    memory: int | None  # the distance from which on it is below 1 % of its largest; None: further than was looked
    norms: tuple[float, ...]
    rows: tuple[int, ...]  # how many sequences reach so far

    def within(self, share: float) -> int:
        """The fewest last steps whose inputs together get this share of all the gradient."""
        sums = np.cumsum(np.nan_to_num(np.array(self.norms), posinf=0.0))
        return min(int(np.searchsorted(sums, share * sums[-1] * (1 - 1e-12))) + 1, len(sums))

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"norms": finite(self.norms)}


def gradients_by_input(network: Network, inputs: Tensor, lengths: Tensor) -> InputGradients:
    """``inputs`` (B, T) or (B, T, D), right-padded. The network stays as it is."""
    norms, rows = mean_by_lag(input_gradients(network, inputs, lengths), lengths)
    return InputGradients(memory_length(norms.tolist()), tuple(norms.tolist()), tuple(rows.tolist()))


def gradients_through_time(network: Network, inputs: Tensor, furthest: int = FURTHEST) -> list[StateGradients]:
    """Every recurrent layer, on one sequence: ``inputs`` (1, T) or (1, T, D)."""
    lengths = torch.tensor([inputs.shape[1]])
    return [state_gradients(reading, furthest) for reading in readings(in_double(network), inputs, lengths)]


def state_gradients(reading: Reading, furthest: int = FURTHEST) -> StateGradients:
    """Of a reading of one sequence."""
    if isinstance(reading.cell, MinimalLayer):
        return _of_linear_recurrence(reading, reading.cell, furthest)
    cell, hidden = reading.cell, reading.cell.hidden
    jacobians, factors = jacobians_to_end(reading, furthest)
    state = _norms(jacobians[:, :hidden, :hidden])
    of_cell = forget = None
    if isinstance(cell, LSTMCell):
        of_cell = _norms(jacobians[:, hidden:, hidden:])
        # What the cell would carry if gates didn't depend on the state
        steps = cell.drive(reading.x, first_state(reading))
        forget = _largest_products([cell.keep(entered)[0] for _, entered in steps], furthest)
    weights = dict(zip(cell.gates, cell.weight_hh_l0.split(hidden), strict=True))
    norms = {gate: float(torch.linalg.matrix_norm(w, ord=2)) for gate, w in weights.items()}
    plain = isinstance(cell, RNNCell) and not cell.layer_norm
    return StateGradients(
        name=reading.name,
        kind=kind_of(cell),
        hidden=hidden,
        state=state,
        cell=of_cell,
        forget=forget,
        factors=_products(_norms(factors)),
        bound=_products([norms["state"]] * (len(state) - 1)) if plain else None,
        spectral_norm=norms,
        spectral_radius={gate: float(torch.linalg.eigvals(w).abs().max()) for gate, w in weights.items()},
        memory=memory_length(state, reference=1.0),
        cell_memory=memory_length(of_cell, reference=1.0) if of_cell else None,
    )


def jacobians_to_end(reading: Reading, furthest: int = FURTHEST) -> tuple[Tensor, Tensor]:
    """(∂s_T/∂s_{T-lag} for lag 0, 1, …, (L + 1, S, S); J_T, J_{T-1}, …, (L, S, S)), S = parts · H.

    Backwards from the end: a row of ∂s_T/∂s_{k-1} is the row of ∂s_T/∂s_k pulled back through step k, all rows at once;
    the rows of J_k are those of the identity, pulled back alike."""
    cell = reading.cell
    assert isinstance(cell, Cell)
    a = cell.from_input(reading.x)[0]  # (T, G · H)
    states = [first_state(reading), *(state for state, _ in cell.drive(reading.x, first_state(reading)))]
    identity = torch.eye(cell.parts * cell.hidden, dtype=a.dtype)
    to_end, factors = [identity], []
    for k in range(len(a) - 1, max(-1, len(a) - 1 - furthest), -1):
        before = torch.cat(states[k], dim=1)[0].requires_grad_()  # (S,)
        with torch.enable_grad():
            parts = tuple(part[None] for part in before.chunk(cell.parts))
            after = torch.cat(cell.step(a[k : k + 1], parts, parts[0])[0], dim=1)[0]  # (S,)
        rows = torch.cat([to_end[-1], identity])
        (pulled,) = torch.autograd.grad(after, before, rows, is_grads_batched=True)
        earlier, factor = pulled.chunk(2)
        to_end.append(earlier)
        factors.append(factor)
    return torch.stack(to_end), torch.stack(factors)


def _of_linear_recurrence(reading: Reading, layer: MinimalLayer, furthest: int) -> StateGradients:
    """h_t = keep_t ⊙ h_{t-1} + …, and keep_t knows no state: the Jacobian is diagonal, a product of what is kept."""
    keep = torch.sigmoid(-layer.update(layer.project(reading.x)[0, :, : layer.split[0]]))  # (T, H)
    state = _largest_products(keep, furthest)
    return StateGradients(
        name=reading.name,
        kind="minimal",
        hidden=layer.split[1],
        memory=memory_length(state, reference=1.0),
        cell_memory=None,
        spectral_norm={},
        spectral_radius={},
        state=state,
        cell=None,
        forget=None,
        factors=_products([float(kept.max()) for kept in reversed(keep[-furthest:])]),
        bound=None,
    )


def _largest_products(gates: Sequence[Tensor] | Tensor, furthest: int) -> tuple[float, ...]:
    """The largest entry of g_T ⊙ … ⊙ g_{t+1}, for lag 0, 1, …"""
    products = [torch.ones_like(gates[0])]
    for gate in reversed(gates[-furthest:]):
        products.append(products[-1] * gate)
    return tuple(float(product.max()) for product in products)


def _norms(matrices: Tensor) -> tuple[float, ...]:
    return tuple(torch.linalg.matrix_norm(matrices, ord=2).tolist())


def _products(factors: Sequence[float]) -> tuple[float, ...]:
    """1, f_1, f_1 f_2 …"""
    products = [1.0]
    for factor in factors:
        products.append(products[-1] * factor)
    return tuple(products)


def finite(values: Sequence[float] | None) -> list[float | None] | None:
    """For JSON, which has no infinity: None in its place."""
    return None if values is None else [value if math.isfinite(value) else None for value in values]
