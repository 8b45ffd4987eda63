"""Where numbers stopped being numbers: the first layer, time step and gate that overflowed, and what to do about it.

The loop hands over the batch at which a run broke. The forward pass is done again, and every recurrent layer runs step
by step beside it: a gate that overflows is hidden by its sigmoid or tanh (of infinity they are 1), and what shows is
only the gradient, later and elsewhere.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from rnnlab.answers.heads import TiedHead
from rnnlab.core.words import note
from rnnlab.data.batches import Batch
from rnnlab.kernels import switched_off
from rnnlab.models.cells import Cell, RNNCell, State
from rnnlab.models.network import Network
from rnnlab.models.parallel import MinimalLayer
from rnnlab.training.spec import Training

EXPLODED = 1e4  # a loss beyond this is no longer learning, even while it is finite
KEPT_NORMS = 20  # of the steps before, in the diagnosis
ENOUGH = 10  # healthy norms, to say what is usual
HEALTHY = 10  # times the median: a gradient norm beyond that is part of the trouble


@dataclass(frozen=True)
class Place:
    """Of the first value that isn't as it should be."""

    layer: str
    time_step: int | None = None  # counted from the first token, also in a layer that reads from the end
    gate: str | None = None  # or several, separated by commas, in the order in which they are computed


def diagnose(
    network: Network,
    batch: Batch,
    step: int,
    loss: float,
    norm: float | None,
    norms: Sequence[float] = (),
    training: Training | None = None,
) -> dict[str, Any]:
    """Of a run that diverged at ``step``: ``{step, loss, gradient_norm, layer, time_step, gate, reason, norms,
    advice}``. ``norms`` are the gradient norms of the steps before, the latest last."""
    place, reason = _locate(network, batch)
    return {
        "step": step,
        "loss": _number(loss),
        "gradient_norm": _number(norm),
        **(asdict(place) if place else dict.fromkeys(("layer", "time_step", "gate"))),
        "reason": reason,
        "norms": [_number(one) for one in norms[-KEPT_NORMS:]],
        "advice": advise(step, norms, training, _unbounded(network, place)),
    }


def overflowed_on_validation(
    step: int, norms: Sequence[float] = (), training: Training | None = None
) -> dict[str, Any]:
    """As `diagnose`, for a network that went on training but whose validation loss is no longer a number."""
    return {
        "step": step,
        **dict.fromkeys(("loss", "gradient_norm", "layer", "time_step", "gate")),
        "reason": note("the validation loss overflowed"),
        "norms": [_number(one) for one in norms[-KEPT_NORMS:]],
        "advice": advise(step, norms, training),
    }


def advise(step: int, norms: Sequence[float], training: Training | None = None, unbounded: bool = False) -> list[str]:
    """What to change, the likeliest first, for a run that broke at ``step``."""
    if step == 1:
        found = [
            note(
                "It broke at the first batch, before any update: that is not the learning rate. Look for huge numbers "
                "in the input, and at the settings for the weights and the state at the start."
            )
        ]
    else:
        rate = note("a lower learning rate than training.lr = {lr}", lr=f"{training.lr:g}") if training else None
        found = [
            note(
                "Take {rate}. The same command with --find-lr tries them all in a few seconds and suggests one.",
                rate=rate or note("a lower learning rate"),
            )
        ]
        healthy = healthy_norms(norms)
        if len(healthy) >= ENOUGH:
            found.append(_about_clipping(healthy, training.clip if training else None))
        elif training is not None and training.clip is None:
            usual = f"{Training().clip:g}"
            found.append(
                note("Clip the gradients, which is switched off: --set training.clip={usual} is usual.", usual=usual)
            )
    if unbounded:
        found.append(
            note(
                "A relu state has no bound and can grow with every step: take model.activation = 'tanh', or keep it "
                "small with model.recurrent_init = 'orthogonal' or model.layer_norm = true."
            )
        )
    return found


def _about_clipping(healthy: Sequence[float], clip: float | None) -> str:
    usual = percentile(healthy, 90)
    gaps = {"count": len(healthy), "usual": f"{usual:.2g}", "clip": f"{clip or 0:g}"}
    seen = note("90 % of the {count} healthy gradients before it had a norm up to {usual}", **gaps)
    if clip is not None and clip <= usual:
        return note(
            "{seen}, and training.clip = {clip} is below that already: clipping alone won't help.", seen=seen, **gaps
        )
    if clip:
        return note("{seen}: clip there, with --set training.clip={usual} instead of {clip}.", seen=seen, **gaps)
    return note("{seen}: clip there, with --set training.clip={usual}.", seen=seen, **gaps)


def healthy_norms(norms: Sequence[float]) -> list[float]:
    """Those that are finite and not far above the usual: the last ones before a divergence often grow already."""
    finite = [norm for norm in norms if math.isfinite(norm)]
    if not finite:
        return []
    limit = HEALTHY * statistics.median(finite)
    return [norm for norm in finite if norm <= limit]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that ``percent`` of the values don't pass."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def _locate(network: Network, batch: Batch) -> tuple[Place | None, str]:
    """The first bad place in the order of the forward pass; else the first bad gradient; else where values are large
    beyond reason."""
    gradient = _first_bad_gradient(network)  # before the network runs again: the embedding forgets its rows then
    weight = next((name for name, p in network.named_parameters() if not _finite(p)), None)
    place = _first_beyond(network, batch, math.inf)
    if place is not None:
        if weight:
            return place, note("the forward pass overflowed: {weight} holds weights that aren't finite", weight=weight)
        return place, note("the forward pass overflowed")
    if gradient is not None:
        return gradient, note("a gradient overflowed")
    return _first_beyond(network, batch, EXPLODED), note("the loss passed {limit}", limit=f"{EXPLODED:g}")


def _first_bad_gradient(network: Network) -> Place | None:
    """A gradient that isn't finite, and the gates whose rows it is in."""
    lazy = network.embedding is not None and network.embedding.lazy
    picked = getattr(network.embedding, "picked", None) if lazy else None  # the rows in use stand for the table
    if picked is not None and picked.grad is not None and not _finite(picked.grad):
        return Place("embedding.table")
    scored = getattr(network.head, "picked", None)  # as those of the words that are scored, where they are sampled
    if scored is not None and scored.grad is not None and not _finite(scored.grad):
        return Place("embedding.table" if isinstance(network.head, TiedHead) else "head.linear.weight")
    for name, parameter in network.named_parameters():
        if parameter.grad is not None and not _finite(parameter.grad):
            owner = network.get_submodule(name.rpartition(".")[0])
            gates = _gates_of(owner) if isinstance(owner, Cell) and "l0" in name else ()
            bad = [
                gate
                for gate, rows in zip(gates, parameter.grad.chunk(len(gates) or 1), strict=False)
                if not _finite(rows)
            ]
            return Place(name, gate=bad[0] if 0 < len(bad) < len(gates) else None)
    return None


def _first_beyond(network: Network, batch: Batch, limit: float) -> Place | None:
    """The first place in the forward pass with a value that isn't below ``limit``. Without dropout, which would fall
    otherwise than it did; if that finds nothing, with it. The state carried from the batch before is left out: by now
    it is the one after the bad batch."""
    was_training, carried = network.training, network.encoder.carried
    places: list[Place] = []
    hooks = [
        module.register_forward_hook(partial(_look, name, network, batch.lengths, limit, places))
        for name, module in network.named_modules()
        if not isinstance(module, nn.Dropout | Network)  # dropout computes nothing that could overflow
    ]
    try:
        for training in (False, True):
            network.encoder.carried = None
            if not places:
                with torch.no_grad(), torch.random.fork_rng(), switched_off():  # native code runs past single layers
                    network.train(training)(batch.inputs, batch.lengths)
    finally:
        for hook in hooks:
            hook.remove()
        network.train(was_training)
        network.encoder.carried = carried
    return places[0] if places else None


def _look(
    name: str,
    network: Network,
    lengths: Tensor,
    limit: float,
    places: list[Place],
    module: nn.Module,
    inputs: tuple[Any, ...],
    output: Any,
) -> None:
    """A forward hook that adds to ``places`` where the output of a module isn't below ``limit``. Inner modules finish
    first, so the first place found is the narrowest."""
    values = output[0] if isinstance(output, tuple) else output
    if places or not isinstance(values, Tensor):
        return
    parent = name.rpartition(".")[0]
    found = _trace(module, *inputs, limit=limit) if isinstance(module, Cell) else None
    if found is None and not _below(values, limit):
        time_first = isinstance(network.get_submodule(parent), MinimalLayer)
        found = _first_step(values.transpose(0, 1) if time_first else values, limit)
    if found is None:
        return
    row, t, gate = found
    if t is not None and "back" in parent.split(".") and t < lengths[row]:  # it reads each sequence mirrored
        t = int(lengths[row]) - 1 - t
    places.append(Place(name, t, gate))


Found = tuple[int, int | None, str | None]
"""Row of the batch, time step, and gate."""


def _first_step(values: Tensor, limit: float) -> Found:
    """The first t with a value that isn't below ``limit``, of (B, T, H), and the first row that has it there."""
    if values.dim() != 3:
        return 0, None, None
    bad = (~(values.abs() < limit)).any(2)  # (B, T)
    t = int(bad.any(0).nonzero()[0])
    return int(bad[:, t].nonzero()[0]), t, None


def _trace(
    cell: Cell, x: Tensor, start: State = (), mask: Tensor | None = None, real: Tensor | None = None, *, limit: float
) -> Found | None:
    """A recurrent layer step by step, as `Cell.forward` is called, up to the first pre-activation or state that isn't
    below ``limit``."""
    for t, (state, entered) in enumerate(cell.drive(x, start, mask, real)):
        bad = [~(z.abs() < limit) for z in (*entered.values(), *state)]  # not below: NaN, too
        if any(b.any() for b in bad):
            row = int(torch.stack([b.any(1) for b in bad]).any(0).nonzero()[0])
            names = [name for name, b in zip(entered, bad, strict=False) if b.any() and name in _gates_of(cell)]
            return row, t, ", ".join(names) or None
    return None


def _gates_of(cell: Cell) -> tuple[str, ...]:
    """Names in the order of the weights' rows. An `rnn` has one pre-activation, and no gate."""
    return cell.gates if len(cell.gates) > 1 else ()


def _unbounded(network: Network, place: Place | None) -> bool:
    """Whether the place is in a recurrence whose state has no bound."""
    relu = [n for n, m in network.named_modules() if isinstance(m, RNNCell) and m.activation == "relu"]
    return place is not None and any(place.layer.startswith(name) for name in relu)


def _below(values: Tensor, limit: float) -> bool:
    return bool((values.abs() < limit).all())


def _finite(tensor: Tensor) -> bool:
    return bool(tensor.isfinite().all())


def _number(value: float | None) -> float | str | None:
    """JSON has no NaN: it becomes a word."""
    if value is None or abs(value) < float("inf"):
        return value
    return "nan" if value != value else "inf"
