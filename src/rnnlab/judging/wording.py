"""A verdict in words: the facts and figures are chosen once; each language has a phrase for each kind of fact."""

from collections.abc import Sequence
from dataclasses import dataclass

from rnnlab.judging.advice import MOST_SEEDS
from rnnlab.judging.decision import COSTS_ALIKE
from rnnlab.judging.findings import Difference, Verdict

WORTH_SAYING = 0.05  # of the margin: an optimism below that isn't mentioned

ENGLISH = {
    "separator": " ",
    "comma": ", ",
    "and": " and ",
    "or": " or ",
    "beside": " and ",
    "accuracy": "accuracy",
    "percent": "{value} %",
    "number": "{value}",
    "points": "{value} points",
    "units": "{value}",
    "full": "{label} ({metric} {score}, {level} % interval {interval})",
    "short": "{label} ({score})",
    "seconds": "{cost:.1f} s per epoch",
    "milliseconds": "{cost:.1f} ms per update",
    "parameters": "{cost:,.0f} parameters",
    "unnamed": "cost {cost:g}",
    "free": "it costs next to nothing",
    "nothing": "No model has a finished run: there is nothing to compare.",
    "one run": "Cannot tell yet: a single run per model doesn't show how much is luck. {best} came first, by the test "
    "rows alone. At least {more} more seeds per model are needed.",
    "few splits": "Cannot tell yet: with a split per seed, a verdict needs 5 seeds. {best} came first. At least {more} "
    "more seeds per model are needed.",
    "baseline first": "It is a baseline; the best model is {model}.",
    "best baseline": "The best baseline is {baseline}.",
    "alone": "{chosen} on {seeds} seeds; there is nothing to compare it with.",
    "clear": "{chosen} is measurably better than all others on {seeds} seeds: {advice}.",
    "first": "{chosen} comes first on {seeds} seeds: {advice}.",
    "cheapest": "{group} lie within {margin} of the best on {seeds} seeds; {name} is the cheapest of them ({price}): "
    "{advice}.",
    "highest": "{group} lie within {margin} of the best on {seeds} seeds and cost the same; {name} comes first: "
    "{advice}.",
    "no price": "{group} lie within {margin} of the best on {seeds} seeds; costs are unknown, {name} comes first: "
    "{advice}.",
    "recommended": "recommended",
    "for now": "recommended for now",
    "worse": "Measurably worse than {name}: {items}.",
    "by": "{label} by {gap} ({low}–{high})",
    "equal": "Equal to {name} to within {margin}: {items}.",
    "undecided": "Undecided against {name}, with the chances of being better by more than {margin}, within that, and "
    "worse: {items}.",
    "chances": "{label} ({better} / {within} / {worse} %)",
    "beats": "{name} beats {baseline}, the best baseline, by {gap} ({low}–{high}).",
    "not told from baseline": "Whether {name} is better than {baseline}, the best baseline ({score}), is undecided: "
    "{gap} ({low} to {high}).",
    "equal to baseline": "{name} and {baseline}, the best baseline ({score}), are equal to within {margin}.",
    "best model": "The best model is {model}, at {gap} against {name} ({low} to {high}).",
    "failed": "{failed} of {runs} seeds of {label} failed to learn ({low}–{high} % of its seeds may do so): no "
    "interval can know how often that happens.",
    "cut short": "Still improving when the limit was reached, so that the true score may be higher: {labels}; "
    "{option} trains longer.",
    "picked": "Because it was picked, the score of {name} is about {optimism} too high; its interval allows for that.",
    "doubt": "Not settled: {rivals} may still be better than {name} by more than {margin}.",
    "few runs": "Not settled: {runs} runs of {name} can't rule out that some of its seeds fail to learn.",
    "seed": "About 1 more seed per model would probably settle it.",
    "seeds": "About {low} more seeds per model would probably settle it.",
    "range": "{low} to {high} more seeds per model would probably settle it (most are needed because of {driver}).",
    "many seeds": "At least {low} more seeds per model are needed to settle it, perhaps over {most} (because of "
    "{driver}).",
    "rows": "More seeds alone won't settle it; about {more} test rows would (there are {rows}; most are needed because "
    "of {driver}).",
    "too close": "Even {most} more seeds per model would hardly settle it (because of {driver}).",
    "too few": "Only 1 of {seeds} runs, which is too few to recommend: {labels}.",
    "missing": "Only {runs} of {seeds} runs: {labels}.",
    "unfinished": "No finished run: {labels}.",
}
CHINESE = {
    "separator": "",
    "comma": "、",
    "and": "和 ",
    "or": " 或 ",
    "beside": "、",
    "accuracy": "准确率",
    "percent": "{value}%",
    "number": "{value}",
    "points": "{value} 个百分点",
    "units": "{value}",
    "full": "{label}（{metric} {score}，{level}% 区间 {interval}）",
    "short": "{label}（{score}）",
    "seconds": "每轮 {cost:.1f} 秒",
    "milliseconds": "每次更新 {cost:.1f} 毫秒",
    "parameters": "{cost:,.0f} 个参数",
    "unnamed": "开销 {cost:g}",
    "free": "几乎没有开销",
    "nothing": "没有任何模型完成运行，无从比较。",
    "one run": "目前无法判断：每个模型只运行一次，看不出偶然性有多大。仅就测试样本而言，暂列第一的是 {best}。"
    "每个模型至少还需要 {more} 个随机种子。",
    "few splits": "目前无法判断：每个随机种子使用各自的数据划分时，至少需要 5 个种子才能下结论。暂列第一的是 {best}。"
    "每个模型至少还需要 {more} 个随机种子。",
    "baseline first": "它是基线；最好的模型是 {model}。",
    "best baseline": "最好的基线是 {baseline}。",
    "alone": "{chosen}，共 {seeds} 个随机种子；没有可比较的对象。",
    "clear": "{chosen}在 {seeds} 个随机种子下可测地优于其他所有模型：{advice}。",
    "first": "{chosen}在 {seeds} 个随机种子下居首：{advice}。",
    "cheapest": "{group}在 {seeds} 个随机种子下与最好成绩相差不超过 {margin}；其中 {name} 开销最小（{price}）："
    "{advice}。",
    "highest": "{group}在 {seeds} 个随机种子下与最好成绩相差不超过 {margin}，开销也相同；{name} 居首：{advice}。",
    "no price": "{group}在 {seeds} 个随机种子下与最好成绩相差不超过 {margin}；开销未知，{name} 居首：{advice}。",
    "recommended": "推荐",
    "for now": "暂时推荐",
    "worse": "可测地不及 {name} 的有：{items}。",
    "by": "{label} 相差 {gap}（{low}–{high}）",
    "equal": "与 {name} 相当（相差不超过 {margin}）的有：{items}。",
    "undecided": "与 {name} 相比尚无定论的有（括号内依次为优于它 {margin}以上、在此范围之内、不及它的概率）：{items}。",
    "chances": "{label}（{better} / {within} / {worse}%）",
    "beats": "{name} 比最好的基线 {baseline} 高 {gap}（{low}–{high}）。",
    "not told from baseline": "{name} 是否优于最好的基线 {baseline}（{score}）尚无定论：{gap}（{low} 至 {high}）。",
    "equal to baseline": "{name} 与最好的基线 {baseline}（{score}）相当，相差不超过 {margin}。",
    "best model": "最好的模型是 {model}，与 {name} 相比为 {gap}（{low} 至 {high}）。",
    "failed": "{label} 的 {runs} 个随机种子中有 {failed} 个没有学会（其全部种子中可能有 {low}–{high}% 如此）："
    "任何区间都无法预知这种情况有多常见。",
    "cut short": "到达训练上限时仍在进步、真实成绩可能更高的有：{labels}；用 {option} 可以训练更久。",
    "picked": "{name} 是挑选出来的，其成绩约偏高 {optimism}，区间已计入这一点。",
    "doubt": "尚未定论：{rivals} 仍有可能比 {name} 好 {margin}以上。",
    "few runs": "尚未定论：{name} 只有 {runs} 次运行，还不能排除它的部分随机种子会学不会。",
    "seed": "每个模型大约再加 1 个随机种子即可定论。",
    "seeds": "每个模型大约再加 {low} 个随机种子即可定论。",
    "range": "每个模型大约再加 {low} 到 {high} 个随机种子即可定论（主要取决于 {driver}）。",
    "many seeds": "每个模型至少再加 {low} 个随机种子，也可能超过 {most} 个，才能定论（主要取决于 {driver}）。",
    "rows": "仅增加随机种子不够，大约需要 {more} 条测试样本（现有 {rows} 条；主要取决于 {driver}）。",
    "too close": "即使每个模型再加 {most} 个随机种子也难以定论（主要取决于 {driver}）。",
    "too few": "只完成 1/{seeds} 次运行，不足以推荐：{labels}。",
    "missing": "只完成部分运行（{runs}/{seeds}）：{labels}。",
    "unfinished": "没有完成的运行：{labels}。",
}


@dataclass(frozen=True)
class Fact:
    """A phrase to be said, by the name of its kind, with what fills its gaps."""

    kind: str
    gaps: dict[str, "str | float | Fact | Several"]


@dataclass(frozen=True)
class Several:
    """Things in a row, joined by "and" or "or"."""

    joint: str
    things: Sequence[str | Fact]


def say(facts: Sequence[Fact], language: dict[str, str]) -> str:
    def said(thing: "str | float | Fact | Several") -> str | float:
        if isinstance(thing, Fact):
            return language[thing.kind].format(**{gap: said(filling) for gap, filling in thing.gaps.items()})
        if isinstance(thing, Several):
            *most, last = (str(said(part)) for part in thing.things)
            return language["comma"].join(most) + language[thing.joint] + last if most else last
        return thing

    return language["separator"].join(str(said(fact)) for fact in facts)


def facts_of(verdict: Verdict) -> list[Fact]:
    """What is worth saying, the answer first."""
    chosen = verdict.recommended
    facts = [_answer(verdict)]
    if chosen is None and verdict.best:
        facts += _of_the_other_kind(verdict)
    if chosen is not None:
        facts += [*_about_baseline(verdict, chosen), *_against(verdict, chosen)]
    facts += [_failed(verdict, label) for label in verdict.failures]
    for option in dict.fromkeys(verdict.cut_short.values()):
        labels = [label for label, own in verdict.cut_short.items() if own == option]
        facts.append(Fact("cut short", {"labels": Several("and", labels), "option": option}))
    if chosen is not None and (verdict.optimism or 0.0) > WORTH_SAYING * verdict.margin:
        facts.append(Fact("picked", {"name": chosen, "optimism": _gap(verdict, verdict.optimism or 0.0)}))
    if chosen is not None and verdict.advice is not None:
        facts += _open_question(verdict, chosen)
    return facts + _missing(verdict)


def _answer(verdict: Verdict) -> Fact:
    chosen, group = verdict.recommended, verdict.best_group
    if verdict.best is None or not verdict.runs:
        return Fact("nothing", {})
    if chosen is None:
        fewest = 5 if "split" in verdict.luck else 3
        kind = "few splits" if "split" in verdict.luck else "one run"
        more = str(max(1, fewest - max(verdict.runs.values())))
        return Fact(kind, {"best": _full(verdict, verdict.best), "more": more})
    advice = Fact("recommended" if verdict.firm else "for now", {})
    gaps = {"chosen": _full(verdict, chosen), "seeds": _seeds(verdict), "advice": advice}
    if len(verdict.estimates) == 1:
        return Fact("alone", {"chosen": gaps["chosen"], "seeds": gaps["seeds"]})
    if len(group) == 1:
        rest = [label for label in verdict.estimates if label != chosen]
        clear = all(verdict.between(chosen, label).call == "better" for label in rest)
        return Fact("clear" if clear else "first", gaps)
    others = [_short(verdict, label) for label in group if label != chosen]
    cost = verdict.costs[chosen]
    costs = [known for label in group if (known := verdict.costs[label]) is not None]
    kind = "no price" if cost is None else "highest" if len(costs) > 1 and _alike(costs) else "cheapest"
    free = cost == 0 and chosen in verdict.baselines
    return Fact(
        kind,
        {
            "group": Several("and", [_full(verdict, chosen), *others]),
            "margin": _gap(verdict, verdict.margin),
            "seeds": gaps["seeds"],
            "name": chosen,
            "price": Fact("free", {}) if free else Fact(verdict.cost_unit, {"cost": cost or 0.0}),
            "advice": advice,
        },
    )


def _of_the_other_kind(verdict: Verdict) -> list[Fact]:
    """Who came first has been said; the best of the models, or of the baselines, as the case may be."""
    if verdict.best in verdict.baselines and verdict.best_model:
        return [Fact("baseline first", {"model": _short(verdict, verdict.best_model)})]
    if verdict.best_baseline:
        return [Fact("best baseline", {"baseline": _short(verdict, verdict.best_baseline)})]
    return []


def _about_baseline(verdict: Verdict, chosen: str) -> list[Fact]:
    baseline = verdict.best_baseline
    if chosen in verdict.baselines:
        if verdict.best_model is None:
            return []
        gap = verdict.between(chosen, verdict.best_model)
        model = _full(verdict, verdict.best_model)
        return [Fact("best model", {"model": model, "name": chosen, **_signed_figures(verdict, gap, chosen)})]
    if baseline is None:
        return []
    gap = verdict.between(chosen, baseline)
    score = _score(verdict, verdict.estimates[baseline].mean)
    if gap.call == "better" and gap.better == chosen:
        return [Fact("beats", {"name": chosen, "baseline": baseline, **_figures(verdict, gap)})]
    if gap.call == "equal":
        gaps = {"name": chosen, "baseline": baseline, "score": score, "margin": _gap(verdict, verdict.margin)}
        return [Fact("equal to baseline", gaps)]
    figures = _signed_figures(verdict, gap, baseline)
    return [Fact("not told from baseline", {"name": chosen, "baseline": baseline, "score": score, **figures})]


def _against(verdict: Verdict, chosen: str) -> list[Fact]:
    """The other models beside the chosen one: worse, equal or undecided."""
    gaps = [gap for gap in verdict.differences if chosen in (gap.better, gap.worse)]
    others = {gap.worse if gap.better == chosen else gap.better: gap for gap in gaps}
    models = {
        label: gap
        for label, gap in others.items()
        if label not in verdict.baselines and not (gap.worse == label and label in verdict.cut_short)
    }
    margin = _gap(verdict, verdict.margin)
    worse = [_by(verdict, label, gap) for label, gap in models.items() if gap.call == "better"]
    equal = [_short(verdict, label) for label, gap in models.items() if gap.call == "equal"]
    open_ = [_chances(label, gap) for label, gap in models.items() if gap.call == "undecided"]
    facts = []
    if worse:
        facts.append(Fact("worse", {"name": chosen, "items": Several("and", worse)}))
    if equal:
        facts.append(Fact("equal", {"name": chosen, "margin": margin, "items": Several("and", equal)}))
    if open_:
        facts.append(Fact("undecided", {"name": chosen, "margin": margin, "items": Several("and", open_)}))
    return facts


def _failed(verdict: Verdict, label: str) -> Fact:
    failures = verdict.failures[label]
    return Fact(
        "failed",
        {
            "label": label,
            "failed": str(len(failures.failed)),
            "runs": str(failures.runs),
            "low": f"{100 * failures.low:.0f}",
            "high": f"{100 * failures.high:.0f}",
        },
    )


def _open_question(verdict: Verdict, chosen: str) -> list[Fact]:
    """Why it isn't settled, and what would settle it."""
    advice = verdict.advice
    assert advice is not None
    margin, driver = _gap(verdict, verdict.margin), advice.driver
    if verdict.doubtful:
        why = Fact("doubt", {"rivals": Several("or", verdict.doubtful), "name": chosen, "margin": margin})
    else:
        why = Fact("few runs", {"runs": str(verdict.runs[chosen]), "name": chosen})
    if advice.low is not None and advice.high is not None:
        if advice.low == advice.high:
            return [why, Fact("seed" if advice.low == 1 else "seeds", {"low": str(advice.low)})]
        return [why, Fact("range", {"low": str(advice.low), "high": str(advice.high), "driver": driver})]
    if advice.low is not None:
        return [why, Fact("many seeds", {"low": str(advice.low), "most": str(MOST_SEEDS), "driver": driver})]
    if advice.rows is not None:
        return [why, Fact("rows", {"more": f"{advice.rows:,}", "rows": f"{verdict.rows:,}", "driver": driver})]
    return [why, Fact("too close", {"most": str(MOST_SEEDS), "driver": driver})]


def _missing(verdict: Verdict) -> list[Fact]:
    seeds, facts = str(verdict.seeds), []
    if verdict.seeds_unknown and verdict.recommended and verdict.seeds > 1:
        facts.append(Fact("too few", {"seeds": seeds, "labels": Several("beside", verdict.seeds_unknown)}))
    for count in sorted({runs for runs in verdict.runs.values() if 2 <= runs < verdict.seeds}):
        labels = [label for label, runs in verdict.runs.items() if runs == count]
        facts.append(Fact("missing", {"runs": str(count), "seeds": seeds, "labels": Several("beside", labels)}))
    if verdict.unfinished:
        facts.append(Fact("unfinished", {"labels": Several("beside", verdict.unfinished)}))
    return facts


# Figures


def _full(verdict: Verdict, label: str) -> Fact:
    estimate = verdict.estimates[label]
    metric = Fact("accuracy", {}) if verdict.metric == "accuracy" else verdict.metric
    return Fact(
        "full",
        {
            "label": label,
            "metric": metric,
            "score": _score(verdict, estimate.mean),
            "level": f"{100 * (1 - verdict.alpha):g}",
            "interval": f"{_plain(verdict, estimate.low)}–{_plain(verdict, estimate.high)}",
        },
    )


def _short(verdict: Verdict, label: str) -> Fact:
    return Fact("short", {"label": label, "score": _score(verdict, verdict.estimates[label].mean)})


def _by(verdict: Verdict, label: str, gap: Difference) -> Fact:
    return Fact("by", {"label": label, **_figures(verdict, gap)})


def _chances(label: str, gap: Difference) -> Fact:
    """From the point of view of the other: better, within the margin, worse; whole percents that add up to 100."""
    ahead, _, behind = gap.chances if gap.better == label else gap.chances[::-1]
    better, worse = round(100 * ahead), round(100 * behind)
    shown = {"better": f"{better}", "within": f"{max(0, 100 - better - worse)}", "worse": f"{worse}"}
    return Fact("chances", {"label": label, **shown})


def _figures(verdict: Verdict, gap: Difference) -> dict[str, str | float | Fact | Several]:
    return {
        "gap": _gap(verdict, gap.mean),
        "low": _plain(verdict, gap.low),
        "high": _plain(verdict, gap.high),
    }


def _signed_figures(verdict: Verdict, gap: Difference, against: str) -> dict[str, str | float | Fact | Several]:
    """Positive where ``against`` is the worse of the two."""
    mean, low, high = (gap.mean, gap.low, gap.high) if gap.worse == against else (-gap.mean, -gap.high, -gap.low)
    kind = "points" if verdict.unit == "percent" else "units"
    return {
        "gap": Fact(kind, {"value": _plain(verdict, mean, signed=True)}),
        "low": _plain(verdict, low, signed=True),
        "high": _plain(verdict, high, signed=True),
    }


def _score(verdict: Verdict, value: float) -> Fact:
    return Fact(verdict.unit, {"value": _plain(verdict, value)})


def _gap(verdict: Verdict, value: float) -> Fact:
    return Fact("points" if verdict.unit == "percent" else "units", {"value": _plain(verdict, value)})


def _plain(verdict: Verdict, value: float, signed: bool = False) -> str:
    plus = "+" if signed else ""
    percent = verdict.unit == "percent"
    shown = round(100 * value, 1) + 0.0 if percent else value + 0.0  # + 0.0: there is no minus zero
    return f"{shown:{plus}{'.1f' if percent else '.4g'}}".replace("-", "−")


def _seeds(verdict: Verdict) -> str:
    runs = sorted({verdict.runs[label] for label in verdict.best_group if label in verdict.runs} or {verdict.seeds})
    return str(runs[0]) if len(runs) == 1 else f"{runs[0]}–{runs[-1]}"


def _alike(costs: Sequence[float]) -> bool:
    return max(costs) <= min(costs) * COSTS_ALIKE
