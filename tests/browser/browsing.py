"""The browser of the tests, and what they ask of a page."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
AXE = Path(os.environ.get("RNNLAB_AXE") or ROOT / ".venv/axe/node_modules/axe-core/axe.min.js")
CHROMIUM = os.environ.get("RNNLAB_CHROMIUM") or shutil.which("chromium")
REQUIRED = os.environ.get("CI") == "true" or os.environ.get("RNNLAB_BROWSER") == "required"
ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK = {"width": 1280, "height": 900}
PHONE, WIDE = {"width": 390, "height": 844}, {"width": 1920, "height": 1080}
TABLET = {"width": 768, "height": 1024}
OVERFLOWING = """() => {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push(`the page: ${root.scrollWidth} > ${root.clientWidth}`);
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const inScroller = (element) => {
    for (let at = element; at && at !== document.body; at = at.parentElement) if (scrolls(at)) return true;
    return false;
  };
  for (const element of document.body.querySelectorAll("*")) {
    if (element.closest("svg, .unseen, .skip, script, [hidden]") || !element.getClientRects().length) continue;
    const box = element.getBoundingClientRect();
    const name = `${element.tagName}.${element.className}: ${element.textContent.trim().slice(0, 40)}`;
    if (!inScroller(element) && (box.right > root.clientWidth + 1 || box.left < -1)) found.push(`outside ${name}`);
    if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth && !inScroller(element)
        && getComputedStyle(element).display !== "inline") found.push(`overflows ${name}`);
  }
  for (const chart of document.querySelectorAll(".chart svg")) {
    const room = chart.getBoundingClientRect();
    for (const text of chart.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      const hidden = !text.textContent || getComputedStyle(text).opacity === "0" || !box.width;
      const out = box.right > room.right + 1 || box.left < room.left - 1 || box.bottom > room.bottom + 1;
      const name = chart.closest("[data-figure]").dataset.figure;
      if (!hidden && out) found.push(`cut off in ${name}: ${text.textContent}`);
    }
  }
  return found;
}"""

NO_HINT = """() => [...document.querySelectorAll("body *")].filter((box) => {
  const style = getComputedStyle(box);
  if (!box.checkVisibility() || !box.clientWidth || !["auto", "scroll"].includes(style.overflowX)) return false;
  const more = box.scrollWidth > box.clientWidth + 1;
  return more && style.maskImage === "none";
}).map((box) => `no hint on ${box.tagName}.${box.className}: ${box.scrollWidth} > ${box.clientWidth}`)"""


def examples(module: str) -> Any:
    """A module of tests/show, for the examples in it."""
    folder = ROOT / "tests" / "show"
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # for what it imports itself
    spec = importlib.util.spec_from_file_location(f"examples_of_{module}", folder / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def each_value(*choices: Sequence[Any]) -> list[Any]:
    """All combinations, for `parametrize`. With every change, as many as have each value once or more; all of them in
    `make test-long`."""
    found = []
    for places in product(*(range(len(values)) for values in choices)):
        diagonal = all(place == max(places) % len(values) for place, values in zip(places, choices, strict=True))
        chosen = [values[place] for place, values in zip(places, choices, strict=True)]
        found.append(pytest.param(*chosen, marks=[] if diagonal else [pytest.mark.long]))
    return found


def missing() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return "needs the Python package playwright (the dev extra has it)"
    if CHROMIUM is None or not Path(CHROMIUM).exists():
        return "needs chromium: apt install chromium, or say where it is in RNNLAB_CHROMIUM"
    if not AXE.exists():
        return "needs axe-core: make .venv/.browser, or say where axe.min.js is in RNNLAB_AXE"
    return None


def drawn(page: Any) -> None:
    """Wait until all charts are."""
    page.wait_for_selector('html[data-drawn="yes"]', state="attached", timeout=60_000)


def axe(page: Any) -> list[str]:
    """Serious faults that axe-core finds, each with the first element that has it."""
    page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{fault['id']}: {fault['help']}: {fault['nodes'][0]['html'][:200]} {fault['nodes'][0]['failureSummary']}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


def overflowing(page: Any) -> list[str]:
    """Elements whose text goes over their edge, or over the window's; and boxes that scroll without showing it."""
    return [*page.evaluate(OVERFLOWING), *page.evaluate(NO_HINT)]
