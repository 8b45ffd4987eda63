"""Where arms differ: accuracy by length, by tag and by class."""

from collections.abc import Mapping, Sequence

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.comparison import ArmSummary
from rnnlab.core.words import Both, Language, both, capitalised, same
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Figure, Row
from rnnlab.show.figures.heatmap import CELL_HEIGHT, grid
from rnnlab.show.figures.palette import BASELINE

MOST_PARTS = 30  # tags or classes
MOST_ARMS = 40  # rows of a table
UNITS = {"tokens": both("tokens"), "characters": both("characters"), "steps": both("steps")}
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
TAG, CLASS, RECALL, ROWS = both("tag"), both("class"), both("recall"), both("test rows")


def length_figure(chapter: Chapter) -> Figure | None:
    """None when all test rows are of about one length."""
    best = chapter.comparison.verdict.best_baseline
    baselines = [arm for arm in chapter.comparison.baselines if arm.label == best and arm.by_length]
    shown = [*(arm for arm in chapter.comparison.arms if arm.by_length), *baselines]
    if all(len(arm.by_length) < 2 for arm in shown):
        return None
    return fig.figure(
        "by-length",
        BY_LENGTH.format(metric=capitalised(fig.metric_of(chapter))),
        BY_LENGTH_CAPTION.format(baselines=GREY if baselines else same("")),
        lambda language, for_page: _length_chart(chapter, shown, language, for_page),
    )


def _length_chart(chapter: Chapter, shown: Sequence[ArmSummary], language: Language, for_page: bool) -> AnyChart:
    fixed = _baselines(chapter)
    rows: list[Row] = [
        {"arm": arm.label, "x": f"{part} ({cell.count:,})", "y": fig.share(cell.score), "n": cell.count}
        | {"b": arm.label in fixed, "o": number}
        for arm in shown
        for number, (part, cell) in enumerate(arm.by_length.items())
    ]
    order = list(dict.fromkeys(row["x"] for row in sorted(rows, key=lambda row: row["o"])))
    length = LENGTH.format(unit=UNITS.get(str(chapter.comparison.profile.get("unit")), UNITS["tokens"]))
    low, high = min(row["y"] for row in rows), max(row["y"] for row in rows)
    room = max(0.06 * (high - low), 0.01)
    ends = [fig.short(max(0.0, low - room)), fig.short(min(1.0, high + room))]
    scale = alt.Scale(domain=ends, nice=False, zero=False)
    across = alt.Scale(domain=order, padding=0.35)
    metric = fig.metric_of(chapter)
    base = (
        alt.Chart()
        .transform_filter(fig.SHOWN)
        .encode(
            x=alt.X("x:O", scale=across, title=length[language], axis=alt.Axis(labelAngle=0, ticks=False)),
            y=alt.Y("y:Q", title=metric[language], scale=scale, axis=alt.Axis(format=".0%", tickCount=6)),
            color=fig.colour(fig.colours(chapter), [arm.label for arm in shown], for_page, symbolType="circle"),
        )
    )
    arms, baselines = base.transform_filter("!datum.b"), base.transform_filter("datum.b")
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("x:N", length), ("y:Q", metric, ".1%"))
    layers = [
        baselines.mark_line(strokeWidth=1.6, strokeDash=[5, 4], color=BASELINE),
        arms.mark_line(strokeWidth=2.4),
        baselines.mark_point(size=45, filled=True, opacity=1).encode(tooltip=about),
        arms.mark_point(size=75, filled=True, opacity=1).encode(tooltip=about),
    ]
    return fig.layered(layers, rows)


def tag_figure(chapter: Chapter) -> Figure | None:
    shown = [arm for arm in _everything(chapter) if arm.by_tag][:MOST_ARMS]
    counts = {part: cell.count for arm in shown for part, cell in arm.by_tag.items()}
    scores = {(arm.label, part): cell.score for arm in shown for part, cell in arm.by_tag.items()}
    metric = fig.metric_of(chapter)
    title = BY_TAG.format(metric=capitalised(metric))
    return _table(chapter, "by-tag", title, BY_TAG_CAPTION, counts, scores, TAG, metric)


def class_figure(chapter: Chapter) -> Figure | None:
    rows = {one.label: one.rows for one in chapter.differences.classes}
    counts = {label: rows[label] for label in chapter.differences.labels if label in rows}
    scores = {(one.arm, one.label): one.recall for one in chapter.differences.classes}
    return _table(chapter, "by-class", BY_CLASS, BY_CLASS_CAPTION, counts, scores, CLASS, RECALL)


def _table(
    chapter: Chapter,
    name: str,
    title: Both,
    caption: Both,
    counts: Mapping[str, int],
    scores: Mapping[tuple[str, str], float],
    part: Both,
    score: Both,
) -> Figure | None:
    """Arms × parts of the test rows, as a heatmap with the number in each cell; of too many parts the largest, in their
    order. ``counts`` are the test rows of each part, ``scores`` are by arm and part."""
    if not counts:
        return None
    present = {arm for arm, _ in scores}
    arms = [arm.label for arm in _everything(chapter) if arm.label in present][:MOST_ARMS]
    largest = set(sorted(counts, key=lambda one: -counts[one])[:MOST_PARTS])
    labels = {one: f"{one} ({count:,})" for one, count in counts.items() if one in largest}
    cut = CUT.format(shown=len(labels), total=len(counts)) if len(labels) < len(counts) else same("")
    fixed = _baselines(chapter)
    rows: list[Row] = [
        {"arm": arm, "o": number, "x": label, "n": counts[one], "v": fig.share(scores[arm, one]), "b": arm in fixed}
        for number, arm in enumerate(arms)
        for one, label in labels.items()
        if (arm, one) in scores
    ]

    def chart(language: Language, for_page: bool) -> AnyChart:
        about = fig.tooltip(language, ("arm:N", fig.ARM), ("x:N", part), ("v:Q", score, ".1%"), ("n:Q", ROWS, ","))
        return grid(rows, list(labels.values()), about, score[language], for_page)

    width = max(fig.WIDTH, 48 * len(labels))
    return fig.figure(name, title, caption.format(cut=cut), chart, height=alt.Step(CELL_HEIGHT), width=width)


def _everything(chapter: Chapter) -> list[ArmSummary]:
    return [*chapter.comparison.arms, *chapter.comparison.baselines]


def _baselines(chapter: Chapter) -> frozenset[str]:
    return frozenset(arm.label for arm in chapter.comparison.baselines)
