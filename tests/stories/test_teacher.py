"""A teacher prepares a lesson: a comparison without any file, a look inside, an experiment, a page to show."""

from pathlib import Path

import pytest
from told import run_in, sentences, typed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("teacher")


def test_a_lesson(folder: Path, snapshot):
    small = ("--rows", "600", "--models", "lstm", "--seeds", "2", "--epochs", "2")
    compared = typed(folder, "compare", *small, "--report", "lesson.html")
    assert sentences(compared.splitlines()[0]) == snapshot(name="compare, the data")
    assert (folder / "lesson.html").stat().st_size > 100_000
    quiet = typed(folder, "compare", *small, "--quiet")  # found again, for the projector: the result alone
    assert quiet.splitlines()[0].startswith("Test accuracy")
    page = (folder / "lesson.html").read_text(encoding="utf-8")
    assert 'lang="zh"' in page  # in both languages
    trained = typed(folder, "train", "--rows", "600", "--model", "lstm", "--epochs", "2")
    inside = typed(folder, "inspect", run_in(trained))
    assert sentences(inside) == snapshot(name="inspect")
    checked = typed(folder, "check", "001")
    assert sentences(checked) == snapshot(name="check")
