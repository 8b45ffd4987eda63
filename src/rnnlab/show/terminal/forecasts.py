"""What `rnnlab predict` prints of forecasts."""

import json
from collections.abc import Iterable

from rnnlab.core.words import say
from rnnlab.use.forecasting import SeriesForecast


def print_forecasts(found: Iterable[SeriesForecast], as_json: bool = False, as_it_comes: bool = False) -> None:
    """A table, a step per line; or an object per series (or per step that came) as JSON. With ``as_it_comes``, a line
    per step that was read: the points of all steps ahead."""
    columns: list[str] = []
    for one in found:
        if as_json:
            print(json.dumps(one.to_dict(), ensure_ascii=False), flush=True)
        elif as_it_comes:
            when = say("step {number:,}", number=one.first) if one.dates is None else one.dates[0]
            told = [
                f"{channel}: " + " ".join(f"{value:.6g}" for value in one.points[:, number].tolist())
                for number, channel in enumerate(one.channels)
            ]
            print("\t".join([when, *told]), flush=True)
        else:
            if one.columns != columns:
                columns = one.columns
                print("\t".join(columns))
            for row in one.rows():
                print("\t".join(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row))
