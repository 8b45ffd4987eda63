"""Where labels go, so that they stand beside their points and not on each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.cells import cell_len

LINE = 14  # pixels that a line of text is high
GLYPH = 6.2  # … and that a letter is wide, on average; a Chinese character takes two
GAP = 12  # from the middle of a point to its label
DOT = 9  # from the middle of a point to its edge, or to that of the ring around it
MISTAKEN = 200.0  # square pixels that a label may cover rather than seem to be that of another point
TOO_BAD = 190.0  # square pixels covered: rather no label
PASSES = 4  # over all labels, each time moving those that stand better elsewhere


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Square pixels that both cover."""
        return float(_in_the_way([self], [other])[0])


@dataclass(frozen=True)
class Place:
    """Of a label relative to its point: ``align`` says which part of the text stands at (dx, dy)."""

    dx: float
    dy: float
    align: str  # left, center or right
    shown: bool = True  # False where there is no room for it


PLACES = (
    Place(GAP, 0, "left"),
    Place(-GAP, 0, "right"),
    Place(GAP, -GAP, "left"),
    Place(GAP, GAP, "left"),
    Place(-GAP, -GAP, "right"),
    Place(-GAP, GAP, "right"),
    Place(0, -1.5 * GAP, "center"),
    Place(0, 1.5 * GAP, "center"),
    Place(GAP, -2 * GAP, "left"),
    Place(GAP, 2 * GAP, "left"),
    Place(-GAP, -2 * GAP, "right"),
    Place(-GAP, 2 * GAP, "right"),
    Place(GAP, -3 * GAP, "left"),
    Place(GAP, 3 * GAP, "left"),
    Place(-GAP, -3 * GAP, "right"),
    Place(-GAP, 3 * GAP, "right"),
)


def text_width(text: str, limit: float) -> float:
    return min(limit, GLYPH * cell_len(text))


def box_of(x: float, y: float, place: Place, wide: float) -> Box:
    """What a label of that width covers when its point is at (x, y)."""
    left = x + place.dx - {"left": 0.0, "center": wide / 2, "right": wide}[place.align]
    return Box(left, y + place.dy - LINE / 2, left + wide, y + place.dy + LINE / 2)


@dataclass(frozen=True)
class Labelled:
    """A point with its label, in pixels from the upper left of the plot."""

    x: float
    y: float
    top: float  # of the point's error bar
    bottom: float
    width: float  # of the label

    def candidates(self) -> list[Place]:
        """Beside the point, or where the error bar ends; what reads better goes first."""
        above, below = min(self.top - self.y, -DOT), max(self.bottom - self.y, DOT)  # a short bar ends within its dot
        ends = (above - LINE / 2 - 2, below + LINE / 2 + 2)
        return [*PLACES, *(Place(0, end, "center") for end in ends)]

    def box(self, place: Place) -> Box:
        return box_of(self.x, self.y, place, self.width)


def places(points: Sequence[Labelled], obstacles: Sequence[Box], size: tuple[float, float]) -> list[Place]:
    """A place for every label, the first ones choosing first, then all once more in turn. ``obstacles`` are what
    labels shouldn't cover, ``size`` is the plot's width and height. Where each place is bad, it isn't shown, but for
    the first one."""
    candidates = [point.candidates() for point in points]
    boxes = [[point.box(place) for place in places] for point, places in zip(points, candidates, strict=True)]
    alone = [
        _in_the_way(own, obstacles) + _outside(own, size) + _strange(own, number, points) + 4.0 * np.arange(len(own))
        for number, own in enumerate(boxes)
    ]
    chosen: dict[int, int] = {}
    costs: dict[int, float] = {}
    for _ in range(PASSES):
        for number, own in enumerate(boxes):
            others = [boxes[other][rank] for other, rank in chosen.items() if other != number]
            cost = alone[number] + 3 * _in_the_way(own, others)
            chosen[number] = int(np.argmin(cost))
            costs[number] = float(np.min(cost))
    return [
        replace(candidates[number][rank], shown=number == 0 or costs[number] < TOO_BAD)
        for number, rank in sorted(chosen.items())
    ]


def _strange(boxes: Sequence[Box], number: int, points: Sequence[Labelled]) -> np.ndarray:
    """(B,) how bad it is that another point is nearer to each than its own: it would seem to be that one's label."""
    left, top, right, bottom = _sides(boxes)[:, :, None]
    x, y = np.array([(point.x, point.y) for point in points], np.float64).T[:, None, :]
    away = np.hypot(np.maximum(0, np.maximum(left - x, x - right)), np.maximum(0, np.maximum(top - y, y - bottom)))
    others = np.delete(away, number, axis=1)
    return MISTAKEN * (others.min(1) < away[:, number]) if others.size else np.zeros(len(boxes))


def _in_the_way(boxes: Sequence[Box], others: Sequence[Box]) -> np.ndarray:
    """(B,) square pixels of each box that the others cover."""
    left, top, right, bottom = _sides(boxes)[:, :, None]
    other_left, other_top, other_right, other_bottom = _sides(others)[:, None, :]
    wide = np.minimum(right, other_right) - np.maximum(left, other_left)
    high = np.minimum(bottom, other_bottom) - np.maximum(top, other_top)
    return (wide.clip(0) * high.clip(0)).sum(1)


def _outside(boxes: Sequence[Box], size: tuple[float, float]) -> np.ndarray:
    """(B,) by how much each leaves the plot, which is as bad as covering something."""
    left, top, right, bottom = _sides(boxes)
    width, height = size
    return 60 * ((-left).clip(0) + (-top).clip(0) + (right - width).clip(0) + (bottom - height).clip(0))


def _sides(boxes: Sequence[Box]) -> np.ndarray:
    """(4, B)"""
    return np.array([(box.left, box.top, box.right, box.bottom) for box in boxes], np.float64).reshape(-1, 4).T
