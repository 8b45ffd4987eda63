"""From right and wrong answers to a verdict: which model to use, how sure that is, and what would make it surer.

Every two arms are compared over their common seeds and the same test rows. "The best" is picked by looking, so Holm's
correction is over all the pairs that might have been looked at, not only those with the best. Intervals are for one
difference at a time. Reasons and measured error rates: docs/decisions/0002-statistics.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rnnlab.analysis.bootstrap import (
    MOST_SEEDS,
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

CostUnit = Literal["seconds", "parameters"]


@dataclass(frozen=True, eq=False)
class ArmScores:
    """The finished runs of an arm on the test set: ``correct (S, N)`` of 0 and 1, a row for each of ``seeds``."""

    label: str
    seeds: Sequence[int]
    correct: np.ndarray
    cost: float | None = None  # seconds an epoch, or parameters; None when unknown


@dataclass(frozen=True)
class Estimate:
    """A score and its interval, between 0 and 1."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """``better`` minus ``worse`` over their common seeds (where runs are missing, ``mean`` may be below 0).

    Interval and ``p`` are of this pair alone, ``p_holm`` is corrected. With a single common seed, or none, the interval
    comes from the test rows alone and both p are 1: nothing can be told apart.
    """

    better: str
    worse: str
    mean: float
    low: float
    high: float
    p: float
    p_holm: float
    distinguishable: bool
    seeds: int


@dataclass(frozen=True)
class Verdict:
    """What ``judge`` found. Lists of labels are in order of their means, the best first.

    ``enough_seeds`` means: no other model may still turn out better than the recommended one by more than ``margin``.
    For each of them the interval of (it minus the recommended) ends at or below the margin. Models with fewer than two
    finished runs can't be recommended and don't count here; ``seeds_unknown`` and ``unfinished`` name them.
    """

    recommended: str | None  # cheapest of the best group; a baseline that no model measurably beats; None at one seed
    best: str | None  # by mean
    best_group: list[str]  # the best, and all models that can't be told apart from it
    best_baseline: str | None
    enough_seeds: bool
    more_seeds: int | None  # 0 when there are enough, None when more seeds alone won't tell
    more_rows: int | None  # test rows needed in all, when it is they that are too few
    doubtful: list[str]  # models that may still turn out better than the recommended one
    sentence: str
    sentence_zh: str
    estimates: dict[str, Estimate]  # of every arm and baseline with a finished run
    differences: list[Difference]  # best against all others and the baselines; recommended against the best baseline
    first_places: dict[str, float]  # share of crossed bootstrap resamples that an arm leads: a description, no test
    seeds_unknown: list[str]  # arms with a single finished run: their intervals are from the test rows alone
    unfinished: list[str]  # arms and baselines without a finished run
    runs: dict[str, int]  # finished runs of each arm
    costs: dict[str, float | None]
    cost_unit: CostUnit
    seeds: int  # different seeds among all finished runs
    rows: int
    metric: str
    alpha: float
    margin: float


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
    facts = _facts(verdict)
    return replace(verdict, sentence=_say(facts, ENGLISH), sentence_zh=_say(facts, CHINESE))


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


# What it says. The facts, with their figures, are chosen once; each language has a phrase for each kind of fact.

ENGLISH = {
    "separator": " ",
    "comma": ", ",
    "and": " and ",
    "or": " or ",
    "beside": " and ",
    "accuracy": "accuracy",
    "full": "{label} ({metric} {score} %, {level} % interval {interval})",
    "short": "{label} ({score} %)",
    "seconds": "{cost:.1f} s an epoch",
    "parameters": "{cost:,.0f} parameters",
    "nothing": "No model has a finished run: there is nothing to compare.",
    "one run": "Cannot tell yet: a single run doesn't show how much is chance. {best} came first; its interval is from "
    "the test rows alone. At least {more} more seeds are needed.",
    "baseline": "None of the models measurably beats {baseline}: {advice}. The best of them on {seeds} seeds is "
    "{best}, at {gap} points against it ({low} to {high}).",
    "use": "use that",
    "use for now": "for now, use that",
    "alone": "{best} on {seeds} seeds; there is no other model to compare it with.",
    "clear": "{best} is measurably better than every other model on {seeds} seeds: recommended.",
    "cheapest": "{group} can't be told apart on {seeds} seeds; {chosen} is the cheapest of them ({price}): {advice}.",
    "cheapest to beat": "{group} can't be told apart on {seeds} seeds; {chosen} is the cheapest of them that "
    "measurably beats {baseline} ({price}): {advice}.",
    "no price": "{group} can't be told apart on {seeds} seeds; costs are unknown, {chosen} comes first: {advice}.",
    "recommended": "recommended",
    "recommended for now": "recommended for now",
    "worse": "Worse than {best}: {items}.",
    "by": "{label} by {gap} points ({low}–{high})",
    "beats": "{label} beats {baseline}, the best baseline, by {gap} points ({low}–{high}).",
    "seeds": "Cannot tell yet whether {rivals} would be better than {chosen} by more than {margin} points; "
    "about {more} more seeds would tell.",
    "one seed": "Cannot tell yet whether {rivals} would be better than {chosen} by more than {margin} points; "
    "about {more} more seed would tell.",
    "rows": "Cannot tell yet whether {rivals} would be better than {chosen} by more than {margin} points; more seeds "
    "alone won't tell, about {more} test rows would (there are {rows}).",
    "too close": "Cannot tell yet whether {rivals} would be better than {chosen} by more than {margin} points; "
    "even {most} seeds would hardly tell.",
    "too few": "Too few finished runs to judge (1 of {seeds}): {labels}.",
    "missing": "Finished only {runs} of {seeds} runs: {labels}.",
    "unfinished": "No finished run: {labels}.",
}
CHINESE = {
    "separator": "",
    "comma": "、",
    "and": "和 ",
    "or": " 或 ",
    "beside": "、",
    "accuracy": "准确率",
    "full": "{label}（{metric} {score}%，{level}% 区间 {interval}）",
    "short": "{label}（{score}%）",
    "seconds": "每轮 {cost:.1f} 秒",
    "parameters": "{cost:,.0f} 个参数",
    "nothing": "没有任何模型完成运行，无从比较。",
    "one run": "目前无法判断：单次运行看不出偶然性有多大。暂列第一的是 {best}，其区间仅反映测试样本。"
    "至少还需要 {more} 个随机种子。",
    "baseline": "没有任何模型可测地优于 {baseline}：{advice}。在 {seeds} 个随机种子下，最好的模型是 {best}，"
    "与它相差 {gap} 个百分点（{low} 至 {high}）。",
    "use": "直接用它",
    "use for now": "暂时用它",
    "alone": "{best}，共 {seeds} 个随机种子；没有其他模型可供比较。",
    "clear": "{best}在 {seeds} 个随机种子下可测地优于其他所有模型：推荐。",
    "cheapest": "{group}在 {seeds} 个随机种子下分不出高下；{chosen} 是其中开销最小的（{price}）：{advice}。",
    "cheapest to beat": "{group}在 {seeds} 个随机种子下分不出高下；可测地优于 {baseline} 的几个中，"
    "{chosen} 开销最小（{price}）：{advice}。",
    "no price": "{group}在 {seeds} 个随机种子下分不出高下；开销未知，{chosen} 居首：{advice}。",
    "recommended": "推荐",
    "recommended for now": "暂时推荐",
    "worse": "不及 {best} 的有：{items}。",
    "by": "{label} 低 {gap} 个百分点（{low}–{high}）",
    "beats": "{label} 比最好的基线 {baseline} 高 {gap} 个百分点（{low}–{high}）。",
    "seeds": "目前无法判断 {rivals} 是否比 {chosen} 好 {margin} 个百分点以上；大约再加 {more} 个随机种子即可判断。",
    "one seed": "目前无法判断 {rivals} 是否比 {chosen} 好 {margin} 个百分点以上；大约再加 {more} 个随机种子即可判断。",
    "rows": "目前无法判断 {rivals} 是否比 {chosen} 好 {margin} 个百分点以上；仅增加随机种子不够，"
    "大约需要 {more} 条测试样本（现有 {rows} 条）。",
    "too close": "目前无法判断 {rivals} 是否比 {chosen} 好 {margin} 个百分点以上；即使 {most} 个随机种子也难以判断。",
    "too few": "完成的运行太少，无法评判（1/{seeds}）：{labels}。",
    "missing": "只完成部分运行（{runs}/{seeds}）：{labels}。",
    "unfinished": "没有完成的运行：{labels}。",
}


@dataclass(frozen=True)
class _Fact:
    """A phrase to be said, by the name of its kind, with what fills its gaps."""

    kind: str
    gaps: dict[str, "str | float | _Fact | _Several"]


@dataclass(frozen=True)
class _Several:
    """Things in a row, joined by "and" or "or"."""

    joint: str
    things: Sequence[str | _Fact]


def _say(facts: Sequence[_Fact], language: dict[str, str]) -> str:
    def said(thing: "str | float | _Fact | _Several") -> str | float:
        if isinstance(thing, _Fact):
            return language[thing.kind].format(**{gap: said(filling) for gap, filling in thing.gaps.items()})
        if isinstance(thing, _Several):
            *most, last = (str(said(part)) for part in thing.things)
            return language["comma"].join(most) + language[thing.joint] + last if most else last
        return thing

    return language["separator"].join(str(said(fact)) for fact in facts)


def _facts(verdict: Verdict) -> list[_Fact]:
    """What is worth saying, the answer first."""
    facts = [_answer(verdict)]
    best, chosen, baseline = verdict.best, verdict.recommended, verdict.best_baseline
    differences = {(gap.better, gap.worse): gap for gap in verdict.differences}
    if chosen and chosen != baseline:
        worse = [gap for gap in verdict.differences if gap.better == best and gap.worse in verdict.runs]
        items = [_by(gap) for gap in worse if gap.distinguishable]
        if items:
            facts.append(_Fact("worse", {"best": best or "", "items": _Several("and", items)}))
        if baseline and differences[chosen, baseline].distinguishable:
            figures = _by(differences[chosen, baseline]).gaps
            facts.append(_Fact("beats", {**figures, "label": chosen, "baseline": baseline}))
    if verdict.doubtful:
        doubt = {
            "rivals": _Several("or", verdict.doubtful),
            "chosen": chosen or "",
            "margin": _points(verdict.margin),
            "most": str(MOST_SEEDS),
            "rows": f"{verdict.rows:,}",
            "more": f"{verdict.more_seeds or verdict.more_rows or 0:,}",
        }
        kind = "one seed" if verdict.more_seeds == 1 else "seeds" if verdict.more_seeds else "rows"
        if not (verdict.more_seeds or verdict.more_rows):
            kind = "too close"
        facts.append(_Fact(kind, doubt))
    seeds = str(verdict.seeds)
    if verdict.seeds_unknown and chosen:
        facts.append(_Fact("too few", {"seeds": seeds, "labels": _Several("beside", verdict.seeds_unknown)}))
    for count in sorted({runs for runs in verdict.runs.values() if 2 <= runs < verdict.seeds}):
        labels = [label for label, runs in verdict.runs.items() if runs == count]
        facts.append(_Fact("missing", {"runs": str(count), "seeds": seeds, "labels": _Several("beside", labels)}))
    if verdict.unfinished:
        facts.append(_Fact("unfinished", {"labels": _Several("beside", verdict.unfinished)}))
    return facts


def _answer(verdict: Verdict) -> _Fact:
    best, chosen, baseline, group = verdict.best, verdict.recommended, verdict.best_baseline, verdict.best_group
    if best is None:
        return _Fact("nothing", {})
    if chosen is None:
        return _Fact("one run", {"best": _full(verdict, best), "more": str(verdict.more_seeds)})
    runs = sorted({verdict.runs[label] for label in group})
    seeds = str(runs[0]) if len(runs) == 1 else f"{runs[0]}–{runs[-1]}"
    if chosen == baseline:
        gap = next(difference for difference in verdict.differences if difference.worse == baseline)
        signed = {"gap": _signed(gap.mean), "low": _signed(gap.low), "high": _signed(gap.high)}
        models = {"baseline": _full(verdict, chosen), "best": _full(verdict, best)}
        advice = _Fact("use" if verdict.enough_seeds else "use for now", {})
        return _Fact("baseline", {**models, "seeds": seeds, "advice": advice, **signed})
    if len(group) == 1:
        kind = "clear" if len([runs for runs in verdict.runs.values() if runs > 1]) > 1 else "alone"
        return _Fact(kind, {"best": _full(verdict, best), "seeds": seeds})
    others = [
        _Fact("short", {"label": label, "score": _points(verdict.estimates[label].mean)})
        for label in group
        if label != chosen
    ]
    gaps = {
        "group": _Several("and", [_full(verdict, chosen), *others]),
        "seeds": seeds,
        "chosen": chosen,
        "advice": _Fact("recommended" if verdict.enough_seeds else "recommended for now", {}),
    }
    cost = verdict.costs[chosen]
    if cost is None:
        return _Fact("no price", gaps)
    price = _Fact(verdict.cost_unit, {"cost": cost})
    known = [known for label in group if (known := verdict.costs[label]) is not None]
    kind = "cheapest" if cost <= min(known) else "cheapest to beat"
    return _Fact(kind, {**gaps, "price": price, "baseline": baseline or ""})


def _full(verdict: Verdict, label: str) -> _Fact:
    estimate = verdict.estimates[label]
    metric = _Fact("accuracy", {}) if verdict.metric == "accuracy" else verdict.metric
    return _Fact(
        "full",
        {
            "label": label,
            "metric": metric,
            "score": _points(estimate.mean),
            "level": f"{100 * (1 - verdict.alpha):g}",
            "interval": f"{_points(estimate.low)}–{_points(estimate.high)}",
        },
    )


def _by(difference: Difference) -> _Fact:
    figures = {"gap": _points(difference.mean), "low": _points(difference.low), "high": _points(difference.high)}
    return _Fact("by", {"label": difference.worse, **figures})


def _points(share: float) -> str:
    return f"{_rounded(share):.1f}"


def _signed(share: float) -> str:
    return f"{_rounded(share):+.1f}".replace("-", "−")


def _rounded(share: float) -> float:
    return round(100 * share, 1) + 0.0  # + 0.0: there is no minus zero
