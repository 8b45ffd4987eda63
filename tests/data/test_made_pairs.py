"""Pairs by known rules."""

import datetime

import pytest

from rnnlab.core.errors import DataError
from rnnlab.data.made_pairs import WAYS, date_as_people_write, made_pairs, ordinal


@pytest.mark.parametrize("kind", ["reverse", "sort", "dates"])
def test_no_text_is_read_twice_and_a_seed_decides(kind):
    made = made_pairs(kind, 500, 12, seed=3)
    assert len(made) == len(set(made.texts)) == 500
    assert made == made_pairs(kind, 500, 12, seed=3)
    assert made.texts != made_pairs(kind, 500, 12, seed=4).texts


def test_letters():
    made = made_pairs("reverse", 2000, 12)
    assert all(text[::-1] == written for text, written in zip(made.texts, made.written, strict=True))
    assert {len(text) for text in made.texts} == set(range(5, 13))
    ordered = made_pairs("sort", 200, 9)
    assert all("".join(sorted(text)) == written for text, written in zip(ordered.texts, ordered.written, strict=True))
    assert {len(text) for text in made_pairs("sort", 50, 3).texts} == {3}


def test_dates():
    day = datetime.date(1998, 5, 3)
    ways = [date_as_people_write(day, way) for way in range(len(WAYS))]
    for expected in ("3rd of May 1998", "May 3, 1998", "03.05.98", "Sunday, 3 May 1998", "1998年5月3日"):
        assert expected in ways
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st"]
    )
    made = made_pairs("dates", 3000)
    for text, written in zip(made.texts, made.written, strict=True):
        day = datetime.date.fromisoformat(written)
        assert text in [date_as_people_write(day, way) for way in range(len(WAYS))]


def test_years_of_two_digits_are_one_year():
    """Of all days, no text has two right answers."""
    found: dict[str, datetime.date] = {}
    for number in range(100 * 365):
        day = datetime.date(1950, 1, 1) + datetime.timedelta(days=number)
        for way in range(len(WAYS)):
            assert found.setdefault(date_as_people_write(day, way), day) == day


def test_too_few_texts_are_an_error():
    with pytest.raises(DataError, match=r"reverse: no more than 26 different texts"):
        made_pairs("reverse", 200, 1)
