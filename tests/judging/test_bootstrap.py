"""The spread of means and differences. Run as a script, this prints the tables of docs/decisions/0002-statistics.md."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rnnlab.judging.bootstrap import (
    MOST_DRAWN,
    Runs,
    Spread,
    Spreads,
    advise,
    group_sums,
    measure,
    measure_all,
    pool,
    pool_all,
    resample,
)
from rnnlab.judging.verdict import holm


def simulate(
    random: np.random.Generator,
    seeds: int,
    rows: int,
    group_size: int,
    whole_run: np.ndarray,  # (A,) how much whole runs vary, on the scale of the answer's strength
    advantage: float = 0.0,  # of the first arm, in accuracy
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right answers by group ``(A, S, G)``, sizes ``(G,)``, and the true accuracies ``(A,)`` over all seeds and rows.

    An answer is right when its strength is above 0: strength = skill + row + group (shared by all arms) + the arm's own
    view of row and group + the run's luck + chance in every single answer; all normal, so the truth is exact.
    """
    arms, groups = len(whole_run), rows // group_size
    row, group, arm_row, arm_group, answer = 1.0, 0.45, 0.55, 0.3, 0.7
    spread = np.sqrt(row**2 + group**2 + arm_row**2 + arm_group**2 + answer**2 + whole_run**2)
    truth = np.full(arms, 0.7)
    truth[0] += advantage

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32)

    strength = row * normal(1, 1, groups, group_size) + group * normal(1, 1, groups, 1)
    strength = strength + arm_row * normal(arms, 1, groups, group_size) + arm_group * normal(arms, 1, groups, 1)
    strength = strength + (stats.norm.ppf(truth) * spread).reshape(arms, 1, 1, 1).astype(np.float32)
    strength = strength + whole_run.reshape(arms, 1, 1, 1).astype(np.float32) * normal(arms, seeds, 1, 1)
    right = strength + answer * normal(arms, seeds, groups, group_size) > 0
    return right.sum(axis=-1).astype(np.float64), np.full(groups, float(group_size)), truth


def naive_error(spread: Spread) -> float:
    """What the spread of plain crossed bootstrap draws comes to, see test_draws_spread_as_the_formula_says."""
    kept = (spread.seeds - 1) / spread.seeds
    return np.sqrt(kept * spread.seed_variance / spread.seeds + spread.group_variance + spread.flips / spread.seeds)


def coverage(
    random: np.random.Generator, repeats: int, seeds: int, rows: int, size: int, run: float, gap: float
) -> tuple:
    """How often the 95 % interval of one difference holds the truth: ours, and that of a plain percentile bootstrap."""
    ours = plain = 0
    for _ in range(repeats):
        sums, sizes, truth = simulate(random, seeds, rows, size, np.full(2, run), gap)
        spread = measure(sums[0] - sums[1], sizes)
        miss = abs(spread.mean - (truth[0] - truth[1]))
        ours += spread.tail(miss) > 0.05
        plain += miss < 1.96 * naive_error(spread)
    return ours / repeats, plain / repeats


def compared(sums: np.ndarray, sizes: np.ndarray) -> Spreads:
    """Every two arms of ``sums (A, S, G)``, as ``judge`` compares them."""
    arms = [Runs(str(index), tuple(range(len(runs))), runs) for index, runs in enumerate(sums)]
    return pool_all(measure_all(arms, [], sizes), arms, [])


def false_alarms(spreads: Spreads) -> tuple[bool, bool, bool]:
    """Of equal arms: is one called worse than the best by our correction, by one for the best's pairs only, by none."""
    p = {pair: spread.tail(abs(spread.mean)) for pair, spread in spreads.pairs.items()}
    best = max(spreads.single, key=lambda label: spreads.single[label].mean)
    corrected = dict(zip(p, holm(list(p.values())), strict=True))
    of_best = [pair for pair in p if best in pair]
    return (
        min(corrected[pair] for pair in of_best) < 0.05,
        min(holm([p[pair] for pair in of_best])) < 0.05,
        min(p[pair] for pair in of_best) < 0.05,
    )


def found(random: np.random.Generator, repeats: int, seeds: int, advantage: float) -> np.ndarray:
    """One of eight arms is better: the share of the others told apart from it, each pair by itself and pooled."""
    shares = np.zeros(2)
    for _ in range(repeats):
        sums, sizes, _ = simulate(random, seeds, 4_000, 1, np.full(8, 0.03), advantage)
        arms = [Runs(str(index), tuple(range(seeds)), runs) for index, runs in enumerate(sums)]
        alone = measure_all(arms, [], sizes)
        for index, spreads in enumerate((alone, pool_all(alone, arms, []))):
            p = holm([spread.tail(abs(spread.mean)) for spread in spreads.pairs.values()])
            shares[index] += np.mean(np.array(p[:7]) < 0.05)  # the pairs of the first arm, which is the better one
    return shares / repeats


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(20240607)


def spread_of(**changes: float) -> Spread:
    return replace(Spread(0.0, 3, 1e-4, 2, 5e-5, 1e-4, 500.0), **changes)


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
    """`Spread` is the closed form of what `resample` draws, less the two corrections for few seeds."""
    sums, sizes, _ = simulate(random, 5, 3_000, 3, np.full(2, 0.1))
    means = resample(sums, sizes, draws=4_000)
    difference = means[:, 0] - means[:, 1]
    assert means.mean(axis=0) == pytest.approx(sums.sum(axis=2).mean(axis=1) / sizes.sum(), abs=0.001)
    assert difference.std() == pytest.approx(naive_error(measure(sums[0] - sums[1], sizes)), rel=0.05)


def test_bundles_of_groups_spread_as_the_groups_do(random: np.random.Generator):
    sums, sizes, _ = simulate(random, 3, 3 * MOST_DRAWN + 7, 1, np.full(2, 0.02))
    means = resample(sums, sizes, draws=1_000)
    spread = measure(sums[0] - sums[1], sizes)
    assert (means[:, 0] - means[:, 1]).std() == pytest.approx(naive_error(spread), rel=0.08)


def test_a_draw_of_larger_groups_has_more_rows():
    sizes = np.array([1.0, 5.0, 30.0])
    assert resample(sizes.reshape(1, 1, 3), sizes, draws=20) == pytest.approx(1.0)  # all right is all right


def test_resampling_is_paired_and_repeatable(random: np.random.Generator):
    sums, sizes, _ = simulate(random, 3, 400, 4, np.full(1, 0.1))
    means = resample(np.concatenate([sums, sums]), sizes, draws=50)
    assert np.array_equal(means[:, 0], means[:, 1])
    assert np.array_equal(means, resample(np.concatenate([sums, sums]), sizes, draws=50))
    assert means[:, 0].std() > 0


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
    low, *_, high = pool(spreads, pooled_df=8.0)
    assert low.seed_variance == pytest.approx(5e-5 * usual)
    assert low.seed_df == pytest.approx(8)
    assert high.seed_variance == pytest.approx(5e-5 * 4)  # never below its own
    assert 2 < high.seed_df < 8


def test_an_unsteady_arm_keeps_its_own_variance_and_tails():
    *others, wild = pool([spread_of(seed_variance=5e-5 * excess) for excess in (1, 1.2, 1.5, 2.0, 200)], pooled_df=8.0)
    assert wild.seed_variance == pytest.approx(5e-5 * 200)
    assert wild.seed_df == pytest.approx(2, abs=0.05)
    assert max(spread.seed_variance for spread in others) < 5e-5 * 3


def test_two_seeds_or_three_arms_are_too_few_to_pool(random: np.random.Generator):
    two_seeds = [spread_of(seeds=2, seed_df=1, seed_variance=5e-5 * excess) for excess in (1, 2, 3, 4)]
    assert pool(two_seeds, pooled_df=3.0) == two_seeds
    for arms, pooled in ((3, False), (4, True)):
        sums, sizes, _ = simulate(random, 3, 300, 1, np.full(arms, 0.03))
        assert (max(spread.seed_df for spread in compared(sums, sizes).pairs.values()) > 2) == pooled


def test_runs_without_any_variance_are_left_alone():
    still = spread_of(seed_variance=0.0, flips=0.0)
    assert pool([still, spread_of(), spread_of()], pooled_df=6.0)[0] == still
    assert pool([still, still], pooled_df=6.0) == [still, still]


def test_arms_that_move_together_are_not_many_witnesses(random: np.random.Generator):
    """If a seed helps or harms all arms alike, eight arms tell no more about its luck than one."""
    sums, sizes, _ = simulate(random, 4, 20_000, 10, np.full(8, 0.01))
    apart = compared(sums, sizes).single["0"].seed_df
    luck = np.array([30.0, -30.0, 10.0, -10.0])[None, :, None]  # rows right by the seed alone, in one group of ten
    sums[:, :, :100] += luck / 100 * 10
    together = compared(sums, sizes).single["0"].seed_df
    assert apart > 8
    assert together < 5


# Its level: does a 95 % interval hold 95 % of the time?


@pytest.mark.parametrize(
    ("seeds", "rows", "size", "run", "gap"),
    [
        (2, 400, 1, 0.12, 0.0),
        (2, 2_000, 20, 0.03, 0.03),
        (3, 400, 1, 0.0, 0.0),
        (3, 2_000, 20, 0.12, 0.03),
        (5, 2_000, 1, 0.03, 0.03),
        (5, 1_000, 20, 0.12, 0.0),
    ],
)
def test_intervals_hold_their_level(seeds: int, rows: int, size: int, run: float, gap: float):
    ours, plain = coverage(np.random.default_rng(1), 300, seeds, rows, size, run, gap)
    assert ours > 0.92
    if run == 0.12 and seeds < 5:  # where whole runs vary, a plain bootstrap of so few seeds promises too much
        assert plain < 0.91


def test_equal_arms_are_rarely_told_apart():
    """Eight equal arms, 150 times. The best is picked by looking, so a correction for its own pairs is not enough."""
    random = np.random.default_rng(2)
    alarms = np.array(
        [false_alarms(compared(*simulate(random, 10, 400, 1, np.full(8, 0.03))[:2])) for _ in range(150)]
    ).mean(axis=0)
    ours, best_only, uncorrected = alarms
    assert ours <= 0.06
    assert best_only > ours
    assert uncorrected > 0.25


def test_pooling_is_what_makes_three_seeds_useful():
    alone, pooled = found(np.random.default_rng(3), 30, seeds=3, advantage=0.06)
    assert alone < 0.3
    assert pooled > 0.6


# Advice


def test_the_seeds_advised_are_enough_on_paper():
    question = spread_of(mean=0.004, group_variance=1e-6)
    more, rows = advise([question], 1_000, 0.05, 0.05 / 6, 0.01)
    assert rows is None
    assert more is not None
    later = question.at_seeds(3 + more)
    assert 0.004 + later.reach(0.05) + 0.8416 * later.error <= 0.01
    fewer = question.at_seeds(3 + more - 1)
    assert 0.004 + fewer.reach(0.05) + 0.8416 * fewer.error > 0.01


def test_a_larger_difference_takes_fewer_seeds():
    questions = [spread_of(mean=mean, group_variance=1e-6) for mean in (0.02, 0.03, 0.05)]
    counts = [advise([question], 1_000, 0.05, 0.01, 0.01)[0] or 0 for question in questions]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] >= 1
    assert advise(questions, 1_000, 0.05, 0.01, 0.01) == (counts[0], None)  # the hardest question decides


def test_when_the_test_set_is_too_small_seeds_do_not_help():
    question = spread_of(mean=0.003, group_variance=1e-4)
    seeds, rows = advise([question], 1_000, 0.05, 0.01, 0.01)
    assert seeds is None
    assert rows is not None
    assert rows > 1_000
    enough = replace(question, group_variance=1e-4 * 1_000 / rows)
    assert advise([enough], rows, 0.05, 0.01, 0.01)[0] is not None


def test_a_low_variance_by_luck_is_not_planned_with():
    assert spread_of(seed_variance=1e-6).at_seeds(6).seed_variance == spread_of().flips
    assert spread_of().at_seeds(6).seed_variance == spread_of().seed_variance


def test_nothing_open_needs_nothing():
    assert advise([], 1_000, 0.05, 0.01, 0.01) == (0, None)


# The tables of the decision record


def coverage_table(repeats: int) -> Iterator[str]:
    yield "| seeds | rows | group of | whole-run sd | difference | ours | plain bootstrap |"
    yield "|---|---|---|---|---|---|---|"
    random = np.random.default_rng(0)
    designs = [(200, 1), (1_000, 1), (1_000, 20), (5_000, 1), (5_000, 20)]
    for seeds, (rows, size), (run, gap) in itertools.product(
        (2, 3, 5, 10), designs, [(0.0, 0.0), (0.03, 0.0), (0.03, 0.03), (0.12, 0.0)]
    ):
        ours, plain = coverage(random, repeats, seeds, rows, size, run, gap)
        yield f"| {seeds} | {rows:,} | {size} | {run} | {gap} | {ours:.3f} | {plain:.3f} |"


def many_arms_table(repeats: int) -> Iterator[str]:
    yield "| seeds | whole runs vary | all pairs | least steady arm | false alarms | best's pairs only | uncorrected |"
    yield "|---|---|---|---|---|---|---|"
    random = np.random.default_rng(0)
    kinds = {
        "alike": np.full(8, 0.03),
        "one four times more": np.array([0.12, *np.full(7, 0.03)]),
        "from three times to a third": 0.03 * np.exp(np.linspace(1.1, -1.1, 8)),
    }
    for seeds, (name, whole_run) in itertools.product((2, 3, 5, 10), kinds.items()):
        alarms, held = np.zeros(3), np.zeros(28)
        for _ in range(repeats):
            sums, sizes, _ = simulate(random, seeds, 2_000, 1, whole_run)
            spreads = compared(sums, sizes)
            alarms += false_alarms(spreads)
            held += [spread.tail(abs(spread.mean)) > 0.05 for spread in spreads.pairs.values()]
        shares = (held.mean() / repeats, held[:7].mean() / repeats, *(alarms / repeats))
        yield f"| {seeds} | {name} | {' | '.join(f'{share:.3f}' for share in shares)} |"


def power_table(repeats: int) -> Iterator[str]:
    yield "| seeds | each pair by itself | pooled |"
    yield "|---|---|---|"
    random = np.random.default_rng(0)
    for seeds in (2, 3, 5, 10):
        alone, pooled = found(random, repeats, seeds, 0.04)
        yield f"| {seeds} | {alone:.2f} | {pooled:.2f} |"


if __name__ == "__main__":
    for line in itertools.chain(coverage_table(2_000), [""], many_arms_table(1_000), [""], power_table(100)):
        print(line, flush=True)
