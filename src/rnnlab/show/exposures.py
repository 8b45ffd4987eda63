"""Exposure bias of the runs that a report looks into, and of one run on the terminal."""

from collections.abc import Sequence

from rnnlab.comparing.records import Record
from rnnlab.core.errors import RunError, english
from rnnlab.core.numbers import percent_text
from rnnlab.core.words import note, say
from rnnlab.data.encoded import EncodedData
from rnnlab.inspecting.exposure import Estimate, Exposure, exposure
from rnnlab.models.baselines import Baseline
from rnnlab.runs.directory import RunDirectory
from rnnlab.training.run import own_process_state
from rnnlab.use.stored import open_run

PLACES = 100  # of the test text: a report has many models
SHOWN = (1, 2, 3, 5, 10, 20, 30, 50)  # steps on the terminal


@own_process_state(threads=1)  # as in training
def exposures(chosen: Sequence[Record], data: EncodedData, remarks: list[str]) -> tuple[tuple[str, Exposure], ...]:
    """Of networks that read one long text. What can't be told is said in ``remarks``."""
    networks = [one for one in chosen if not isinstance(one.spec.model, Baseline) and one.spec.task.streams]
    try:
        return tuple((one.label, _measured(one, data)) for one in networks)
    except RunError as error:
        remarks.append(note("how models fare along their own tokens isn't shown: {error}", error=english(error)))
        return ()


def _measured(record: Record, data: EncodedData) -> Exposure:
    spec, _, network = open_run(RunDirectory(record.path))
    return exposure(spec, network, data, places=PLACES)


def about(found: Exposure) -> str:
    return say(
        "Exposure bias, from {places} places in {blocks} blocks of the test text, each after {context} true tokens; "
        "95 % intervals go by blocks",
        places=found.places,
        blocks=found.blocks,
        context=found.context,
    )


def columns() -> list[str]:
    return [
        say("steps"),
        say("true tokens read: nats"),
        say("own tokens read: nats"),
        say("difference"),
        say("Kneser-Ney: true text"),
        say("Kneser-Ney: written"),
    ]


def rows(found: Exposure) -> list[list[str]]:
    """A row per step that is shown, and the means of all steps."""
    steps = [step for step in SHOWN if step <= len(found.gap)]
    return [
        [
            str(step),
            f"{found.forced[step - 1].mean:.3f}",
            f"{found.free[step - 1].mean:.3f}",
            _estimated(found.gap[step - 1]),
            f"{found.true[step - 1].mean:.3f}",
            f"{found.written[step - 1].mean:.3f}",
        ]
        for step in steps
    ]


def remarks_on(found: Exposure) -> list[str]:
    """The means of all steps, and of sentences by known rules how many obey them."""
    means = [
        say(
            "Mean of all {steps} steps: own tokens cost {gap} nats of the true token; what is written has {excess} "
            "nats more than the true text, by Kneser-Ney.",
            steps=len(found.gap),
            gap=_estimated(found.mean_gap),
            excess=_estimated(found.mean_excess),
        )
    ]
    sentences = [
        say(
            "Written sentences {first} to {last}: {share} obey the rules ({low} to {high}).",
            first=part.first,
            last=part.last,
            share=percent_text(part.right.mean),
            low=percent_text(max(0.0, part.right.low)),
            high=percent_text(min(1.0, part.right.high)),
        )
        for part in found.sentences
    ]
    return [*means, *sentences]


def _estimated(one: Estimate) -> str:
    return f"{one.mean:.3f} ({one.low:.3f}–{one.high:.3f})"
