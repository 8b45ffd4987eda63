"""Bars of a sweep: a setting each, with its runs."""

import altair as alt

from rnnlab.comparing.studies import Point, Repeat, Study
from rnnlab.core.words import COMMAS, Both, Language, both, capitalised, joined
from rnnlab.show.figures.figure import AnyChart, Figure, Row, as_wide_as_the_page, data, headed, sentences, tooltip
from rnnlab.show.figures.labels import text_width
from rnnlab.show.figures.sweep_curves import CROSS
from rnnlab.show.figures.sweep_heatmap import DIVERGED
from rnnlab.show.sweep_summary import median_text, ranked, summarise
from rnnlab.show.sweep_texts import aim_text, compared_text, is_share, point_text, score_text, step_text

MOST_BARS = 40
WIDTH, ROW_HEIGHT = 440, 26
LEAST_WIDTH = 260  # of the bars on a page
LANES = 18  # pixels of a bar's height, among which its runs are spread
LEGEND = alt.Legend(
    title=None, orient="bottom", labelLimit=240, columns=alt.ExprRef("containerSize()[0] < 900 ? 1 : 3")
)


def bars_figure(study: Study) -> Figure:
    title = capitalised(compared_text(study))
    caption = sentences(_about(study))
    return Figure("bars", title, caption, lambda language, page: bars(study, language, page))


def _shown(study: Study) -> list[Point]:
    chosen = set(map(id, ranked(study)[:MOST_BARS]))
    return [point for point in study.points if id(point) in chosen]


def _about(study: Study) -> list[Both]:
    if study.target:
        about = [
            both("Bar: median; whisker: from the least to the most; one mark per run"),
            both("A run that didn't arrive counts as {cap}", cap=step_text(study.target.cap)),
        ]
    else:
        about = [both("Bar: mean; whisker: from the least to the most; one mark per run")]
    shown = len(_shown(study))
    if shown < len(ranked(study)):
        about.append(both("The best {shown} of {total} settings", shown=shown, total=len(study.points)))
    return about


def bars(study: Study, language: Language = "en", for_page: bool = False) -> AnyChart:
    """The median first step at the target of every setting, from the least to the most, and its runs one by one;
    without a target the mean validation score. A page says the words beside it."""
    rows, marks = [], []
    for point in _shown(study):
        row, of_its_runs = _bar(study, point, language)
        rows.append(row)
        marks += of_its_runs
    what = compared_text(study)
    axis = alt.Axis(
        format=",.0f" if study.target else "%" if is_share(study.metric) else "~g", tickCount=8, labelBound=True
    )
    labels = [row["label"] for row in rows]
    base = alt.Chart().encode(
        y=alt.Y("label:N", sort=labels, title=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False))
    )
    bar = base.transform_filter("datum.kind == 'bar'")
    run = base.transform_filter("datum.kind == 'run'")
    scale = alt.Scale(domainMin=0)
    room = 16 + max((text_width(row["note"], 320) for row in rows), default=0.0)
    if for_page:  # with room for what is written at the end of the longest
        longest = max((row["right"] for row in (*rows, *({"right": mark["value"]} for mark in marks))), default=1.0)
        ends = [0, alt.ExprRef(f"{longest or 1:g} * width / max(80, width - {room:.0f})")]
        scale = alt.Scale(domain=ends, nice=False)
    x = alt.X("value:Q", title=what[language], axis=axis, scale=scale)
    fields = (("label:N", both("setting")), ("value:Q", what, ".4g"))
    of_run = tooltip(language, *fields, ("seed:Q", both("seed")), ("how:N", both("status")))
    points = run.mark_point(size=26, fill="white", strokeWidth=1.5, opacity=1, yOffset=alt.ExprRef("datum.lane"))
    note = alt.X("right:Q", title=what[language], axis=axis)
    layers = [
        bar.mark_bar(height=LANES).encode(x=x, fill=_fill(study, rows, language), tooltip=tooltip(language, *fields)),
        bar.mark_rule(opacity=0.8).encode(x=alt.X("least:Q", title=what[language], axis=axis), x2="most:Q"),
        points.encode(x=x, tooltip=of_run, **_shapes(study, marks, language)),
        bar.mark_text(align="left", dx=9, fontSize=11).encode(x=note, text="note:N"),
    ]
    said = [*([aim_text(study)] if study.target else []), *_about(study)]
    size: Row = {"width": WIDTH} | headed(f"{study.name} · {what[language]}", said, WIDTH + 320, language)
    if for_page:
        names = max(text_width(label, 320) for label in labels)
        size = as_wide_as_the_page(round(names + max(LEAST_WIDTH, room + 120)))
    chart = alt.layer(*layers, data=data([*rows, *marks]), height=alt.Step(ROW_HEIGHT), **size)
    return chart.resolve_scale(fill="independent", shape="shared", stroke="shared")


def _all_well(study: Study, language: Language) -> str:
    return (both("all runs arrived") if study.target else both("all runs finished"))[language]


def _fill(study: Study, rows: list[Row], language: Language) -> alt.Fill:
    """A colour for bars all of whose runs arrived, some of whose never did, and some of whose diverged."""
    colours = {
        _all_well(study, language): "#7ba7d0",
        both("some never arrived")[language]: "#f2c14e",
        both("some diverged")[language]: "#e39a96",
    }
    seen = [state for state in colours if any(row["state"] == state for row in rows)]
    scale = alt.Scale(domain=seen, range=[colours[state] for state in seen])
    return alt.Fill("state:N", scale=scale, legend=LEGEND if len(seen) > 1 else None)


def _shapes(study: Study, marks: list[Row], language: Language) -> Row:
    """A shape and a colour for each way in which a run can end."""
    looks = {
        (both("arrived") if study.target else both("finished"))[language]: ("circle", "#1f3b57"),
        both("never arrived")[language]: ("triangle-right", "#8a5a00"),
        both("diverged")[language]: (CROSS, DIVERGED),
    }
    seen = [how for how in looks if any(mark["how"] == how for mark in marks)]
    shapes, colours = ([looks[how][part] for how in seen] for part in (0, 1))
    legend = LEGEND if len(seen) > 1 else None
    return {
        "shape": alt.Shape("how:N", scale=alt.Scale(domain=seen, range=shapes), legend=legend),
        "stroke": alt.Stroke("how:N", scale=alt.Scale(domain=seen, range=colours), legend=legend),
    }


def _bar(study: Study, point: Point, language: Language) -> tuple[Row, list[Row]]:
    """A setting's bar, and a mark for each of its runs."""
    found = summarise(study, point.repeats)
    row: Row = {"kind": "bar", "label": point_text(study, point)[language], "state": _all_well(study, language)}
    notes = []
    if found.arrival and study.target:
        row |= {"value": found.arrival.median, "least": found.arrival.least, "most": found.arrival.most}
        notes.append(median_text(found))
    elif found.valid:
        row |= {"value": found.valid.mean, "least": found.valid.least, "most": found.valid.most}
        notes.append(score_text(study.metric, found.valid.mean))
    else:
        row |= {"value": None, "least": None, "most": None}
    if found.never:
        row["state"] = both("some never arrived")[language]
        notes.append(both("{count} of {runs} never", count=found.never, runs=found.counted))
    if found.diverged:
        row["state"] = both("some diverged")[language]
        notes.append(both("{count} of {runs} diverged", count=found.diverged, runs=found.counted))
    row |= {"note": joined([one for one in notes if one], COMMAS)[language], "right": row["most"] or 0}
    marks = [mark for repeat in point.repeats if (mark := _run_mark(study, row["label"], repeat, language))]
    for number, mark in enumerate(marks):  # one below the other, so that none hides another
        mark["lane"] = round(LANES * ((number + 0.5) / len(marks) - 0.5), 1)
    return row, marks


def _run_mark(study: Study, label: str, repeat: Repeat, language: Language) -> Row | None:
    """None for a run that says nothing."""
    if repeat.status not in ("finished", "diverged"):
        return None
    place: Row = {"kind": "run", "label": label, "seed": repeat.seed}
    if study.target is None:
        score = repeat.result.get("valid", {}).get(study.metric)
        return None if score is None else place | {"value": score, "how": both("finished")[language]}
    value = study.target.cap if repeat.reached is None else repeat.reached
    if repeat.status == "diverged":
        how = both("diverged")
    else:
        how = both("never arrived") if repeat.reached is None else both("arrived")
    return place | {"value": value, "how": how[language]}
