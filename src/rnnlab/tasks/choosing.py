"""Which task a path or a name asks for, where nobody says it: a line per task."""

from collections.abc import Mapping
from typing import Any

from rnnlab.data import catalogue
from rnnlab.data.observations import looks_like_observations
from rnnlab.data.pair_tables import looks_like_pairs
from rnnlab.data.passages import is_running_text
from rnnlab.data.sound.files import holds_sound
from rnnlab.data.sound.recordings import names_recordings
from rnnlab.data.tagged.finding import is_tagged

USUAL = "classify"
OF_FORECASTS = {"horizon", "lookback", "season", "targets", "date", "series"}  # settings of no other task


def task_for(data: str, settings: Mapping[str, Any]) -> str | None:
    """None: the usual one. ``settings`` are those of the task that were given."""
    if data in catalogue.names():
        asked = catalogue.entry(data).task
        return None if asked == USUAL else asked
    if OF_FORECASTS & set(settings):
        return "forecast"
    if "pattern" in settings or holds_sound(data) or names_recordings(data):
        return "speech"
    if "tags" in settings or ("label" not in settings and "text" not in settings and is_tagged(data)):
        return "tag"
    if "unit" in settings or "text_per" in settings or ("label" not in settings and is_running_text(data)):
        return "language-model"
    if {"source", "target"} & set(settings) or (not {"label", "text"} & set(settings) and looks_like_pairs(data)):
        return "translate"
    if not {"label", "text"} & set(settings) and looks_like_observations(data):
        return "forecast"
    return None
