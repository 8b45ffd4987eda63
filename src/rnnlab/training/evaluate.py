"""Answers to all rows of a split, in length-sorted batches: what is kept of them, and the scores."""

import numpy as np
import torch

from rnnlab.answers.base import Answer, Kept
from rnnlab.data.batches import evaluation_batches
from rnnlab.data.sequences import Sequences
from rnnlab.models.network import Network

MOST_TOKENS = 16384  # of a batch, padding included
MOST_OUTPUTS = 1 << 26  # numbers that come out of a batch: a large vocabulary has smaller batches


def evaluate(
    network: Network, answer: Answer, data: Sequences, device: torch.device, longest: int | None = None
) -> Kept:
    """What the answer keeps, in the order of the rows, or of the targets where a row may have several. In inference
    mode, whatever mode the network is in. A network that knows nothing of steps beyond ``longest`` reads longer rows in
    windows, of which each begins in the middle of the one before: every target is answered once."""
    if longest is not None and data.lengths.max(initial=0) > longest:
        windows, place = data.in_windows(longest)
        found = evaluate(network, answer, windows, device)
        return {name: _put_back(part, place, len(data.targets)) for name, part in found.items()}
    kept: dict[str, np.ndarray] = {}
    was_training = network.training
    network.eval()
    tokens = MOST_TOKENS
    if answer.reads == "states" and (width := getattr(getattr(network, "head", None), "outputs", 0)):
        tokens = min(tokens, max(1, MOST_OUTPUTS // width))
    with torch.inference_mode():
        for rows, batch in evaluation_batches(data, tokens):
            batch = batch.to(device)
            for name, part in answer.keep(answer.asked(network, batch), batch).items():
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


def _put_back(part: np.ndarray, place: np.ndarray, targets: int) -> np.ndarray:
    """From the targets of windows to those of the rows; zero where nothing is counted."""
    whole = np.zeros((targets, *part.shape[1:]), part.dtype)
    whole[place[place >= 0]] = part[place >= 0]
    return whole
