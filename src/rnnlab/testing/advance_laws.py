"""The laws of encoders that go on from a state: ``begin`` and ``advance``, part of `check_architecture`."""

from collections.abc import Callable, Sequence
from functools import wraps

import torch
from torch import Tensor, nn

from rnnlab.core.errors import ConfigError
from rnnlab.models.base import Architecture, Encoded, Encoder, State, select_rows
from rnnlab.models.network import Network
from rnnlab.models.pooling import Pool
from rnnlab.testing.suite import close

LENGTHS = (9, 1, 4, 0, 9, 6)  # of the sequences: one ends with the first step, one never begins
CUTS = 6  # ways to cut the steps that a law tries


def _of_what_reads_the_past_alone(check: Callable[[Encoder, int], None]) -> Callable[[Architecture, int], None]:
    """Holds an encoder in evaluation mode, as a network has it."""

    @wraps(check)
    def held(architecture: Architecture, input_width: int) -> None:
        if architecture.causal:
            encoder = architecture.build(input_width).eval().requires_grad_(False)
            encoder.causal = True
            check(encoder, input_width)

    return held


@_of_what_reads_the_past_alone
def advance_in_parts_is_one_forward(encoder: Encoder, input_width: int) -> None:
    """States, read in parts of any sizes, are those of one pass, for sequences that end anywhere; and so is the
    summary, carried from part to part."""
    x, lengths = _batch(input_width)
    for parts in _cuts(x.shape[1]):
        check_parts(encoder, x, lengths, parts)


def check_parts(encoder: Encoder, x: Tensor, lengths: Tensor, parts: Sequence[int]) -> None:
    """Hold an encoder to that for one way to cut ``x`` (B, T, D); ``lengths`` (B,) may be 0."""
    whole = encoder(x, lengths.clamp(min=1))
    begun = lengths > 0
    network = Network(None, encoder, 0.0, _Summary()) if isinstance(getattr(encoder, "pool", None), Pool) else None
    state = encoder.begin(len(x))
    carried = network.begin(len(x)) if network is not None else ()
    summary, states, first = whole.summary, [], 0
    for steps in parts:
        part, left = x[:, first : first + steps], (lengths - first).clamp(0, steps)
        found, state = encoder.advance(part, left, state)
        assert not found[torch.arange(steps) >= left[:, None]].any(), "states at padding are not zero"
        states.append(found)
        if network is not None:
            summary, carried = network.advance(part, left, carried)
        first += steps
    how = f"in parts of {', '.join(map(str, parts))} steps"
    close(torch.cat(states, dim=1)[begun], whole.states[begun], f"the states {how}, and of one pass,")
    close(summary[begun], whole.summary[begun], f"the summary {how}, and of one pass,")


@_of_what_reads_the_past_alone
def padding_between_parts_is_not_read(encoder: Encoder, input_width: int) -> None:
    """A row that had less to read than the others goes on where it was: whatever stood at its padding, its states are
    those of what it read in one piece."""
    parts = torch.randn(3, 4, 3, input_width)  # three parts of three steps, for four rows
    lengths = torch.tensor([[2, 0, 1, 3], [1, 3, 0, 3], [3, 2, 2, 1]])
    state, found = encoder.begin(4), []
    for part, own in zip(parts, lengths, strict=True):
        states, state = encoder.advance(part, own, state)
        found.append(states)
    for row, own in enumerate(lengths.t().tolist()):
        read, seen = (
            torch.cat([part[row, :length] for part, length in zip(of, own, strict=True)]) for of in (parts, found)
        )
        whole = encoder(read[None], torch.tensor([len(read)])).states[0]
        close(seen, whole, f"the states of a row that read {own} of 3 steps a part, and of one pass,")


@_of_what_reads_the_past_alone
def rows_of_a_state_are_rows_of_the_batch(encoder: Encoder, input_width: int) -> None:
    """Tensors of a state are batch first, and to choose rows of them is to choose rows of the batch: twice, in another
    order, or without some, as a beam does."""
    x, lengths = _batch(input_width)
    half, chosen = 5, torch.tensor([4, 0, 4, 5])
    _, state = encoder.advance(x[:, :half], lengths.clamp(max=half), encoder.begin(len(x)))
    _batch_first(state, len(x))
    picked = select_rows(state, chosen)
    left = (lengths - half).clamp(min=0)
    states, after = encoder.advance(x[:, half:], left, state)
    found, found_after = encoder.advance(x[chosen][:, half:], left[chosen], picked)
    close(found, states[chosen], "states that go on from chosen rows, and chosen rows of all,")
    _batch_first(found_after, len(chosen))
    for one, other in zip(found_after, select_rows(after, chosen), strict=True):
        close(one.to(x.dtype), other.to(x.dtype), "the state after it, of chosen rows, and chosen rows of all,")


@_of_what_reads_the_past_alone
def advancing_changes_no_state(encoder: Encoder, input_width: int) -> None:
    """A state can be gone on from twice: nothing is written into it."""
    x, lengths = _batch(input_width)
    _, state = encoder.advance(x[:, :5], lengths.clamp(max=5), encoder.begin(len(x)))
    kept = [part.clone() for part in state]
    for _ in range(2):
        encoder.advance(x[:, 5:], (lengths - 5).clamp(min=0), state)
    assert all(torch.equal(one, other) for one, other in zip(state, kept, strict=True)), "the state was written to"


def what_reads_ahead_refuses_to_advance(architecture: Architecture, input_width: int) -> None:
    """An architecture that isn't causal says so when it is asked to go on from a state."""
    if architecture.causal:
        return
    encoder = architecture.build(input_width)
    encoder.causal = architecture.causal
    try:
        encoder.begin(2)
    except ConfigError:
        return
    raise AssertionError("it reads what comes later, and begins all the same")


ADVANCING = (
    advance_in_parts_is_one_forward,
    padding_between_parts_is_not_read,
    rows_of_a_state_are_rows_of_the_batch,
    advancing_changes_no_state,
    what_reads_ahead_refuses_to_advance,
)


class _Summary(nn.Module):
    def forward(self, encoded: Encoded) -> Tensor:
        return encoded.summary


def _batch(input_width: int) -> tuple[Tensor, Tensor]:
    """Random sequences of `LENGTHS`; what stands at padding is anything."""
    return torch.randn(len(LENGTHS), max(LENGTHS), input_width), torch.tensor(LENGTHS)


def _cuts(steps: int) -> list[list[int]]:
    """All at once, one by one, and some at random."""
    found = [[steps], [1] * steps]
    for _ in range(CUTS - 2):
        at = (torch.rand(steps - 1) < 0.4).nonzero().flatten() + 1
        found.append(torch.diff(torch.tensor([0, *at.tolist(), steps])).tolist())
    return found


def _batch_first(state: State, rows: int) -> None:
    shapes = [tuple(part.shape) for part in state]
    assert all(shape[:1] == (rows,) for shape in shapes), f"a state of {rows} sequences has tensors {shapes}"
