"""What a report tells of forecasters: skill, errors by step, fans, what is left in the errors, and part by part."""

import csv
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from pages import drawn_charts

from rnnlab.answers.forecast import Forecast
from rnnlab.api.inspect import inspect_run
from rnnlab.comparing.chapters import Chapter, Report
from rnnlab.comparing.forecast_windows import apart, correlations, last_apart, residuals
from rnnlab.comparing.forecasted import Forecasted, seasonal_naive
from rnnlab.comparing.records import Record
from rnnlab.core.words import retold
from rnnlab.data.encoded import EncodedData
from rnnlab.data.sequences import Sequences
from rnnlab.runs.directory import RunDirectory
from rnnlab.show.figures.sections import chapter_figures
from rnnlab.show.forecasts import forecaster
from rnnlab.show.gathering import gather
from rnnlab.show.inspection_texts import lines
from rnnlab.show.notebook import Result
from rnnlab.show.pages.forecasts import forecast_parts, forecast_sentences, residual_sentence
from rnnlab.show.pages.report import page
from rnnlab.show.telling import tell
from rnnlab.training.record import Recorded

HORIZON, SEASON = 6, 24


@pytest.fixture(scope="module")
def chapter(forecasters: Result) -> Chapter:
    assert forecasters.folder is not None
    (told,) = tell([forecasters.folder]).chapters
    return told


@pytest.fixture(scope="module")
def found(chapter: Chapter) -> Forecasted:
    assert chapter.differences.forecasted is not None
    return chapter.differences.forecasted


@pytest.fixture(scope="module")
def records(forecasters: Result) -> tuple[Record, ...]:
    assert forecasters.folder is not None
    return gather([forecasters.folder]).comparisons[0].records


@pytest.fixture(scope="module")
def data(records: tuple[Record, ...]) -> EncodedData:
    return records[0].spec.task.load()


@pytest.fixture(scope="module")
def html(chapter: Chapter, found: Forecasted) -> str:
    """With a name of a channel that is a script."""
    first, *rest = found.fans
    hostile = replace(first, part=replace(first.part, channel="</script><script>window.pwned=1</script>"))
    changed = replace(found, fans=(hostile, *rest), parts=(hostile.part, *found.parts[1:]))
    return page(Report((replace(chapter, differences=replace(chapter.differences, forecasted=changed)),), ()))


def recorded(records: tuple[Record, ...], arm: str) -> list[Recorded]:
    return [Recorded.of(RunDirectory(one.path)) for one in records if one.label == arm]


def mase_of(points: np.ndarray, test: Sequences) -> np.ndarray:
    """(rows, H, C), by hand; NaN where a value is missing."""
    scales = test.scales_of(np.arange(len(test)))
    return np.abs(test.ahead(np.arange(len(test))) - points) * (scales[:, 1] / scales[:, 2])[:, None]


# --- skill, steps, coverage -------------------------------------------------------------------------------------------


def test_skill_is_one_less_the_ratio_of_the_errors(found: Forecasted, records: tuple[Record, ...], data: EncodedData):
    naive = np.nanmean(mase_of(seasonal_naive(data.test, SEASON), data.test))
    skills = {one.arm: one for one in found.skills}
    assert set(skills) >= {"gru", "rnn", "last-value", "seasonal-naive", "moving-average", "ridge"}
    for arm in ("gru", "ridge"):
        own = [run.answer.judged.of(run.counts) for run in recorded(records, arm)]
        assert skills[arm].mase.mean == pytest.approx(np.mean(own), rel=1e-6)
        assert skills[arm].skill.mean == pytest.approx(1 - np.mean(own) / naive, rel=1e-4)
        assert skills[arm].skill.low < skills[arm].skill.mean < skills[arm].skill.high
    assert skills["seasonal-naive"].skill.mean == skills["seasonal-naive"].skill.high == 0
    assert skills["ridge"].skill.mean > 0.1 > skills["last-value"].skill.mean


def test_windows_that_overlap_make_intervals_too_narrow(found: Forecasted, records: tuple[Record, ...]):
    (run,) = recorded(records, "ridge")
    assert (found.blocks, found.windows) == (len(np.unique(run.groups)), len(run))
    assert found.overlap
    ridge = next(one for one in found.skills if one.arm == "ridge")
    rows = run.per_row()
    usual = 1.984 * rows.std(ddof=1) / len(rows) ** 0.5
    assert ridge.by_windows.high - ridge.by_windows.mean == pytest.approx(usual, rel=0.05)
    assert [ridge.by_blocks.mean, ridge.by_windows.mean] == pytest.approx([rows.mean()] * 2)
    assert ridge.too_narrow == pytest.approx(
        (ridge.by_blocks.high - ridge.mase.mean) / (ridge.by_windows.high - ridge.mase.mean)
    )
    assert ridge.too_narrow > 1.1


def test_every_step_has_the_mean_error_of_its_known_values(
    found: Forecasted, records: tuple[Record, ...], data: EncodedData
):
    gru = next(one for one in found.by_step if one.arm == "gru")
    assert [step for step, _ in gru.parts] == list(range(1, HORIZON + 1))
    known = ~np.isnan(data.test.truth.values)
    sums = np.mean([run.kept("test")["by_step"].sum(0) for run in recorded(records, "gru")], axis=0)
    expected = sums / known.sum((0, 2))
    assert not known.all()  # the value that is missing isn't counted
    np.testing.assert_allclose([error.mean for _, error in gru.parts], expected, rtol=1e-5)
    assert all(error.low <= error.mean <= error.high for _, error in gru.parts)


def test_coverage_far_off_is_said_of_models_and_of_ours(found: Forecasted):
    assert found.nominal == pytest.approx(0.8)
    ours = next(one for one in found.skills if one.arm == found.ours)
    assert ours.coverage is not None
    sure = replace(ours, coverage=replace(ours.coverage, mean=0.6, low=0.55, high=0.65))
    others = tuple(one for one in found.skills if one is not ours)
    said = [text.en for text in forecast_sentences(replace(found, skills=(sure, *others)), ["last-value", "ridge"])]
    assert any(f"Forecasts of {ours.arm} are too sure: 60.0 % of the values" in text for text in said)
    assert not any("last-value" in text for text in said)
    near = replace(ours, coverage=replace(ours.coverage, mean=0.78, low=0.5, high=0.9))
    assert not any("too sure" in text.en for text in forecast_sentences(replace(found, skills=(near,)), []))


def test_a_test_part_that_is_short_has_no_intervals(chapter: Chapter, found: Forecasted):
    short = replace(found, blocks=3)
    parts = forecast_parts(replace(chapter, differences=replace(chapter.differences, forecasted=short)), {})
    assert parts is not None
    assert "3 blocks" in parts.said[0].en
    assert not any("interval" in column.name.en for column in parts.skills.columns)
    assert parts.overlaps is None


# --- forecasts again --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", ["gru", "ridge"])
def test_forecasts_made_again_are_those_that_were_scored(arm: str, records: tuple[Record, ...], data: EncodedData):
    record = next(one for one in records if one.label == arm)
    rows = np.array([3, 0, len(data.test) - 1])
    points = forecaster(record, data.test)(rows)
    assert points.shape == (3, HORIZON, 2, 5)
    assert (np.diff(points, axis=3) >= 0).all()
    every = np.arange(len(data.test))
    answer = record.answers.answer
    assert isinstance(answer, Forecast)
    again = answer.counted(forecaster(record, data.test)(every), data.test.truth.values, data.test.scales_of(every))
    for name in ("scaled", "inside"):
        np.testing.assert_allclose(again[name], record.answers.counts[name], rtol=1e-4, atol=1e-5)


def test_fans_are_in_the_units_and_at_the_dates_of_the_file(found: Forecasted, records: tuple[Record, ...]):
    with Path(records[0].spec.task.to_dict()["data"]).open(encoding="utf-8") as file:
        rows = {row["hour"]: row for row in csv.DictReader(file)}
    assert {fan.part.channel for fan in found.fans} == {"load", "heat"}
    for fan in found.fans:
        for at, value in zip(fan.truth.at, fan.truth.values, strict=True):
            text = rows[datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")][fan.part.channel]
            assert (value is None) == (text == "")
            if value is not None:
                assert value == pytest.approx(float(text), rel=1e-4)
        assert fan.truth.at[-1] == fan.bands[-1].at[-1]  # to the end of the file
        begins = [band.at[0] for band in fan.bands]
        assert np.diff(begins).tolist() == [3600 * HORIZON] * 2
        assert all((np.diff(band.quantiles, axis=1) >= 0).all() for band in fan.bands)
        middle = [quantiles[2] for quantiles in fan.bands[-1].quantiles]
        known = [value for value in fan.truth.values if value is not None]
        assert min(known) - 50 < min(middle) <= max(middle) < max(known) + 50


def test_parts_add_up_to_the_score(found: Forecasted, records: tuple[Record, ...]):
    runs = recorded(records, str(found.ours))
    best = min(runs, key=lambda run: run.answer.judged.of(run.answer.counts(run.kept("valid"), run.truth("valid"))))
    total = sum(part.mase * part.values for part in found.parts) / sum(part.values for part in found.parts)
    assert total == pytest.approx(best.answer.judged.of(best.counts), rel=1e-4)
    assert [part.skill for part in found.parts] == sorted((part.skill for part in found.parts), reverse=True)


def test_windows_that_differ_do_not_overlap(chapter: Chapter, found: Forecasted):
    assert found.ours == chapter.comparison.verdict.recommended == chapter.comparison.verdict.best_baseline
    assert found.theirs in ("gru", "rnn")  # the best of the other kind
    begins = sorted(one.ours.at[0] for one in found.differing)
    assert 2 <= len(begins) <= 4
    assert min(np.diff(begins)) >= 3600 * HORIZON
    assert all(one.ours.at == one.theirs.at and one.truth.at[-1] == one.ours.at[-1] for one in found.differing)
    assert all(one.ours_mase < one.theirs_mase for one in found.differing[:2])


def test_the_largest_gaps_that_are_apart(data: EncodedData):
    gap = np.zeros(len(data.test))
    gap[[10, 11, 30, 33, 50]] = [5, 6, 4, 3, 2]
    assert apart(data.test, gap, 3, ()) == [11, 30, 50]
    assert apart(data.test, gap, 3, [30]) == [11, 50]
    last = last_apart(data.test, 0, 3)
    assert last.tolist() == [len(data.test) - 1 - 2 * HORIZON, len(data.test) - 1 - HORIZON, len(data.test) - 1]


def test_correlations_are_those_of_the_textbook():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=4001)
    errors = noise[1:] + 0.8 * noise[:-1]
    found = correlations(errors, 3)
    off = errors - errors.mean()
    assert found[1] == pytest.approx((off[2:] * off[:-2]).sum() / (off**2).sum())
    assert found[0] == pytest.approx(0.8 / (1 + 0.8**2), abs=0.03)
    assert abs(found[1]) < 0.05
    errors[5] = np.nan
    assert correlations(errors, 1)[0] == pytest.approx(found[0], abs=0.01)


def test_what_is_left_in_errors_is_said(found: Forecasted, data: EncodedData):
    naive = seasonal_naive(data.test, SEASON)
    left = residuals(naive, data.test, SEASON)
    assert left is not None
    assert len(left.correlations) == min(2 * SEASON, left.steps // 4)
    assert left.band == pytest.approx(1.96 / len(data.test) ** 0.5)
    seasonal = replace(left, correlations=(0.0,) * (SEASON - 1) + (0.4, 0.0))
    said = residual_sentence(replace(found, residuals=seasonal))
    assert said is not None
    assert "a season (24 steps, 1 day) apart resemble each other (correlation 0.40)" in said.en
    quiet = residual_sentence(replace(found, residuals=replace(left, correlations=(0.05,) * 30)))
    assert quiet is not None
    assert quiet.en.startswith("No correlation is as large as")
    assert residuals(naive[::2], replace_rows(data.test, slice(None, None, 2)), SEASON) is None  # not step by step


def replace_rows(test: Sequences, rows: slice) -> Sequences:
    assert test.series is not None
    assert test.origins is not None
    kept = {name: getattr(test, name)[rows] for name in ("starts", "ends", "groups", "series", "origins")}
    return replace(test, **kept)


# --- the page ---------------------------------------------------------------------------------------------------------


def test_charts_show_the_figures(chapter: Chapter, found: Forecasted, html: str):
    for language in ("en", "zh"):
        charts = drawn_charts(html, language)
        assert {"by-step", "fan-0", "fan-1", "window-0", "window-1", "residuals"} <= set(charts)
    rows = drawn_charts(html, "en")["by-step"]["data"]["values"]
    best = chapter.comparison.verdict.best_baseline
    assert {row["arm"] for row in rows} == {"gru", "rnn", best, "seasonal-naive"}
    shown = [row["y"] for row in rows if row["arm"] == "gru"]
    gru = next(one for one in found.by_step if one.arm == "gru")
    np.testing.assert_allclose(shown, [error.mean for _, error in gru.parts], rtol=1e-4)


def test_the_section_is_said_in_both_languages(chapter: Chapter, html: str):
    assert 'id="forecasted"' in html
    assert "What they forecast" in html
    assert "它们的预测" in html
    parts = forecast_parts(chapter, {})
    assert parts is not None
    assert any("times too narrow" in text.en for text in parts.said)
    assert parts.parts is not None
    assert parts.parts.name.en == f"By channel, {chapter.comparison.verdict.recommended}"
    assert "24 are 1 day" in html


def test_names_of_channels_are_escaped(html: str):
    assert "&lt;script&gt;window.pwned" in html
    assert "<script>window.pwned" not in html


def test_many_series_show_the_best_the_middle_and_the_worst(chapter: Chapter, found: Forecasted):
    many = tuple(replace(found.parts[0], series=f"s{number}", mase=0.1 * number) for number in range(20))
    changed = replace(found, parts=many)
    parts = forecast_parts(replace(chapter, differences=replace(chapter.differences, forecasted=changed)), {})
    assert parts is not None
    assert parts.parts is not None
    names = [row.cells[0].text for row in parts.parts.rows]
    assert [names[0], names[-1], len(names)] == ["s0, load" if many[0].channel == "load" else "s0, heat", names[-1], 10]
    assert "Of 20 series" in parts.fans_note.en


def test_figures_are_none_without_forecasts(chapter: Chapter):
    bare = replace(chapter, differences=replace(chapter.differences, forecasted=None))
    assert not {"forecasted", "fans", "windows", "residuals"} & set(chapter_figures(bare))


# --- inside -----------------------------------------------------------------------------------------------------------


def test_inspect_tells_how_far_back_in_time(records: tuple[Record, ...]):
    record = next(one for one in records if one.label == "gru")
    inside = inspect_run(record.path)
    norms = np.array(inside.by_input.norms)
    half = inside.by_input.within(0.5)
    assert norms[:half].sum() >= norms.sum() / 2 > norms[: half - 1].sum()
    said = "\n".join(lines(inside))
    hours = "1 hour" if half == 1 else f"{half} hours"
    assert f"Half of the gradient lies in the last {hours}" in said
    assert "1 day are read" in said
    assert f"{record.result['parameters']['total']:,} parameters" in said


def test_what_baselines_chose_is_said_in_both_languages(chapter: Chapter):
    notes = [retold(note) for note in chapter.comparison.notes]
    (mean,) = [note for note in notes if "moving-average" in note.en]
    assert re.fullmatch(r"chosen on validation: moving-average: the mean of \d+ steps", mean.en)
    assert re.fullmatch(r"在验证集上选定：moving-average：最近 \d+ 步的均值", mean.zh)
    (ridge,) = [note for note in notes if "ridge" in note.en]
    assert "penalty" in ridge.en
    assert "惩罚" in ridge.zh
    assert "weights" not in ridge.zh
