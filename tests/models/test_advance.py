"""Reading that goes on from a state: any cut of the steps gives one answer, and the laws catch those that don't."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rnnlab.answers.heads import StateHead, SummaryHead
from rnnlab.core.errors import ConfigError, DataError
from rnnlab.kernels import switched_off
from rnnlab.models.base import ARCHITECTURES, Architecture, Encoded, Encoder, State
from rnnlab.models.network import Network, build_network
from rnnlab.models.pooling import Pool, zero_padding
from rnnlab.testing import ARCHITECTURE_LAWS
from rnnlab.testing.advance_laws import check_parts

CAUSAL: list[dict[str, Any]] = [
    {"kind": "rnn", "hidden": 5, "pooling": "last"},
    {"kind": "lstm", "hidden": 5, "layers": 2, "residual": True, "pooling": "first+last"},
    {"kind": "lstm", "hidden": 5, "layer_norm": True, "initial_state": "learned", "pooling": "mean"},
    {"kind": "gru", "hidden": 5, "state": "carried", "pooling": "attention"},
    {"kind": "gru", "hidden": 5, "reset": "before", "checkpoint_segments": 3},
    {"kind": "minlstm", "hidden": 5, "layers": 2, "scan": "parallel"},
    {"kind": "dilated", "hidden": 5, "layers": 3, "look_ahead": False},
    {"kind": "transformer", "width": 8, "heads": 2, "look_ahead": False, "pooling": "max"},
    {"kind": "linear", "hidden": 5},
    {"kind": "textcnn", "widths": [1], "filters": 3},
]


def named(values: dict[str, Any]) -> str:
    return "-".join(map(str, values.values()))


def shaken(encoder: Encoder) -> Encoder:
    """Where it starts isn't zero."""
    with torch.no_grad():
        for name, value in encoder.state_dict().items():
            if name in ("start", "resting"):
                value.normal_()
    return encoder.eval().requires_grad_(False)


@pytest.mark.parametrize("native", [True, False], ids=["native", "torch"])
@pytest.mark.parametrize("values", CAUSAL, ids=named)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    parts=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    ends=st.lists(st.integers(0, 25), min_size=1, max_size=5),
    seed=st.integers(0, 99),
)
def test_any_cut_gives_the_states_of_one_pass(
    values: dict[str, Any], native: bool, parts: list[int], ends: list[int], seed: int
) -> None:
    torch.manual_seed(seed)
    encoder = shaken(ARCHITECTURES.parse(values).build(3))
    lengths = torch.tensor(ends).clamp(max=sum(parts))
    x = torch.randn(len(ends), sum(parts), 3)
    if native:
        check_parts(encoder, x, lengths, parts)
    else:
        with switched_off():
            check_parts(encoder, x, lengths, parts)


def network_of(values: dict[str, Any], reads: Any = "summary") -> Network:
    torch.manual_seed(0)
    return build_network(
        ARCHITECTURES.parse({"embedding": {"width": 4}, **values}),
        words=20,
        features=None,
        pretrained=None,
        head=lambda width: (SummaryHead if reads == "summary" else StateHead)(width, 3),
        reads=reads,
    ).eval()


@pytest.mark.parametrize("reads", ["summary", "states"])
@pytest.mark.parametrize("values", CAUSAL, ids=named)
def test_a_network_answers_after_every_token(values: dict[str, Any], reads: str) -> None:
    network, ids = network_of(values, reads), torch.randint(1, 20, (2, 8))
    state, one = network.begin(2), torch.ones(2, dtype=torch.int64)
    with torch.no_grad():
        for step in range(8):
            found, state = network.advance(ids[:, step : step + 1], one, state)
            expected = network(ids[:, : step + 1], one * (step + 1))
            found, expected = (found, expected) if reads == "summary" else (found[:, 0], expected[:, step])
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("values", [{"kind": "gru", "bidirectional": True}, {"kind": "transformer"}], ids=named)
def test_what_reads_ahead_is_refused_with_what_to_do(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"reads what comes later.*bidirectional = false, look_ahead = false"):
        network_of(values).begin(1)


def test_learned_positions_end_where_they_end() -> None:
    network = network_of({"kind": "transformer", "look_ahead": False, "positions": "learned", "max_length": 3})
    ids, three = torch.randint(1, 20, (1, 3)), torch.tensor([3])
    _, state = network.advance(ids, three, network.begin(1))
    with pytest.raises(DataError, match="a sequence has 6 steps"):
        network.advance(ids, three, state)


# Negative controls


class Sums(Encoder):
    """h_t = x_1 + … + x_t."""

    def __init__(self, width: int):
        super().__init__()
        self.project = nn.Linear(width, 4, bias=False)
        self.state_width, self.pool = 4, Pool("last", 4)
        self.width = 4

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        states = zero_padding(self.project(x).cumsum(1), lengths)
        return Encoded(states, *self.pool(states, lengths))


class Carrying(Sums):
    """As it should be, fast."""

    def _begin(self, rows: int) -> State:
        return (torch.zeros(rows, 4),)

    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        states = zero_padding(state[0][:, None] + zero_padding(self.project(x), lengths).cumsum(1), lengths)
        return states, (state[0] + zero_padding(self.project(x), lengths).sum(1),)


class Forgetful(Carrying):
    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        return super().advance(x, lengths, self._begin(len(x)))


class ReadsPadding(Carrying):
    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        states, _ = super().advance(x, lengths, state)
        return states, (state[0] + self.project(x).sum(1),)


class LeavesPadding(Carrying):
    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        states, after = super().advance(x, lengths, state)
        return states + 1e-3, after


class TimeFirst(Carrying):
    """Its state lies the other way round."""

    def _begin(self, rows: int) -> State:
        return (torch.zeros(4, rows),)

    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        states, after = super().advance(x, lengths, (state[0].t(),))
        return states, (after[0].t(),)


class Shares(Carrying):
    """One row hears of another."""

    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        return super().advance(x, lengths, (state[0] + 1e-2 * (state[0].mean(0) - state[0]) * (len(x) != 6),))


class Writes(Carrying):
    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        states, after = super().advance(x, lengths, state)
        state[0].copy_(after[0])
        return states, after


def own(encoder: type[Encoder], causal: bool = True) -> Architecture:
    class Own(Architecture):
        kind = "own"

        @property
        def causal(self) -> bool:
            return causal

        def build(self, input_width: int) -> Encoder:
            return encoder(input_width)

    return Own()


LAWS = [name for name in ARCHITECTURE_LAWS if any(word in name for word in ("advanc", "rows_of_a_state", "between"))]


@pytest.mark.parametrize("encoder", [Sums, Carrying])
def test_one_that_keeps_the_laws(encoder: type[Encoder]) -> None:
    """The first has no way of its own, and reads everything anew."""
    assert len(LAWS) == 5
    for law in LAWS:
        ARCHITECTURE_LAWS[law](own(encoder))


@pytest.mark.parametrize(
    ("encoder", "law", "complaint"),
    [
        (Forgetful, "advance_in_parts_is_one_forward", "the states in parts of .* differ by"),
        (ReadsPadding, "padding_between_parts_is_not_read", "the states of a row that read"),
        (LeavesPadding, "advance_in_parts_is_one_forward", "states at padding are not zero"),
        (TimeFirst, "rows_of_a_state_are_rows_of_the_batch", "a state of 6 sequences has tensors"),
        (Shares, "rows_of_a_state_are_rows_of_the_batch", "chosen rows"),
        (Writes, "advancing_changes_no_state", "written to"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_mistake_is_caught(encoder: type[Encoder], law: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        ARCHITECTURE_LAWS[law](own(encoder))


def test_one_that_reads_ahead_and_begins_all_the_same_is_caught() -> None:
    class Willing(Sums):
        def begin(self, rows: int) -> State:
            return self._begin(rows)

    with pytest.raises(AssertionError, match="begins all the same"):
        ARCHITECTURE_LAWS["what_reads_ahead_refuses_to_advance"](own(Willing, causal=False))
