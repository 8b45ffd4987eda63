"""A task of one's own is one file of at most 80 lines: a tagger, through compare, predict and report."""

import json
from pathlib import Path

import numpy as np
import pytest
from told import run_here

from rnnlab.core.registry import load_plugin
from rnnlab.tasks.base import TASKS
from rnnlab.testing import check_task

pytestmark = pytest.mark.usefixtures("plugins_are_forgotten_later")
PLUGIN = Path(__file__).parents[2] / "examples" / "tagging.py"


def rnnlab(*arguments: str, code: int = 0) -> str:
    ended, out, err = run_here(Path.cwd(), *arguments, "--plugin", str(PLUGIN))
    assert ended == code, err
    return out if code == 0 else err


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """'saw' is a noun after an article and a verb after a noun; '我' and '看' are words too."""
    random, lines = np.random.default_rng(0), []
    for _ in range(300):
        for _ in range(random.integers(1, 4)):
            noun, verb = random.choice(["cat", "dog", "saw", "我"]), random.choice(["sat", "ran", "saw", "看"])
            lines += [f"{random.choice(['the', 'a'])}\tDET", f"{noun}\tNOUN", f"{verb}\tVERB"]
        lines.append("")
    path = tmp_path_factory.mktemp("corpus") / "train.tsv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def compared(corpus: Path, plugins_are_forgotten_later: None) -> dict:
    out = corpus.parent / "runs"
    said = rnnlab(
        "compare", "--task", "tagging", "--set", f"task.data={corpus}", "--models", "gru,textcnn", "--seeds", "2",
        "--epochs", "4", "--jobs", "0", "--out", str(out), "--json",
    )  # fmt: skip
    return json.loads(said)


def test_it_is_short():
    assert len(PLUGIN.read_text(encoding="utf-8").splitlines()) <= 80


def test_it_obeys_the_laws(corpus: Path):
    load_plugin(PLUGIN)
    check_task(TASKS.parse({"kind": "tagging", "data": str(corpus)}))


def test_compare_counts_every_tag(compared: dict):
    assert {arm["label"] for arm in compared["arms"]} == {"gru", "textcnn"}
    assert all(arm["score"]["mean"] > 0.9 for arm in compared["arms"])  # context tells every tag


def test_predict_gives_a_tag_per_token(compared: dict):
    said = rnnlab("predict", compared["recommended_run"], "the saw saw", "--json")
    assert [tag["label"] for tag in json.loads(said)["tags"]] == ["DET", "NOUN", "VERB"]


def test_report(compared: dict, tmp_path: Path):
    folder = Path(compared["recommended_run"]).parent
    rnnlab("report", str(folder), "-o", str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "textcnn" in page


def test_a_line_without_a_tag_is_named(corpus: Path, tmp_path: Path):
    bad = tmp_path / "bad.tsv"
    bad.write_text(corpus.read_text(encoding="utf-8") + "\nlonely\n", encoding="utf-8")
    line = len(bad.read_text(encoding="utf-8").splitlines())
    said = rnnlab("compare", "--task", "tagging", "--set", f"task.data={bad}", "--out", str(tmp_path / "runs"), code=1)
    assert f"bad.tsv:{line}: a line has a token, a tab and a tag (got 'lonely')" in said
