"""All charts of a chapter, of a sweep and of an inspection, by the section of the page in which they stand."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.comparison import ArmSummary
from rnnlab.comparing.studies import Study
from rnnlab.inspecting.inspection import Inspection
from rnnlab.judging.findings import Estimate
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
from rnnlab.show.figures.exposure import exposure_figure, writing_exposure_figure, written_figure
from rnnlab.show.figures.figure import Figure
from rnnlab.show.figures.forecasted import by_step_figure, fan_figures, residuals_figure, window_figures
from rnnlab.show.figures.gates import gate_figures, gates_figure
from rnnlab.show.figures.gradients import epochs_figure, gradient_figure, gradient_figures, memory_figure
from rnnlab.show.figures.learning import learning_figure
from rnnlab.show.figures.seeds import seeds_figure
from rnnlab.show.figures.sweep_bars import bars_figure
from rnnlab.show.figures.sweep_curves import curves_figure, values
from rnnlab.show.figures.sweep_heatmap import heatmap_figure
from rnnlab.show.figures.tokens import token_figures
from rnnlab.show.figures.translated import attention_figures, translated_by_length
from rnnlab.show.figures.tuning import tuning_figure
from rnnlab.show.sweep_summary import heatmap_pairs, ranked

CHAPTER: dict[str, tuple[Callable[[Chapter], Figure | list[Figure] | None], ...]] = {
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
    "translated": (translated_by_length, writing_exposure_figure),
    "maps": (attention_figures,),
    "forecasted": (by_step_figure,),
    "fans": (fan_figures,),
    "windows": (window_figures,),
    "residuals": (residuals_figure,),
    "why": (gradient_figure, memory_figure, epochs_figure, gates_figure),
}
INSPECTION: dict[str, Callable[[Inspection], Iterable[Figure]]] = {
    "tokens": token_figures,
    "gradients": gradient_figures,
    "gates": gate_figures,
}


def in_points(chapter: Chapter) -> Chapter:
    """Scores that are said from 0 to 100 as charts draw them: a hundred times as large."""
    found = chapter.comparison
    if found.verdict.unit != "points":
        return chapter
    verdict = replace(
        found.verdict,
        estimates={label: _hundredfold(one) for label, one in found.verdict.estimates.items()},
        scores={label: {seed: 100 * one for seed, one in of.items()} for label, of in found.verdict.scores.items()},
        margin=100 * found.verdict.margin,
    )
    arms, baselines = (tuple(_arm_in_points(arm) for arm in group) for group in (found.arms, found.baselines))
    return replace(chapter, comparison=replace(found, verdict=verdict, arms=arms, baselines=baselines))


def _hundredfold(one: Estimate) -> Estimate:
    return Estimate(100 * one.mean, 100 * one.low, 100 * one.high)


def _arm_in_points(arm: ArmSummary) -> ArmSummary:
    by_tag, by_length = (
        {part: replace(cell, score=100 * cell.score) for part, cell in parts.items()}
        for parts in (arm.by_tag, arm.by_length)
    )
    return replace(arm, score=arm.score and _hundredfold(arm.score), by_tag=by_tag, by_length=by_length)


def chapter_figures(chapter: Chapter, prefix: str = "") -> dict[str, list[Figure]]:
    """A section is there only when there is something to draw. Names of figures begin with ``prefix``."""
    chapter = in_points(chapter)
    drawn = {section: list(_drawn(chapter, makers)) for section, makers in CHAPTER.items()}
    return {
        section: [replace(figure, name=f"{prefix}{figure.name}") for figure in figures]
        for section, figures in drawn.items()
        if figures
    }


def _drawn(chapter: Chapter, makers: Iterable[Callable[[Chapter], Figure | list[Figure] | None]]) -> Iterator[Figure]:
    for make in makers:
        found = make(chapter)
        yield from found if isinstance(found, list) else [found] if found else []


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
