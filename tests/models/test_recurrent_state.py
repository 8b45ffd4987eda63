"""Where a sequence starts (``initial_state``), what the next one is told (``state``), and the document's True, False
and Zero."""

import pytest
import torch
from torch import Tensor, nn

from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError
from rnnlab.kernels import switched_off
from rnnlab.models.base import ARCHITECTURES, Encoder
from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent

LENGTHS = torch.tensor([5, 2, 4, 1])
KINDS = ["rnn", "lstm", "gru"]


def batch(seed: int = 7, rows: int = 4) -> Tensor:
    return torch.randn(rows, 5, 3, generator=torch.Generator().manual_seed(seed))


def build(kind: str, **settings: object) -> Encoder:
    torch.manual_seed(0)
    return ARCHITECTURES.parse({"kind": kind, "hidden": 6, **settings}).build(3)


def carried(encoder: Encoder) -> Tensor:
    """(layers, parts, B, H), a copy."""
    assert encoder.carried is not None
    return encoder.carried.clone()


def state_after(encoder: Encoder, kind: str, layer: int, x: Tensor, length: int, start: Tensor) -> Tensor:
    """(parts, H): the state of one sequence after its last real step, by torch's own layer from ``start``."""
    theirs = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind](x.shape[1], 6)
    theirs.load_state_dict(encoder.get_submodule(f"ahead.{layer}").state_dict())
    _, end = theirs(x[:length], (start[:1], start[1:]) if kind == "lstm" else start)  # (1, H) each
    return (torch.cat(end) if kind == "lstm" else end).detach()


# True, False and Zero


@pytest.mark.parametrize("torch_class", [nn.RNN, nn.LSTM, nn.GRU])
def test_false_and_zero_are_the_same_computation_to_the_bit(torch_class: type[nn.RNN | nn.GRU | nn.LSTM]) -> None:
    """``rnn(x)`` (False) and ``rnn(x, zeros)`` (Zero): states, gradients and weights over ten steps of training."""
    torch.manual_seed(0)
    without, with_zeros = torch_class(3, 6, num_layers=2), torch_class(3, 6, num_layers=2)
    with_zeros.load_state_dict(without.state_dict())
    zeros = torch.zeros(2, 4, 6)
    start = (zeros, zeros) if torch_class is nn.LSTM else zeros
    for step in range(10):
        x = batch(step).transpose(0, 1)
        states = [without(x)[0], with_zeros(x, start)[0]]
        assert torch.equal(*states)
        for module, out in zip((without, with_zeros), states, strict=True):
            module.zero_grad()
            out.square().mean().backward()
        with torch.no_grad():
            for one, other in zip(without.parameters(), with_zeros.parameters(), strict=True):
                assert one.grad is not None
                assert other.grad is not None
                assert torch.equal(one.grad, other.grad)
                one -= 0.1 * one.grad
                other -= 0.1 * other.grad
    assert all(torch.equal(a, b) for a, b in zip(without.parameters(), with_zeros.parameters(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_our_cells_too_give_the_same_bits_with_zeros_and_without(kind: str) -> None:
    cell = build(kind).get_submodule("ahead.0")
    zeros = (torch.zeros(4, 6),) * (2 if kind == "lstm" else 1)
    found = []
    for start in ((), zeros):
        cell.zero_grad()
        states, _ = cell(batch(), start)
        states.square().sum().backward()
        found.append((states, [parameter.grad for parameter in cell.parameters()]))
    assert torch.equal(found[0][0], found[1][0])
    assert all(torch.equal(a, b) for a, b in zip(found[0][1], found[1][1], strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_inside_a_sequence_the_state_is_always_passed_on(kind: str) -> None:
    """Even from zeros, a changed first token changes the last state: that is why False and Zero can learn to carry."""
    encoder = build(kind, initial_state="zeros", state="reset").eval()
    x = batch()
    changed = x.clone()
    changed[:, 0] += 1
    lengths = torch.full((4,), 5)
    assert bool((encoder(x, lengths).summary != encoder(changed, lengths).summary).any(1).all())


# Initial state


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("settings", "spread"),
    [
        ({"initial_state": "normal"}, 1.0),
        ({"initial_state": "normal", "initial_scale": 10}, 10.0),
        ({"initial_state": "xavier"}, 400**-0.5),
        ({"initial_state": "xavier-he"}, (2 / 400) ** 0.5),
    ],
)
@switched_off()  # the single layers are watched, and native code runs past them
def test_random_starts_have_their_spread_differ_by_row_and_are_off_in_evaluation(
    kind: str, settings: dict, spread: float
) -> None:
    encoder = build(kind, **{**settings, "hidden": 400, "layers": 2})
    starts: list[tuple[Tensor, ...]] = []
    for layer in ("ahead.0", "ahead.1"):
        encoder.get_submodule(layer).register_forward_pre_hook(lambda _, given: starts.append(given[1]))
    encoder(batch(), LENGTHS)
    encoder(batch(), LENGTHS)
    drawn = torch.stack([part for start in starts for part in start])  # (2 calls · 2 layers · parts, B, H)
    assert len(drawn) == (8 if kind == "lstm" else 4)
    assert abs(float(drawn.std()) / spread - 1) < 0.05
    assert abs(float(drawn.mean())) < 0.1 * spread
    assert len(drawn.flatten().unique()) > 0.99 * drawn.numel(), "every row, layer, part and call draws its own"
    starts.clear()
    encoder.eval()(batch(), LENGTHS)
    assert starts == [(), ()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_learned_start_is_used_in_evaluation_and_gets_a_gradient(kind: str, bidirectional: bool) -> None:
    encoder = build(kind, initial_state="learned", bidirectional=bidirectional, layers=2)
    zeros = build(kind, bidirectional=bidirectional, layers=2)
    start = encoder.get_parameter("start")
    assert start.shape == (2 if bidirectional else 1, 2, 2 if kind == "lstm" else 1, 6)
    torch.testing.assert_close(encoder(batch(), LENGTHS).states, zeros(batch(), LENGTHS).states)  # it begins at zero
    nn.init.normal_(start)
    encoder.eval()
    states = encoder(batch(), LENGTHS).states
    assert float((states - zeros.eval()(batch(), LENGTHS).states).detach().abs().max()) > 0.05
    states.square().sum().backward()
    assert start.grad is not None
    assert bool((start.grad.abs() > 0).all())


# Carried between batches


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [1, 2])
def test_the_next_batch_starts_where_the_last_one_ended_row_by_row(kind: str, layers: int) -> None:
    encoder = build(kind, state="carried", layers=layers)
    parts = 2 if kind == "lstm" else 1
    first, second = batch(1), batch(2)
    states = encoder(first, LENGTHS).states
    before = carried(encoder)
    assert before.shape == (layers, parts, 4, 6)
    assert not before.requires_grad
    torch.testing.assert_close(before[-1, 0], states.detach()[torch.arange(4), LENGTHS - 1])
    zeros = torch.zeros(parts, 6)
    for row, length in enumerate(LENGTHS.tolist()):
        expected = state_after(encoder, kind, 0, first[row], length, zeros)
        torch.testing.assert_close(before[0, :, row], expected)
    encoder(second, torch.tensor([1, 5, 3, 5]))
    for row, length in enumerate([1, 5, 3, 5]):
        expected = state_after(encoder, kind, 0, second[row], length, before[0, :, row])
        torch.testing.assert_close(carried(encoder)[0, :, row], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_full_batches_and_padded_ones_carry_alike(kind: str) -> None:
    """Sequences of one length take the fused way, others the one that stands still at padding."""
    full, padded = build(kind, state="carried"), build(kind, state="carried")
    lengths = torch.full((4,), 5)
    full(batch(), lengths)
    padded(torch.cat([batch(), torch.randn(4, 2, 3)], dim=1), lengths)
    torch.testing.assert_close(carried(full), carried(padded))


@pytest.mark.parametrize("initial", ["zeros", "normal"])
def test_a_smaller_batch_uses_its_rows_and_leaves_the_others(initial: str) -> None:
    encoder = build("gru", state="carried", initial_state=initial)
    encoder(batch(1), LENGTHS)
    before = carried(encoder)
    encoder(batch(2, rows=2), LENGTHS[:2])
    assert carried(encoder).shape == before.shape
    assert torch.equal(carried(encoder)[:, :, 2:], before[:, :, 2:])
    assert not torch.equal(carried(encoder)[:, :, :2], before[:, :, :2])
    for row, length in enumerate(LENGTHS[:2].tolist()):
        expected = state_after(encoder, "gru", 0, batch(2, rows=2)[row], length, before[0, :, row])
        torch.testing.assert_close(carried(encoder)[0, :, row], expected)


def test_a_larger_batch_starts_its_new_rows_afresh() -> None:
    encoder = build("lstm", state="carried")
    encoder(batch(1, rows=2), LENGTHS[:2])
    encoder(batch(2), LENGTHS)
    assert carried(encoder).shape == (1, 2, 4, 6)
    for row in (2, 3):
        expected = state_after(encoder, "lstm", 0, batch(2)[row], int(LENGTHS[row]), torch.zeros(2, 6))
        torch.testing.assert_close(carried(encoder)[0, :, row], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_starts_from_the_mean_of_what_is_carried_and_leaves_it_alone(kind: str) -> None:
    encoder = build(kind, state="carried")
    encoder.train()(batch(1), LENGTHS)
    before = carried(encoder)
    after = encoder.eval()(batch(3), LENGTHS)
    assert torch.equal(carried(encoder), before)
    mean = before.mean(dim=2)[0]  # (parts, H) of the first layer
    for row in range(len(LENGTHS)):
        expected = state_after(encoder, kind, 0, batch(3)[row], int(LENGTHS[row]), mean)
        last = after.states[row, LENGTHS[row] - 1]
        torch.testing.assert_close(last, expected[0])


def test_where_evaluation_starts_is_saved_with_the_weights() -> None:
    trained, loaded = build("gru", state="carried"), build("gru", state="carried")
    trained.train()(batch(1), LENGTHS)
    loaded.load_state_dict(trained.state_dict())
    assert torch.equal(trained.eval()(batch(3), LENGTHS).states, loaded.eval()(batch(3), LENGTHS).states)
    assert trained.state_dict()["resting"].abs().max() > 0


def test_no_gradient_flows_into_the_last_batch() -> None:
    encoder = build("rnn", state="carried")
    first = batch(1).requires_grad_()
    encoder(first, LENGTHS)
    encoder(batch(2), LENGTHS).summary.sum().backward()
    assert first.grad is None


# What is refused


@pytest.mark.parametrize(
    ("cls", "values", "message"),
    [
        (RNN, {"initial_scale": 10}, "initial_scale = 10 would be ignored with initial_state = 'zeros'"),
        (GRU, {"initial_state": "xavier", "initial_scale": 2}, "ignored with initial_state = 'xavier'"),
        (LSTM, {"state": "carried", "bidirectional": True}, "state = 'carried' needs bidirectional = false"),
        (GRU, {"state": "carried", "initial_state": "learned"}, "would leave initial_state = 'learned' untrained"),
        (RNN, {"residual": True}, "residual = true leads around the layers after the first"),
        (RNN, {"layer_norm": True, "hidden": 1}, "layer_norm = true would turn the one unit"),
        (RNN, {"initial_state": "zero"}, "initial_state: "),
        (LSTM, {"reset": "before"}, "reset: unknown key of 'lstm'"),
    ],
)
def test_settings_that_would_be_ignored_are_errors(cls: type[Recurrent], values: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(cls, values, "model")


# The other options, on whole encoders


@pytest.mark.parametrize("kind", KINDS)
@switched_off()  # the single layers are watched, and native code runs past them
def test_recurrent_dropout_is_one_mask_a_sequence(kind: str) -> None:
    encoder = build(kind, recurrent_dropout=0.5, hidden=200, layers=2)
    masks: list[Tensor] = []
    for layer in ("ahead.0", "ahead.1"):
        encoder.get_submodule(layer).register_forward_pre_hook(lambda _, given: masks.append(given[2]))
    encoder(batch(), LENGTHS)
    assert [mask.shape for mask in masks] == [(4, 200), (4, 200)], "no time axis: the same for all steps"
    drawn = torch.cat(masks)
    assert set(drawn.flatten().tolist()) == {0.0, 2.0}
    assert abs(float(drawn.mean()) - 1) < 0.1
    assert len({tuple(row) for row in drawn.tolist()}) == 8, "every sequence and layer has its own"
    masks.clear()
    encoder.eval()(batch(), LENGTHS)
    assert masks == [None, None]


@pytest.mark.parametrize("bidirectional", [False, True])
def test_residual_adds_the_input_of_every_layer_after_the_first(bidirectional: bool) -> None:
    encoder = build("gru", layers=3, residual=True, bidirectional=bidirectional).eval()
    x = batch()
    for layer in range(3):
        single = GRU(hidden=6, bidirectional=bidirectional).build(x.shape[2]).eval()
        for direction in ("ahead", "back") if bidirectional else ("ahead",):
            weights = encoder.get_submodule(f"{direction}.{layer}").state_dict()
            single.get_submodule(f"{direction}.0").load_state_dict(weights)
        made = single(x, LENGTHS).states
        x = made if layer == 0 else x + made
    torch.testing.assert_close(encoder(batch(), LENGTHS).states, x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_checkpoint_segments_change_memory_not_gradients(kind: str, bidirectional: bool) -> None:
    answers = []
    for segments in (1, 3):
        encoder = build(
            kind, layers=2, bidirectional=bidirectional, checkpoint_segments=segments, recurrent_dropout=0.3
        )
        x = batch().requires_grad_()
        torch.manual_seed(1)  # of the masks
        summary = encoder(x, LENGTHS).summary
        answers.append([summary, *torch.autograd.grad(summary.square().sum(), [x, *encoder.parameters()])])
    for one, other in zip(*answers, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
