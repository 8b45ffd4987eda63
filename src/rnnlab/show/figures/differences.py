"""Where arms differ: accuracy by length, by tag and by class, and what is taken for what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.comparison import ArmSummary
from rnnlab.core.words import Both, Language, both, capitalised, same
from rnnlab.show.figures.chart_text import AnyChart
from rnnlab.show.figures.heatmap import Column, grid
from rnnlab.show.figures.palette import BASELINE
from rnnlab.show.figures.pieces import (
    ARM,
    SHOWN,
    Row,
    colour,
    colours,
    data,
    finished,
    metric_of,
    share,
    short,
    switches,
)
from rnnlab.show.pages.parts import Figure

MOST_PARTS = 30  # tags or classes
MOST_ARMS = 40  # rows of a table
UNITS = {
    "tokens": both("tokens"),
    "characters": both("characters"),
    "steps": both("steps"),
}
LENGTH = both("length in {unit} (test rows)")
BY_LENGTH = both("{metric} by length")
BY_LENGTH_CAPTION = both(
    "Mean of the runs of each model on the test rows of each length{baselines}. A line that "
    "falls to the right does worse on longer rows."
)
GREY = both("; dashed: the best baseline")
BY_TAG = both("{metric} by tag")
BY_CLASS = both("Recall by class")
BY_TAG_CAPTION = both("Mean of the runs on the test rows of each tag (how many: in brackets); darker is better.{cut}")
BY_CLASS_CAPTION = both(
    "Of the test rows of each class (how many: in brackets), the share that was found, mean "
    "of the runs; darker is better.{cut}"
)
CUT = both(" The {shown} largest of {total} are shown.")
TAG, CLASS = both("tag"), both("class")
RECALL = both("recall")
ROWS = both("test rows")


def length_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    """None when all test rows are of about one length."""
    best = chapter.comparison.verdict.best_baseline
    baselines = [arm for arm in chapter.comparison.baselines if arm.label == best and arm.by_length]
    shown = [*(arm for arm in chapter.comparison.arms if arm.by_length), *baselines]
    if not shown or all(len(arm.by_length) < 2 for arm in shown):
        return None
    metric = metric_of(chapter)
    name = BY_LENGTH.format(metric=capitalised(metric))
    caption = BY_LENGTH_CAPTION.format(baselines=GREY if baselines else same(""))

    def draw(language: Language, for_page: bool) -> AnyChart:
        chart = _length_chart(chapter, shown, metric[language], language, for_page)
        return finished(chart, language, for_page, name, caption, switches())

    return Figure(f"{prefix}by-length", name, caption, draw, arms=True)


def length_rows(chapter: Chapter, shown: Sequence[ArmSummary]) -> list[Row]:
    fixed = _baselines(chapter)
    return [
        {"arm": arm.label, "x": f"{part} ({cell.count:,})", "y": share(cell.score), "n": cell.count}
        | {"b": arm.label in fixed, "o": number}
        for arm in shown
        for number, (part, cell) in enumerate(arm.by_length.items())
    ]


def _length_chart(
    chapter: Chapter, shown: Sequence[ArmSummary], metric: str, language: Language, for_page: bool
) -> AnyChart:
    rows = length_rows(chapter, shown)
    order = list(dict.fromkeys(row["x"] for row in sorted(rows, key=lambda row: row["o"])))
    unit = UNITS.get(str(chapter.comparison.profile.get("unit")), UNITS["tokens"])
    low, high = min(row["y"] for row in rows), max(row["y"] for row in rows)
    room = max(0.06 * (high - low), 0.01)
    scale = alt.Scale(domain=[short(max(0.0, low - room)), short(min(1.0, high + room))], nice=False, zero=False)
    base = (
        alt.Chart()
        .transform_filter(SHOWN)
        .encode(
            x=alt.X(
                "x:O",
                scale=alt.Scale(domain=order, padding=0.35),
                title=LENGTH.format(unit=unit)[language],
                axis=alt.Axis(labelAngle=0, ticks=False),
            ),
            y=alt.Y("y:Q", title=metric, scale=scale, axis=alt.Axis(format=".0%", tickCount=6)),
            color=colour(colours(chapter), [arm.label for arm in shown], for_page, symbolType="circle"),
        )
    )
    arms, baselines = base.transform_filter("!datum.b"), base.transform_filter("datum.b")
    tooltip = [
        alt.Tooltip("arm:N", title=ARM[language]),
        alt.Tooltip("x:N", title=LENGTH.format(unit=unit)[language]),
        alt.Tooltip("y:Q", title=metric, format=".1%"),
    ]
    layers = [
        baselines.mark_line(strokeWidth=1.6, strokeDash=[5, 4], color=BASELINE),
        arms.mark_line(strokeWidth=2.4),
        baselines.mark_point(size=45, filled=True, opacity=1).encode(tooltip=tooltip),
        arms.mark_point(size=75, filled=True, opacity=1).encode(tooltip=tooltip),
    ]
    return alt.layer(*layers, data=data(rows))


def tag_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    shown = [arm for arm in _everything(chapter) if arm.by_tag][:MOST_ARMS]
    counts = {part: cell.count for arm in shown for part, cell in arm.by_tag.items()}
    if not counts:
        return None
    scores = {(arm.label, part): cell.score for arm in shown for part, cell in arm.by_tag.items()}
    metric = metric_of(chapter)
    name = BY_TAG.format(metric=capitalised(metric))
    table = Table([arm.label for arm in shown], counts, scores, TAG, metric, _baselines(chapter))
    return table.figure(f"{prefix}by-tag", name, BY_TAG_CAPTION)


def class_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    found = chapter.differences.classes
    if not found:
        return None
    present = {one.arm for one in found}
    arms = [arm.label for arm in _everything(chapter) if arm.label in present][:MOST_ARMS]
    counts = {one.label: one.rows for one in found}
    ordered = {label: counts[label] for label in chapter.differences.labels if label in counts}
    scores = {(one.arm, one.label): one.recall for one in found}
    table = Table(arms, ordered, scores, CLASS, RECALL, _baselines(chapter))
    return table.figure(f"{prefix}by-class", BY_CLASS, BY_CLASS_CAPTION)


@dataclass(frozen=True)
class Table:
    """Arms × parts of the test rows, as a heatmap with the number in each cell."""

    arms: Sequence[str]
    counts: Mapping[str, int]  # test rows of each part
    scores: Mapping[tuple[str, str], float]
    part: Both
    score: Both
    baselines: frozenset[str]

    def columns(self) -> list[Column]:
        """In their order; of too many the largest."""
        largest = sorted(self.counts, key=lambda part: -self.counts[part])[:MOST_PARTS]
        return [Column(part, f"{part} ({count:,})") for part, count in self.counts.items() if part in set(largest)]

    def rows(self) -> list[Row]:
        return [
            {"arm": arm, "o": number, "x": column.label, "n": self.counts[column.part], "v": share(score)}
            | {"b": arm in self.baselines}
            for number, arm in enumerate(self.arms)
            for column in self.columns()
            if (score := self.scores.get((arm, column.part))) is not None
        ]

    def figure(self, name: str, heading: Both, caption: Both) -> Figure:
        shown, total = len(self.columns()), len(self.counts)
        cut = CUT.format(shown=shown, total=total) if shown < total else same("")
        caption = caption.format(cut=cut)

        def draw(language: Language, for_page: bool) -> AnyChart:
            tooltip = [
                alt.Tooltip("arm:N", title=ARM[language]),
                alt.Tooltip("x:N", title=self.part[language]),
                alt.Tooltip("v:Q", title=self.score[language], format=".1%"),
                alt.Tooltip("n:Q", title=ROWS[language], format=","),
            ]
            drawn = grid(self.rows(), self.columns(), tooltip, self.score[language], for_page)
            chart, size = drawn.chart, drawn.size
            return finished(chart, language, for_page, heading, caption, switches(), **size)

        return Figure(name, heading, caption, draw, arms=True)


def _everything(chapter: Chapter) -> list[ArmSummary]:
    return [*chapter.comparison.arms, *chapter.comparison.baselines]


def _baselines(chapter: Chapter) -> frozenset[str]:
    return frozenset(arm.label for arm in chapter.comparison.baselines)
