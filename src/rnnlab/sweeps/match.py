"""Arms of equal size: how large each model must be to have as many parameters as the others."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import nn

from rnnlab.core.errors import ConfigError
from rnnlab.core.words import note
from rnnlab.data import vectors
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.base import Architecture
from rnnlab.models.decoder import build_decoder
from rnnlab.models.embedding import TokenVectors
from rnnlab.tasks.base import Task
from rnnlab.training.assemble import head_of

TOLERANCE = 0.02  # a match that is no better is said to be none
GAP = 1024  # at most so many sizes in a row are impossible, such as widths that the heads don't divide
LARGEST = 2**24  # no size beyond this is tried

Models = Mapping[str, Architecture]  # by the label of their arm
Count = Callable[[Architecture], int]
Make = Callable[[int], Architecture | None]  # the model of a size; None where there is none
T = TypeVar("T")


def match_parameters(models: Models, count: Count) -> tuple[dict[str, Architecture], list[str]]:
    """The models, resized to as many parameters as the median one has, and notes on how that went."""
    scalable = {label: model for label, model in models.items() if sizes_of(model)}
    notes = [
        note(
            "{label} keeps its size, {model:,} parameters beyond the embedding: '{kind}' has nothing to scale",
            label=label,
            model=count(model),
            kind=model.kind,
        )
        for label, model in models.items()
        if label not in scalable
    ]
    if not scalable:
        return dict(models), notes
    ranked = sorted(scalable, key=lambda label: count(scalable[label]))
    median = ranked[(len(ranked) - 1) // 2]
    target = count(models[median])
    matched = {label: resize(model, target, count) if label in scalable else model for label, model in models.items()}
    return matched, [*_describe(matched, scalable, median, target, count), *notes]


def _describe(matched: Models, scalable: Models, median: str, target: int, count: Count) -> list[str]:
    reached = {label: count(matched[label]) for label in scalable}
    arms = ", ".join(f"{label} {_sizes(matched[label])} ({reached[label]:,})" for label in scalable)
    notes = [
        note(
            "matched at {target:,} parameters beyond the embedding, as {median} has: {arms}",
            target=target,
            median=median,
            arms=arms,
        )
    ]
    for label, number in reached.items():
        if abs(number - target) > TOLERANCE * target:
            share = f"{100 * (number - target) / target:+.1f} %"
            notes.append(
                note(
                    "{label} is not matched: {sizes} comes nearest, {share} off",
                    label=label,
                    sizes=_sizes(matched[label]),
                    share=share,
                )
            )
    return notes


def _sizes(model: Architecture) -> str:
    return " ".join(f"{name} {getattr(model, name)}" for name in sizes_of(model))


def sizes_of(model: Architecture) -> list[str]:
    """The fields that may be scaled; one without a value has nothing to scale."""
    values = {name: getattr(model, name, None) for name in model.sizes}
    return [name for name, value in values.items() if isinstance(value, int) and not isinstance(value, bool)]


def gave_way(label: str, asked: Architecture, matched: Architecture) -> list[str]:
    """Sizes that the user had set and that matching changed, each as a phrase."""
    return [
        f"{label} {name} {getattr(asked, name)} → {getattr(matched, name)}"
        for name in sizes_of(asked)
        if name in asked.model_fields_set and getattr(asked, name) != getattr(matched, name)
    ]


def resize(model: Architecture, target: int, count: Count) -> Architecture:
    """The model with as nearly ``target`` parameters as its sizes allow: first all of them in proportion, so that it
    keeps its shape, then each but the first alone, which come in finer steps."""
    first, *others = sizes_of(model)
    at_first = {name: getattr(model, name) for name in others}

    def in_proportion(size: int) -> Architecture | None:
        scale = size / getattr(model, first)
        return _changed(model, **{first: size, **{name: max(1, round(at_first[name] * scale)) for name in others}})

    found = nearest(in_proportion, getattr(model, first), target, count) or model
    for name in others:
        coarse = found

        def alone(size: int, name: str = name, coarse: Architecture = coarse) -> Architecture | None:
            return _changed(coarse, **{name: size})

        found = nearest(alone, getattr(coarse, name), target, count) or coarse
    return found


def _changed(model: Architecture, **sizes: int) -> Architecture | None:
    try:
        return model.replace(**sizes)
    except ConfigError:
        return None


def nearest(make: Make, start: int, target: int, count: Count) -> Architecture | None:
    """Of the models of sizes 1, 2, 3 …, the one whose count is nearest to the target, by bisection: counts grow."""

    def reaches(size: int) -> bool:
        model = _first(make, range(size, size + GAP))
        return model is None or count(model) >= target

    low, high = 1, max(1, start)
    while high < LARGEST and not reaches(high):
        low, high = high + 1, 2 * high
    while low < high:  # to the smallest size that reaches the target
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle + 1, high)
    around = _first(make, range(low - 1, max(0, low - GAP), -1)), _first(make, range(low, low + GAP))
    return min((model for model in around if model), key=lambda model: abs(count(model) - target), default=None)


def _first(make: Make, sizes: Sequence[int]) -> Architecture | None:
    return next((model for size in sizes if (model := make(size)) is not None), None)


def counter(task: Task, preprocessor: Preprocessor) -> Count:
    """Counts the parameters of a model beyond its token embedding: those of encoder and head."""

    def count(model: Architecture) -> int:
        def build() -> nn.ModuleList:
            encoder = model.build(width)
            answer = task.answer
            outputs = answer.outputs(preprocessor)
            read = encoder.state_width if answer.reads == "states" else encoder.width
            if answer.writes:
                decoder = build_decoder(model, outputs, encoder)
                decoder.embedding = TokenVectors(None, None, 0.0)  # whose size is that of the vocabulary
                return nn.ModuleList([encoder, decoder, head_of(model, answer, decoder.width, outputs)])
            return nn.ModuleList([encoder, head_of(model, answer, read, outputs)])

        width = input_width(model, preprocessor)
        return sum(parameter.numel() for parameter in on_paper(build).parameters())

    return count


def input_width(model: Architecture, preprocessor: Preprocessor) -> int:
    """How many numbers the encoder gets a step: from the embedding, here built for a handful of words, or the data."""
    if preprocessor.vocabulary is None or model.embedding is None:
        assert preprocessor.features is not None
        return preprocessor.features
    words, source = 8, model.embedding.vectors
    pretrained = None if source is None else torch.zeros(words, vectors.width_of(source))
    letters = model.embedding.letter_filters if preprocessor.letters else 0
    embedding = on_paper(lambda: model.embed(words, pretrained))
    embedding.narrow = preprocessor.narrow
    return embedding.step_width(preprocessor.tokens) + letters


def on_paper(build: Callable[[], T]) -> T:
    """``build()`` on torch's meta device, which has shapes and no numbers; for real where that doesn't work."""
    try:
        with torch.device("meta"):
            return build()
    except Exception:  # a model that looks at its numbers while it is built may fail in any way
        with torch.random.fork_rng():
            return build()
