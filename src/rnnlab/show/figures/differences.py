"""Where arms differ: the score by length, by tag of the rows, and by class; of taggers by tag or type of entities."""

from collections.abc import Mapping, Sequence

import altair as alt

from rnnlab.comparing.chapters import Chapter, Counted
from rnnlab.comparing.comparison import ArmSummary, Cell
from rnnlab.core.words import Both, Language, both, capitalised, same
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Figure, Row
from rnnlab.show.figures.heatmap import CELL_HEIGHT, Look, grid, slanted
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
BY_CONTEXT = both("Nats per token by what stands before")
BY_CONTEXT_CAPTION = both(
    "Tokens of the test rows by their number from the beginning of the row (how many there are: in brackets), mean of "
    "the runs; dashed: the best baseline. Fewer nats are higher up: a line that rises to the right gains from what "
    "stands before."
)
BY_READ = both("Nats per token by how much is read before")
BY_READ_CAPTION = both(
    "The same {tokens:,} tokens of the test text, each after its last tokens alone, of the best run of each model by "
    "validation; dashed: the best baseline, an n-gram, for which nothing changes once its order is reached. Fewer nats "
    "are higher up: where a line still rises, more context helps; a Transformer ends at its window."
)
READ = both("tokens read before")
TOKEN, NATS = both("token of a row (tokens)"), both("nats per token")
GREY = both("; dashed: the best baseline")
BY_TAG = both("{metric} by tag")
BY_CLASS = both("Recall by class")
BY_TAG_CAPTION = both("Mean of the runs on the test rows of each tag (how many: in brackets); darker is better.{cut}")
BY_CLASS_CAPTION = both(
    "Of the test rows of each class (how many: in brackets), the share that was found, mean "
    "of the runs; darker is better.{cut}"
)
BY_LABEL_PRECISION, BY_LABEL_F1 = both("Precision by label"), both("F1 by label")
PRECISION_CAPTION = both(
    "Of the test rows that were given each label (how many have it: in brackets), the share that has it, mean of the "
    "runs; darker is better. A label that was never given has none.{cut}"
)
F1_CAPTION = both("The harmonic mean of recall and precision of each label; darker is better.{cut}")
OF_TAGGERS: dict[Counted, tuple[Both, Both, Both, Both]] = {  # title, caption, what a column is, what is counted
    "tokens": (
        both("F1 by tag"),
        both(
            "The harmonic mean of recall and precision of each tag (how many test tokens have it: in brackets), mean "
            "of the runs; darker is better.{cut}"
        ),
        both("tag"),
        both("test tokens"),
    ),
    "entities": (
        both("F1 by type"),
        both(
            "The harmonic mean of recall and precision of each type of entities (how many the test rows hold: in "
            "brackets), mean of the runs; darker is better. An entity is right if its first token, its last token and "
            "its type are.{cut}"
        ),
        both("type"),
        both("entities in the test rows"),
    ),
    "words": (
        both("F1 by word"),
        both(
            "The harmonic mean of recall and precision of each word (how often the test rows say it: in brackets), "
            "mean of the runs; darker is better.{cut}"
        ),
        both("word"),
        both("times said"),
    ),
}
CUT = both(" The {shown} largest of {total} are shown.")
TAG, CLASS, RECALL, ROWS = both("tag"), both("class"), both("recall"), both("test rows")
LABEL, PRECISION, F1 = both("label"), both("precision"), both("F1")


def length_figure(chapter: Chapter) -> Figure | None:
    """None when all test rows are of about one length; translators have one with intervals."""
    if chapter.differences.translated is not None:
        return None
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


def context_figure(chapter: Chapter) -> Figure | None:
    """Of language models. Of a stream, the same tokens after more and more of what stands before; rows by position."""
    found = chapter.differences.continued
    baselines = {arm.label for arm in chapter.comparison.baselines} - {chapter.comparison.verdict.best_baseline}
    if found and found.by_context:
        read = sorted({read for one in found.by_context for read in one.nats})
        cut = {one.arm: {str(at): Cell(nats, found.asked) for at, nats in one.nats.items()} for one in found.by_context}
        return fig.figure(
            "by-context",
            BY_READ,
            BY_READ_CAPTION.format(tokens=found.asked),
            lambda language, for_page: _lines(chapter, cut, READ, NATS, language, for_page, [*map(str, read)]),
        )
    shown = [one for one in found.from_beginning if one.arm not in baselines] if found else []
    if all(len(one.parts) < 2 for one in shown):
        return None
    parts = {one.arm: {part: Cell(mean, count) for part, mean, count in one.parts} for one in shown}
    return fig.figure(
        "by-context",
        BY_CONTEXT,
        BY_CONTEXT_CAPTION,
        lambda language, for_page: _lines(chapter, parts, TOKEN, NATS, language, for_page),
    )


def _length_chart(chapter: Chapter, shown: Sequence[ArmSummary], language: Language, for_page: bool) -> AnyChart:
    length = LENGTH.format(unit=UNITS.get(str(chapter.comparison.profile.get("unit")), UNITS["tokens"]))
    parts = {arm.label: arm.by_length for arm in shown}
    return _lines(chapter, parts, length, fig.metric_of(chapter), language, for_page)


def _lines(
    chapter: Chapter,
    shown: Mapping[str, Mapping[str, Cell]],
    length: Both,
    metric: Both,
    language: Language,
    for_page: bool,
    across: Sequence[str] = (),
) -> AnyChart:
    """A line per arm through its scores by part, with how many rows it has; or by these parts, in this order, alone."""
    fixed, verdict = _baselines(chapter), chapter.comparison.verdict
    percent = verdict.unit == "percent"
    share = fig.share if percent else fig.short
    rows: list[Row] = [
        {"arm": arm, "x": part if across else f"{part} ({cell.count:,})", "y": share(cell.score), "n": cell.count}
        | {"b": arm in fixed, "o": number}
        for arm, parts in shown.items()
        for number, (part, cell) in enumerate(parts.items())
    ]
    order = list(across or dict.fromkeys(row["x"] for row in sorted(rows, key=lambda row: row["o"])))
    low, high = min(row["y"] for row in rows), max(row["y"] for row in rows)
    room = max(0.06 * (high - low), 1.0 if verdict.unit == "points" else 0.01)
    ends = [fig.short(max(0.0, low - room)), fig.short(min(fig.most(verdict.unit), high + room))]
    scale = alt.Scale(domain=ends, nice=False, zero=False, reverse=verdict.lower_is_better)  # down is always worse
    form, exact = ".0%" if percent else fig.ticks(verdict.unit), fig.exact(verdict.unit)
    base = (
        alt.Chart()
        .transform_filter(fig.SHOWN)
        .encode(
            x=alt.X("x:O", scale=alt.Scale(domain=order, padding=0.35), title=length[language], axis=slanted(order)),
            y=alt.Y("y:Q", title=metric[language], scale=scale, axis=alt.Axis(format=form, tickCount=6)),
            color=fig.colour(fig.colours(chapter), list(shown), for_page, symbolType="circle"),
        )
    )
    arms, baselines = base.transform_filter("!datum.b"), base.transform_filter("datum.b")
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("x:N", length), ("y:Q", metric, exact))
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
    verdict = chapter.comparison.verdict
    look = Look(verdict.unit == "percent", verdict.lower_is_better)
    return _table(chapter, "by-tag", title, BY_TAG_CAPTION, counts, scores, TAG, metric, look)


def class_figure(chapter: Chapter) -> Figure | None:
    """Of taggers F1 says more, and the tables have the rest."""
    if chapter.differences.counted != "rows":
        return None
    scores = {(one.arm, one.label): one.recall for one in chapter.differences.classes}
    return _table(chapter, "by-class", BY_CLASS, BY_CLASS_CAPTION, _counts(chapter), scores, CLASS, RECALL)


def precision_figure(chapter: Chapter) -> Figure | None:
    """Where a row may have several labels, in the place of a table of what is taken for what."""
    found = {(one.arm, one.label): one.precision for one in chapter.differences.classes if one.precision is not None}
    return _by_label(chapter, "precision-by-label", BY_LABEL_PRECISION, PRECISION_CAPTION, found, PRECISION)


def f1_figure(chapter: Chapter) -> Figure | None:
    """By label where a row may have several, and by tag or type of entities."""
    if chapter.differences.counted != "rows":
        title, caption, part, counted = OF_TAGGERS[chapter.differences.counted]
        scores = {(one.arm, one.label): one.f1 for one in chapter.differences.classes}
        return _table(chapter, "f1-by-type", title, caption, _counts(chapter), scores, part, F1, counted=counted)
    found = {(one.arm, one.label): one.f1 for one in chapter.differences.classes if one.precision is not None}
    return _by_label(chapter, "f1-by-label", BY_LABEL_F1, F1_CAPTION, found, F1)


def _by_label(
    chapter: Chapter, name: str, title: Both, caption: Both, scores: Mapping[tuple[str, str], float], score: Both
) -> Figure | None:
    if not chapter.comparison.profile.get("label_sets"):
        return None
    return _table(chapter, name, title, caption, _counts(chapter), scores, LABEL, score)


def _counts(chapter: Chapter) -> dict[str, int]:
    """How much the test has of each class, in the order of the labels."""
    rows = {one.label: one.rows for one in chapter.differences.classes}
    return {label: rows[label] for label in chapter.differences.labels if label in rows}


def _table(
    chapter: Chapter,
    name: str,
    title: Both,
    caption: Both,
    counts: Mapping[str, int],
    scores: Mapping[tuple[str, str], float],
    part: Both,
    score: Both,
    look: Look = Look(),
    counted: Both = ROWS,
) -> Figure | None:
    """Arms × parts of the test rows, as a heatmap with the number in each cell; of too many parts the largest, in their
    order. ``counts`` are the test rows of each part (or what is ``counted``), ``scores`` are by arm and part."""
    if not counts:
        return None
    present = {arm for arm, _ in scores}
    arms = [arm.label for arm in _everything(chapter) if arm.label in present][:MOST_ARMS]
    largest = set(sorted(counts, key=lambda one: -counts[one])[:MOST_PARTS])
    labels = {one: f"{one} ({count:,})" for one, count in counts.items() if one in largest}
    cut = CUT.format(shown=len(labels), total=len(counts)) if len(labels) < len(counts) else same("")
    fixed = _baselines(chapter)
    share = fig.share if look.percent else fig.short
    rows: list[Row] = [
        {"arm": arm, "o": number, "x": label, "n": counts[one], "v": share(scores[arm, one]), "b": arm in fixed}
        for number, arm in enumerate(arms)
        for one, label in labels.items()
        if (arm, one) in scores
    ]

    def chart(language: Language, for_page: bool) -> AnyChart:
        shown = (("x:N", part), ("v:Q", score, look.exact), ("n:Q", counted, ","))
        about = fig.tooltip(language, ("arm:N", fig.ARM), *shown)
        return grid(rows, list(labels.values()), about, score[language], for_page, look)

    width = max(fig.WIDTH, 48 * len(labels))
    return fig.figure(name, title, caption.format(cut=cut), chart, height=alt.Step(CELL_HEIGHT), width=width)


def _everything(chapter: Chapter) -> list[ArmSummary]:
    return [*chapter.comparison.arms, *chapter.comparison.baselines]


def _baselines(chapter: Chapter) -> frozenset[str]:
    return frozenset(arm.label for arm in chapter.comparison.baselines)
