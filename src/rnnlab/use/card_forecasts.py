"""What the card of a forecaster says: its facts, what it is for, and its limits. Each sentence is computed from a fact,
and stands only where the fact is so."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rnnlab.answers.forecast import Forecast
from rnnlab.core.numbers import percent_text
from rnnlab.core.words import Both, both, listed, plural, retold
from rnnlab.data.observed import Observed

FEW_BLOCKS = 30  # of test windows, below which every figure is rough
OFF_COVERAGE = 0.05  # how far the share of values between the quantiles may be from what they say
NAMED = 8  # channels that a sentence names


def facts_of_forecaster(
    observed: Observed, answer: Forecast, channels: Sequence[str], groups: np.ndarray
) -> dict[str, Any]:
    """``groups`` (N,): the block of each test window."""
    spacing = observed.spacing
    return {
        "horizon": observed.horizon,
        "lookback": observed.lookback,
        "season": observed.season,
        "channels": list(channels),
        "series": len(observed.series),
        "spacing": None if spacing is None else spacing.told.en,
        "reads_dates": observed.calendar and spacing is not None,
        "quantiles": list(answer.quantiles),
        "blocks": len(np.unique(groups)),
    }


def use_of_forecaster(data: Mapping[str, Any], windows: Both) -> Both:
    """``windows``: how many there are of each part."""
    facts = data["forecast"]
    return both(
        "Forecasts the next {horizon} of series like those of '{name}', from their last {lookback}: {channels}. "
        "Windows of that data: {windows}.",
        horizon=_steps(facts["horizon"]),
        name=data["name"],
        lookback=_steps(facts["lookback"]),
        channels=_named(facts["channels"]),
        windows=windows,
    )


def limits_of_forecaster(data: Mapping[str, Any], test: Mapping[str, float]) -> Iterator[Both]:
    """``test``: the scores of the test part."""
    facts = data["forecast"]
    horizon, lookback, blocks = (facts[name] for name in ("horizon", "lookback", "blocks"))
    yield both(
        "Series unlike those of '{name}' were not tested, nor was a time in which things have changed.",
        name=data["name"],
    )
    yield both(
        "It reads the last {lookback} and nothing before them; beyond {horizon} ahead it says nothing.",
        lookback=_steps(lookback),
        horizon=_steps(horizon),
    )
    if facts["spacing"] is not None:
        yield both("Steps must be {spacing} apart, as in the training.", spacing=retold(facts["spacing"]))
    if data["rows"]["test"] > blocks:
        yield both(
            "Test windows overlap: the {windows} are {blocks} of {horizon}, and the interval goes by these.",
            windows=plural("{count:,} window", "{count:,} windows", data["rows"]["test"]),
            blocks=plural("{count:,} block", "{count:,} blocks", blocks),
            horizon=_steps(horizon),
        )
    if blocks < FEW_BLOCKS:
        yield both("Tested on {blocks} only: the figures are rough.",
                   blocks=plural("{count:,} block", "{count:,} blocks", blocks))  # fmt: skip
    if test["mase"] >= 1:
        yield both(
            "On the test part its mean error is no smaller than that of the seasonal naive forecast before it (MASE "
            "{mase:.3f}).",
            mase=test["mase"],
        )
    if facts["quantiles"] and "coverage" in test:
        nominal = facts["quantiles"][-1] - facts["quantiles"][0]
        shares = {"found": percent_text(test["coverage"]), "nominal": percent_text(nominal)}
        if test["coverage"] < nominal - OFF_COVERAGE:
            yield both("Its quantiles are too narrow: {found} of the test values lie between the outermost ones, "
                       "where {nominal} should.", **shares)  # fmt: skip
        elif test["coverage"] > nominal + OFF_COVERAGE:
            yield both("Its quantiles are too wide: {found} of the test values lie between the outermost ones, "
                       "where {nominal} should.", **shares)  # fmt: skip


def told_facts(facts: Mapping[str, Any]) -> Iterator[tuple[Both, Any]]:
    """For the table of a card."""
    yield both("channels"), ", ".join(facts["channels"])
    yield both("series"), f"{facts['series']:,}"
    yield both("reads"), _steps(facts["lookback"])
    yield both("forecasts"), _steps(facts["horizon"])
    if facts["spacing"] is not None:
        yield both("one step"), retold(facts["spacing"])
    if facts["quantiles"]:
        yield both("quantiles"), ", ".join(f"{quantile:g}" for quantile in facts["quantiles"])
    yield both("test blocks"), f"{facts['blocks']:,}"


def _steps(count: int) -> Both:
    return plural("{count:,} step", "{count:,} steps", count)


def _named(channels: Sequence[str]) -> Both:
    names = [both("'{label}'", label=name) for name in channels]
    if len(names) <= NAMED:
        return listed(names, "comma")
    return both("{names} and {more:,} more", names=listed(names[:NAMED], "comma"), more=len(names) - NAMED)
