"""Labels stand beside their points and not on each other."""

import itertools

import pytest

from rnnlab.show.figures.labels import PLACES, Box, Labelled, box_of, places

SIZE = (640.0, 340.0)


def point(x: float, y: float, width: float = 60, bar: float = 20) -> Labelled:
    return Labelled(x, y, y - bar, y + bar, width)


def boxes(points: list[Labelled]) -> list[Box]:
    return [one.box(place) for one, place in zip(points, places(points, [], SIZE), strict=True)]


def test_overlap():
    assert Box(0, 0, 10, 10).overlap(Box(5, 8, 20, 20)) == 10
    assert Box(0, 0, 10, 10).overlap(Box(10, 0, 20, 10)) == 0


def test_a_label_alone_stands_to_the_right():
    assert places([point(100, 100)], [], SIZE) == [PLACES[0]]


def test_at_the_edge_it_goes_to_the_left():
    (place,) = places([point(630, 100)], [], SIZE)
    assert place.align == "right"


@pytest.mark.parametrize("gap", [0, 4, 15])
def test_close_points_share_no_place(gap):
    found = boxes([point(300 + gap * n, 150 + gap * n) for n in range(5)])
    assert all(one.overlap(other) == 0 for one, other in itertools.combinations(found, 2))


def test_obstacles_are_avoided():
    one = point(300, 150)
    wall = box_of(300, 150, PLACES[0], 60)
    (place,) = places([one], [wall], SIZE)
    assert one.box(place).overlap(wall) == 0


def test_a_long_label_between_bars_goes_above_its_own():
    bars = [Box(x - 5, 100, x + 5, 200) for x in (270, 300, 330)]
    one = Labelled(300, 150, 100, 200, 110)
    (place,) = places([one], bars, SIZE)
    assert one.box(place).bottom <= 100


def test_a_label_never_lies_under_its_own_dot():
    """A short bar ends within the dot: what stands where the bar ends must not."""
    one = Labelled(300, 150, 149, 151, 70)
    dot = Box(293, 143, 307, 157)
    for place in one.candidates():
        assert one.box(place).overlap(dot) == 0, place


def test_none():
    assert places([], [], SIZE) == []
