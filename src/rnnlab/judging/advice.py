"""How many more seeds would settle a recommendation: a range, since luck decides that too.

For another arm that may still be better than the recommended one, what is known of the difference is drawn again and
again (how large it is, how much runs vary), more seeds are added to each draw, and it is counted when the question is
settled: the other is told apart as better, or it is seen to be no more than the margin better.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from rnnlab.core.seeding import generator
from rnnlab.judging.decision import DOUBT, unseen_failures
from rnnlab.judging.findings import Advice
from rnnlab.judging.spread import Spread, upper_quantile

WORTH_ASKING = 0.1  # the chance of being better by more than the margin, from which on an arm is asked about
RANGE = (0.2, 0.8)
MOST_SEEDS = 100  # more than that is no advice
DRAWS = 500
POWER_Z = float(special.ndtri(0.8))


@dataclass(frozen=True)
class Question:
    """Whether another arm is better than the recommended one by more than ``margin``. It is settled when it is told
    apart as better, at ``alpha``, or when the chance of it is small: at most ``doubt`` by what was measured, and at
    most `DOUBT` counting failures that no run has shown. (A look spends a part of alpha and of doubt, since repeated
    looks may find something by luck; what no run has shown isn't found by looking.)"""

    rival: str
    spread: Spread  # the rival minus the recommended arm
    runs: float  # of the recommended arm, without a failed one; infinite where it can't fail
    height: float  # what a failed run of the recommended arm loses
    margin: float
    alpha: float
    doubt: float

    @property
    def measured(self) -> float:
        """The chance of the rival being better by more than the margin, by what was measured."""
        return self.spread.above(self.margin)

    @property
    def chance(self) -> float:
        """The same, counting that seeds of the recommended arm may fail that were not among its runs."""
        return min(1.0, self.measured + self._unseen(self.runs))

    @property
    def open(self) -> bool:
        return self.doubtful or self.chance > DOUBT

    @property
    def doubtful(self) -> bool:
        """Whether what was measured is enough to keep it open."""
        return self.measured > self.doubt

    def _unseen(self, runs: float) -> float:
        if math.isinf(runs):
            return 0.0
        return unseen_failures(runs, -self.spread.mean, self.margin, self.height)

    def seeds_needed(self) -> np.ndarray:
        """(draws,) more seeds that settle it; infinite where `MOST_SEEDS` don't. The test rows stay the same ones, so
        their luck isn't drawn again: it stays in the bounds."""
        random = generator(0, "bootstrap", 1)
        spread = self.spread
        seeds, df = spread.seeds, spread.seed_df
        variance = max(spread.seed_variance, spread.flips) * df / random.chisquare(df, DRAWS)
        variance = np.maximum(variance, spread.flips)
        lasting = spread.mean + np.sqrt(variance / seeds) * random.standard_normal(DRAWS)
        luck = random.standard_normal(DRAWS)
        needed = np.full(DRAWS, math.inf)
        for more in range(MOST_SEEDS, 0, -1):
            later = seeds + more
            mean = (seeds * spread.mean + more * lasting + np.sqrt(variance * more) * luck) / later
            by_seeds, later_df = variance / later, df * (later - 1) / max(seeds - 1, 1)
            left = min(self.doubt, DOUBT - self._unseen(self.runs + more))
            settled = mean - self._reach(self.alpha / 2, by_seeds, later_df) >= 0
            if left > 0:
                settled |= mean + self._reach(left, by_seeds, later_df) <= self.margin
            needed[settled] = more
        return needed

    def _reach(self, tail: float, by_seeds: np.ndarray, df: float) -> np.ndarray:
        """Close to `Spread.reach`, for many variances at once."""
        by_groups = upper_quantile(tail, self.spread.group_df) ** 2 * self.spread.group_variance
        return np.sqrt(upper_quantile(tail, df) ** 2 * by_seeds + by_groups)

    def rows_needed(self, rows: int) -> int | None:
        """Test rows in all that leave at least half of the variance to the seeds; None if it isn't rows that lack."""
        mean = self.spread.mean
        tell_apart = max(mean, 0.0) / (POWER_Z - special.ndtri(self.alpha / 2))
        rule_out = max(self.margin - mean, 0.0) / (POWER_Z - special.ndtri(self.doubt))
        allowed = max(tell_apart, rule_out) ** 2 / 2
        if self.spread.group_variance <= allowed or allowed == 0:
            return None
        needed = rows * self.spread.group_variance / allowed
        digits = 10 ** max(0, math.floor(math.log10(needed)) - 1)
        return math.ceil(needed / digits) * digits  # two digits: it is a rough figure


def advise(questions: Sequence[Question], rows: int) -> Advice | None:
    """None where nothing is open. Only what has a fair chance is asked about, or else the likeliest."""
    open_ones = [question for question in questions if question.open]
    if not open_ones:
        return None
    asked = [question for question in open_ones if question.measured >= WORTH_ASKING]
    asked = asked or [max(open_ones, key=lambda question: question.chance)]
    needed = {q.rival: np.quantile(q.seeds_needed(), RANGE, method="higher") for q in asked}
    driver = max(asked, key=lambda q: (*needed[q.rival][::-1], q.chance))
    low, high = (int(count) if count <= MOST_SEEDS else None for count in needed[driver.rival])
    return Advice(driver.rival, low, high, driver.rows_needed(rows) if low is None else None)
