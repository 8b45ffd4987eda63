"""A module under audit and the sequences that it is given: run it on some of them, with so much padding."""

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from rnnlab.auditing.calling import Extra, Layout, answer_of, layout_of
from rnnlab.core.errors import ConfigError
from rnnlab.core.words import both

VARIANTS = 4  # sequences of each length


class CannotRun(Exception):
    """The module raised; the message is one line."""


@dataclass(frozen=True)
class Run:
    """One pass: sequences by number, padded to ``steps``; looked at is the answer in ``row``."""

    sequences: tuple[int, ...]
    steps: int
    row: int = 0
    garbage: float = 0.0  # size of the numbers in the padding; 0: the padding id, or zeros


@dataclass
class Subject:
    """Answers are kept, as several laws ask for the same pass."""

    module: nn.Module
    sequences: list[Tensor]  # (length,) ids or (length, D) features
    extras: tuple[Extra, ...]
    padding_id: int
    time_first: bool
    layout: Layout = field(init=False)
    squeezed: bool = False  # a batch of one lost its batch axis
    _kept: dict[tuple[tuple[int, ...], int, float], list[Tensor]] = field(default_factory=dict)

    def length(self, sequence: int) -> int:
        return len(self.sequences[sequence])

    def answer(self, run: Run) -> Tensor:
        """(length, W) or (1, W)."""
        key = (run.sequences, run.steps, run.garbage)
        if key not in self._kept:
            lengths = [self.length(sequence) for sequence in run.sequences]
            output = answer_of(self.call(run))
            self.squeezed |= output.dim() != self.layout.axes
            self._kept[key] = self.layout.rows(output, lengths)
        return self._kept[key][run.row]

    def call(self, run: Run) -> object:
        """Whatever ``forward`` returns, without gradients; what goes wrong in it is `CannotRun`, what it warns of is
        its own affair."""
        positional, named = self._arguments(run)
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.module(*positional, **named)
        except Exception as error:
            raise CannotRun(one_line(error)) from error

    def find_layout(self, groups: dict[int, int], steps: int | None) -> None:
        """``groups`` says which sequence is the first of a length, ``steps`` to how many all are padded, if they are:
        three sequences of the largest length and two of the next are tried."""
        *_, other, long = (max(groups), *sorted(groups))
        runs = [
            Run(tuple(range(groups[length], groups[length] + rows)), steps or length)
            for length, rows in ((long, 3), (other, 2))
        ]
        shapes = [answer_of(self.call(run)).shape for run in runs]
        self.layout = layout_of(shapes, [(len(run.sequences), run.steps) for run in runs])

    def _arguments(self, run: Run) -> tuple[list[Tensor], dict[str, Tensor]]:
        chosen = [self.sequences[sequence] for sequence in run.sequences]
        shape = (len(chosen), run.steps, *chosen[0].shape[1:])
        if run.garbage:
            inputs = run.garbage * torch.randn(shape, dtype=chosen[0].dtype)
        else:
            inputs = torch.full(shape, 0 if chosen[0].is_floating_point() else self.padding_id, dtype=chosen[0].dtype)
        for row, sequence in enumerate(chosen):
            inputs[row, : len(sequence)] = sequence
        device = device_of(self.module)
        inputs = (inputs.transpose(0, 1).contiguous() if self.time_first else inputs).to(device)
        values = [extra.value([len(s) for s in chosen], run.steps, device) for extra in self.extras]
        named = {extra.name: value for extra, value in zip(self.extras, values, strict=True) if extra.name}
        return [inputs, *(v for extra, v in zip(self.extras, values, strict=True) if not extra.name)], named


def not_runnable(module: nn.Module, steps: int, called: str, problem: str) -> ConfigError:
    ids, numbers = both("ids rather than numbers, leave out --features"), both("numbers, say --features D")
    return ConfigError(
        "{name} can't be run on one sequence of {steps} steps, called as {called}: {problem}\n"
        "If it takes {other}; if it needs one fixed length, --pad-to N; if (T, B), --time-first; "
        "if forward must be given something else, --call",
        name=type(module).__name__,
        steps=steps,
        called=called,
        problem=problem,
        other=ids if "features" in called else numbers,
    )


def one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def device_of(module: nn.Module) -> torch.device:
    return next((p.device for p in module.parameters()), torch.device("cpu"))


@contextmanager
def left_alone(module: nn.Module) -> Iterator[tuple[nn.Module, bool]]:
    """A copy in evaluation mode, and True; or, if it can't be copied, the module itself, put back afterwards."""
    try:
        copied = copy.deepcopy(module)
    except Exception:  # what a forward pass left behind in an attribute, for example
        flags = {name: part.training for name, part in module.named_modules()}
        buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
        try:
            yield module.eval(), False
        finally:
            for name, part in module.named_modules():
                part.training = flags[name]
            for name, buffer in module.named_buffers():
                buffer.copy_(buffers[name])
    else:
        yield copied.eval(), True
