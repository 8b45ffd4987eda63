"""Whether the default optimiser, which moves only the embedding rows in use, gives the answers of dense Adam.

`rnnlab.compare` of a GRU trained with either for two epochs on movie reviews, five seeds, the same seeds on both sides.
The figure is how far the 95 % interval of the difference in accuracy stays away from 0: 0 where it contains it.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from table import Row
from turns import Effort, say

import rnnlab

WHAT = "accuracy of lazy-adam minus dense adam, gru, 2 epochs, 5 seeds: distance of the interval from 0"
EXPERIMENT = """\
seeds = 5
[task]
data = "movie-reviews"
[training]
epochs = 2
[arms.lazy-adam.model]
kind = "gru"
[arms.adam.model]
kind = "gru"
[arms.adam.training]
optimizer = "adam"
"""


def measure(effort: Effort) -> Iterator[Row]:
    if effort.quick:
        yield Row("same-answer", WHAT, 0.0, better="lower", missing="without --quick only")
        return
    say("    10 runs of 2 epochs")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "optimisers.toml"
        file.write_text(EXPERIMENT, encoding="utf-8")
        result = rnnlab.compare(file, out=Path(folder) / "runs")
    found = next(d for d in result.verdict.differences if {d.better, d.worse} == {"lazy-adam", "adam"})
    sign = 1 if found.better == "lazy-adam" else -1
    low, high = sorted((sign * found.low, sign * found.high))
    away = max(0.0, low, -high)
    yield Row(
        "same-answer",
        WHAT,
        0.0,
        (away,),
        better="lower",
        unit="points",
        note=f"{100 * sign * found.mean:+.2f} ({100 * low:+.2f} to {100 * high:+.2f}) points over {found.seeds} seeds",
        details={arm.label: [run.accuracy for run in arm.runs] for arm in result.arms},
    )
