"""The charts of a report as PNG and SVG files."""

from collections.abc import Iterable
from pathlib import Path

from rnnlab.report import figures
from rnnlab.report.page_parts import Figure, Language
from rnnlab.report.sweep_tables import safe_name


def save_figures(
    drawn: Iterable[Figure],
    folder: str | Path,
    language: Language = "en",
    warn: figures.Warn = figures.to_stderr,
) -> list[Path]:
    """Write each figure as NAME.png and NAME.svg, and say which files. What fonts lack is said once."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    warnings: list[str] = []
    taken: set[str] = set()
    for figure in drawn:
        stem = _free(safe_name(figure.name), taken)
        paths = [folder / f"{stem}.png", folder / f"{stem}.svg"]
        figures.save(figure.draw(language, False), *paths, warn=warnings.append)
        written += paths
    if warnings:
        more = f" (and {len(warnings) - 1} more files)" if len(warnings) > 1 else ""
        warn(warnings[0] + more)
    return written


def _free(name: str, taken: set[str]) -> str:
    """The name, or with a number when it is taken; capital letters make no difference to some file systems."""
    free, number = name, 2
    while free.casefold() in taken:
        free, number = f"{name}-{number}", number + 1
    taken.add(free.casefold())
    return free
