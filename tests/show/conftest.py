"""Sweeps made by hand, whose every figure is known."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rnnlab.comparing.studies import Axis, AxisValue, Point, Repeat, Study, Target, first_step

TARGET = Target("exact", 1.0, 500)
Arrives = int | str | None  # the step at which a run is at the target, "diverged", "failed", "pruned", or never


def repeat(seed: int, arrives: Arrives, cap: int = 500, every: int = 50) -> Repeat:
    """A run evaluated every 50 steps. Its score climbs to 1 at the step at which it arrives, where it stops; to 0.5
    when it never does. A diverged one ends at step 120, after two evaluations; a failed one has none."""
    number = int.from_bytes(f"{seed}{arrives}".encode(), "big") % 16**8
    place: dict[str, Any] = {"seed": seed, "digest": f"{number:08x}", "path": f"runs/{number:08x}"}
    if arrives == "failed":
        return Repeat(**place, status="failed", curve=(), reached=None, result={}, reason="out of memory")
    last = arrives if isinstance(arrives, int) else {"diverged": 100, "pruned": 150}.get(str(arrives), cap)
    top = 1.0 if isinstance(arrives, int) else 0.5
    curve = tuple(
        {
            "epoch": number,
            "step": step,
            "train_loss": 2.3 * 0.1 ** (step / last),
            "valid_exact": top * step / last,
            "valid_loss": 2.4 * 0.1 ** (step / last),
            "seconds": 0.5,
        }
        for number, step in enumerate(range(every, last + 1, every), 1)
    )
    result: dict[str, Any] = {"status": "finished", "epochs": len(curve), "step_seconds": 0.01}
    if arrives == "pruned":
        return Repeat(**place, status="pruned", curve=curve, reached=None, result={})
    if arrives == "diverged":
        result |= {"status": "diverged", "divergence": {"step": 120, "reason": "the loss passed 10000"}}
        reason = "step 120: the loss passed 10000"
        return Repeat(**place, status="diverged", curve=curve, reached=None, result=result, reason=reason)
    result |= {"valid": {"exact": top, "loss": 0.2}, "test": {"exact": top - 0.01 * seed, "loss": 0.3}}
    return Repeat(**place, status="finished", curve=curve, reached=first_step(curve, TARGET), result=result)


def make(axes: dict[str, Sequence[AxisValue]], how: Callable[..., Sequence[Arrives] | None], **changes: Any) -> Study:
    """``how`` gets a value of every axis and gives a list with an entry a run, or None for a point that isn't there."""
    points = []
    for values in itertools.product(*axes.values()):
        arrives = how(*values)
        if arrives is not None:
            at = dict(zip(axes, values, strict=True))
            label = " · ".join(f"{name} {value}" for name, value in at.items())
            points.append(Point(at, label, tuple(repeat(seed, when) for seed, when in enumerate(arrives))))
    named = tuple(Axis(name, tuple(values)) for name, values in axes.items())
    settings: dict[str, Any] = {"name": "a study", "about": "What it is about.", "target": TARGET} | changes
    return Study(metric="exact", lower_is_better=False, axes=named, points=tuple(points), **settings)


def rate_and_length(lr: float, length: int) -> Sequence[Arrives] | None:
    """As in the document: fast in the middle, slow at the sides, and nothing at high rates."""
    if lr >= 0.1:
        return ["diverged"] * 5
    if lr == 0.05:
        return ["diverged", "diverged", 400, None, 450] if length > 25 else [None, None, 350, None, 500]
    if (lr, length) == (0.001, 5):
        return [None] * 5
    if (lr, length) == (0.002, 70):
        return ["failed"] * 5
    if (lr, length) == (0.002, 50):
        return None
    base = {0.001: 400, 0.002: 300, 0.005: 200, 0.01: 150}[lr] - length
    return [max(50, 50 * round((base + 25 * seed) / 50)) for seed in range(5)]


@pytest.fixture
def make_study() -> Callable[..., Study]:
    return make


@pytest.fixture
def grid() -> Study:
    """7 rates × 5 lengths, 5 runs each."""
    rates, lengths = (0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5), (5, 10, 25, 50, 70)
    axes = {"lr": rates, "length": lengths}
    return make(axes, rate_and_length, name="rate × length", heatmaps=(("length", "lr"),))
