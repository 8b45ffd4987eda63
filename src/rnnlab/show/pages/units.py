"""What single units follow, and which tokens have vectors alike, as parts of the page."""

from dataclasses import dataclass

from rnnlab.comparing.chapters import Chapter
from rnnlab.core.words import Both, both, same
from rnnlab.inspecting.text_features import NAMES
from rnnlab.inspecting.units import NOTEWORTHY, Followed
from rnnlab.show.pages.surprise import SIGNS
from rnnlab.show.pages.table import Cell, Column, Row, Table, number

SHOWN_STRIPS = 3
UNITS = both("What single units follow ({arm})")
UNITS_COLUMNS = (
    Column(both("what"), both("Counted from the tokens read so far."), number=False),
    Column(both("unit"), both("h is the state, c the cell of an LSTM; units are counted from 0."), number=False),
    Column(both("r where it was found"), both("On one half of the rows, by which the unit was chosen: too high.")),
    Column(both("r on other rows"), both("On the other half of the rows, which didn't choose it.")),
    Column(both("r before training"), both("The same search in the network as it began, on the same rows.")),
)
UNITS_NOTE = both(
    "Pearson's r of the unit of the last layer that goes with each thing most, on the test text. First what has to be "
    "remembered, then what the last token says by itself, which many units show, also before training. Bold: "
    "{limit} or more on the other rows, in either direction."
)
NONE_FOUND = both("No unit follows what has to be remembered: none reaches {limit} on the other rows.")
STRIP = both("{what}: unit {unit}, r = {r}; red is above its mean, blue below")
NEIGHBOURS = both("Tokens with vectors alike ({arm})")
NEIGHBOURS_COLUMNS = (
    Column(both("token"), both("Letters, or words of 4 letters or more, the most frequent first."), number=False),
    Column(both("nearest"), both("By the cosine of the vectors that the network learnt."), number=False),
)
NEIGHBOURS_NOTE = both("In brackets, the cosine: 1 points the same way, 0 has nothing in common.")


@dataclass(frozen=True)
class ShownToken:
    text: str
    sign: str  # above, or below the unit's mean
    share: str  # of the full colour


@dataclass(frozen=True)
class ShownStrip:
    title: Both
    tokens: tuple[ShownToken, ...]
    spaced: bool


def units_table(chapter: Chapter) -> Table | None:
    found = chapter.differences.continued
    if found is None or found.units is None or not found.units[1].followed:
        return None
    arm, units = found.units
    rows = [
        Row(
            [
                Cell(NAMES[one.feature]),
                Cell(unit_name(one)),
                number(one.found, "{:+.2f}"),
                Cell(f"{one.held_out:+.2f}", one.held_out, strong=one.noteworthy),
                number(one.at_first, "{:+.2f}"),
            ]
        )
        for one in units.followed
    ]
    note = UNITS_NOTE.format(limit=NOTEWORTHY)
    if not units.strips:
        note = both("{none} {note}", none=NONE_FOUND.format(limit=NOTEWORTHY), note=note)
    return Table(UNITS.format(arm=arm), UNITS_COLUMNS, rows, note)


def unit_name(one: Followed) -> str:
    return f"{one.part}[{one.unit}]"


def unit_strips(chapter: Chapter) -> list[ShownStrip]:
    found = chapter.differences.continued
    if found is None or found.units is None:
        return []
    followed = {one.feature: one for one in found.units[1].followed}
    shown = []
    for strip in found.units[1].strips[:SHOWN_STRIPS]:
        one = followed[strip.feature]
        title = STRIP.format(what=NAMES[strip.feature], unit=unit_name(one), r=f"{one.held_out:+.2f}")
        tokens = tuple(
            ShownToken(SIGNS.get(token, token), "below" if value < 0 else "above", f"{abs(value):.2f}")
            for token, value in zip(strip.tokens, strip.values, strict=True)
        )
        shown.append(ShownStrip(title, tokens, found.spaced))
    return shown


def neighbours_table(chapter: Chapter) -> Table | None:
    found = chapter.differences.continued
    if found is None or found.neighbours is None:
        return None
    arm, every = found.neighbours
    rows = [
        Row([Cell(one.token), Cell(same(" ".join(f"{token} ({cosine:.2f})" for token, cosine in one.nearest)))])
        for one in every
    ]
    return Table(NEIGHBOURS.format(arm=arm), NEIGHBOURS_COLUMNS, rows, NEIGHBOURS_NOTE)
