"""What every recurrent layer of a network reads: the input that reaches it and the state it starts from, so that it can
be driven again step by step, in double precision, to look inside."""

import copy
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from rnnlab.kernels import switched_off
from rnnlab.models.cells import Cell, State
from rnnlab.models.network import Network
from rnnlab.models.parallel import MinimalLayer

Recurrence = Cell | MinimalLayer


@dataclass(frozen=True)
class Reading:
    """One recurrent layer in one direction, with what it was given. All float64."""

    name: str  # "layer 1", "layer 2 backward", "gru layer 1"
    backward: bool
    cell: Recurrence
    x: Tensor  # (B, T, D), in the order in which the layer reads: a backward one has it mirrored
    start: State  # empty: zeros
    lengths: Tensor  # (B,)


def in_double(network: Network) -> Network:
    """A copy for looking at: float64, evaluation mode, weights that ask for no gradients."""
    return copy.deepcopy(network).double().eval().requires_grad_(False)


def readings(double: Network, inputs: Tensor, lengths: Tensor) -> list[Reading]:
    """Every recurrent layer that rnnlab knows from inside, first layers first. A network without one has none.
    ``double`` is as `in_double` gives it."""
    found: list[Reading] = []

    def keep(name: str, module: Recurrence) -> Any:
        def hook(_: nn.Module, given: Any) -> None:
            start = given[1] if len(given) > 1 else ()  # a minimal recurrence is given none
            label, backward = _label(name)
            found.append(Reading(label, backward, module, given[0].detach(), start, lengths))

        return hook

    hooks = [
        module.register_forward_pre_hook(keep(name, module))
        for name, module in double.encoder.named_modules()
        if isinstance(module, Cell | MinimalLayer)
    ]
    try:
        with torch.no_grad(), switched_off():  # native code runs past the single layers, which are watched here
            x = inputs.double() if double.embedding is None else double.embedding(inputs)
            double.encoder(x, lengths)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _label(name: str) -> tuple[str, bool]:
    """``"ahead.0"`` → ``("layer 1", False)``, ``"context.back.1"`` → ``("context layer 2 backward", True)``."""
    match = re.fullmatch(r"(?:(.+)\.)?(ahead|back)\.(\d+)", name)
    if match is None:
        return name, False
    prefix = f"{match[1]} " if match[1] else ""
    backward = match[2] == "back"
    return f"{prefix}layer {int(match[3]) + 1}{' backward' if backward else ''}", backward


def first_state(reading: Reading) -> State:
    """Where the layer begins: each part (B, H)."""
    assert isinstance(reading.cell, Cell)
    return reading.start or reading.cell.zeros(reading.x)


def kind_of(cell: Recurrence) -> str:
    return cell.settings.kind if isinstance(cell, Cell) else "minimal"
