"""A verdict in words: the facts and figures are chosen once; each language has a phrase for each kind of fact."""

from collections.abc import Sequence
from dataclasses import dataclass

from rnnlab.judging.bootstrap import MOST_SEEDS
from rnnlab.judging.findings import Difference, Verdict

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
    "milliseconds": "{cost:.1f} ms an update",
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
    "milliseconds": "每次更新 {cost:.1f} 毫秒",
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


def say(facts: Sequence[_Fact], language: dict[str, str]) -> str:
    def said(thing: "str | float | _Fact | _Several") -> str | float:
        if isinstance(thing, _Fact):
            return language[thing.kind].format(**{gap: said(filling) for gap, filling in thing.gaps.items()})
        if isinstance(thing, _Several):
            *most, last = (str(said(part)) for part in thing.things)
            return language["comma"].join(most) + language[thing.joint] + last if most else last
        return thing

    return language["separator"].join(str(said(fact)) for fact in facts)


def facts_of(verdict: Verdict) -> list[_Fact]:
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
