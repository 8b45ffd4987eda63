"""Bars of a sweep: a setting each, with its runs."""

import altair as alt

from rnnlab.comparing.studies import Point, Repeat, Study
from rnnlab.core.words import COMMAS, Language, both, joined
from rnnlab.show.figures.figure import AnyChart, Row, data, headed, tooltip
from rnnlab.show.figures.sweep_curves import CROSS
from rnnlab.show.figures.sweep_heatmap import DIVERGED
from rnnlab.show.sweep_summary import median_text, ranked, summarise
from rnnlab.show.sweep_texts import aim_text, compared_text, is_share, score_text, step_text

MOST_BARS = 40
WIDTH, ROW_HEIGHT = 440, 26
LANES = 18  # pixels of a bar's height, among which its runs are spread
LEGEND = alt.Legend(title=None, orient="bottom", labelLimit=240)


def bars(study: Study, language: Language = "en") -> AnyChart:
    """The median first step at the target of every setting, from the least to the most, and its runs one by one;
    without a target the mean validation score."""
    best = ranked(study)
    chosen = set(map(id, best[:MOST_BARS]))
    shown = [point for point in study.points if id(point) in chosen]
    rows, marks = [], []
    for point in shown:
        row, of_its_runs = _bar(study, point, language)
        rows.append(row)
        marks += of_its_runs
    if study.target:
        about = [
            aim_text(study),
            both("Bar: median; whisker: from the least to the most; one mark per run"),
            both("A run that didn't arrive counts as {cap}", cap=step_text(study.target.cap)),
        ]
    else:
        about = [both("Bar: mean; whisker: from the least to the most; one mark per run")]
    if len(shown) < len(best):
        about.append(both("The best {shown} of {total} settings", shown=len(shown), total=len(study.points)))
    what = compared_text(study)
    axis = alt.Axis(format=",.0f" if study.target else "%" if is_share(study.metric) else "~g", tickCount=8)
    labels = [point.label for point in shown]
    base = alt.Chart().encode(
        y=alt.Y("label:N", sort=labels, title=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False))
    )
    bar = base.transform_filter("datum.kind == 'bar'")
    run = base.transform_filter("datum.kind == 'run'")
    x = alt.X("value:Q", title=what[language], axis=axis, scale=alt.Scale(domainMin=0))
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
    words = headed(f"{study.name} · {what[language]}", about, WIDTH + 320, language)
    chart = alt.layer(*layers, data=data([*rows, *marks]), width=WIDTH, height=alt.Step(ROW_HEIGHT), **words)
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
    return alt.Fill("state:N", scale=scale, legend=LEGEND)


def _shapes(study: Study, marks: list[Row], language: Language) -> Row:
    """A shape and a colour for each way in which a run can end."""
    looks = {
        (both("arrived") if study.target else both("finished"))[language]: ("circle", "#1f3b57"),
        both("never arrived")[language]: ("triangle-right", "#8a5a00"),
        both("diverged")[language]: (CROSS, DIVERGED),
    }
    seen = [how for how in looks if any(mark["how"] == how for mark in marks)]
    shapes, colours = ([looks[how][part] for how in seen] for part in (0, 1))
    return {
        "shape": alt.Shape("how:N", scale=alt.Scale(domain=seen, range=shapes), legend=LEGEND),
        "stroke": alt.Stroke("how:N", scale=alt.Scale(domain=seen, range=colours), legend=LEGEND),
    }


def _bar(study: Study, point: Point, language: Language) -> tuple[Row, list[Row]]:
    """A setting's bar, and a mark for each of its runs."""
    found = summarise(study, point.repeats)
    row: Row = {"kind": "bar", "label": point.label, "state": _all_well(study, language)}
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
    marks = [mark for repeat in point.repeats if (mark := _run_mark(study, point.label, repeat, language))]
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
