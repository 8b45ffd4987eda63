"""What is seen of tokens: prefixes, suffixes, shapes, and where characters stand in words."""

import numpy as np
import pytest

from rnnlab.data.marks import OF_WORDS, Marks, shape

OFFSETS = np.array([0, 3, 5])
WORDS = ["Running", "runners", "RUN", "running", "2nd"]


@pytest.mark.parametrize(
    ("word", "seen"), [("McDonald's", "XxXxx'x"), ("USA", "XX"), ("1,000", "9,99"), ("如何", "xx"), ("", "")]
)
def test_shapes(word: str, seen: str):
    assert shape(word) == seen


def test_what_training_holds_twice_has_a_number():
    marks = Marks.build(OF_WORDS, WORDS, OFFSETS)
    assert "prefix run" in marks.known
    assert "suffix ing" in marks.known
    assert "ending nd" not in marks.known
    found = marks.numbers(["Rung", "xyz"], np.array([0, 2]))
    assert found.shape == (2, 4)
    assert marks.known[found[0, 0]] == "prefix run"
    assert found[1].tolist()[:3] == [-1, -1, -1]
    assert (marks.ids(["xyz"], np.array([0, 1]), 7)[0, :3] == 0).all()
    assert Marks.from_dict(marks.to_dict()) == marks


def test_characters_know_their_place_in_a_word():
    row = list("小明在北京大学读书")
    marks = Marks.build(["segments"], row * 2, np.array([0, 9, 18]))
    found = [marks.known[number] for number in marks.numbers(row, np.array([0, 9]))[:, 0]]
    assert found[3:7] == ["segments B-nt", "segments M-nt", "segments M-nt", "segments E-nt"]
    alone = marks.numbers(["北", "京"], np.array([0, 2]))[:, 0]
    assert alone[1] != marks.numbers(row, np.array([0, 9]))[4, 0]


def test_damaged_marks_are_refused():
    good = Marks.build(OF_WORDS, WORDS, OFFSETS).to_dict()
    for change in ({"kinds": ["colour"]}, {"kinds": []}, {"known": ["a", "a"]}):
        with pytest.raises(ValueError, match="marks are of the kinds"):
            Marks.from_dict(good | change)
