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
    assert {"gru", "textcnn", "seconds per epoch"} <= texts
    assert "<script" not in html


def test_in_chinese(compared: Result):
    html = compared.html("zh")
    assert compared.verdict.sentence_zh in unescape(html)
    assert "准确率" in html


def test_texts_of_a_user_are_escaped(hostile: Result):
    html = hostile.html()
    assert "<img src=x" not in html
    assert "<script" not in html
