"""Every run of every model as a dot, with the mean and its interval: on the report page, and on that of `rnnlab judge`.

Runs that lie far outside, such as those that failed to learn, don't press the others flat: they are arrows at the edge,
with their scores beside them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import altair as alt

from rnnlab.core.words import Both, Language, both, capitalised
from rnnlab.judging.findings import Verdict
from rnnlab.judging.wording import WORTH_SAYING
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.bulk import far_behind
from rnnlab.show.figures.figure import AnyChart, Figure, Row
from rnnlab.show.figures.palette import FAILED

if TYPE_CHECKING:  # `rnnlab judge` need not wait for torch
    from rnnlab.comparing.chapters import Chapter

MOST_ROWS = 40  # models and baselines
FEW, ROW, NARROW_ROW = 12, 46, 28  # pixels of a row, where there are few of them and where there are more
LANES, BELOW = 0.42, 0.2  # of a row: the runs lie so far above its middle, the interval so far below it
LEAST = 4  # margins: a smaller range of scores isn't stretched over the whole width
ROOM, ONE, SEVERAL = 0.03, 0.24, 0.34  # of the width, beside the outermost dots: nothing, a score or two is written
NARROW, NARROW_LIMIT = 500, 110  # pixels of a page on which labels are cut shorter, to leave room for the dots
DOT = 44  # square pixels
INWARDS = 7  # pixels from the edge to the middle of an arrow
SHAPES = {
    "mean": "diamond",
    "learnt": "circle",
    "failed": "M-1,-.7L-.7,-1L0,-.3L.7,-1L1,-.7L.3,0L1,.7L.7,1L0,.3L-.7,1L-1,.7L-.3,0Z",  # a cross
    "below": "triangle-left",
    "above": "triangle-right",
}
SIZES: dict[str, float] = {"mean": 90, "learnt": DOT, "failed": 1.7 * DOT, "below": 2 * DOT, "above": 2 * DOT}
TITLE = both("{metric} of every run")
CAPTION = both(
    "A dot is one seed{failed}. The diamond below is the mean of the model, and the bar is "
    "its {level} % interval, which counts the luck of {luck}.{picked}{outside}{cut}"
)
CROSSES = both("; a red cross or arrow is a seed that failed to learn")
LUCK = {
    "rows": both("the test rows alone"),
    "seeds": both("seeds and of test rows"),
    "split": both("seeds, of test rows and of the split"),
}
PICKED = {
    "lower": both(" The interval of the recommended one lies lower, because it was picked for being ahead."),
    "higher": both(" The interval of the recommended one lies higher, because it was picked for being ahead."),
}
OUTSIDE = both(" Arrows at the edge stand for runs far outside, whose scores are written beside them.")
CUT = both(" The best {shown} of {total} are shown.")
SEED = both("seed")
ENDS = {"lo": both("{level} % interval from"), "hi": both("to")}


def seeds_figure(chapter: "Chapter") -> Figure | None:
    """Of the report. None when there is no score."""
    comparison = chapter.comparison
    scored = [arm.label for arm in comparison.recommended_first if arm.score and arm.label in comparison.verdict.scores]
    return runs_figure(comparison.verdict, scored, fig.colours(chapter), fig.metric_of(chapter)) if scored else None


def runs_figure(verdict: Verdict, labels: Sequence[str], shades: Mapping[str, str], metric: Both) -> Figure:
    """Of any verdict: ``labels`` in the order of the rows, ``shades`` their colours, ``metric`` what the score is."""
    shown = labels[:MOST_ROWS]
    rows = run_rows(verdict, shown)
    height = ROW if len(shown) <= FEW else NARROW_ROW
    return fig.figure(
        "seeds",
        TITLE.format(metric=capitalised(metric)),
        _caption(verdict, len(shown), len(labels), any(row["k"] == "edge" for row in rows)),
        lambda language, _: _chart(verdict, rows, height, shades, metric, language),
        height=alt.Step(height),
    )


def domain(verdict: Verdict, labels: Sequence[str]) -> tuple[float, float]:
    """Where the runs of models are that learnt and aren't far behind all others, up to the best run of all. Other runs,
    baselines, means and intervals widen it, but those that are further away than the learnt ones are from each other
    stay outside."""
    models = [label for label in labels if label not in verdict.baselines]
    means = {label: verdict.estimates[label].mean for label in models}
    far = far_behind(means, LEAST * verdict.margin, verdict.lower_is_better)
    learnt = [
        score
        for label in models
        if label not in far
        for seed, score in verdict.scores[label].items()
        if seed not in _failed(verdict, label)
    ]
    every = [score for label in labels for score in verdict.scores[label].values()]
    low, high = min(learnt or every), max(learnt or every)
    low, high = (min(every), high) if verdict.lower_is_better else (low, max(every))
    reach = max(high - low, LEAST * verdict.margin)
    estimates = [verdict.estimates[label] for label in labels]
    every += [end for estimate in estimates for end in (estimate.low, estimate.mean, estimate.high)]
    low, high = min(one for one in every if one >= low - reach), max(one for one in every if one <= high + reach)
    spare = max(0.0, LEAST * verdict.margin - (high - low)) / 2
    return (low, high) if not spare else _within(verdict, low - spare, high + spare)


def _within(verdict: Verdict, low: float, high: float) -> tuple[float, float]:
    """Moved to where scores can be: there is no 101 %."""
    if verdict.unit == "number":
        return low, high
    move = min(0.0, fig.most(verdict.unit) - high) - min(0.0, low)
    return low + move, high + move


def run_rows(verdict: Verdict, labels: Sequence[str]) -> list[Row]:
    """Rows {k: "mean" | "run" | "edge", arm, o: place of the arm, v: score, s: which of `SHAPES`, …}. An "edge" row has
    what is written beside the arrows of an arm: the least and the most of their scores."""
    limits = domain(verdict, labels)
    rows: list[Row] = []
    for place, label in enumerate(labels):
        about: Row = {"arm": label, "o": place}
        estimate, runs = verdict.estimates[label], verdict.scores[label]
        ends = {"lo": _number(verdict, estimate.low), "hi": _number(verdict, estimate.high)}
        mean = _mark(verdict, estimate.mean, "mean", limits)
        own = []
        for number, (seed, score) in enumerate(runs.items()):  # one below the other, so that none hides another
            failed = seed in _failed(verdict, label)
            mark = _mark(verdict, score, "failed" if failed else "learnt", limits)
            lane = fig.short(LANES * (1 - (number + 0.5) / len(runs)))
            own.append({"k": "run", **about, **mark, "seed": seed, "f": failed, "lane": lane})
        alone = mean["s"] != "mean" and all(run["s"] == mean["s"] for run in own)  # the arrows of the runs will do
        rows += [{"k": "mean", **about, **mean, **ends, "lane": -BELOW, "drawn": not alone}, *own]
        for side in ("below", "above"):
            out = [row["v"] for row in own if row["s"] == side]
            rows += [{"k": "edge", **about, "s": side, "lo": min(out), "hi": max(out)}] if out else []
    return rows


def _mark(verdict: Verdict, value: float, shape: str, limits: tuple[float, float]) -> Row:
    low, high = limits
    return {"v": _number(verdict, value), "s": "below" if value < low else "above" if value > high else shape}


def _number(verdict: Verdict, value: float) -> float | None:
    return fig.share(value) if verdict.unit == "percent" else float(f"{value:.7g}")


def _failed(verdict: Verdict, label: str) -> tuple[int, ...]:
    return verdict.failures[label].failed if label in verdict.failures else ()


def _caption(verdict: Verdict, shown: int, total: int, outside: bool) -> Both:
    luck = "split" if "split" in verdict.luck else "seeds" if max(verdict.runs.values(), default=1) > 1 else "rows"
    moved = (verdict.optimism or 0.0) > WORTH_SAYING * verdict.margin
    return CAPTION.format(
        failed=CROSSES if verdict.failures else "",
        level=_level(verdict),
        luck=LUCK[luck],
        picked=PICKED["higher" if verdict.lower_is_better else "lower"] if moved else "",
        outside=OUTSIDE if outside else "",
        cut=CUT.format(shown=shown, total=total) if shown < total else "",
    )


def _level(verdict: Verdict) -> str:
    return f"{100 * (1 - verdict.alpha):g}"


def _chart(
    verdict: Verdict, rows: Sequence[Row], height: int, shades: Mapping[str, str], metric: Both, language: Language
) -> AnyChart:
    labels = list(dict.fromkeys(row["arm"] for row in rows))
    y = fig.arms_down(alt.ExprRef(f"containerSize()[0] < {NARROW} ? {NARROW_LIMIT} : {fig.LABEL_LIMIT}"))
    x, (low, high) = _across(verdict, labels, [row for row in rows if row["k"] == "edge"], metric[language])
    own = fig.colour(shades, labels)
    base = alt.Chart().transform_filter(fig.SHOWN).encode(y=y, color=own)
    edges = {"below": f"{low:.9g}", "above": f"{high:.9g}"}
    placed = base.transform_calculate(x=fig.choose("datum.s", edges, "datum.v")).encode(x=x)
    mark: Row = {
        "filled": True,
        "size": alt.ExprRef(fig.choose("datum.s", SIZES, "0")),
        "xOffset": alt.ExprRef(fig.choose("datum.s", {"below": INWARDS, "above": -INWARDS}, "0")),
        "yOffset": alt.ExprRef(f"-{height} * datum.lane"),
    }
    shape = alt.Shape("s:N", scale=alt.Scale(domain=list(SHAPES), range=list(SHAPES.values())), legend=None)
    arm, score = ("arm:N", fig.ARM), ("v:Q", metric, _form(verdict))
    ends = [(f"{end}:Q", said.format(level=_level(verdict)), _form(verdict)) for end, said in ENDS.items()]
    means = base.transform_filter("datum.k == 'mean'").mark_rule(
        strokeWidth=2, opacity=0.75, yOffset=BELOW * height, clip=True
    )
    diamonds = placed.transform_filter("datum.k == 'mean' && datum.drawn").mark_point(opacity=1, **mark)
    runs = placed.transform_filter("datum.k == 'run'").mark_point(opacity=0.8, **mark)
    layers = [
        means.encode(x=alt.X("lo:Q", title=metric[language]), x2="hi:Q"),
        diamonds.encode(shape=shape, tooltip=fig.tooltip(language, arm, score, *ends)),
        runs.encode(
            shape=shape,
            color=alt.condition("datum.f", alt.value(FAILED), own),
            tooltip=fig.tooltip(language, arm, ("seed:N", SEED), score),
        ),
        *_edges(verdict, y, height),
    ]
    return fig.layered(layers, rows)


def _across(
    verdict: Verdict, labels: Sequence[str], edges: Sequence[Row], metric: str
) -> tuple[alt.X, tuple[float, float]]:
    """The axis, and where it ends: there is room for what is written at the edges."""
    low, high = domain(verdict, labels)
    left, right = (_room([row for row in edges if row["s"] == side]) for side in ("below", "above"))
    wide = (high - low) / (1 - left - right)
    low, high = low - left * wide, high + right * wide
    form = fig.ticks(verdict.unit, narrow=high - low <= 0.06)
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    return alt.X("x:Q", title=metric, scale=scale, axis=alt.Axis(format=form, tickCount=6)), (low, high)


def _room(edge: Sequence[Row]) -> float:
    if not edge:
        return ROOM
    return SEVERAL if any(row["lo"] < row["hi"] for row in edge) else ONE


def _edges(verdict: Verdict, y: alt.Y, height: int) -> list[alt.Chart]:
    """The scores of the runs outside, beside their arrows; the sign of percent comes once."""
    form = _form(verdict)
    least = "100 * datum.lo, '.1f'" if verdict.unit == "percent" else f"datum.lo, '{form}'"
    said = f"(datum.lo < datum.hi ? format({least}) + '–' : '') + format(datum.hi, '{form}')"
    found = []
    for side, x, inwards, align in (("below", 0, 1, "left"), ("above", "width", -1, "right")):
        text = alt.Chart().transform_filter(f"{fig.SHOWN} && datum.k == 'edge' && datum.s == '{side}'")
        mark: Row = {"align": align, "baseline": "middle", "fontSize": 11, "style": "guide-label"}
        mark |= {"dx": inwards * (2 * INWARDS + 1), "dy": -LANES * height / 2}
        found.append(text.transform_calculate(said=said).mark_text(**mark).encode(x=alt.value(x), y=y, text="said:N"))
    return found


def _form(verdict: Verdict) -> str:
    return fig.exact(verdict.unit)
