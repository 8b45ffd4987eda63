"""What tuning is worth: the expected best validation score of every arm against the number of trials."""

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.tuning import Tuning
from rnnlab.core.terms import metric_text
from rnnlab.core.words import Language, both
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Figure, Row
from rnnlab.show.sweep_texts import is_share

TITLE = both("Expected best validation score by number of trials")
CAPTION = both(
    "What the best of so many settings scores on the validation rows, on average (Dodge et al. 2019). The first trial "
    "is the default setting. The bands are 95 % intervals: they count the luck of the settings that were drawn and of "
    "the validation rows. Grey: baselines"
)
UP = both("validation {quantity}, expected best")
TRIALS = both("trials")


def tuning_figure(chapter: Chapter) -> Figure | None:
    tuning = chapter.comparison.tuning
    if tuning is None or not tuning.rivals:
        return None
    return fig.figure("tuning", TITLE, CAPTION, lambda *to: _chart(chapter, tuning, *to))


def curve_rows(tuning: Tuning) -> list[Row]:
    """Rows {arm, n: trials, m: expected, lo, hi, end: whether the name of a baseline stands there}."""
    rows = []
    for arm in tuning.rivals:
        for one in arm.curve:
            row: Row = {"arm": arm.label, "n": one.trials, "m": fig.short(one.expected)}
            end = arm.baseline and one.trials == tuning.trials
            rows.append(row | {"lo": fig.short(one.low), "hi": fig.short(one.high), "end": end})
    return rows


def _chart(chapter: Chapter, tuning: Tuning, language: Language, for_page: bool) -> AnyChart:
    rows = curve_rows(tuning)
    arms = {row["arm"] for row in rows}
    shares = is_share(tuning.metric)
    number, exact = ("%", ".1%") if shares else (".3~g", ".4~g")
    name = UP.format(quantity=metric_text(tuning.metric))[language]
    across = alt.Scale(domain=[1, tuning.trials], nice=False)
    scale = alt.Scale(zero=False, domain=_range(rows, shares), nice=False, clamp=True)
    whole = alt.Axis(tickMinStep=1, format="d", grid=False)
    base = (
        alt.Chart()
        .transform_filter(fig.SHOWN)
        .encode(
            x=alt.X("n:Q", title=TRIALS[language], scale=across, axis=whole),
            y=alt.Y("m:Q", title=name, scale=scale, axis=alt.Axis(format=number, tickCount=6)),
            color=fig.colour(fig.colours(chapter), arms, for_page, **fig.STROKES),
        )
    )
    band = {"y": alt.Y("lo:Q", title=name, scale=scale, stack=None), "y2": "hi:Q"}
    ends = (("lo:Q", both("from"), exact), ("hi:Q", both("to"), exact))
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("n:Q", TRIALS), ("m:Q", both("expected best"), exact), *ends)
    layers = [
        base.mark_area(opacity=0.14 if len(arms) <= 6 else 0.07).encode(**band),
        base.mark_line(strokeWidth=2.2),
        base.transform_filter("datum.end").mark_text(align="right", dy=-7).encode(text="arm:N"),  # all are grey
        base.mark_point(size=110, opacity=0, filled=True).encode(tooltip=about),
    ]
    return fig.layered(layers, rows)


def _range(rows: list[Row], shares: bool) -> list[float]:
    """The ends are fixed, so that nothing moves when arms are switched off."""
    low, high = min(row["lo"] for row in rows), max(row["hi"] for row in rows)
    room = 0.05 * (high - low) or 0.01
    return [max(0.0, low - room), min(1.0, high + room)] if shares else [low - room, high + room]
