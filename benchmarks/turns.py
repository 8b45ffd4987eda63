"""Two sides that take turns, because machines are noisy; a time limit for each part of a benchmark."""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """How much is measured. ``seconds`` is the share of a section in ``--quick``, which a noisy machine must not
    stretch: when it is over, a loop of turns ends after the turn that it is in."""

    quick: bool
    seconds: float

    def turns(self, quick: int, full: int, share: float = 1.0) -> Iterator[int]:
        """At least one turn, at most so many, fewer when the share of the section's time is over."""
        started = time.monotonic()
        for turn in range(quick if self.quick else full):
            if turn and time.monotonic() - started > share * self.seconds:
                say(f"    out of time after turn {turn}")
                return
            yield turn


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def seconds_of(job: Callable[[], object]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def best_of(job: Callable[[], object], passes: int) -> float:
    """Seconds of the fastest of some passes: the one that other processes disturbed least."""
    return min(seconds_of(job) for _ in range(passes))


def passes_for(job: Callable[[], object], seconds: float) -> int:
    """How often a job is to be done to take about so long; warms it up."""
    job()
    return max(1, round(seconds / seconds_of(job)))


def ratios(one: list[float], other: list[float]) -> tuple[float, ...]:
    """Of each turn, one side over the other."""
    return tuple(a / b for a, b in zip(one, other, strict=True))


def median_ms(seconds: list[float]) -> float:
    return 1000 * statistics.median(seconds)
