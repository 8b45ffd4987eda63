"""What the doctor finds, and what he says of it."""

import os
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

from rnnlab.api.doctor import EXTRAS, NEEDED, Check, Examination, examine
from rnnlab.kernels import status

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def checks() -> dict[str, Check]:
    return {check.name: check for check in examine().checks}


def test_all_is_well_where_rnnlab_is_tested(monkeypatch):
    monkeypatch.delenv("RNNLAB_DATA", raising=False)
    found = checks()
    assert examine().healthy
    assert found["rnnlab"].found == version("rnnlab")
    assert found["torch"].found == torch.__version__
    assert found["processor"].values["capability"] == torch.backends.cpu.get_cpu_capability()
    assert 1 <= found["processor"].values["usable"] <= (os.cpu_count() or 1)
    assert found["threads"].values["threads"] == 1
    assert found["device"].values["device"] in ("cpu", "cuda", "mps", "xpu")
    assert 0 < found["memory"].values["total"] < 1 << 50


def test_which_way_recurrences_go_is_said_with_the_reason():
    way = checks()["recurrences"]
    assert (way.word, way.values["path"]) == (("ok", "native") if status().active else ("off", "torch"))
    assert status().reason in way.found


def test_a_cache_that_cannot_be_written_is_broken(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "file" / "cache"))
    cache = checks()["cache"]
    assert cache.word == "broken"
    assert str(tmp_path / "file" / "cache") in cache.found
    assert "RNNLAB_CACHE" in cache.advice
    assert not examine().healthy


def test_the_cache_is_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "new"))
    assert checks()["cache"].values == {"folder": str(tmp_path / "new"), "bytes": 0}
    (tmp_path / "new" / "data").mkdir()
    (tmp_path / "new" / "data" / "rows").write_bytes(b"x" * 3_000_000)
    cache = checks()["cache"]
    assert cache.values["bytes"] == 3_000_000
    assert cache.found.endswith(", 3 MB")


def test_a_folder_of_data_that_is_not_there_is_broken(tmp_path, monkeypatch):
    monkeypatch.setenv("RNNLAB_DATA", str(tmp_path / "nowhere"))
    data = checks()["data"]
    assert (data.word, data.advice) == ("broken", "correct it, or unset it")
    monkeypatch.setenv("RNNLAB_DATA", str(tmp_path))  # empty
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "cache"))
    data = checks()["data"]
    assert (data.word, data.values["found"]) == ("off", [])
    assert "rnnlab data get" in data.advice


@pytest.mark.data
def test_data_sets_are_found_by_name(monkeypatch):
    if not os.environ.get("RNNLAB_DATA"):
        pytest.skip("RNNLAB_DATA isn't set")
    data = checks()["data"]
    assert data.word == "ok"
    assert "movie-reviews" in data.values["found"]


def test_every_package_that_rnnlab_asks_for_is_looked_for():
    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[\[<>=~ ]", requirement)[0] for requirement in requirements}

    assert {*NEEDED, "torch"} == names(PROJECT["dependencies"])
    for_users = {k: names(v) for k, v in PROJECT["optional-dependencies"].items() if k not in ("all", "dev", "bench")}
    assert {name: set(packages) for name, (packages, _) in EXTRAS.items()} == for_users


def test_an_extra_that_is_missing_comes_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(EXTRAS, "zh", (("no-such-package",), "cuts Chinese"))
    extra = checks()["zh"]
    assert (extra.word, extra.found, extra.advice) == ("missing", "cuts Chinese", "pip install 'rnnlab[zh]'")
    assert examine().healthy  # it is an extra


def test_the_table_says_every_word_plainly():
    found = Examination(
        (
            Check("torch", "ok", "2.6"),
            Check("zh", "missing", "cuts Chinese", "pip install 'rnnlab[zh]'"),
            Check("cache", "broken", "can't be written " + "there " * 30, "set it"),
        )
    )
    lines = str(found).splitlines()
    assert lines[0] == "ok       torch  2.6"
    assert lines[1] == "missing  zh     cuts Chinese; pip install 'rnnlab[zh]'"
    assert lines[3].startswith(" " * 16 + "there")
    assert max(map(len, lines)) <= 120
    assert lines[-1] == "Broken: cache."
    assert str(Examination(found.checks[:2])).endswith("\n\nAll that is needed works.")
