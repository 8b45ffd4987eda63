"""The charts of a report: their figures are the chapter's, Vega draws them in both languages, for a page and for a
file, and users' texts stay texts."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import chapter_examples as examples
import numpy as np
import pytest
import vl_convert

from rnnlab.comparing.chapters import Chapter, Curve, CurvePoint, Differences, Learning
from rnnlab.core.words import LANGUAGES, Language, same
from rnnlab.judging.findings import ArmScores, Estimate, Verdict
from rnnlab.judging.verdict import judge
from rnnlab.show.figures import drawing as figures
from rnnlab.show.figures.confusion import FILL, MOST_LABELS, WHITE_FROM, confusion_rows, matrices
from rnnlab.show.figures.cost import MOST_LABELS as MOST_LABELLED
from rnnlab.show.figures.cost import cost_rows
from rnnlab.show.figures.cost_axes import Measure, measures, outside, pareto_front, score_domain
from rnnlab.show.figures.figure import Figure, colours, share
from rnnlab.show.figures.gates import gate_rows, gate_text
from rnnlab.show.figures.gradients import epoch_rows, gradient_rows, memory_rows
from rnnlab.show.figures.heatmap import Look, Scale, shades, white_is_read
from rnnlab.show.figures.learning import MOST_POINTS, curve_rows, ending_rows, thinned, views
from rnnlab.show.figures.palette import BASELINE, DARK_CONFIG, FAILED, LIGHT_CONFIG, luminance, rgb, themed
from rnnlab.show.figures.sections import chapter_figures
from rnnlab.show.figures.seeds import MOST_ROWS, domain, run_rows, runs_figure

HOSTILE = {
    "lstm": "<script>alert('a\"b')</script> \\ [x].y",
    "gru (bidirectional)": "gru's " + "very " * 40 + "A",
    "textcnn": "gru's " + "very " * 40 + "B",
    "majority": "' || alert(1) || '",
    "n-grams": "{1} {{2}} </text>",
    "negative": "bad\\'s [0].z",
    "neutral": "constructor",
    "plain": "<b>x</b>",
    "negation": 'not\n"good"',
}


def renamed(thing: Any) -> Any:
    """The same with other labels of arms, classes and tags."""
    if isinstance(thing, str):
        return HOSTILE.get(thing, thing)
    if isinstance(thing, list | tuple):
        return type(thing)(map(renamed, thing))
    if isinstance(thing, dict):
        return {renamed(key): renamed(value) for key, value in thing.items()}
    if is_dataclass(thing) and not isinstance(thing, type):
        return replace(thing, **{field.name: renamed(getattr(thing, field.name)) for field in fields(thing)})
    return thing


@pytest.fixture(scope="module")
def chapter() -> Chapter:
    return examples.chapter()


@pytest.fixture(scope="module")
def hostile(chapter) -> Chapter:
    return renamed(chapter)


def every(chapter: Chapter) -> list[Figure]:
    return [figure for section in chapter_figures(chapter).values() for figure in section]


def named(chapter: Chapter, name: str) -> Figure:
    return next(figure for figure in every(chapter) if figure.name == name)


def svg(chart: Any, theme: dict[str, Any] = LIGHT_CONFIG, **params: Any) -> str:
    """As a page of 700 pixels would show it."""
    spec = themed(json.loads(json.dumps(chart.to_dict(validate=False), allow_nan=False)), theme)
    if spec.get("width") == "container":
        spec["width"] = 700
    for param in spec.get("params", []):
        param["value"] = params.pop(param["name"], param.get("value"))
        if "expr" in param:
            del param["value"]
    assert not params  # every choice is a parameter of the chart
    return vl_convert.vegalite_to_svg(spec, vl_version=figures.vega_lite_version())


def expressions(spec: Any, key: str = "") -> Iterator[str]:
    """Whatever Vega would evaluate."""
    if isinstance(spec, dict):
        for name, value in spec.items():
            if name not in ("values", "datasets"):
                yield from expressions(value, name)
    elif isinstance(spec, list):
        for value in spec:
            yield from expressions(value, key)
    elif isinstance(spec, str) and key in (
        "expr",
        "labelExpr",
        "filter",
        "calculate",
        "test",
        "signal",
        "update",
        "init",
    ):
        yield spec


def test_which_there_are(chapter):
    assert {section: [one.name for one in found] for section, found in chapter_figures(chapter, "c1-").items()} == {
        "cost": ["c1-cost"],
        "table": ["c1-seeds"],
        "learning": ["c1-learning"],
        "differences": ["c1-by-length", "c1-by-tag", "c1-by-class", "c1-confusion"],
        "why": ["c1-gradient", "c1-memory", "c1-memory-by-epoch", "c1-gates"],
    }


def test_nothing_to_draw(chapter):
    without = replace(
        chapter.comparison,
        arms=tuple(replace(arm, score=None, by_tag={}, by_length={}) for arm in chapter.comparison.arms),
        baselines=(),
    )
    empty = replace(
        chapter,
        comparison=without,
        learning=Learning(("accuracy",), False, "epoch", (), ()),
        differences=Differences((), (), (), ()),
        internals=(),
    )
    assert chapter_figures(empty) == {}


OTHER_WAYS = [pytest.param(language, page, marks=pytest.mark.long) for language, page in [("zh", True), ("en", False)]]


@pytest.mark.parametrize(("language", "for_page"), [("en", True), ("zh", False), *OTHER_WAYS])
def test_vega_draws_them(chapter, language: Language, for_page):
    for figure in every(chapter):
        chart = figure.draw(language, for_page)
        spec = chart.to_dict()  # which Altair checks against the schema of Vega-Lite
        drawn = svg(chart)
        assert "NaN" not in drawn, figure.name
        assert "undefined" not in drawn, figure.name
        assert spec["description"].startswith(figure.title[language][:4])
        assert ("title" in spec) != for_page
        chinese = re.search("[\u4e00-\u9fff]", re.sub(r"[^\u4e00-\u9fffa-z]", "", json.dumps(spec, ensure_ascii=False)))
        assert bool(chinese) == (language == "zh"), figure.name


def test_texts_take_the_colour_of_the_page(chapter):
    for figure in every(chapter):
        drawn = svg(figure.draw("en", True), DARK_CONFIG)
        assert DARK_CONFIG["axis"]["labelColor"] in drawn
        assert LIGHT_CONFIG["text"]["color"] not in drawn
        assert 'fill="#000"' not in drawn
    assert LIGHT_CONFIG["text"]["color"] in svg(named(chapter, "cost").draw("en", True), LIGHT_CONFIG)


def test_both_languages_share_their_data(chapter):
    for figure in every(chapter):
        data = [figure.draw(language, True).to_dict(validate=False)["data"]["values"] for language in LANGUAGES]
        assert data[0] == data[1], figure.name


def test_a_page_switches_arms_and_choices(chapter):
    for figure in every(chapter):
        spec = figure.draw("en", True).to_dict(validate=False)
        params = {param["name"]: param.get("value") for param in spec["params"]}
        assert spec["width"] == "container"
        assert figure.arms == (figure.name != "confusion")
        assert (params.get("hidden") == []) == figure.arms
        for control in figure.controls:
            assert params[control.param] == control.choices[0][0]
            seen = {
                svg(figure.draw("en", True), LIGHT_CONFIG, **{control.param: value}) for value, _ in control.choices
            }
            assert len(seen) == len(control.choices)  # each shows something else


@pytest.mark.parametrize(
    "name", ["cost", "seeds", "learning", "by-length", "by-tag", "by-class", "gradient", "memory", "gates"]
)
def test_an_arm_that_is_switched_off_is_gone_and_the_others_keep_their_colours(chapter, name):
    figure, shades_ = named(chapter, name), colours(chapter)
    before, after = svg(figure.draw("en", True)), svg(figure.draw("en", True), hidden=["lstm"])
    if name in ("by-tag", "by-class", "gates"):
        assert ">lstm<" in before
        assert ">lstm<" not in after
        assert ">gru (bidirectional)<" in after
    else:
        assert shades_["lstm"] in before
        assert shades_["lstm"] not in after
        assert shades_["textcnn"] in after


def test_users_texts_are_in_no_expression(hostile):
    for figure in every(hostile):
        for for_page in (True, False):
            spec = figure.draw("en", for_page).to_dict(validate=False)
            compiled = vl_convert.vegalite_to_vega(spec, vl_version=figures.vega_lite_version())
            for expression in (*expressions(spec), *expressions(compiled)):
                for text in HOSTILE.values():
                    assert text[:20] not in expression
        drawn = svg(figure.draw("en", True))
        assert "NaN" not in drawn
        assert "<script" not in drawn
        assert "<b>" not in drawn


def test_hostile_texts_are_shown_as_they_are(hostile):
    assert "&lt;script>alert('a\"b')&lt;/script>" in svg(named(hostile, "by-tag").draw("en", True)).replace("&gt;", ">")
    chosen = svg(named(hostile, "confusion").draw("en", True), arm=HOSTILE["n-grams"])
    assert "bad\\'s [0].z" in chosen


class TestCost:
    def test_figures(self, chapter):
        rows = [row for row in cost_rows(chapter, measures(chapter.comparison.arms)) if row["k"] == "arm"]
        assert {row["m"] for row in rows} == {"epoch", "total", "parameters", "row"}
        by_label = {arm.label: arm for arm in chapter.comparison.arms}
        for row in rows:
            arm = by_label[row["arm"]]
            assert arm.score is not None
            assert [row["y"], row["lo"], row["hi"]] == pytest.approx(
                [arm.score.mean, arm.score.low, arm.score.high], rel=1e-4
            )
            assert (row["epoch"], row["parameters"]) == (arm.epoch_seconds, arm.parameters)
            assert row["row"] == pytest.approx(1000 * examples.FACTS[arm.label]["row"])  # milliseconds
            assert not row["out"]
        assert [row["arm"] for row in rows if row["r"] and row["m"] == "epoch"] == [
            chapter.comparison.verdict.recommended
        ]

    def test_without_epochs_the_cost_is_that_of_an_update(self):
        streamed = examples.chapter(unit="milliseconds")
        found = {one.key: one for one in measures(streamed.comparison.arms)}
        assert list(found) == ["update", "total", "parameters", "row"]
        assert found["update"].costs["lstm"] == pytest.approx(10)  # 2.5 s for 250 updates
        assert "milliseconds per update" in svg(named(streamed, "cost").draw("en", True))

    def test_far_costs_are_shown_by_their_logarithms(self):
        near, far = Measure("epoch", {"a": 1.0, "b": 8.0}), Measure("epoch", {"a": 1.0, "b": 1000.0})
        assert (near.logarithmic, near.place(8.0)) == (False, 8.0)
        assert (far.logarithmic, far.place(1000.0)) == (True, pytest.approx(3))
        assert far.ticks == [0, 1, 2, 3]
        assert near.ticks == [0, 2, 4, 6, 8]
        assert 3 in Measure("epoch", {"a": 3.0}).ticks

    def test_arms_without_a_score_or_cost_are_left_out(self, chapter):
        first, *others = chapter.comparison.arms
        arms = [replace(first, score=None), *(replace(arm, epoch_seconds=None) for arm in others)]
        assert [one.key for one in measures(arms)] == ["update", "total", "parameters", "row"]
        assert all(first.label not in one.costs for one in measures(arms))

    @pytest.mark.parametrize(
        ("points", "front"),
        [
            ({"a": (1, 0.5), "b": (2, 0.6), "c": (3, 0.55)}, ["a", "b"]),  # c costs more than b for less
            ({"a": (1, 0.9), "b": (2, 0.6)}, ["a"]),
            ({"a": (3, 0.9), "b": (1, 0.6), "c": (2, 0.7)}, ["b", "c", "a"]),
            ({"a": (1, 0.5), "b": (1, 0.7)}, ["b"]),  # equally cheap
            ({"a": (1, 0.5), "b": (2, 0.5)}, ["a"]),  # equally good
            ({"a": (1, 0.5)}, ["a"]),
            ({}, []),
        ],
    )
    def test_front(self, points, front):
        assert pareto_front(points) == front

    def test_front_of_the_example(self, chapter):
        front = [row for row in cost_rows(chapter, measures(chapter.comparison.arms)[:1]) if row["k"] == "front"]
        # textcnn and gru; lstm, one of whose seeds failed, costs more than textcnn and is worse
        assert [row["y"] for row in front] == pytest.approx([0.76667, 0.85889])

    def test_a_baseline_that_is_far_below_is_written_at_the_edge(self, chapter):
        rows = {row["arm"]: row["k"] for row in cost_rows(chapter, measures(chapter.comparison.arms)) if "arm" in row}
        assert (rows["n-grams"], rows["majority"]) == ("line", "below")
        found = score_domain(chapter)
        assert found.low < 2 / 3 < found.high
        assert "Far below, and not shown: majority  33.3 %." in named(chapter, "cost").caption.en

    def test_a_baseline_far_ahead_is_in_the_picture(self, chapter):
        ahead = tuple(replace(arm, score=Estimate(0.999, 0.99, 1.0)) for arm in chapter.comparison.baselines)
        changed = replace(chapter, comparison=replace(chapter.comparison, baselines=ahead))
        assert score_domain(changed).high >= 0.999
        assert {row["k"] for row in cost_rows(changed, []) if row["arm"] == "n-grams"} == {"line"}

    def test_one_arm_far_below_does_not_press_seven_flat(self, chapter):
        (arm, *_) = chapter.comparison.arms
        means = {"bigru": 0.987, "bilstm": 0.986, "lstm": 0.985, "gru": 0.981, "rnn": 0.958}
        means |= {"cnn": 0.886, "attention": 0.866, "linear": 0.605}
        arms = tuple(
            replace(arm, label=k, score=Estimate(v, v - 0.01, v + 0.01), failed_seeds=()) for k, v in means.items()
        )
        verdict = replace(chapter.comparison.verdict, recommended="gru")
        many = replace(chapter, comparison=replace(chapter.comparison, arms=arms, baselines=(), verdict=verdict))
        assert outside(many) == {"linear"}
        found = score_domain(many)
        assert 0.8 < found.low < 0.856
        rows = {row["arm"]: row for row in cost_rows(many, measures(arms)[:1]) if row["k"] == "arm"}
        assert {label for label, row in rows.items() if row["out"]} == {"linear"}
        assert rows["linear"]["y"] == pytest.approx(0.605)  # what is said of it is true
        assert rows["linear"]["label"] == "linear  60.5 %"
        assert "far below the others" in named(many, "cost").caption.en
        drawn = svg(named(many, "cost").draw("en", True)).replace("\u00a0", " ")
        assert "linear  60.5 %" in drawn
        assert outside(chapter) == frozenset()  # three arms: none is left out

    def test_an_arm_for_which_a_baseline_made_room_is_in_the_picture(self, chapter):
        (arm, *_) = chapter.comparison.arms
        (line, *_) = chapter.comparison.baselines
        arms = tuple(
            replace(arm, label=k, score=Estimate(v, v - wide, v + wide), failed_seeds=())
            for k, v, wide in (("gru", 0.415, 0.07), ("rnn", 0.40, 0.19), ("lstm", 0.39, 0.05), ("cnn", 0.162, 0.04))
        )
        below = replace(line, label="majority", score=Estimate(0.046, 0.04, 0.05))
        verdict = replace(chapter.comparison.verdict, recommended="gru")
        changed = replace(chapter, comparison=replace(chapter.comparison, arms=arms, baselines=(), verdict=verdict))
        assert outside(changed) == {"cnn"}
        changed = replace(changed, comparison=replace(changed.comparison, baselines=(below,)))
        assert score_domain(changed).low < 0.046
        assert outside(changed) == frozenset()
        assert not any(row["out"] for row in cost_rows(changed, measures(arms)[:1]) if row["k"] == "arm")

    def test_where_less_is_better_the_better_is_above(self, chapter):
        (arm, *_) = chapter.comparison.arms
        losses = {"a": 0.40, "b": 0.42, "c": 0.45, "d": 3.0}
        arms = tuple(
            replace(arm, label=k, score=Estimate(v, v - 0.01, v + 0.01), failed_seeds=(), epoch_seconds=1.0 + n)
            for n, (k, v) in enumerate(losses.items())
        )
        verdict = replace(
            chapter.comparison.verdict, metric="loss", unit="number", lower_is_better=True, recommended="a"
        )
        less = replace(chapter, comparison=replace(chapter.comparison, arms=arms, baselines=(), verdict=verdict))
        found = score_domain(less)
        assert found.pixel(0.40) < found.pixel(0.45)
        assert outside(less) == {"d"}
        assert found.high < 0.6
        rows = cost_rows(less, measures(arms)[:1])
        assert [row["y"] for row in rows if row["k"] == "front"] == [0.4]  # the cheapest is the best
        y = named(less, "cost").draw("en", True).to_dict(validate=False)["layer"][0]["encoding"]["y"]
        assert y["scale"]["reverse"] is True
        assert "%" not in y["axis"]["format"]

    def test_the_interval_of_an_arm_that_failed_does_not_press_the_others_flat(self, chapter):
        lstm = next(arm for arm in chapter.comparison.arms if arm.label == "lstm")
        assert lstm.score is not None
        assert (lstm.failed_seeds, lstm.score.low, lstm.score.high) == ((2,), 0, 1)
        found = score_domain(chapter)
        assert 0.5 < found.low < lstm.score.mean  # the point itself is there
        assert found.high < 0.95
        only = replace(chapter, comparison=replace(chapter.comparison, arms=(lstm,), baselines=()))
        assert score_domain(only).low == 0  # nothing else would be pressed flat

    def test_the_recommended_baseline_is_said(self, chapter):
        verdict = replace(chapter.comparison.verdict, recommended="n-grams")
        changed = replace(chapter, comparison=replace(chapter.comparison, verdict=verdict))
        assert "recommended baseline" in named(changed, "cost").caption.en
        assert "ring" not in named(changed, "cost").caption.en
        assert "圆圈" in named(chapter, "cost").caption.zh

    def test_of_many_arms_only_those_on_the_front_and_the_recommended_are_labelled(self, chapter):
        (arm, *_) = chapter.comparison.arms
        arms = tuple(
            replace(arm, label=f"arm {n}", score=Estimate(0.9 - 0.01 * n, 0.8, 0.95), epoch_seconds=1.0 + n)
            for n in range(MOST_LABELLED + 1)
        )
        verdict = replace(chapter.comparison.verdict, recommended="arm 5")
        many = replace(chapter, comparison=replace(chapter.comparison, arms=arms, verdict=verdict))
        rows = [row for row in cost_rows(many, measures(arms)[:1]) if row["k"] == "arm"]
        assert [row["arm"] for row in rows if "at" in row] == ["arm 0", "arm 5"]


def judged(scores: dict[str, list[float]], baselines: tuple[str, ...] = (), **options: Any) -> Verdict:
    """One score per run, on 100 rows that don't differ."""
    arms = [
        ArmScores(label, range(len(runs)), np.tile(np.array(runs)[:, None], 100), 1.0, label in baselines)
        for label, runs in scores.items()
    ]
    return judge(arms, np.arange(100), **options)


class TestSeeds:
    def test_every_run_is_there_the_best_arm_first(self, chapter):
        verdict = chapter.comparison.verdict
        rows = named(chapter, "seeds").draw("en", True).to_dict(validate=False)["data"]["values"]
        order = dict.fromkeys(row["arm"] for row in sorted(rows, key=lambda row: row["o"]))
        assert list(order) == ["gru (bidirectional)", "textcnn", "lstm", "n-grams", "majority"]
        for label, runs in verdict.scores.items():
            found = {row["seed"]: row["v"] for row in rows if row["k"] == "run" and row["arm"] == label}
            assert found == pytest.approx(runs, abs=1e-6)
            (mean,) = (row for row in rows if row["k"] == "mean" and row["arm"] == label)
            estimate = verdict.estimates[label]
            assert [mean["v"], mean["lo"], mean["hi"]] == pytest.approx(
                [estimate.mean, estimate.low, estimate.high], abs=1e-6
            )

    def test_a_failed_seed_is_a_warning(self, chapter):
        rows = named(chapter, "seeds").draw("en", True).to_dict(validate=False)["data"]["values"]
        assert [(row["arm"], row["seed"]) for row in rows if row.get("f")] == [("lstm", 2)]
        assert svg(named(chapter, "seeds").draw("en", True)).count(FAILED) == 1
        assert "failed to learn" in named(chapter, "seeds").caption.en
        assert "没有学会" in named(chapter, "seeds").caption.zh
        learnt = judged({"a": [0.8, 0.82], "b": [0.7, 0.71]})
        figure = runs_figure(learnt, ["a", "b"], {"a": "#0072b2", "b": "#d55e00"}, same("accuracy"))
        assert FAILED not in svg(figure.draw("en", True))
        assert "failed" not in figure.caption.en

    def test_a_failed_seed_that_is_not_far_away_is_a_cross(self):
        verdict = judged({"a": [0.9, 0.91, 0.6], "b": [0.5, 0.52, 0.51]})
        assert verdict.failures["a"].failed == (2,)
        (failed,) = (row for row in run_rows(verdict, ["a", "b"]) if row.get("f"))
        assert (failed["arm"], failed["v"], failed["s"]) == ("a", 0.6, "failed")

    @pytest.mark.parametrize(("direction", "far", "edge"), [(1, 0.1, "below"), (-1, 1.7, "above")])
    def test_runs_far_outside_do_not_press_the_others_flat(self, direction, far, edge):
        """Below where more is better, above where less is."""
        scores = {"a": [0.9, 0.91, 0.89], "b": [0.9, far, far + 0.02], "base": [far]}
        verdict = judged(scores, ("base",), unit="number", lower_is_better=direction < 0)
        low, high = domain(verdict, list(scores))
        assert high - low < 0.1
        assert low <= 0.89
        assert high >= 0.91
        rows = run_rows(verdict, list(scores))
        runs = {(row["arm"], row["seed"]): row["s"] for row in rows if row["k"] == "run"}
        assert {one for one, shape in runs.items() if shape == edge} == {("b", 1), ("b", 2), ("base", 0)}
        assert {shape for one, shape in runs.items() if one[0] == "a"} == {"learnt"}
        written = {row["arm"]: (row["lo"], row["hi"]) for row in rows if row["k"] == "edge"}
        assert written == {"b": pytest.approx((far, far + 0.02)), "base": pytest.approx((far, far))}
        means = {row["arm"]: row["drawn"] for row in rows if row["k"] == "mean"}
        assert means == {"a": True, "b": True, "base": False}  # the arrow of its only run is enough
        figure = runs_figure(verdict, list(scores), dict.fromkeys(scores, "#0072b2"), same("score"))
        drawn = svg(figure.draw("en", True))
        assert f">{far:g}–{far + 0.02:g}<" in drawn
        assert f">{far:g}<" in drawn
        assert "Arrows at the edge" in figure.caption.en

    def test_scores_at_the_edge_are_percents(self, chapter):
        drawn = svg(named(chapter, "seeds").draw("en", True))
        assert drawn.count(">33.3%<") == 2  # the majority, and the run that counts as it

    def test_equal_scores_are_not_stretched(self):
        verdict = judged({"a": [1.0, 1.0, 1.0], "b": [0.999, 1.0, 1.0]})
        low, high = domain(verdict, ["a", "b"])
        assert (low, high) == pytest.approx((0.96, 1.0))  # 4 margins wide, and no 101 %

    def test_no_run_hides_another(self):
        lanes = [row["lane"] for row in run_rows(judged({"a": [0.5] * 8}), ["a"]) if row["k"] == "run"]
        assert lanes == sorted(set(lanes), reverse=True)

    def test_which_luck_the_interval_counts_is_said(self, chapter):
        def said(verdict: Verdict) -> str:
            return runs_figure(verdict, ["a"], {"a": "#0072b2"}, same("accuracy")).caption.en

        assert "luck of the test rows alone" in said(judged({"a": [0.5]}))
        assert "luck of seeds and of test rows" in said(judged({"a": [0.5, 0.6]}))
        one_each = [ArmScores("a", range(5), np.linspace(0.5, 0.6, 5)[:, None])]
        assert "and of the split" in said(judge(one_each, np.zeros(1, int), test_per_train=0.25))
        assert "lies lower" in named(chapter, "seeds").caption.en  # that of the recommended one
        assert "lies lower" not in said(judged({"a": [0.5, 0.6]}))

    def test_of_very_many_the_best_are_shown(self):
        scores = {f"arm {n}": [0.9 - 0.01 * n] for n in range(MOST_ROWS + 3)}
        figure = runs_figure(judged(scores), list(scores), dict.fromkeys(scores, "#0072b2"), same("accuracy"))
        assert f"The best {MOST_ROWS} of {MOST_ROWS + 3}" in figure.caption.en
        shown = {row["arm"] for row in figure.draw("en", True).to_dict(validate=False)["data"]["values"]}
        assert shown == set(list(scores)[:MOST_ROWS])


class TestLearning:
    def test_figures(self, chapter):
        learning = chapter.learning
        rows = curve_rows(learning, views(learning))
        assert len(rows) == len(learning.curves)
        for row, curve in zip(rows, learning.curves, strict=True):
            assert (row["arm"], row["s"], learning.quantities[row["q"]]) == (curve.arm, curve.split, curve.quantity)
            assert row["m"] == pytest.approx([point.mean for point in curve.points], rel=1e-4)
            assert row["hi"] == pytest.approx([point.most for point in curve.points], rel=1e-4)
            assert row["e"] == [1, 2, 3, 4]

    def test_choices_are_those_that_have_curves(self, chapter):
        names = [view.name.en for view in views(chapter.learning)]
        assert names[:3] == ["validation accuracy", "training accuracy", "accuracy, training and validation"]
        kept = [one for one in chapter.learning.curves if one.split == "valid" or one.quantity == "loss"]
        fewer = replace(chapter.learning, curves=tuple(kept))
        assert [view.name.zh for view in views(fewer)][:2] == ["验证集准确率", "验证集损失"]

    def test_endings(self, chapter):
        shown = views(chapter.learning)
        rows = ending_rows(chapter.learning, shown[:1])
        curve = next(one for one in chapter.learning.curves if (one.arm, one.split) == ("lstm", "valid"))
        best = next(row for row in rows if row["k"] == "best" and row["arm"] == "lstm")
        cross = next(row for row in rows if row["k"] == "diverged")
        assert (best["e"], best["me"], best["mt"]) == (3, *[pytest.approx(curve.points[2].mean, rel=1e-4)] * 2)
        assert (cross["arm"], cross["e"], cross["t"], cross["seed"]) == ("lstm", 2, 6.2, 2)
        assert cross["me"] == pytest.approx(curve.points[1].mean, rel=1e-4)
        between = curve.points[1].mean + (6.2 - 5) / 2.5 * (curve.points[2].mean - curve.points[1].mean)
        assert cross["mt"] == pytest.approx(between, rel=1e-4)

    def test_a_run_that_diverged_at_once_stands_at_the_bad_edge(self, chapter):
        (cross,) = [ending for ending in chapter.learning.endings if ending.kind == "diverged"]
        learning = replace(chapter.learning, endings=(replace(cross, epoch=0, seconds=0.1),))
        shown = {view.name.en: view for view in views(learning)}
        accuracy, loss = shown["validation accuracy"], shown["validation loss"]
        low, high = ending_rows(learning, [accuracy, loss])
        assert low["me"] == pytest.approx(accuracy.low, rel=1e-4)
        assert high["me"] == pytest.approx(loss.high, rel=1e-4)
        assert "NaN" not in svg(named(replace(chapter, learning=learning), "learning").draw("en", True))

    def test_an_exploded_loss_does_not_press_the_others_flat(self, chapter):
        curves = [
            replace(
                one, points=tuple(replace(p, most=1e9) if p.epoch == 1 and one.arm == "lstm" else p for p in one.points)
            )
            for one in chapter.learning.curves
        ]
        shown = {view.name.en: view for view in views(replace(chapter.learning, curves=tuple(curves)))}
        assert shown["validation loss"].high < 20

    def test_one_evaluation_is_a_point(self, chapter):
        once = replace(
            chapter.learning,
            curves=tuple(replace(curve, points=curve.points[:1]) for curve in chapter.learning.curves),
        )
        figure = named(replace(chapter, learning=once), "learning")
        assert "one evaluation only" in figure.caption.en
        assert [control.param for control in figure.controls] == ["curve"]
        drawn = svg(figure.draw("en", True))
        assert drawn.count(colours(chapter)["textcnn"]) >= 2
        assert "NaN" not in drawn

    def test_long_curves_are_thinned_and_keep_their_end(self):
        points = [CurvePoint(n, n, n, 1, 0.5, 0.4, 0.6) for n in range(1, 101)]
        assert [point.epoch for point in thinned(points, 30)] == [1, 31, 61, 91, 100]
        assert thinned(points, 1) == points
        curves = tuple(Curve(f"arm {n}", "valid", "loss", tuple(points)) for n in range(100))
        learning = Learning(("loss",), True, "epoch", curves, ())
        rows = curve_rows(learning, views(learning))
        assert sum(len(row["e"]) for row in rows) <= 1.2 * MOST_POINTS


class TestDifferences:
    def test_lengths(self, chapter):
        rows = named(chapter, "by-length").draw("en", True).to_dict(validate=False)["data"]["values"]
        found = {(row["arm"], row["x"]): row["y"] for row in rows}
        for arm in chapter.comparison.arms:
            for part, cell in arm.by_length.items():
                assert found[arm.label, f"{part} ({cell.count})"] == pytest.approx(cell.score, rel=1e-4)
        assert ("n-grams", "3–7 (75)") in found  # the best baseline
        assert ("majority", "3–7 (75)") not in found

    def test_where_less_is_better_nothing_is_a_percentage(self, chapter):
        verdict = replace(chapter.comparison.verdict, metric="loss", unit="number", lower_is_better=True)
        arms = tuple(
            replace(
                arm,
                by_length={part: replace(cell, score=2 - cell.score) for part, cell in arm.by_length.items()},
                by_tag={part: replace(cell, score=2 - cell.score) for part, cell in arm.by_tag.items()},
            )
            for arm in chapter.comparison.arms
        )
        comparison = replace(chapter.comparison, arms=arms, baselines=(), verdict=verdict)
        less = replace(chapter, comparison=comparison)
        length, tag = named(less, "by-length"), named(less, "by-tag")
        assert (length.title.en, tag.title.en) == ("Loss by length", "Loss by tag")
        y = length.draw("en", True).to_dict(validate=False)["layer"][0]["encoding"]["y"]
        assert y["scale"]["reverse"] is True
        assert y["scale"]["domain"][1] > 1
        for figure in (length, tag):
            assert "%<" not in svg(figure.draw("en", True))
        rows = {row["v"]: row for row in tag.draw("en", True).to_dict(validate=False)["data"]["values"]}
        scale = shades(list(rows), Look(percent=False, lower_is_better=True))
        assert scale.place(min(rows)) < scale.place(max(rows))  # the least is the darkest

    def test_tags_and_classes(self, chapter):
        tags = {
            (row["arm"], row["x"]): row["v"]
            for row in named(chapter, "by-tag").draw("en", True).to_dict(validate=False)["data"]["values"]
        }
        lstm = next(arm for arm in chapter.comparison.arms if arm.label == "lstm")
        assert tags["lstm", "negation (99)"] == pytest.approx(lstm.by_tag["negation"].score, rel=1e-4)
        classes = named(chapter, "by-class").draw("en", True).to_dict(validate=False)["data"]["values"]
        found = {(row["arm"], row["x"]): row["v"] for row in classes}
        for score in chapter.differences.classes:
            assert found[score.arm, f"{score.label} ({score.rows})"] == pytest.approx(score.recall, rel=1e-4)
        assert "86.3%" in svg(named(chapter, "by-tag").draw("en", True))

    def test_of_very_many_classes_the_largest_are_shown(self, chapter):
        score = chapter.differences.classes[0]
        classes = tuple(replace(score, label=f"class {n}", rows=n + 1) for n in range(50))
        labels = tuple(one.label for one in classes)
        many = replace(chapter, differences=replace(chapter.differences, labels=labels, classes=classes, confusions=()))
        figure = named(many, "by-class")
        assert "The 30 largest of 50" in figure.caption.en
        shown = {row["x"] for row in figure.draw("en", True).to_dict(validate=False)["data"]["values"]}
        assert "class 49 (50)" in shown
        assert "class 19 (20)" not in shown

    def test_numbers_can_be_read_on_every_colour(self):
        scale = shades([0.31, 0.97])
        for step in range(101):
            value = 0.31 + 0.66 * step / 100
            bright, written = luminance(scale.colour(value)), float(white_is_read(scale.colour(value)))
            assert (max(bright, written) + 0.05) / (min(bright, written) + 0.05) > 4.5

    def test_one_low_value_does_not_leave_one_colour_to_the_others(self):
        values = [0.02, 0.71, 0.767, 0.79, 0.82, 0.85, 0.876, 0.9, 0.93, 0.95, 0.97, 0.99]
        one, other = (shades(values).colour(value) for value in (0.767, 0.876))
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > 0.15
        alone = Scale(0.02, 0.99, logarithmic=False, darkest_high=True, percent=True)
        one, other = (alone.colour(value) for value in (0.767, 0.876))
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) < 0.15  # evenly spaced ones would
        places = [shades(values).place(value) for value in values]
        assert places == sorted(places, reverse=True)  # darker is still better

    def test_a_narrow_range_is_not_stretched(self):
        scale = shades([0.97, 0.98])
        assert (scale.low, scale.high) == pytest.approx((0.88, 0.98))


class TestConfusion:
    def test_figures(self, chapter):
        found = matrices(chapter)
        assert found is not None
        rows = {(row["arm"], row["t"], row["a"]): row for row in confusion_rows(found)}
        for one in chapter.differences.confusions:
            for true, line in zip(examples.LABELS, one.counts, strict=True):
                assert sum(rows[one.arm, true, said]["v"] for said in examples.LABELS) == pytest.approx(1, abs=1e-4)
                for said, count in zip(examples.LABELS, line, strict=True):
                    assert rows[one.arm, true, said]["n"] == pytest.approx(count, rel=1e-4)

    def test_the_best_arm_first_and_in_a_file_the_best_four(self, chapter):
        figure = named(chapter, "confusion")
        (control,) = figure.controls
        assert [value for value, _ in control.choices] == [
            "gru (bidirectional)",
            "textcnn",
            "lstm",
            "majority",
            "n-grams",
        ]
        drawn = svg(figure.draw("en", False))
        assert ">textcnn<" in drawn
        assert ">majority<" not in drawn
        assert ">87%<" in drawn

    def test_the_choice_is_shown(self, chapter):
        drawn = svg(named(chapter, "confusion").draw("en", True), arm="majority")
        assert drawn.count(">100%<") == 3

    def test_many_classes(self, chapter):
        size = MOST_LABELS + 10
        labels = tuple(f"class {n}" for n in range(size))
        counts = tuple(
            tuple(5.0 if true == said else float(true > 20 and said == true - 1) for said in range(size))
            for true in range(size)
        )
        confusions = tuple(replace(one, counts=counts) for one in chapter.differences.confusions)
        changed = replace(chapter.differences, labels=labels, confusions=confusions, classes=())
        found = matrices(replace(chapter, differences=changed))
        assert found is not None
        assert len(found.labels) == MOST_LABELS
        assert set(range(20, size)) <= set(found.shown)  # the confused ones
        assert all(row["n"] for row in confusion_rows(found))
        figure = named(replace(chapter, differences=changed), "confusion")
        assert f"The {MOST_LABELS} most confused of {size}" in figure.caption.en
        assert "NaN" not in svg(figure.draw("en", True))

    @pytest.mark.parametrize("theme", [LIGHT_CONFIG, DARK_CONFIG])
    def test_shares_can_be_read_on_both_pages(self, theme):
        page = (1.0, 1.0, 1.0) if theme is LIGHT_CONFIG else rgb("#14171c")
        own = luminance(rgb(theme["text"]["color"]))
        for step in range(101):
            share = step / 100
            cell = tuple(share * f + (1 - share) * p for f, p in zip(rgb(FILL), page, strict=True))
            bright, text = luminance(cell), 1.0 if share >= WHITE_FROM else own  # type: ignore[arg-type]  # three of them
            assert (max(bright, text) + 0.05) / (min(bright, text) + 0.05) > 4


class TestWhy:
    def test_gradients_are_shares_of_the_largest(self, chapter):
        rows = {row["arm"]: row for row in gradient_rows(chapter)}
        assert rows["gru (bidirectional)"]["y"][:3] == pytest.approx([1, 0.7, 0.49])
        assert rows["lstm"]["x"] == list(range(21))
        assert rows["textcnn"]["x"] == [0, 1, 2, 3, 4]  # further away there is nothing

    def test_zeros_have_no_place_on_a_logarithmic_axis(self, chapter):
        odd = replace(chapter.internals[0], norms=(2.0, 0.0, None, 1e-9, 1.0))
        (row,) = gradient_rows(replace(chapter, internals=(odd,)))
        assert (row["x"], row["y"]) == ([0, 4], [1, 0.5])
        assert gradient_rows(replace(chapter, internals=(replace(odd, norms=(0.0, None)),))) == []

    def test_memory(self, chapter):
        rows = {row["arm"]: row for row in memory_rows(chapter)}
        assert (rows["lstm"]["v"], rows["lstm"]["open"], rows["lstm"]["text"]) == (20, True, "> 20")
        assert (rows["gru (bidirectional)"]["v"], rows["gru (bidirectional)"]["open"]) == (13, False)
        assert (rows["lstm"]["first"], rows["lstm"]["was"]) == (9, "9")
        figure = named(chapter, "memory")
        assert "arrow" in figure.caption.en
        assert "&gt; 20" in svg(figure.draw("en", True))
        closed = tuple(replace(one, memory=5) for one in chapter.internals)
        assert "arrow" not in named(replace(chapter, internals=closed), "memory").caption.en

    def test_memory_by_epoch(self, chapter):
        rows = epoch_rows(chapter)
        assert [(row["arm"], row["e"], row["v"], row["open"]) for row in rows] == [
            ("lstm", 1, 8, False),
            ("lstm", 2, 13, False),
            ("lstm", 3, 17, False),
            ("lstm", 4, 20, True),
        ]

    def test_gates(self, chapter):
        shown = [(one.arm, gate) for one in chapter.internals for gate in one.gates]
        rows = gate_rows(shown)
        assert [row["o"] for row in rows] == list(range(len(rows)))
        assert [row["arm"] for row in rows if row.get("head")] == ["lstm", "gru (bidirectional)"]
        assert (rows[2]["closed"], rows[2]["between"], rows[2]["open"]) == (0.04, 0.35, 0.61)
        names = [gate_text(gate) for _, gate in shown]
        assert (names[1].en, names[1].zh) == ("layer 1 · forget", "第 1 层 · 遗忘门")
        assert (names[-1].en, names[-1].zh) == ("layer 1, backward · update", "第 1 层（反向） · 更新门")
        assert "遗忘门" in svg(named(chapter, "gates").draw("zh", True))

    def test_a_plain_rnn_has_no_section_on_gates(self, chapter):
        state = replace(chapter.internals[0].gates[0], gate="state")
        plain = replace(chapter.internals[0], gates=(state,))
        alone = replace(chapter, internals=(plain,))
        assert "gates" not in [figure.name for figure in every(alone)]
        beside = replace(chapter, internals=(plain, *chapter.internals[1:]))
        rows = named(beside, "gates").draw("en", True).to_dict(validate=False)["data"]["values"]
        assert {row["arm"] for row in rows} == {chapter.internals[1].arm}


def test_baselines_are_grey(chapter):
    found = colours(chapter)
    assert found["majority"] == found["n-grams"] == BASELINE
    assert BASELINE not in [found[arm.label] for arm in chapter.comparison.arms]


def test_data_stay_small(chapter):
    """A hundred arms with a hundred epochs each."""
    points = tuple(CurvePoint(n, 10.0 * n, 1.234567 * n, 3, 1 / n, 0.9 / n, 1.1 / n) for n in range(1, 101))
    arms = [f"arm {n}" for n in range(100)]
    curves = tuple(
        Curve(arm, split, quantity, points)
        for arm in arms
        for split in ("valid", "train")
        for quantity in ("accuracy", "loss")
    )
    big = replace(chapter, learning=replace(chapter.learning, curves=curves, endings=()))
    spec = named(big, "learning").draw("en", True).to_dict(validate=False)
    assert len(json.dumps(spec)) < 500_000


@pytest.mark.parametrize("parts", [16, 24, 40, 400, 1600])
def test_a_share_is_said_as_the_tables_say_it(parts: int):
    """A browser rounds what stands in the middle up; Python, to the even neighbour."""
    for number in range(parts + 1):
        exact = number / parts
        shown = share(exact)
        assert shown is not None
        said = Decimal(shown * 100).quantize(Decimal("0.1"), ROUND_HALF_UP)
        assert f"{said}" == f"{100 * exact:.1f}"
        assert abs(shown - exact) < 1e-6
