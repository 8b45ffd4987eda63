"""Look inside a trained run, or a model as it begins: gradients through time, gates, attention and saliency."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import torch
from torch import Tensor

from rnnlab.answers.forecast import Forecast
from rnnlab.answers.heads import SummaryHead
from rnnlab.answers.text import Text
from rnnlab.answers.translation import Translation
from rnnlab.core.config import assign, parse_setting
from rnnlab.core.errors import ConfigError, DataError, RnnlabError, RunError
from rnnlab.core.seeding import stream_seed
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.spelling import UNKNOWN_LETTER
from rnnlab.data.vocabulary import END, SPECIAL, UNKNOWN
from rnnlab.inspecting.cost import Cost, cost, has_formula
from rnnlab.inspecting.exposure import Exposure, exposure
from rnnlab.inspecting.inspection import Subject, examine
from rnnlab.inspecting.translating import WritingInspection, attention_map, gradient_map, token_probabilities
from rnnlab.inspecting.units import Units
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import Network, build_network
from rnnlab.models.search import search
from rnnlab.runs.directory import find_run
from rnnlab.show.notebook import Inside, InsideTranslator, inside_of, inside_translator
from rnnlab.show.samples import units_of
from rnnlab.sweeps.plan import named_model
from rnnlab.training.monitor import probe_batch
from rnnlab.training.run import own_process_state
from rnnlab.training.spec import RunSpec
from rnnlab.use.stored import at_first, open_model, open_run, recorded_gradients
from rnnlab.use.writing import Writer

WORDS, CLASSES, LENGTH = 1000, 2, 50  # of an untrained model: vocabulary, outputs, steps unless told
RANDOM_ROWS = 16


@own_process_state(threads=1)  # as in training
def inspect_run(run: str | PathLike[str], text: str | None = None) -> Inside:
    """A finished run: on a text, or on validation rows (random input, when the data can't be found any more). For one
    that writes a text for another there is `inspect_translation`."""
    found = find_run(run)
    spec, preprocessor, network = open_run(found)
    assert isinstance(spec.model, Architecture)
    if spec.task.answer.writes:
        raise RunError(
            "{run}: this model writes a text for another one, so say which: rnnlab inspect {run} --text TEXT, or "
            "rnnlab.inspect_translation(run, text)",
            run=run,
        )
    about = _about(found.path.resolve().name, spec.model, preprocessor)
    about = replace(about, by_step=spec.task.answer.reads == "states")
    if preprocessor.observed is not None:
        about = replace(about, spacing=preprocessor.observed.spacing)
    if isinstance(spec.task.answer, Text) and preprocessor.vocabulary is not None:
        about = replace(about, labels=tuple(preprocessor.vocabulary.words))  # any token may come next
    if text is not None:
        inputs, lengths, tokens = _read_text(preprocessor, text)
        ids = inputs[0] if inputs.ndim == 2 else inputs[0, :, 0]  # the token's own comes first
        unknown = tuple((ids == UNKNOWN).nonzero().flatten().tolist())
        subject = replace(about, source="text", tokens=tokens, unknown=unknown)
    else:
        rows = _validation_rows(spec)
        inputs, lengths = rows or _random_rows(preprocessor, spec.seed)
        subject = replace(about, source="rows" if rows else "random")
    costs = _cost(
        spec.model,
        words=len(preprocessor.vocabulary) if preprocessor.vocabulary else None,
        features=preprocessor.features,
        tokens=preprocessor.tokens,
        columns=len(preprocessor.text_columns),
        letters=preprocessor.letters,
        narrow=preprocessor.narrow,
        classes=spec.task.answer.outputs(preprocessor),
        reads=spec.task.answer.reads,
    )
    if isinstance(spec.task.answer, Forecast) and costs is not None:
        costs = _with_line(costs, network)
    first, epochs = at_first(spec, preprocessor), recorded_gradients(found)
    return inside_of(examine(subject, network, inputs, lengths, at_first=first, epochs=epochs, cost=costs))


def writes_texts(run: str | PathLike[str]) -> bool:
    """Whether a run is of a task whose answers are texts for others."""
    return RunSpec.from_dict(find_run(run).spec()).task.answer.writes


@own_process_state(threads=1)  # as in training
def inspect_translation(run: str | PathLike[str], text: str) -> InsideTranslator:
    """Where a finished run that writes a text for another looked, and what each written token rests on."""
    found = find_run(run)
    spec, preprocessor, network = open_run(found)
    answer, writes = spec.task.answer, preprocessor.writes
    if not isinstance(answer, Translation) or writes is None:
        raise RunError(
            "{run}: '{kind}' writes no text for another; rnnlab.inspect_run looks into it",
            run=run,
            kind=spec.task.kind,
        )
    assert writes.vocabulary is not None
    inputs, lengths, tokens = _read_text(preprocessor, text)
    best = search(network, inputs, lengths, answer.manner)[0][0]
    read, written = inputs[0].tolist(), [*best.ids, *([END] if best.ended else [])]
    about = WritingInspection(
        found.path.resolve().name,
        spec.model.kind,
        {key: value for key, value in spec.model.to_dict().items() if key != "kind"},
        tokens,
        tuple(at for at, number in enumerate(read) if number == UNKNOWN),
        writes.written(best.ids),
        tuple(writes.vocabulary.spelled(written)),
        token_probabilities(network, read, written),
        attention_map(network, read, written),
        gradient_map(network, read, written),
    )
    return inside_translator(about)


@own_process_state(threads=1)  # as in training
def inspect_exposure(run: str | PathLike[str]) -> Exposure:
    """How a finished run of a language model fares along its own tokens, by step, on its test text."""
    spec, _, network = open_run(find_run(run))
    return exposure(spec, network, spec.task.load())


@own_process_state(threads=1)  # as in training
def inspect_units(run: str | PathLike[str]) -> Units:
    """What single units of a language model follow, on its test text."""
    path = find_run(run).path
    stored = open_model(path)
    if not stored.spec.task.answer.continues:
        raise ConfigError(
            "{run}: --units looks for what units of a language model follow in its text, and this run was trained for "
            "'{kind}'; leave --units out",
            run=path,
            kind=stored.spec.task.kind,
        )
    found = None if stored.is_baseline else units_of(Writer(stored), stored.spec.task.load().test)
    if found is None:
        raise ConfigError(
            "{run}: {kind} has no recurrent layer whose units could be looked at, or its test text has a single block; "
            "take an rnn, lstm or gru, or a longer text",
            run=path,
            kind=stored.spec.model.kind,
        )
    return found


@own_process_state(threads=1)  # as in training
def inspect_model(model: str, *, settings: Sequence[str] = (), length: int | None = None, seed: int = 0) -> Inside:
    """An untrained model on random tokens, all drawn from the seed. ``settings`` are like ``"model.hidden=64"``."""
    architecture = _architecture(model, settings)
    length = LENGTH if length is None else length
    torch.manual_seed(stream_seed(seed, "init"))
    network = build_network(
        architecture, words=WORDS, features=None, pretrained=None, head=lambda width: SummaryHead(width, CLASSES)
    )
    generator = torch.Generator().manual_seed(stream_seed(seed, "data"))
    inputs = torch.randint(len(SPECIAL), WORDS, (RANDOM_ROWS, length), generator=generator)
    costs = _cost(architecture, words=WORDS, classes=CLASSES)
    lengths = torch.full((RANDOM_ROWS,), length)
    return inside_of(examine(_about(model, architecture), network, inputs, lengths, cost=costs))


def _cost(architecture: Architecture, **sizes: Any) -> Callable[[int], Cost] | None:
    """What a sequence of some length costs; None for an architecture without a formula, such as a plugin's."""
    if not has_formula(architecture):
        return None
    return lambda length: cost(architecture, **sizes, length=length)


def _with_line(costs: Callable[[int], Cost], network: Network) -> Callable[[int], Cost]:
    """With the straight line beside the network of a forecaster, if it has one: a product by itself, of no steps that
    wait for each other."""
    line = getattr(network.head, "line", None)
    if line is None:
        return costs
    more = sum(weights.numel() for weights in line.parameters())

    def of_both(length: int) -> Cost:
        own = costs(length)
        parts = {**own.parameters, "head": own.parameters["head"] + more, "total": own.parameters["total"] + more}
        return replace(own, parameters=parts)

    return of_both


def _about(name: str, model: Architecture, preprocessor: Preprocessor | None = None) -> Subject:
    settings = {key: value for key, value in model.to_dict().items() if key != "kind"}
    return Subject(
        name,
        model.kind,
        settings,
        trained=preprocessor is not None,
        source="random",
        labels=preprocessor.labels if preprocessor else (),
        several=bool(preprocessor and preprocessor.thresholds),
    )


def _architecture(model: str, settings: Sequence[str]) -> Architecture:
    tree: dict[str, Any] = {"model": named_model(model)}
    for text in settings:
        path, value = parse_setting(text)
        if path[0] != "model" or len(path) == 1:
            raise ConfigError(
                "--set {text}: an untrained model has settings under 'model.' alone (model.hidden=64)", text=text
            )
        assign(tree, path, value)
    architecture = ARCHITECTURES.parse(tree["model"], "model")
    if architecture.embedding is None:
        architecture = architecture.replace(embedding=Embedding())
    if architecture.embedding is not None and architecture.embedding.vectors is not None:
        raise ConfigError("model.embedding.vectors: random tokens have no pre-trained vectors; train a model with them")
    return architecture


def _read_text(preprocessor: Preprocessor, text: str) -> tuple[Tensor, Tensor, tuple[str, ...]]:
    if preprocessor.tokenizer is None:
        raise DataError("this model reads no texts: leave --text out to look at its validation rows")
    text = text.encode("utf-8", "replace").decode()  # a shell may hand over bytes that are no text
    data, _ = preprocessor.encode([text])
    tokens = tuple(preprocessor.words_of(text))
    inputs = torch.from_numpy(data.values).long()[None]
    assert inputs.shape[1] == len(tokens)
    return inputs, torch.tensor([len(tokens)]), tokens


def _validation_rows(spec: RunSpec) -> tuple[Tensor, Tensor] | None:
    """The rows that the probe of the training looks at, too."""
    try:
        batch = probe_batch(spec.task.load().valid, spec.task.answer)
    except RnnlabError:  # the file has moved, or changed: the model can be looked at all the same
        return None
    return batch.inputs, batch.lengths


def _random_rows(preprocessor: Preprocessor, seed: int) -> tuple[Tensor, Tensor]:
    """Any words of the vocabulary, of any letters, or standard normal numbers."""
    generator = torch.Generator().manual_seed(stream_seed(seed, "data"))
    length = min(LENGTH, preprocessor.max_length or LENGTH)
    lengths = torch.full((RANDOM_ROWS,), length)
    if preprocessor.vocabulary is not None:
        words, letters = len(preprocessor.vocabulary), preprocessor.letters
        shape = RANDOM_ROWS, length, preprocessor.tokens
        ids = torch.randint(min(len(SPECIAL), words - 1), words, shape, generator=generator)
        if letters and preprocessor.spelling is not None:
            shape = RANDOM_ROWS, length, preprocessor.spelling.length
            spelled = torch.randint(UNKNOWN_LETTER, letters, shape, generator=generator)
            return torch.cat([ids, spelled], dim=2), lengths
        return ids.squeeze(2) if preprocessor.tokens == 1 else ids, lengths
    return torch.randn(RANDOM_ROWS, length, preprocessor.features or 1, generator=generator), lengths
