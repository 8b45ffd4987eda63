"""The updates of a run: whole training steps in native code where it knows the network, by torch elsewhere.

Network and optimiser are the ordinary ones: native code is told where they lie, and what it changes is what everybody
else reads.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from rnnlab.answers.base import Answer
from rnnlab.answers.heads import StateHead, SummaryHead
from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import IGNORE, balanced_weights
from rnnlab.kernels import ops
from rnnlab.kernels.ops import place
from rnnlab.models.base import Encoded
from rnnlab.models.dropout import LockedDropout
from rnnlab.models.fasttext import FastText, NgramVectors
from rnnlab.models.network import Network
from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent, RecurrentEncoder
from rnnlab.training.divergence import EXPLODED
from rnnlab.training.optimizer import BETA1, BETA2, EPSILON, Optimizer
from rnnlab.training.sampled_softmax import SampledSoftmax
from rnnlab.training.spec import RunSpec


@dataclass(frozen=True)
class Update:
    """What a training step found."""

    loss: float
    norm: float | None  # of the gradients before clipping; None: not computed, because the loss had exploded
    right: float  # rows; those that are partly right count in part

    @property
    def well(self) -> bool:
        """Whether the weights were changed."""
        return abs(self.loss) < EXPLODED and self.norm is not None and math.isfinite(self.norm)


class Updater:
    """Changes a network, batch by batch. Weights and optimiser are the ordinary ones, whoever does the arithmetic.

    What native code drops follows from a seed per batch, which ``random`` draws (torch's own generator, by default).
    So the bits don't depend on how many updates are done at a time, and a checkpoint of the generator's state is enough
    to go on."""

    network: Network
    optimizer: Optimizer
    clip: float | None
    random: torch.Generator
    weights: torch.Tensor | None
    sampled: SampledSoftmax | None

    def __init__(
        self,
        spec: RunSpec,
        network: Network,
        optimizer: Optimizer,
        threads: int,
        random: torch.Generator = torch.default_generator,
        weights: torch.Tensor | None = None,
        sampled: SampledSoftmax | None = None,
    ):
        """``weights`` (C,): what a target of each class counts in the loss; None: all alike. ``sampled`` draws the
        words that are scored; None: all."""
        assert spec.training is not None
        assert (spec.training.softmax_samples is None) == (sampled is None)
        self.network, self.optimizer, self.clip = network, optimizer, spec.training.clip
        self.answer: Answer = spec.task.answer.smoothed(spec.training.label_smoothing)
        self.random, self.weights, self.sampled = random, weights, sampled
        self.member: ops.Member | None = None
        embedding = network.embedding
        usual = embedding is None or not (embedding.spelled or (embedding.narrow and embedding.frozen is not None))
        plain = isinstance(network.head, StateHead | SummaryHead) and usual
        if plain and knows_whole_steps(spec) and ops.known(optimizer.weights):
            self.member = member_of(network, optimizer, self.answer, self.clip, threads, weights)

    def seeds(self, count: int) -> list[int]:
        """Drawn for so many batches; none where nothing is dropped."""
        if self.member is None or not drops(self.member):
            return []
        return torch.empty(count, dtype=torch.int64).random_(generator=self.random).tolist()

    def advance(self, batches: Sequence[Batch], rates: Sequence[float]) -> Iterator[Update]:
        """An update for each batch, in turn. The one that doesn't go well is the last: it changed nothing, and the
        gradients that it found are there to be looked at."""
        done = 0
        while done < len(batches):
            if self.member is not None:
                before = self.random.get_state()
                tried = self._advance_natively(self.member, batches[done:], rates[done:])
                well = [update for update in tried if update.well]
                yield from well
                done += len(well)
                if done == len(batches):
                    return
                self.random.set_state(before)  # as if those that weren't reached had drawn nothing
                self.seeds(len(well))
                self.optimizer.gradient.zero_()  # torch finds out what went wrong, and adds to what is there
            if self.sampled is None:
                loss, right = backward(self.network, self.answer, batches[done], self.weights)
            else:
                loss, right = self.sampled.backward(self.network, self.answer, batches[done], self.optimizer.steps)
            update = Update(loss, self.optimizer.step(rates[done], self.clip) if abs(loss) < EXPLODED else None, right)
            yield update
            if not update.well:
                return
            done += 1

    def _advance_natively(self, member: ops.Member, batches: Sequence[Batch], rates: Sequence[float]) -> list[Update]:
        """The updates that native code tried."""
        steps = training_steps(self.optimizer, batches, rates, self.seeds(len(batches)))
        encoder = self.network.encoder
        carries = encoder if isinstance(encoder, RecurrentEncoder) and encoder.settings.state == "carried" else None
        if carries is not None:
            member.carried = place(carries.to_carry(len(batches[0].lengths)))
        ops.do_steps(member, steps, self.optimizer.weights.dtype)
        if carries is not None:
            carries.rest()
        self.optimizer.steps += member.done
        right = "whole" if self.answer.counts_whole else "share"
        tried = steps[: member.done + member.stopped]
        return [Update(step.loss, step.norm if step.norm >= 0 else None, getattr(step, right)) for step in tried]


def backward(
    network: Network, answer: Answer, batch: Batch, weights: torch.Tensor | None = None
) -> tuple[float, float]:
    """Adds the gradients of the mean loss to those of the parameters. Returns the loss, and how many rows are right."""
    encoded = network.before_head(*answer.given(batch))
    if answer.native == "class" and type(network.head) is SummaryHead and encoded.summary.requires_grad:
        # The usual head and loss are so small that torch spends its time on everything but their arithmetic.
        found = ops.classify(encoded.summary, network.head.linear, batch.targets, weights)
        if found is not None:
            value, gradient, right = found
            encoded.summary.backward(gradient)
            return value, right
    rows = len(batch.targets)
    if answer.writes:
        encoded, batch = only_asked(encoded, batch)
    out = network.head(encoded)  # (B, C), or (B, T, C)
    loss = mean_loss(answer, out, batch, weights)
    loss.backward()
    return loss.item(), answer.right(out, batch) * rows / len(batch.targets)


def only_asked(encoded: Encoded, batch: Batch) -> tuple[Encoded, Batch]:
    """The states and targets of all steps that are asked for, as one row: nothing is scored at padding, where a head of
    many words would spend most of its time."""
    asked = batch.targets != IGNORE
    states = encoded.states[asked][None]
    return Encoded(states, encoded.summary), replace(batch, targets=batch.targets[asked][None])


def mean_loss(answer: Answer, out: torch.Tensor, batch: Batch, weights: torch.Tensor | None) -> torch.Tensor:
    """Of a batch. ``weights`` (C,) are those of `class_weights`."""
    return answer.loss(out, batch) if weights is None else answer.weighted_loss(out, batch, weights)


def class_weights(spec: RunSpec, data: EncodedData, like: torch.Tensor) -> torch.Tensor | None:
    """What a target of each class counts in the loss, (C,), from the training rows, of the type and where ``like`` is;
    None: all alike."""
    if spec.training is None or spec.training.class_weights is None:
        return None
    targets = data.train.targets
    weights = balanced_weights(targets[targets != IGNORE], spec.task.answer.outputs(Preprocessor.of(data)))
    return torch.from_numpy(weights).to(like)


# As native code sees a run


def knows_whole_steps(spec: RunSpec) -> bool:
    """Whether native code, if there is any, can do all of a training step."""
    model, answer = spec.model, spec.task.answer
    if spec.training is not None and spec.training.softmax_samples is not None:
        return False
    if type(model) is FastText:
        embedding = model.embedding
        drops = model.output_dropout or (embedding is not None and (embedding.dropout or embedding.type_dropout))
        return answer.native in ("class", "labels") and not drops  # torch draws what is dropped there
    if answer.native is None or not isinstance(model, Recurrent) or type(model) not in (RNN, LSTM, GRU):
        return False
    if isinstance(model, LSTM) and model.hidden > ops.largest_lstm():
        return False  # nobody has measured that it is faster than torch
    if (model.embedding is not None and model.embedding.type_dropout) or (model.weight_dropout and model.layer_norm):
        return False  # torch draws them
    if model.state == "carried" and (not spec.task.streams or model.layer_norm):
        return False  # rows of a stream alone are the same ones from batch to batch
    known = {"initial_state": "zeros", "residual": False, "checkpoint_segments": 1, "reset": "after"}
    return all(getattr(model, name, value) == value for name, value in known.items())


def member_of(
    network: Network,
    optimizer: Optimizer,
    answer: Answer,
    clip: float | None,
    threads: int = 1,
    weights: torch.Tensor | None = None,
) -> ops.Member:
    """Where everything lies that a training step needs. It holds addresses alone: whoever has it keeps the others.
    ``threads`` share a step, where no other thread has another member's."""
    head, memory = network.head, optimizer.memory
    assert isinstance(head, StateHead | SummaryHead)
    assert answer.native is not None
    member = ops.Member(
        threads=threads,
        answer=ops.ANSWERS[answer.native],
        outputs=head.linear.out_features,
        head=place(head.linear.weight),
        head_bias=place(head.linear.bias),
        for_head=place(head.linear.weight.grad),
        for_head_bias=place(head.linear.bias.grad),
        class_weights=place(weights),
        output_dropout=network.dropout.p,
        locked=isinstance(network.dropout, LockedDropout),
        close=getattr(answer, "close", 0.0),
        descends=optimizer.descends,
        dense=place(optimizer.weights),
        gradient=place(optimizer.gradient),
        numbers=optimizer.weights.numel(),
        clip=math.inf if clip is None else clip,
        decay=optimizer.decay,
        momentum=optimizer.momentum,
        beta1=BETA1,
        beta2=BETA2,
        epsilon=EPSILON,
        exploded=EXPLODED,
        **{name: place(moment) for name, moment in memory.items()},
    )
    if isinstance(network.embedding, NgramVectors):
        _add_bag(member, network.embedding)
    else:
        _add_layers(member, network)
    _add_embedding(member, network, optimizer)
    member.scratch = torch.zeros(max(1, member.words), dtype=torch.int32)
    member.places = place(member.scratch)
    return member


def _add_layers(member: ops.Member, network: Network) -> None:
    encoder = network.encoder
    assert isinstance(encoder, RecurrentEncoder)
    settings = encoder.settings
    directions = [encoder.ahead, encoder.back] if settings.bidirectional else [encoder.ahead]
    cells: list[Any] = [cell for layer in zip(*directions, strict=True) for cell in layer]
    weights = [weight for cell in cells for weight in cell.weights()]
    member.kind = ops.KINDS[getattr(settings, "activation", settings.kind)]
    member.layers, member.directions = settings.layers, len(directions)
    member.inputs, member.hidden = weights[0].shape[1], settings.hidden
    member.weights, member.gradients = ops.places(weights), ops.places([weight.grad for weight in weights])
    member.pooling = ops.POOLINGS[settings.pooling]
    if settings.layer_norm:
        gains = [gain for cell in cells for gain in cell.gains()]
        of_gains = [None if gain is None else gain.grad for gain in gains]
        member.normed, member.gains, member.for_gains = 1, ops.places(gains), ops.places(of_gains)
    member.layer_dropout, member.state_dropout = settings.dropout, settings.recurrent_dropout
    member.weight_dropout = settings.weight_dropout
    if settings.pooling == "attention":
        member.query, member.for_query = place(encoder.pool.query), place(encoder.pool.query.grad)


def _add_bag(member: ops.Member, vectors: NgramVectors) -> None:
    hashed = vectors.hashed
    member.directions, member.inputs, member.hidden = 1, vectors.width, vectors.width  # the head reads one mean
    member.ngrams, member.buckets, member.factor = hashed.ngrams, hashed.buckets, hashed.factor
    member.squares, member.ends = hashed.squares, hashed.ends


def _add_embedding(member: ops.Member, network: Network, optimizer: Optimizer) -> None:
    embedding = network.embedding
    member.tokens = 1
    if embedding is None:
        return
    learnt, kept = embedding.table, embedding.frozen
    first = kept if learnt is None else learnt
    assert first is not None
    member.words, member.width = first.shape
    member.table = place(first)
    if learnt is not None and kept is not None:
        member.frozen, member.frozen_width = place(kept), kept.shape[1]
    member.embedding_dropout = embedding.dropout.p
    member.tokens = member.inputs // embedding.width
    member.table_learns = learnt is not None
    member.table_gradient = place(optimizer.table_gradient)
    if embedding.segments is not None:
        member.columns = len(embedding.segments)
        member.segments, member.for_segments = place(embedding.segments), place(embedding.segments.grad)


def drops(member: ops.Member) -> bool:
    """Whether something is dropped in training."""
    places = ("embedding", "layer", "state", "output", "weight")
    return any(getattr(member, f"{name}_dropout") for name in places)


def training_steps(
    optimizer: Optimizer, batches: Sequence[Batch], rates: Sequence[float], seeds: Sequence[int] = ()
) -> Any:
    """The batches as a C array of steps; formulas as in `Optimizer`. ``seeds``, one per batch, say what is dropped;
    there are none where nothing is."""
    steps: Any = (ops.Step * len(batches))()
    steps.batches = batches  # it holds their addresses: they live as long as it does
    for number, (step, batch, lr) in enumerate(zip(steps, batches, rates, strict=True)):
        for part in (batch.inputs, batch.lengths, batch.targets):
            assert part.is_contiguous()
        step.batch, step.steps = batch.inputs.shape[:2]
        step.inputs, step.lengths, step.targets = map(place, (batch.inputs, batch.lengths, batch.targets))
        step.seed = seeds[number] if seeds else 0
        updates = optimizer.steps + number + 1
        step.rate = lr if optimizer.descends else lr / (1 - BETA1**updates)
        step.keep, step.root = 1 - lr * optimizer.decay, (1 - BETA2**updates) ** -0.5
    return steps
