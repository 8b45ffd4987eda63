"""Comparisons with a known truth: a generator, the cases of the law, and the rule of the first edition beside ours.

An answer is right when its strength is above 0: strength = skill + row + group (shared by all arms) + the arm's own
view of row and group + the run's luck + chance in every single answer; all normal, so the truth is exact. Some arms
fail to learn in a share of their seeds, and then answer by chance.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats

from rnnlab.judging.decision import holm
from rnnlab.judging.findings import ArmScores, Verdict
from rnnlab.judging.spread import Spread, measure
from rnnlab.judging.verdict import judge

ROW, GROUP, ARM_ROW, ARM_GROUP, ANSWER = 1.0, 0.3, 0.3, 0.15, 0.4
RUN = 0.036  # the luck of whole runs, on the scale of strengths; at 90 % right, runs then differ by 0.7 points in all
FAILED_AT = 0.485


@dataclass(frozen=True)
class Truth:
    """Arms with these true accuracies (where they learn), costs and shares of seeds that fail."""

    accuracy: Sequence[float]
    costs: Sequence[float]
    failing: Sequence[float] = ()
    run: Sequence[float] | float = RUN
    rows: int = 2_000
    group_size: int = 1
    margin: float = 0.01
    expected: np.ndarray = field(init=False)  # the true accuracy of an arm, failures included

    def __post_init__(self) -> None:
        failing = np.array(self.failing or [0.0] * len(self.accuracy))
        object.__setattr__(self, "expected", np.array(self.accuracy) * (1 - failing) + FAILED_AT * failing)

    def draw(self, random: np.random.Generator, seeds: int) -> np.ndarray:
        """Right answers (A, S, N)."""
        arms, groups, size = len(self.accuracy), self.rows // self.group_size, self.group_size
        run = np.broadcast_to(np.asarray(self.run, np.float32), arms).reshape(arms, 1, 1, 1)
        grouped = GROUP if size > 1 else 0.0, ARM_GROUP if size > 1 else 0.0
        parts = (ROW, ARM_ROW, ANSWER, *grouped)
        spread = np.sqrt(sum(part**2 for part in parts) + run**2)

        def normal(*shape: int) -> np.ndarray:
            return random.standard_normal(shape, dtype=np.float32)

        skill = stats.norm.ppf(self.accuracy).reshape(arms, 1, 1, 1).astype(np.float32) * spread
        strength = skill + ROW * normal(1, 1, groups, size) + ARM_ROW * normal(arms, 1, groups, size)
        if size > 1:
            strength = strength + GROUP * normal(1, 1, groups, 1) + ARM_GROUP * normal(arms, 1, groups, 1)
        strength = strength + run * normal(arms, seeds, 1, 1) + ANSWER * normal(arms, seeds, groups, size)
        right = (strength > 0).reshape(arms, seeds, self.rows)
        if self.failing:
            failed = random.random((arms, seeds)) < np.array(self.failing)[:, None]
            right = np.where(failed[:, :, None], random.random(right.shape) < FAILED_AT, right)
        return right

    def groups(self) -> np.ndarray:
        return np.arange(self.rows) // self.group_size

    def judge(self, right: np.ndarray, **options: float) -> Verdict:
        arms = [
            ArmScores(str(number), range(right.shape[1]), runs, cost)
            for number, (runs, cost) in enumerate(zip(right, self.costs, strict=True))
        ]
        return judge(arms, self.groups(), margin=self.margin, **options)  # type: ignore[arg-type]


CASES = {
    "2 arms, the cheap one 2 points worse": Truth([0.86, 0.84], [5, 1]),
    "8 arms, 90 to 86 %, cheaper is worse": Truth(np.linspace(0.90, 0.86, 8).tolist(), list(range(8, 0, -1))),
    "the cheap arm fails in a third of its seeds": Truth([0.90, 0.904], [5, 1], [0.0, 1 / 3]),
    "2 equal arms": Truth([0.90, 0.90], [5, 1]),
}


@dataclass(frozen=True)
class Outcome:
    """What following each rule costs on average: true points lost, and the cost of what is recommended."""

    first: float  # the rule of the first edition
    first_cost: float
    best_mean: float
    ours: float
    ours_cost: float
    firm: float  # share of firm recommendations
    firm_wrong: float  # share of all comparisons: firm, and worse than the best by more than the margin

    def row(self) -> str:
        figures = f"{self.first:.2f} | {self.best_mean:.2f} | {self.ours:.2f} | {self.first_cost:.2f} | "
        return figures + f"{self.ours_cost:.2f} | {100 * self.firm:.0f} % | {100 * self.firm_wrong:.1f} %"


def follow(truth: Truth, random: np.random.Generator, repeats: int, seeds: int = 3) -> Outcome:
    figures = []
    costs = np.array(truth.costs, float)
    lost = 100 * (truth.expected.max() - truth.expected)
    for _ in range(repeats):
        right = truth.draw(random, seeds)
        verdict = truth.judge(right)
        ours, first = int(verdict.recommended or 0), first_rule(right, costs)
        best = int(right.mean(axis=(1, 2)).argmax())
        wrong = verdict.firm and lost[ours] > 100 * truth.margin + 1e-9
        figures.append((lost[first], costs[first], lost[best], lost[ours], costs[ours], verdict.firm, wrong))
    return Outcome(*np.mean(figures, axis=0).tolist())


def first_rule(right: np.ndarray, costs: np.ndarray) -> int:
    """What the first edition recommended: the cheapest arm that isn't measurably worse than the best by mean, with
    variances that were never raised to what flips explain."""
    arms, seeds, rows = right.shape
    scores = right.astype(np.float64)
    pairs = {(a, b): measure(scores[a] - scores[b], np.ones(rows)) for a, b in itertools.combinations(range(arms), 2)}
    if seeds >= 3 and arms >= 4:
        pairs = dict(zip(pairs, _first_pooling(list(pairs.values()), arms, seeds), strict=True))
    p = [replace(spread, flips=0.0).tail(abs(spread.mean)) for spread in pairs.values()]
    told = {pair for pair, test in zip(pairs, holm(p), strict=True) if test.p_holm < 0.05}
    best = int(right.mean(axis=(1, 2)).argmax())
    group = [arm for arm in range(arms) if arm == best or (min(arm, best), max(arm, best)) not in told]
    return min(group, key=lambda arm: costs[arm])


def _first_pooling(spreads: list[Spread], arms: int, seeds: int) -> Iterator[Spread]:
    df, own = arms * (seeds - 1) * (arms - 1) / arms, seeds - 1
    excess = [spread.seed_variance / spread.flips for spread in spreads]
    usual = max(1.0, float(np.median(excess)) / (float(stats.chi2.median(own)) / own))
    for spread, times in zip(spreads, excess, strict=True):
        alike = min(1.0, float(stats.f.sf(times / usual, own, max(df - own, 1))) / 0.6) ** 2
        yield replace(spread, seed_variance=spread.flips * max(usual, times), seed_df=own + (df - own) * alike)


def table(repeats: int, seeds: int = 3) -> Iterator[str]:
    yield "| case | first edition | best mean | ours | cost, first | cost, ours | firm | firm and wrong |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for number, (name, truth) in enumerate(CASES.items()):
        random = np.random.default_rng([7, number])
        yield f"| {name} | {follow(truth, random, repeats, seeds).row()} |"
