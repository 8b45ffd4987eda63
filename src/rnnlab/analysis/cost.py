"""What a model costs, from its settings alone: how many parameters each part has, as formulas.

d is the width of the input, h of a state. The weights that torch builds are counted by `models.network`; the tests hold
the two against each other for every architecture.
"""

from collections.abc import Callable

from rnnlab.errors import ConfigError
from rnnlab.models.base import Architecture
from rnnlab.models.convolution import CNN2, TextCNN
from rnnlab.models.dilated import Dilated
from rnnlab.models.fasttext import FastText
from rnnlab.models.hybrid import RCNN, GruCnn
from rnnlab.models.linear import Linear
from rnnlab.models.parallel import MinGRU, Minimal, MinLSTM
from rnnlab.models.pooling import Pooling
from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent
from rnnlab.models.transformer import Transformer

GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def recurrence(gates: int, d: int, h: int, biases: int = 2) -> int:
    """gates · (dh + h² + biases · h): one layer in one direction. Textbooks have one bias a gate; PyTorch has two, one
    beside W_xh and one beside W_hh, of which the sum is what counts (the GRU's candidate apart)."""
    return gates * (d * h + h * h + biases * h)


def parameters(
    architecture: Architecture, *, words: int | None = None, features: int | None = None, classes: int
) -> dict[str, int]:
    """As `models.network.parameter_counts` of the model that these settings build. A frozen channel is taken to be as
    wide as ``embedding.width``."""
    trained = frozen = 0
    d = features or 0
    embedding = architecture.embedding
    if words is not None and embedding is not None:
        rows = words + (architecture.buckets if isinstance(architecture, FastText) else 0)
        trained = 0 if embedding.channels == "frozen" else rows * embedding.width
        frozen = words * embedding.width if embedding.channels in ("frozen", "two") else 0
        d = embedding.width * (2 if embedding.channels == "two" else 1)
    encoder = encoder_parameters(architecture, d)
    head = classes * (summary_width(architecture, d) + 1)
    return {
        "total": trained + frozen + encoder + head,
        "trainable": trained + encoder + head,
        "embedding": trained + frozen,
        "encoder": encoder,
        "head": head,
    }


def encoder_parameters(architecture: Architecture, d: int) -> int:
    """Of everything between the embedding and the head."""
    if type(architecture) not in _FORMULAS:
        raise ConfigError(
            f"'{architecture.kind}' has no formula for its parameters; count those of the model it builds"
        )
    return _FORMULAS[type(architecture)](architecture, d)


def summary_width(architecture: Architecture, d: int) -> int:
    """How many numbers the head sees."""
    ends = 2 if getattr(architecture, "pooling", None) == "first+last" else 1
    match architecture:
        case Recurrent() | Minimal():
            return ends * architecture.hidden * (2 if architecture.bidirectional else 1)
        case TextCNN() | CNN2():
            return ends * architecture.filters * len(architecture.widths)
        case GruCnn():
            return 2 * architecture.hidden + architecture.filters * len(architecture.widths)
        case Transformer() | RCNN():
            return ends * architecture.width
        case Dilated() | Linear():
            return ends * architecture.hidden
    return d  # fasttext: the mean of its vectors


def _recurrent(model: Recurrent, d: int) -> int:
    h, gates = model.hidden, GATES[model.kind]
    parts = 2 if isinstance(model, LSTM) else 1  # of a state: h, or h and c
    directions = 2 if model.bidirectional else 1
    widths = [d] + [directions * h] * (model.layers - 1)
    norms = (2 * gates + (2 if isinstance(model, LSTM) else 0)) * h if model.layer_norm else 0
    start = parts * h if model.initial_state == "learned" else 0
    layers = sum(recurrence(gates, width, h) + norms + start for width in widths)
    return directions * layers + _pool(model.pooling, directions * h)


def _minimal(model: Minimal, d: int) -> int:
    h, directions = model.hidden, 2 if model.bidirectional else 1
    rows = (model.gates + 1) * h  # the gates and the candidate, each from the input alone
    widths = [d] + [directions * h] * (model.layers - 1)
    return directions * sum(rows * (width + 1) for width in widths) + _pool(model.pooling, directions * h)


def _convolution(model: TextCNN | CNN2, d: int) -> int:
    states = model.filters * len(model.widths)
    return model.filters * d * sum(model.widths) + states + _pool(model.pooling, states)


def _dilated(model: Dilated, d: int) -> int:
    h = model.hidden
    widths = [d] + [h] * (model.layers - 1)
    around = d * h if model.residual and d != h else 0
    return sum(model.width * width * h + h for width in widths) + around + _pool(model.pooling, h)


def _transformer(model: Transformer, d: int) -> int:
    w, f = model.width, model.feedforward
    attention = 2 * w + 3 * w * w + w * w + w  # norm; query, key and value without biases; output
    feedforward = 2 * w + (w * f + f) + (f * w + w)
    positions = (model.max_length or 0) * w
    return (d * w + w) + positions + model.layers * (attention + feedforward) + 2 * w + _pool(model.pooling, w)


def _gru_cnn(model: GruCnn, d: int) -> int:
    convolution = TextCNN(widths=model.widths, filters=model.filters)
    return 2 * recurrence(GATES["gru"], d, model.hidden) + _convolution(convolution, d)


def _rcnn(model: RCNN, d: int) -> int:
    h, w = model.hidden, model.width
    return 2 * recurrence(GATES["lstm"], d, h) + (2 * h + d) * w + w + _pool(model.pooling, w)


def _linear(model: Linear, d: int) -> int:
    return model.hidden * (d + 1) + _pool(model.pooling, model.hidden)


def _fasttext(model: FastText, d: int) -> int:
    return 0  # its n-grams are part of the embedding


def _pool(pooling: Pooling, width: int) -> int:
    """Attention has a learned query; the others have nothing to learn."""
    return width if pooling == "attention" else 0


_FORMULAS: dict[type[Architecture], Callable[..., int]] = {
    **dict.fromkeys((RNN, LSTM, GRU), _recurrent),
    **dict.fromkeys((MinGRU, MinLSTM), _minimal),
    **dict.fromkeys((TextCNN, CNN2), _convolution),
    Dilated: _dilated,
    Transformer: _transformer,
    GruCnn: _gru_cnn,
    RCNN: _rcnn,
    Linear: _linear,
    FastText: _fasttext,
}
