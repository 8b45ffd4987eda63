"""The card of a forecaster: what it reads and forecasts, blocks instead of rows, whether its quantiles are right."""

from typing import Any

import pytest

from rnnlab.core.words import both, speaking
from rnnlab.use.card_forecasts import limits_of_forecaster, use_of_forecaster

FACTS: dict[str, Any] = {
    "horizon": 24, "lookback": 168, "season": 24, "channels": ["load"], "series": 1, "spacing": "1 hour",
    "reads_dates": True, "quantiles": [0.1, 0.5, 0.9], "blocks": 40,
}  # fmt: skip
GOOD = {"mase": 0.8, "coverage": 0.81}


def limits(test: dict[str, float] = GOOD, windows: int = 900, **changes: Any) -> str:
    data = {"name": "load.csv", "rows": {"test": windows}, "forecast": FACTS | changes}
    return "\n".join(map(str, limits_of_forecaster(data, test)))


def test_what_is_always_so_is_always_said():
    told = limits()
    assert "reads the last 168 steps and nothing before them; beyond 24 steps ahead" in told
    assert "Steps must be 1 hour apart" in told
    assert "the 900 windows are 40 blocks of 24 steps" in told
    assert "row" not in told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"blocks": 12}, "Tested on 12 blocks only: the figures are rough."),
        ({"test": GOOD | {"mase": 1.07}}, "no smaller than that of the seasonal naive forecast before it (MASE 1.070)"),
        ({"test": GOOD | {"coverage": 0.6}}, "too narrow: 60.0 % of the test values lie"),
        ({"test": GOOD | {"coverage": 0.97}}, "too wide: 97.0 % of the test values lie"),
    ],
)
def test_what_is_wrong_is_said_where_it_is_so(changes: dict[str, Any], told: str):
    assert told in limits(**changes).replace("\N{NO-BREAK SPACE}", " ")
    assert told not in limits().replace("\N{NO-BREAK SPACE}", " ")


def test_what_is_not_so_is_left_out():
    assert "overlap" not in limits(windows=40)
    assert "apart" not in limits(spacing=None)
    assert "quantiles" not in limits(quantiles=[], test={"mase": 0.8})


def test_in_chinese_a_spacing_is_chinese_too():
    with speaking("zh"):
        assert "1 小时" in limits()
        assert "24 步" in str(use_of_forecaster({"name": "x", "forecast": FACTS}, both("1 hour", _context="note")))
