"""Colours that can be seen on both pages and told apart."""

import itertools
import math

import pytest

from rnnlab.show.figures.palette import (
    BASELINE,
    DARK_CONFIG,
    FAILED,
    LIGHT_CONFIG,
    PALETTE,
    arm_colours,
    luminance,
    rgb,
    themed,
)

WHITE_PAGE, DARK_PAGE = "#ffffff", "#14171c"


def contrast(one: str, other: str) -> float:
    """From 1, the same, to 21, black and white."""
    darker, lighter = sorted((luminance(rgb(one)), luminance(rgb(other))))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("page", [WHITE_PAGE, DARK_PAGE])
def test_every_colour_stands_out_from_both_pages(page):
    for colour in (*PALETTE, BASELINE, FAILED):
        assert contrast(colour, page) >= 3


def test_contrast_is_that_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#ffffff", "#777777") == contrast("#777777", "#ffffff")


def test_colours_are_far_apart():
    """Also for the commonest kind of colour blindness (deuteranopia, after Machado and others 2009), of the first."""
    weights = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))

    def seen(colour: str) -> list[float]:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb(colour)]
        mixed = [max(0.0, sum(w * c for w, c in zip(row, linear, strict=True))) for row in weights]
        return [12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in mixed]

    for one, other in itertools.combinations((*PALETTE, FAILED), 2):
        assert math.dist(rgb(one), rgb(other)) > 0.15
    for one, other in itertools.combinations(PALETTE[:8], 2):
        assert math.dist(seen(one), seen(other)) > 0.14


def test_an_arm_has_the_same_colour_wherever_it_ranks():
    assert arm_colours(["rnn", "gru", "lstm"]) == arm_colours(["lstm", "rnn", "gru"])
    assert arm_colours(["gru", "lstm"]) == {"gru": PALETTE[0], "lstm": PALETTE[1]}


def test_of_many_arms_the_first_have_colours_of_their_own():
    found = arm_colours([f"arm {n}" for n in range(30)])
    assert [found[f"arm {n}"] for n in range(12)] == list(PALETTE)
    assert found["arm 12"] == PALETTE[0]


def test_texts_can_be_read_on_their_page():
    for config, page in ((LIGHT_CONFIG, WHITE_PAGE), (DARK_CONFIG, DARK_PAGE)):
        for colour in (config["text"]["color"], config["axis"]["labelColor"], config["title"]["subtitleColor"]):
            assert contrast(colour, page) >= 4.5


def test_what_a_chart_sets_itself_goes_before_the_theme():
    spec = {"mark": "bar", "config": {"view": {"stroke": "red", "step": 7}}}
    config = themed(spec, DARK_CONFIG)["config"]
    assert config["view"] == {"stroke": "red", "step": 7}
    assert config["text"] == DARK_CONFIG["text"]
    assert spec["config"] == {"view": {"stroke": "red", "step": 7}}  # untouched
