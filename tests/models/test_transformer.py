import math

import pytest
import torch
from torch import nn
from variant_laws import VARIANT_LAWS

from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError, DataError
from rnnlab.models.transformer import SinusoidalPositions, Transformer
from rnnlab.testing import ARCHITECTURE_LAWS

LENGTHS = torch.tensor([6, 2, 4])


@pytest.mark.parametrize("look_ahead", [True, False])
def test_layers_agree_with_torch(look_ahead: bool) -> None:
    """torch's own pre-norm layer, with its biases of query, key and value at zero."""
    torch.manual_seed(0)
    encoder = Transformer(width=12, heads=3, layers=2, feedforward=20, look_ahead=look_ahead).build(5).eval()
    x = torch.randn(3, 6, 5)
    state = encoder.get_submodule("project")(x) + encoder.get_submodule("positions")(6, LENGTHS)
    for number in range(2):
        layer = nn.TransformerEncoderLayer(12, 3, 20, 0.1, "gelu", batch_first=True, norm_first=True).train()
        layer.dropout.p = layer.dropout1.p = layer.dropout2.p = layer.self_attn.dropout = 0.0
        ours = encoder.get_submodule(f"layers.{number}").state_dict()
        layer.load_state_dict(
            {
                "self_attn.in_proj_weight": ours["query_key_value.weight"],
                "self_attn.in_proj_bias": torch.zeros(36),
                "self_attn.out_proj.weight": ours["output.weight"],
                "self_attn.out_proj.bias": ours["output.bias"],
                "norm1.weight": ours["attention_norm.weight"],
                "norm1.bias": ours["attention_norm.bias"],
                "norm2.weight": ours["feedforward.0.weight"],
                "norm2.bias": ours["feedforward.0.bias"],
                "linear1.weight": ours["feedforward.1.weight"],
                "linear1.bias": ours["feedforward.1.bias"],
                "linear2.weight": ours["feedforward.3.weight"],
                "linear2.bias": ours["feedforward.3.bias"],
            }
        )
        later = None if look_ahead else torch.ones(6, 6, dtype=torch.bool).triu(1)
        state = layer(state, src_mask=later, src_key_padding_mask=torch.arange(6) >= LENGTHS[:, None])
    expected = encoder.get_submodule("norm")(state)
    states = encoder(x, LENGTHS).states
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(states[row, :length], expected[row, :length])


def test_causal_unless_it_looks_ahead() -> None:
    assert Transformer(look_ahead=False).causal
    assert not Transformer().causal
    torch.manual_seed(0)
    x, lengths = torch.randn(2, 6, 5), torch.tensor([6, 6])
    later = torch.cat([x[:, :4], torch.randn(2, 2, 5)], dim=1)
    for look_ahead in (True, False):
        encoder = Transformer(width=8, look_ahead=look_ahead).build(5).eval().requires_grad_(False)
        difference = (encoder(x, lengths).states - encoder(later, lengths).states)[:, :4].abs().max()
        assert (float(difference) > 1e-3) == look_ahead


@pytest.mark.parametrize("look_ahead", [True, False])
def test_padded_queries_are_finite_and_so_are_their_gradients(look_ahead: bool) -> None:
    """A query that may look at nothing would be 0 / 0, and 0 · NaN is NaN in the backward pass."""
    torch.manual_seed(0)
    encoder = Transformer(width=8, look_ahead=look_ahead, pooling="last").build(5)
    x = torch.randn(3, 20, 5, requires_grad=True)
    before_the_mask = []
    encoder.get_submodule("norm").register_forward_hook(lambda module, given, out: before_the_mask.append(out))
    encoder(x, torch.tensor([1, 20, 7])).summary.sum().backward()
    assert x.grad is not None
    assert bool(before_the_mask[0].isfinite().all())
    assert bool(x.grad.isfinite().all())


def test_looking_ahead_draws_and_computes_as_it_did_before_it_was_an_option() -> None:
    """The mask of padding alone, (B, 1, 1, T), goes into attention: no other kernel, no other bits."""
    torch.manual_seed(0)
    encoder = Transformer(width=8).build(5).eval()
    masks = []
    encoder.get_submodule("layers.0").register_forward_pre_hook(lambda module, given: masks.append(given[1]))
    encoder(torch.randn(3, 6, 5), LENGTHS)
    assert torch.equal(masks[0], (torch.arange(6) < LENGTHS[:, None])[:, None, None])


@pytest.mark.parametrize("width", [6, 7])
def test_sinusoidal_positions_are_those_of_the_paper(width: int) -> None:
    positions = SinusoidalPositions(width)(50, torch.ones(1))
    assert positions.shape == (50, width)
    for step in (0, 1, 49):
        for channel in range(width):
            angle = step / 10_000 ** ((channel - channel % 2) / width)
            expected = math.cos(angle) if channel % 2 else math.sin(angle)
            assert float(positions[step, channel]) == pytest.approx(expected, abs=1e-4)


def test_order_matters() -> None:
    torch.manual_seed(0)
    for settings in (Transformer(), Transformer(positions="learned", max_length=6)):
        encoder = settings.build(5).eval()
        x, lengths = torch.randn(2, 6, 5), torch.tensor([6, 6])
        difference = encoder(x, lengths).summary - encoder(x.flip(1), lengths).summary
        assert float(difference.detach().abs().max()) > 1e-3


def test_a_sequence_beyond_learned_positions_is_an_error_that_says_so() -> None:
    encoder = Transformer(positions="learned", max_length=4, width=8).build(5).eval()
    encoder(torch.randn(1, 9, 5), torch.tensor([4]))  # padding may go beyond
    with pytest.raises(DataError, match=r"a sequence has 5 steps.*max_length = 4"):
        encoder(torch.randn(2, 9, 5), torch.tensor([2, 5]))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 50}, "model.heads: 4 heads can't share width = 50 evenly; 2 or 5 can"),
        ({"heads": 99}, "model.heads: 99 heads can't share width = 64 evenly; 64 can"),
        ({"positions": "learned"}, "needs max_length"),
        ({"max_length": 40}, "max_length = 40 would be ignored"),
        ({"heads": 0}, "model.heads: "),
    ],
)
def test_settings_that_contradict_each_other_are_errors(values: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(Transformer, values, "model")


def test_dropout_acts_on_attention_and_on_what_is_added() -> None:
    torch.manual_seed(0)
    encoder = Transformer(width=8, dropout=0.5).build(5)
    x = torch.randn(3, 6, 5)
    assert not torch.equal(encoder(x, LENGTHS).summary, encoder(x, LENGTHS).summary)


@pytest.mark.parametrize("law", VARIANT_LAWS)
@pytest.mark.parametrize(
    "settings",
    [
        Transformer(width=16, feedforward=24, look_ahead=False),
        Transformer(width=16, feedforward=24, look_ahead=False, positions="learned", max_length=20, pooling="last"),
    ],
    ids=["causal", "learned"],
)
def test_laws_hold_without_looking_ahead(settings: Transformer, law: str) -> None:
    ARCHITECTURE_LAWS[law](settings)
