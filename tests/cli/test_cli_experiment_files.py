"""`new`, `check`, and `compare` of an experiment file."""

from pathlib import Path

import pytest

SHRUNK = (
    *("--set", "task.rows=60", "--set", "training.epochs=1", "--set", "arms.lstm.model.hidden=4"),
    *("--set", "arms.textcnn.model.filters=2", "--set", "model.embedding.width=4"),
)


@pytest.fixture
def file(rnnlab):
    done = rnnlab("new")
    assert done.code == 0
    Path("e.toml").write_text(done.out, encoding="utf-8")
    return "e.toml"


def test_a_new_file_is_fine_as_it_is(rnnlab, file):
    done = rnnlab("check", file)
    assert (done.code, done.out, done.err) == (0, "e.toml: fine. 2 arms × 3 seeds\n", "")


def test_it_runs_shrunk(rnnlab, file):
    done = rnnlab("compare", file, *SHRUNK, "--seeds", "2", "--jobs", "0", "--json")
    assert done.code == 0, done.err
    result = done.json()
    assert sum(result["profile"]["rows"].values()) == 60
    arms = {arm["label"]: arm for arm in result["arms"]}
    assert set(arms) == {"lstm", "textcnn"}
    assert (arms["lstm"]["model"]["hidden"], arms["textcnn"]["model"]["filters"]) == (4, 2)
    assert [run["seed"] for run in arms["lstm"]["runs"]] == [0, 1]


def test_every_problem_is_listed_with_its_path(rnnlab, file):
    text = Path(file).read_text(encoding="utf-8")
    Path(file).write_text(text.replace("hidden = ", "hiden = ").replace("lr = ", "lr = -"), encoding="utf-8")
    done = rnnlab("check", file)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0] == "rnnlab: e.toml: 2 problems"
    assert "  arms.lstm.model.hiden: unknown key of 'lstm'; did you mean 'hidden'?" in done.err
    assert "  training.lr: " in done.err
    assert rnnlab("compare", file).err == done.err


def test_paths_are_seen_from_the_file(rnnlab, reviews_csv, small):
    Path("sub").mkdir()
    reviews_csv.rename("sub/reviews.csv")
    Path("sub/e.toml").write_text('[task]\ndata = "reviews.csv"\n[arms.a.model]\nkind = "linear"\n', encoding="utf-8")
    done = rnnlab("compare", "sub/e.toml", "--seeds", "1", *small, "--json")
    assert done.code == 0, done.err
    assert sum(done.json()["profile"]["rows"].values()) == 60


def test_options_come_last(rnnlab, file):
    assert rnnlab("check", file, "--set", "seeds=[4, 7]").out == "e.toml: fine. 2 arms × 2 seeds\n"
    done = rnnlab("check", file, "--set", "arms.third.model.kind=gru")
    assert done.out == "e.toml: fine. 3 arms × 3 seeds\n"
