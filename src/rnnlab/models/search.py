"""Beam search: the texts that a network finds most probable for those that it read.

Of each text the ``beam`` best beginnings are kept. A beginning that ends leaves the beam, and is ranked by its log
probability divided by a power of its length, so that short texts have no advantage. With one beginning, it is the
greedy choice.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN
from rnnlab.kernels import ops
from rnnlab.models.base import select_rows
from rnnlab.models.network import Network

FEWEST_ROWS = 16  # of a matrix product: MKL adds up fewer ones in another order
MOST_NUMBERS = 1 << 25  # outputs of a step: (rows of the beam, words)
LEAST = -1e9  # log probability of what can't be


@dataclass(frozen=True)
class Manner:
    """How to search."""

    beam: int = 5
    length_penalty: float = 1.0  # the power of the length by which a log probability is divided
    longest: int = 200  # tokens
    coverage: float = 0.0  # how much a text is ranked lower by places of the source that were hardly looked at
    unknown: bool = False  # whether `<unk>` may be written, in the place of which a word of the source may then stand


@dataclass(frozen=True)
class Found:
    """A text that was written, without its end."""

    ids: tuple[int, ...]
    nats: float  # of all its tokens, `</s>` too
    score: float  # by which it is ranked, the highest first
    ended: bool = True  # False: it was cut


def search(network: Network, inputs: Tensor, lengths: Tensor, manner: Manner) -> list[list[Found]]:
    """Up to ``beam`` texts for each row, the best one first. Rows don't depend on each other: to rounding, and a
    product has at least so many rows that they are added up in the same order. In evaluation mode."""
    found: list[list[Found]] = []
    assert network.decoder is not None
    words = network.decoder.words
    rows = max(1, MOST_NUMBERS // (words * manner.beam))
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for first in range(0, len(inputs), rows):
            some = slice(first, first + rows)
            texts = _search(network, inputs[some], lengths[some], manner)
            found += texts if not manner.coverage else _by_coverage(network, inputs[some], lengths[some], texts, manner)
    network.train(was_training)
    return found


def look(network: Network, inputs: Tensor, lengths: Tensor, texts: Sequence[tuple[int, ...]]) -> list[Tensor] | None:
    """Of a text for each row, where the network looked before it wrote each token, `</s>` too: (L + 1, S) each; None
    without attention. In evaluation mode."""
    assert network.decoder is not None
    counts = torch.tensor([len(text) + 1 for text in texts])
    read = torch.full((len(texts), int(counts.max())), PADDING)
    for row, text in enumerate(texts):
        read[row, : len(text) + 1] = torch.tensor([BEGIN, *text])
    with torch.inference_mode():
        weights = network.decoder.looks(network.remember(inputs, lengths), read, counts)
    if weights is None:
        return None
    sizes = zip(weights, counts.tolist(), lengths.tolist(), strict=True)
    return [of_text[:tokens, :places] for of_text, tokens, places in sizes]


def _by_coverage(
    network: Network, inputs: Tensor, lengths: Tensor, found: list[list[Found]], manner: Manner
) -> list[list[Found]]:
    """Ranked anew as Wu et al. (2016) do: a place of the source whose weights sum up to less than 1 over the whole text
    counts by the logarithm of that sum."""
    rows = torch.tensor([row for row, texts in enumerate(found) for _ in texts])
    weights = look(network, inputs[rows], lengths[rows], [text.ids for texts in found for text in texts])
    if weights is None:
        return found
    missed = iter([float(one.sum(0).clamp(1e-9, 1).log().sum()) for one in weights])
    ranked = [[replace(one, score=one.score + manner.coverage * next(missed)) for one in texts] for texts in found]
    return [sorted(texts, key=lambda text: -text.score) for texts in ranked]


def draw(
    network: Network,
    inputs: Tensor,
    lengths: Tensor,
    choose: Callable[[np.ndarray, np.ndarray, int], np.ndarray],
    longest: int,
) -> list[Found]:
    """One text for each row, token by token: ``choose`` gets the logits (R, V) of the rows (R,) that go on, and the
    number of the step, and says the tokens (R,). Rows don't depend on each other."""
    assert network.decoder is not None
    asked = len(inputs)
    if asked < FEWEST_ROWS:  # the last row again and again, of which nothing is drawn
        again = torch.arange(FEWEST_ROWS).clamp(max=asked - 1)
        inputs, lengths = inputs[again], lengths[again]
    ids: list[list[int]] = [[] for _ in range(asked)]
    nats, ended = np.zeros(asked), np.zeros(asked, bool)
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        memory = network.remember(inputs, lengths)
        state = network.decoder.begin(memory)
        last = torch.full((len(inputs),), BEGIN)
        for step in range(longest):
            logits, state = network.go_on_writing(memory, last, state)
            logits[:, torch.tensor([PADDING, UNKNOWN, BEGIN])] = -torch.inf
            going = np.flatnonzero(~ended)
            token = choose(logits[going].numpy(), going, step)
            chances = torch.log_softmax(logits[going], 1).numpy()
            nats[going] -= chances[np.arange(len(going)), token]
            ended[going] = token == END
            for row, one in zip(going.tolist(), token.tolist(), strict=True):
                if one != END:
                    ids[row].append(one)
            if ended.all():
                break
            last[torch.from_numpy(going)] = torch.from_numpy(token)
    network.train(was_training)
    return [Found(tuple(ids[row]), float(nats[row]), -float(nats[row]), bool(ended[row])) for row in range(asked)]


def _search(network: Network, inputs: Tensor, lengths: Tensor, manner: Manner) -> list[list[Found]]:
    assert network.decoder is not None
    asked, beam = len(inputs), manner.beam
    fewest = -(-FEWEST_ROWS // beam)
    if asked < fewest:  # the last row again and again
        again = torch.arange(fewest).clamp(max=asked - 1)
        return _search(network, inputs[again], lengths[again], manner)[:asked]
    memory = network.remember(inputs, lengths).select(torch.arange(asked).repeat_interleave(beam))
    state = network.decoder.begin(memory)
    never = torch.tensor([PADDING, BEGIN, *([] if manner.unknown else [UNKNOWN])])
    ids = torch.full((asked, beam, 1), BEGIN)
    nats = torch.full((asked, beam), LEAST)
    nats[:, 0] = 0
    places = np.arange(asked)
    ended: list[list[Found]] = [[] for _ in range(asked)]
    for _ in range(manner.longest):
        logits, state = network.go_on_writing(memory, ids[:, :, -1].flatten(), state)
        logits[:, never] = -torch.inf
        # of each beginning, no more of its continuations can be among the best of all than are wanted of all
        best, token = ops.best_tokens(logits, min(beam + 1, logits.shape[1]))
        total = (nats.view(-1, 1) + best).view(len(places), -1)
        score, at = total.topk(min(2 * beam, total.shape[1]), dim=1)  # (B, 2 beam)
        token = token.view(len(places), -1).gather(1, at)
        origin = at // best.shape[1]  # which of the beginnings
        going = _keep_what_ends(ids, token, origin, score, places, ended, manner)
        order = torch.where(token == END, 1, 0).argsort(dim=1, stable=True)[:, :beam]  # those that go on come first
        token, origin, nats = (part.gather(1, order) for part in (token, origin, score))
        rows = origin + torch.arange(len(places))[:, None] * beam
        ids = torch.cat([ids.flatten(0, 1)[rows.flatten()].view(len(places), beam, -1), token[:, :, None]], dim=2)
        state = select_rows(state, rows.flatten())
        if not going.all():
            left = torch.from_numpy(np.flatnonzero(going))
            places, ids, nats = places[going], ids[left], nats[left]
            if not len(places):
                break
            of_beams = (left[:, None] * beam + torch.arange(beam)).flatten()
            state, memory = select_rows(state, of_beams), memory.select(of_beams)
    for row, place in enumerate(places.tolist()):  # what never ended is cut
        if not ended[place]:
            ended[place] = [_found(ids[row, k, 1:].tolist(), float(nats[row, k]), manner, False) for k in range(beam)]
    return [sorted(one, key=lambda text: -text.score)[:beam] for one in ended]


def _keep_what_ends(
    ids: Tensor,
    token: Tensor,
    origin: Tensor,
    score: Tensor,
    places: np.ndarray,
    ended: list[list[Found]],
    manner: Manner,
) -> np.ndarray:
    """Put the texts that end among the best ``beam`` into ``ended``; (B,) whether a text goes on: until as many have
    ended as there are beginnings."""
    ends = (token[:, : manner.beam] == END) & (score[:, : manner.beam] > LEAST / 2)
    for row, k in ends.nonzero().tolist():
        place = int(places[row])
        if len(ended[place]) < manner.beam:
            written = ids[row, int(origin[row, k]), 1:].tolist()
            ended[place].append(_found(written, float(score[row, k]), manner, True))
    return np.array([len(ended[place]) < manner.beam for place in places.tolist()])


def _found(ids: list[int], log_probability: float, manner: Manner, ended: bool) -> Found:
    tokens = len(ids) + (1 if ended else 0)
    return Found(tuple(ids), -log_probability, log_probability / max(1, tokens) ** manner.length_penalty, ended)


def in_order_of_length(lengths: np.ndarray, rows: int) -> Iterator[np.ndarray]:
    """Row numbers, so many at a time, of about the same length."""
    order = np.argsort(lengths, kind="stable")
    for first in range(0, len(order), rows):
        yield order[first : first + rows]
