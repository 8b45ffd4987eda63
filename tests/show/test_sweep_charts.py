"""Charts of a sweep: their data is right, what diverged or never arrived is marked, and Vega draws them."""

from dataclasses import replace
from typing import Any

import pytest
import vl_convert

from rnnlab.comparing.studies import Study
from rnnlab.core.errors import ConfigError
from rnnlab.core.terms import setting_name
from rnnlab.core.words import Language, same
from rnnlab.show.figures import drawing as figures
from rnnlab.show.figures.figure import lines, log_ticks
from rnnlab.show.figures.heatmap import VIRIDIS, Scale
from rnnlab.show.figures.palette import luminance, rgb
from rnnlab.show.figures.sections import study_figures
from rnnlab.show.figures.sweep_bars import MOST_BARS, bars
from rnnlab.show.figures.sweep_curves import CROSS, MOST_COLOURS, MOST_STEPS, curves, mean_curve
from rnnlab.show.figures.sweep_heatmap import DIVERGED, cell, heatmap
from rnnlab.show.sweep_summary import best_point, heatmap_pairs, ranked, repeats_at, value_labels


def rows(chart: Any) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    return spec["data"]["values"]


def svg(chart: Any) -> str:
    return vl_convert.vegalite_to_svg(chart.to_dict(), vl_version=figures.vega_lite_version())


def subtitle(chart: Any) -> str:
    return " ".join(chart.to_dict()["title"]["subtitle"])


class TestHeatmap:
    def test_cells(self, grid):
        shown = {(row["x"], row["y"]): row for row in rows(heatmap(grid, "length", "lr"))}
        assert len(shown) == 35
        look = {place: (row["state"], row["value"], row["main"], row["small"]) for place, row in shown.items()}
        assert look["50", "0.01"] == ("value", 150, "150", "")
        assert look["5", "0.001"] == ("value", 500, "500+", "0/5 arrived")  # none arrived
        assert look["5", "0.05"] == ("value", 500, "500+", "2/5 arrived")  # the median one didn't
        assert look["50", "0.05"] == ("value", 500, "500+", "diverged 2/5")
        assert look["5", "0.5"] == ("diverged", None, "diverged", "5/5")
        assert look["70", "0.002"] == ("unscored", None, "failed", "5/5")
        assert look["50", "0.002"] == ("empty", None, "", "")
        assert {place for place, row in shown.items() if row["some_diverged"]} == {("50", "0.05"), ("70", "0.05")}

    def test_a_cell_that_arrives_in_most_runs_keeps_its_median(self, make_study):
        study = make_study({"lr": [1]}, lambda lr: [100, 150, 200, None, "diverged"])
        found = cell(study, study.points[0].repeats)
        assert (found.value, found.main, found.arrived, found.diverged) == (200, "200", "3/5", "1/5")

    @pytest.mark.parametrize(
        ("arrives", "main"),
        [
            ([500, 500, 500], "500"),  # at the cap, and yet in time
            ([300, 500, None], "500"),
            ([300, None, None], "500+"),
            ([200, None], "350+"),  # between a run that arrived and one that didn't
            ([100, 200, None], "200"),
            ([100, 200, 300, None], "250"),
        ],
    )
    def test_a_median_that_rests_on_the_cap_says_so(self, make_study, arrives, main):
        study = make_study({"lr": [1]}, lambda lr: arrives)
        assert cell(study, study.points[0].repeats).main == main

    def test_other_axes_are_pooled(self, make_study):
        axes = {"a": [1, 2], "b": ["x", "y"], "层数": [1, 2, 3]}
        study = make_study(axes, lambda a, b, layers: [50 * layers])
        chart = heatmap(study, "a", "b")
        assert all((row["value"], row["runs"]) == (100, 3) for row in rows(chart))
        assert "Pooled over 层数" in subtitle(chart)
        assert "Median of 3 runs" in subtitle(chart)

    def test_axes_keep_their_order(self, make_study):
        study = make_study({"lr": [0.5, 0.001, 10.0], "on": [True, False]}, lambda *_: [100])
        spec = heatmap(study, "lr", "on").to_dict()
        first = spec["layer"][0]["encoding"]
        assert first["x"]["scale"]["domain"] == ["0.5", "0.001", "10"]
        assert first["y"]["scale"]["domain"] == ["true", "false"]

    def test_without_a_target_the_mean_score_counts(self, grid):
        shown = {(row["x"], row["y"]): row for row in rows(heatmap(replace(grid, target=None), "length", "lr"))}
        assert (shown["5", "0.05"]["value"], shown["5", "0.05"]["main"]) == (pytest.approx(0.7), "70.0 %")
        assert (shown["50", "0.05"]["main"], shown["50", "0.05"]["small"]) == ("83.3 %", "diverged 2/5")
        assert shown["5", "0.5"]["state"] == "diverged"

    def test_the_legend_says_what_dark_means(self, grid):
        spec = heatmap(grid, "length", "lr").to_dict()
        colour = spec["layer"][0]["encoding"]["color"]
        assert "darker = faster" in colour["legend"]["title"]
        assert (colour["scale"]["domain"][0], colour["scale"]["domain"][-1]) == pytest.approx((150, 500))
        assert colour["scale"]["range"] == list(VIRIDIS)  # dark first: few steps
        better = heatmap(replace(grid, target=None), "length", "lr").to_dict()["layer"][0]["encoding"]["color"]
        assert "darker = better" in better["legend"]["title"]
        assert better["scale"]["range"] == list(reversed(VIRIDIS))

    def test_numbers_can_be_read_on_every_colour(self):
        scale = Scale(50, 500, True, False, False)
        for place in range(101):
            bright = luminance(scale.colour(50 * 10 ** (place / 100)))
            ink = 1.0 if bright < 0.179 else 0.0
            lighter, darker = max(bright, ink), min(bright, ink)
            assert (lighter + 0.05) / (darker + 0.05) > 4.5
        assert 1.05 / (luminance(rgb(DIVERGED)) + 0.05) > 4.5

    def test_ink_follows_the_colour(self, grid):
        inks = {row["main"]: row["ink"] for row in rows(heatmap(grid, "length", "lr"))}
        assert (inks["150"], inks["500+"], inks["diverged"]) == ("white", "black", "white")

    def test_vega_draws_every_cell(self, grid):
        drawn = svg(heatmap(grid, "length", "lr", "zh"))
        assert drawn.count(f'fill="{DIVERGED}"') >= 10
        for text in ("500+", "发散", "2/5 达标", "越深越快", ">150<"):
            assert text in drawn
        assert "NaN" not in drawn

    def test_an_unknown_axis(self, grid):
        with pytest.raises(ConfigError, match="no axis 'lenght'; did you mean 'length'"):
            heatmap(grid, "lenght", "lr")

    @pytest.mark.parametrize("value", [100, None, "diverged", "failed"])
    @pytest.mark.parametrize("target", [True, False])
    def test_one_cell(self, make_study, value, target):
        study = make_study({"a": [1], "b": [2]}, lambda *_: [value])
        chart = heatmap(study if target else replace(study, target=None), "a", "b")
        assert "NaN" not in svg(chart)


class TestCurves:
    def test_mean_and_band_with_the_last_value_held(self, make_study):
        study = make_study({"lr": [1]}, lambda lr: [100, 200])
        found = {row["step"]: row for row in mean_curve(study.points[0].repeats, "valid_exact")}
        assert list(found) == [50, 100, 150, 200]
        assert (found[50]["mean"], found[50]["least"], found[50]["most"]) == (0.375, 0.25, 0.5)
        assert (found[150]["mean"], found[150]["least"], found[150]["most"]) == (
            0.875,
            0.75,
            1.0,
        )  # one is at 1 since 100
        assert found[200]["runs"] == 2
        assert "keeps its last value" in subtitle(curves(study, "valid_exact"))
        assert "keeps" not in subtitle(curves(make_study({"lr": [1]}, lambda lr: [100, 100]), "valid_exact"))

    def test_a_diverged_run_ends_with_a_cross(self, make_study):
        study = make_study({"lr": [1]}, lambda lr: [200, "diverged"])
        chart = curves(study, "valid_exact")
        found = {row["step"]: row for row in rows(chart) if row["kind"] == "mean"}
        assert (found[100]["runs"], found[150]["runs"], found[150]["mean"]) == (2, 1, 0.75)
        ends = [row for row in rows(chart) if row["kind"].startswith("end")]
        assert [(row["step"], row["mean"], row["end"]) for row in ends] == [(120, 0.5, "diverged")]
        assert CROSS in str(chart.to_dict())
        assert "Marks show" in subtitle(chart)

    def test_a_run_that_diverged_at_once_is_marked_at_the_edge(self, make_study):
        study = make_study({"lr": [1]}, lambda lr: [200, "diverged"])
        point = study.points[0]
        at_once = replace(point, repeats=(point.repeats[0], replace(point.repeats[1], curve=())))
        ends = [row for row in rows(curves(replace(study, points=(at_once,)), "train_loss")) if "end" in row]
        assert [(row["kind"], row["step"]) for row in ends] == [("end at edge", 120)]

    def test_loss_has_a_logarithmic_axis_and_scores_go_from_0_to_1(self, grid):
        few = replace(grid, points=grid.points[:3])
        y = curves(few, "train_loss").to_dict()["layer"][-1]["encoding"]["y"]
        assert y["scale"]["type"] == "log"
        y = curves(few, "valid_exact").to_dict()["layer"][-1]["encoding"]["y"]
        assert y["scale"]["domain"] == [0, 1]

    def test_short_runs_with_low_scores_fill_the_picture(self, make_study):
        study = make_study({"lr": [1]}, lambda lr: [100])
        point = study.points[0]
        (event, *_) = point.repeats[0].curve
        short = tuple(
            event | {"step": step, "valid_exact": score, "train_loss": loss}
            for step, score, loss in ((29, 0.12, 2.51), (58, 0.32, 2.27))
        )
        point = replace(point, repeats=(replace(point.repeats[0], curve=short),))
        axes = curves(replace(study, points=(point,)), "valid_exact").to_dict()["layer"][-1]["encoding"]
        assert axes["x"]["scale"]["domainMin"] == 29
        assert axes["y"]["scale"]["domain"] == [0, 0.4]
        axes = curves(replace(study, points=(point,)), "train_loss").to_dict()["layer"][-1]["encoding"]
        assert "type" not in axes["y"]["scale"]  # 2.27 and 2.51 would be its only ticks
        once = replace(point, repeats=(replace(point.repeats[0], curve=short[:1]),))
        axes = curves(replace(study, points=(once,)), "valid_exact").to_dict()["layer"][-1]["encoding"]
        assert axes["x"]["scale"]["domainMin"] == 0

    def test_many_settings_get_panels(self, grid):
        chart = curves(grid, "valid_exact")
        found = rows(chart)
        assert list(dict.fromkeys(row["panel"] for row in found))[:2] == ["lr 0.001", "lr 0.002"]
        assert {row["name"] for row in found} == {f"length {n}" for n in (5, 10, 25, 50, 70)}
        assert chart.to_dict()["facet"]["sort"][-1] == "lr 0.5"
        assert "NaN" not in svg(chart)

    def test_of_very_many_the_best_are_coloured(self, make_study):
        study = make_study({"lr": list(range(30))}, lambda lr: [50 * (1 + lr % 10)])
        chart = curves(study, "valid_exact")
        coloured = {row["name"] for row in rows(chart) if not row["grey"]}
        assert len(coloured) == MOST_COLOURS
        assert {"lr 0", "lr 10", "lr 20"} <= coloured  # those that arrive at 50
        assert len({row["line"] for row in rows(chart)}) == 30
        assert f"The best {MOST_COLOURS} of 30" in subtitle(chart)

    def test_long_curves_are_thinned_and_keep_their_end(self, make_study):
        study = make_study({"lr": [1]}, lambda lr: [100])
        point = study.points[0]
        event = point.repeats[0].curve[0]
        long = replace(point.repeats[0], curve=tuple(event | {"step": step} for step in range(1, 1001)))
        found = [row["step"] for row in mean_curve([long], "train_loss")]
        assert len(found) <= MOST_STEPS + 1
        assert (found[0], found[-1]) == (1, 1000)

    def test_what_is_no_number_is_left_out(self, make_study):
        study = make_study({"lr": [1]}, lambda lr: [100])
        one = study.points[0].repeats[0]
        odd = replace(one, curve=(*one.curve, one.curve[-1] | {"step": 150, "train_loss": float("nan")}))
        assert [row["step"] for row in mean_curve([odd], "train_loss")] == [50, 100]
        assert mean_curve([odd], "no_such_thing") == []


class TestBars:
    def test_medians_whiskers_and_words(self, make_study):
        outcomes = {1: [100, 200, 300], 2: [100, None, None], 3: ["diverged"] * 3, 4: [100, 150, "diverged"]}
        found = rows(bars(make_study({"lr": [1, 2, 3, 4]}, lambda lr: outcomes[lr])))
        shown = {row["label"]: row for row in found if row["kind"] == "bar"}
        assert [shown["lr 1"][key] for key in ("value", "least", "most", "note")] == [200, 100, 300, "200"]
        assert shown["lr 1"]["state"] == "all runs arrived"
        assert (shown["lr 2"]["note"], shown["lr 2"]["state"]) == ("500+, 2 of 3 never", "some never arrived")
        assert (shown["lr 3"]["note"], shown["lr 3"]["state"]) == ("3 of 3 diverged", "some diverged")
        assert shown["lr 4"]["note"] == "150, 1 of 3 diverged"
        marks = [(row["label"], row["value"], row["how"]) for row in found if row["kind"] == "run"]
        assert marks[:3] == [("lr 1", step, "arrived") for step in (100, 200, 300)]
        assert ("lr 2", 500, "never arrived") in marks
        assert ("lr 4", 500, "diverged") in marks

    def test_without_a_target(self, make_study):
        study = replace(make_study({"lr": [1]}, lambda lr: [100, None, "diverged"]), target=None)
        row = rows(bars(study))[0]
        assert (row["value"], row["least"], row["most"], row["note"]) == (0.75, 0.5, 1.0, "75.0 %, 1 of 3 diverged")

    def test_of_very_many_the_best_are_shown(self, make_study):
        study = make_study({"lr": list(range(MOST_BARS + 5))}, lambda lr: [50 if lr > 4 else 500])
        chart = bars(study)
        labels = [row["label"] for row in rows(chart) if row["kind"] == "bar"]
        assert labels == [f"lr {n}" for n in range(5, MOST_BARS + 5)]
        assert f"The best {MOST_BARS} of {MOST_BARS + 5}" in subtitle(chart)

    def test_vega_draws_them(self, grid):
        drawn = svg(bars(grid, "zh"))
        assert "5 次中 5 次发散" in drawn
        assert "NaN" not in drawn


def test_what_charts_there_are(grid, make_study):
    assert [one.name for one in study_figures(grid)] == ["heatmap-length-lr", "curves", "loss", "bars"]
    assert [one.name for one in study_figures(make_study({"lr": [1, 2]}, lambda lr: [100]))] == [
        "curves",
        "loss",
        "bars",
    ]
    assert study_figures(make_study({"lr": [1]}, lambda lr: ["failed"])) == []


@pytest.fixture
def keyed(make_study) -> Study:
    axes = {"model.hidden": [8, 16, 32, 64], "training.lr": [0.001, 0.01, 0.1]}
    return make_study(axes, lambda hidden, lr: [100, 200] if lr < 0.1 else [None, "diverged"])


def test_axes_have_the_words_of_the_field(keyed):
    heat, *_, bar = study_figures(keyed)
    assert heat.title.en == "First update at the target: hidden units × learning rate"
    assert heat.title.zh.endswith("隐藏单元数 × 学习率")
    words: dict[Language, tuple[str, str]] = {"en": ("hidden units", "learning rate"), "zh": ("隐藏单元数", "学习率")}
    for language, names in words.items():
        for figure in study_figures(keyed):
            for for_page in (True, False):
                said = str(figure.draw(language, for_page).to_dict())
                assert "model.hidden" not in said
                assert "training.lr" not in said
        encoding = heat.draw(language, True).to_dict()["layer"][0]["encoding"]
        assert (encoding["x"]["title"], encoding["y"]["title"]) == names
    labels = [row["label"] for row in rows(bar.draw("zh", True)) if row["kind"] == "bar"]
    assert labels[0] == "隐藏单元数 8 · 学习率 0.001"


def test_a_name_that_somebody_gave_stays():
    assert (setting_name("training.lr").en, setting_name("training.lr").zh) == ("learning rate", "学习率")
    assert setting_name("model.embedding.width").en == "embedding width"
    assert setting_name("lr") == same("lr")  # a name for several settings
    assert setting_name("model.my_own") == same("my own")  # of a plug-in


def test_on_a_page_charts_take_its_width(keyed, make_study):
    for study in (keyed, make_study({"lr": [1, 2]}, lambda lr: [100])):
        for figure in study_figures(study):
            spec = figure.draw("en", True).to_dict()
            assert "title" not in spec  # the page says it
            assert figure.title.en
            assert figure.caption.en.endswith(".")
            assert spec.get("width") == "container" or "panels" in spec["usermeta"]
            assert "title" in figure.draw("en", False).to_dict()


def test_which_pairs_make_a_heatmap(make_study):
    assert heatmap_pairs(make_study({"a": [1], "b": [1, 2], "c": [1, 2, 3]}, lambda *_: [100])) == [("c", "b")]
    diagonal = make_study({"a": list(range(9)), "b": list(range(9))}, lambda a, b: [100] if a == b else None)
    assert heatmap_pairs(diagonal) == []  # as after a random search
    assert heatmap_pairs(make_study({"a": list(range(25)), "b": [1, 2]}, lambda *_: [100])) == []


def test_the_best_point(grid, make_study):
    best = best_point(grid)
    assert best is not None
    assert best.label == "lr 0.01 · length 50"
    assert [point.label for point in ranked(grid)][-1].startswith("lr 0.5")  # never before diverged
    assert best_point(make_study({"lr": [1]}, lambda lr: [None, "diverged"])) is None
    lower = replace(make_study({"lr": [1, 2]}, lambda lr: [100] if lr == 1 else [None]), target=None)
    best = best_point(replace(lower, lower_is_better=True))
    assert best is not None
    assert best.label == "lr 2"


def test_values_share_no_place(make_study):
    study: Study = make_study({"a": ["1", 1, 0.5]}, lambda a: [100])
    assert value_labels(study.axes[0]) == ["'1'", "1", "0.5"]
    assert len(repeats_at(study, {"a": 0.5})) == 1


def test_round_numbers():
    assert log_ticks(150, 500) == [150, 200, 300, 400, 500]
    assert log_ticks(0.0012, 12) == [0.01, 0.1, 1, 10]
    assert log_ticks(101, 102) == [101, 102]


def test_titles_break_where_one_may():
    assert lines("one two three", 8) == ["one two", "three"]
    assert lines("目标：五百次更新内，准确率。", 8) == ["目标：五", "百次更新", "内，准确", "率。"]
    assert lines("内，准", 2) == ["内，", "准"]  # no line begins with a comma
    assert lines("", 8) == [""]
    assert lines("indivisible", 4) == ["indivisible"]
