"""Scoring a split: sums and counts over length-sorted batches."""

import numpy as np
import torch
from torch import Tensor

from rnnlab.data.batches import evaluation_batches
from rnnlab.data.sequences import Sequences
from rnnlab.models.network import Network
from rnnlab.tasks.base import Task
from rnnlab.tasks.tally import Tally

Evaluation = tuple[Tally, np.ndarray]
"""The tally of a split, and the outputs in the order of its rows: (rows, C), or (N, C) for all of their steps."""


def evaluate(network: Network, task: Task, data: Sequences, device: torch.device) -> Evaluation:
    """In inference mode, whatever mode the network is in."""
    tally: Tally | None = None
    outputs: list[tuple[np.ndarray, Tensor]] = []
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for rows, batch in evaluation_batches(data):
            batch = batch.to(device)
            out = network(batch.inputs, batch.lengths)
            counted = task.tally(out, batch)
            tally = counted if tally is None else tally + counted
            outputs.append((rows, out.cpu()))
    network.train(was_training)
    assert tally is not None  # a split has rows
    where = data.offsets[-1] if task.per_step else len(data)
    logits = np.empty((where, outputs[0][1].shape[-1]), np.float32)
    for rows, out in outputs:
        if task.per_step:
            lengths = data.lengths[rows]
            inside = np.arange(out.shape[1]) < lengths[:, None]  # (B, T)
            logits[(data.offsets[rows][:, None] + np.arange(out.shape[1]))[inside]] = out.numpy()[inside]
        else:
            logits[rows] = out.numpy()
    return tally, logits
