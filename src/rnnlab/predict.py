"""A finished run is a model: load it and ask it."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, tee
from pathlib import Path

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

from rnnlab.data import series
from rnnlab.data.batches import evaluation_batches
from rnnlab.data.interface import Interface
from rnnlab.data.reading import read_texts
from rnnlab.data.sequences import Sequences
from rnnlab.errors import DataError, RunError
from rnnlab.experiment import RunSpec
from rnnlab.models.baselines import Baseline
from rnnlab.runs import RunDirectory, find_run
from rnnlab.tasks.classify import probabilities
from rnnlab.training.assemble import assemble

CHUNK = 4096  # rows encoded at a time, so that a long stream needs little memory


@dataclass(frozen=True)
class Prediction:
    label: str
    probability: float
    probabilities: dict[str, float]
    known: float  # the share of the tokens that the model has seen in training (1.0 for numbers)


class Predictor:
    """Answers for texts (or numeric sequences), the same whatever the batch."""

    def __init__(self, run: RunDirectory):
        self.run = run
        self.interface = Interface.from_json(run.verified("model.json").read_text(encoding="utf-8"))
        self.labels = self.interface.labels
        spec = RunSpec.from_dict(run.spec())
        weights = run.verified("weights.safetensors").read_bytes()
        if isinstance(spec.model, Baseline):
            self._outputs = partial(_baseline_outputs, spec.model, safetensors.numpy.load(weights))
        else:
            self._outputs = partial(_network_outputs, _rebuild(spec, self.interface, weights))

    def predict(self, inputs: Sequence[str] | Sequence[np.ndarray]) -> list[Prediction]:
        """One prediction an input: strings for a text model, (T, D) arrays for a numeric one."""
        return list(self.stream(iter(inputs)))

    def stream(self, inputs: Iterator[str] | Iterator[np.ndarray]) -> Iterator[Prediction]:
        """As `predict`, for inputs of any number, in constant memory."""
        inputs = iter(inputs)
        while chunk := list(islice(inputs, CHUNK)):
            data, known = self.interface.encode(chunk)  # type: ignore[arg-type]  # all of one kind, or an error
            for row, share in zip(probabilities(self._outputs(data)), known, strict=True):
                shares = {label: float(p) for label, p in zip(self.labels, row, strict=True)}
                best = int(row.argmax())
                yield Prediction(self.labels[best], float(row[best]), shares, float(share))


def load(run: str | Path) -> Predictor:
    """The model of a finished run, from its directory (or the beginning of its name)."""
    found = find_run(run)
    result = found.result()
    if result is not None and result["status"] == "diverged":
        where = result["divergence"]
        raise RunError(f"{found.path}: this run diverged at step {where['step']}; it left no model")
    return Predictor(found)


def _rebuild(spec: RunSpec, interface: Interface, weights: bytes) -> torch.nn.Module:
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
    outputs: np.ndarray | None = None
    with torch.inference_mode():
        for rows, batch in evaluation_batches(data):
            out = network(batch.inputs, batch.lengths).numpy()
            if outputs is None:
                outputs = np.empty((len(data), out.shape[1]), np.float32)
            outputs[rows] = out
    assert outputs is not None  # a chunk has rows
    return outputs


def _baseline_outputs(baseline: Baseline, learnt: dict[str, np.ndarray], data: Sequences) -> np.ndarray:
    return baseline.logits(learnt, data.values, data.offsets)


def read_inputs(
    model: Predictor, texts: Sequence[str], file: str | None, column: str | None
) -> tuple[Iterator[str], Iterator[str] | Iterator[np.ndarray]]:
    """What to predict, with a name for each: from arguments, from a file, or a line each from standard input."""
    if file is not None and texts:
        raise RunError("give texts or --file, not both")
    if column is not None and file is None:
        raise RunError("--text names a column of --file, which isn't given")
    if file is None and model.interface.tokenizer is None:
        raise RunError("this model reads numeric sequences: give them with --file (.ts or .jsonl)")
    if file is None:
        lines = iter(texts) if texts else (line.rstrip("\r\n") for line in sys.stdin)
        names, inputs = tee(line for line in lines if line.strip())
        return names, inputs
    if model.interface.tokenizer is None:
        found = series.read(file, column=column)
        if found.table.bad:
            raise DataError("\n".join(f"{file}:{row.line}: {row.reason}" for row in found.table.bad[:20]))
        return (f"row {n + 1}" for n in range(len(found.arrays))), iter(found.arrays)
    table, chosen = read_texts(file, column)
    if table.bad:
        raise DataError("\n".join(f"{file}:{row.line}: {row.reason}" for row in table.bad[:20]))
    return iter(table.values[chosen]), iter(table.values[chosen])
