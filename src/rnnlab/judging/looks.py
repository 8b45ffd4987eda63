"""Adding seeds until it is sure: who looks often finds something by luck, so each look may spend only a part of alpha.

Seeds are added in a few steps, each about half as many again. What a look may spend is the growth of Lan and DeMets'
spending function (of Pocock's kind) over the seeds it adds: all looks together spend alpha, whenever one stops. Only
arms that can still change the decision get more seeds.
"""

import math
from collections.abc import Sequence

from rnnlab.judging.findings import Verdict

GROWTH = 1.5


def schedule(first: int, most: int) -> list[int]:
    """How many seeds there are at each look: ``schedule(3, 20)`` is 3, 5, 8, 12, 18, 20."""
    found = [first]
    while found[-1] < most:
        found.append(min(most, math.ceil(GROWTH * found[-1])))
    return found


def part_of_alpha(looks: Sequence[int], number: int) -> float:
    """The share of alpha that a look may spend; those of all looks add up to 1."""
    before = _spent(looks[number - 1] / looks[-1]) if number else 0.0
    return _spent(looks[number] / looks[-1]) - before


def in_play(verdict: Verdict, left: int) -> list[str]:
    """The arms whose further seeds can change the decision: the recommended one, and those that may be better than it
    by more than the margin. Where nothing is recommended yet, all. None where it is firm, where the test part is too
    short to judge by, and where even by good luck it would take more seeds than are ``left``."""
    if verdict.too_short:
        return []
    models = [label for label in verdict.estimates if label not in verdict.baselines]
    if verdict.recommended is None:
        return models
    if verdict.advice is None or verdict.advice.low is None or verdict.advice.low > left:
        return []
    wanted = {verdict.recommended, verdict.advice.driver, *verdict.doubtful}
    return [label for label in models if label in wanted]


def not_behind(verdict: Verdict) -> list[str]:
    """The models that can still win: none is called better than they are. Where nothing can be called yet, all."""
    behind = {gap.worse for gap in verdict.differences if gap.call == "better"}
    return [label for label in verdict.estimates if label not in verdict.baselines and label not in behind]


def _spent(share: float) -> float:
    return math.log1p((math.e - 1) * share)
