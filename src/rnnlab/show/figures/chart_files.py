"""Charts as PNG and SVG files, under names that every file system takes."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rnnlab.core.words import Language
from rnnlab.show.figures import drawing as figures
from rnnlab.show.pages.parts import Figure

LONGEST_NAME = 96  # bytes of a study's or a chart's name in a file name, which has 255 at most


def save_figures(
    drawn: Iterable[Figure],
    folder: str | Path,
    language: Language = "en",
    warn: figures.Warn = figures.to_stderr,
) -> list[Path]:
    """The figures of a report, and which files they became."""
    named = ((safe_name(figure.name), figure.draw(language, False)) for figure in drawn)
    return save_charts(named, Path(folder), warn)


def save_charts(
    named: Iterable[tuple[str, Any]], folder: Path, warn: figures.Warn, taken: set[str] | None = None
) -> list[Path]:
    """Write each chart as NAME.png and NAME.svg, beside the names that are ``taken``; names are safe ones. What fonts
    lack is said once."""
    folder.mkdir(parents=True, exist_ok=True)
    taken = set() if taken is None else taken
    written: list[Path] = []
    warnings: list[str] = []
    for name, chart in named:
        stem = free_name(name, taken)
        paths = [folder / f"{stem}.png", folder / f"{stem}.svg"]
        figures.save(chart, *paths, warn=warnings.append)
        written += paths
    if warnings:
        more = f" (and {len(warnings) - 1} more files)" if len(warnings) > 1 else ""
        warn(warnings[0] + more)
    return written


def safe_name(name: str) -> str:
    """A name that every file system takes: letters of all languages stay, what is special becomes a dash."""
    kept = re.sub(r"[^\w.+-]+", "-", name).encode()[:LONGEST_NAME].decode(errors="ignore")
    return kept.strip(".-_") or "sweep"


def free_name(name: str, taken: set[str]) -> str:
    """The name, or with a number when it is taken; capital letters make no difference to some file systems."""
    free, number = name, 2
    while free.casefold() in taken:
        free, number = f"{name}-{number}", number + 1
    taken.add(free.casefold())
    return free
