"""The verdict: what it claims, when it refuses, and what it says."""

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from truths import Truth

from rnnlab.judging.findings import ArmScores, Difference, Verdict
from rnnlab.judging.looks import in_play
from rnnlab.judging.verdict import judge

ROWS = 4_000


def answers(
    accuracy: dict[str, float],
    seeds: Sequence[int] = (1, 2, 3),
    rows: int = ROWS,
    run_sd: float = 0.002,
    costs: dict[str, float | None] | None = None,
    baseline: bool = False,
) -> list[ArmScores]:
    """Arms with about these accuracies. Rows are hard or easy for all arms alike; runs differ a little."""
    random = np.random.default_rng(5)
    hardness = random.random(rows)
    arms = []
    for label, level in accuracy.items():
        own = np.clip(hardness + random.normal(0, 0.08, rows), 0, 1)
        shifts = random.normal(0, run_sd, len(seeds))[:, None]
        right = own + random.normal(0, 0.05, (len(seeds), rows)) < level + shifts
        arms.append(ArmScores(label, list(seeds), right, (costs or {}).get(label, 1.0), baseline))
    return arms


def baselines_of(accuracy: dict[str, float], rows: int = ROWS) -> list[ArmScores]:
    found = answers(accuracy, seeds=[0], rows=rows, baseline=True)
    return [dataclasses.replace(arm, cost=None) for arm in found]


def with_runs(arm: ArmScores, means: Sequence[float], rows: int = 1_000) -> ArmScores:
    """An arm whose runs have just these accuracies; which rows are right differs a little from run to run."""
    random = np.random.default_rng([3, *arm.label.encode()])
    hardness = np.random.default_rng(4).random(rows)
    order = np.argsort(hardness + random.normal(0, 0.1, (len(means), rows)), axis=1)
    scores = np.zeros((len(means), rows))
    for run, mean in enumerate(means):
        scores[run, order[run, : round(mean * rows)]] = 1
    return dataclasses.replace(arm, seeds=range(len(means)), scores=scores)


def measured(means: Mapping[str, Sequence[float]], costs: Mapping[str, float | None] | None = None) -> list[ArmScores]:
    return [
        with_runs(ArmScores(label, [], np.zeros((0, 0)), (costs or {}).get(label, 1.0)), runs)
        for label, runs in means.items()
    ]


def verdict_of(arms: Sequence[ArmScores], **options) -> Verdict:
    """On rows that are their own groups; and whatever comes out must be sound."""
    rows = next(arm.scores.shape[-1] for arm in arms if len(arm.seeds))
    verdict = judge(arms, groups=np.arange(rows), **options)
    check_sound(verdict)
    return verdict


def check_sound(verdict: Verdict) -> None:
    text = json.dumps(dataclasses.asdict(verdict), allow_nan=False)  # raises at NaN or infinity
    assert "nan" not in verdict.sentence.lower() + verdict.sentence_zh.lower()
    assert json.loads(text)["sentence"] == verdict.sentence
    assert "told apart" not in verdict.sentence
    for estimate in verdict.estimates.values():
        assert 0 <= estimate.low <= estimate.mean <= estimate.high <= 1
    for gap in verdict.differences:
        assert -1 <= gap.low <= gap.mean <= gap.high <= 1
        assert gap.mean >= 0
        assert 0 <= gap.p <= gap.p_holm <= 1
        assert (gap.call == "better") == (gap.low > 0 and gap.known)
        assert sum(gap.chances) == pytest.approx(1)
        assert min(gap.chances) >= 0
    assert not (verdict.firm and verdict.doubtful)
    assert verdict.firm or verdict.recommended is None or verdict.advice is not None
    assert set(verdict.best_group) <= set(verdict.candidates)
    if verdict.recommended is not None:
        best = max(verdict.estimates[label].mean for label in verdict.best_group)
        assert verdict.recommended in verdict.best_group
        assert all(verdict.estimates[label].mean >= best - verdict.margin - 1e-12 for label in verdict.best_group)
        worse_than = [g for g in verdict.differences if g.worse == verdict.recommended and g.call == "better"]
        assert not worse_than  # no recommendation that is measurably worse than any other
        if verdict.best_baseline:
            assert verdict.best_baseline in verdict.sentence
    assert figures(verdict.sentence) == figures(verdict.sentence_zh)


def figures(sentence: str) -> list[str]:
    return sorted(re.findall(r"[+−]?\d[\d,.]*\d|\d", sentence))


def gap_of(verdict: Verdict, one: str, other: str) -> Difference:
    return verdict.between(one, other)


# The sentences that once misled


def test_one_run_is_missing_in_the_best_arm():
    """It was "rnn (55.8 %), lstm (96.8 %), gru (96.1 %) and cnn (90.2 %) can't be told apart … rnn is the cheapest"."""
    costs: dict[str, float | None] = {"rnn": 0.1, "lstm": 0.5, "gru": 0.4, "cnn": 0.2, "linear": 0.15}
    truth = Truth([0.558, 0.968, 0.961, 0.902, 0.55], list(costs.values()), rows=1_600)  # type: ignore[arg-type]
    right = truth.draw(np.random.default_rng(1), 3)
    arms = [ArmScores(label, range(3), runs, costs[label]) for label, runs in zip(costs, right, strict=True)]
    arms[1] = dataclasses.replace(arms[1], seeds=[1, 2], scores=right[1, 1:])
    verdict = verdict_of(arms)
    assert verdict.recommended in ("gru", "lstm")
    assert set(verdict.best_group) <= {"gru", "lstm"}
    assert gap_of(verdict, "gru", "rnn").call == gap_of(verdict, "lstm", "rnn").call == "better"
    assert "Only 2 of 3 runs: lstm." in verdict.sentence


def test_runs_that_agree_by_luck_do_not_narrow_the_interval():
    """It was "by 17.6 points (17.5–17.7)", where the true standard error was 0.69."""
    verdict = verdict_of(measured({"lstm": [0.900, 0.9005, 0.8995], "rnn": [0.724, 0.7235, 0.7245]}))
    gap = gap_of(verdict, "lstm", "rnn")
    assert gap.mean == pytest.approx(0.176)
    assert gap.plain_high - gap.plain_low > 0.02
    assert gap.call == "better"


def test_two_seeds_of_eight_models_rule_out_what_is_far_behind():
    """It was "gru (98.2 %) … transformer (66.7 %), rnn (60.9 %) and linear (59.2 %) can't be told apart"."""
    means = {"gru": 0.982, "bigru": 0.984, "lstm": 0.975, "bilstm": 0.97, "textcnn": 0.9, "transformer": 0.667}
    means |= {"rnn": 0.609, "linear": 0.592}
    verdict = verdict_of(measured({label: [mean + 0.003, mean - 0.003] for label, mean in means.items()}))
    assert {"transformer", "rnn", "linear", "textcnn"}.isdisjoint(verdict.candidates)
    assert "Measurably worse than" in verdict.sentence


def test_two_seeds_of_few_models_never_star_what_is_far_behind():
    means = {"gru": [0.984, 0.98], "transformer": [0.69, 0.64], "rnn": [0.60, 0.62], "linear": [0.59, 0.594]}
    verdict = verdict_of(measured(means, costs={"gru": 9.0}))
    assert verdict.recommended == "gru"
    assert verdict.best_group == ["gru"]


def test_being_unsteady_is_not_rewarded():
    """It was rnn, with runs of 83.8, 75.4 and 72.8, in the best group, and steady linear at 84.9 ruled out."""
    means = {"rnn": [0.838, 0.754, 0.728], "linear": [0.849, 0.851, 0.847], "gru": [0.856, 0.861, 0.853]}
    verdict = verdict_of(measured(means, costs={"rnn": 1.0, "linear": 2.0, "gru": 9.0}))
    assert "rnn" not in verdict.best_group
    assert verdict.recommended == "linear"
    assert "linear" in verdict.candidates


def test_the_interval_beside_a_verdict_agrees_with_it():
    """It was "None of the models measurably beats tfidf … +1.4 points (+0.2 to +2.6)"."""
    arms = answers({"a": 0.714, "b": 0.70, "c": 0.69}, rows=3_000, run_sd=0.004)
    verdict = verdict_of([*arms, *baselines_of({"tfidf": 0.70}, rows=3_000)])
    gap = gap_of(verdict, "a", "tfidf")
    assert gap.call == "undecided"
    assert gap.low < 0 < gap.plain_low  # uncorrected, it would have excluded zero
    shown = re.search(
        r"Whether a is better than tfidf.* is undecided: \+1\.\d points \((\S+) to (\S+)\)", verdict.sentence
    )
    assert shown
    assert shown[1].startswith("−")


def test_a_row_far_behind_the_best_is_never_starred():
    """It was a starred row at 63.7 % (44.1–83.3) beside a best of 96.6 %."""
    verdict = verdict_of(measured({"a": [0.966, 0.965, 0.967], "b": [0.55, 0.637, 0.724]}))
    assert verdict.best_group == ["a"]


def test_one_seed_names_the_baseline_that_came_first():
    """It was "textcnn (87.2 %) came first" where tfidf has 90.9 %."""
    arms = answers({"textcnn": 0.872, "rnn": 0.8}, seeds=[0])
    verdict = verdict_of([*arms, *baselines_of({"tfidf": 0.909, "majority": 0.5})])
    assert verdict.recommended is None
    assert verdict.best == verdict.best_baseline == "tfidf"
    assert re.search(r"tfidf \(accuracy 9[01]\.\d %.*\) came first", verdict.sentence)
    assert "It is a baseline; the best model is textcnn (" in verdict.sentence


def test_advice_for_one_truth_does_not_run_from_1_to_72():
    """The range that is advised mostly holds what other draws of the same truth advise."""
    truth = Truth([0.9, 0.9], [5, 1])
    random = np.random.default_rng(12)
    advice = [truth.judge(truth.draw(random, 3)).advice for _ in range(40)]
    lows = [one.low for one in advice if one and one.low]
    assert len(lows) > 30
    assert np.quantile(lows, 0.9) <= 12


def test_what_fails_sometimes_is_said():
    means = {"gru": [0.98, 0.978, 0.981, 0.979, 0.982], "rnn": [0.97, 0.52, 0.969, 0.5, 0.972]}
    verdict = verdict_of([*measured(means), *measured({"cnn": [0.9, 0.902, 0.899, 0.9, 0.901]})])
    assert verdict.failures["rnn"].failed == (1, 3)
    assert verdict.failures.keys() == {"rnn"}
    assert "2 of 5 seeds of rnn failed to learn (5–85 % of its seeds may do so)" in verdict.sentence
    assert "no interval can know" in verdict.sentence
    assert verdict.recommended == "gru"
    assert "rnn" not in verdict.doubtful  # even its runs that learnt are no better


# What is told apart, and what is recommended


def test_a_clear_winner_is_recommended():
    verdict = verdict_of(answers({"rnn": 0.60, "lstm": 0.70, "gru": 0.64}))
    assert verdict.recommended == verdict.best == "lstm"
    assert verdict.best_group == ["lstm"]
    assert verdict.firm
    assert verdict.advice is None
    assert [(gap.better, gap.worse) for gap in verdict.differences] == [
        ("lstm", "gru"),
        ("lstm", "rnn"),
        ("gru", "rnn"),
    ]
    assert all(gap.call == "better" for gap in verdict.differences)
    assert re.match(r"lstm \(accuracy [\d.]+ %, 95 % interval [\d.–]+\) is measurably better", verdict.sentence)
    assert ": recommended." in verdict.sentence


def test_of_equals_the_cheapest_is_recommended():
    arms = answers({"gru": 0.70, "lstm": 0.701, "rnn": 0.60}, costs={"gru": 7.1, "lstm": 9.0, "rnn": 3.0})
    verdict = verdict_of(arms)
    assert sorted(verdict.best_group) == ["gru", "lstm"]
    assert verdict.recommended == "gru"
    assert "gru is the cheapest of them (7.1 s per epoch)" in verdict.sentence
    assert "其中 gru 开销最小（每轮 7.1 秒）" in verdict.sentence_zh
    gap = gap_of(verdict, "gru", "rnn")
    wanted = f"rnn by {100 * gap.mean:.1f} points ({100 * gap.low:.1f}–{100 * gap.high:.1f})"
    assert wanted in verdict.sentence


def test_costs_may_be_parameters_unknown_or_alike():
    arms = answers({"gru": 0.70, "lstm": 0.70}, costs={"gru": 12_345, "lstm": 20_000})
    assert "(12,345 parameters)" in verdict_of(arms, cost_unit="parameters").sentence
    unknown = verdict_of(answers({"gru": 0.70, "lstm": 0.70}, costs={"gru": None, "lstm": math.nan}))
    assert unknown.recommended == unknown.best
    assert "costs are unknown" in unknown.sentence
    alike = verdict_of(answers({"gru": 0.70, "lstm": 0.70}, costs={"gru": 1.0, "lstm": 1.04}))
    assert alike.recommended == alike.best
    assert "cost the same" in alike.sentence


def test_the_truth_lies_in_the_intervals():
    verdict = verdict_of(answers({"a": 0.70, "b": 0.66}, rows=40_000, seeds=range(5)))
    assert verdict.estimates["a"].low < 0.70 < verdict.estimates["a"].high
    gap = gap_of(verdict, "a", "b")
    assert gap.plain_low < 0.04 < gap.plain_high
    assert gap.low <= gap.plain_low < gap.plain_high <= gap.high


def test_equal_within_the_margin_is_equal_and_firm():
    arms = answers({"a": 0.70, "b": 0.70}, rows=40_000, seeds=range(8), run_sd=0.0)
    verdict = verdict_of(arms)
    assert verdict.firm
    assert gap_of(verdict, "a", "b").call == "equal"
    assert f"Equal to {verdict.recommended} to within 1.0 points: " in verdict.sentence
    strict = verdict_of(arms, margin=0.0001)
    assert not strict.firm
    assert gap_of(strict, "a", "b").call == "undecided"
    assert "Not settled: " in strict.sentence
    assert "recommended for now" in strict.sentence


def test_three_runs_cannot_rule_out_failures():
    """As good as equal, by all that was measured; but three runs are three runs."""
    arms = answers({"a": 0.70, "b": 0.70}, rows=40_000, run_sd=0.0)
    verdict = verdict_of(arms)
    assert not verdict.firm
    assert verdict.doubtful == []
    assert f"3 runs of {verdict.recommended} can't rule out that some of its seeds fail" in verdict.sentence
    assert verdict.advice is not None
    assert verdict.advice.low
    more = answers({"a": 0.70, "b": 0.70}, rows=40_000, run_sd=0.0, seeds=range(3 + (verdict.advice.high or 0)))
    assert verdict_of(more).firm


def test_too_few_seeds_ask_for_more():
    means = {"a": [0.70, 0.69, 0.71], "b": [0.715, 0.69, 0.70]}
    verdict = verdict_of(measured(means, costs={"a": 1.0, "b": 9.0}))
    assert verdict.recommended == "a"
    assert verdict.doubtful == ["b"]
    assert "Not settled: b may still be better than a by more than 1.0 points." in verdict.sentence
    advice = verdict.advice
    assert advice is not None
    assert advice.low is not None
    assert advice.high is None or advice.high > advice.low > 0
    assert advice.driver == "b"
    assert f"{advice.low} " in verdict.sentence
    assert "more seeds per model" in verdict.sentence


def test_the_seeds_advised_mostly_do():
    """Take the advice at its upper end, with fresh runs of the same two equal arms: is the question settled?"""
    truth = Truth([0.9, 0.9], [5, 1], rows=8_000)
    random = np.random.default_rng(0)
    settled = []
    for _ in range(25):
        right = truth.draw(random, 24)
        advice = truth.judge(right[:, :4]).advice
        if advice and advice.high and advice.high <= 20:
            settled.append(truth.judge(right[:, : 4 + advice.high]).firm)
    assert len(settled) > 8
    assert np.mean(settled) > 0.6


def test_advice_is_about_arms_with_a_fair_chance():
    means = {"a": [0.90, 0.905, 0.895], "b": [0.905, 0.898, 0.902], "c": [0.5, 0.6, 0.4]}
    verdict = verdict_of(measured(means, costs={"a": 1.0, "b": 9.0, "c": 0.5}))
    assert verdict.advice is not None
    assert verdict.advice.driver == "b"


def test_a_small_test_set_asks_for_rows():
    verdict = verdict_of(answers({"a": 0.70, "b": 0.70}, rows=150, seeds=range(6), run_sd=0.0))
    assert verdict.advice is not None
    assert verdict.advice.low is None
    assert verdict.advice.rows is not None
    assert verdict.advice.rows > 150
    assert f"about {verdict.advice.rows:,} test rows would (there are 150" in verdict.sentence


def test_groups_make_it_less_sure():
    arms = answers({"a": 0.70, "b": 0.68}, rows=400)
    copies = [dataclasses.replace(arm, scores=np.repeat(arm.scores, 25, axis=1)) for arm in arms]
    as_rows = judge(copies, np.arange(10_000))
    as_groups = judge(copies, np.repeat(np.arange(400), 25))
    assert as_rows.candidates == ["a"]
    assert sorted(as_groups.candidates) == ["a", "b"]


# Baselines


def test_a_model_that_beats_the_baselines():
    verdict = verdict_of([*answers({"a": 0.70, "b": 0.5}), *baselines_of({"majority": 0.3, "bag": 0.6})])
    assert verdict.recommended == verdict.best_model == "a"
    assert verdict.best_baseline == "bag"
    assert "a beats bag, the best baseline, by " in verdict.sentence
    assert verdict.baselines == ["bag", "majority"]
    assert len(verdict.differences) == 6


def test_a_baseline_that_wins_is_recommended():
    verdict = verdict_of([*answers({"a": 0.70, "b": 0.5}), *baselines_of({"majority": 0.3, "TF-IDF": 0.74})])
    assert verdict.recommended == verdict.best == verdict.best_baseline == "TF-IDF"
    assert verdict.best_model == "a"
    assert verdict.firm
    assert verdict.sentence.startswith("TF-IDF (accuracy ")
    assert "is measurably better than all others" in verdict.sentence
    assert re.search(r"The best model is a \(.*\), at −[34]\.\d points against TF-IDF", verdict.sentence)


def test_a_baseline_within_the_margin_costs_next_to_nothing():
    verdict = verdict_of([*answers({"a": 0.706}, costs={"a": 0.1}), *baselines_of({"bag": 0.70})])
    assert verdict.recommended == "bag"
    assert "bag is the cheapest of them (it costs next to nothing)" in verdict.sentence


def test_two_baselines_are_compared_by_their_rows():
    verdict = verdict_of([*answers({"a": 0.9}), *baselines_of({"bag": 0.7, "majority": 0.3})])
    assert gap_of(verdict, "bag", "majority").call == "better"


def test_copies_of_a_baseline_add_nothing():
    one = baselines_of({"bag": 0.6})[0]
    copies = dataclasses.replace(one, seeds=range(3), scores=np.repeat(one.scores, 3, axis=0))
    arms = answers({"a": 0.7, "b": 0.6}, seeds=range(3))
    once, thrice = verdict_of([*arms, one]), verdict_of([*arms, copies])
    assert gap_of(once, "a", "bag").mean == pytest.approx(gap_of(thrice, "a", "bag").mean)
    assert gap_of(once, "a", "bag").plain_low == pytest.approx(gap_of(thrice, "a", "bag").plain_low, abs=0.003)


def test_a_baseline_with_luck_of_its_own_is_an_arm_like_others():
    verdict = verdict_of([*answers({"a": 0.7}), *answers({"fasttext": 0.65}, run_sd=0.05, baseline=True)])
    assert verdict.best_baseline == "fasttext"
    assert gap_of(verdict, "a", "fasttext").seeds == 3
    assert gap_of(verdict, "a", "fasttext").call == "undecided"


def test_next_to_nothing_is_not_minus_zero():
    a = answers({"a": 0.7})[0]
    bag = a.scores[:1].copy()
    bag[0, np.flatnonzero(~bag[0])[0]] = True
    same = dataclasses.replace(a, scores=np.repeat(a.scores[:1], 3, axis=0))
    verdict = verdict_of([same, ArmScores("bag", [0], bag, baseline=True)])
    assert "+0.0 points against bag" in verdict.sentence


# Failures


def test_a_run_at_the_majority_class_failed():
    means = {"a": [0.7, 0.702, 0.698], "rnn": [0.55, 0.3, 0.551]}
    arms = [*measured(means), *measured({"majority": [0.3]})]
    arms[-1] = dataclasses.replace(arms[-1], baseline=True)
    verdict = verdict_of(arms)
    assert verdict.failures["rnn"].failed == (1,)
    assert verdict.failures["rnn"].runs == 3
    assert "1 of 3 seeds of rnn failed to learn" in verdict.sentence
    assert verdict.estimates["rnn"].mean == pytest.approx(np.mean(means["rnn"]), abs=0.001)  # failures count


def test_a_run_that_varies_like_others_did_not_fail():
    noisy = {"a": [0.70, 0.64, 0.76], "b": [0.71, 0.66, 0.60], "c": [0.68, 0.75, 0.62]}
    assert verdict_of(measured(noisy)).failures == {}
    one_noisy = {"a": [0.80, 0.801, 0.799], "b": [0.81, 0.808, 0.811], "rnn": [0.80, 0.74, 0.77]}
    assert verdict_of(measured(one_noisy)).failures == {}


def test_diverged_runs_are_failures():
    a, b = measured({"a": [0.7, 0.702, 0.698], "b": [0.7, 0.5, 0.698]})
    verdict = verdict_of([a, dataclasses.replace(b, diverged=[1])])
    assert verdict.failures["b"].failed == verdict.failures["b"].diverged == (1,)


def test_an_arm_that_fails_is_compared_at_its_best_before_anything_is_firm():
    """Its runs that learnt are clearly better: more seeds may show that failures were bad luck."""
    means = {"gru": [0.90, 0.905, 0.895, 0.9, 0.9], "rnn": [0.95, 0.952, 0.5, 0.949, 0.951]}
    verdict = verdict_of(measured(means))
    assert verdict.recommended == "gru"
    assert verdict.doubtful == ["rnn"]
    assert not verdict.firm


# What is missing


def test_one_seed_is_no_verdict():
    verdict = verdict_of([*answers({"a": 0.9, "b": 0.2}, seeds=[1]), *baselines_of({"bag": 0.1})])
    assert verdict.recommended is None
    assert verdict.best == "a"
    assert verdict.best_group == []
    assert not verdict.firm
    assert verdict.seeds_unknown == ["a", "b"]
    gap = gap_of(verdict, "a", "b")
    assert gap.p == gap.p_holm == 1
    assert gap.call == "undecided"
    assert not gap.known
    assert verdict.sentence.startswith("Cannot tell yet")
    assert "At least 2 more seeds per model" in verdict.sentence
    assert "The best baseline is bag (" in verdict.sentence
    assert verdict.estimates["a"].low < 0.9 < verdict.estimates["a"].high


def test_no_finished_run_at_all():
    verdict = judge([ArmScores("rnn", [], np.zeros((0, 9)))], np.arange(9))
    check_sound(verdict)
    assert verdict.recommended is verdict.best is None
    assert verdict.unfinished == ["rnn"]
    assert "there is nothing to compare" in verdict.sentence
    check_sound(judge([], np.arange(9)))


def test_baselines_alone_are_no_comparison():
    gone = ArmScores("rnn", [], np.zeros((0, ROWS)))
    verdict = verdict_of([*baselines_of({"bag": 0.7, "majority": 0.3}), gone])
    assert verdict.recommended is verdict.best_model is None
    assert "No model has a finished run" in verdict.sentence


def test_a_single_run_is_not_recommended_but_stays_in_doubt():
    arms = answers({"a": 0.7, "b": 0.6, "c": 0.9})
    gone = ArmScores("rnn", [], np.zeros((0, ROWS), np.uint8), 0.1)
    single = dataclasses.replace(arms[2], seeds=[2], scores=arms[2].scores[1:2])
    verdict = verdict_of([arms[0], arms[1], single, gone])
    assert verdict.recommended == "a"
    assert verdict.best == "c"
    assert not verdict.firm
    assert "c" in verdict.doubtful
    assert verdict.unfinished == ["rnn"]
    assert verdict.seeds_unknown == ["c"]
    assert "No finished run: rnn." in verdict.sentence
    assert "Only 1 of 3 runs, which is too few to recommend: c." in verdict.sentence
    assert "rnn" not in verdict.estimates


def test_all_runs_count_where_some_are_missing():
    arms = answers({"a": 0.70, "b": 0.66}, seeds=range(5))
    b = dataclasses.replace(arms[1], seeds=[0, 2, 4], scores=arms[1].scores[[0, 2, 4]])
    verdict = verdict_of([arms[0], b])
    gap = gap_of(verdict, "a", "b")
    assert gap.mean == pytest.approx(arms[0].scores.mean() - b.scores.mean())
    assert gap.seeds == pytest.approx(2 / (1 / 5 + 1 / 3))
    assert "Only 3 of 5 runs: b." in verdict.sentence


def test_seeds_need_not_be_common_to_be_evidence():
    arms = answers({"a": 0.70, "b": 0.50}, seeds=[1, 2, 3])
    apart = verdict_of([arms[0], dataclasses.replace(arms[1], seeds=[4, 5, 6])])
    assert gap_of(apart, "a", "b").call == "better"


def test_identical_predictions():
    a = answers({"a": 0.7}, costs={"a": 5.0}, seeds=range(8))[0]
    verdict = verdict_of([a, dataclasses.replace(a, label="b", cost=2.0)])
    assert verdict.recommended == "b"
    assert verdict.firm
    gap = verdict.differences[0]
    assert gap.mean == 0
    assert gap.p == pytest.approx(1)
    assert gap.call == "equal"
    assert 0 < gap.high < 0.001  # no row differed, of 4,000: not "can't ever differ"


def test_all_right_and_all_wrong():
    right, wrong = np.ones((3, 200), np.uint8), np.zeros((3, 200), np.uint8)
    verdict = verdict_of([ArmScores("a", [1, 2, 3], right, 1.0), ArmScores("b", [1, 2, 3], wrong, 1.0)])
    assert verdict.best_group == ["a"]
    assert verdict.estimates["a"].mean == verdict.estimates["a"].high == 1
    assert verdict.estimates["a"].low == pytest.approx(1 - 3 / 200, abs=0.003)
    assert gap_of(verdict, "a", "b").mean == 1


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_a_tiny_test_set_tells_nothing(rows: int, seeds: int):
    random = np.random.default_rng(rows)
    arms = [ArmScores(name, range(seeds), random.random((seeds, rows)) < 0.7, 1.0) for name in "abcde"]
    verdict = verdict_of([*arms, ArmScores("bag", [0], np.ones((1, rows)), baseline=True)])
    assert all(gap.call == "undecided" for gap in verdict.differences)
    assert not verdict.firm
    check_sound(judge(arms, np.zeros(rows, int)))  # a single group


def test_a_single_arm():
    verdict = verdict_of(answers({"a": 0.7}))
    assert verdict.recommended == "a"
    assert verdict.firm
    assert verdict.differences == []
    assert "there is nothing to compare it with" in verdict.sentence


# Splits that vary


def test_the_majority_class_has_nothing_to_learn():
    """It answers at its own level on every split: that is no failure of its seeds."""
    arms = runs_on_splits({"majority": [0.3, 0.31, 0.29, 0.3, 0.3], "a": [0.8, 0.82, 0.79, 0.83, 0.81]})
    verdict = judge([dataclasses.replace(arms[0], baseline=True), arms[1]], np.zeros(1, int), test_per_train=0.25)
    assert verdict.failures == {}


def runs_on_splits(means: Mapping[str, Sequence[float]]) -> list[ArmScores]:
    return [ArmScores(label, range(len(runs)), np.array(runs)[:, None], 1.0) for label, runs in means.items()]


def test_varying_splits_are_judged_by_nadeau_and_bengio():
    a, b = [0.80, 0.82, 0.79, 0.83, 0.81], [0.75, 0.78, 0.77, 0.76, 0.77]
    verdict = judge(runs_on_splits({"a": a, "b": b}), np.zeros(1, int), test_per_train=0.25)
    check_sound(verdict)
    gap, difference = verdict.between("a", "b"), np.subtract(a, b)
    error = math.sqrt((1 / 5 + 0.25) * difference.var(ddof=1))
    assert gap.mean == pytest.approx(difference.mean())
    assert gap.plain_low == pytest.approx(difference.mean() - 2.7764 * error, abs=1e-4)
    assert verdict.luck == ["seeds", "rows", "split"]


def test_varying_splits_need_five_seeds():
    verdict = judge(runs_on_splits({"a": [0.8] * 4, "b": [0.7, 0.71, 0.69, 0.7]}), np.zeros(1, int), test_per_train=0.3)
    check_sound(verdict)
    assert verdict.recommended is None
    assert "a verdict needs 5 seeds" in verdict.sentence
    assert "At least 1 more seed per model is needed." in verdict.sentence


# Any score


def test_scores_of_which_lower_is_better():
    random = np.random.default_rng(0)
    rows = random.gamma(2, 1, 2_000)
    arms = [
        ArmScores(label, range(5), level * rows + random.normal(0, 0.1, (5, 2_000)), cost)
        for label, level, cost in (("a", 1.0, 5.0), ("b", 1.3, 1.0))
    ]
    verdict = judge(arms, np.arange(2_000), metric="error", unit="number", margin=0.05, lower_is_better=True)
    assert verdict.recommended == verdict.best == "a"
    gap = verdict.between("a", "b")
    assert (gap.better, gap.worse) == ("a", "b")
    assert gap.mean == pytest.approx(0.3 * rows.mean(), rel=0.02)
    estimate = verdict.estimates["a"]
    assert estimate.low < estimate.mean == pytest.approx(rows.mean(), rel=0.01)
    assert estimate.mean < estimate.high
    assert re.match(r"a \(error \d\.\d+, 95 % interval", verdict.sentence)
    assert "points" not in verdict.sentence
    assert figures(verdict.sentence) == figures(verdict.sentence_zh)


def test_with_too_few_groups_it_is_too_short_to_judge():
    """However clear it looks: two blocks of a series are two witnesses."""
    random = np.random.default_rng(0)
    rows = random.gamma(2, 1, 60)
    arms = [
        ArmScores("a", range(3), rows + random.normal(0, 0.01, (3, 60)), 2.0),
        ArmScores("b", range(3), 2 * rows + random.normal(0, 0.01, (3, 60)), 1.0),
        ArmScores("line", [0], 3 * rows[None], None, baseline=True),
    ]
    given = {"metric": "MASE", "unit": "number", "lower_is_better": True, "least": 0.0}
    groups = np.arange(60) // 15
    clear = judge(arms, np.arange(60), **given, fewest_groups=5)
    assert (clear.recommended, clear.too_short, clear.groups) == ("a", False, 60)
    short = judge(arms, groups, **given, fewest_groups=5)
    assert (short.recommended, short.firm, short.too_short, short.groups) == (None, False, True, 4)
    assert short.best_group == short.doubtful == []
    assert short.candidates == ["a", "b", "line"]
    assert {(gap.call, gap.p_holm) for gap in short.differences} == {("undecided", 1.0)}
    assert short.sentence.startswith("Too short to judge: the test part has 4 blocks")
    assert short.sentence_zh.startswith("序列太短")
    assert "measurably" not in short.sentence
    assert "more seed" not in short.sentence
    assert figures(short.sentence) == figures(short.sentence_zh)
    assert in_play(short, 10) == []
    assert judge(arms, groups, **given).recommended == "a"  # without the rule


def test_no_interval_goes_below_the_least_that_a_score_can_be():
    rows = np.random.default_rng(0).gamma(0.2, 1, 12)
    arms = [
        ArmScores(label, range(2), np.stack([level * rows, 1.5 * level * rows]))
        for label, level in (("a", 1), ("b", 2))
    ]
    given = {"metric": "MASE", "unit": "number", "lower_is_better": True}
    free = judge(arms, np.arange(12) // 6, **given)
    held = judge(arms, np.arange(12) // 6, **given, least=0.0)
    for label, estimate in held.estimates.items():
        assert free.estimates[label].low < 0 == estimate.low < estimate.mean < estimate.high
        assert (estimate.mean, estimate.high) == (free.estimates[label].mean, free.estimates[label].high)


def test_another_unit_gives_the_same_verdict():
    """Milliseconds or seconds, it is the same evidence."""
    random = np.random.default_rng(0)
    arms = [ArmScores(label, range(3), random.normal(level, 1, (3, 900)), 1.0) for label, level in (("a", 5), ("b", 6))]
    larger = [dataclasses.replace(arm, scores=1000 * arm.scores) for arm in arms]
    one = judge(arms, np.arange(900), unit="number", margin=0.1)
    other = judge(larger, np.arange(900), unit="number", margin=100)
    assert one.recommended == other.recommended
    assert one.between("a", "b").p == pytest.approx(other.between("a", "b").p)
    assert one.between("a", "b").chances == pytest.approx(other.between("a", "b").chances)


# Laws


def test_the_order_of_arms_seeds_and_rows_does_not_matter():
    arms = answers({"a": 0.70, "b": 0.69, "c": 0.66, "d": 0.65, "e": 0.5})
    for index in (3, 4):
        arms[index] = dataclasses.replace(arms[index], seeds=[3, 1], scores=arms[index].scores[[2, 0]])
    arms += baselines_of({"bag": 0.6, "majority": 0.3})
    expected = verdict_of(arms)
    turned = [dataclasses.replace(arm, seeds=list(arm.seeds)[::-1], scores=arm.scores[::-1]) for arm in reversed(arms)]
    assert verdict_of(turned) == expected
    shuffle = np.random.default_rng(0).permutation(ROWS)
    again = verdict_of([dataclasses.replace(arm, scores=arm.scores[:, shuffle]) for arm in arms])
    for ours, theirs in zip(again.differences, expected.differences, strict=True):
        assert dataclasses.astuple(ours)[2:9] == pytest.approx(dataclasses.astuple(theirs)[2:9], abs=1e-9)
    assert again.sentence == expected.sentence


def test_a_look_may_use_only_its_part_of_alpha():
    arms = answers({"a": 0.72, "b": 0.70}, run_sd=0.004, seeds=range(4))
    whole, part = verdict_of(arms), verdict_of(arms, spent=0.2)
    one, other = gap_of(whole, "a", "b"), gap_of(part, "a", "b")
    assert one.p == other.p
    assert other.low < one.low < one.high < other.high
    assert (one.plain_low, one.plain_high) == (other.plain_low, other.plain_high)


def test_labels_may_hold_anything():
    verdict = verdict_of(answers({"gru {hidden=64}": 0.7, "lstm %s": 0.7}))
    assert "gru {hidden=64}" in verdict.sentence


def test_another_metric_and_level_are_named():
    verdict = verdict_of(answers({"a": 0.7, "b": 0.5}), metric="exact match", alpha=0.1)
    assert "exact match" in verdict.sentence
    assert "90 % interval" in verdict.sentence
    narrow, wide = verdict.estimates["a"], verdict_of(answers({"a": 0.7, "b": 0.5})).estimates["a"]
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("arms", "groups", "message"),
    [
        ([ArmScores("a", [1], np.ones((2, 3)))], np.arange(3), r"a: scores must have shape \(1, 3\), found \(2, 3\)"),
        ([ArmScores("a", [1, 1], np.ones((2, 3)))], np.arange(3), "a: seeds must differ"),
        ([ArmScores("a", [1], np.ones((1, 3)))] * 2, np.arange(3), "labels must differ"),
        ([ArmScores("a", [1], np.ones((1, 3)))], np.zeros((3, 1)), "groups must be one number for each test row"),
    ],
)
def test_what_does_not_fit_together_is_refused(arms: list[ArmScores], groups: np.ndarray, message: str):
    with pytest.raises(ValueError, match=message):
        judge(arms, groups)


def test_points_are_said_without_a_sign_and_judged_as_shares():
    rng = np.random.default_rng(0)
    arms = [
        ArmScores(label, [0, 1, 2], (rng.random((3, 400)) < share).astype(float), 1.0)
        for label, share in (("gru", 0.6), ("rnn", 0.3))
    ]
    shares, points = (judge(arms, np.arange(400), metric="BLEU", unit=unit) for unit in ("percent", "points"))
    assert points.estimates == shares.estimates
    mean = points.estimates["gru"].mean
    assert f"{100 * mean:.1f} %" in shares.sentence
    assert f"{100 * mean:.1f}" in points.sentence
    assert f"{100 * mean:.1f} %" not in points.sentence
    assert "points" in points.sentence  # differences are
