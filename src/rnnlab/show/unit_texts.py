"""What single units follow, on the terminal."""

from rich.cells import cell_len

from rnnlab.core.words import capitalised, language, say
from rnnlab.inspecting.text_features import NAMES
from rnnlab.inspecting.units import NOTEWORTHY, Units
from rnnlab.show.inspection_texts import layer_name


def unit_lines(found: Units) -> list[str]:
    """A line per feature, the strongest first, what has to be remembered before what was just read."""
    chosen = language()
    head = [say("what"), say("unit"), say("r where it was found"), say("r on other rows"), say("r before training")]
    table = [head]
    for one in found.followed:
        before = "" if one.at_first is None else f"{one.at_first:+.2f}"
        name = f"{one.part}[{one.unit}]"
        table.append([NAMES[one.feature][chosen], name, f"{one.found:+.2f}", f"{one.held_out:+.2f}", before])
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(head))]
    lines = [
        "  ".join(
            text + " " * (width - cell_len(text)) if at < 2 else " " * (width - cell_len(text)) + text
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    said = say(
        "{layer}, {units} units, r on {tokens:,} tokens of the test text that chose no unit. What has to be remembered "
        "comes first; what the last token says by itself follows, which many units show, also before training.",
        layer=capitalised(layer_name(found.layer)),
        units=found.units,
        tokens=found.tokens,
    )
    if not found.strips:
        none = say(
            "No unit follows what has to be remembered: none reaches {limit} on the other rows.", limit=NOTEWORTHY
        )
        return [*lines, "", none, said]
    return [*lines, "", said]
