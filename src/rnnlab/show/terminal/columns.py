"""Tables on a terminal, in portions where it is narrow."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

Row = tuple[Sequence[str], str | None]
"""Cells, and a style."""


def print_table(out: Console, title: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """A table; on a narrow screen several, one below the other, so that no figure is cut off."""
    widths = [max(map(cell_len, column)) for column in zip(columns, *(cells for cells, _ in rows), strict=True)]
    for shown in portions(widths, out.width):
        table = Table(
            title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold"
        )
        for number in shown:
            justify = "left" if number == 0 else "right"
            table.add_column(Text(columns[number]), justify=justify, no_wrap=True)  # a user's [words] are no markup
        for cells, style in rows:
            table.add_row(*(Text(cells[number]) for number in shown), style=style)
        out.print(table)
        title = ""


def portions(widths: Sequence[int], room: int, gap: int = 2) -> list[list[int]]:
    """Numbers of the columns that fit beside each other; the first column heads every portion."""
    found = [[0]]
    left = room - widths[0]
    for number in range(1, len(widths)):
        if left < widths[number] + gap and len(found[-1]) > 1:
            found.append([0])
            left = room - widths[0]
        found[-1].append(number)
        left -= widths[number] + gap
    return found
