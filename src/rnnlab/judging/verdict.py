"""From scores per test row to a verdict: which model to use, how sure that is, and what would make it surer.

Arms and baselines compete in one list. `spread` and `luck` say how much luck is in every difference, `failures` which
runs failed to learn, `decision` what to recommend and by how much the chosen score is too high, `advice` what would
settle it; `wording` says it. Reasons and measured error rates: docs/decisions/0002-statistics.md.
"""

import math
from collections.abc import Container, Sequence
from dataclasses import replace

import numpy as np

from rnnlab.judging.advice import Question, advise
from rnnlab.judging.decision import DOUBT, Decision, decide, optimism
from rnnlab.judging.failures import find_failures, learnt_only
from rnnlab.judging.findings import ArmScores, Call, CostUnit, Difference, Estimate, Failures, Unit, Verdict
from rnnlab.judging.luck import Runs, Spreads, measure_all, measure_splits
from rnnlab.judging.spread import Spread, group_sums
from rnnlab.judging.wording import sentence_of

EQUAL = 0.95  # the chance of being within the margin, from which on two arms are called equal
ROUNDING = 1e-12  # equal means may differ by this much
MAJORITY = "majority"  # the baseline by this name is what a run that failed to learn is measured by


def judge(
    arms: Sequence[ArmScores],
    groups: np.ndarray,
    *,
    metric: str = "accuracy",
    alpha: float = 0.05,
    margin: float = 0.01,
    cost_unit: CostUnit = "seconds",
    unit: Unit = "percent",
    lower_is_better: bool = False,
    least: float | None = None,
    fewest_groups: int = 1,
    test_per_train: float | None = None,
    spent: float = 1.0,
    look: int = 0,
) -> Verdict:
    """Compare ``arms``, baselines among them, over seeds and test rows; ``groups (N,)`` numbers the rows that belong
    together. A score is a share of right answers (``unit="percent"``) or any number, and so is the ``margin``: what a
    person would not care about. ``least`` is what such a number can't go below. With fewer than ``fewest_groups`` it is
    too short to judge: nothing is recommended, and nothing is measurably worse.

    ``test_per_train`` is given where every seed drew its own split, as the number of test rows per training row: each
    run then has one score, its own mean, and N is 1. ``spent`` is the part of alpha that this look may use, where seeds
    are added until it is sure (see `looks`).
    """
    groups = np.asarray(groups)
    _check(arms, groups)
    sign = -1.0 if lower_is_better else 1.0
    arms = sorted(arms, key=lambda arm: arm.label)
    tables = [_runs(arm, groups, sign) for arm in arms if len(arm.seeds)]
    sizes = group_sums(np.ones((1, len(groups))), groups)[1]
    scale = _scale(arms, unit)
    too_short = len(sizes) < fewest_groups

    def spreads_of(some: Sequence[Runs]) -> Spreads:
        found = measure_all(some, sizes, scale) if test_per_train is None else measure_splits(some, test_per_train)
        return found.unknown if too_short else found

    costs = {arm.label: _cost(arm) for arm in arms}
    baselines = [arm.label for arm in arms if arm.baseline and len(arm.seeds)]
    cut_short = {arm.label: arm.longer for arm in arms if arm.longer is not None and len(arm.seeds)}

    spreads = spreads_of(tables)
    majority = float(spreads.single[MAJORITY].mean) if MAJORITY in baselines else None
    diverged = {arm.label: arm.diverged for arm in arms}
    learning = [runs for runs in tables if runs.label != MAJORITY or majority is None]
    lowest = None if unit == "number" else 0.0 if sign > 0 else -1.0
    failures = find_failures(learning, diverged, spreads, majority, lowest, margin)
    told = any(spreads.single[runs.label].known for runs in tables if runs.label not in baselines)
    eligible = [label for label, spread in spreads.single.items() if spread.known] if told else []
    decision = decide(spreads, costs, margin, alpha * spent, eligible)
    chosen = decision.recommended
    at_best = spreads_of(learnt_only(tables, failures, chosen)) if failures else spreads
    worst = min((float(runs.means.min()) for runs in tables), default=0.0)
    floor = next(known for known in (majority, lowest, worst) if known is not None)
    questions = _questions(decision, at_best, tables, failures, floor, margin, alpha, spent)

    too_high = None
    if chosen is not None:
        able = [label for label in decision.ranking if label in eligible]
        too_high = optimism(spreads, able, np.array([costs[label] for label in able]), margin)
    seeds_of = {runs.label: len(runs.seeds) for runs in tables}
    models = [label for label in decision.ranking if label not in baselines]
    verdict = Verdict(
        recommended=chosen,
        firm=chosen is not None and not cut_short and not any(question.open for question in questions),
        best=decision.ranking[0] if decision.ranking else None,
        best_model=models[0] if models else None,
        best_baseline=next((label for label in decision.ranking if label in baselines), None),
        candidates=decision.candidates,
        best_group=decision.best_group,
        doubtful=[question.rival for question in questions if question.doubtful],
        advice=advise(questions, len(groups)),
        optimism=too_high,
        sentence="",
        sentence_zh="",
        estimates={
            label: _estimate(spread, alpha, unit, sign, least, too_high if label == chosen and too_high else 0.0)
            for label, spread in spreads.single.items()
        },
        differences=_differences(decision, spreads, alpha, alpha * spent, margin, unit, cut_short),
        failures=failures,
        cut_short=cut_short,
        scores={
            runs.label: {seed: sign * float(mean) for seed, mean in zip(runs.seeds, runs.means, strict=True)}
            for runs in tables
        },
        baselines=baselines,
        seeds_unknown=[runs.label for runs in tables if len(runs.seeds) == 1 and not runs.fixed],
        unfinished=[arm.label for arm in arms if not len(arm.seeds)],
        runs={label: seeds_of[label] for label in seeds_of if label not in baselines},
        costs={label: cost if math.isfinite(cost) else None for label, cost in costs.items()},
        cost_unit=cost_unit,
        seeds=len({seed for runs in tables if not runs.fixed for seed in runs.seeds}),
        too_short=too_short,
        groups=len(sizes),
        fewest_groups=fewest_groups,
        rows=len(groups),
        luck=["seeds", "rows"] if test_per_train is None else ["seeds", "rows", "split"],
        metric=metric,
        unit=unit,
        lower_is_better=lower_is_better,
        alpha=alpha,
        look=look,
        margin=margin,
    )
    said = sentence_of(verdict)
    return replace(verdict, sentence=said.en, sentence_zh=said.zh)


def _differences(
    decision: Decision,
    spreads: Spreads,
    alpha: float,
    alpha_spent: float,
    margin: float,
    unit: Unit,
    cut_short: Container[str],
) -> list[Difference]:
    """Nothing is called worse than another, or equal to it, that would have gone on improving."""
    found = []
    for number, better in enumerate(decision.ranking):
        for worse in decision.ranking[number + 1 :]:
            spread = spreads.between(better, worse)
            test = decision.tests[(better, worse) if (better, worse) in decision.tests else (worse, better)]
            above, below = spread.above(margin), 1 - spread.above(-margin)
            within = 1 - above - below
            call: Call = "undecided"
            if worse in cut_short:
                pass
            elif test.p_holm < alpha_spent:
                call = "better"
            elif spread.known and within >= EQUAL:
                call = "equal"
            lowest = -math.inf if unit == "number" else -1.0
            low, high = _interval(spread, alpha_spent / test.multiplier, lowest, -lowest)
            plain_low, plain_high = _interval(spread, alpha, lowest, -lowest)
            found.append(
                Difference(
                    better=better,
                    worse=worse,
                    mean=spread.mean if abs(spread.mean) > ROUNDING else 0.0,
                    low=low,
                    high=high,
                    plain_low=plain_low,
                    plain_high=plain_high,
                    p=test.p,
                    p_holm=test.p_holm,
                    multiplier=test.multiplier,
                    chances=(above, max(0.0, within), below),
                    call=call,
                    seeds=spread.seeds,
                    known=spread.known,
                )
            )
    return found


def _questions(
    decision: Decision,
    at_best: Spreads,
    tables: Sequence[Runs],
    failures: dict[str, Failures],
    floor: float,
    margin: float,
    alpha: float,
    spent: float,
) -> list[Question]:
    """Whether each of the other arms may be better than the recommended one: one question per arm."""
    if decision.recommended is None:
        return []
    chosen = next(runs for runs in tables if runs.label == decision.recommended)
    failed = len(failures[chosen.label].failed) if chosen.label in failures else 0
    return [
        Question(
            rival=label,
            spread=at_best.between(label, chosen.label),
            runs=math.inf if chosen.fixed else len(chosen.seeds) - failed,
            height=float(chosen.means.mean()) - floor,
            margin=margin,
            alpha=alpha * spent / len(decision.tests),
            doubt=DOUBT * spent,
        )
        for label in decision.rest
    ]


def _check(arms: Sequence[ArmScores], groups: np.ndarray) -> None:
    if groups.ndim != 1 or not len(groups):
        raise ValueError(f"groups must be one number for each test row, found shape {groups.shape}")
    labels = [arm.label for arm in arms]
    if len(set(labels)) < len(labels):
        raise ValueError(f"labels must differ, found {', '.join(sorted(labels))}")
    for arm in arms:
        if len(set(arm.seeds)) < len(arm.seeds):
            raise ValueError(f"{arm.label}: seeds must differ, found {list(arm.seeds)}")
        if len(arm.seeds) and arm.scores.shape != (len(arm.seeds), len(groups)):
            wanted = (len(arm.seeds), len(groups))
            raise ValueError(f"{arm.label}: scores must have shape {wanted}, found {arm.scores.shape}")


def _runs(arm: ArmScores, groups: np.ndarray, sign: float) -> Runs:
    order = np.argsort(arm.seeds)
    sums = sign * group_sums(np.asarray(arm.scores)[order], groups)[0]
    fixed = arm.baseline and len(arm.seeds) == 1
    return Runs(arm.label, tuple(sorted(arm.seeds)), sums, sums.sum(axis=1) / len(groups), fixed)


def _cost(arm: ArmScores) -> float:
    """Unknown costs are infinite: such an arm is never the cheaper one. A baseline costs next to nothing."""
    if arm.cost is None or math.isnan(arm.cost):
        return 0.0 if arm.baseline else math.inf
    return float(arm.cost)


def _scale(arms: Sequence[ArmScores], unit: Unit) -> float:
    """By how much a single row may err."""
    if unit != "number":
        return 1.0
    return 2 * max((float(np.std(arm.scores)) for arm in arms if len(arm.seeds)), default=0.0)


def _interval(spread: Spread, alpha: float, lowest: float, highest: float) -> tuple[float, float]:
    reach = spread.reach(alpha)
    return max(lowest, spread.mean - reach), min(highest, spread.mean + reach)


def _estimate(spread: Spread, alpha: float, unit: Unit, sign: float, least: float | None, too_high: float) -> Estimate:
    """The interval of an arm that was picked lies lower by its optimism; it always holds the mean as measured."""
    reach = spread.reach(alpha)
    low, high = spread.mean - too_high - reach, max(spread.mean, spread.mean - too_high + reach)
    if unit != "number":
        limits = (0.0, 1.0) if sign > 0 else (-1.0, 0.0)
        low, high = max(limits[0], low), min(limits[1], high)
    low, high = sorted((sign * low, sign * high))
    return Estimate(sign * spread.mean, low if least is None else max(least, low), high)
