"""Repeats of small runs as one: ``--on stacked``.

Runs that differ in nothing but the seed, and can be trained side by side, are (`training.stacked`), in this process and
on all cores; all others are left to another executor. No torch here until there is something to stack.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlab.execute.executors import EventSink, Executor, failure, interrupt_flag
from rnnlab.runs.directory import Outcome

if TYPE_CHECKING:
    from rnnlab.training.spec import RunSpec


@dataclass(frozen=True)
class Stacked:
    """Stacks first, one after the other; then what is left, by ``others``. Results equal those of `Serial` to rounding
    and say that they were stacked; those of the others are the same to the bit."""

    others: Executor
    threads: int

    def map(self, specs: "Iterable[RunSpec]", folder: Path, sink: EventSink) -> Iterator[tuple[int, Outcome]]:
        if not isinstance(specs, Sequence):  # they may be chosen by the outcomes of others: none is pulled ahead
            yield from self.others.map(specs, folder, sink)
            return
        stacks = stacks_of(specs)
        with interrupt_flag() as interrupted:
            for numbers in stacks:
                yield from self._do(numbers, [specs[number] for number in numbers], folder, sink, interrupted)
                if interrupted():
                    raise KeyboardInterrupt
        stacked = {number for numbers in stacks for number in numbers}
        left = [number for number in range(len(specs)) if number not in stacked]
        rest = self.others.map([specs[number] for number in left], folder, lambda n, event: sink(left[n], event))
        for position, outcome in rest:
            yield left[position], outcome

    def _do(
        self, numbers: list[int], specs: "list[RunSpec]", folder: Path, sink: EventSink, interrupted: Callable[[], bool]
    ) -> Iterator[tuple[int, Outcome]]:
        from rnnlab.training.stacked import execute_stacked

        def report(position: int, event: dict[str, Any]) -> bool | None:
            return sink(numbers[position], event)

        for position in range(len(specs)):
            report(position, {"event": "started"})
        try:
            outcomes = execute_stacked(specs, folder, report, interrupted, self.threads)
        except Exception as error:  # ends this stack, not the others
            outcomes = [failure(error)] * len(specs)
        yield from zip(numbers, outcomes, strict=True)


def stacks_of(specs: "Sequence[RunSpec]") -> list[list[int]]:
    """The numbers of the runs that belong together, two or more each."""
    groups: dict[str, list[int]] = {}
    for number, spec in enumerate(specs):
        key = _key(spec)
        if key is not None:
            groups.setdefault(key, []).append(number)
    return [
        numbers
        for numbers in groups.values()
        if len(numbers) > 1 and len({specs[n].seed for n in numbers}) == len(numbers)
    ]


def _key(spec: "RunSpec") -> str | None:
    """Equal for runs that differ in nothing but the seed; None for one that can't be stacked, or written down."""
    from rnnlab.training.stacked import can_stack, family

    try:
        return None if can_stack(spec) else family(spec)
    except Exception:  # whatever is wrong with it is told by the executor that gets it
        return None
