"""What charts, page and terminal say of a sweep."""

from collections.abc import Sequence

from rnnlab.comparing.studies import Axis, AxisValue, Point, Study
from rnnlab.core.numbers import percent
from rnnlab.core.terms import POINTS, metric_text, setting_name
from rnnlab.core.words import COMMAS, Both, both, joined, same

SHARES = ("accuracy", "balanced_accuracy", "entity_f1", "exact", "macro_f1", "micro_f1", "unknown_words")
"""Metrics from 0 to 1, said in per cent."""

QUANTITIES = {
    "valid": both("validation {metric}"),
    "train": both("training {metric}"),
    "test": both("test {metric}"),
}


def quantity_name(quantity: str) -> Both:
    """``valid_exact`` → ``validation exact match``."""
    split, _, metric = quantity.partition("_")
    if split not in QUANTITIES or not metric:
        return same(quantity)
    return QUANTITIES[split].format(metric=metric_text(metric))


def is_share(quantity: str) -> bool:
    return quantity.split("_", 1)[-1] in SHARES or quantity in SHARES


def score_text(metric: str, value: float) -> str:
    if metric in POINTS:
        return f"{100 * value:.1f}"
    return percent(value) if is_share(metric) else f"{value:.4g}"


def step_text(step: float) -> str:
    """``1,250``, ``87.5``"""
    return f"{step:,.0f}" if step == int(step) else f"{step:,.1f}"


def value_text(value: AxisValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def point_text(study: Study, point: Point) -> Both:
    """``learning rate 0.01 · sequence length 5``; of axes that somebody named, the values alone, as in its label."""
    if not any("." in axis.name for axis in study.axes):
        return same(point.label)
    words = []
    for axis in study.axes:
        if axis.name in point.at:
            name, value = setting_name(axis.name), value_text(point.at[axis.name])
            words.append(both("{name} {value}", name=name, value=value) if "." in axis.name else value)
    return joined(words, " · ")


def compared_text(study: Study) -> Both:
    """By what points are compared."""
    return both("first update at the target") if study.target else quantity_name(f"valid_{study.metric}")


def pooled_text(axes: Sequence[Axis]) -> list[Both]:
    """Over which axes runs are taken together; nothing where none has two values."""
    names = [setting_name(axis.name) for axis in axes if len(axis.values) > 1]
    return [both("Pooled over {axes}", axes=joined(names, COMMAS))] if names else []


def aim_text(study: Study) -> Both:
    """The target, or by what points are compared without one."""
    target = study.target
    if target is None:
        return both("No target: points are compared by {metric}", metric=quantity_name(f"valid_{study.metric}"))
    return both(
        "Target: {metric} {sign} {value} within {cap} updates",
        metric=quantity_name(f"valid_{target.metric}"),
        sign="≤" if target.lower_is_better else "≥",
        value=f"{100 * target.value:g} %" if is_share(target.metric) else f"{target.value:g}",
        cap=step_text(target.cap),
    )
