"""All charts of a chapter, by the section of the page in which they stand."""

from collections.abc import Callable

from rnnlab.comparing.chapters import Chapter
from rnnlab.show.figures.confusion import confusion_figure
from rnnlab.show.figures.cost import cost_figure
from rnnlab.show.figures.differences import class_figure, length_figure, tag_figure
from rnnlab.show.figures.gates import gates_figure
from rnnlab.show.figures.learning import learning_figure
from rnnlab.show.figures.pieces import colours
from rnnlab.show.figures.seeds import seeds_figure
from rnnlab.show.figures.tuning import tuning_figure
from rnnlab.show.figures.why import epochs_figure, gradient_figure, memory_figure
from rnnlab.show.pages.parts import Figure

__all__ = ["chapter_figures", "colours"]
SECTIONS: dict[str, tuple[Callable[[Chapter, str], Figure | None], ...]] = {
    "cost": (cost_figure,),
    "table": (seeds_figure,),
    "tuning": (tuning_figure,),
    "learning": (learning_figure,),
    "differences": (length_figure, tag_figure, class_figure, confusion_figure),
    "why": (gradient_figure, memory_figure, epochs_figure, gates_figure),
}


def chapter_figures(chapter: Chapter, prefix: str = "") -> dict[str, list[Figure]]:
    """A section is there only when there is something to draw. Names of figures begin with ``prefix``."""
    drawn = {
        section: [figure for make in makers if (figure := make(chapter, prefix)) is not None]
        for section, makers in SECTIONS.items()
    }
    return {section: figures for section, figures in drawn.items() if figures}
