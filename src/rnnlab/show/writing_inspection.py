"""What an inspection of a translator found, in sentences and, on a terminal, as maps of characters."""

from collections.abc import Sequence

from rich.cells import cell_len

from rnnlab.core.numbers import magnitude
from rnnlab.core.words import Both, Language, both
from rnnlab.inspecting.translating import Grid, WritingInspection

SHADES = " ·░▒▓█"
COLUMN = 3  # characters of a place
WIDEST = 96  # characters of a map
NAMED = 3  # places named beside a line
END_OF_MAP = 0.05  # of the largest of a line, below which a place isn't named
SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥"}

LOOKED = both("Where it looked before it wrote each token (a line), among the tokens that were read (columns):")
NOT_LOOKED = both("It has no attention: what it knows of the text goes through one vector. Its gradients say more.")
RESTS = both(
    "What each written token rests on: ‖∂ log p / ∂ x‖, by how much its log probability moves with the vector of each "
    "token that was read; shades are shares of the largest of a line:"
)


def about_writing(found: WritingInspection) -> list[Both]:
    said = [
        both("{name} ({kind}) on a text of {steps} tokens.", name=found.name, kind=found.kind, steps=len(found.tokens))
    ]
    if found.unknown:
        tokens = ", ".join(found.tokens[at] for at in found.unknown)
        said.append(both("Unknown to the model: {tokens}.", tokens=tokens))
    said.append(
        both(
            "It wrote: {text} (probability {share} %; the least sure token: {token}, {least} %)",
            text=found.text,
            share=f"{100 * found.probability:.1f}",
            token=found.written[_least(found.probabilities)],
            least=f"{100 * min(found.probabilities):.1f}",
        )
    )
    return said


def _least(values: Sequence[float]) -> int:
    return min(range(len(values)), key=lambda at: values[at])


def writing_lines(found: WritingInspection, language: Language) -> list[str]:
    """For a terminal: the sections, an empty line between them."""
    said = [one[language] for one in about_writing(found)]
    if found.attention is None:
        said += ["", NOT_LOOKED[language]]
    else:
        said += ["", LOOKED[language], *_map(found, found.attention, share=False)]
    return [*said, "", RESTS[language], *_map(found, found.gradients, share=True)]


def _map(found: WritingInspection, values: Grid, share: bool) -> list[str]:
    """A line per written token: a shade per token that was read, and the names of the darkest. Of a text that is too
    wide, the names alone. ``share``: shades are shares of the largest of a line, else the values themselves."""
    read, written = ([SIGNS.get(token, token) for token in side] for side in (found.tokens, found.written))
    wide = max(map(cell_len, written))
    drawn = wide + 2 + COLUMN * len(read) <= WIDEST
    lines = []
    if drawn:
        lines = [" " * (wide + 2) + "".join(f"{number:>{COLUMN - 1}} " for number in range(1, len(read) + 1)).rstrip()]
    for token, line in zip(written, values, strict=True):
        largest = max(line) or 1.0
        shares = [value / largest for value in line] if share else list(line)
        cells = "".join(f"{_shade(value) * (COLUMN - 1)} " for value in shares) if drawn else ""
        order = sorted(range(len(read)), key=lambda at: -line[at])[:NAMED]
        named = [f"{at + 1} {read[at]} {magnitude(line[at])}" for at in order if line[at] >= END_OF_MAP * largest]
        lines.append(f"{token}{' ' * (wide - cell_len(token))}  {cells} {', '.join(named)}")
    return lines


def _shade(value: float) -> str:
    return SHADES[min(len(SHADES) - 1, int(value * len(SHADES)))]
