"""In a real notebook, with a kernel of its own."""

import base64
import re
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

import rnnlab
from rnnlab.show.figures.sections import inspection_figures
from rnnlab.show.notebook import Result

PICTURE = re.compile(r'src="data:image/svg\+xml;base64,([^"]+)"')


def outputs_of(*cells: str, folder: Path) -> list[Any]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.execute()
    return notebook.cells[-1].outputs


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own making
def test_a_result_shows_its_charts(compared: Result, tmp_path: Path):
    """The comparison is done already: its runs are found again."""
    assert compared.folder is not None
    runs = Path(compared.folder).parent.parent
    asked = f"""
import rnnlab
result = rnnlab.compare(
    {str(runs.parent / "reviews.tsv")!r}, models=["gru", "textcnn"], seeds=2, training={{"epochs": 2}},
    task={{"tag": "tag"}}, out={str(runs)!r}, jobs=0,
)"""
    (shown,) = outputs_of(asked, "result", folder=tmp_path)
    html = shown["data"]["text/html"]
    assert compared.verdict.sentence in unescape(html)
    assert html == compared.html()
    pictures = [ET.fromstring(base64.b64decode(found)) for found in PICTURE.findall(html)]
    assert len(pictures) >= 3
    texts = {text for picture in pictures for text in picture.itertext()}
    assert {"gru", "textcnn"} <= texts
    assert any(text.endswith("seconds per epoch") for text in texts)  # milli- or microseconds, if need be
    assert "<script" not in html


def test_in_chinese(compared: Result):
    html = compared.html("zh")
    assert compared.verdict.sentence_zh in unescape(html)
    assert "准确率" in html


def test_texts_of_a_user_are_escaped(hostile: Result):
    html = hostile.html()
    assert "<img src=x" not in html
    assert "<script" not in html


def test_the_language_of_the_reader_is_taken_unless_told(compared: Result, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RNNLAB_LANG", "zh")
    assert compared._repr_html_() == compared.html("zh") != compared.html("en")


def test_an_inspection_shows_its_charts_and_says_its_sentences(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RNNLAB_LANG", "en")
    found = rnnlab.inspect_model("rnn", settings=["model.hidden=4"], length=5)
    html = unescape(found._repr_html_())
    said = str(found).splitlines()
    assert said[0] == "rnn as it begins, untrained, on 16 random sequences of 5 steps."
    assert all(f"<p>{line}</p>" in html for line in said if line)
    assert len(PICTURE.findall(html)) == sum(map(len, inspection_figures(found).values())) >= 2
    assert "<script" not in html
    assert "未经训练的 rnn" in found.html("zh")


def test_a_run_is_taken_wherever_a_path_is(compared: Result, tmp_path: Path):
    """`train` gives a run, and what uses one takes it as it is."""
    run = rnnlab.RunDirectory(compared.arms[0].runs[0].path)
    texts = ["a good film", "not good at all"]
    answers = rnnlab.load(run.path).predict(texts)
    assert rnnlab.load(run).predict(texts) == answers
    assert rnnlab.load(rnnlab.pack(run, tmp_path / "model.rnnlab")).predict(texts) == answers
    assert rnnlab.inspect_run(run).subject.name == run.path.name
    assert rnnlab.write_report(run, tmp_path / "report.html") == [tmp_path / "report.html"]
