"""All charts of a chapter, of a sweep and of an inspection, by the section of the page in which they stand."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.studies import Study
from rnnlab.inspecting.inspection import Inspection
from rnnlab.show.figures.confusion import confusion_figure
from rnnlab.show.figures.cost import cost_figure
from rnnlab.show.figures.differences import (
    class_figure,
    context_figure,
    f1_figure,
    length_figure,
    precision_figure,
    tag_figure,
)
from rnnlab.show.figures.exposure import exposure_figure, written_figure
from rnnlab.show.figures.figure import Figure
from rnnlab.show.figures.gates import gate_figures, gates_figure
from rnnlab.show.figures.gradients import epochs_figure, gradient_figure, gradient_figures, memory_figure
from rnnlab.show.figures.learning import learning_figure
from rnnlab.show.figures.seeds import seeds_figure
from rnnlab.show.figures.sweep_bars import bars_figure
from rnnlab.show.figures.sweep_curves import curves_figure, values
from rnnlab.show.figures.sweep_heatmap import heatmap_figure
from rnnlab.show.figures.tokens import token_figures
from rnnlab.show.figures.tuning import tuning_figure
from rnnlab.show.sweep_summary import heatmap_pairs, ranked

CHAPTER: dict[str, tuple[Callable[[Chapter], Figure | None], ...]] = {
    "cost": (cost_figure,),
    "table": (seeds_figure,),
    "tuning": (tuning_figure,),
    "learning": (learning_figure,),
    "differences": (
        length_figure,
        tag_figure,
        f1_figure,
        class_figure,
        precision_figure,
        confusion_figure,
    ),
    "continued": (context_figure, exposure_figure, written_figure),
    "why": (gradient_figure, memory_figure, epochs_figure, gates_figure),
}
INSPECTION: dict[str, Callable[[Inspection], Iterable[Figure]]] = {
    "tokens": token_figures,
    "gradients": gradient_figures,
    "gates": gate_figures,
}


def chapter_figures(chapter: Chapter, prefix: str = "") -> dict[str, list[Figure]]:
    """A section is there only when there is something to draw. Names of figures begin with ``prefix``."""
    drawn = {section: [found for make in makers if (found := make(chapter))] for section, makers in CHAPTER.items()}
    return {
        section: [replace(figure, name=f"{prefix}{figure.name}") for figure in figures]
        for section, figures in drawn.items()
        if figures
    }


def inspection_figures(found: Inspection) -> dict[str, list[Figure]]:
    """Figures of a section are numbered: ``gates-0``, ``gates-1`` …"""
    return {
        section: [replace(figure, name=f"{section}-{at}") for at, figure in enumerate(make(found))]
        for section, make in INSPECTION.items()
    }


def study_figures(study: Study) -> list[Figure]:
    """Every chart that a sweep has something for, by its kind."""
    found = [heatmap_figure(study, *pair) for pair in heatmap_pairs(study)]
    for kind, quantity in (("curves", f"valid_{study.metric}"), ("loss", "train_loss")):
        if any(values(repeat, quantity) for point in study.points for repeat in point.repeats):
            found.append(curves_figure(kind, study, quantity))
    return [*found, bars_figure(study)] if ranked(study) else found
