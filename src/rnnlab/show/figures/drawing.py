"""Charts as PNG and SVG files, and the script that draws them on a page. Nothing here needs a network: vl-convert
brings Vega with it."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from rnnlab.core.files import write_atomically
from rnnlab.core.words import Language
from rnnlab.show.figures.figure import Figure
from rnnlab.show.figures.palette import LIGHT_CONFIG, themed

LONGEST_NAME = 96  # bytes of a study's or a chart's name in a file name, which has 255 at most
SCALE = 2  # pixels of a PNG for one of the chart
CJK_FONTS = "Noto Sans CJK SC, Source Han Sans SC, PingFang SC, Microsoft YaHei, WenQuanYi Zen Hei, sans-serif"
NO_CHARACTER = "\u0378"  # never assigned: it looks as characters do that no font has
Warn = Callable[[str], None]


def to_stderr(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)


def save_figures(
    figures: Iterable[Figure],
    folder: Path,
    language: Language = "en",
    warn: Warn = to_stderr,
    taken: Iterable[str] = (),
) -> list[Path]:
    """Write each figure as NAME.png and NAME.svg, and say which files. Names are safe ones; of two that are equal, or
    where one is ``taken``, the second gets a number. What fonts lack is said once."""
    folder.mkdir(parents=True, exist_ok=True)
    names, written, warnings = set(taken), [], []
    for figure in figures:
        stem = free_name(figure.name, names)
        paths = [folder / f"{stem}.png", folder / f"{stem}.svg"]
        save(figure.draw(language, False), *paths, warn=warnings.append)
        written += paths
    if warnings:
        more = f" (and {len(warnings) - 1} more files)" if len(warnings) > 1 else ""
        warn(warnings[0] + more)
    return written


def save(chart: Any, *paths: Path, warn: Warn = to_stderr) -> None:
    """Write a chart as .png and .svg files. If no installed font has its characters, a PNG shows boxes: ``warn``."""
    drawn, texts = _svg(chart)
    for path in paths:
        if path.suffix == ".svg":  # drawn with the fonts of whoever looks at it
            write_atomically(path, drawn)
            continue
        message = font_warning(texts)
        if message:
            warn(f"{path.name}: {message}")
        write_atomically(path, vl_convert.svg_to_png(drawn, scale=SCALE))


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


def svg(chart: Any) -> str:
    return _svg(chart)[0]


def _svg(chart: Any) -> tuple[str, str]:
    """A chart, and all texts in it."""
    spec = themed(chart.to_dict(validate=False), LIGHT_CONFIG | {"background": "white"})
    texts = "".join(_strings(spec))
    spec["config"]["font"] = fonts_for(texts)
    return _renumbered(vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version())), texts


def _renumbered(drawn: str) -> str:
    """Vega numbers gradients and clips through all charts of a process; here each chart counts its own, so that the
    same chart gives the same bytes."""
    numbers: dict[str, int] = {}
    found = re.compile(r'(?<=id="|rl\(#)(gradient_|clip)(\d+)')
    return found.sub(lambda match: f"{match[1]}{numbers.setdefault(match[0], len(numbers))}", drawn)


def font_warning(texts: str) -> str | None:
    """Which characters no installed font has, and what to do; None when all can be drawn."""
    missing = [c for c in sorted(set(texts)) if not c.isascii() and not can_draw(c)]
    if not missing:
        return None
    shown = "".join(missing[:8]) + ("…" if len(missing) > 8 else "")
    cure = (
        "install the package fonts-noto-cjk (apt install fonts-noto-cjk)"
        if any(is_cjk(c) for c in missing)
        else "install a font that has them"
    )
    return f"no installed font has {shown}, so this PNG shows boxes; {cure} and write it again, or use the SVG or HTML"


@cache
def can_draw(character: str) -> bool:
    """Whether it comes out as something else than what stands for a missing one."""
    return _drawn(character) != _drawn(NO_CHARACTER)


@cache
def _drawn(character: str) -> bytes:
    text = f'<text x="4" y="30" font-size="24" font-family="{CJK_FONTS}">{escape(character)}</text>'
    return vl_convert.svg_to_png(f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">{text}</svg>')


def fonts_for(texts: str) -> str:
    """Chinese in Chinese shapes: left alone, some systems would take the Japanese ones."""
    return CJK_FONTS if any(map(is_cjk, texts)) else "sans-serif"


def is_cjk(character: str) -> bool:
    """Ideographs, their punctuation, and full-width forms."""
    code = ord(character)
    return 0x2E80 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0xFF00 <= code <= 0xFFEF or 0x20000 <= code < 0x40000


def _strings(spec: Any) -> Iterator[str]:
    if isinstance(spec, str):
        yield spec
    elif isinstance(spec, dict):
        for value in spec.values():
            yield from _strings(value)
    elif isinstance(spec, list | tuple):
        for value in spec:
            yield from _strings(value)


@cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, of the version that the charts are written for."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vega_lite_version())
    return bundle.replace("</script", "<\\/script")


def vega_lite_version() -> str:
    """``"6.4"``"""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
