"""The spread of means and differences: closed forms, groups, pooling, and whether a 95 % interval holds 95 %."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from truths import Truth

from rnnlab.judging.decision import pair_tests
from rnnlab.judging.luck import MOST_LENT, Runs, Spreads, measure_all, pool
from rnnlab.judging.spread import Spread, group_sums, measure, measure_apart


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(20240607)


def spread_of(**changes: float) -> Spread:
    return replace(Spread(0.0, 3, 1e-4, 2, 5e-5, 1e-4, 500.0), **changes)


def compared(right: np.ndarray, size: int = 1) -> Spreads:
    """Every two arms of ``right (A, S, N)``, in groups of ``size`` rows."""
    sums = right.reshape(*right.shape[:2], -1, size).sum(axis=-1).astype(float)
    arms = [
        Runs(str(index), tuple(range(len(runs))), runs, runs.mean(axis=1) / size) for index, runs in enumerate(sums)
    ]
    return measure_all(arms, np.full(sums.shape[2], float(size)))


def resample(sums: np.ndarray, sizes: np.ndarray, draws: int) -> np.ndarray:
    """Means ``(draws, A)`` of a crossed bootstrap of ``sums (A, S, G)``: every draw is of the same seeds and groups."""
    random = np.random.default_rng(1)
    arms, seeds, groups = sums.shape
    by_group = np.concatenate([sums.reshape(arms * seeds, groups), sizes[None, :]])
    drawn_seeds = random.multinomial(seeds, np.full(seeds, 1 / seeds), size=draws) / seeds
    times = np.stack([np.bincount(random.integers(0, groups, groups), minlength=groups) for _ in range(draws)])
    totals = times @ by_group.T
    run_means = (totals[:, :-1] / totals[:, -1:]).reshape(draws, arms, seeds)
    return np.einsum("das,ds->da", run_means, drawn_seeds)


def naive_error(spread: Spread) -> float:
    """What the spread of plain crossed bootstrap draws comes to, see test_draws_spread_as_the_formula_says."""
    kept = (spread.seeds - 1) / spread.seeds
    return np.sqrt(kept * spread.seed_variance / spread.seeds + spread.group_variance + spread.flips / spread.seeds)


# Closed forms


def test_without_seed_variance_it_is_the_paired_z_interval(random: np.random.Generator):
    rows = 4_000
    a, b = random.random((2, rows)) < [[0.7], [0.65]]
    difference = np.repeat((a.astype(float) - b)[None], 3, axis=0)  # three runs that answer alike
    spread = measure(difference, np.ones(rows))
    assert spread.mean == pytest.approx(a.mean() - b.mean())
    assert spread.seed_variance == spread.flips == 0
    z_interval = 1.96 * difference[0].std(ddof=1) / np.sqrt(rows)
    assert spread.reach(0.05) == pytest.approx(z_interval, rel=2e-3)


def test_without_group_variance_it_is_students_paired_interval():
    for seeds in (2, 3, 5):
        spread = spread_of(seeds=seeds, seed_df=seeds - 1, group_variance=1e-14)
        expected = stats.t.isf(0.025, seeds - 1) * 0.01 / np.sqrt(seeds)
        assert spread.reach(0.05) == pytest.approx(expected, rel=1e-4)


def test_two_sources_add_up_as_simulation_says(random: np.random.Generator):
    spread = spread_of(seeds=4, seed_df=3, group_df=12.0)
    draws = 0.005 * random.standard_t(3, 2_000_000) + 0.01 * random.standard_t(12, 2_000_000)
    for distance in (0.005, 0.02, 0.04, 0.08):
        assert spread.tail(distance) == pytest.approx(np.mean(np.abs(draws) >= distance), rel=0.03)


def test_the_reach_at_alpha_has_tail_alpha():
    for alpha in (0.5, 0.05, 0.0005):
        for spread in (spread_of(), spread_of(seed_variance=0.0), spread_of(seed_df=1), spread_of(group_variance=1e-9)):
            assert spread.tail(spread.reach(alpha)) == pytest.approx(alpha, rel=1e-3)
    assert spread_of().tail(0.0) == pytest.approx(1.0)


def test_components_are_those_of_a_two_way_layout(random: np.random.Generator):
    """Groups of one size: the mean squares of seeds x groups, from the textbook's table."""
    seeds, groups, size = 4, 50, 3
    sums = random.integers(-3, 4, (seeds, groups)).astype(float)
    cells = sums / size
    by_seed, by_group, mean = cells.mean(axis=1), cells.mean(axis=0), cells.mean()
    rest = cells - by_seed[:, None] - by_group[None, :] + mean
    interaction = (rest**2).sum() / ((seeds - 1) * (groups - 1))
    between_groups = seeds * ((by_group - mean) ** 2).sum() / (groups - 1)
    spread = measure(sums, np.full(groups, float(size)))
    assert spread.mean == pytest.approx(mean)
    assert spread.seed_variance == pytest.approx(by_seed.var(ddof=1))
    assert spread.flips == pytest.approx(interaction / groups)
    extra = 2 / (groups * size * groups)
    assert spread.group_variance == pytest.approx(max(0, between_groups - interaction) / seeds / groups + extra)
    assert spread.group_df == pytest.approx(groups - 1)


def test_draws_spread_as_the_formula_says(random: np.random.Generator):
    """`Spread` is the closed form of what a crossed bootstrap draws, less the two corrections for few seeds."""
    truth = Truth([0.7, 0.7], [1, 1], run=0.1, rows=3_000, group_size=3)
    sums = truth.draw(random, 5).reshape(2, 5, 1_000, 3).sum(axis=-1).astype(float)
    sizes = np.full(1_000, 3.0)
    means = resample(sums, sizes, draws=3_000)
    difference = means[:, 0] - means[:, 1]
    assert means.mean(axis=0) == pytest.approx(sums.sum(axis=2).mean(axis=1) / sizes.sum(), abs=0.002)
    assert difference.std() == pytest.approx(naive_error(measure(sums[0] - sums[1], sizes)), rel=0.06)


def test_a_variance_that_is_low_by_luck_counts_as_its_flips():
    """Rows flip from run to run: that alone makes runs differ, even where three happened to agree."""
    lucky, honest = spread_of(seed_variance=1e-7), spread_of(seed_variance=5e-5)
    assert lucky.reach(0.05) == pytest.approx(honest.reach(0.05))
    assert lucky.tail(0.03) == pytest.approx(honest.tail(0.03))
    assert spread_of(seed_variance=2e-4).reach(0.05) > honest.reach(0.05)


def test_the_chance_to_lie_above():
    spread = spread_of(mean=0.01)
    assert spread.above(0.01) == pytest.approx(0.5)
    assert spread.above(0.01 + spread.reach(0.1)) == pytest.approx(0.05, rel=1e-3)
    assert spread.above(0.01 - spread.reach(0.1)) == pytest.approx(0.95, rel=1e-3)
    assert spread.reversed.above(-0.02) == pytest.approx(1 - spread.above(0.02))


# Runs that aren't paired


def test_unpaired_runs_are_welchs(random: np.random.Generator):
    """Without luck of rows, it is Welch's t test."""
    one, other = random.normal(0.7, 0.02, 4), random.normal(0.6, 0.05, 3)
    spread = measure_apart(np.repeat(one[:, None], 900, axis=1), np.repeat(other[:, None], 900, axis=1), np.ones(900))
    expected: Any = stats.ttest_ind(one, other, equal_var=False)
    assert spread.mean == pytest.approx(one.mean() - other.mean())
    assert spread.seed_df == pytest.approx(expected.df)
    p = replace(spread, group_variance=1e-14).tail(abs(spread.mean))
    assert p == pytest.approx(expected.pvalue, rel=1e-3)


def test_equal_numbers_of_unpaired_runs_add_their_variances(random: np.random.Generator):
    a, b = random.integers(0, 2, (2, 3, 400)).astype(float)
    apart, one, other = measure_apart(a, b, np.ones(400)), measure(a, np.ones(400)), measure(b, np.ones(400))
    assert apart.seeds == pytest.approx(3)
    assert apart.seed_variance == pytest.approx(one.seed_variance + other.seed_variance)
    assert apart.flips == pytest.approx(one.flips + other.flips)


def test_rows_stay_paired_where_seeds_are_not(random: np.random.Generator):
    """Two arms that err on the same rows differ by nothing, however few rows there are."""
    right = np.repeat(random.integers(0, 2, (1, 200)).astype(float), 3, axis=0)
    spread = measure_apart(right, right[:2], np.ones(200))
    assert spread.mean == 0
    assert spread.group_variance == pytest.approx(2 / 200**2)


def test_a_single_run_takes_the_variance_of_the_least_steady_arm(random: np.random.Generator):
    truth = Truth([0.9, 0.9, 0.9], [1, 1, 1], run=[0.02, 0.2, 0.02])
    right = truth.draw(random, 3).astype(float)
    arms = [Runs("a", (0, 1, 2), right[0], right[0].mean(1)), Runs("b", (0, 1, 2), right[1], right[1].mean(1))]
    alone = Runs("c", (0,), right[2][:1], right[2][:1].mean(1))
    spreads = measure_all([*arms, alone], np.ones(2_000))
    assert spreads.single["c"].seed_error ** 2 == pytest.approx(spreads.single["b"].seed_variance)
    assert spreads.single["c"].seed_df == pytest.approx(1)
    assert not spreads.single["c"].known
    assert spreads.between("c", "a").reach(0.05) > 3 * spreads.between("a", "b").error


# Groups


def test_sums_by_group_whatever_the_order_and_numbering(random: np.random.Generator):
    groups = np.array([7, 3, 7, -2, 3, 7])
    correct = np.array([[1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 1, 1]], np.uint8)
    sums, sizes = group_sums(correct, groups)
    assert sums.tolist() == [[1, 1, 2], [0, 1, 2]]
    assert sizes.tolist() == [1, 2, 3]
    shuffled = random.permutation(6)
    assert np.array_equal(group_sums(correct[:, shuffled].astype(bool), groups[shuffled])[0], sums)


def test_copies_of_rows_in_a_group_add_no_evidence(random: np.random.Generator):
    difference = random.integers(-1, 2, (3, 500)).astype(float)
    once = measure(difference, np.ones(500))
    copied = measure(difference * 20, np.full(500, 20.0))
    assert copied.reach(0.05) == pytest.approx(once.reach(0.05), rel=0.01)
    as_rows = measure(np.repeat(difference, 20, axis=1), np.ones(10_000))
    assert as_rows.group_variance < 0.06 * once.group_variance


def test_a_few_large_groups_count_as_few():
    sizes = np.array([1_000.0, *np.ones(100)])
    assert measure(np.zeros((2, 101)), sizes).group_df < 2


def test_no_errors_seen_is_not_no_errors_possible():
    """About the rule of three: none in N rows leaves up to 3 / N."""
    assert measure(np.zeros((3, 1_000)), np.ones(1_000)).reach(0.05) == pytest.approx(3 / 1_000, rel=0.1)
    assert measure(np.zeros((3, 5)), np.ones(5)).reach(0.05) > 0.5
    one_group = measure(np.zeros((3, 1)), np.full(1, 1_000.0))
    assert one_group.reach(0.05) > 0.5


# Pooling


def test_arms_learn_from_each_other_how_much_runs_vary():
    spreads = [spread_of(seed_variance=5e-5 * excess) for excess in (0.5, 1.4, 2.0, 3.0, 4.0)]
    usual = 2.0 / (stats.chi2.median(2) / 2)
    low, *_, high = pool(spreads, pooled_df=7.0)
    assert low.seed_variance == pytest.approx(5e-5 * usual)
    assert low.seed_df == pytest.approx(7)
    assert high.seed_variance == pytest.approx(5e-5 * 4)  # never below its own
    assert high.alone == pytest.approx(5e-5 * 4)
    assert 2 < high.seed_df < 7


def test_nobody_borrows_more_than_three_times_their_own():
    """An arm that is unsteady by nature may look steady by luck: two seeds say too little against it."""
    steady, *_ = pool([spread_of(seeds=2, seed_df=1, seed_variance=v) for v in (1e-6, *[1e-4] * 27)], pooled_df=7.0)
    assert steady.seed_df == 1 + MOST_LENT


def test_an_unsteady_arm_keeps_its_own_variance_and_tails():
    *others, wild = pool([spread_of(seed_variance=5e-5 * excess) for excess in (1, 1.2, 1.5, 2.0, 200)], pooled_df=8.0)
    assert wild.seed_variance == pytest.approx(5e-5 * 200)
    assert wild.seed_df == pytest.approx(2, abs=0.05)
    assert max(spread.seed_variance for spread in others) < 5e-5 * 3


@pytest.mark.parametrize("arms", [3, 4, 8])
def test_an_arm_that_fails_in_a_seed_does_not_widen_the_others(random: np.random.Generator, arms: int):
    """With three arms it is in two of the three pairs: the median pair must not be one of its own."""
    right = Truth([0.9] * arms, [1] * arms).draw(random, 3)
    before = compared(right).pairs["0", "1"].reach(0.05)
    right[-1, 0] = random.random(right.shape[2]) < 0.3
    after = compared(right)
    assert after.pairs["0", "1"].reach(0.05) < 2 * before
    assert after.pairs["0", str(arms - 1)].reach(0.05) > 10 * before


def test_two_arms_are_too_few_to_pool(random: np.random.Generator):
    for arms, pooled in ((2, False), (3, True)):
        right = Truth([0.9] * arms, [1] * arms, rows=300).draw(random, 2)
        assert (max(spread.seed_df for spread in compared(right).pairs.values()) > 1) == pooled


def test_runs_without_any_variance_are_left_alone():
    still = spread_of(seed_variance=0.0, flips=0.0)
    assert pool([still, spread_of(), spread_of()], pooled_df=6.0)[0] == still
    assert pool([still, still], pooled_df=6.0) == [still, still]


def test_arms_that_move_together_are_not_many_witnesses(random: np.random.Generator):
    """If a seed helps or harms all arms alike, eight arms tell no more about its luck than one."""
    right = Truth([0.7] * 8, [1] * 8, run=0.01, rows=20_000).draw(random, 4)
    apart = compared(right).single["0"].seed_df
    for seed, luck in enumerate((300, 0, 150, 60)):
        right[:, seed, :luck] = True
        right[:, seed, luck:300] = False
    together = compared(right).single["0"].seed_df
    assert apart > 8
    assert together < 5


# Its level: does a 95 % interval hold 95 % of the time?


def held(random: np.random.Generator, excess: float, seeds: int, repeats: int) -> tuple[list[bool], list[bool]]:
    """Whether intervals of differences hold the truth, where runs truly vary ``excess`` times as much as their flips:
    of all, and of those whose variance came out below the flips. Run means are drawn as such; F is known well."""
    every, low = list[bool](), list[bool]()
    for _ in range(repeats):
        runs = random.normal(0, np.sqrt(excess / 2), (2, seeds)) + random.normal(0, 0.5, (2, 1))
        values = runs[0] - runs[1]
        spread = Spread(values.mean(), seeds, values.var(ddof=1), seeds - 1, 1.0, 0.5, 1_999.0)
        inside = spread.tail(abs(spread.mean)) > 0.05
        every.append(inside)
        low += [inside] if spread.seed_variance < spread.flips else []
    return every, low


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_intervals_hold_however_much_whole_runs_vary(seeds: int):
    random = np.random.default_rng(1)
    by_excess = {excess: held(random, excess, seeds, 500) for excess in (1, 3, 10, 20)}
    assert min(np.mean(every) for every, _ in by_excess.values()) >= 0.93
    assert np.mean([inside for _, low in by_excess.values() for inside in low]) >= 0.85


@pytest.mark.parametrize(("rows", "size", "run"), [(400, 1, 0.12), (2_000, 20, 0.03), (1_000, 20, 0.12)])
def test_intervals_hold_their_level_on_answers(rows: int, size: int, run: float):
    """The whole way, from right and wrong answers in groups."""
    random = np.random.default_rng(1)
    truth = Truth([0.73, 0.7], [1, 1], run=run, rows=rows, group_size=size)
    inside = []
    for _ in range(250):
        spread = compared(truth.draw(random, 3), size).pairs["0", "1"]
        inside.append(spread.tail(abs(spread.mean - 0.03)) > 0.05)
    assert np.mean(inside) > 0.93


def family_wise(random: np.random.Generator, excess: np.ndarray, seeds: int, repeats: int) -> float:
    """How often equal arms are told apart at all. ``excess (A,)``: how many times more the runs of each arm vary than
    their flips."""
    arms, alarms = len(excess), 0
    for _ in range(repeats):
        runs = random.standard_normal((arms, seeds)) * np.sqrt(excess)[:, None] + random.normal(0, 0.7, (arms, 1))
        pairs = {
            (str(a), str(b)): Spread(
                (values := runs[a] - runs[b]).mean(), seeds, values.var(ddof=1), seeds - 1, 2.0, 0.98, 1_999.0
            )
            for a, b in itertools.combinations(range(arms), 2)
        }
        pooled = pool(list(pairs.values()), arms * (seeds - 1) * (arms - 1) / arms)
        tests = pair_tests(Spreads({}, dict(zip(pairs, pooled, strict=True))))
        alarms += min(test.p_holm for test in tests.values()) < 0.05
    return alarms / repeats


WAYS = list(itertools.product((8, 12), (2, 3, 5), (False, True)))
EVERY_TIME = [(8, 2, False), (12, 3, True), (8, 5, True)]


@pytest.mark.parametrize(
    ("arms", "seeds", "unsteady"),
    [pytest.param(*way, marks=[] if way in EVERY_TIME else [pytest.mark.long]) for way in WAYS],
)
def test_equal_arms_are_rarely_told_apart(arms: int, seeds: int, unsteady: bool):
    """Also when one arm's whole runs vary four times as much as the others'."""
    whole_run = np.full(arms, 2.0)
    whole_run[0] *= 16 if unsteady else 1
    assert family_wise(np.random.default_rng(2), 1 + whole_run, seeds, 100) <= 0.05


def test_pooling_is_what_makes_few_seeds_useful():
    random = np.random.default_rng(3)
    truth = Truth([0.94, *[0.90] * 7], [1] * 8, rows=4_000)
    found = np.zeros(2)
    for _ in range(15):
        right = truth.draw(random, 3)
        spreads = compared(right)
        own = {pair: replace(s, seed_variance=s.alone or 0.0, seed_df=2) for pair, s in spreads.pairs.items()}
        alone = Spreads(spreads.single, own)
        for index, one in enumerate((alone, spreads)):
            tests = pair_tests(one)
            found[index] += np.mean([tests["0", str(other)].p_holm < 0.05 for other in range(1, 8)])
    assert found[0] / 15 < 0.3
    assert found[1] / 15 > 0.8
