"""What a report shows of the inside of trained models: how far back they look, what their gates do, and which words an
answer rests on."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from rnnlab.comparing.chapters import GateShare, Internals, Look, TokenWeight
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences
from rnnlab.data.vocabulary import SPECIAL, UNKNOWN
from rnnlab.inspecting.gates import gate_statistics
from rnnlab.inspecting.gradients import FURTHEST, finite, gradients_by_input
from rnnlab.inspecting.readings import in_double
from rnnlab.inspecting.saliency import Integrated, integrated_gradients
from rnnlab.runs.directory import RunDirectory
from rnnlab.training.monitor import probe_batch
from rnnlab.training.run import own_process_state
from rnnlab.use.stored import at_first, open_run, recorded_gradients

LONGEST_LOOK = 400  # tokens; longer rows would take too long
SHOWN_TOKENS = 80
LONG, FEW_POINTS = 100, 8  # of rows with more tokens, a rough picture: the colours of the page don't show more


@own_process_state(threads=1)  # as in training
def internals(arms: Mapping[str, RunDirectory], valid: Sequences) -> tuple[Internals, ...]:
    """Inside one finished run of each arm, no baseline, on those of the validation rows that the probe of the training
    looks at, too. All runs are of one task, whose rows these are."""
    return tuple(_inside(arm, run, valid) for arm, run in arms.items())


def _inside(arm: str, run: RunDirectory, valid: Sequences) -> Internals:
    spec, preprocessor, network = open_run(run)
    batch = probe_batch(valid, spec.task.answer)
    inputs, lengths = batch.inputs, batch.lengths
    first = at_first(spec, preprocessor)
    seen = gradients_by_input(network, inputs, lengths)
    layers = gate_statistics(network, inputs, lengths)
    return Internals(
        arm=arm,
        run=run.path.resolve().name,
        rows=len(inputs),
        longest=int(lengths.max()),
        norms=tuple(finite(seen.norms[:FURTHEST]) or ()),
        memory=seen.memory,
        memory_at_first=gradients_by_input(first, inputs, lengths).memory if first is not None else None,
        gates=tuple(
            GateShare(layer.name, gate.name, gate.low, gate.high, gate.mean) for layer in layers for gate in layer.gates
        ),
        dead_units=sum(len(layer.dead) for layer in layers),
        epochs=tuple(recorded_gradients(run)),
    )


@own_process_state(threads=1)
def looks(run: RunDirectory, rows: Sequence[int], data: EncodedData, texts: Sequence[str | None]) -> list[Look | None]:
    """What a run's answers to some test rows rest on. ``texts`` are these rows as they stand in the data, where they
    are known; they may be cut. None for a row that is too long, and for sequences that aren't texts with a label."""
    reads_texts = data.tokenizer is not None and data.test.values.ndim == 1
    if run.spec()["training"] is None or not reads_texts or data.test.target_offsets is not None:
        return [None] * len(rows)
    _, preprocessor, network = open_run(run)
    double, single = in_double(network), network.eval().requires_grad_(False)

    def weigh(ids: np.ndarray) -> Integrated:
        """Integrated gradients: exact to a hundredth for a short row, a rough picture of a long one."""
        inputs = torch.from_numpy(ids).long()[None]
        if len(ids) <= LONG:
            return integrated_gradients(double, inputs)
        return integrated_gradients(single, inputs, first_points=FEW_POINTS, most_points=FEW_POINTS)

    found: list[Look | None] = []
    for row, text in zip(rows, texts, strict=True):
        ids = data.test.row(row)
        found.append(_look(weigh(ids), preprocessor, ids, text) if len(ids) <= LONGEST_LOOK else None)
    return found


def _look(weights: Integrated, preprocessor: Preprocessor, ids: np.ndarray, text: str | None) -> Look:
    tokens = [
        TokenWeight(token, weight, number != UNKNOWN)
        for token, weight, number in zip(_tokens(preprocessor, ids, text), weights.shares, ids.tolist(), strict=True)
    ]
    outputs = torch.tensor(weights.outputs, dtype=torch.float64)
    shares = outputs.sigmoid() if preprocessor.thresholds else outputs.softmax(0)
    probability = float(shares[weights.target])
    cut = max(0, len(tokens) - SHOWN_TOKENS)
    return Look(preprocessor.labels[weights.target], probability, tuple(tokens[:SHOWN_TOKENS]), cut)


def _tokens(preprocessor: Preprocessor, ids: np.ndarray, text: str | None) -> Sequence[str]:
    """As they were written, if the text is that of the row, to its end; else as the vocabulary has them, to which all
    unknown words are the same."""
    vocabulary, tokenizer = preprocessor.vocabulary, preprocessor.tokenizer
    assert vocabulary is not None
    if text is not None and tokenizer is not None:
        written = tokenizer.tokenize(text)[: preprocessor.max_length] or [SPECIAL[UNKNOWN]]
        if vocabulary.encode(written) == ids.tolist():
            return written
    return vocabulary.spelled(ids.tolist())
