import json
from pathlib import Path


def test_the_runs_of_a_folder(rnnlab, compared):
    done = rnnlab("report", str(compared.folder / "runs"), "--lang", "zh")
    assert done.code == 0, done.err
    assert done.out == "\n已写出 1 个文件；请打开 report.html\n"
    assert done.err.splitlines()[0] == "… 读取运行"
    text = Path("report.html").read_text(encoding="utf-8")
    assert '<html lang="zh" data-lang="zh">' in text
    assert "rnnlab compare " in text  # as it was typed
    assert compared.result["verdict"]["best"] in text


def test_straight_after_the_runs(rnnlab, compared):
    """The runs are found again. With --json nothing else is printed."""
    done = rnnlab(*compared.command, "--report", "pages/report.html")
    assert done.code == 0, done.err
    assert done.json()["verdict"] == compared.result["verdict"]
    assert Path("pages/report.html").is_file()


def test_figures_alone(rnnlab, compared):
    done = rnnlab("report", str(compared.folder / "runs"), "--figures", "figures")
    assert done.code == 0, done.err
    assert not Path("report.html").exists()
    assert {path.suffix for path in Path("figures").iterdir()} == {".png", ".svg"}


def test_one_run(rnnlab, compared):
    done = rnnlab("report", compared.run("rnn"), "-o", "one.html")
    assert done.code == 0, done.err
    assert "Cannot tell yet: a single run" in Path("one.html").read_text(encoding="utf-8")


def test_a_wrong_name_shows_before_the_work(rnnlab, compared):
    done = rnnlab(*compared.command, "--report", "report.pdf", "--out", "fresh")
    assert (done.code, done.out) == (1, "")
    assert done.err == "rnnlab: report.pdf: a report is a page, so its name must end in .html\n"
    assert not Path("fresh").exists()


def test_nothing_to_tell(rnnlab):
    Path("empty").mkdir()
    done = rnnlab("report", "empty")
    assert done.code == 1
    assert done.err.endswith("rnnlab: empty: no run that a report could tell of\n")
    assert rnnlab("report", "nowhere").code == 1


def test_a_sweep(rnnlab):
    file = """[task]
kind = "first-last"
length = 4
rows = 100

[model]
kind = "gru"
hidden = 4

[training]
epochs = 1

[axes]
"training.lr" = [0.01, 0.1]
"""
    Path("rates.toml").write_text(file, encoding="utf-8")
    done = rnnlab("sweep", "rates.toml", "--jobs", "0", "--files", "files", "--report", "rates.html")
    assert done.code == 0, done.err
    assert done.out.endswith("Report: rates.html\n")
    text = Path("rates.html").read_text(encoding="utf-8")
    assert "rnnlab sweep rates.toml" in text
    origin = json.loads(Path("files/origin.json").read_text())
    digest = next(path.name for path in Path("runs").iterdir() if (path / "spec.json").exists())
    assert (Path("files") / origin["runs"] / digest / "spec.json").is_file()
    assert f"{digest}.spec.json" in text


def test_inspect_calls_its_page_a_report_too(rnnlab, compared):
    done = rnnlab("inspect", compared.run("rnn"), "--report", "inside.html")
    assert done.code == 0, done.err
    assert Path("inside.html").is_file()
