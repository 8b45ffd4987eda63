"""The charts of a sweep, each under the name that its file gets."""

from collections.abc import Iterator

from rnnlab.comparing.studies import Study
from rnnlab.core.words import Language
from rnnlab.show.figures.chart_text import AnyChart
from rnnlab.show.figures.sweep_bars import bars
from rnnlab.show.figures.sweep_curves import curves, values
from rnnlab.show.figures.sweep_heatmap import heatmap
from rnnlab.show.sweep_summary import heatmap_pairs, ranked

__all__ = ["bars", "charts", "curves", "heatmap"]


def charts(study: Study, language: Language = "en") -> Iterator[tuple[str, AnyChart]]:
    """Every chart that a sweep has something for."""
    for across, down in heatmap_pairs(study):
        yield f"heatmap-{across}-{down}", heatmap(study, across, down, language)
    for name, quantity in (("curves", f"valid_{study.metric}"), ("loss", "train_loss")):
        if any(values(repeat, quantity) for point in study.points for repeat in point.repeats):
            yield name, curves(study, quantity, language)
    if ranked(study):
        yield "bars", bars(study, language)
