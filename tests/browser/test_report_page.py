"""The report page of real comparisons in a real browser."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from browsing import PHONE, WIDE, axe, drawn, overflowing
from many_runs import multiply
from small_comparisons import HOSTILE, TAGS, compare_small, write_reviews

from rnnlab.api.report import write_report
from rnnlab.runs.directory import RunDirectory, find_runs
from rnnlab.show.notebook import Result
from rnnlab.show.telling import tell
from rnnlab.training.spec import RunSpec

MEDIUM = {"width": 1024, "height": 800}
MEGABYTES = 1e6


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("compared")
    return compare_small(folder, write_reviews(folder / "reviews.tsv"))


@pytest.fixture(scope="module")
def text(compared: Result) -> str:
    return page_of(compared)


def page_of(result: Result, **options: Any) -> str:
    assert result.folder is not None
    (path,) = write_report(result.folder, Path(result.folder) / "report.html", **options)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("viewport", "theme"),
    [
        pytest.param(PHONE, "light", id="390"),
        pytest.param(MEDIUM, "light", id="1024", marks=pytest.mark.long),
        pytest.param(WIDE, "light", id="1920", marks=pytest.mark.long),
        pytest.param(MEDIUM, "dark", id="dark"),
    ],
)
def test_it_fits_and_can_be_read_by_everybody(open_page, text, viewport, theme):
    """Without a word on the console, and without a request: the fixture sees to that."""
    page = open_page(text, viewport=viewport, color_scheme=theme)
    for language in ("en", "zh"):
        page.click(f'[data-language="{language}"]')
        drawn(page)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert overflowing(page) == []
        if language == ("en" if theme == "light" else "zh"):  # each once
            assert axe(page) == []


def test_every_section_is_there_in_order(open_page, text):
    page = open_page(text)
    names = [section.get_attribute("id") for section in page.locator("main > section").all()]
    assert names == ["answer", "cost", "table", "learning", "differences", "why", "data", "terms"]
    links = [link.get_attribute("href") for link in page.locator("nav a").all()]
    assert links == [f"#{name}" for name in names]


def test_the_legend_switches_arms(open_page, text):
    page = open_page(text)
    lines = "#figure-learning svg .mark-line path[stroke]"

    def shown() -> set[str | None]:
        return {line.get_attribute("stroke") for line in page.locator(lines).all() if line.get_attribute("d")}

    before = shown()
    assert len(before) == 2
    chip = page.locator('#learning .chip[data-arm="gru"]')
    chip.click()
    page.wait_for_timeout(300)
    assert chip.get_attribute("aria-pressed") == "false"
    assert page.locator('#cost .chip[data-arm="gru"]').get_attribute("aria-pressed") == "false"  # everywhere
    assert len(shown()) == 1
    assert shown() < before
    chip.click()
    page.wait_for_timeout(300)
    assert shown() == before


def test_a_choice_changes_the_chart(open_page, text):
    page = open_page(text)
    figure = page.locator("#figure-cost")
    assert "seconds per epoch" in " ".join(figure.locator("svg text").all_text_contents())
    figure.locator('label:has(input[value="parameters"])').click()
    page.wait_for_timeout(300)
    said = " ".join(figure.locator("svg text").all_text_contents())
    assert "parameters" in said
    assert "seconds per epoch" not in said


def test_the_table_sorts_by_exact_values(open_page, text):
    page = open_page(text)
    table = page.locator("#table table").first
    head = table.locator("thead th", has_text="parameters")
    column = 1 + head.evaluate("one => [...one.parentNode.children].indexOf(one)")
    cells = table.locator(f"tbody tr > :nth-child({column})")
    head.locator("button").click()
    values = [float(cell.get_attribute("data-value")) for cell in cells.all()]
    assert values == sorted(values, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert [float(cell.get_attribute("data-value")) for cell in cells.all()] == sorted(values)


def test_the_figures_are_those_of_compare_to_the_digit(open_page, text, compared):
    """The table carries the exact values; what it shows of them is rounded."""
    page = open_page(text)
    saved = json.loads((Path(str(compared.folder)) / "comparison.json").read_text())
    arms = {arm["label"]: arm for arm in saved["arms"] + saved["baselines"]}
    rows = page.locator("#table table").first.locator("tbody tr").all()
    assert len(rows) == len(arms)
    for row in rows:
        name, *cells = row.locator("th, td").all()
        arm = arms[name.get_attribute("data-value")]
        values = [cell.get_attribute("data-value") for cell in cells]
        expected = [arm["score"]["mean"], arm["score"]["low"]]
        expected += [len(arm["failed_seeds"]) or None] if saved["verdict"]["failures"] else []
        expected += [arm["scores"]["macro_f1"], arm["epoch_seconds"], arm["total_seconds"]]
        expected += [arm["row_seconds"], arm["best_epoch"], arm["parameters"]]
        assert [None if value is None else float(value) for value in values[: len(expected)]] == expected
        shown = cells[1].inner_text()
        assert shown == f"{100 * arm['score']['low']:.1f}–{100 * arm['score']['high']:.1f}"


def test_it_switches_its_language(open_page, text, compared):
    page = open_page(text)
    headline = page.locator(".headline")
    assert compared.verdict.sentence.startswith(headline.inner_text())
    assert page.title() == "rnnlab report: reviews.tsv"
    page.click('[data-language="zh"]')
    drawn(page)
    assert compared.verdict.sentence_zh.startswith(headline.inner_text())
    assert page.title() == "rnnlab 报告：reviews.tsv"
    assert page.locator("html").get_attribute("lang") == "zh"
    for section in page.locator("main > section").all():
        words = section.inner_text()
        assert re.search("[\u4e00-\u9fff]", words)
        assert "test rows" not in words
        assert "the share" not in words


def test_the_specs_and_the_experiment_can_be_saved(open_page, text, compared):
    page = open_page(text, accept_downloads=True)
    page.locator("#terms details summary").last.click()
    (run,) = [r for r in find_runs(Path(str(compared.folder)).parent.parent) if r.spec()["seed"] == 1][:1]
    with page.expect_download() as saving:
        page.locator(f'[data-download="{run.path.name}.spec.json"]').click()
    saved = json.loads(Path(saving.value.path()).read_text(encoding="utf-8"))
    assert saved == run.spec()
    assert RunSpec.from_dict(saved).digest == run.path.name
    with page.expect_download() as saving:
        page.locator('[data-download="experiment.toml"]').click()
    assert "[arms.gru.model]" in Path(saving.value.path()).read_text(encoding="utf-8")


def test_with_a_split_for_each_seed_every_run_has_a_spec_of_its_own(open_page, tmp_path):
    result = compare_small(tmp_path, write_reviews(tmp_path / "reviews.tsv"), vary_split=True, models=["linear"])
    page = open_page(page_of(result), accept_downloads=True)
    page.locator("#terms details summary").last.click()
    runs = [run.digest for arm in (*result.arms, *result.baselines) for run in arm.runs]
    assert len(runs) == 8  # a model and three baselines
    for digest in runs:
        with page.expect_download() as saving:
            page.locator(f'[data-download="{digest}.spec.json"]').click()
        saved = json.loads(Path(saving.value.path()).read_text(encoding="utf-8"))
        assert RunSpec.from_dict(saved).digest == digest
    with page.expect_download() as saving:
        page.locator('[data-download="experiment.toml"]').click()
    assert "vary_split = true" in Path(saving.value.path()).read_text(encoding="utf-8")


def test_texts_of_a_user_are_texts(open_page, tmp_path):
    """Labels, tags, rows and the file's name are HTML and script."""
    data = write_reviews(tmp_path / "<b>rows & {{ labels }}.tsv", (HOSTILE[0], HOSTILE[1]), (TAGS[0], TAGS[1]))
    page = open_page(page_of(compare_small(tmp_path, data)))
    assert page.evaluate("window.pwned") is None
    words = page.locator("#differences").inner_text()
    for expected in HOSTILE:
        assert expected in words
    charts = " ".join(page.locator("svg text").all_text_contents())
    assert TAGS[0] in charts
    assert page.locator("h1").inner_text() == "rnnlab report: <b>rows & {{ labels }}.tsv"
    assert page.locator("main img, main b").count() == 0
    page.click('[data-language="zh"]')
    drawn(page)
    assert page.evaluate("window.pwned") is None


@pytest.mark.long
def test_a_report_of_500_runs_is_small_and_whole(open_page, compared, tmp_path):
    """How soon it opens is measured by benchmarks/report.py."""
    runs = Path(str(compared.folder)).parent.parent
    run = next(run for run in find_runs(runs) if run.spec()["model"]["kind"] == "gru")
    folder = multiply(RunDirectory(run.path), tmp_path / "runs", arms=25, seeds=20)
    (path,) = write_report(folder, tmp_path / "report.html")
    (chapter,) = tell([folder]).chapters
    assert [len(setting.runs) for term in chapter.terms for setting in term.settings] == [20] * 25
    assert path.stat().st_size < 5 * MEGABYTES
    page = open_page(path.read_text(encoding="utf-8"))
    assert page.locator("#table table").first.locator("tbody tr").count() == 25
    assert page.locator(".chart").count() == page.locator(".chart svg").count() > 5
