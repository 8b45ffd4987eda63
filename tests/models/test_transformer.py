import math

import pytest
import torch
from torch import nn

from rnnlab.config import parse
from rnnlab.errors import ConfigError, DataError
from rnnlab.models.transformer import SinusoidalPositions, Transformer

LENGTHS = torch.tensor([6, 2, 4])


def test_layers_agree_with_torch() -> None:
    """torch's own pre-norm layer, with its biases of query, key and value at zero."""
    torch.manual_seed(0)
    encoder = Transformer(width=12, heads=3, layers=2, feedforward=20).build(5).eval()
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
        state = layer(state, src_key_padding_mask=torch.arange(6) >= LENGTHS[:, None])
    expected = encoder.get_submodule("norm")(state)
    states = encoder(x, LENGTHS).states
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(states[row, :length], expected[row, :length])


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
        ({"width": 50}, "model: heads = 4 must divide width = 50"),
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
