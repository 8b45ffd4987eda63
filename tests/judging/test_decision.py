"""What following the recommendation costs, with a known truth; and the parts of the decision by themselves.

Run as a script, this prints the tables of docs/decisions/0002-statistics.md.
"""

import math
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from truths import CASES, Outcome, Truth, follow, table

from rnnlab.judging import decision
from rnnlab.judging.decision import choose, holm, unseen_failures
from rnnlab.judging.failures import clopper_pearson
from rnnlab.judging.findings import ArmScores
from rnnlab.judging.verdict import judge

NAMES = list(CASES)
PUBLISHED = {  # points lost by the first edition, and by always taking the best mean; the law's limit for ours
    NAMES[0]: (1.57, 0.0, 0.25),
    NAMES[1]: (3.22, 0.15, 1.0),
    NAMES[2]: (12.7, 2.9, 4.5),
}


def followed(name: str, repeats: int) -> Outcome:
    return follow(CASES[name], np.random.default_rng([7, NAMES.index(name)]), repeats)


# The law


@pytest.mark.parametrize(("name", "repeats"), [(NAMES[0], 250), (NAMES[1], 100), (NAMES[2], 250)])
def test_following_the_recommendation_costs_little(name: str, repeats: int):
    """The generator shows what is known of the first edition and of the best mean; ours stays below its limit."""
    outcome = followed(name, repeats)
    first, best_mean, limit = PUBLISHED[name]
    assert outcome.first == pytest.approx(first, rel=0.15)
    assert outcome.best_mean == pytest.approx(best_mean, rel=0.15, abs=0.05)
    assert outcome.ours <= limit
    assert outcome.firm_wrong <= 0.02


def test_of_equals_the_cheap_one_is_mostly_recommended():
    outcome = followed(NAMES[3], 250)
    assert outcome.first_cost == pytest.approx(1.0, rel=0.15)
    assert outcome.ours_cost <= 1.6


@pytest.mark.parametrize("seeds", [3, 8])
@pytest.mark.parametrize("gap", [0.0101, 0.015])
def test_a_firm_recommendation_is_rarely_wrong_at_any_gap(gap: float, seeds: int):
    """The cheap arm is worse by little more than the margin: the hardest gap of all."""
    outcome = follow(Truth([0.9, 0.9 - gap], [5, 1]), np.random.default_rng(8), 150, seeds)
    assert outcome.firm_wrong <= 0.05


def test_the_law_fails_where_the_rule_is_broken(monkeypatch: pytest.MonkeyPatch):
    """The cheapest candidate, however far its mean is behind: what the first edition did."""

    def cheapest(means: np.ndarray, costs: np.ndarray, margin: float) -> np.ndarray:
        return choose(means, costs, math.inf)

    monkeypatch.setattr(decision, "choose", cheapest)
    assert followed(NAMES[0], 60).ours > 0.25
    assert followed(NAMES[2], 60).ours > 4.5


# Its parts


def test_holm_by_hand():
    assert [one.p_holm for one in holm([0.01, 0.04, 0.03, 0.005])] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [one.p_holm for one in holm([0.5, 0.9])] == pytest.approx([1.0, 1.0])  # 0.9 may not fall below 0.5 * 2
    assert [one.p_holm for one in holm([0.2])] == [0.2]
    assert holm([]) == []


def test_the_multiplier_tells_whether_a_pair_is_called_better():
    """An interval at alpha / multiplier excludes zero exactly where p < alpha / multiplier."""
    p = [0.0, 0.001, 0.012, 0.013, 0.0131, 0.5, 1.0]
    for one, value in zip(holm(p), p, strict=True):
        assert (value < 0.05 / one.multiplier) == (one.p_holm < 0.05)
    assert [one.multiplier for one in holm([0.0, 0.02])] == [2, 1]


def test_the_cheapest_within_the_margin_is_chosen():
    costs = np.array([9.0, 5.0, 1.0])
    means = np.array([[0.90, 0.895, 0.80], [0.90, 0.885, 0.80], [0.90, 0.895, 0.891]])
    assert choose(means, costs, 0.01).tolist() == [1, 0, 2]


def test_costs_that_are_nearly_equal_count_as_equal():
    means = np.array([[0.890, 0.892, 0.891]])
    assert choose(means, np.array([1.0, 1.04, 1.2]), 0.01).tolist() == [1]
    assert choose(means, np.array([1.0, 1.06, 1.2]), 0.01).tolist() == [0]
    assert choose(means, np.full(3, math.inf), 0.01).tolist() == [1]  # unknown costs are no reason for anything


def test_runs_without_a_failure_speak_against_failures():
    chances = [unseen_failures(runs, lead=0.0, margin=0.01, height=0.5) for runs in (1, 3, 5, 10, 100)]
    assert chances == sorted(chances, reverse=True)
    assert chances[1] > decision.DOUBT > chances[2]
    assert unseen_failures(3, lead=0.3, margin=0.01, height=0.5) < 0.005  # far ahead, failures must be frequent
    assert unseen_failures(3, lead=0.6, margin=0.01, height=0.5) == 0
    assert unseen_failures(0, lead=-0.01, margin=0.01, height=0.5) == pytest.approx(decision.UNSTEADY)


def test_unseen_failures_are_as_counted():
    """Draw arms as the formula supposes them, keep those without a failure in three runs, and count."""
    random = np.random.default_rng(0)
    shares = np.where(random.random(400_000) < decision.UNSTEADY, random.random(400_000), 0.0)
    clean = shares[(random.random((3, 400_000)) >= shares).all(axis=0)]
    assert unseen_failures(3, lead=0.04, margin=0.01, height=0.5) == pytest.approx(np.mean(clean > 0.1), rel=0.05)


def test_clopper_pearson_by_the_book():
    assert clopper_pearson(0, 3) == pytest.approx((0, 1 - 0.025 ** (1 / 3)))
    assert clopper_pearson(2, 5) == pytest.approx((0.0527, 0.8534), abs=1e-4)
    assert clopper_pearson(5, 5)[1] == 1


# Tables


def gaps_table(repeats: int) -> Iterator[str]:
    yield "| gap, points | arms | seeds | firm | firm and wrong |"
    yield "|---|---|---|---:|---:|"
    for gap in (0.0101, 0.012, 0.015, 0.02):
        for arms in (2, 8):
            for seeds in (3, 5, 8):
                truth = Truth([0.9, *[0.9 - gap] * (arms - 1)], list(range(arms, 0, -1)))
                outcome = follow(truth, np.random.default_rng(9), max(100, repeats // (1 if arms == 2 else 5)), seeds)
                share = f"{100 * outcome.firm:.0f} % | {100 * outcome.firm_wrong:.1f} %"
                yield f"| {100 * gap:.2f} | {arms} | {seeds} | {share} |"


def optimism_table(repeats: int) -> Iterator[str]:
    yield "| runs vary by, points | seeds | optimism, estimated | true | interval of the recommended holds |"
    yield "|---|---|---:|---:|---:|"
    for deviation in (0.0, 0.7, 1.5, 3.0):
        for seeds in (2, 3, 5):
            estimated, true, inside = picked(deviation, seeds, repeats)
            yield f"| {deviation} | {seeds} | {estimated:.2f} | {true:.2f} | {100 * inside:.1f} % |"


def picked(deviation: float, seeds: int, repeats: int) -> tuple[float, float, float]:
    """Of eight equal arms whose whole runs differ by ``deviation`` points: the optimism of the recommended one as
    estimated and as it is, in points, and how often its interval holds the truth."""
    random = np.random.default_rng([11, int(10 * deviation), seeds])
    slope = 0.1755 / math.sqrt(1 + 0.3**2 + 0.4**2)  # accuracy per strength, at 90 % right
    truth = Truth([0.9] * 8, [1] * 8, run=deviation / 100 / slope)
    figures = []
    for _ in range(repeats):
        verdict = truth.judge(truth.draw(random, seeds))
        estimate = verdict.estimates[str(verdict.recommended)]
        too_high = 100 * (verdict.optimism or 0.0), 100 * (estimate.mean - 0.9)
        figures.append((*too_high, estimate.low <= 0.9 <= estimate.high))
    estimated, true, inside = np.mean(figures, axis=0).tolist()
    return estimated, true, inside


@pytest.mark.parametrize("deviation", [0.7, 3.0, *(pytest.param(one, marks=pytest.mark.long) for one in (0.0, 1.5))])
def test_the_winners_optimism_is_known(deviation: float):
    estimated, true, inside = picked(deviation, seeds=3, repeats=60)
    assert estimated == pytest.approx(true, rel=0.3)
    assert inside >= 0.92


def test_a_clear_winner_has_no_optimism():
    truth = Truth([0.95, 0.7, 0.6], [1, 1, 1])
    assert truth.judge(truth.draw(np.random.default_rng(0), 3)).optimism == 0


def test_one_arm_alone_was_not_picked():
    right = Truth([0.9], [1]).draw(np.random.default_rng(0), 3)
    assert judge([ArmScores("a", range(3), right[0])], np.arange(2_000)).optimism == 0


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    for seeds in (3, 5):
        print(f"{seeds} seeds, {repeats} comparisons per case")
        for line in table(repeats, seeds):
            print(line, flush=True)
    for lines in (gaps_table(repeats // 4), optimism_table(repeats // 5)):
        print(*lines, sep="\n", flush=True)
