"""Which models an axis of scores is made for: one that is far behind all others doesn't press them flat."""

import math
from collections.abc import Mapping

INSIDE = 0.75  # of the models are never left out
FAR = 1.6  # times the distance from the best to the one before: whoever is further behind is left out


def far_behind(scores: Mapping[str, float], least: float, lower_is_better: bool = False) -> frozenset[str]:
    """The labels that an axis leaves outside, where they are said with an arrow and their score: at most a quarter, and
    with three or fewer none. ``least`` is a distance that is never called far."""
    order = sorted(scores, key=lambda label: scores[label] if lower_is_better else -scores[label])
    behind = [abs(scores[label] - scores[order[0]]) for label in order]
    for rank in range(max(1, math.ceil(INSIDE * len(order))), len(order)):
        if behind[rank] > FAR * max(behind[rank - 1], least):
            return frozenset(order[rank:])
    return frozenset()
