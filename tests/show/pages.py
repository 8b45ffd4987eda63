"""Reading a page back: its elements and texts, and the charts that are stored in it."""

import copy
import json
from html.parser import HTMLParser
from typing import Any

EMPTY = ("meta", "input", "br", "img")  # elements without an end


class Outline(HTMLParser):
    """The elements with their attributes, and the texts with the element they stand in."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[tuple[str, dict[str, Any]]] = []
        self._places: list[dict[str, Any]] = []  # of each text: the attributes of its element
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self._open.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag, f"</{tag}> ends something else"

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.texts.append((self._open[-1][0], data.strip()))
            self._places.append(self._open[-1][1])

    def texts_of(self, kind: str) -> list[str]:
        """What stands in elements of a class."""
        found = zip(self.texts, self._places, strict=True)
        return [text for (_, text), place in found if kind in (place.get("class") or "").split()]

    def texts_in(self, language: str) -> list[str]:
        found = zip(self.texts, self._places, strict=True)
        return [text for (tag, text), place in found if tag == "span" and place.get("lang") == language]


def stored_charts(text: str) -> dict[str, Any]:
    start = text.index('id="charts">') + len('id="charts">')
    return json.loads(text[start : text.index("</script>", start)])


def drawn_charts(text: str, language: str) -> dict[str, dict[str, Any]]:
    """The specs by name, their rows back in place."""
    stored = stored_charts(text)

    def rows(table: dict[str, Any]) -> list[Any]:
        if "values" in table:
            return copy.deepcopy(table["values"])
        return [dict(zip(table["fields"], row, strict=True)) for row in table["rows"]]

    def whole(part: Any) -> Any:
        if isinstance(part, list):
            return [whole(one) for one in part]
        if not isinstance(part, dict):
            return part
        if isinstance(part.get("name"), str) and part["name"] in stored["datasets"]:
            rest = {key: value for key, value in part.items() if key != "name"}
            return {**rest, "values": rows(stored["datasets"][part["name"]])}
        return {key: whole(value) for key, value in part.items()}

    return {name: whole(figure[language]) for name, figure in stored["figures"].items()}
