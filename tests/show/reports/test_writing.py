import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rnnlab
from rnnlab.api.report import write_report
from rnnlab.core.errors import ConfigError
from rnnlab.show.notebook import Result

MARKED = re.compile(r'<time id="made".*?</time>')


def test_the_same_runs_give_the_same_bytes_but_for_the_marked_date(
    compared: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In another process too, where sets and hashes come in another order."""
    assert compared.folder is not None
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    (first,) = write_report(compared.folder, tmp_path / "first.html")
    command = [sys.executable, "-m", "rnnlab", "report", compared.folder, "-o", str(tmp_path / "second.html")]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "open" in done.stdout
    texts = [path.read_text() for path in (first, tmp_path / "second.html")]
    assert texts[0] != texts[1]
    assert [len(MARKED.findall(text)) for text in texts] == [1, 1]
    assert MARKED.sub("", texts[0]) == MARKED.sub("", texts[1])


def test_figures_as_files(compared: Result, tmp_path: Path):
    assert compared.folder is not None
    written = write_report(compared.folder, None, figures_in=tmp_path / "figures", language="zh")
    assert {path.suffix for path in written} == {".png", ".svg"}
    names = {path.stem for path in written}
    assert {"cost", "learning"} <= names
    assert len(written) == 2 * len(names)
    for path in written:
        start = path.read_bytes()[:8]
        assert start.startswith(b"\x89PNG" if path.suffix == ".png" else b"<svg")


def test_a_page_is_called_html(compared: Result, tmp_path: Path):
    assert compared.folder is not None
    with pytest.raises(ConfigError, match=r"must end in \.html"):
        write_report(compared.folder, tmp_path / "report.pdf")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ConfigError, match="this is a folder"):
        write_report(compared.folder, tmp_path / "folder.html")


def test_several_comparisons_on_one_page(compared: Result, hostile: Result, tmp_path: Path):
    assert compared.folder is not None
    assert hostile.folder is not None
    (page,) = write_report([compared.folder, hostile.folder], tmp_path / "both.html")
    text = page.read_text()
    assert 'id="chapter"' in text
    assert 'id="c1-chapter"' in text
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_a_sweep_is_told_with_its_specs_and_its_command(tmp_path: Path):
    from rnnlab.api.report import save_sweep

    file = tmp_path / "sweep.toml"
    file.write_text(
        """[task]
kind = "first-last"
length = 4
rows = 100

[model]
kind = "gru"
hidden = 4

[training]
epochs = 2

[axes]
"training.lr" = [0.01, 0.1]
"""
    )
    studies = rnnlab.run_sweep(file, out=tmp_path / "runs", jobs=0)
    folder = tmp_path / "runs" / "sweeps" / "sweep"
    written = save_sweep(studies, folder, tmp_path / "runs", "en", "rnnlab sweep sweep.toml")
    assert folder / "index.html" in written
    text = (folder / "index.html").read_text()
    assert "rnnlab sweep sweep.toml" in text
    digests = {repeat.digest for study in studies for point in study.points for repeat in point.repeats}
    assert all(f"{digest}.spec.json" in text for digest in digests)
    shutil.rmtree(tmp_path / "runs" / min(digests))  # what is gone can't be saved any more; the rest is told
    (page,) = write_report(folder, tmp_path / "again.html")
    assert f"{min(digests)}.spec.json" not in page.read_text()
    assert "<svg" in studies._repr_html_() or "data:image/svg" in studies._repr_html_()
