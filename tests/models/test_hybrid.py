import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from variant_laws import VARIANT_LAWS

from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError
from rnnlab.models.base import Encoder
from rnnlab.models.hybrid import RCNN, GruCnn
from rnnlab.testing import ARCHITECTURE_LAWS

LENGTHS = torch.tensor([6, 1, 4])


def batch() -> Tensor:
    return torch.randn(3, 6, 5, generator=torch.Generator().manual_seed(7))


def both_directions(encoder: Encoder, part: str, reference: nn.RNNBase) -> tuple[Tensor, Tensor]:
    """torch's own bidirectional layer, with the encoder's weights, on packed input: states and the last of each."""
    copied = {}
    for module, suffix in (("ahead", ""), ("back", "_reverse")):
        for name, value in encoder.get_submodule(f"{part}.{module}.0").named_parameters():
            copied[name + suffix] = value
    reference.load_state_dict(copied)
    output, final = reference(pack_padded_sequence(batch(), LENGTHS, batch_first=True, enforce_sorted=False))
    final = final[0] if isinstance(final, tuple) else final
    return pad_packed_sequence(output, batch_first=True)[0], torch.cat([final[0], final[1]], dim=1)


def test_gru_cnn_lays_both_side_by_side() -> None:
    torch.manual_seed(0)
    encoder = GruCnn(hidden=4, widths=(2, 3), filters=3, activation="tanh").build(5).eval()
    states, last = both_directions(encoder, "gru", nn.GRU(5, 4, batch_first=True, bidirectional=True))
    encoded = encoder(batch(), LENGTHS)
    assert (encoder.state_width, encoder.width) == (8 + 6, 8 + 6)
    torch.testing.assert_close(encoded.states[:, :, :8], states)
    torch.testing.assert_close(encoded.summary[:, :8], last)
    for number, width in enumerate((2, 3)):
        conv = nn.Conv1d(5, 3, width)
        columns = slice(3 * number, 3 * number + 3)
        weight = encoder.get_parameter(f"cnn.convolution.weights.{number}").view(3, width, 5).transpose(1, 2)
        conv.load_state_dict({"weight": weight, "bias": encoder.get_parameter("cnn.convolution.bias")[columns]})
        for row, length in enumerate(LENGTHS.tolist()):
            windows = conv(nn.functional.pad(batch()[row, :length].T, (0, width - 1))).tanh()
            torch.testing.assert_close(encoded.states[row, :length, 8:][:, columns], windows.T)
            torch.testing.assert_close(encoded.summary[row, 8:][columns], windows.amax(1))


def test_rcnn_joins_each_token_with_its_context() -> None:
    torch.manual_seed(0)
    encoder = RCNN(hidden=4, width=7).build(5).eval()
    context, _ = both_directions(encoder, "context", nn.LSTM(5, 4, batch_first=True, bidirectional=True))
    weight, bias = encoder.get_parameter("join.weight"), encoder.get_parameter("join.bias")
    expected = torch.tanh(torch.cat([context, batch()], dim=2) @ weight.T + bias)
    encoded = encoder(batch(), LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(encoded.states[row, :length], expected[row, :length])
        torch.testing.assert_close(encoded.summary[row], expected[row, :length].amax(0))


def test_rcnn_with_last_reads_both_ends() -> None:
    torch.manual_seed(0)
    encoder = RCNN(hidden=4, width=7, pooling="last").build(5).eval()
    encoded = encoder(batch(), LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        expected = torch.cat([encoded.states[row, length - 1, :4], encoded.states[row, 0, 4:]])
        assert torch.equal(encoded.summary[row], expected)


def test_neither_is_causal() -> None:
    assert not GruCnn(widths=(1,)).causal
    assert not RCNN().causal


@pytest.mark.parametrize(
    ("settings", "values", "message"),
    [
        (GruCnn, {"widths": []}, "model.widths: "),
        (GruCnn, {"widths": [3, 3]}, r"model.widths: \[3, 3\] has a width twice; raise filters instead"),
        (GruCnn, {"pooling": "mean"}, "model.pooling: unknown key of 'gru-cnn'"),
        (GruCnn, {"bidirectional": False}, "model.bidirectional: unknown key of 'gru-cnn'"),
        (RCNN, {"width": 1}, "model.width: "),
        (RCNN, {"layers": 2}, "model.layers: unknown key of 'rcnn'"),
    ],
)
def test_impossible_settings_are_errors(settings: type, values: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(settings, values, "model")


@pytest.mark.parametrize("law", VARIANT_LAWS)
@pytest.mark.parametrize(
    "settings",
    [
        GruCnn(hidden=5, widths=(1,), filters=3, activation="tanh"),
        GruCnn(hidden=8, widths=(9, 2), filters=4, activation="gelu"),
        RCNN(hidden=8, width=3, pooling="attention"),
        RCNN(hidden=3, width=20, pooling="mean", output_dropout=0.2),
    ],
    ids=["narrow", "wide windows", "attention", "mean"],
)
def test_laws_hold(settings: GruCnn | RCNN, law: str) -> None:
    ARCHITECTURE_LAWS[law](settings)
