"""Shared by all tests: a cache of their own, and small data."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import torch

from rnnlab import kernels as native
from rnnlab.core.cache import cache_dir
from rnnlab.models.base import ARCHITECTURES
from rnnlab.tasks.base import TASKS

if not os.environ.get("RNNLAB_DATA", "unset"):
    del os.environ["RNNLAB_DATA"]  # make exports an empty one where there are no data sets

os.environ["RNNLAB_LANG"] = "en"  # whatever the locale is: the tests quote English texts, and say so where they don't

# The native kernels are compiled once for all processes of all sessions, wherever the rest of a test's cache is.
os.environ.setdefault("RNNLAB_NATIVE_CACHE", str(cache_dir() / "native"))
native.prepare()  # before the first test, so that all of them take the same path

torch.set_num_threads(1)  # as every run has it: the tests share the cores


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Of thousands of tests that are collected none is garbage; they stay to the end and needn't be looked through."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long is left to `make test-long`, which sets RNNLAB_LONG."""
    if "RNNLAB_LONG" not in os.environ:
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes long: make test-long"))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    """The tests neither read nor fill the user's cache."""
    before = os.environ.get("RNNLAB_CACHE")
    os.environ["RNNLAB_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["RNNLAB_CACHE"]
    else:
        os.environ["RNNLAB_CACHE"] = before


def _forgetting_plugins() -> Iterator[None]:
    """What plugins register meanwhile is forgotten, and so are their modules."""
    known = [(registry, {name: registry[name] for name in registry.names()}) for registry in (ARCHITECTURES, TASKS)]
    yield
    for registry, classes in known:
        registry._classes = classes  # type: ignore[assignment] # each its own
    for name in [name for name in sys.modules if name.startswith("rnnlab_plugin_")]:
        del sys.modules[name]


plugins_are_forgotten = pytest.fixture(_forgetting_plugins)  # after the test
plugins_are_forgotten_later = pytest.fixture(scope="module")(_forgetting_plugins)  # after the module


@pytest.fixture
def reviews_csv(tmp_path: Path) -> Path:
    """60 rows that any model can learn: the word decides."""
    words = {"good": ["great", "fine", "lovely"], "bad": ["awful", "dull", "poor"]}
    lines = ["text,label"]
    for number in range(60):
        label = "good" if number % 2 else "bad"
        lines.append(f"the {words[label][number % 3]} film number {number},{label}")
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
