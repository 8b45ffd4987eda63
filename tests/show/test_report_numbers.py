import pytest

from rnnlab.core.numbers import count, duration, percent


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.0025, "0.0025 s"),
        (0.8, "0.8 s"),
        (0.996, "1.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3599.6, "1 h 0 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_duration(seconds, said):
    assert duration(seconds).en == said


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"),
        (23_045, "23,045"),
        (99_999.4, "99,999"),
        (99_999.6, "100 K"),
        (824_300, "824 K"),
        (999_499, "999 K"),
        (999_500, "1.0 M"),
        (1_249_000, "1.2 M"),
    ],
)
def test_count(number, said):
    assert count(number) == said


def test_percent():
    assert percent(0.8666) == "86.7 %"
    assert percent(1, places=0) == "100 %"
