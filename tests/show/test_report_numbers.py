import pytest

from rnnlab.core.numbers import TimeUnit, count, duration, interval_text, percent, plain


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (1.6e-8, "0.016 µs"),
        (2.44e-5, "24 µs"),
        (0.0025, "2.5 ms"),
        (0.0994, "0.099 s"),
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


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0.00"),
        (2.4e-5, "< 0.001"),
        (0.004, "0.004"),
        (0.42, "0.42"),
        (9.996, "10.0"),
        (12.34, "12.3"),
        (123.4, "123"),
        (12_345.6, "12,346"),
    ],
)
def test_plain_numbers_have_no_exponent(number, said):
    assert plain(number) == said


@pytest.mark.parametrize(
    ("times", "unit", "said"),
    [
        ([4.7e-5, 2.3e-5, 1.2e-6, 1.6e-8, None], "µs", ["47.0", "23.0", "1.20", "0.016"]),
        ([0.42, 0.07, 0.55], "s", ["0.42", "0.070", "0.55"]),
        ([0.004, 0.0035], "ms", ["4.00", "3.50"]),
        ([420.0, 6000.0], "min", ["7.00", "100"]),
        ([], "s", []),
        ([0.0], "s", ["0.00"]),
    ],
)
def test_times_of_a_column_share_a_unit(times, unit, said):
    found = TimeUnit.of(times)
    assert found.name.en == unit
    assert [found.text(time) for time in times if time is not None] == said


def test_zero_has_no_sign():
    """The end of an interval of errors that was cut at zero may be a negative one."""
    assert interval_text(-0.0, 0.04, "percent") == "0.0–4.0"
    assert interval_text(-0.00001, 0.2, "number") == "0.0000–0.2000"
    assert percent(-0.0001) == "0.0 %"
