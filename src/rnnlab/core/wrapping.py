"""Lines of text on a terminal, where a Chinese letter takes two columns and a line may end beside it."""

import re
import shutil
import unicodedata
from typing import Any

_PIECES = re.compile(r"\s+|[（“《【]*(?:[\u2e80-\uffef]|[^\s\u2e80-\uffef]+)[，。；：！？、）”》】]*")


def columns(text: str) -> int:
    """How many columns of a terminal it takes."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def wrapped(text: str, width: int) -> list[str]:
    """Lines of so many columns. A line ends at a space or beside a Chinese letter; marks that open or close stay with
    what is between them; a word that is too long stays whole."""
    lines, line = [], ""
    for piece in _PIECES.findall(text):
        if columns(line + piece.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line = piece.lstrip()
        else:
            line += piece
    return [*lines, line.rstrip()] if line.strip() else lines


def fitted(text: str, stream: Any) -> str:
    """As wide as the terminal that the stream writes to, wrapped at words; elsewhere as it is."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join("\n".join(wrapped(line, width)) for line in text.split("\n"))
