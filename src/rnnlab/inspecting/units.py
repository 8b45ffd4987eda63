"""What single units of a recurrence follow: which of them goes with the place in the line, with quotes, with vowels.

A network has many units, and of many, one always fits best by chance. So a unit is *found* on one half of the rows, the
one with the highest |r|, and its correlation is *reported* on the other half. Beside it stands what the same search
finds in the network before training: a random recurrence has such units, too, mostly of what it just read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rnnlab.data.sequences import IGNORE, Sequences
from rnnlab.data.vocabulary import Vocabulary
from rnnlab.inspecting.gates import open_up
from rnnlab.inspecting.readings import first_state, in_double, readings
from rnnlab.inspecting.text_features import STEPS, features_of
from rnnlab.models.cells import Cell
from rnnlab.models.network import Network
from rnnlab.models.parallel import MinimalLayer

ROWS = 24  # that are read, of all that there are; spread evenly
NOTEWORTHY = 0.3  # |r| on the other half
FEWEST = 20  # tokens, of each half, at which a feature isn't 0
PASSAGE = {True: 300, False: 80}  # tokens that are shown, of characters or words


@dataclass(frozen=True)
class Followed:
    """A feature, and the unit that goes with it most."""

    feature: str  # a name of `text_features.STEPS`
    remembered: bool  # whether more than the last token is needed to know it
    part: str  # h, or c: the cell of an LSTM
    unit: int  # from 0
    found: float  # r on the rows by which it was chosen
    held_out: float  # r on the other rows
    at_first: float | None  # r on those, of the unit that the same search finds before training

    @property
    def noteworthy(self) -> bool:
        return abs(self.held_out) >= NOTEWORTHY

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "noteworthy": self.noteworthy}


@dataclass(frozen=True)
class UnitStrip:
    """A unit over a passage of the rows on which nothing was chosen."""

    feature: str
    tokens: tuple[str, ...]
    values: tuple[float, ...]  # less its mean, as shares of the largest that is shown in full: from -1 to 1


@dataclass(frozen=True)
class Units:
    """The strongest first, what has to be remembered before what was just read."""

    layer: str
    units: int
    tokens: int  # of the half on which r is reported
    followed: tuple[Followed, ...]
    strips: tuple[UnitStrip, ...]  # of noteworthy ones that have to be remembered

    def to_dict(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "units": self.units,
            "tokens": self.tokens,
            "followed": [one.to_dict() for one in self.followed],
        }


def followed_units(
    network: Network, at_first: Network | None, data: Sequences, vocabulary: Vocabulary, characters: bool
) -> Units | None:
    """On held-out rows of a language model. None for a network without a recurrence, and for fewer than two rows."""
    if len(data) < 2 or not any(isinstance(module, Cell | MinimalLayer) for module in network.encoder.modules()):
        return None
    rows = np.unique(np.linspace(0, len(data) - 1, ROWS).round().astype(np.int64))
    tokens = [vocabulary.spelled(data.row(row).tolist()) for row in rows.tolist()]
    scored = [_scored(data, row) for row in rows.tolist()]
    made = [features_of(row, characters) for row in tokens]
    half = np.repeat(np.arange(len(rows)) % 2 == 1, [np.count_nonzero(own) for own in scored])  # of all scored steps
    features = {
        name: np.concatenate([row[name][own] for row, own in zip(made, scored, strict=True)]) for name in made[0]
    }
    states = _states(network, data, rows)
    if states is None:
        return None
    layer, parts = states
    first = _states(at_first, data, rows) if at_first is not None else None
    followed, strips = [], []
    flat = _flat(parts, scored)
    flat_first = _flat(first[1], scored) if first is not None else None
    for name, values in features.items():
        if min(np.count_nonzero(values[half]), np.count_nonzero(values[~half])) < FEWEST:
            continue
        if min(values[half].std(), values[~half].std()) == 0:
            continue
        part, unit, found, held_out = _best(flat, values, half)
        before = _best(flat_first, values, half)[3] if flat_first is not None else None
        followed.append(Followed(name, STEPS[name][1] == "remembered", part, unit, found, held_out, before))
    followed.sort(key=lambda one: (not one.remembered, -abs(one.held_out)))
    for one in followed:
        if one.noteworthy and one.remembered:
            own = [row[:, one.unit] for row in parts[one.part]]
            length = PASSAGE[characters]
            strips.append(_strip(one, own, [row[one.feature] for row in made], scored, tokens, length))
    units = next(iter(flat.values())).shape[1]
    return Units(layer, units, int(half.sum()), tuple(followed), tuple(strips))


def _scored(data: Sequences, row: int) -> np.ndarray:
    """(T,): the steps of a row whose target counts."""
    assert data.target_offsets is not None
    own = slice(int(data.target_offsets[row]), int(data.target_offsets[row + 1]))
    return data.truth.values[own] != IGNORE


@torch.no_grad()
def _states(network: Network, data: Sequences, rows: np.ndarray) -> tuple[str, dict[str, list[np.ndarray]]] | None:
    """The name of the last recurrent layer; and h, and c if there is one, of every row: (T, H) each."""
    lengths = torch.from_numpy(data.lengths[rows])
    inputs = torch.zeros(len(rows), int(lengths.max()), dtype=torch.int64)
    for at, row in enumerate(rows.tolist()):
        inputs[at, : int(lengths[at])] = torch.from_numpy(data.row(row)).long()
    found = readings(in_double(network), inputs, lengths)
    if not found:
        return None
    last = found[-1]
    if isinstance(last.cell, Cell):
        every = [state for state, _ in last.cell.drive(last.x, first_state(last))]
        parts = {name: torch.stack(part, 1) for name, part in zip("hc", zip(*every, strict=True), strict=False)}
    else:
        parts = {"h": open_up(last).states}
    ends = lengths.tolist()
    return last.name, {name: [part[at, :end].numpy() for at, end in enumerate(ends)] for name, part in parts.items()}


def _flat(parts: dict[str, list[np.ndarray]], scored: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """(N, H) each: the scored steps of all rows."""
    return {
        name: np.concatenate([row[own] for row, own in zip(rows, scored, strict=True)]) for name, rows in parts.items()
    }


def _best(parts: dict[str, np.ndarray], values: np.ndarray, half: np.ndarray) -> tuple[str, int, float, float]:
    """The part and the unit with the highest |r| on the rows outside ``half``; that r, and the one on ``half``."""
    found = []
    for name, states in parts.items():
        chosen = correlations(states[~half], values[~half])
        unit = int(np.abs(chosen).argmax())
        found.append((name, unit, float(chosen[unit]), float(correlations(states[half][:, [unit]], values[half])[0])))
    return max(found, key=lambda one: abs(one[2]))


def correlations(states: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(H,): Pearson's r of each column of states (N, H) with values (N,); 0 for a unit that never changes."""
    x, y = states - states.mean(0), values - values.mean()
    spread = np.sqrt((x**2).sum(0) * (y**2).sum())
    return np.divide(y @ x, spread, out=np.zeros(x.shape[1]), where=spread > 1e-12)


def _strip(
    one: Followed,
    values: Sequence[np.ndarray],
    feature: Sequence[np.ndarray],
    scored: Sequence[np.ndarray],
    tokens: Sequence[Sequence[str]],
    length: int,
) -> UnitStrip:
    """The passage, of the rows on which nothing was chosen, in which the feature varies most."""
    best = (-1.0, 0, 0)
    for row in range(1, len(values), 2):
        first = int(np.flatnonzero(scored[row])[0]) if scored[row].any() else len(values[row])
        for start in range(first, max(first + 1, len(values[row]) - length + 1), length):
            spread = float(feature[row][start : start + length].std()) if start < len(values[row]) else 0.0
            best = max(best, (spread, row, start), key=lambda found: found[0])
    _, row, start = best
    own = np.concatenate(values[1::2])
    centred = values[row][start : start + length] - own.mean()
    full = float(np.percentile(np.abs(own - own.mean()), 95)) or 1.0
    shares = np.clip(centred / full, -1, 1)
    return UnitStrip(one.feature, tuple(tokens[row][start : start + length]), tuple(shares.tolist()))
