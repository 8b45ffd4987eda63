"""From a score for every word and for none of them (the blank, the last column) at every step to words: the best
alignment, or the best words whatever their alignment."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

Words = tuple[int, ...]


def log_shares(scores: np.ndarray) -> np.ndarray:
    """(N, C + 1) → the same in float64, each step's logarithms of shares."""
    shifted = scores.astype(np.float64)
    shifted -= shifted.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def best_alignments(scores: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The words of each row's best alignment, laid end to end, and their offsets: the best of every step, without
    repetitions, without blanks. ``scores`` (N, C + 1) of all steps, row i's from ``offsets[i]`` on; no row is empty."""
    best = scores.argmax(1)
    new = np.empty(len(best), bool)
    new[1:] = best[1:] != best[:-1]
    new[offsets[:-1]] = True
    new &= best != scores.shape[1] - 1
    counted = np.concatenate([[0], np.cumsum(new)])
    return best[new], counted[offsets]


def best_words(scores: np.ndarray, beam: int, most: int = 1) -> list[tuple[Words, float]]:
    """The most probable words of one row (T, C + 1), the first one first, each with the logarithm of its share: of all
    its alignments, as far as they were followed. ``beam`` beginnings are kept at every step; with as many as there are
    the result is exact."""
    shares = log_shares(scores)
    words, blank = shares.shape[1] - 1, shares.shape[1] - 1
    begun: list[Words] = [()]
    silent, said = np.zeros(1), np.full(1, -np.inf)  # of alignments that end in a blank, and in the last word
    for step in shares:
        last = np.array([one[-1] if one else 0 for one in begun])
        both = np.logaddexp(silent, said)
        longer = both[:, None] + step[:words]  # (K, C)
        at = np.arange(len(begun))
        longer[at, last] = np.where([bool(one) for one in begun], silent, both) + step[last]  # else it is the same word
        still_silent, still_said = both + step[blank], said + step[last]
        number = {one: k for k, one in enumerate(begun)}
        for k, one in enumerate(begun):  # what is as long already takes what grows to be the same
            shorter = number.get(one[:-1]) if one else None
            if shorter is not None:
                still_said[k] = np.logaddexp(still_said[k], longer[shorter, one[-1]])
                longer[shorter, one[-1]] = -np.inf
        every = np.concatenate([np.logaddexp(still_silent, still_said), longer.ravel()])
        chosen = np.argsort(-every, kind="stable")[:beam]
        chosen = chosen[every[chosen] > -np.inf]
        silent = np.concatenate([still_silent, np.full(longer.size, -np.inf)])[chosen]
        said = np.concatenate([still_said, longer.ravel()])[chosen]
        begun = [
            begun[k] if k < len(begun) else (*begun[(k - len(begun)) // words], (k - len(begun)) % words)
            for k in chosen.tolist()
        ]
    found = np.logaddexp(silent, said)
    return [(begun[k], float(found[k])) for k in np.argsort(-found, kind="stable")[:most]]


def nats(out: Tensor, lengths: Tensor, targets: Tensor, counts: Tensor) -> Tensor:
    """(B,): -log of the share of each row's words, over all alignments; 0 where there is none. ``out`` (B, T, C + 1),
    ``targets`` (B, L), of which the first ``counts`` (B,) count."""
    return F.ctc_loss(
        out.log_softmax(2).transpose(0, 1),
        targets.clamp(min=0),
        lengths,
        counts,
        blank=out.shape[2] - 1,
        reduction="none",
        zero_infinity=True,
    )


def steps_needed(targets: Tensor, counts: Tensor) -> Tensor:
    """(B,): the fewest steps that hold an alignment of each row's words: one per word, and a blank between equal
    ones."""
    number = torch.arange(1, targets.shape[1], device=targets.device)
    equal = (targets[:, 1:] == targets[:, :-1]) & (number < counts[:, None])
    return counts + equal.sum(1)
