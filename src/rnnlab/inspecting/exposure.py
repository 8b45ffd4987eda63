"""Exposure bias: a language model learns from true tokens, and reads its own when it writes. What that costs, by step.

From many places of the test text, behind a context of true tokens, a model goes on for k = 1, 2, … steps, once along
the true tokens (forced) and once along those that it draws itself (free).

- **Nats of the true token**, forced and free. Free is higher for every model, even for the perfect one: another text
  than the true one was written, after which the true token is no longer expected. So the gap alone isn't bias; it says
  how far the two texts have come apart.
- **What is written**: the nats that Kneser-Ney n-grams of the training text give to the written tokens, beside those of
  the true ones. A model whose texts get worse as it reads itself departs from the true ones step by step.
- **Sentences by known rules**: the share of written sentences that obey them, by their number since the model began,
  and the nats per token that the rules give to those that do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rnnlab.answers.text import Text
from rnnlab.core.errors import RunError
from rnnlab.core.seeding import stream_seed
from rnnlab.data.encoded import EncodedData
from rnnlab.data.nested_sentences import nats_of_sentence
from rnnlab.data.sequences import Sequences
from rnnlab.data.tokenizers import LINE_END
from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN
from rnnlab.judging.spread import upper_quantile
from rnnlab.models import kneser_ney
from rnnlab.models.continuing import KneserNey
from rnnlab.models.network import Network
from rnnlab.models.sampling import choose, counted_uniforms
from rnnlab.training.forcing import Reader, reader_of
from rnnlab.training.spec import RunSpec

STEPS = 50
PLACES = 400  # of the test text, at most
TEXTS = 64  # that are written to be held to the rules
TOKENS = {"chars": 1300, "words": 300}  # of each: about 40 sentences
PARTS = ((1, 2), (3, 5), (6, 10), (11, 20), (21, 40))  # numbers of sentences
FEWEST_BEFORE = 12  # tokens of context
LONGEST_GRAM = 12  # tokens that n-grams look back, at most
NEVER = np.array([PADDING, UNKNOWN, BEGIN, END])


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, over blocks of the test text (or over texts that were written)."""

    mean: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        return {"mean": self.mean, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Written:
    """Sentences by their number since a model began to write."""

    first: int
    last: int
    sentences: int
    right: Estimate  # share that obeys the rules
    nats: float | None  # per token of those that do, as the rules have it

    def to_dict(self) -> dict[str, Any]:
        own = {"first": self.first, "last": self.last, "sentences": self.sentences, "nats": self.nats}
        return {**own, "right": self.right.to_dict()}


@dataclass(frozen=True)
class Exposure:
    """All curves have a value per step, that of k = 1 first."""

    places: int
    blocks: int  # of the test text, over which intervals go
    context: int  # true tokens before each place
    forced: tuple[Estimate, ...]  # nats of the true token, true ones being read
    free: tuple[Estimate, ...]  # … its own being read for the last k steps
    gap: tuple[Estimate, ...]  # free - forced, place by place
    true: tuple[Estimate, ...]  # Kneser-Ney's nats of the true tokens
    written: tuple[Estimate, ...]  # … of the written ones
    excess: tuple[Estimate, ...]  # written - true, place by place
    mean_gap: Estimate  # of all steps
    mean_excess: Estimate
    sentences: tuple[Written, ...] = ()  # empty where no rules are known

    def to_dict(self) -> dict[str, Any]:
        curves = {
            name: [one.to_dict() for one in getattr(self, name)]
            for name in ("forced", "free", "gap", "true", "written", "excess")
        }
        means = {name: getattr(self, name).to_dict() for name in ("mean_gap", "mean_excess")}
        about = {"places": self.places, "blocks": self.blocks, "context": self.context}
        return {**about, **means, **curves, "sentences": [one.to_dict() for one in self.sentences]}


def exposure(spec: RunSpec, network: Network, data: EncodedData, places: int = PLACES, steps: int = STEPS) -> Exposure:
    """Of a run on its test text; the network is in evaluation mode. What is drawn follows from the place alone, so
    that runs can be compared place by place."""
    if not isinstance(spec.task.answer, Text) or not spec.task.streams:
        raise RunError(
            "exposure bias is measured on one long text: take a run of the task 'language-model' with text_per = 'file'"
        )
    context = getattr(spec.task, "context", None) or FEWEST_BEFORE
    if spec.longest is not None:
        steps = min(steps, spec.longest // 2)
        context = min(context, spec.longest - steps)
    block, begin = _places(data.test, context, steps, places)
    if len(np.unique(block)) < 2:
        raise RunError(
            "the test text is too short: after {context} tokens of context, {steps} steps must fit into two blocks",
            context=context,
            steps=steps,
        )
    at = begin[:, None] + np.arange(-context + 1, steps + 1)
    read = data.test.values[at].astype(np.int64)  # (N, context + K): context, then what comes next
    targets = data.test.values[begin[:, None] + np.arange(2, steps + 2)].astype(np.int64)  # behind each of the K
    forced, _ = _gone_on(network, read, targets, context, own=False)
    free, written = _gone_on(network, read, targets, context, own=True)
    grams = _fit(data)
    before = read[:, :context][:, -LONGEST_GRAM:]
    true_nats, written_nats = (_gram_nats(grams, before, own) for own in (read[:, context:], written))
    gap, excess = free - forced, written_nats - true_nats
    sentences = _sentences(spec, network, data, context)
    return Exposure(
        places=len(begin),
        blocks=len(np.unique(block)),
        context=context,
        forced=_curve(forced, block),
        free=_curve(free, block),
        gap=_curve(gap, block),
        true=_curve(true_nats, block),
        written=_curve(written_nats, block),
        excess=_curve(excess, block),
        mean_gap=over_blocks(gap.mean(axis=1), block),
        mean_excess=over_blocks(excess.mean(axis=1), block),
        sentences=sentences,
    )


def _places(test: Sequences, context: int, steps: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """(N,) each: the block of each place, and where in the values its context ends. Places don't overlap."""
    found = [
        (row, place)
        for row in range(len(test))
        for place in range(int(test.starts[row]) + context - 1, int(test.ends[row]) - steps - 1, steps)
    ]
    chosen = np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).astype(np.int64)) if found else []
    pairs = np.array([found[at] for at in chosen], np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _gone_on(
    network: Network, read: np.ndarray, targets: np.ndarray, context: int, own: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(N, K) each: nats of the targets behind each of the K steps, and the tokens that were read there."""
    rows, steps = targets.shape
    reader = reader_of(network, rows, None)
    logits = _warmed(reader, read[:, :context])
    taken, nats = read[:, context:].copy(), np.empty((rows, steps))
    numbers = counted_uniforms(stream_seed(0, "sampling", 1), np.arange(rows), np.arange(steps))
    for step in range(steps):
        if own:
            taken[:, step] = choose(logits, 1.0, None, 1.0, numbers[:, step], NEVER)
        logits = reader.go_on(taken[:, step])
        nats[:, step] = _surprise(logits, targets[:, step])
    return nats, taken


def _warmed(reader: Reader, context: np.ndarray) -> np.ndarray:
    logits = np.empty(0)
    for step in range(context.shape[1]):
        logits = reader.go_on(np.ascontiguousarray(context[:, step]))
    return logits


def _surprise(logits: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """(N,) nats of tokens."""
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=1, keepdims=True)
    return np.log(np.exp(wide).sum(axis=1)) - wide[np.arange(len(ids)), ids]


def _fit(data: EncodedData) -> kneser_ney.Learnt:
    assert data.vocabulary is not None
    return KneserNey().fit_text(data.train, data.valid, len(data.vocabulary))


def _gram_nats(learnt: kneser_ney.Learnt, before: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """(N, K): nats of tokens (N, K) behind contexts (N, C)."""
    whole = np.concatenate([before, tokens], axis=1)
    rows, width = whole.shape
    offsets = np.arange(rows + 1, dtype=np.int64) * width
    found = kneser_ney.nats(learnt, whole.astype(np.int32).ravel(), offsets)
    return found.reshape(rows, width)[:, before.shape[1] :]


def _curve(values: np.ndarray, block: np.ndarray) -> tuple[Estimate, ...]:
    return tuple(over_blocks(values[:, step], block) for step in range(values.shape[1]))


def over_blocks(values: np.ndarray, block: np.ndarray) -> Estimate:
    """The mean of (N,) values; those of a block are likely to be alike, and blocks are what its interval counts."""
    _, number = np.unique(block, return_inverse=True)
    counts = np.bincount(number)
    mean = float(values.mean())
    if len(counts) < 2:
        return Estimate(mean, -np.inf, np.inf)
    rest = np.bincount(number, values - mean)  # of each block, as a ratio estimator has it
    error = np.sqrt((rest**2).sum() * len(counts) / (len(counts) - 1)) / len(values)
    reach = upper_quantile(0.025, len(counts) - 1) * float(error)
    return Estimate(mean, mean - reach, mean + reach)


# --- sentences by known rules -----------------------------------------------------------------------------------------


def _sentences(spec: RunSpec, network: Network, data: EncodedData, context: int) -> tuple[Written, ...]:
    """Written after the end of a sentence; none of a network that can't go on for so long."""
    if getattr(spec.task, "data", "") is not None or spec.longest is not None or data.vocabulary is None:
        return ()
    words, unit = data.vocabulary.words, str(getattr(spec.task, "unit", "chars"))
    values = data.test.values
    ends = np.flatnonzero(values == words.index(LINE_END))
    ends = ends[ends >= context - 1]
    if not len(ends):
        return ()
    chosen = ends[np.unique(np.linspace(0, len(ends) - 1, TEXTS).astype(np.int64))]
    before = values[chosen[:, None] + np.arange(-context + 1, 1)].astype(np.int64)
    texts = [[words[token] for token in row] for row in _written(network, before, TOKENS[unit]).tolist()]
    judged = [_judged(sentences_in(text, unit)) for text in texts]
    return tuple(part for first, last in PARTS if (part := _part(judged, first, last)) is not None)


def _written(network: Network, before: np.ndarray, length: int) -> np.ndarray:
    """(N, length): what follows the contexts (N, C)."""
    rows = len(before)
    reader, found = reader_of(network, rows, None), np.empty((rows, length), np.int64)
    numbers = counted_uniforms(stream_seed(0, "sampling", 2), np.arange(rows), np.arange(length))
    logits = _warmed(reader, before)
    for step in range(length):
        found[:, step] = choose(logits, 1.0, None, 1.0, numbers[:, step], NEVER)
        logits = reader.go_on(np.ascontiguousarray(found[:, step]))
    return found


def sentences_in(tokens: Sequence[str], unit: str) -> list[list[str]]:
    """The whole sentences of a text, each with its line end; one that has none yet is left out."""
    if unit == "chars":
        lines = "".join(tokens).split(LINE_END)[:-1]
        return [[*line.split(" "), LINE_END] for line in lines]
    found: list[list[str]] = [[]]
    for token in tokens:
        found[-1].append(token)
        if token == LINE_END:
            found.append([])
    return found[:-1]


def _judged(sentences: Sequence[Sequence[str]]) -> list[tuple[float | None, int]]:
    """Of each, its nats by the rules, or None, and how many words it has."""
    return [(nats_of_sentence(sentence), len(sentence)) for sentence in sentences]


def _part(judged: Sequence[Sequence[tuple[float | None, int]]], first: int, last: int) -> Written | None:
    pairs = [(text, *one) for text, found in enumerate(judged) for one in found[first - 1 : last]]
    if not pairs:
        return None
    right = np.array([nats is not None for _, nats, _ in pairs], float)
    texts = np.array([text for text, _, _ in pairs])
    obeying = [(nats, size) for _, nats, size in pairs if nats is not None]
    nats = sum(nats for nats, _ in obeying) / sum(size for _, size in obeying) if obeying else None
    return Written(first, last, len(pairs), over_blocks(right, texts), nats)
