"""A finished run is a model: load it and ask it."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

from rnnlab.data import series
from rnnlab.data.batches import evaluation_batches
from rnnlab.data.examples import BadRow
from rnnlab.data.interface import Interface
from rnnlab.data.reading import SHOWN, read_texts
from rnnlab.data.sequences import Sequences
from rnnlab.errors import DataError, RunError
from rnnlab.experiment import RunSpec
from rnnlab.models.baselines import Baseline
from rnnlab.runs import RunDirectory, find_run
from rnnlab.tasks.prediction import Prediction
from rnnlab.training.assemble import assemble

CHUNK = 4096  # rows encoded at a time, so that a long stream needs little memory


class Predictor:
    """Answers for texts (or numeric sequences), the same whatever the batch. How a row is read and what is told of it
    is the task's affair."""

    def __init__(self, run: RunDirectory):
        self.run = run
        self.interface = Interface.from_json(run.verified("model.json").read_text(encoding="utf-8"))
        self.labels = self.interface.labels
        spec = RunSpec.from_dict(json.loads(run.verified("spec.json").read_text(encoding="utf-8")))
        self.task = spec.task
        if self.task.question is None:
            raise RunError(f"{run.path}: predict answers with one label a sequence, and '{self.task.kind}' doesn't")
        weights = run.verified("weights.safetensors").read_bytes()
        if isinstance(spec.model, Baseline):
            self._outputs = partial(_baseline_outputs, spec.model, safetensors.numpy.load(weights))
        else:
            self._outputs = partial(_network_outputs, rebuild(spec, self.interface, weights))

    def predict(self, inputs: Iterable[str] | Iterable[np.ndarray]) -> list[Prediction]:
        """One prediction an input: strings for a text model, (T, D) arrays for a numeric one."""
        return list(self.stream(inputs))

    def stream(self, inputs: Iterable[str] | Iterable[np.ndarray]) -> Iterator[Prediction]:
        """As `predict`, for inputs of any number, in constant memory."""
        if isinstance(inputs, str | np.ndarray):  # whose letters or steps would be taken for the inputs
            raise DataError("give a list of inputs, for example predict([text]), not a single one")
        inputs = iter(inputs)
        while chunk := list(islice(inputs, CHUNK)):
            data, known = self.task.encode(chunk, self.interface)
            yield from self.task.answers(self._outputs(data), data, known, self.interface)


def load(run: str | Path) -> Predictor:
    """The model of a finished run, from its directory (or the beginning of its name)."""
    found = find_run(run)
    result = found.result()
    if result is not None and result["status"] == "diverged":
        where = result["divergence"]
        raise RunError(f"{found.path}: this run diverged at step {where['step']}; it left no model")
    return Predictor(found)


def rebuild(spec: RunSpec, interface: Interface, weights: bytes) -> torch.nn.Module:
    tensors = safetensors.torch.load(weights)
    embedding = getattr(spec.model, "embedding", None)
    placeholder = None
    if embedding is not None and embedding.vectors is not None:  # the weights hold the vectors; no file is needed
        width = next(t.shape[1] for name, t in tensors.items() if name.startswith("embedding."))
        if embedding.channels == "two":
            width = tensors["embedding.frozen"].shape[1]
        placeholder = np.zeros((len(interface.vocabulary or ()), width), np.float32)
    network = assemble(spec, interface, placeholder)
    network.load_state_dict(tensors)
    return network.eval()


def _network_outputs(network: torch.nn.Module, data: Sequences) -> np.ndarray:
    """(rows, C), or (N, C) for all steps of all rows where there is an answer at every step."""
    outputs: np.ndarray | None = None
    with torch.inference_mode():
        for rows, batch in evaluation_batches(data):
            out = network(batch.inputs, batch.lengths).numpy()
            if outputs is None:
                outputs = np.empty((data.offsets[-1] if data.per_step else len(data), out.shape[-1]), np.float32)
            if data.per_step:
                for row, steps in zip(rows, out, strict=True):
                    first, end = data.offsets[row], data.offsets[row + 1]
                    outputs[first:end] = steps[: end - first]
            else:
                outputs[rows] = out
    assert outputs is not None  # a chunk has rows
    return outputs


def _baseline_outputs(baseline: Baseline, learnt: dict[str, np.ndarray], data: Sequences) -> np.ndarray:
    return baseline.logits(learnt, data.values, data.offsets)


def read_inputs(
    model: Predictor, texts: Sequence[str], file: str | None, column: str | None
) -> Iterator[tuple[Sequence[str], Sequence[str] | Sequence[np.ndarray]]]:
    """What to predict, in portions of (a name for each, the inputs): from arguments, from a file, or a line each from
    standard input."""
    if file is not None and texts:
        raise RunError("give texts or --file, not both")
    if column is not None and file is None:
        raise RunError("--text names a column of --file, which isn't given")
    if file is not None:
        yield _read_file(model, file, column)
    elif model.interface.vocabulary is None:
        raise RunError("this model reads numeric sequences: give them with --file (.ts or .jsonl)")
    elif texts:
        yield texts, texts
    else:
        for lines in _lines_as_they_come():
            yield lines, lines


def _read_file(
    model: Predictor, file: str, column: str | None
) -> tuple[Sequence[str], Sequence[str] | Sequence[np.ndarray]]:
    if model.interface.vocabulary is None:
        found = series.read(file, column=column)
        _refuse_bad(file, found.table.bad)
        return [f"row {n + 1}" for n in range(len(found.arrays))], found.arrays
    if Path(file).suffix.lower() == ".ts":
        raise DataError(f"{file}: this model reads texts, and a .ts file holds numbers")
    table, chosen = read_texts(file, column)
    _refuse_bad(file, table.bad)
    if Path(file).suffix.lower() in series.SUPPORTED and chosen in series.peek(file)[0]:
        raise DataError(f"{file}: this model reads texts, and the column {chosen!r} holds arrays of numbers")
    return table.values[chosen], table.values[chosen]


def _refuse_bad(file: str, bad: Sequence[BadRow]) -> None:
    if bad:
        listed = [f"{file}:{row.line}: {row.reason}" for row in bad[:SHOWN]]
        more = [f"... and {len(bad) - SHOWN:,} more"] if len(bad) > SHOWN else []
        raise DataError("\n".join([f"{file}: {len(bad):,} rows can't be used", *listed, *more]))


def _lines_as_they_come() -> Iterator[list[str]]:
    """Whole lines of standard input, all that have arrived: whoever types gets an answer to every line at once."""
    stream = cast(BufferedReader, sys.stdin.buffer)
    number, rest = 0, b""
    while arrived := stream.read1(1 << 16):
        *lines, rest = (rest + arrived).split(b"\n")
        if lines:
            yield [_decoded(line, number + n) for n, line in enumerate(lines, 1)]
            number += len(lines)
    if rest:
        yield [_decoded(rest, number + 1)]


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\r")
    except UnicodeDecodeError:
        raise DataError(f"standard input, line {number}: not UTF-8; convert it, or pass it as --file") from None
