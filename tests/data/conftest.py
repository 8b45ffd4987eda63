"""Shared by the tests of reading: files with given contents, and the public data sets."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, content: str | bytes, encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


@pytest.fixture
def public() -> Path:
    folder = os.environ.get("RNNLAB_DATA")
    if not folder:
        pytest.skip("RNNLAB_DATA isn't set")
    return Path(folder)
