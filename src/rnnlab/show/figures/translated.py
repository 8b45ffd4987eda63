"""Of translators: the score by the length of what is read, and maps of attention beside the alignment of words."""

from collections.abc import Sequence

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.translated import ByLength, Translated
from rnnlab.core.terms import metric_text
from rnnlab.core.words import Both, Language, both, capitalised, same
from rnnlab.inspecting.translating import WritingInspection
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Figure, Row
from rnnlab.show.figures.heatmap import slanted
from rnnlab.show.figures.palette import BASELINE
from rnnlab.show.figures.tokens import numbered

LENGTH = both("length of what is read, in tokens (test rows)")
BY_LENGTH = both("{score} by length")
BY_LENGTH_CAPTION = both(
    "All test rows of a length together, mean of the runs of each model; bars are 95 % intervals, which count the luck "
    "of the seeds and of the test rows; dashed: the best baseline. Without attention, all that is known of a text goes "
    "through one vector, whose room doesn't grow with the text."
)
INTERVAL = {"l": both("{level} % interval from", level=95), "h": both("to")}
ROWS = both("test rows")
LOOKED = both("Where {arm} looked, test row {row}")
LOOKED_CAPTION = both(
    "Each line is a token that was written, each column one that was read: the darker, the more weight had the place "
    "when the token was written. A line adds up to 1."
)
ALIGNED = both("Which words belong together, test row {row}")
ALIGNED_CAPTION = both(
    "The same tokens by ibm1, a dictionary that is learnt from the training pairs and knows no order: the darker, the "
    "likelier the token was written for that word. What a line lacks to 1 is for none."
)
GRADIENTS_CAPTION = both(
    "By how much the log probability of each written token (a line) moves with the vector of each token that was read "
    "(a column): ‖∂ log p / ∂ x‖, as a share of the largest of its line. It says for any model, with attention or "
    "without, what a token rests on."
)
NORM, SHARE = both("norm of the gradient"), both("share of the largest")
READ, WRITTEN, WEIGHT, CHANCE = both("read"), both("written"), both("weight"), both("probability")
CELL = 20  # pixels
SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥"}
PLAIN = "substring(datum.label, indexof(datum.label, ' ') + 1)"  # of a token, without its number
APART = 8  # pixels to either side over which arms are spread, so that no interval hides another


# --- by length --------------------------------------------------------------------------------------------------------


def translated_by_length(chapter: Chapter) -> Figure | None:
    found = chapter.differences.translated
    if found is None or not found.by_length:
        return None
    best = chapter.comparison.verdict.best_baseline
    baselines = {arm.label for arm in chapter.comparison.baselines}
    shown = [one for one in found.by_length if one.arm not in baselines or one.arm == best]
    return fig.figure(
        "by-length",
        BY_LENGTH.format(score=capitalised(metric_text(found.score))),
        BY_LENGTH_CAPTION,
        lambda language, for_page: _lines(chapter, found, shown, language, for_page),
    )


def _lines(
    chapter: Chapter, found: Translated, shown: Sequence[ByLength], language: Language, for_page: bool
) -> AnyChart:
    baselines = {arm.label for arm in chapter.comparison.baselines}
    value = fig.share if found.unit == "percent" else _in_points if found.unit == "points" else fig.short
    rows: list[Row] = [
        {"arm": one.arm, "x": f"{name} ({rows:,})", "n": rows, "b": one.arm in baselines}
        | {"y": value(score.mean), "l": value(score.low), "h": value(score.high)}
        | {"d": fig.short(APART * (2 * number - len(shown) + 1) / max(1, len(shown) - 1))}
        for number, one in enumerate(shown)
        for name, rows, score in one.parts
    ]
    order = list(dict.fromkeys(row["x"] for row in rows))
    arms = [one.arm for one in shown]
    metric, axis = metric_text(found.score), alt.Axis(format=fig.ticks(found.unit), tickCount=6)
    aside: Row = {"xOffset": alt.ExprRef("datum.d")}
    scale = alt.Scale(zero=True, nice=True, reverse=found.lower_is_better)  # down is always worse
    base = (
        alt.Chart()
        .transform_filter(fig.SHOWN)
        .encode(
            x=alt.X("x:O", scale=alt.Scale(domain=order, padding=0.35), title=LENGTH[language], axis=slanted(order)),
            y=alt.Y("y:Q", title=metric[language], scale=scale, axis=axis),
            color=fig.colour(fig.colours(chapter), arms, for_page, symbolType="circle"),
        )
    )
    ours, theirs = base.transform_filter("!datum.b"), base.transform_filter("datum.b")
    exact = fig.exact(found.unit)
    ends = [(f"{end}:Q", name, exact) for end, name in INTERVAL.items()]
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("x:N", LENGTH), ("y:Q", metric, exact), *ends)
    bars = base.mark_rule(**aside, strokeWidth=1.6, opacity=0.6).encode(
        y=alt.Y("l:Q", title=metric[language]), y2="h:Q"
    )
    layers = [
        theirs.mark_line(**aside, strokeWidth=1.6, strokeDash=[5, 4], color=BASELINE),
        bars,
        ours.mark_line(**aside, strokeWidth=2.4),
        theirs.mark_point(**aside, size=45, filled=True, opacity=1).encode(tooltip=about),
        ours.mark_point(**aside, size=75, filled=True, opacity=1).encode(tooltip=about),
    ]
    return fig.layered(layers, rows)


def _in_points(value: float) -> float | int | None:
    return fig.short(100 * value)


# --- maps -------------------------------------------------------------------------------------------------------------


def attention_figures(chapter: Chapter) -> list[Figure]:
    """Of each sentence the attention and, where it ran, the alignment of IBM model 1."""
    found = chapter.differences.translated
    if found is None or found.looked is None:
        return []
    figures = []
    for number, one in enumerate(found.maps):
        looked, aligned = (title.format(arm=found.looked, row=one.row + 1) for title in (LOOKED, ALIGNED))
        captions = (LOOKED_CAPTION, ALIGNED_CAPTION) if number == 0 else (same(""), same(""))  # said once
        tokens = one.read, one.written
        figures.append(token_map(f"attention-{number}", looked, captions[0], *tokens, one.weights, WEIGHT))
        if one.aligned is not None:
            figures.append(token_map(f"alignment-{number}", aligned, captions[1], *tokens, one.aligned, CHANCE))
    return figures


def inside_figures(found: WritingInspection) -> dict[str, list[Figure]]:
    """Of one text, for `rnnlab inspect`: where it looked, if it has attention, and its gradients."""
    tokens = found.tokens, found.written
    shares = [[value / (max(line) or 1.0) for value in line] for line in found.gradients]
    gradients = token_map("gradients", same(""), GRADIENTS_CAPTION, *tokens, shares, SHARE, (NORM, found.gradients))
    if found.attention is None:
        return {"gradients": [gradients]}
    looked = token_map("attention", same(""), LOOKED_CAPTION, *tokens, found.attention, WEIGHT)
    return {"attention": [looked], "gradients": [gradients]}


def token_map(
    name: str,
    title: Both,
    caption: Both,
    read: Sequence[str],
    written: Sequence[str],
    values: Sequence[Sequence[float]],
    named: Both,
    beside: tuple[Both, Sequence[Sequence[float]]] | None = None,
) -> Figure:
    """Values (T, S) from 0 to 1 of written tokens, a line each, and tokens that were read, a column each; ``beside``,
    what else is told of each."""
    across, down = ([*numbered([SIGNS.get(token, token) for token in side])] for side in (read, written))
    more = values if beside is None else beside[1]
    rows = [
        {"read": to, "written": line, "value": round(value, 4), "more": fig.short(other)}
        for line, of, others in zip(down, values, more, strict=False)
        for to, value, other in zip(across, of, others, strict=False)
    ]
    shades = alt.Scale(scheme="blues", domain=[0, 1])
    told = [("written:N", WRITTEN), ("read:N", READ), ("value:Q", named, ".3f")]
    told += [] if beside is None else [("more:Q", beside[0], ".3~g")]
    axis = {"labelExpr": PLAIN, "labelOverlap": False, "ticks": False, "domain": False}

    def draw(language: Language, for_page: bool) -> alt.Chart:
        about = fig.described(title, caption, language)
        if for_page:
            del about["title"]
        return (
            alt.Chart(fig.data(rows), width=CELL * len(across), height=CELL * len(down))
            .mark_rect(stroke="white", strokeWidth=0.5, strokeOpacity=0.4)
            .encode(
                x=alt.X(
                    "read:N",
                    sort=across,
                    title=READ[language],
                    axis=alt.Axis(
                        orient="top", labelAngle=-50, labelAlign="left", labelPadding=7, labelLimit=110, **axis
                    ),
                ),
                y=alt.Y("written:N", sort=down, title=WRITTEN[language], axis=alt.Axis(labelLimit=110, **axis)),
                color=alt.Color("value:Q", title=named[language], scale=shades, legend=alt.Legend(gradientLength=80)),
                tooltip=fig.tooltip(language, *told),
            )
            .properties(**about)
        )

    return Figure(name, title, caption, draw)
