"""How somebody's module is called: what its ``forward`` takes besides the sequences, and which of what it returns is
the answer."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn

from rnnlab.core.errors import ConfigError, did_you_mean
from rnnlab.core.words import Both, both, listed

EXTRAS = ("lengths", "mask", "padding-mask")
"""What a module may be told: (B,) lengths; a (B, T) mask, True at real steps; one that is True at padding."""
_SQUARE_MASKS = ("attn_mask", "src_mask", "tgt_mask")  # torch's names for (T, T) masks
_STATES = ("hidden", "hx", "h0", "h_0", "state", "states", "init_hidden")


@dataclass(frozen=True)
class Extra:
    """One thing that ``forward`` is given besides the sequences."""

    kind: str  # one of EXTRAS
    name: str | None  # of the parameter; None: the second positional one
    as_integers: bool = False

    def value(self, lengths: Sequence[int], steps: int, device: torch.device) -> Tensor:
        counts = torch.tensor(lengths)  # stays on the CPU, as pack_padded_sequence wants it
        if self.kind == "lengths":
            return counts
        real = torch.arange(steps) < counts[:, None]
        mask = ~real if self.kind == "padding-mask" else real
        return (mask.long() if self.as_integers else mask).to(device)


def extras_of(module: nn.Module, call: str | None) -> tuple[Extra, ...]:
    """What ``forward`` wants, by the names of its parameters, or as ``call`` says (``"ids,lengths"``)."""
    parameters = _parameters(module)
    if call is not None:
        return tuple(_asked_for(kind, parameters) for kind in _parse_call(call))
    named = [extra for parameter in parameters if (extra := _by_name(parameter)) is not None]
    known = {extra.name for extra in named}
    needed = [p.name for p in parameters if p.default is p.empty and p.name not in known]
    if not needed:
        return tuple(named)
    if len(needed) == 1 and not named and needed[0] == parameters[0].name and needed[0] not in _STATES:
        return (Extra("lengths", needed[0]),)  # a second argument of whatever name
    raise ConfigError(
        "{kind}.forward also needs {names}, which an audit can't make; give a module whose "
        "forward takes the sequences and, if it wants, lengths or a mask",
        kind=type(module).__name__,
        names=", ".join(needed),
    )


def _parameters(module: nn.Module) -> list[inspect.Parameter]:
    """Of ``forward``, after the sequences."""
    try:
        listed = list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):  # compiled
        return []
    return [p for p in listed if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)][1:]


def _by_name(parameter: inspect.Parameter) -> Extra | None:
    name = parameter.name.lower()
    if name in _SQUARE_MASKS and parameter.default is not parameter.empty:
        return None
    if "mask" in name:
        return Extra("padding-mask" if "pad" in name else "mask", parameter.name, name == "attention_mask")
    if name.startswith("len") or "_len" in name or "length" in name:
        return Extra("lengths", parameter.name)
    return None


def _parse_call(call: str) -> list[str]:
    first, *rest = [word.strip() for word in call.split(",")]
    if first not in ("ids", "features"):
        raise ConfigError(
            "call: {call!r} must begin with ids (or features), then {names}", call=call, names=" or ".join(EXTRAS)
        )
    for word in rest:
        if word not in EXTRAS:
            raise ConfigError(
                "call: {word!r} in {call!r}: one of {names}{hint}",
                word=word,
                call=call,
                names=", ".join(EXTRAS),
                hint=did_you_mean(word, EXTRAS),
            )
    return rest


def _asked_for(kind: str, parameters: list[inspect.Parameter]) -> Extra:
    """To the parameter that is named so, or else to the second one."""
    for parameter in parameters:
        extra = _by_name(parameter)
        if extra is not None and (extra.kind == "lengths") == (kind == "lengths"):
            return Extra(kind, parameter.name, extra.as_integers)
    return Extra(kind, None)


def describe_call(first: str, extras: Sequence[Extra]) -> str:
    """``forward(ids, lengths=lengths)``."""
    words = [first, *(f"{extra.name}={extra.kind}" if extra.name else extra.kind for extra in extras)]
    return f"forward({', '.join(words)})"


def answer_of(output: Any) -> Tensor:
    """The tensor that is the answer: ``logits`` where there is one, else the first of floating point."""
    found = [tensor for tensor in _tensors(output) if tensor.is_floating_point()]
    if not found:
        raise ConfigError(
            "forward returns {what}; an audit needs a tensor of floating point, for example the logits",
            what=_what(output),
        )
    return found[0]


def _tensors(output: Any) -> list[Tensor]:
    if isinstance(output, Tensor):
        return [output]
    if is_dataclass(output) and not isinstance(output, type) and not isinstance(output, Mapping):
        output = {field.name: getattr(output, field.name) for field in fields(output)}
    if isinstance(output, Mapping):
        output = [output["logits"]] if isinstance(output.get("logits"), Tensor) else list(output.values())
    if isinstance(output, list | tuple):
        if isinstance(getattr(output, "logits", None), Tensor):  # a named tuple
            return [output.logits]  # type: ignore[union-attr]  # looked for in the line above
        return [tensor for part in output for tensor in _tensors(part)]
    return []


def _what(output: Any) -> Both:
    if isinstance(output, Tensor):
        return both("a tensor of {dtype}", dtype=str(output.dtype).removeprefix("torch."))
    return both("a {kind} without one", kind=type(output).__name__)


@dataclass(frozen=True)
class Layout:
    """Which axes of the answer are the batch and, for an answer a step, the steps."""

    axes: int
    batch: int
    steps: int | None

    def rows(self, answer: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        """The answers of each sequence at its real steps: (length, W), or (1, W) for one answer a sequence."""
        if answer.dim() != self.axes and len(lengths) == 1:  # squeezed
            return [answer.reshape(lengths[0] if self.steps is not None else 1, -1)]
        if self.steps is None:
            return [answer.select(self.batch, row).reshape(1, -1) for row in range(len(lengths))]
        ahead = answer.movedim((self.batch, self.steps), (0, 1))
        return [ahead[row, :length].reshape(length, -1) for row, length in enumerate(lengths)]


def layout_of(shapes: Sequence[Sequence[int]], sizes: Sequence[tuple[int, int]]) -> Layout:
    """From the shapes of answers to batches of sizes (B, T)."""
    axes = len(shapes[0])
    batches, steps = [size[0] for size in sizes], [size[1] for size in sizes]
    follows = [[shape[axis] for shape in shapes] for axis in range(axes)]
    if batches not in follows:
        shown = listed(
            [
                both("{shape} for {rows} sequences of {steps} steps", shape=tuple(shape), rows=b, steps=t)
                for shape, (b, t) in zip(shapes, sizes, strict=True)
            ]
        )
        hint = both(
            "; it follows the steps instead: is batch_first=True missing? A module that takes (T, B) is audited with "
            "time_first (--time-first)"
        )
        raise ConfigError(
            "no axis of the answer is the batch: its shape is {shown}{hint}",
            shown=shown,
            hint=hint if steps in follows else "",
        )
    batch = follows.index(batches)
    return Layout(axes, batch, next((a for a in range(axes) if a != batch and follows[a] == steps), None))
