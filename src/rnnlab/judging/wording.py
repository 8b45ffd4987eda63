"""A verdict in words: what is worth saying, with its figures, in every language."""

from collections.abc import Sequence
from typing import Any

from rnnlab.core.words import SENTENCES, Both, both, joined, listed, plural, same
from rnnlab.judging.advice import MOST_SEEDS
from rnnlab.judging.decision import COSTS_ALIKE
from rnnlab.judging.findings import Difference, Verdict

COSTS = {
    "seconds": both("{cost:.1f} s per epoch"),
    "milliseconds": both("{cost:.1f} ms per update"),
    "parameters": both("{cost:,.0f} parameters"),
    "unnamed": both("cost {cost:g}"),
}
WORTH_SAYING = 0.05  # of the margin: an optimism below that isn't mentioned


def sentence_of(verdict: Verdict) -> Both:
    return joined(facts_of(verdict), SENTENCES)


def facts_of(verdict: Verdict) -> list[Both]:
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
        facts.append(
            both(
                "Still improving when the limit was reached, so that the true score may be higher: "
                "{labels}; {option} trains longer.",
                labels=listed(labels),
                option=option,
            )
        )
    if chosen is not None and (verdict.optimism or 0.0) > WORTH_SAYING * verdict.margin:
        facts.append(
            both(
                "Because it was picked, the score of {name} is about {optimism} too high; its interval "
                "allows for that.",
                name=chosen,
                optimism=_gap(verdict, verdict.optimism or 0.0),
            )
        )
    if chosen is not None and verdict.advice is not None:
        facts += _open_question(verdict, chosen)
    return facts + _missing(verdict)


def _answer(verdict: Verdict) -> Both:
    chosen, group = verdict.recommended, verdict.best_group
    if verdict.best is None or not verdict.runs:
        return both("No model has a finished run: there is nothing to compare.")
    if chosen is None:
        return _too_early(verdict, verdict.best)
    advice = both("recommended") if verdict.firm else both("recommended for now")
    gaps = {"chosen": _full(verdict, chosen), "seeds": _seeds(verdict)}
    if len(verdict.estimates) == 1:
        return both("{chosen} on {seeds} seeds; there is nothing to compare it with.", **gaps)
    if len(group) == 1:
        rest = [label for label in verdict.estimates if label != chosen]
        if all(verdict.between(chosen, label).call == "better" for label in rest):
            return both(
                "{chosen} is measurably better than all others on {seeds} seeds: {advice}.", **gaps, advice=advice
            )
        return both("{chosen} comes first on {seeds} seeds: {advice}.", **gaps, advice=advice)
    others = [_short(verdict, label) for label in group if label != chosen]
    cost = verdict.costs[chosen]
    costs = [known for label in group if (known := verdict.costs[label]) is not None]
    gaps = {
        "group": listed([_full(verdict, chosen), *others]),
        "margin": _gap(verdict, verdict.margin),
        "seeds": gaps["seeds"],
        "name": chosen,
        "advice": advice,
    }
    if cost is None:
        return both(
            "{group} lie within {margin} of the best on {seeds} seeds; costs are unknown, {name} comes first: "
            "{advice}.",
            **gaps,
        )
    if len(costs) > 1 and _alike(costs):
        return both(
            "{group} lie within {margin} of the best on {seeds} seeds and cost the same; {name} comes first: {advice}.",
            **gaps,
        )
    free = cost == 0 and chosen in verdict.baselines
    return both(
        "{group} lie within {margin} of the best on {seeds} seeds; {name} is the cheapest of them ({price}): {advice}.",
        **gaps,
        price=both("it costs next to nothing") if free else COSTS[verdict.cost_unit].format(cost=cost),
    )


def _too_early(verdict: Verdict, best: str) -> Both:
    split = "split" in verdict.luck
    more = max(1, (5 if split else 3) - max(verdict.runs.values()))
    if split:
        return plural(
            "Cannot tell yet: with a split per seed, a verdict needs 5 seeds. {best} came first. At least {count} "
            "more seed per model is needed.",
            "Cannot tell yet: with a split per seed, a verdict needs 5 seeds. {best} came first. At least {count} "
            "more seeds per model are needed.",
            more,
            best=_full(verdict, best),
        )
    return plural(
        "Cannot tell yet: a single run per model doesn't show how much is luck. {best} came first, by the test "
        "rows alone. At least {count} more seed per model is needed.",
        "Cannot tell yet: a single run per model doesn't show how much is luck. {best} came first, by the test "
        "rows alone. At least {count} more seeds per model are needed.",
        more,
        best=_full(verdict, best),
    )


def _of_the_other_kind(verdict: Verdict) -> list[Both]:
    """Who came first has been said; the best of the models, or of the baselines, as the case may be."""
    if verdict.best in verdict.baselines and verdict.best_model:
        return [both("It is a baseline; the best model is {model}.", model=_short(verdict, verdict.best_model))]
    if verdict.best_baseline:
        return [both("The best baseline is {baseline}.", baseline=_short(verdict, verdict.best_baseline))]
    return []


def _about_baseline(verdict: Verdict, chosen: str) -> list[Both]:
    baseline = verdict.best_baseline
    if chosen in verdict.baselines:
        if verdict.best_model is None:
            return []
        gap = verdict.between(chosen, verdict.best_model)
        model = _full(verdict, verdict.best_model)
        return [
            both(
                "The best model is {model}, at {gap} against {name} ({low} to {high}).",
                model=model,
                name=chosen,
                **_signed_figures(verdict, gap, chosen),
            )
        ]
    if baseline is None:
        return []
    gap = verdict.between(chosen, baseline)
    score = _score(verdict, verdict.estimates[baseline].mean)
    if gap.call == "better" and gap.better == chosen:
        return [
            both(
                "{name} beats {baseline}, the best baseline, by {gap} ({low}–{high}).",
                name=chosen,
                baseline=baseline,
                **_figures(verdict, gap),
            )
        ]
    if gap.call == "equal":
        gaps = {"name": chosen, "baseline": baseline, "score": score, "margin": _gap(verdict, verdict.margin)}
        return [both("{name} and {baseline}, the best baseline ({score}), are equal to within {margin}.", **gaps)]
    figures = _signed_figures(verdict, gap, baseline)
    return [
        both(
            "Whether {name} is better than {baseline}, the best baseline ({score}), is undecided: "
            "{gap} ({low} to {high}).",
            name=chosen,
            baseline=baseline,
            score=score,
            **figures,
        )
    ]


def _against(verdict: Verdict, chosen: str) -> list[Both]:
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
        facts.append(both("Measurably worse than {name}: {items}.", name=chosen, items=listed(worse)))
    if equal:
        facts.append(
            both("Equal to {name} to within {margin}: {items}.", name=chosen, margin=margin, items=listed(equal))
        )
    if open_:
        facts.append(
            both(
                "Undecided against {name}, with the chances of being better by more than {margin}, within "
                "that, and worse: {items}.",
                name=chosen,
                margin=margin,
                items=listed(open_),
            )
        )
    return facts


def _failed(verdict: Verdict, label: str) -> Both:
    failures = verdict.failures[label]
    return both(
        "{failed} of {runs} seeds of {label} failed to learn ({low}–{high} % of its seeds may do "
        "so): no interval can know how often that happens.",
        label=label,
        failed=str(len(failures.failed)),
        runs=str(failures.runs),
        low=f"{100 * failures.low:.0f}",
        high=f"{100 * failures.high:.0f}",
    )


def _open_question(verdict: Verdict, chosen: str) -> list[Both]:
    """Why it isn't settled, and what would settle it."""
    advice = verdict.advice
    assert advice is not None
    margin, driver = _gap(verdict, verdict.margin), advice.driver
    if verdict.doubtful:
        why = both(
            "Not settled: {rivals} may still be better than {name} by more than {margin}.",
            rivals=listed(verdict.doubtful, "or"),
            name=chosen,
            margin=margin,
        )
    else:
        why = both(
            "Not settled: {runs} runs of {name} can't rule out that some of its seeds fail to learn.",
            runs=str(verdict.runs[chosen]),
            name=chosen,
        )
    if advice.low is not None and advice.high is not None:
        if advice.low == advice.high:
            more = plural(
                "About {count} more seed per model would probably settle it.",
                "About {count} more seeds per model would probably settle it.",
                advice.low,
            )
            return [why, more]
        return [
            why,
            both(
                "{low} to {high} more seeds per model would probably settle it (most are needed because of {driver}).",
                low=str(advice.low),
                high=str(advice.high),
                driver=driver,
            ),
        ]
    if advice.low is not None:
        return [
            why,
            both(
                "At least {low} more seeds per model are needed to settle it, perhaps over {most} "
                "(because of {driver}).",
                low=str(advice.low),
                most=str(MOST_SEEDS),
                driver=driver,
            ),
        ]
    if advice.rows is not None:
        return [
            why,
            both(
                "More seeds alone won't settle it; about {more} test rows would (there are {rows}; most "
                "are needed because of {driver}).",
                more=f"{advice.rows:,}",
                rows=f"{verdict.rows:,}",
                driver=driver,
            ),
        ]
    return [
        why,
        both(
            "Even {most} more seeds per model would hardly settle it (because of {driver}).",
            most=str(MOST_SEEDS),
            driver=driver,
        ),
    ]


def _missing(verdict: Verdict) -> list[Both]:
    seeds, facts = str(verdict.seeds), []
    if verdict.seeds_unknown and verdict.recommended and verdict.seeds > 1:
        facts.append(
            both(
                "Only 1 of {seeds} runs, which is too few to recommend: {labels}.",
                seeds=seeds,
                labels=listed(verdict.seeds_unknown),
            )
        )
    for count in sorted({runs for runs in verdict.runs.values() if 2 <= runs < verdict.seeds}):
        labels = [label for label, runs in verdict.runs.items() if runs == count]
        facts.append(
            both("Only {runs} of {seeds} runs: {labels}.", runs=str(count), seeds=seeds, labels=listed(labels))
        )
    if verdict.unfinished:
        facts.append(both("No finished run: {labels}.", labels=listed(verdict.unfinished)))
    return facts


# Figures


def _full(verdict: Verdict, label: str) -> Both:
    estimate = verdict.estimates[label]
    metric = both("accuracy") if verdict.metric == "accuracy" else verdict.metric
    return both(
        "{label} ({metric} {score}, {level} % interval {interval})",
        label=label,
        metric=metric,
        score=_score(verdict, estimate.mean),
        level=f"{100 * (1 - verdict.alpha):g}",
        interval=f"{_plain(verdict, estimate.low)}–{_plain(verdict, estimate.high)}",
    )


def _short(verdict: Verdict, label: str) -> Both:
    return both("{label} ({score})", label=label, score=_score(verdict, verdict.estimates[label].mean))


def _by(verdict: Verdict, label: str, gap: Difference) -> Both:
    return both("{label} by {gap} ({low}–{high})", label=label, **_figures(verdict, gap))


def _chances(label: str, gap: Difference) -> Both:
    """From the point of view of the other: better, within the margin, worse; whole percents that add up to 100."""
    ahead, _, behind = gap.chances if gap.better == label else gap.chances[::-1]
    better, worse = round(100 * ahead), round(100 * behind)
    shown = {"better": f"{better}", "within": f"{max(0, 100 - better - worse)}", "worse": f"{worse}"}
    return both("{label} ({better} / {within} / {worse} %)", label=label, **shown)


def _figures(verdict: Verdict, gap: Difference) -> dict[str, Any]:
    return {
        "gap": _gap(verdict, gap.mean),
        "low": _plain(verdict, gap.low),
        "high": _plain(verdict, gap.high),
    }


def _signed_figures(verdict: Verdict, gap: Difference, against: str) -> dict[str, Any]:
    """Positive where ``against`` is the worse of the two."""
    mean, low, high = (gap.mean, gap.low, gap.high) if gap.worse == against else (-gap.mean, -gap.high, -gap.low)
    return {
        "gap": _gap(verdict, mean, signed=True),
        "low": _plain(verdict, low, signed=True),
        "high": _plain(verdict, high, signed=True),
    }


def _score(verdict: Verdict, value: float) -> Both:
    plain = _plain(verdict, value)
    return both("{value} %", value=plain) if verdict.unit == "percent" else same(plain)


def _gap(verdict: Verdict, value: float, signed: bool = False) -> Both:
    plain = _plain(verdict, value, signed)
    return both("{value} points", value=plain) if verdict.unit == "percent" else same(plain)


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
