"""A sweep as files, as a page and on the terminal: the figures of the study, in both languages."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from pages import Outline, drawn_charts
from rich.console import Console

from rnnlab.comparing.chapters import Report, SweepChapter
from rnnlab.comparing.studies import Study
from rnnlab.core.words import Language, speaking
from rnnlab.show.figures.drawing import can_draw, safe_name
from rnnlab.show.pages.report import page
from rnnlab.show.pages.sweep import study_parts
from rnnlab.show.result_files import save_studies, study_csv
from rnnlab.show.sweep_summary import best_score
from rnnlab.show.sweep_texts import aim_text, quantity_name, score_text, step_text
from rnnlab.show.terminal.output import portions
from rnnlab.show.terminal.sweep_table import MOST_ROWS, show

LANGUAGES: tuple[Language, ...] = ("en", "zh")
NASTY = '</script><script>alert(1)</script><b>"&amp;{{ 7 * 7 }}[red]'


@pytest.fixture
def nasty(make_study) -> Study:
    axes = {f"学习率/{NASTY}": [0.1, 0.2], "on": [True, False]}
    study = make_study(axes, lambda lr, on: [100, None, "diverged"] if on else [150, 200, "failed"])
    return replace(study, name=f"研究 {NASTY}", about=f"关于\n{NASTY}", notes=(NASTY,))


def test_the_csv_is_the_study(grid):
    read = list(csv.DictReader(io.StringIO(study_csv(grid))))
    every = [(point, repeat) for point in grid.points for repeat in point.repeats]
    assert len(read) == len(every) == 170
    for row, (point, repeat) in zip(read, every, strict=True):
        assert (float(row["lr"]), int(row["length"])) == (point.at["lr"], point.at["length"])
        assert (int(row["seed"]), row["status"], row["digest"]) == (repeat.seed, repeat.status, repeat.digest)
        assert row["reached"] == ("" if repeat.reached is None else str(repeat.reached))
        best = best_score(grid, repeat)
        assert row["best_valid_exact"] == ("" if best is None else repr(best))
        test = repeat.result.get("test", {}).get("exact")
        assert row["test_exact"] == ("" if test is None else repr(test))
        assert row["reason"] == (repeat.reason or "")
    assert {row["best_valid_exact"] for row in read if row["status"] == "diverged"} == {"0.5"}  # the best it had


def test_an_axis_may_have_the_name_of_a_column(make_study):
    text = study_csv(make_study({"status": ["a,b"], "on": [True]}, lambda *_: [100]))
    row = next(csv.DictReader(io.StringIO(text)))
    assert (row["axis status"], row["status"], row["on"]) == ("a,b", "finished", "true")


def test_all_files(tmp_path, nasty, make_study):
    other = replace(make_study({"lr": [1]}, lambda lr: [100]), name="SWEEP")
    folder = tmp_path / "a" / "out"
    said: list[str] = []
    written = save_studies([nasty, other], folder, "zh", warn=said.append)
    assert len(said) == (0 if can_draw("研") else 1)  # once for all files, where no font has Chinese
    assert sorted(folder.iterdir()) == sorted(written)  # nothing else, nothing temporary
    names = [path.name for path in written]
    assert names[0] == "sweep.json"
    assert "SWEEP-2.csv" in names  # 'sweep.json' is taken, where capital letters make no difference
    assert any(re.fullmatch(r"研究-.*-heatmap-学习率-.*\.png", name) for name in names)
    assert not any(re.search(r'[\\/:*?"<>|\s]', name) or len(name.encode()) > 255 for name in names)
    read = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    assert read["studies"] == [json.loads(json.dumps(study.to_dict())) for study in (nasty, other)]
    for path in written:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        if path.suffix == ".svg":
            assert path.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("name", "safe"),
    [("a/b", "a-b"), ("../..", "sweep"), ("学习率 × 长度", "学习率-长度"), ("", "sweep"), ("lr=0.1", "lr-0.1")],
)
def test_names_of_files(name, safe):
    assert safe_name(name) == safe


def test_long_names_are_cut_between_characters():
    assert safe_name("长" * 100) == "长" * 32


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page(nasty, grid, language):
    text = page(Report((), (SweepChapter(NASTY, (nasty, grid), NASTY, (), (), 0.0),)), language)
    outline = Outline(text)
    assert outline.elements[0] == ("html", {"lang": language, "data-lang": language})
    assert not [attributes for _, attributes in outline.elements if "src" in attributes]
    assert text.count("window.vegaEmbed=") == 1  # the libraries are in it once
    assert len([tag for tag, _ in outline.elements if tag == "script"]) == 5  # charts, themes, and three that run
    places = [attributes["data-figure"] for _, attributes in outline.elements if "data-figure" in attributes]
    assert places == [f"s0-{study}-{chart}" for study in (0, 1) for chart in (1, 2, 3, 4)]
    for to in LANGUAGES:
        assert list(drawn_charts(text, to)) == places
    assert not [tag for tag, _ in outline.elements if tag == "b"]
    said = [text for _, text in outline.texts]
    for expected in (NASTY, nasty.name, nasty.about):
        assert expected in said
    for to in LANGUAGES:
        assert grid.target is not None
        assert aim_text(grid)[to] in outline.texts_in(to)
    codes = [text for tag, text in outline.texts if tag == "code"]
    digests = [repeat.digest for s in (nasty, grid) for point in s.points for repeat in point.repeats]
    assert codes == [*digests, NASTY]  # the command that repeats it comes last


def test_the_parts_of_a_study(grid):
    settings = study_parts(grid, "x").settings
    columns, rows = settings.columns, settings.rows
    names = ["lr", "length", "arrived", "median first update", "least–most", "diverged", "failed"]
    assert [column.name.en for column in columns[:7]] == names
    assert all(column.explained for column in columns[2:])
    by_place = {tuple(cell.value for cell in row.cells[:2]): [cell.text for cell in row.cells[2:]] for row in rows}
    assert by_place[0.01, 50] == ["5/5", "150", "100–200", "", "", "100.0 % ± 0.0 %", "98.0 % ± 1.6 %", "10.0"]
    assert by_place[0.05, 50][:5] == ["2/5", "500+", "400–500", "2/5", ""]
    assert by_place[0.1, 5][:5] == ["0/5", "", "", "5/5", ""]
    best = [row for row in rows if row.mark == "best"]
    assert [[cell.value for cell in row.cells[:4]] for row in best] == [[0.01, 50, 1.0, 150]]


def shown(study: Study, width: int = 100, language: Language = "en") -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    with speaking(language):
        show(console, study)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]  # it is the StringIO


def test_the_terminal(grid):
    said = [" ".join(line.split()) for line in shown(grid)]
    assert "* lr 0.01 · length 50 5/5 150 (100–200) 100.0 % 98.0 %" in said
    assert "lr 0.05 · length 50 2/5 500+ (400–500) 2/5 83.3 % 80.3 %" in said
    assert "lr 0.1 · length 5 0/5 5/5" in said
    assert "lr ╲ length 5 10 25 50 70" in said
    assert "0.01 200 200 200 * 150 * 150" in said
    assert "0.05 500+ (2/5) 500+ (2/5) 500+ (2/5) 500+ × 2/5 500+ × 2/5" in said
    assert "0.002 350 350 300 · failed" in said
    assert "0.5 × 5/5 × 5/5 × 5/5 × 5/5 × 5/5" in said


def test_the_terminal_takes_any_text_and_width(nasty):
    for language in LANGUAGES:
        for width in (40, 80, 200):
            said = shown(nasty, width, language)
            assert said[0] == nasty.name
            assert any(NASTY in line for line in said[3:])
    assert "设置" in "".join(shown(nasty, 80, "zh"))


def test_the_terminal_shows_the_best_of_very_many(make_study):
    study = make_study({"lr": list(range(MOST_ROWS + 10))}, lambda lr: [500 if lr < 10 else 50])
    said = shown(study)
    assert not any(line.startswith("lr 9 ") for line in said)
    assert any(line.startswith("* lr 10 ") for line in said)
    assert said[-1] == f"The best {MOST_ROWS} of {MOST_ROWS + 10} settings"


def test_narrow_screens_get_portions():
    assert portions([10, 5, 5, 5], 40) == [[0, 1, 2, 3]]
    assert portions([10, 5, 5, 5], 24) == [[0, 1, 2], [0, 3]]


def test_names_and_numbers():
    assert quantity_name("valid_exact").en == "validation exact match"
    assert quantity_name("train_loss").zh == "训练损失"
    assert quantity_name("valid_own").en == "validation own"  # a plug-in's
    assert quantity_name("steps").en == "steps"
    assert (score_text("exact", 0.125), score_text("loss", 0.012345)) == ("12.5 %", "0.01235")
    assert (step_text(1250), step_text(87.5)) == ("1,250", "87.5")
