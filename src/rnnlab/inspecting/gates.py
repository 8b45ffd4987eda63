"""What the gates of a recurrence do: how far they are open, how often they are stuck, and how much of the past they
let through.

A value is *saturated* when it is within 0.1 of a limit: a gate below 0.1 (closed) or above 0.9 (open), a tanh state
below -0.9 or above 0.9. Of a relu state, the lower limit counts alone: it is 0 there. A unit is *dead* when its output
varies, over all steps seen, by less than 1 % of what the liveliest unit's does: whatever it reads, it says the same.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlab.inspecting.readings import Reading, first_state, in_double, kind_of, readings
from rnnlab.models.cells import NO_GATES, RNNCell
from rnnlab.models.network import Network
from rnnlab.models.parallel import MinimalLayer
from rnnlab.models.pooling import inside

MARGIN = 0.1  # to a limit: from there on a value counts as saturated
STILL = 0.01  # of the liveliest unit's range: a unit that varies by less is dead


@dataclass(frozen=True)
class Gate:
    """One gate of a layer, over all real steps of some sequences."""

    name: str  # input, forget, output; reset, update; keep; state (the plain rnn has no gate)
    mean: float
    low: float  # share of its values at the lower limit: closed
    high: float  # … at the upper limit: open
    by_unit: tuple[float, ...]  # (H,) means
    low_by_unit: tuple[float, ...]  # (H,)
    high_by_unit: tuple[float, ...]  # (H,)
    by_token: tuple[float, ...] | None  # (T,) means over the units; one sequence only
    values: tuple[tuple[float, ...], ...] | None  # (T, H); one sequence only

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"values": self.values and [[round(value, 4) for value in row] for row in self.values]}


@dataclass(frozen=True)
class LayerGates:
    """One recurrent layer in one direction. Tokens are in the order of the text, whichever way the layer reads."""

    name: str
    kind: str
    units: int
    steps: int  # over which all this was counted
    kept: float | None  # the share of a new state that came from the old one, |f ⊙ c| / (|f ⊙ c| + |i ⊙ g|); mean
    kept_by_token: tuple[float, ...] | None  # one sequence only
    dead: tuple[int, ...]  # numbers of the units, from 0
    gates: tuple[Gate, ...]

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"gates": [gate.to_dict() for gate in self.gates]}


def gate_statistics(network: Network, inputs: Tensor, lengths: Tensor) -> list[LayerGates]:
    """Every recurrent layer. ``inputs`` (B, T) or (B, T, D); figures by token are there when B is 1."""
    return [layer_gates(reading) for reading in readings(in_double(network), inputs, lengths)]


@dataclass(frozen=True)
class Opened:
    """What went on inside, each (B, T, H), in the order in which the layer reads."""

    gates: dict[str, Tensor]
    states: Tensor
    kept: Tensor | None  # from 0 to 1
    limits: tuple[float, float]  # between which the values of ``gates`` lie


@torch.no_grad()
def open_up(reading: Reading) -> Opened:
    """Run a layer again, gates in view."""
    if isinstance(reading.cell, MinimalLayer):
        return _open_minimal(reading, reading.cell)
    cell, before = reading.cell, first_state(reading)
    states, kept, gates = [], [], {name: [] for name in cell.gates if name not in NO_GATES}
    for state, entered in cell.drive(reading.x, before):
        for name, values in gates.items():
            values.append(entered[name].sigmoid())
        keep = cell.keep(entered)
        if keep is not None:
            old = keep * before[-1]
            kept.append(_share(old, state[-1] - old))
        states.append(state[0])
        before = state
    seen = torch.stack(states, dim=1)
    if gates:
        named = {name: torch.stack(values, dim=1) for name, values in gates.items()}
        return Opened(named, seen, torch.stack(kept, dim=1) if kept else None, (0.0, 1.0))
    # No gates: of a plain recurrence the states themselves are what saturates
    relu = isinstance(cell, RNNCell) and cell.activation == "relu"
    return Opened({"state": seen}, seen, None, (-MARGIN, torch.inf) if relu else (-1.0, 1.0))


def _open_minimal(reading: Reading, layer: MinimalLayer) -> Opened:
    update = layer.update(layer.project(reading.x)[..., : layer.split[0]])
    keep, states = torch.sigmoid(-update), layer(reading.x)
    before = torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1)
    return Opened({"keep": keep}, states, _share(keep * before, states - keep * before), (0.0, 1.0))


def _share(old: Tensor, new: Tensor) -> Tensor:
    """|old| / (|old| + |new|); 0 where both are 0."""
    total = old.abs() + new.abs()
    return old.abs() / total.clamp(min=torch.finfo(total.dtype).tiny)


def layer_gates(reading: Reading) -> LayerGates:
    opened = open_up(reading)
    real = inside(reading.lengths, reading.x.shape[1])  # mirrored or not, padding stands at the end
    alone = len(reading.x) == 1
    states = opened.states[real]  # (N, H)
    ranges = states.amax(0) - states.amin(0)  # (H,)
    still = (ranges < STILL * ranges.max()) | (ranges == 0)
    kept = opened.kept
    return LayerGates(
        name=reading.name,
        kind=kind_of(reading.cell),
        units=states.shape[1],
        steps=len(states),
        gates=tuple(_gate(name, v, real, opened.limits, reading) for name, v in opened.gates.items()),
        dead=tuple(still.nonzero().flatten().tolist()) if len(states) > 1 else (),
        kept=float(kept[real].mean()) if kept is not None else None,
        kept_by_token=tuple(_in_order(kept, reading).mean(1).tolist()) if kept is not None and alone else None,
    )


def _gate(name: str, values: Tensor, real: Tensor, limits: tuple[float, float], reading: Reading) -> Gate:
    counted = values[real]  # (N, H)
    low, high = counted <= limits[0] + MARGIN, counted >= limits[1] - MARGIN
    ordered = _in_order(values, reading) if len(values) == 1 else None
    return Gate(
        name=name,
        mean=float(counted.mean()),
        low=float(low.double().mean()),
        high=float(high.double().mean()),
        by_unit=tuple(counted.mean(0).tolist()),
        low_by_unit=tuple(low.double().mean(0).tolist()),
        high_by_unit=tuple(high.double().mean(0).tolist()),
        by_token=tuple(ordered.mean(1).tolist()) if ordered is not None else None,
        values=tuple(map(tuple, ordered.tolist())) if ordered is not None else None,
    )


def _in_order(values: Tensor, reading: Reading) -> Tensor:
    """The one sequence of (1, T, H) in the order of the text: (T, H)."""
    return values[0].flip(0) if reading.backward else values[0]
