"""How much a language model gains from what stands before: the same test tokens, each after its last 1, 2, 5 … tokens
alone."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F

from rnnlab.data.sequences import IGNORE, Sequences
from rnnlab.models import kneser_ney
from rnnlab.models.base import Encoded
from rnnlab.models.baselines import Learnt
from rnnlab.models.network import Network
from rnnlab.training.monitor import undisturbed

CONTEXTS = (1, 2, 5, 10, 20, 50, 100, 200)
TOKENS = 1000  # whose mean is taken
FEWEST = 100  # of them: a longer context is left out
MOST_TOKENS = 16384  # of a batch


def asked_tokens(data: Sequences) -> tuple[np.ndarray, tuple[int, ...]]:
    """Places among the targets of `TOKENS` scored tokens, spread evenly over the rows, and the contexts that stand
    before all of them in their rows."""
    assert data.target_offsets is not None
    read = np.arange(len(data.targets)) - np.repeat(data.target_offsets[:-1], data.target_counts) + 1
    scored = data.truth.values != IGNORE
    for longest in range(len(CONTEXTS), 0, -1):
        places = np.flatnonzero(scored & (read >= CONTEXTS[longest - 1]))
        if len(places) >= FEWEST:
            chosen = np.linspace(0, len(places) - 1, min(TOKENS, len(places))).round().astype(np.int64)
            return places[chosen], CONTEXTS[:longest]
    return np.zeros(0, np.int64), ()


def network_by_context(
    network: Network, data: Sequences, places: np.ndarray, contexts: Sequence[int], longest: int | None
) -> dict[int, float]:
    """By the number of tokens read, the mean nats of the targets at these places. A network that knows no more than
    ``longest`` steps isn't asked beyond."""
    assert data.target_offsets is not None
    row = np.searchsorted(data.target_offsets, places, side="right") - 1
    last = data.starts[row] + places - data.target_offsets[row]  # the place, among the values, of the token before
    targets = torch.from_numpy(data.targets[places])
    found: dict[int, float] = {}
    with undisturbed(network), torch.inference_mode():
        for context in contexts:
            if longest is not None and context > longest:
                break
            total = 0.0
            rows = max(1, MOST_TOKENS // context)
            for first in range(0, len(places), rows):
                ends = last[first : first + rows]
                ids = torch.from_numpy(data.values[ends[:, None] + np.arange(1 - context, 1)]).long()
                states = network.encode(ids, torch.full((len(ids),), context)).states[:, -1:]
                logits = network.head(Encoded(states, states[:, 0]))[:, 0]
                total += F.cross_entropy(logits, targets[first : first + rows], reduction="sum").item()
            found[context] = total / len(places)
    return found


def ngrams_by_context(learnt: Learnt, data: Sequences, places: np.ndarray, contexts: Sequence[int]) -> dict[int, float]:
    """The same of Kneser-Ney's n-grams, from no context on; beyond its highest order nothing changes any more."""
    assert data.target_offsets is not None
    ids, highest = data.targets.astype(np.int32), kneser_ney.highest_order(learnt)
    found: dict[int, float] = {}
    by_order: dict[int, float] = {}
    for context in (0, *contexts):
        order = min(context + 1, highest)
        if order not in by_order:
            nats = kneser_ney.nats(learnt, ids, data.target_offsets, data.scored_from, order)
            by_order[order] = float(nats[places].mean())
        found[context] = by_order[order]
    return found
