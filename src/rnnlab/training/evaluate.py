"""Answers to all rows of a split, in length-sorted batches: what is kept of them, and the scores."""

import numpy as np
import torch

from rnnlab.answers.base import Answer, Kept
from rnnlab.data.batches import evaluation_batches
from rnnlab.data.sequences import Sequences
from rnnlab.models.network import Network


def evaluate(network: Network, answer: Answer, data: Sequences, device: torch.device) -> Kept:
    """What the answer keeps, in the order of the rows, or of the targets where a row may have several. In inference
    mode, whatever mode the network is in."""
    kept: dict[str, np.ndarray] = {}
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for rows, batch in evaluation_batches(data):
            batch = batch.to(device)
            for name, part in answer.keep(network(batch.inputs, batch.lengths), batch).items():
                _put(kept, name, part.cpu().numpy(), rows, data)
    network.train(was_training)
    return kept


def _put(kept: dict[str, np.ndarray], name: str, part: np.ndarray, rows: np.ndarray, data: Sequences) -> None:
    """``part`` (B, …) of these rows; where rows have several targets, (B, L, …) of those, or (B,) of the rows."""
    if data.target_offsets is None or part.ndim == 1:
        if name not in kept:
            kept[name] = np.empty((len(data), *part.shape[1:]), part.dtype)
        kept[name][rows] = part
        return
    if name not in kept:
        kept[name] = np.empty((len(data.targets), *part.shape[2:]), part.dtype)
    number = np.arange(part.shape[1])
    there = number < data.target_counts[rows][:, None]  # (B, L)
    kept[name][(data.target_offsets[rows][:, None] + number)[there]] = part[there]
