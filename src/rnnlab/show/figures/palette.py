"""The colours of arms. Each has a contrast of at least 3 : 1 against a white page and against a dark one, so that both
show an arm in the same colour; the first eight can be told apart by those who don't see green or red, too."""

from collections.abc import Sequence

WHITE_PAGE, DARK_PAGE = "#ffffff", "#14171c"
PALETTE = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # green
    "#7e5bd6",  # violet
    "#c8334f",  # crimson
    "#3f97d9",  # sky
    "#b08a5a",  # sand
    "#c46fb0",  # orchid
    "#6f9a1c",  # olive
    "#9c5f3f",  # brown
    "#128a99",  # teal
    "#e0559b",  # pink
)
BASELINE = "#80868e"  # what isn't an arm: baselines, the Pareto front
FAILED = "#e0002b"  # seeds that failed to learn


def arm_colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour a label. As many as there are colours, they get theirs by name, so that the same arms look the same in
    every chapter; of more, the first ones get colours of their own."""
    own = list(dict.fromkeys(labels))
    if len(own) <= len(PALETTE):
        own.sort()
    return {label: PALETTE[number % len(PALETTE)] for number, label in enumerate(own)}


def rgb(colour: str) -> tuple[float, float, float]:
    """``#ff0000`` → (1.0, 0.0, 0.0)"""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def luminance(colour: tuple[float, float, float]) -> float:
    """Relative luminance as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """From 1, the same, to 21, black and white."""
    darker, lighter = sorted((luminance(rgb(one)), luminance(rgb(other))))
    return (lighter + 0.05) / (darker + 0.05)
