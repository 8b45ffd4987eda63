"""What a model costs, from its settings alone: parameters, FLOPs, memory traffic, and what has to wait for what.

d is the width of the input, h of a state, b the sequences of a batch, n the steps of each. The tests hold parameters
against the weights that torch builds, and FLOPs against torch's own counter. FLOPs and bytes are those of the matrix
products that a forward pass makes (`Product`); sums, activations, gates and look-ups are not counted: they grow with h
where the products grow with h². Nor is what reads the letters of words, of which each distinct one of a batch is read
once, nor the search for the best path of tags (`models.chain`): 2 C² sums per step of C tags.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from rnnlab.core.errors import ConfigError
from rnnlab.inspecting.products import GATES, PRODUCTS, Product
from rnnlab.models.base import Architecture
from rnnlab.models.convolution import CNN2, TextCNN
from rnnlab.models.dilated import Dilated
from rnnlab.models.embedding import Embedding
from rnnlab.models.fasttext import FastText
from rnnlab.models.hybrid import RCNN, GruCnn
from rnnlab.models.letters import SPAN
from rnnlab.models.linear import Linear
from rnnlab.models.network import Reads
from rnnlab.models.parallel import MinGRU, Minimal, MinLSTM
from rnnlab.models.pooling import Pooling
from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent
from rnnlab.models.transformer import Transformer

PASSES = 3  # of training against forward alone: backward makes two products of each, one for x and one for W


@dataclass(frozen=True)
class Parallelism:
    """How many numbers of an encoder's narrowest part can be computed at the same time: the product of three."""

    sequences: int
    positions: int  # of each sequence: all, or one where a step waits for the one before
    units: int  # at each position

    @property
    def degree(self) -> int:
        return self.sequences * self.positions * self.units


@dataclass(frozen=True)
class Cost:
    """Of one network on batches of ``batch`` sequences, all of ``length`` steps."""

    length: int
    batch: int
    parameters: dict[str, int]  # by part, as `parameters`
    flops_per_token: float  # forward; that of a sequence / length
    flops_per_sequence: int  # forward
    training_flops_per_sequence: int  # forward and backward
    serial_steps: int  # that can't but run one after another
    parallelism: Parallelism
    bytes_per_batch: int  # moved by the products of a forward pass
    intensity: float  # FLOPs a byte, forward

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"parallelism": asdict(self.parallelism) | {"degree": self.parallelism.degree}}


def cost(
    architecture: Architecture,
    *,
    words: int | None = None,
    features: int | None = None,
    tokens: int = 1,
    columns: int = 0,
    letters: int = 0,
    narrow: bool = False,
    classes: int,
    length: int,
    batch: int = 1,
    reads: Reads = "summary",
) -> Cost:
    """Everything that is known before a weight is drawn. Either ``words`` (the size of the vocabulary) or ``features``
    (the width of numeric input) is given; ``tokens`` is how many words a step has; ``columns``, of how many columns
    texts are, if of several; ``letters``, of how many kinds those of words are, if they are inputs; ``narrow``, whether
    the first word of a step alone has a frozen channel; ``reads`` says whether the head answers
    once or at every step."""
    if (words is None) == (features is None):
        raise ValueError("give either words or features")
    if length < 1 or batch < 1:
        raise ValueError(f"length and batch must be 1 or more (got {length} and {batch})")
    if words is not None and architecture.embedding is None:
        raise ConfigError("model.embedding: required for text")
    counted = parameters(
        architecture,
        words=words,
        features=features,
        tokens=tokens,
        columns=columns,
        letters=letters,
        narrow=narrow,
        classes=classes,
        reads=reads,
    )
    d = _input_width(architecture, features, tokens, letters, narrow)
    encoder = encoder_products(architecture, d, batch, length)
    read = state_width(architecture, d) if reads == "states" else summary_width(architecture, d)
    head = Product(batch * (length if reads == "states" else 1), read, classes)
    forward = sum(product.flops for product in (*encoder, head))
    again = sum(product.flops for product in encoder) if getattr(architecture, "checkpoint_segments", 1) > 1 else 0
    moved = sum(product.bytes for product in (*encoder, head))
    return Cost(
        length=length,
        batch=batch,
        parameters=counted,
        flops_per_token=forward / (batch * length),
        flops_per_sequence=forward // batch,
        training_flops_per_sequence=(PASSES * forward + again) // batch,
        serial_steps=serial_steps(architecture, length),
        parallelism=parallelism(architecture, d, batch, length),
        bytes_per_batch=moved,
        intensity=forward / moved,
    )


def serial_steps(architecture: Architecture, n: int) -> int:
    """How many steps of the encoder have to run one after another, however many cores there are: n a layer of a
    recurrence, 1 a layer where all positions are computed at once."""
    match architecture:
        case Minimal(scan="parallel"):
            return architecture.layers * max(1, 2 * (n.bit_length() - 1))  # `by_pairs`: 2 ⌊log₂ n⌋ rounds
        case Recurrent() | Minimal():
            return architecture.layers * n
        case GruCnn():
            return n  # the convolution is done long before
        case RCNN():
            return n + 1
        case Dilated() | Transformer():
            return architecture.layers
    return 1


def parallelism(architecture: Architecture, d: int, b: int, n: int) -> Parallelism:
    """Of the part that can be spread least. A window starts at every token, beyond the end it sees zeros: so there are
    n of every width, and not n - width + 1."""
    match architecture:
        case Minimal(scan="parallel"):
            return Parallelism(b, n, state_width(architecture, d))
        case Recurrent() | Minimal():
            return Parallelism(b, 1, state_width(architecture, d))
        case GruCnn() | RCNN():
            return Parallelism(b, 1, 2 * architecture.hidden)
    return Parallelism(b, n, state_width(architecture, d))


def encoder_products(architecture: Architecture, d: int, b: int, n: int) -> list[Product]:
    """The matrix products of a forward pass between the embedding and the head."""
    if type(architecture) not in PRODUCTS:
        raise ConfigError(
            "'{kind}' has no formula for its FLOPs; count those of the model it builds", kind=architecture.kind
        )
    pooled: list[Product] = []
    if getattr(architecture, "pooling", None) == "attention":
        width = state_width(architecture, d)
        pooled = [Product(n, width, 1, times=b), Product(1, n, width, times=b)]
    return [*PRODUCTS[type(architecture)](architecture, d, b, n), *pooled]


def recurrence(gates: int, d: int, h: int, biases: int = 2) -> int:
    """gates · (dh + h² + biases · h): one layer in one direction. Textbooks have one bias a gate; PyTorch has two, one
    beside W_xh and one beside W_hh, of which the sum is what counts (the GRU's candidate apart)."""
    return gates * (d * h + h * h + biases * h)


def parameters(
    architecture: Architecture,
    *,
    words: int | None = None,
    features: int | None = None,
    tokens: int = 1,
    columns: int = 0,
    letters: int = 0,
    narrow: bool = False,
    classes: int,
    reads: Reads = "summary",
) -> dict[str, int]:
    """As `models.network.parameter_counts` of the model that these settings build. A frozen channel is taken to be as
    wide as ``embedding.width``."""
    trained = frozen = 0
    d = _input_width(architecture, features, tokens, letters, narrow)
    embedding = architecture.embedding
    if words is not None and embedding is not None:
        rows = words + (architecture.buckets if isinstance(architecture, FastText) else 0)
        trained = 0 if embedding.channels == "frozen" else rows * embedding.width
        frozen = words * embedding.width if embedding.channels in ("frozen", "two") else 0
        trained += 0 if isinstance(architecture, FastText) else columns * d  # a vector per column
        trained += letter_parameters(embedding, letters)
    encoder = encoder_parameters(architecture, d)
    head = classes * ((state_width(architecture, d) if reads == "states" else summary_width(architecture, d)) + 1)
    if architecture.tied and embedding is not None:
        wide, own = state_width(architecture, d), embedding.width
        head = classes + (0 if wide == own else (wide + 1) * own)  # the vectors are counted above
    head += classes * (classes + 2) if architecture.crf else 0  # from tag to tag, from the start and to the end
    return {
        "total": trained + frozen + encoder + head,
        "trainable": trained + encoder + head,
        "embedding": trained + frozen,
        "encoder": encoder,
        "head": head,
    }


def has_formula(architecture: Architecture) -> bool:
    """Whether the costs of this kind are known; those of a plugin aren't, nor those of what writes a text."""
    return type(architecture) in _FORMULAS and architecture.decoder is None


def encoder_parameters(architecture: Architecture, d: int) -> int:
    """Of everything between the embedding and the head."""
    if not has_formula(architecture):
        raise ConfigError(
            "'{kind}' has no formula for its parameters; count those of the model it builds", kind=architecture.kind
        )
    return _FORMULAS[type(architecture)](architecture, d)


def letter_parameters(embedding: Embedding, letters: int) -> int:
    """Of what reads the letters of words, of so many kinds; 0 where they are no inputs."""
    width, filters = embedding.letter_width, embedding.letter_filters
    if not letters:
        return 0
    if embedding.letters == "bilstm":
        return letters * width + 2 * recurrence(GATES["lstm"], width, filters // 2)
    return letters * width + (SPAN * width + 1) * filters


def summary_width(architecture: Architecture, d: int) -> int:
    """How many numbers a head sees of a sequence."""
    ends = 2 if getattr(architecture, "pooling", None) == "first+last" else 1
    return ends * state_width(architecture, d)


def state_width(architecture: Architecture, d: int) -> int:
    """How many numbers the encoder makes of a step."""
    match architecture:
        case Recurrent() | Minimal():
            return architecture.hidden * (2 if architecture.bidirectional else 1)
        case TextCNN() | CNN2():
            return architecture.filters * len(architecture.widths)
        case GruCnn():
            return 2 * architecture.hidden + architecture.filters * len(architecture.widths)
        case Transformer() | RCNN():
            return architecture.width
        case Dilated() | Linear():
            return architecture.hidden
    return d  # fasttext: its vectors themselves


def _input_width(architecture: Architecture, features: int | None, tokens: int, letters: int, narrow: bool) -> int:
    embedding = architecture.embedding
    if features is not None or embedding is None:
        return features or 0
    spelled = embedding.letter_filters if letters else 0
    frozen = embedding.width * (1 if narrow else tokens) if embedding.channels == "two" else 0
    return tokens * embedding.width + frozen + spelled


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
    Linear: lambda model, d: model.hidden * (d + 1) + _pool(model.pooling, model.hidden),
    FastText: lambda *_: 0,  # its n-grams are part of the embedding
}
