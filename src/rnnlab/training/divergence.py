"""Where numbers stopped being numbers: the first layer and time step with a value that isn't finite."""

from typing import Any

import torch
from torch import Tensor, nn

from rnnlab.data.batches import Batch
from rnnlab.models.network import Network

EXPLODED = 1e4  # a loss beyond this is no longer learning, even while it is finite


def diagnose(network: Network, batch: Batch, step: int, loss: float, norm: float | None) -> dict[str, Any]:
    """``{step, loss, gradient_norm, layer, time_step, reason}`` of a run that diverged at ``step``."""
    layer, time_step = _first_bad_output(network, batch)
    reason = "the forward pass overflowed"
    if layer is None:
        layer = next((n for n, p in network.named_parameters() if p.grad is not None and not _finite(p.grad)), None)
        reason = "a gradient overflowed" if layer else f"the loss passed {EXPLODED:g}"
    return {
        "step": step,
        "loss": _number(loss),
        "gradient_norm": _number(norm),
        "layer": layer,
        "time_step": time_step,
        "reason": reason,
    }


def overflowed_on_validation(step: int) -> dict[str, Any]:
    """As `diagnose`, for a network that went on training but whose validation loss is no longer a number."""
    unknown = dict.fromkeys(("loss", "gradient_norm", "layer", "time_step"))
    return {"step": step, **unknown, "reason": "the validation loss overflowed"}


def _first_bad_output(network: Network, batch: Batch) -> tuple[str | None, int | None]:
    bad: list[tuple[str, int | None]] = []

    def watch(name: str):
        def look(module: nn.Module, inputs: Any, output: Any) -> None:
            first = output[0] if isinstance(output, tuple) else output
            if isinstance(first, Tensor) and not bad and not _finite(first):
                bad.append((name, _time_step(first) if first.dim() == 3 else None))

        return look

    leaves = [(name, module) for name, module in network.named_modules() if not list(module.children()) and name]
    hooks = [module.register_forward_hook(watch(name)) for name, module in leaves]
    with torch.no_grad():
        network(batch.inputs, batch.lengths)
    for hook in hooks:
        hook.remove()
    return bad[0] if bad else (None, None)


def _time_step(states: Tensor) -> int:
    """The first t with a value that isn't finite, of (B, T, H)."""
    return int((~states.isfinite()).any(2).any(0).nonzero()[0])


def _finite(tensor: Tensor) -> bool:
    return bool(tensor.isfinite().all())


def _number(value: float | None) -> float | str | None:
    """JSON has no NaN: it becomes a word."""
    if value is None or abs(value) < float("inf"):
        return value
    return "nan" if value != value else "inf"
