"""Scores as people read them."""

import pytest

from rnnlab.core.numbers import interval_text, score_text


@pytest.mark.parametrize(
    ("unit", "score", "interval"),
    [("percent", "23.4 %", "20.1–25.0"), ("points", "23.4", "20.1–25.0"), ("number", "0.2340", "0.2010–0.2500")],
)
def test_a_score_is_said_in_its_unit(unit: str, score: str, interval: str):
    assert score_text(0.234, unit) == score
    assert interval_text(0.201, 0.25, unit) == interval
