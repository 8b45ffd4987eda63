"""From right and wrong answers to a verdict: which model to use, how sure that is, and what would make it surer.

Every two arms are compared over their common seeds and the same test rows. "The best" is picked by looking, so Holm's
correction is over all the pairs that might have been looked at, not only those with the best. Intervals are for one
difference at a time. Reasons and measured error rates: docs/decisions/0002-statistics.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rnnlab.judging.bootstrap import (
    POOL_SEEDS,
    Runs,
    Spread,
    Spreads,
    advise,
    group_sums,
    measure,
    measure_all,
    pool_all,
    resample,
)
from rnnlab.judging.findings import ArmScores, CostUnit, Difference, Estimate, Verdict
from rnnlab.judging.wording import CHINESE, ENGLISH, facts_of, say


def judge(
    arms: Sequence[ArmScores],
    groups: np.ndarray,
    baselines: Sequence[ArmScores] = (),
    metric_name: str = "accuracy",
    alpha: float = 0.05,
    margin: float = 0.01,
    cost_unit: CostUnit = "seconds",
) -> Verdict:
    """Compare ``arms`` over seeds and test rows; ``groups (N,)`` numbers the rows that belong together.

    A baseline is taken as fixed: its runs (one, as a rule) are averaged and paired with every seed.
    """
    groups = np.asarray(groups)
    _check(arms, baselines, groups)
    sizes = group_sums(np.ones((1, len(groups))), groups)[1]
    tables = [_runs(arm, groups) for arm in sorted(arms, key=lambda arm: arm.label)]
    fixed = [_averaged(_runs(arm, groups)) for arm in sorted(baselines, key=lambda arm: arm.label) if len(arm.seeds)]
    most_runs = max((len(table.seeds) for table in tables), default=0)
    contenders = [table for table in tables if len(table.seeds) >= max(1, min(2, most_runs))]
    costs = {arm.label: _cost(arm) for arm in arms}

    evidence = _Evidence.of(pool_all(measure_all(contenders, fixed, sizes), contenders, fixed), alpha)
    ranking = evidence.ranking([table.label for table in contenders], costs)
    fixed_ranking = evidence.ranking([table.label for table in fixed], {})
    best_baseline = fixed_ranking[0] if fixed_ranking else None
    against_best = {other: evidence.difference(ranking[0], other) for other in (ranking[1:] + fixed_ranking) if ranking}
    best_group = [label for label in ranking if label == ranking[0] or not against_best[label].distinguishable]
    differences = list(against_best.values())
    recommended = None
    if most_runs > 1:
        recommended = _recommend(evidence, ranking, best_group, best_baseline, costs)
        if best_baseline and recommended not in (ranking[0], best_baseline):
            differences.append(evidence.difference(recommended, best_baseline))

    doubtful = [
        label
        for label in ranking
        if recommended not in (None, label) and evidence.difference(label, str(recommended)).high > margin
    ]
    more_seeds, more_rows = (max(0, POOL_SEEDS - most_runs), None)
    if recommended:
        questions = [evidence.spreads.between(label, recommended) for label in doubtful]
        more_seeds, more_rows = advise(questions, len(groups), alpha, alpha / max(1, len(evidence.p)), margin)

    one_run = [table for table in tables if len(table.seeds) == 1]
    singles = {table.label: measure(table.sums, sizes) for table in one_run} | evidence.spreads.single
    verdict = Verdict(
        recommended=recommended,
        best=ranking[0] if ranking else None,
        best_group=best_group,
        best_baseline=best_baseline,
        enough_seeds=recommended is not None and not doubtful,
        more_seeds=more_seeds,
        more_rows=more_rows,
        doubtful=doubtful,
        sentence="",
        sentence_zh="",
        estimates={label: _estimate(spread, alpha) for label, spread in singles.items()},
        differences=differences,
        first_places=_first_places(contenders, sizes),
        seeds_unknown=[table.label for table in one_run],
        unfinished=sorted(arm.label for arm in (*arms, *baselines) if not len(arm.seeds)),
        runs={table.label: len(table.seeds) for table in tables},
        costs={label: cost if math.isfinite(cost) else None for label, cost in costs.items()},
        cost_unit=cost_unit,
        seeds=len({seed for table in tables for seed in table.seeds}),
        rows=len(groups),
        metric=metric_name,
        alpha=alpha,
        margin=margin,
    )
    facts = facts_of(verdict)
    return replace(verdict, sentence=say(facts, ENGLISH), sentence_zh=say(facts, CHINESE))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the smallest of m times m, the next times m - 1 …, never falling, at most 1."""
    order = np.argsort(p_values, kind="stable")
    stepped = np.asarray(p_values, dtype=np.float64)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return corrected.tolist()


@dataclass(frozen=True)
class _Evidence:
    """The spreads, with the p values of all pairs."""

    spreads: Spreads
    alpha: float
    p: dict[tuple[str, str], float]
    p_holm: dict[tuple[str, str], float]

    @classmethod
    def of(cls, spreads: Spreads, alpha: float) -> "_Evidence":
        # A single seed leaves the larger part of chance unknown: no evidence, p = 1.
        p = {pair: s.tail(abs(s.mean)) if s.seeds > 1 else 1.0 for pair, s in spreads.pairs.items()}
        return cls(spreads, alpha, p, dict(zip(p, holm(list(p.values())), strict=True)))

    def ranking(self, labels: Sequence[str], costs: dict[str, float]) -> list[str]:
        """The best first; of equals the cheaper, then by name."""
        return sorted(labels, key=lambda label: (-self.spreads.single[label].mean, costs.get(label, 0.0), label))

    def difference(self, better: str, worse: str) -> Difference:
        spread = self.spreads.between(better, worse)
        pair = (better, worse) if (better, worse) in self.p else (worse, better)
        low, high = _interval(spread, self.alpha, -1.0)
        return Difference(
            better=better,
            worse=worse,
            mean=spread.mean,
            low=low,
            high=high,
            p=self.p[pair],
            p_holm=self.p_holm[pair],
            distinguishable=spread.mean > 0 and self.p_holm[pair] < self.alpha,
            seeds=spread.seeds,
        )


def _recommend(
    evidence: _Evidence, ranking: list[str], best_group: list[str], best_baseline: str | None, costs: dict[str, float]
) -> str:
    """The cheapest of the best group that measurably beats the best baseline; that baseline if no model does."""
    eligible = best_group
    if best_baseline:
        winners = [label for label in ranking if evidence.difference(label, best_baseline).distinguishable]
        if not winners:
            return best_baseline
        # If only models outside the best group beat it, then so does the best group, which measurably beats those.
        eligible = [label for label in best_group if label in winners] or best_group
    return min(eligible, key=lambda label: (costs[label], ranking.index(label)))


def _first_places(contenders: Sequence[Runs], sizes: np.ndarray) -> dict[str, float]:
    if not contenders:
        return {}
    common = sorted(set.intersection(*(set(runs.seeds) for runs in contenders)))
    sums = [
        runs.sums[np.isin(runs.seeds, common)] if common else runs.sums.mean(axis=0, keepdims=True)
        for runs in contenders
    ]
    means = resample(np.stack(sums), sizes)  # (draws, A)
    firsts = means >= means.max(axis=1, keepdims=True) - 1e-12
    shares = (firsts / firsts.sum(axis=1, keepdims=True)).mean(axis=0)  # equals share a first place
    return {runs.label: float(share) for runs, share in zip(contenders, shares, strict=True)}


def _check(arms: Sequence[ArmScores], baselines: Sequence[ArmScores], groups: np.ndarray) -> None:
    if groups.ndim != 1 or not len(groups):
        raise ValueError(f"groups must be one number for each test row, found shape {groups.shape}")
    labels = [arm.label for arm in (*arms, *baselines)]
    if len(set(labels)) < len(labels):
        raise ValueError(f"labels must differ, found {', '.join(sorted(labels))}")
    for arm in (*arms, *baselines):
        if len(set(arm.seeds)) < len(arm.seeds):
            raise ValueError(f"{arm.label}: seeds must differ, found {list(arm.seeds)}")
        if len(arm.seeds) and arm.correct.shape != (len(arm.seeds), len(groups)):
            wanted = (len(arm.seeds), len(groups))
            raise ValueError(f"{arm.label}: correct must have shape {wanted}, found {arm.correct.shape}")


def _runs(arm: ArmScores, groups: np.ndarray) -> Runs:
    if not len(arm.seeds):
        return Runs(arm.label, (), np.zeros((0, 0)))
    order = np.argsort(arm.seeds)
    return Runs(arm.label, tuple(sorted(arm.seeds)), group_sums(np.asarray(arm.correct)[order], groups)[0])


def _averaged(runs: Runs) -> Runs:
    return Runs(runs.label, runs.seeds[:1], runs.sums.mean(axis=0, keepdims=True))


def _cost(arm: ArmScores) -> float:
    """Unknown costs are infinite: such an arm is never the cheaper one."""
    return math.inf if arm.cost is None or math.isnan(arm.cost) else float(arm.cost)


def _interval(spread: Spread, alpha: float, lowest: float) -> tuple[float, float]:
    reach = spread.reach(alpha)
    return max(lowest, spread.mean - reach), min(1.0, spread.mean + reach)


def _estimate(spread: Spread, alpha: float) -> Estimate:
    return Estimate(spread.mean, *_interval(spread, alpha, 0.0))
