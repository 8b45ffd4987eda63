"""A verdict in words: what is worth saying, with its figures, in every language."""

from collections.abc import Mapping
from typing import Any

from rnnlab.core.numbers import percent_text
from rnnlab.core.terms import metric_text
from rnnlab.core.words import SENTENCES, Both, both, joined, listed, plural, same
from rnnlab.judging.advice import MOST_SEEDS
from rnnlab.judging.decision import COSTS_ALIKE
from rnnlab.judging.findings import Advice, Difference, Verdict

COSTS = {
    "seconds": both("{cost:.1f} s per epoch"),
    "milliseconds": both("{cost:.1f} ms per update"),
    "parameters": both("{cost:,.0f} parameters"),
    "unnamed": both("cost {cost:g}"),
}
NATS = "nats per token"
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
                "Still improving when the limit was reached, so that the true score may be better: "
                "{labels}; {option} trains longer.",
                labels=listed(labels),
                option=option,
            )
        )
    if chosen is not None and (verdict.optimism or 0.0) > WORTH_SAYING * verdict.margin:
        if verdict.lower_is_better:
            text = both(
                "Because it was picked, the score of {name} is about {optimism} too low; its interval allows for that."
            )
        else:
            text = both(
                "Because it was picked, the score of {name} is about {optimism} too high; its interval allows for that."
            )
        facts.append(text.format(name=chosen, optimism=_gap(verdict, verdict.optimism or 0.0)))
    if chosen is not None and verdict.advice is not None:
        facts += _open_question(verdict, chosen, verdict.advice)
    return facts + _missing(verdict)


def above_floor(verdict: Verdict, profile: Mapping[str, Any]) -> Both | None:
    """How close the best arm and the best model are to what is possible at all, where the profile of the data knows
    it: the ``floor``, of the score ``floor_of`` (nats per token, unless it says so)."""
    floor, named = profile.get("floor"), dict.fromkeys([verdict.best, verdict.best_model])
    if floor is None or verdict.metric != profile.get("floor_of", NATS) or verdict.best is None:
        return None
    above = [
        both("{label} is {share} above it", label=label, share=percent_text(verdict.estimates[label].mean / floor - 1))
        for label in named
        if label is not None
    ]
    return both("The best possible score is {floor:.4f}: {above}.", floor=floor, above=listed(above))


def _answer(verdict: Verdict) -> Both:
    chosen, group = verdict.recommended, verdict.best_group
    if verdict.best is None or not verdict.runs:
        return both("No model has a finished run: there is nothing to compare.")
    if verdict.too_short:
        return _too_short(verdict, verdict.best)
    if chosen is None:
        return _too_early(verdict, verdict.best)
    said = {
        "chosen": _full(verdict, chosen),
        "name": chosen,
        "group": listed([_full(verdict, chosen), *(_short(verdict, label) for label in group if label != chosen)]),
        "margin": margin_text(verdict),
        "seeds": _seeds(verdict),
        "advice": both("recommended") if verdict.firm else both("recommended for now"),
    }
    if len(verdict.estimates) == 1:
        return both("{chosen} on {seeds} seeds; there is nothing to compare it with.", **said)
    if len(group) == 1:
        rest = [label for label in verdict.estimates if label != chosen]
        if all(verdict.between(chosen, label).call == "better" for label in rest):
            return both("{chosen} is measurably better than all others on {seeds} seeds: {advice}.", **said)
        return both("{chosen} comes first on {seeds} seeds: {advice}.", **said)
    cost = verdict.costs[chosen]
    costs = [known for label in group if (known := verdict.costs[label]) is not None]
    if cost is None:
        return both(
            "{group} lie within {margin} of the best on {seeds} seeds; costs are unknown, {name} comes first: "
            "{advice}.",
            **said,
        )
    if len(costs) > 1 and max(costs) <= min(costs) * COSTS_ALIKE:
        return both(
            "{group} lie within {margin} of the best on {seeds} seeds and cost the same; {name} comes first: {advice}.",
            **said,
        )
    free = cost == 0 and chosen in verdict.baselines
    return both(
        "{group} lie within {margin} of the best on {seeds} seeds; {name} is the cheapest of them ({price}): {advice}.",
        **said,
        price=both("it costs next to nothing") if free else COSTS[verdict.cost_unit].format(cost=cost),
    )


def _too_short(verdict: Verdict, best: str) -> Both:
    return both(
        "Too short to judge: the test part has {groups} blocks, each a horizon long, and {fewest} are needed. A longer "
        "series or a shorter horizon has more. By {metric} alone, {best} came first.",
        groups=verdict.groups,
        fewest=verdict.fewest_groups,
        metric=metric_text(verdict.metric),
        best=_short(verdict, best),
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
    """The chosen one beside the best of the other kind."""
    own = chosen in verdict.baselines
    other = verdict.best_model if own else verdict.best_baseline
    if other is None:
        return []
    gap = verdict.between(chosen, other)
    if own:
        model, figures = _full(verdict, other), _figures(verdict, gap, against=chosen)
        text = both("The best model is {model}, at {gap} against {name} ({low} to {high}).")
        return [text.format(name=chosen, model=model, **figures)]
    said = {"name": chosen, "baseline": other, "score": _score(verdict, verdict.estimates[other].mean)}
    if gap.call == "better" and gap.better == chosen:
        text = both("{name} beats {baseline}, the best baseline, by {gap} ({low}–{high}).")
        return [text.format(**said, **_figures(verdict, gap))]
    if gap.call == "equal":
        text = both("{name} and {baseline}, the best baseline ({score}), are equal to within {margin}.")
        return [text.format(**said, margin=margin_text(verdict))]
    return [
        both(
            "Whether {name} is better than {baseline}, the best baseline ({score}), is undecided: "
            "{gap} ({low} to {high}).",
            **said,
            **_figures(verdict, gap, against=other),
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
    worse = [_by(verdict, label, gap) for label, gap in models.items() if gap.call == "better"]
    equal = [_short(verdict, label) for label, gap in models.items() if gap.call == "equal"]
    open_ = [_chances(label, gap) for label, gap in models.items() if gap.call == "undecided"]
    texts = (
        (both("Measurably worse than {name}: {items}."), worse),
        (both("Equal to {name} to within {margin}: {items}."), equal),
        (
            both(
                "Undecided against {name}, with the chances of being better by more than {margin}, within "
                "that, and worse: {items}."
            ),
            open_,
        ),
    )
    said = {"name": chosen, "margin": margin_text(verdict)}
    return [text.format(**said, items=listed(items)) for text, items in texts if items]


def _failed(verdict: Verdict, label: str) -> Both:
    failures = verdict.failures[label]
    return both(
        "{failed} of {runs} seeds of {label} failed to learn ({low}–{high} % of its seeds may do "
        "so): no interval can know how often that happens.",
        label=label,
        failed=len(failures.failed),
        runs=failures.runs,
        low=f"{100 * failures.low:.0f}",
        high=f"{100 * failures.high:.0f}",
    )


def _open_question(verdict: Verdict, chosen: str, advice: Advice) -> list[Both]:
    """Why it isn't settled, and what would settle it."""
    said = {
        "name": chosen,
        "margin": margin_text(verdict),
        "rivals": listed(verdict.doubtful, "or"),
        "runs": verdict.runs.get(chosen),
        "low": advice.low,
        "high": advice.high,
        "most": MOST_SEEDS,
        "driver": advice.driver,
    }
    if verdict.doubtful:
        why = both("Not settled: {rivals} may still be better than {name} by more than {margin}.", **said)
    else:
        why = both("Not settled: {runs} runs of {name} can't rule out that some of its seeds fail to learn.", **said)
    if advice.low is not None and advice.low == advice.high:
        more = plural(
            "About {count} more seed per model would probably settle it.",
            "About {count} more seeds per model would probably settle it.",
            advice.low,
        )
    elif advice.low is not None and advice.high is not None:
        more = both(
            "{low} to {high} more seeds per model would probably settle it (most are needed because of {driver}).",
            **said,
        )
    elif advice.low is not None:
        more = both(
            "At least {low} more seeds per model are needed to settle it, perhaps over {most} (because of {driver}).",
            **said,
        )
    elif advice.rows is not None:
        more = both(
            "More seeds alone won't settle it; about {more} test rows would (there are {rows}; most "
            "are needed because of {driver}).",
            more=f"{advice.rows:,}",
            rows=f"{verdict.rows:,}",
            driver=advice.driver,
        )
    else:
        more = both("Even {most} more seeds per model would hardly settle it (because of {driver}).", **said)
    return [why, more]


def _missing(verdict: Verdict) -> list[Both]:
    facts = []
    if verdict.seeds_unknown and verdict.recommended and verdict.seeds > 1:
        text = both("Only 1 of {seeds} runs, which is too few to recommend: {labels}.")
        facts.append(text.format(seeds=verdict.seeds, labels=listed(verdict.seeds_unknown)))
    for count in sorted({runs for runs in verdict.runs.values() if 2 <= runs < verdict.seeds}):
        labels = listed([label for label, runs in verdict.runs.items() if runs == count])
        facts.append(both("Only {runs} of {seeds} runs: {labels}.", runs=count, seeds=verdict.seeds, labels=labels))
    if verdict.unfinished:
        facts.append(both("No finished run: {labels}.", labels=listed(verdict.unfinished)))
    return facts


# Figures


def _full(verdict: Verdict, label: str) -> Both:
    estimate = verdict.estimates[label]
    return both(
        "{label} ({metric} {score}, {level} % interval {interval})",
        label=label,
        metric=metric_text(verdict.metric),
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


def _figures(verdict: Verdict, gap: Difference, against: str | None = None) -> dict[str, Any]:
    """``against`` whom: with signs, positive where that one is the worse of the two."""
    signed = against is not None
    mean, low, high = (
        (gap.mean, gap.low, gap.high) if gap.worse == against or not signed else (-gap.mean, -gap.high, -gap.low)
    )
    return {
        "gap": _gap(verdict, mean, signed),
        "low": _plain(verdict, low, signed),
        "high": _plain(verdict, high, signed),
    }


def _score(verdict: Verdict, value: float) -> Both:
    plain = _plain(verdict, value)
    return both("{value} %", value=plain) if verdict.unit == "percent" else same(plain)


def margin_text(verdict: Verdict) -> Both:
    """``1.0 points``, or a number: what a person would not care about."""
    return _gap(verdict, verdict.margin)


def _gap(verdict: Verdict, value: float, signed: bool = False) -> Both:
    plain = _plain(verdict, value, signed)
    return same(plain) if verdict.unit == "number" else both("{value} points", value=plain)


def _plain(verdict: Verdict, value: float, signed: bool = False) -> str:
    plus = "+" if signed else ""
    share = verdict.unit != "number"
    shown = round(100 * value, 1) + 0.0 if share else value + 0.0  # + 0.0: there is no minus zero
    return f"{shown:{plus}{'.1f' if share else '.4g'}}".replace("-", "−")


def _seeds(verdict: Verdict) -> str:
    runs = sorted({verdict.runs[label] for label in verdict.best_group if label in verdict.runs} or {verdict.seeds})
    return str(runs[0]) if len(runs) == 1 else f"{runs[0]}–{runs[-1]}"
