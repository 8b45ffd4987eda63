"""The verdict: what it claims, when it refuses, and what it says."""

import dataclasses
import json
import math
import re
from collections.abc import Sequence

import numpy as np
import pytest

from rnnlab.judging.findings import ArmScores, Difference, Verdict
from rnnlab.judging.verdict import holm, judge
from rnnlab.judging.wording import CHINESE, ENGLISH

ROWS = 4_000


def answers(
    accuracy: dict[str, float],
    seeds: Sequence[int] = (1, 2, 3),
    rows: int = ROWS,
    run_sd: float = 0.002,
    costs: dict[str, float | None] | None = None,
) -> list[ArmScores]:
    """Arms with about these accuracies. Rows are hard or easy for all arms alike; runs differ a little."""
    random = np.random.default_rng(5)
    hardness = random.random(rows)
    arms = []
    for label, level in accuracy.items():
        own = np.clip(hardness + random.normal(0, 0.08, rows), 0, 1)
        shifts = random.normal(0, run_sd, len(seeds))[:, None]
        correct = own + random.normal(0, 0.05, (len(seeds), rows)) < level + shifts
        arms.append(ArmScores(label, list(seeds), correct, (costs or {}).get(label, 1.0)))
    return arms


def verdict_of(*args, **options) -> Verdict:
    """On rows that are their own groups; and whatever comes out must be sound."""
    verdict = judge(*args, groups=np.arange(args[0][0].correct.shape[-1]), **options)
    check_sound(verdict)
    return verdict


def check_sound(verdict: Verdict) -> None:
    text = json.dumps(dataclasses.asdict(verdict), allow_nan=False)  # raises at NaN or infinity
    assert "nan" not in verdict.sentence.lower() + verdict.sentence_zh.lower()
    assert json.loads(text)["sentence"] == verdict.sentence
    for estimate in verdict.estimates.values():
        assert 0 <= estimate.low <= estimate.mean <= estimate.high <= 1
    for gap in verdict.differences:
        assert -1 <= gap.low <= gap.mean <= gap.high <= 1
        assert 0 <= gap.p <= gap.p_holm <= 1
        assert not gap.distinguishable or gap.low > 0
    assert verdict.enough_seeds == (verdict.recommended is not None and not verdict.doubtful)
    assert figures(verdict.sentence) == figures(verdict.sentence_zh)


def figures(sentence: str) -> list[str]:
    return sorted(re.findall(r"[+−]?\d[\d,.]*\d|\d", sentence))


def gap_of(verdict: Verdict, worse: str) -> Difference:
    return next(gap for gap in verdict.differences if gap.worse == worse)


# Holm


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])  # 0.9 * 1 may not fall below 0.5 * 2
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_the_correction_is_over_every_pair_that_might_have_been_the_best():
    """Three arms make three pairs; a correction for the two pairs of the best would multiply by 2."""
    verdict = verdict_of(answers({"a": 0.70, "b": 0.67, "c": 0.60}, rows=600))
    assert verdict.best == "a"
    furthest = gap_of(verdict, "c")
    assert furthest.p_holm == pytest.approx(3 * furthest.p)


def test_equal_arms_are_rarely_called_worse_than_the_best():
    """20 times eight equal arms: without the correction a third of the verdicts would name a loser."""
    random = np.random.default_rng(4)
    named, uncorrected = 0, 0
    for _ in range(20):
        right = random.random((8, 5, 300)) < np.clip(random.normal(0.6, 0.5, (8, 1, 300)), 0, 1)
        verdict = verdict_of([ArmScores(str(index), range(5), rows, 1.0) for index, rows in enumerate(right)])
        named += len(verdict.best_group) < 8
        uncorrected += any(gap.p < 0.05 for gap in verdict.differences)
    assert named <= 2
    assert uncorrected >= 6


# What is told apart, and what is recommended


def test_a_clear_winner_is_recommended():
    verdict = verdict_of(answers({"rnn": 0.60, "lstm": 0.70, "gru": 0.64}))
    assert verdict.recommended == verdict.best == "lstm"
    assert verdict.best_group == ["lstm"]
    assert verdict.enough_seeds
    assert verdict.more_seeds == 0
    assert [gap.worse for gap in verdict.differences] == ["gru", "rnn"]
    assert all(gap.distinguishable for gap in verdict.differences)
    assert re.match(r"lstm \(accuracy [\d.]+ %, 95 % interval [\d.–]+\) is measurably better", verdict.sentence)


def test_of_equals_the_cheapest_is_recommended():
    arms = answers({"gru": 0.70, "lstm": 0.701, "rnn": 0.60}, costs={"gru": 7.1, "lstm": 9.0, "rnn": 3.0})
    verdict = verdict_of(arms)
    assert sorted(verdict.best_group) == ["gru", "lstm"]
    assert verdict.recommended == "gru"
    assert "gru is the cheapest of them (7.1 s an epoch)" in verdict.sentence
    assert "gru 是其中开销最小的（每轮 7.1 秒）" in verdict.sentence_zh
    gap = gap_of(verdict, "rnn")
    wanted = f"rnn by {100 * gap.mean:.1f} points ({100 * gap.low:.1f}–{100 * gap.high:.1f})"
    assert wanted in verdict.sentence


def test_costs_may_be_parameters_or_unknown():
    arms = answers({"gru": 0.70, "lstm": 0.70}, costs={"gru": 12_345, "lstm": 20_000})
    assert "(12,345 parameters)" in verdict_of(arms, cost_unit="parameters").sentence
    unknown = verdict_of(answers({"gru": 0.70, "lstm": 0.70}, costs={"gru": None, "lstm": math.nan}))
    assert unknown.recommended == unknown.best
    assert "costs are unknown" in unknown.sentence


def test_the_truth_lies_in_the_intervals():
    verdict = verdict_of(answers({"a": 0.70, "b": 0.66}, rows=40_000, seeds=range(5)))
    assert verdict.estimates["a"].low < 0.70 < verdict.estimates["a"].high
    assert gap_of(verdict, "b").low < 0.04 < gap_of(verdict, "b").high


def test_equal_within_the_margin_is_enough():
    arms = answers({"a": 0.70, "b": 0.70}, rows=40_000, seeds=range(8), run_sd=0.0)
    assert verdict_of(arms).enough_seeds
    strict = verdict_of(arms, margin=0.0001)
    assert not strict.enough_seeds
    assert "Cannot tell yet whether" in strict.sentence
    assert "recommended for now" in strict.sentence


def test_too_few_seeds_ask_for_more():
    verdict = verdict_of(answers({"a": 0.70, "b": 0.70}, rows=40_000, run_sd=0.02))
    assert not verdict.enough_seeds
    assert verdict.more_seeds is not None
    assert verdict.more_seeds > 0
    assert verdict.more_rows is None
    assert f"about {verdict.more_seeds} more seed" in verdict.sentence
    assert f"大约再加 {verdict.more_seeds} 个随机种子" in verdict.sentence_zh


def test_the_seeds_advised_mostly_do():
    """Take the advice, with fresh runs of the same two equal arms, and see whether the question is settled."""
    random = np.random.default_rng(0)

    def run(seeds: int) -> Verdict:
        right = [random.random((seeds, 8_000)) < 0.7 + random.normal(0, 0.006, (seeds, 1)) for _ in range(2)]
        return verdict_of([ArmScores(label, range(seeds), rows, 1.0) for label, rows in zip("ab", right, strict=True)])

    advice = [verdict.more_seeds for verdict in (run(4) for _ in range(12)) if verdict.more_seeds]
    assert len(advice) > 4
    assert np.mean([run(4 + more).enough_seeds for more in advice]) > 0.6


def test_a_larger_family_takes_more_seeds():
    """The cheap one is recommended until it is told apart, which takes more if more pairs are looked at."""
    costs: dict[str, float | None] = {"a": 9.0, "b": 1.0, "c": 9.0}
    pair = verdict_of(answers({"a": 0.72, "b": 0.70}, run_sd=0.01, costs=costs))
    triple = verdict_of(answers({"a": 0.72, "b": 0.70, "c": 0.40}, run_sd=0.01, costs=costs))
    assert pair.recommended == triple.recommended == "b"
    assert pair.doubtful == triple.doubtful == ["a"]
    assert (pair.more_seeds or 0) < (triple.more_seeds or 0)


def test_a_small_test_set_asks_for_rows():
    verdict = verdict_of(answers({"a": 0.70, "b": 0.70}, rows=150, seeds=range(6), run_sd=0.0))
    assert verdict.more_seeds is None
    assert verdict.more_rows is not None
    assert verdict.more_rows > 150
    assert f"about {verdict.more_rows:,} test rows would (there are 150)" in verdict.sentence


def test_groups_make_it_less_sure():
    arms = answers({"a": 0.70, "b": 0.68}, rows=400)
    copies = [dataclasses.replace(arm, correct=np.repeat(arm.correct, 25, axis=1)) for arm in arms]
    as_rows = judge(copies, np.arange(10_000))
    as_groups = judge(copies, np.repeat(np.arange(400), 25))
    assert as_rows.best_group == ["a"]
    assert sorted(as_groups.best_group) == ["a", "b"]


# Baselines


def test_a_model_that_beats_the_baselines():
    baselines = answers({"majority": 0.3, "bag": 0.6}, seeds=[0])
    verdict = verdict_of(answers({"a": 0.70, "b": 0.5}), baselines=baselines)
    assert verdict.recommended == "a"
    assert verdict.best_baseline == "bag"
    assert "a beats bag, the best baseline, by " in verdict.sentence
    assert {gap.worse for gap in verdict.differences} == {"b", "bag", "majority"}


def test_no_model_beats_the_baseline():
    baselines = answers({"majority": 0.3, "TF-IDF + logistic regression": 0.72}, seeds=[0])
    verdict = verdict_of(answers({"a": 0.70, "b": 0.5}), baselines=baselines)
    assert verdict.recommended == verdict.best_baseline == "TF-IDF + logistic regression"
    assert verdict.best == "a"
    assert verdict.enough_seeds
    assert verdict.sentence.startswith("None of the models measurably beats TF-IDF + logistic regression (accuracy ")
    assert ": use that." in verdict.sentence
    assert "没有任何模型可测地优于 TF-IDF" in verdict.sentence_zh
    assert gap_of(verdict, "TF-IDF + logistic regression").mean < 0


def test_a_baseline_hard_to_beat_is_used_for_now():
    verdict = verdict_of(answers({"a": 0.71}, rows=300), baselines=answers({"bag": 0.70}, seeds=[0], rows=300))
    assert verdict.recommended == "bag"
    assert not verdict.enough_seeds
    assert verdict.doubtful == ["a"]
    assert "for now, use that" in verdict.sentence


def test_the_recommended_one_beats_the_baseline_itself():
    """b is cheaper and not measurably worse than a, but not measurably better than the baseline either: a it is."""
    a, b, bag = answers({"a": 0.73, "b": 0.70, "bag": 0.70}, seeds=range(4), costs={"a": 9.0, "b": 1.0})
    unsteady = np.concatenate([a.correct[:2], b.correct[2:]])  # half of the runs of b are as good as a's
    bag = dataclasses.replace(bag, seeds=[0], correct=bag.correct[:1])
    verdict = verdict_of([a, dataclasses.replace(b, correct=unsteady)], baselines=[bag])
    assert sorted(verdict.best_group) == ["a", "b"]
    assert verdict.recommended == "a"
    assert "a is the cheapest of them that measurably beats bag" in verdict.sentence


def test_a_baseline_of_several_runs_is_averaged():
    one, five = answers({"bag": 0.6}, seeds=[0]), answers({"bag": 0.6}, seeds=range(5), run_sd=0.1)
    copies = [dataclasses.replace(one[0], seeds=range(5), correct=np.repeat(one[0].correct, 5, axis=0))]
    arms = answers({"a": 0.7, "b": 0.6})
    assert verdict_of(arms, baselines=one) == verdict_of(arms, baselines=copies)
    assert verdict_of(arms, baselines=five).estimates["bag"].mean == pytest.approx(five[0].correct.mean())


def test_next_to_nothing_is_not_minus_zero():
    a = answers({"a": 0.7})[0]
    bag = a.correct[:1].copy()
    bag[0, np.flatnonzero(~bag[0])[0]] = True
    verdict = verdict_of(
        [dataclasses.replace(a, correct=np.repeat(a.correct[:1], 3, axis=0))], baselines=[ArmScores("bag", [0], bag)]
    )
    assert -0.0005 < gap_of(verdict, "bag").mean < 0
    assert "at +0.0 points against it" in verdict.sentence


# What is missing


def test_one_seed_is_no_verdict():
    verdict = verdict_of(answers({"a": 0.9, "b": 0.2}, seeds=[1]), baselines=answers({"bag": 0.1}, seeds=[0]))
    assert verdict.recommended is None
    assert verdict.best == "a"
    assert verdict.best_group == ["a", "b"]
    assert not verdict.enough_seeds
    assert verdict.more_seeds == 2
    assert verdict.seeds_unknown == ["a", "b"]
    assert all(gap.p == gap.p_holm == 1 and not gap.distinguishable for gap in verdict.differences)
    assert verdict.sentence.startswith("Cannot tell yet")
    assert "At least 2 more seeds" in verdict.sentence
    assert verdict.estimates["a"].low < 0.9 < verdict.estimates["a"].high


def test_no_finished_run_at_all():
    verdict = judge([ArmScores("rnn", [], np.zeros((0, 9)))], np.arange(9))
    check_sound(verdict)
    assert verdict.recommended is verdict.best is None
    assert verdict.unfinished == ["rnn"]
    assert "there is nothing to compare" in verdict.sentence
    check_sound(judge([], np.arange(9)))


def test_diverged_arms_are_listed_and_the_rest_is_judged():
    arms = answers({"a": 0.7, "b": 0.6, "c": 0.9})
    gone = ArmScores("rnn", [], np.zeros((0, ROWS), np.uint8), 0.1)
    single = dataclasses.replace(arms[2], seeds=[2], correct=arms[2].correct[1:2])
    verdict = verdict_of([arms[0], arms[1], single, gone])
    assert verdict.recommended == verdict.best == "a"  # c may be better; its single run doesn't show it
    assert verdict.unfinished == ["rnn"]
    assert verdict.seeds_unknown == ["c"]
    assert "No finished run: rnn." in verdict.sentence
    assert "Too few finished runs to judge (1 of 3): c." in verdict.sentence
    assert "c" in verdict.estimates
    assert "rnn" not in verdict.estimates


def test_missing_seeds_are_paired_by_what_is_common():
    arms = answers({"a": 0.70, "b": 0.66}, seeds=range(5))
    b = dataclasses.replace(arms[1], seeds=[0, 2, 4], correct=arms[1].correct[[0, 2, 4]])
    verdict = verdict_of([arms[0], b])
    gap = gap_of(verdict, "b")
    assert gap.seeds == 3
    assert gap.mean == pytest.approx(arms[0].correct[[0, 2, 4]].mean() - b.correct.mean())
    assert "Finished only 3 of 5 runs: b." in verdict.sentence


def test_no_common_seed_is_no_evidence():
    arms = answers({"a": 0.70, "b": 0.50}, seeds=[1, 2])
    verdict = verdict_of([arms[0], dataclasses.replace(arms[1], seeds=[3, 4])])
    assert verdict.best_group == ["a", "b"]
    assert gap_of(verdict, "b").p == 1


def test_identical_predictions():
    a = answers({"a": 0.7}, costs={"a": 5.0})[0]
    verdict = verdict_of([a, dataclasses.replace(a, label="b", cost=2.0)])
    assert verdict.recommended == "b"
    assert verdict.enough_seeds
    gap = verdict.differences[0]
    assert gap.mean == 0
    assert gap.p == pytest.approx(1)
    assert 0 < gap.high < 0.001  # no row differed, of 4,000: not "can't ever differ"


def test_all_right_and_all_wrong():
    right, wrong = np.ones((3, 200), np.uint8), np.zeros((3, 200), np.uint8)
    verdict = verdict_of([ArmScores("a", [1, 2, 3], right, 1.0), ArmScores("b", [1, 2, 3], wrong, 1.0)])
    assert verdict.best_group == ["a"]
    assert verdict.estimates["a"].mean == verdict.estimates["a"].high == 1
    assert verdict.estimates["a"].low == pytest.approx(1 - 3 / 200, abs=0.003)
    assert gap_of(verdict, "b").mean == 1


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_a_tiny_test_set_tells_nothing(rows: int, seeds: int):
    random = np.random.default_rng(rows)
    arms = [ArmScores(name, range(seeds), random.random((seeds, rows)) < 0.7, 1.0) for name in "abcde"]
    verdict = verdict_of(arms, baselines=[ArmScores("bag", [0], np.ones((1, rows)))])
    assert not any(gap.distinguishable for gap in verdict.differences)
    assert not verdict.enough_seeds
    check_sound(judge(arms, np.zeros(rows, int)))  # a single group


def test_a_single_arm():
    verdict = verdict_of(answers({"a": 0.7}))
    assert verdict.recommended == "a"
    assert verdict.differences == []
    assert "there is no other model" in verdict.sentence


# Laws


def test_the_order_of_arms_seeds_and_rows_does_not_matter():
    arms = answers({"a": 0.70, "b": 0.69, "c": 0.66, "d": 0.65, "e": 0.5})
    for index in (3, 4):
        arms[index] = dataclasses.replace(arms[index], seeds=[3, 1], correct=arms[index].correct[[2, 0]])
    baselines = answers({"bag": 0.6, "majority": 0.3}, seeds=[0])
    expected = verdict_of(arms, baselines=baselines)
    turned = [
        dataclasses.replace(arm, seeds=list(arm.seeds)[::-1], correct=arm.correct[::-1]) for arm in reversed(arms)
    ]
    assert verdict_of(turned, baselines=baselines[::-1]) == expected
    shuffle = np.random.default_rng(0).permutation(ROWS)
    moved = [dataclasses.replace(arm, correct=arm.correct[:, shuffle]) for arm in (*arms, *baselines)]
    again = verdict_of(moved[:5], baselines=moved[5:])
    for ours, theirs in zip(again.differences, expected.differences, strict=True):
        assert dataclasses.astuple(ours)[2:7] == pytest.approx(dataclasses.astuple(theirs)[2:7], abs=1e-9)
    assert again.sentence == expected.sentence


def test_first_places_are_shares():
    verdict = verdict_of(answers({"a": 0.70, "b": 0.70, "c": 0.5}))
    assert sum(verdict.first_places.values()) == pytest.approx(1)
    assert verdict.first_places["c"] == 0
    assert 0.02 < verdict.first_places[str(verdict.best)] <= 1


def test_both_languages_have_the_same_phrases_and_gaps():
    assert ENGLISH.keys() == CHINESE.keys()
    for kind in ENGLISH:
        assert sorted(re.findall(r"{(\w+)", ENGLISH[kind])) == sorted(re.findall(r"{(\w+)", CHINESE[kind])), kind


def test_labels_may_hold_anything():
    verdict = verdict_of(answers({"gru {hidden=64}": 0.7, "lstm %s": 0.7}))
    assert "gru {hidden=64}" in verdict.sentence


def test_another_metric_and_level_are_named():
    verdict = verdict_of(answers({"a": 0.7, "b": 0.5}), metric_name="exact match", alpha=0.1)
    assert "exact match" in verdict.sentence
    assert "90 % interval" in verdict.sentence
    narrow, wide = verdict.estimates["a"], verdict_of(answers({"a": 0.7, "b": 0.5})).estimates["a"]
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("arms", "groups", "message"),
    [
        ([ArmScores("a", [1], np.ones((2, 3)))], np.arange(3), r"a: correct must have shape \(1, 3\), found \(2, 3\)"),
        ([ArmScores("a", [1, 1], np.ones((2, 3)))], np.arange(3), "a: seeds must differ"),
        ([ArmScores("a", [1], np.ones((1, 3)))] * 2, np.arange(3), "labels must differ"),
        ([ArmScores("a", [1], np.ones((1, 3)))], np.zeros((3, 1)), "groups must be one number for each test row"),
    ],
)
def test_what_does_not_fit_together_is_refused(arms: list[ArmScores], groups: np.ndarray, message: str):
    with pytest.raises(ValueError, match=message):
        judge(arms, groups)
