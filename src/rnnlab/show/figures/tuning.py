"""What tuning is worth: the expected best validation score of every arm against the number of trials, and a table of
the settings that were chosen."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.tuning import TunedArm, Tuning
from rnnlab.core.words import Language, both
from rnnlab.show.figures.pieces import ARM, SHOWN, Row, colour, colours, data, finished, quantity_of, short, switches
from rnnlab.show.pages.parts import Figure
from rnnlab.show.pages.report_tables import PageTable
from rnnlab.show.pages.table import Cell, Column
from rnnlab.show.pages.table import Row as TableRow
from rnnlab.show.sweep_texts import is_share
from rnnlab.show.tuning_texts import axis_text, score_text, value_text

TITLE = both("Expected best validation score by number of trials")
CAPTION = both(
    "What the best of so many settings scores on the validation rows, on average (Dodge et "
    "al. 2019). The first trial is the default setting. The bands are 95 % intervals: they "
    "count the luck of the settings that were drawn and of the validation rows. Grey: "
    "baselines"
)
NAME = both("Settings that were chosen")
NOTE = both(
    "Every model was to get {trials} trials; the setting that did best on {rows} validation "
    "rows was then trained anew over the seeds. All trials have seed {seed}, which no run of "
    "the comparison has, so that the luck of the chosen trial isn't in the test scores."
)
COLUMNS = {
    "model": (both("model"), both("Grey: a baseline.")),
    "setting": (
        both("setting"),
        both("The values of all axes that were searched."),
    ),
    "trials": (
        both("trials"),
        both("Different settings that were tried, the default included."),
    ),
    "stopped": (
        both("stopped early"),
        both("Trials that were given up because they were behind."),
    ),
    "default": (
        both("default, validation"),
        both("The best validation score of the default setting."),
    ),
    "best": (
        both("chosen, validation"),
        both("Of the chosen setting. It was picked because it is high: its test score is the fair one."),
    ),
}
DEFAULT = both("default")
NOTHING = both("nothing to tune")


def tuning_table(tuning: Tuning, shades: Mapping[str, str]) -> PageTable:
    columns = [Column(*texts, number=name not in ("model", "setting")) for name, texts in COLUMNS.items()]
    note = NOTE.format(trials=tuning.trials, rows=f"{tuning.rows:,}", seed=tuning.seed)
    return PageTable(NAME, columns, [_table_row(arm, tuning, shades) for arm in tuning.arms], note)


def _table_row(arm: TunedArm, tuning: Tuning, shades: Mapping[str, str]) -> TableRow:
    stopped = sum(trial.status == "stopped" for trial in arm.trials)
    setting = ", ".join(f"{axis_text(path)} {value_text(value)}" for path, value in arm.setting.items())
    return TableRow(
        [
            Cell(arm.label),
            Cell(setting if arm.searched else NOTHING),
            Cell(str(len(arm.trials)), value=len(arm.trials)),
            Cell(str(stopped), value=stopped),
            Cell(score_text(arm.default.score, tuning.metric), value=arm.default.score),
            Cell(score_text(arm.best.score, tuning.metric), value=arm.best.score),
        ],
        mark="baseline" if arm.baseline else None,
        badge=DEFAULT if arm.chosen == 0 and arm.searched else None,
        colour=shades.get(arm.label),
    )


def tuning_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    tuning = chapter.comparison.tuning
    if tuning is None or not tuning.rivals:
        return None

    def draw(language: Language, for_page: bool) -> Any:
        chart = _chart(chapter, tuning, language, for_page)
        return finished(chart, language, for_page, TITLE, CAPTION, switches())

    return Figure(f"{prefix}tuning", TITLE, CAPTION, draw, arms=True)


def curve_rows(tuning: Tuning) -> list[Row]:
    """Rows {arm, n: trials, m: expected, lo, hi, end: whether the name of a baseline stands there}."""
    rows = []
    for arm in tuning.rivals:
        for one in arm.curve:
            row: Row = {"arm": arm.label, "n": one.trials, "m": short(one.expected)}
            end = arm.baseline and one.trials == tuning.trials
            rows.append(row | {"lo": short(one.low), "hi": short(one.high), "end": end})
    return rows


def _chart(chapter: Chapter, tuning: Tuning, language: Language, for_page: bool) -> Any:
    rows = curve_rows(tuning)
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    shares = is_share(tuning.metric)
    up = both("validation {quantity}, expected best")
    name = up.format(quantity=quantity_of(tuning.metric))[language]
    scale = alt.Scale(zero=False, domain=_range(rows, shares), nice=False, clamp=True)
    number = "%" if shares else ".3~g"
    base = (
        alt.Chart()
        .transform_filter(SHOWN)
        .encode(
            x=alt.X(
                "n:Q",
                title=both("trials")[language],
                scale=alt.Scale(domain=[1, tuning.trials], nice=False),
                axis=alt.Axis(tickMinStep=1, format="d", grid=False),
            ),
            y=alt.Y("m:Q", title=name, scale=scale, axis=alt.Axis(format=number, tickCount=6)),
            color=colour(colours(chapter), arms, for_page, symbolType="stroke", symbolStrokeWidth=3),
        )
    )
    band = {"y": alt.Y("lo:Q", title=name, scale=scale, stack=None), "y2": "hi:Q"}
    exact = ".1%" if shares else ".4~g"
    tooltip = [
        alt.Tooltip("arm:N", title=ARM[language]),
        alt.Tooltip("n:Q", title=both("trials")[language]),
        alt.Tooltip("m:Q", title=both("expected best")[language], format=exact),
        alt.Tooltip("lo:Q", title=both("from")[language], format=exact),
        alt.Tooltip("hi:Q", title=both("to")[language], format=exact),
    ]
    layers = [
        base.mark_area(opacity=0.14 if len(arms) <= 6 else 0.07).encode(**band),
        base.mark_line(strokeWidth=2.2),
        base.transform_filter("datum.end").mark_text(align="right", dy=-7).encode(text="arm:N"),  # all are grey
        base.mark_point(size=110, opacity=0, filled=True).encode(tooltip=tooltip),
    ]
    return alt.layer(*layers, data=data(rows))


def _range(rows: list[Row], shares: bool) -> list[float]:
    """The ends are fixed, so that nothing moves when arms are switched off."""
    low, high = min(row["lo"] for row in rows), max(row["hi"] for row in rows)
    room = 0.05 * (high - low) or 0.01
    return [max(0.0, low - room), min(1.0, high + room)] if shares else [low - room, high + room]
