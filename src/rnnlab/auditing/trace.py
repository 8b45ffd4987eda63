"""What goes into and comes out of every module inside another, in two passes that should agree on one sequence."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from rnnlab.auditing.calling import answer_of

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Call:
    """One call of one module."""

    name: str
    module: nn.Module
    inputs: Tensors  # by the names of the parameters
    outputs: Tensors  # by number
    packed: bool  # whether an input was a PackedSequence; it stands here unpacked, (B, T, D)

    def __str__(self) -> str:
        return f"{self.name} ({type(self.module).__name__})"


def trace(root: nn.Module, run: Callable[[], object]) -> tuple[dict[tuple[str, int], Call], Tensor]:
    """Calls by name and number, inner ones before those around them; and the answer."""
    calls: dict[tuple[str, int], Call] = {}
    counts: Counter[str] = Counter()
    begun: list[tuple[Tensors, bool]] = []

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        begun.append(_named_inputs(module, args, kwargs))

    def after(name: str) -> Callable[..., None]:
        def record(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            inputs, packed = begun.pop()
            calls[name, counts[name]] = Call(name, module, inputs, dict(_flatten("", output)), packed)
            counts[name] += 1

        return record

    hooks = []
    for name, module in root.named_modules():
        if name and not isinstance(module, torch.jit.ScriptModule):  # which takes no hooks
            hooks.append(module.register_forward_pre_hook(before, with_kwargs=True))
            hooks.append(module.register_forward_hook(after(name), with_kwargs=True))
    try:
        return calls, answer_of(run()).clone()
    finally:
        for hook in hooks:
            hook.remove()


def _named_inputs(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensors, bool]:
    try:
        given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        given = {str(number): value for number, value in enumerate(args)} | kwargs
    return dict(_flatten("", given)), any(isinstance(value, PackedSequence) for value in given.values())


def _flatten(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """Tensors with their names, as they are now: some modules write to them."""
    if isinstance(value, PackedSequence):
        yield name or "0", pad_packed_sequence(value, batch_first=True)[0]
    elif isinstance(value, Tensor):
        if not value.is_nested:
            yield name or "0", value.clone()
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flatten(f"{name}.{key}" if name else str(key), part)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _flatten(f"{name}.{number}" if name else str(number), part)


@dataclass(frozen=True)
class Sides:
    """A tensor of the plain pass and the part of the changed one's that is about the same sequence."""

    plain: Tensor
    changed: Tensor  # longer along one axis where there is more padding
    tolerance: float

    @property
    def steps(self) -> int | None:
        """The axis of the steps, known by being longer in one."""
        axes = [axis for axis, (n, m) in enumerate(zip(self.plain.shape, self.changed.shape, strict=True)) if n != m]
        return axes[0] if len(axes) == 1 else None

    @property
    def agree(self) -> bool:
        """At the real steps."""
        changed = self.changed
        for axis, size in enumerate(self.plain.shape):
            if changed.shape[axis] < size:
                return True  # can't be told
            changed = changed.narrow(axis, 0, size)
        if not self.plain.is_floating_point():
            return torch.equal(self.plain, changed)
        return equal(self.plain, changed, self.tolerance)


def equal(one: Tensor, other: Tensor, tolerance: float) -> bool:
    """To float accuracy, relative to the largest number."""
    if not one.numel():
        return True
    finite = one[one.isfinite()]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    return torch.allclose(one, other, rtol=0, atol=tolerance * max(largest, 1e-30), equal_nan=True)


@dataclass(frozen=True)
class Step:
    """A call in both passes."""

    call: Call  # as it was in the changed pass
    inputs: dict[str, Sides]
    outputs: dict[str, Sides]

    @property
    def differing_inputs(self) -> dict[str, Sides]:
        return {name: pair for name, pair in self.inputs.items() if not pair.agree}

    @property
    def output_differs(self) -> bool:
        """A final state (``h_n``) is no output at a real step; whoever uses it differs in the input."""
        recurrent = isinstance(self.call.module, nn.RNNBase) and not self.call.packed
        return any(not pair.agree for name, pair in self.outputs.items() if not (recurrent and name != "0"))


def pair_up(
    plain: Mapping[tuple[str, int], Call], changed: Mapping[tuple[str, int], Call], rows: tuple[int, int], row: int
) -> list[Step]:
    """``rows`` are the sizes of the batches, ``row`` is where the one sequence of a plain batch of one stands."""
    steps = []
    for key, call in changed.items():
        if key in plain:
            paired = [
                {name: side for name in one if name in two and (side := sides(one[name], two[name], rows, row))}
                for one, two in ((plain[key].inputs, call.inputs), (plain[key].outputs, call.outputs))
            ]
            steps.append(Step(call, *paired))
    return steps


def sides(plain: Tensor, changed: Tensor, rows: tuple[int, int], row: int) -> Sides | None:
    """None where the two can't be compared."""
    if plain.dim() != changed.dim() or plain.dtype != changed.dtype:
        return None
    if rows[0] == 1 < rows[1]:
        for axis, size in enumerate(plain.shape):
            if changed.shape[axis] == size * rows[1]:
                changed = changed.narrow(axis, row * size, size)
                break
    tolerance = 100 * torch.finfo(plain.dtype).eps if plain.is_floating_point() else 0.0
    return Sides(plain, changed, tolerance)
