import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError
from rnnlab.kernels import switched_off
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.cells import LSTMCell
from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent, mirror, mirror_order

LENGTHS = torch.tensor([5, 2, 4, 1])


def batch(width: int) -> Tensor:
    return torch.randn(len(LENGTHS), 5, width, generator=torch.Generator().manual_seed(7))


def weights_of(cell: nn.Module) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    w_x, w_h, b_x, b_h = (cell.get_parameter(name).detach() for name in names)
    return w_x, w_h, b_x, b_h


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_rnn_is_the_textbook_recurrence(activation: str) -> None:
    torch.manual_seed(0)
    encoder = parse(RNN, {"hidden": 4, "activation": activation}).build(3).eval()
    w_x, w_h, b_x, b_h = weights_of(encoder.get_submodule("ahead.0"))
    x, h = batch(3), torch.zeros(4, 4)
    states = encoder(x, LENGTHS).states
    for t in range(5):
        h = getattr(torch, activation)(x[:, t] @ w_x.T + h @ w_h.T + b_x + b_h)
        real = t < LENGTHS
        torch.testing.assert_close(states[real, t], h[real])


def test_lstm_is_the_textbook_recurrence() -> None:
    torch.manual_seed(0)
    encoder = LSTM(hidden=4, forget_bias=1.5).build(3).eval()
    w_x, w_h, b_x, b_h = weights_of(encoder.get_submodule("ahead.0"))
    x, h, c = batch(3), torch.zeros(4, 4), torch.zeros(4, 4)
    states = encoder(x, LENGTHS).states
    for t in range(5):
        i, f, g, o = (x[:, t] @ w_x.T + h @ w_h.T + b_x + b_h).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        real = t < LENGTHS
        torch.testing.assert_close(states[real, t], h[real])


def gru_step(cell: nn.Module, x: Tensor, h: Tensor, reset: str) -> Tensor:
    """One step of docs/decisions/0003, in either convention."""
    w_x, w_h, b_x, b_h = (tensor.chunk(3) for tensor in weights_of(cell))  # torch's order: reset, update, new
    r = (x @ w_x[0].T + b_x[0] + h @ w_h[0].T + b_h[0]).sigmoid()
    z = (x @ w_x[1].T + b_x[1] + h @ w_h[1].T + b_h[1]).sigmoid()
    product = r * (h @ w_h[2].T + b_h[2]) if reset == "after" else (r * h) @ w_h[2].T + b_h[2]
    n = (x @ w_x[2].T + b_x[2] + product).tanh()
    return (1 - z) * n + z * h


def test_gru_resets_after_the_matrix_product() -> None:
    torch.manual_seed(0)
    encoder = GRU(hidden=4).build(3).eval()
    cell = encoder.get_submodule("ahead.0")
    x = batch(3)
    states = encoder(x, torch.full((4,), 5)).states.detach()
    after = before = torch.zeros(4, 4)
    for t in range(5):
        after, before = gru_step(cell, x[:, t], after, "after"), gru_step(cell, x[:, t], before, "before")
        torch.testing.assert_close(states[:, t], after)
    assert float((after - before).abs().max()) > 1e-3, "the two conventions are different functions"


def test_the_numbers_of_decision_0003() -> None:
    cell = nn.GRU(1, 2)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        w_h, b_x = cell.get_parameter("weight_hh_l0"), cell.get_parameter("bias_ih_l0")
        b_x[0], b_x[1] = 2, -2  # reset gates 0.881 and 0.119
        w_h[4:] = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    x, h = torch.zeros(1, 1), torch.tensor([[1.0, 0.5]])
    after, before = gru_step(cell, x, h, "after"), gru_step(cell, x, h, "before")
    torch.testing.assert_close(cell(x[None], h[None])[0][0], after)
    assert [round(v, 3) for v in after[0].tolist()] == [0.707, 0.309]
    assert [round(v, 3) for v in before[0].tolist()] == [0.530, 0.603]


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 3])
def test_both_directions_agree_with_packed_sequences(kind: str, layers: int) -> None:
    """torch's own layers, on packed input, are the reference that we don't use for speed and export."""
    torch.manual_seed(0)
    settings = ARCHITECTURES.parse(
        {"kind": kind, "hidden": 4, "layers": layers, "bidirectional": True, "pooling": "last"}
    )
    encoder = settings.build(3).eval()
    reference = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind](
        3, 4, num_layers=layers, bidirectional=True, batch_first=True
    )
    copied = {}
    for layer in range(layers):
        for module, suffix in (("ahead", ""), ("back", "_reverse")):
            for name, value in encoder.get_submodule(f"{module}.{layer}").named_parameters():
                copied[name.replace("l0", f"l{layer}{suffix}")] = value
    reference.load_state_dict(copied)

    packed = pack_padded_sequence(batch(3), LENGTHS, batch_first=True, enforce_sorted=False)
    output, final = reference(packed)
    final = final[0] if kind == "lstm" else final  # (2 layers, B, H)
    encoded = encoder(batch(3), LENGTHS)
    torch.testing.assert_close(encoded.states, pad_packed_sequence(output, batch_first=True)[0])
    torch.testing.assert_close(encoded.summary, torch.cat([final[-2], final[-1]], dim=1))


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    extra=st.integers(0, 3),
)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_mirror_turns_each_sequence_round_within_its_length(lengths: list[int], extra: int) -> None:
    steps = max(lengths) + extra
    x = torch.arange(len(lengths) * steps * 2, dtype=torch.float32).view(len(lengths), steps, 2)
    order = mirror_order(torch.tensor(lengths), steps)
    mirrored = mirror(x, order)
    for row, length in enumerate(lengths):
        assert torch.equal(mirrored[row, :length], x[row, :length].flip(0))
        assert torch.equal(mirrored[row, length:], x[row, length:])
    assert torch.equal(mirror(mirrored, order), x)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_forget_bias_is_that_of_both_vectors_together(bidirectional: bool) -> None:
    encoder = LSTM(hidden=5, layers=2, bidirectional=bidirectional).build(3)
    cells = [module for module in encoder.modules() if isinstance(module, LSTMCell)]
    assert len(cells) == (4 if bidirectional else 2)
    for cell in cells:
        _, _, b_x, b_h = weights_of(cell)
        assert (b_x + b_h)[5:10].tolist() == [1.0] * 5
        others = (b_x + b_h)[[0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]]
        assert bool((others.abs() > 0).all())
        assert bool((others.abs() <= 2 * 5**-0.5).all())


def test_the_sizes_of_the_documents() -> None:
    encoder = RNN().build(50)
    assert {name: p.numel() for name, p in encoder.named_parameters() if "weight" in name} == {
        "ahead.0.weight_ih_l0": 128 * 50,
        "ahead.0.weight_hh_l0": 128 * 128,
    }
    ends = LSTM(bidirectional=True, layers=2, pooling="first+last").build(50)
    assert (ends.state_width, ends.width) == (256, 512)


def test_dropout_lies_between_layers_and_only_in_training() -> None:
    torch.manual_seed(0)
    encoder = GRU(hidden=8, layers=2, dropout=0.5).build(3)
    x = batch(3)
    assert not torch.equal(encoder(x, LENGTHS).summary, encoder(x, LENGTHS).summary)
    seen = []
    encoder.get_submodule("ahead.0").register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with switched_off():  # native code runs past the single layers
        encoder(x, LENGTHS)
    assert torch.equal(seen[0], x), "the input of the first layer is not dropped"


@pytest.mark.parametrize("cls", [RNN, LSTM, GRU])
def test_dropout_that_would_be_ignored_is_an_error(cls: type[Recurrent]) -> None:
    with pytest.raises(ConfigError, match=r"model: dropout = 0\.5 lies between layers and would be ignored"):
        parse(cls, {"dropout": 0.5}, "model")
    assert parse(cls, {"dropout": 0.5, "layers": 2}).layers == 2


@pytest.mark.parametrize(
    ("cls", "values", "message"),
    [
        (LSTM, {"activation": "relu"}, "activation: unknown key of 'lstm'"),
        (RNN, {"forget_bias": 1}, "forget_bias: unknown key of 'rnn'"),
        (RNN, {"activation": "sigmoid"}, "activation: "),
        (GRU, {"layers": 9}, "layers: "),
        (GRU, {"hiden": 9}, "hiden: unknown key of 'gru'; did you mean 'hidden'"),
    ],
)
def test_settings_of_another_architecture_are_errors(cls: type[Recurrent], values: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(cls, values)


def test_causal_in_one_direction_only() -> None:
    assert RNN().causal
    assert not RNN(bidirectional=True).causal
