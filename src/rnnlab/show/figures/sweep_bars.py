"""Bars of a sweep: a setting each, with its runs."""

from typing import Any

import altair as alt

from rnnlab.comparing.studies import Point, Repeat, Study
from rnnlab.show.figures.chart_text import AnyChart, description, title
from rnnlab.show.figures.sweep_curves import CROSS
from rnnlab.show.figures.sweep_heatmap import DIVERGED
from rnnlab.show.sweep_summary import median_text, ranked, summarise
from rnnlab.show.words.sweep_wording import WORDS, Language, aim_text, is_share, quantity_name, score_text, step_text

MOST_BARS = 40
WIDTH, ROW_HEIGHT = 440, 26
LANES = 18  # pixels of a bar's height, among which its runs are spread
LEGEND = alt.Legend(title=None, orient="bottom", labelLimit=240)
Row = dict[str, Any]


def bars(study: Study, language: Language = "en") -> AnyChart:
    """The median first step at the target of every setting, from the least to the most, and its runs one by one;
    without a target the mean validation score."""
    words = WORDS[language]
    best = ranked(study)
    chosen = set(map(id, best[:MOST_BARS]))
    shown = [point for point in study.points if id(point) in chosen]
    rows, marks = [], []
    for point in shown:
        row, of_its_runs = _bar(study, point, words)
        rows.append(row)
        marks += of_its_runs
    about = [words["bars" if study.target else "bars of scores"]]
    if study.target:
        about = [aim_text(study, language), *about, words["capped"].format(cap=step_text(study.target.cap))]
    if len(shown) < len(best):
        about.append(words["only best"].format(shown=len(shown), total=len(study.points)))
    what = words["first step"] if study.target else quantity_name(f"valid_{study.metric}", language)
    axis = alt.Axis(format=",.0f" if study.target else "%" if is_share(study.metric) else "~g", tickCount=8)
    labels = [point.label for point in shown]
    base = alt.Chart().encode(
        y=alt.Y("label:N", sort=labels, title=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False))
    )
    bar = base.transform_filter("datum.kind == 'bar'")
    run = base.transform_filter("datum.kind == 'run'")
    x = alt.X("value:Q", title=what, axis=axis, scale=alt.Scale(domainMin=0))
    tooltip = [alt.Tooltip("label:N", title=words["setting"]), alt.Tooltip("value:Q", title=what, format=".4g")]
    more = [alt.Tooltip("seed:Q", title=words["seed"]), alt.Tooltip("how:N", title=words["status"])]
    layers = [
        bar.mark_bar(height=LANES).encode(x=x, fill=_fill(study, rows, words), tooltip=tooltip),
        bar.mark_rule(opacity=0.8).encode(x=alt.X("least:Q", title=what, axis=axis), x2="most:Q"),
        run.mark_point(size=26, fill="white", strokeWidth=1.5, opacity=1, yOffset=alt.ExprRef("datum.lane")).encode(
            x=x, tooltip=[*tooltip, *more], **_shapes(study, marks, words)
        ),
        bar.mark_text(align="left", dx=9, fontSize=11).encode(x=alt.X("right:Q", title=what, axis=axis), text="note:N"),
    ]
    head = title(f"{study.name} · {what}", words["stop"].join(about), WIDTH + 320)
    return alt.layer(
        *layers,
        data=alt.Data(values=[*rows, *marks]),
        width=WIDTH,
        height=alt.Step(ROW_HEIGHT),
        title=head,
        description=description(head),
    ).resolve_scale(fill="independent", shape="shared", stroke="shared")


def _fill(study: Study, rows: list[Row], words: dict[str, str]) -> alt.Fill:
    """A colour for bars all of whose runs arrived, some of whose never did, and some of whose diverged."""
    colours = {
        words["all arrived" if study.target else "all finished"]: "#7ba7d0",
        words["some never"]: "#f2c14e",
        words["some diverged"]: "#e39a96",
    }
    seen = [state for state in colours if any(row["state"] == state for row in rows)]
    scale = alt.Scale(domain=seen, range=[colours[state] for state in seen])
    return alt.Fill("state:N", scale=scale, legend=LEGEND)


def _shapes(study: Study, marks: list[Row], words: dict[str, str]) -> dict[str, Any]:
    """A shape and a colour for each way in which a run can end."""
    looks = {
        words["arrived" if study.target else "finished"]: ("circle", "#1f3b57"),
        words["never"]: ("triangle-right", "#8a5a00"),
        words["diverged"]: (CROSS, DIVERGED),
    }
    seen = [how for how in looks if any(mark["how"] == how for mark in marks)]
    shapes, colours = ([looks[how][part] for how in seen] for part in (0, 1))
    return {
        "shape": alt.Shape("how:N", scale=alt.Scale(domain=seen, range=shapes), legend=LEGEND),
        "stroke": alt.Stroke("how:N", scale=alt.Scale(domain=seen, range=colours), legend=LEGEND),
    }


def _bar(study: Study, point: Point, words: dict[str, str]) -> tuple[Row, list[Row]]:
    """A setting's bar, and a mark for each of its runs."""
    found = summarise(study, point.repeats)
    row: Row = {"kind": "bar", "label": point.label, "state": words["all arrived" if study.target else "all finished"]}
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
        row["state"] = words["some never"]
        notes.append(words["n never"].format(count=found.never, runs=found.counted))
    if found.diverged:
        row["state"] = words["some diverged"]
        notes.append(words["n diverged"].format(count=found.diverged, runs=found.counted))
    row |= {"note": words["comma"].join(filter(None, notes)), "right": row["most"] or 0}
    marks = [mark for repeat in point.repeats if (mark := _run_mark(study, point.label, repeat, words))]
    for number, mark in enumerate(marks):  # one below the other, so that none hides another
        mark["lane"] = round(LANES * ((number + 0.5) / len(marks) - 0.5), 1)
    return row, marks


def _run_mark(study: Study, label: str, repeat: Repeat, words: dict[str, str]) -> Row | None:
    """None for a run that says nothing."""
    if repeat.status not in ("finished", "diverged"):
        return None
    place: Row = {"kind": "run", "label": label, "seed": repeat.seed}
    if study.target is None:
        score = repeat.result.get("valid", {}).get(study.metric)
        return None if score is None else place | {"value": score, "how": words["finished"]}
    value = study.target.cap if repeat.reached is None else repeat.reached
    how = "diverged" if repeat.status == "diverged" else "never" if repeat.reached is None else "arrived"
    return place | {"value": value, "how": words[how]}
