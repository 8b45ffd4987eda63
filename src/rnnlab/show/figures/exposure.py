"""Exposure bias by step: how language models fare along the true tokens, and along their own."""

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.core.words import Both, Language, both
from rnnlab.inspecting.exposure import Estimate, Exposure
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Figure, Row
from rnnlab.show.figures.palette import BASELINE

READING = both("Reading the truth, and reading itself")
READING_CAPTION = both(
    "Nats of the true token after k steps, mean of {places} places of the test text: solid where the model read its "
    "own tokens for the last k steps, dashed where it read the true ones; bands are 95 % intervals over blocks. The "
    "solid line is higher for every model, a perfect one too, because another text was written by then; lines that lie "
    "close together can also belong to a model that makes little of what it read."
)
WRITING = both("What is written, step by step")
WRITING_CAPTION = both(
    "Nats that Kneser-Ney n-grams of the training text give to what each model writes, by the number of tokens since "
    "it began; dashed: to the true text. A line that leaves the dashed one as it goes to the right belongs to a model "
    "whose texts get worse as it reads itself; one below it writes what is more usual than the true text."
)
TRANSLATING_CAPTION = both(
    "Nats of each true token by its number in the text, mean of {rows} test rows: solid where the model read its own "
    "tokens before it, each the most probable one; dashed where it read the true ones, as in training; bands are 95 % "
    "intervals. The solid line is higher for every model whose text may rightly be another one than the reference."
)
STEP, NATS = both("steps since the last true token"), both("nats per token")
TOKEN = both("number of the token")


def exposure_figure(chapter: Chapter) -> Figure | None:
    shown = _shown(chapter)
    if not shown:
        return None
    caption = READING_CAPTION.format(places=max(found.places for _, found in shown))
    return fig.figure(
        "exposure", READING, caption, _drawn(chapter, shown, lambda f: {"free": f.free, "forced": f.forced})
    )


def written_figure(chapter: Chapter) -> Figure | None:
    shown = _shown(chapter)
    if not shown:
        return None
    return fig.figure(
        "exposure-written", WRITING, WRITING_CAPTION, _drawn(chapter, shown, lambda f: {"free": f.written})
    )


def writing_exposure_figure(chapter: Chapter) -> Figure | None:
    """Of translators."""
    found = chapter.differences.translated
    if found is None or not found.exposures:
        return None
    caption = TRANSLATING_CAPTION.format(rows=max(one.rows for _, one in found.exposures))
    rows = _rows(found.exposures, lambda one: {"free": one.free, "forced": one.forced})
    arms = [arm for arm, _ in found.exposures]
    return fig.figure(
        "exposure",
        READING,
        caption,
        lambda language, for_page: _chart(chapter, arms, rows, language, for_page, TOKEN),
    )


def _shown(chapter: Chapter) -> Sequence[tuple[str, Exposure]]:
    found = chapter.differences.continued
    return found.exposures if found else ()


def _drawn(
    chapter: Chapter,
    shown: Sequence[tuple[str, Exposure]],
    curves: Callable[[Exposure], dict[str, tuple[Estimate, ...]]],
) -> Callable[[Language, bool], AnyChart]:
    rows = _rows(shown, curves)
    if all(row["k"] == "free" for row in rows):  # and the truth, which is the same for all
        longest = max((found for _, found in shown), key=lambda found: len(found.true))
        rows += [{**_row("", "true", step, one), "arm": shown[0][0]} for step, one in enumerate(longest.true, 1)]
    return lambda language, for_page: _chart(chapter, [arm for arm, _ in shown], rows, language, for_page)


def _rows(shown: Sequence[tuple[str, Any]], curves: Callable[[Any], dict[str, tuple[Estimate, ...]]]) -> list[Row]:
    return [
        _row(arm, kind, step, one)
        for arm, found in shown
        for kind, curve in curves(found).items()
        for step, one in enumerate(curve, 1)
    ]


def _row(arm: str, kind: str, step: int, one: Estimate) -> Row:
    mean, low, high = (fig.short(value) for value in (one.mean, max(0.0, one.low), one.high))
    return {"arm": arm, "k": kind, "x": step, "y": mean, "l": low, "h": high}


def _chart(
    chapter: Chapter, arms: Sequence[str], rows: list[Row], language: Language, for_page: bool, step: Both = STEP
) -> AnyChart:
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=step[language], scale=alt.Scale(nice=False), axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("y:Q", title=NATS[language], scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)),
    )
    own = base.transform_filter(fig.SHOWN).encode(color=fig.colour(fig.colours(chapter), arms, for_page, **fig.STROKES))
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("x:Q", step), ("y:Q", NATS, ".4~g"))
    free, forced = own.transform_filter("datum.k == 'free'"), own.transform_filter("datum.k == 'forced'")
    layers = [
        free.mark_area(opacity=0.12).encode(y=alt.Y("l:Q", title=NATS[language]), y2="h:Q"),
        forced.mark_line(strokeWidth=1.6, strokeDash=[5, 4]),
        base.transform_filter("datum.k == 'true'").mark_line(strokeWidth=1.6, strokeDash=[5, 4], color=BASELINE),
        free.mark_line(strokeWidth=2.2),
        free.mark_point(size=40, opacity=0).encode(tooltip=about),
    ]
    return fig.layered(layers, rows)
