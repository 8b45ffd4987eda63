"""The matrix products of a forward pass through an encoder, from its settings alone: FLOPs and bytes are made of them.

d is the width of the input, h of a state, b the sequences of a batch, n the steps of each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rnnlab.models.base import Architecture
from rnnlab.models.convolution import CNN2, TextCNN
from rnnlab.models.dilated import Dilated
from rnnlab.models.fasttext import FastText
from rnnlab.models.hybrid import RCNN, GruCnn
from rnnlab.models.linear import Linear
from rnnlab.models.parallel import MinGRU, Minimal, MinLSTM
from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent
from rnnlab.models.transformer import Transformer

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
NUMBER = 4  # bytes of a float32


@dataclass(frozen=True)
class Product:
    """(rows, inner) · (inner, columns), so many ``times``."""

    rows: int
    inner: int
    columns: int
    times: int = 1

    @property
    def flops(self) -> int:
        """A multiplication and an addition are two."""
        return 2 * self.times * self.rows * self.inner * self.columns

    @property
    def bytes(self) -> int:
        """Both factors read and the result written, each time anew: nothing is taken to stay in a cache."""
        numbers = self.rows * self.inner + self.inner * self.columns + self.rows * self.columns
        return NUMBER * self.times * numbers


def _recurrent_products(model: Recurrent, d: int, b: int, n: int) -> list[Product]:
    """The input's share of every step at once; the state's step by step, with the same weights read n times."""
    directions = 2 if model.bidirectional else 1
    widths = [d] + [directions * model.hidden] * (model.layers - 1)
    return [
        p for width in widths for p in directions * _recurrence_products(GATES[model.kind], width, model.hidden, b, n)
    ]


def _recurrence_products(gates: int, d: int, h: int, b: int, n: int) -> list[Product]:
    return [Product(b * n, d, gates * h), Product(b, h, gates * h, times=n)]


def _minimal_products(model: Minimal, d: int, b: int, n: int) -> list[Product]:
    directions, rows = 2 if model.bidirectional else 1, (model.gates + 1) * model.hidden
    widths = [d] + [directions * model.hidden] * (model.layers - 1)
    return [Product(b * n, width, rows) for width in widths for _ in range(directions)]


def _convolution_products(model: TextCNN | CNN2, d: int, b: int, n: int) -> list[Product]:
    """One product, in which narrow filters are filled up with zeros: more FLOPs than the widths ask for, in less time
    (`models.convolution.Windows`)."""
    return [Product(b * n, max(model.widths) * d, model.filters * len(model.widths))]


def _dilated_products(model: Dilated, d: int, b: int, n: int) -> list[Product]:
    h = model.hidden
    around = [Product(b * n, d, h)] if model.residual and d != h else []
    return around + [Product(b * n, model.width * width, h) for width in [d] + [h] * (model.layers - 1)]


def _transformer_products(model: Transformer, d: int, b: int, n: int) -> list[Product]:
    """Attention is b · heads products of (n, n) scores, here written out and read again; n² of them a sequence."""
    w, f, heads = model.width, model.feedforward, b * model.heads
    attention = [
        Product(b * n, w, 3 * w),
        Product(n, w // model.heads, n, times=heads),
        Product(n, n, w // model.heads, times=heads),
        Product(b * n, w, w),
    ]
    return [Product(b * n, d, w), *model.layers * [*attention, Product(b * n, w, f), Product(b * n, f, w)]]


def _gru_cnn_products(model: GruCnn, d: int, b: int, n: int) -> list[Product]:
    convolution = TextCNN(widths=model.widths, filters=model.filters)
    gru = _recurrence_products(GATES["gru"], d, model.hidden, b, n)
    return [*gru, *gru, *_convolution_products(convolution, d, b, n)]


def _rcnn_products(model: RCNN, d: int, b: int, n: int) -> list[Product]:
    lstm = _recurrence_products(GATES["lstm"], d, model.hidden, b, n)
    return [*lstm, *lstm, Product(b * n, 2 * model.hidden + d, model.width)]


PRODUCTS: dict[type[Architecture], Callable[..., Sequence[Product]]] = {
    **dict.fromkeys((RNN, LSTM, GRU), _recurrent_products),
    **dict.fromkeys((MinGRU, MinLSTM), _minimal_products),
    **dict.fromkeys((TextCNN, CNN2), _convolution_products),
    Dilated: _dilated_products,
    Transformer: _transformer_products,
    GruCnn: _gru_cnn_products,
    RCNN: _rcnn_products,
    Linear: lambda model, d, b, n: [Product(b * n, d, model.hidden)],
    FastText: lambda *_: [],  # sums of vectors alone
}
