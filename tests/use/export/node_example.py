"""The example for Node in a folder of its own, and texts to try it with."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "onnx-node"
REQUIRED = os.environ.get("CI") == "true" or os.environ.get("RNNLAB_BROWSER") == "required"
# fmt: off
ALPHABET = list("abnstNST'’.,-_:/0189 \t<>\\*`\"()") + [
    "n't", "'s", "…", "—", "<br />", "-LRB-", "ſ", "K", "İ", "Σ", "\u0345", "e\u0301", "好", "影", "々",
    "👍🏽", "👩‍👩‍👧", "🇨🇳", "\u200b", "\x1c", "\x85", "\u3000", "Ⅷ", "٣", "कि", "ไม่", "\ue000", "$&",
]
# fmt: on
IDS = """\
import { readFileSync } from "node:fs";
import { Tokenizer } from "./tokenize.mjs";
const { readings, texts } = JSON.parse(readFileSync(0, "utf-8"));
const encoded = readings.map((reading) => new Tokenizer(reading)).map((one) => texts.map((text) => one.encode(text)));
console.log(JSON.stringify(encoded));
"""


def refuse(reason: str) -> None:
    (pytest.fail if REQUIRED else pytest.skip)(reason)


def node(example: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = ["node", *arguments]
    return subprocess.run(command, cwd=example, input=given, capture_output=True, encoding="utf-8", timeout=120)


def many_texts(count: int) -> list[str]:
    """Made up by hypothesis, so that one process of Node can have them all."""
    found: list[str] = []
    pieces = st.one_of(st.sampled_from(ALPHABET), st.text(max_size=3))

    @settings(max_examples=count, deadline=None, derandomize=True, database=None)
    @given(st.lists(pieces, max_size=12).map("".join))
    def collect(text: str) -> None:
        found.append(text)

    collect()
    return found


def browsing() -> Any:
    """tests/browser/browsing.py: which browser, with which arguments."""
    folder = str(ROOT / "tests" / "browser")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("browsing")
