import pytest
import torch
from torch import Tensor, nn
from variant_laws import VARIANT_LAWS

from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError
from rnnlab.models.base import Encoder
from rnnlab.models.dilated import Dilated
from rnnlab.testing import ARCHITECTURE_LAWS

LENGTHS = torch.tensor([9, 1, 5])


def by_conv1d(encoder: Encoder, settings: Dilated, x: Tensor) -> Tensor:
    """One sequence (T, D) through ``nn.Conv1d`` with the encoder's weights → (T, hidden)."""
    for layer in range(settings.layers):
        dilation = 2**layer
        conv = nn.Conv1d(x.shape[1], settings.hidden, settings.width, dilation=dilation)
        weight = encoder.get_parameter(f"blocks.{layer}.convolution.filters.weight")
        bias = encoder.get_parameter(f"blocks.{layer}.convolution.filters.bias")
        weight = weight.view(settings.hidden, settings.width, x.shape[1]).transpose(1, 2)
        conv.load_state_dict({"weight": weight, "bias": bias})
        span = dilation * (settings.width - 1)
        behind = dilation * ((settings.width - 1) // 2) if settings.look_ahead else span
        added = conv(nn.functional.pad(x.T, (behind, span - behind))).relu().T
        if settings.residual and x.shape[1] == settings.hidden:
            x = x + added
        elif settings.residual:
            x = x @ encoder.get_parameter(f"blocks.{layer}.around.weight").T + added
        else:
            x = added
    return x


@pytest.mark.parametrize("look_ahead", [True, False])
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize(("width", "input_width"), [(3, 6), (2, 8), (4, 6)])
def test_blocks_are_convolutions_of_each_sequence_alone(
    look_ahead: bool, residual: bool, width: int, input_width: int
) -> None:
    torch.manual_seed(0)
    settings = Dilated(hidden=8, layers=3, width=width, look_ahead=look_ahead, residual=residual)
    encoder = settings.build(input_width)
    x = torch.randn(3, 9, input_width)
    encoded = encoder(x, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        expected = by_conv1d(encoder, settings, x[row, :length])
        torch.testing.assert_close(encoded.states[row, :length], expected)
        torch.testing.assert_close(encoded.summary[row], expected.amax(0))


@pytest.mark.parametrize(
    ("width", "layers", "look_ahead", "behind", "ahead"),
    [
        (3, 1, True, 1, 1),
        (3, 4, True, 15, 15),
        (2, 3, True, 0, 7),
        (4, 3, True, 7, 14),
        (2, 4, False, 15, 0),
        (3, 3, False, 14, 0),
    ],
)
def test_what_a_state_sees(width: int, layers: int, look_ahead: bool, behind: int, ahead: int) -> None:
    """1 + (width - 1)(2^layers - 1) steps, all but the token itself behind it unless ``look_ahead``."""
    torch.manual_seed(0)
    encoder = Dilated(hidden=8, width=width, layers=layers, look_ahead=look_ahead, activation="tanh").build(3)
    x = torch.randn(1, 41, 3, requires_grad=True)
    encoder(x, torch.tensor([41])).states[0, 20].sum().backward()
    assert x.grad is not None
    seen = x.grad[0].abs().sum(1).nonzero().flatten().tolist()
    assert behind + 1 + ahead == 1 + (width - 1) * (2**layers - 1)
    assert seen == list(range(20 - behind, 20 + ahead + 1))


def test_causal_unless_it_looks_ahead() -> None:
    assert Dilated(look_ahead=False).causal
    assert not Dilated().causal
    torch.manual_seed(0)
    x, lengths = torch.randn(2, 8, 5), torch.tensor([8, 8])
    later = torch.cat([x[:, :5], torch.randn(2, 3, 5)], dim=1)
    for look_ahead in (True, False):
        encoder = Dilated(hidden=8, look_ahead=look_ahead).build(5).requires_grad_(False)
        difference = (encoder(x, lengths).states - encoder(later, lengths).states)[:, :5].abs().max()
        assert (float(difference) > 1e-3) == look_ahead


def test_padding_stays_out_although_biases_fill_it() -> None:
    torch.manual_seed(0)
    encoder = Dilated(hidden=8).build(5).requires_grad_(False)
    for layer in range(4):
        encoder.get_parameter(f"blocks.{layer}.convolution.filters.bias").fill_(10.0)
    x = torch.randn(1, 4, 5)
    alone = encoder(x, torch.tensor([4])).summary
    padded = encoder(torch.cat([x, 100 * torch.randn(1, 40, 5)], dim=1), torch.tensor([4])).summary
    torch.testing.assert_close(alone, padded)


def test_a_width_of_its_own_needs_a_projection_and_the_same_width_none() -> None:
    names = [name for name, _ in Dilated(hidden=8, layers=2).build(6).named_parameters()]
    assert [name for name in names if "around" in name] == ["blocks.0.around.weight"]
    assert not [name for name, _ in Dilated(hidden=8, layers=2).build(8).named_parameters() if "around" in name]
    assert not [n for n, _ in Dilated(hidden=8, residual=False).build(6).named_parameters() if "around" in n]


def test_dropout_acts_in_training_only() -> None:
    torch.manual_seed(0)
    encoder = Dilated(hidden=8, layers=1, dropout=0.5).build(5)
    x = torch.randn(3, 9, 5)
    assert not torch.equal(encoder(x, LENGTHS).summary, encoder(x, LENGTHS).summary)
    encoder.eval()
    assert torch.equal(encoder(x, LENGTHS).summary, encoder(x, LENGTHS).summary)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 1}, "model.width: .*greater than or equal to 2"),
        ({"layers": 11}, "model.layers: .*less than or equal to 10"),
        ({"layers": 0}, "model.layers: "),
        ({"activation": "sine"}, "model.activation: "),
        ({"dilation": 2}, "model.dilation: unknown key of 'dilated'"),
    ],
)
def test_impossible_settings_are_errors(values: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(Dilated, values, "model")


@pytest.mark.parametrize("law", VARIANT_LAWS)
@pytest.mark.parametrize(
    "settings",
    [
        Dilated(hidden=6, layers=3, look_ahead=False, pooling="last"),  # as wide as the input of the laws
        Dilated(hidden=16, layers=2, width=2, residual=False, activation="gelu", pooling="attention"),
        Dilated(hidden=16, layers=10, width=4, activation="tanh", dropout=0.1, pooling="mean"),
    ],
    ids=["causal", "plain", "deep"],
)
def test_laws_hold(settings: Dilated, law: str) -> None:
    ARCHITECTURE_LAWS[law](settings)
