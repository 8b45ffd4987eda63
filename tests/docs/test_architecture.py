"""docs/architecture.md is drawn from the code, and is the one that the code draws now."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "docs"))
import draw_architecture as drawing


@pytest.mark.parametrize("path", drawing.files(), ids=lambda path: path.name)
def test_the_page_is_what_the_code_draws(path: Path):
    assert path.read_text(encoding="utf-8") == drawing.files()[path], "python docs/draw_architecture.py draws it anew"


def test_every_room_says_what_it_is_in_both_languages():
    rooms = drawing.rooms()
    assert rooms.keys() == drawing.CHINESE.keys()
    assert all(said and len(said) < 160 for said in rooms.values())
