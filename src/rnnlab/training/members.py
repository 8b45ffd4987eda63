"""A run as native code sees it: where its network, optimiser and batches lie, and which runs it knows.

The network and the optimiser are the ordinary ones, so what the native code changes is what everybody else reads.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rnnlab.answers.base import Answer
from rnnlab.answers.heads import StateHead, SummaryHead
from rnnlab.data.batches import Batch
from rnnlab.kernels import ops
from rnnlab.models.cells import Cell
from rnnlab.models.fasttext import FastText, NgramVectors
from rnnlab.models.network import Network
from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent, RecurrentEncoder
from rnnlab.training.divergence import EXPLODED
from rnnlab.training.optimizer import BETA1, BETA2, EPSILON, Optimizer


def unsuited_model(model: Recurrent) -> str | None:
    """Which setting the native steps don't know; None if they do what the network does."""
    if type(model) not in (RNN, LSTM, GRU):
        return f"'{model.kind}' is none of rnn, lstm and gru"
    if model.initial_state != "zeros":
        return f"initial_state = '{model.initial_state}' starts every sequence elsewhere"
    if isinstance(model, LSTM) and model.hidden > ops.LARGEST_LSTM:
        return f"an lstm of hidden = {model.hidden} is faster on torch"
    usual = {"state": "reset", "residual": False, "checkpoint_segments": 1, "reset": "after"}
    for name, value in usual.items():
        if getattr(model, name, value) != value:
            return f"{name} = {getattr(model, name)!r} is computed otherwise"
    return None


def unsuited_bag(model: FastText, answer: Answer) -> str | None:
    """The same of a bag of n-grams; and which answers they only know of recurrent networks."""
    if model.output_dropout or (model.embedding is not None and model.embedding.dropout):
        return "dropout is drawn by torch there"
    if answer.native != "class":
        return "the task asks for something else than one class per text"
    return None


def member_of(
    network: Network, optimizer: Optimizer, answer: Answer, clip: float | None, threads: int = 1
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
        head=_at(head.linear.weight),
        head_bias=_at(head.linear.bias),
        for_head=_at(head.linear.weight.grad),
        for_head_bias=_at(head.linear.bias.grad),
        close=getattr(answer, "close", 0.0),
        descends=optimizer.descends,
        dense=_at(optimizer.weights),
        gradient=_at(optimizer.gradient),
        moment1=_at(memory["moment1"]),
        moment2=_at(memory.get("moment2")),
        row_moment1=_at(memory.get("row_moment1")),
        row_moment2=_at(memory.get("row_moment2")),
        numbers=optimizer.weights.numel(),
        clip=math.inf if clip is None else clip,
        decay=optimizer.decay,
        momentum=optimizer.momentum,
        beta1=BETA1,
        beta2=BETA2,
        epsilon=EPSILON,
        exploded=EXPLODED,
    )
    member.output_dropout = network.dropout.p
    if isinstance(network.embedding, NgramVectors):
        _add_bag(member, network.embedding)
    else:
        _add_layers(member, network)
    _add_embedding(member, network, optimizer)
    return member


def _add_layers(member: ops.Member, network: Network) -> None:
    encoder = network.encoder
    assert isinstance(encoder, RecurrentEncoder)
    settings = encoder.settings
    directions = [encoder.ahead, encoder.back] if settings.bidirectional else [encoder.ahead]
    weights = [weight for layer in zip(*directions, strict=True) for cell in layer for weight in _weights_of(cell)]
    member.kind = ops.KINDS[getattr(settings, "activation", settings.kind)]
    member.layers, member.directions = settings.layers, len(directions)
    member.inputs, member.hidden = weights[0].shape[1], settings.hidden
    member.weights = ops.places(weights)
    member.gradients = ops.places([_gradient_of(weight) for weight in weights])
    member.pooling = ops.POOLINGS[settings.pooling]
    if settings.layer_norm:
        gains = [gain for layer in zip(*directions, strict=True) for cell in layer for gain in _gains_of(cell)]
        of_gains = [None if gain is None else _gradient_of(gain) for gain in gains]
        member.normed, member.gains, member.for_gains = 1, ops.places(gains), ops.places(of_gains)
    member.layer_dropout, member.state_dropout = settings.dropout, settings.recurrent_dropout
    if settings.pooling == "attention":
        member.query, member.for_query = _at(encoder.pool.query), _at(encoder.pool.query.grad)


def _add_bag(member: ops.Member, vectors: NgramVectors) -> None:
    hashed = vectors.hashed
    member.directions, member.inputs, member.hidden = 1, vectors.width, vectors.width  # the head reads one mean
    member.ngrams, member.buckets, member.factor = hashed.ngrams, hashed.buckets, hashed.factor
    member.squares, member.ends = hashed.squares, hashed.ends


def _weights_of(cell: Any) -> list[Tensor]:
    assert isinstance(cell, Cell)
    return list(cell.weights())


def _gains_of(cell: Any) -> list[Tensor | None]:
    assert isinstance(cell, Cell)
    return list(cell.gains())


def _gradient_of(weight: Tensor) -> Tensor:
    assert weight.grad is not None  # the optimiser laid them end to end
    return weight.grad


def _add_embedding(member: ops.Member, network: Network, optimizer: Optimizer) -> None:
    embedding = network.embedding
    member.tokens = 1
    if embedding is None:
        return
    learnt, kept = embedding.table, embedding.frozen
    first = kept if learnt is None else learnt
    assert first is not None
    member.words, member.width = first.shape
    member.table = first.data_ptr()
    if learnt is not None and kept is not None:
        member.frozen, member.frozen_width = kept.data_ptr(), kept.shape[1]
    member.embedding_dropout = embedding.dropout.p
    member.tokens = member.inputs // embedding.width
    member.table_learns = learnt is not None
    member.table_gradient = _at(optimizer.table_gradient)


def drops(member: ops.Member) -> bool:
    """Whether something is dropped in training."""
    return any((member.embedding_dropout, member.layer_dropout, member.state_dropout, member.output_dropout))


def scratch(member: ops.Member) -> Tensor:
    """Space that the member needs; keep it as long as the member."""
    places = torch.zeros(max(1, member.words), dtype=torch.int32)
    member.places = places.data_ptr()
    return places


def _at(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def training_steps(
    optimizer: Optimizer, batches: Sequence[Batch], rates: Sequence[float], seeds: Sequence[int] = ()
) -> Any:
    """The batches as a C array of steps; formulas as in `Optimizer`. ``seeds``, one per batch, say what is dropped;
    there are none where nothing is."""
    steps: Any = (ops.Step * len(batches))()
    steps.batches = batches  # it holds their addresses: they live as long as it does
    for number, (step, batch, lr) in enumerate(zip(steps, batches, rates, strict=True)):
        _point_to(step, batch)
        step.targets = batch.targets.data_ptr()
        step.seed = seeds[number] if seeds else 0
        updates = optimizer.steps + number + 1
        step.rate = lr if optimizer.descends else lr / (1 - BETA1**updates)
        step.keep, step.root = 1 - lr * optimizer.decay, (1 - BETA2**updates) ** -0.5
    return steps


def _point_to(step: ops.Step, batch: Batch) -> None:
    assert batch.inputs.is_contiguous()
    assert batch.lengths.is_contiguous()
    assert batch.targets.is_contiguous()
    step.batch, step.steps = batch.inputs.shape[:2]
    step.inputs, step.lengths = batch.inputs.data_ptr(), batch.lengths.data_ptr()
