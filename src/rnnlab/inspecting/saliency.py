"""Which tokens an answer rests on: integrated gradients, occlusion, attention, and the filters that fired.

All speak of one sequence and of one output, the *target*: by default the highest. Where every step has outputs, of
those at one step, by default the last.

- *Integrated gradients* (Sundararajan et al. 2017): the gradient of the target with respect to a token's vector,
  averaged on the straight way from zero vectors to the text's, times the vector. They add up to the difference between
  the target for the text and for zero vectors; `gap` is by how much they miss it.
- *Occlusion*: how much the target falls when a token is replaced by the unknown word (a step of numbers by zeros, which
  stand for the mean of the training rows). The text keeps its length and its other tokens.
- *Attention*: where attention pooling looked, and the maps of a Transformer. A weight says where was looked, not what
  it was good for.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rnnlab.inspecting.readings import in_double
from rnnlab.models.base import Encoded
from rnnlab.models.convolution import ConvolutionalEncoder
from rnnlab.models.embedding import UNKNOWN
from rnnlab.models.network import Network
from rnnlab.models.transformer import Layer, TransformerEncoder
from rnnlab.training.monitor import embedded, final_outputs

FIRST_POINTS, MOST_POINTS = 32, 1024  # on the way from zero to the text
CLOSE = 0.01  # of the difference: an integral that misses it by less is good enough
AT_ONCE, AT_ONCE_WITH_GRADIENTS = 32_768, 8192  # steps in a batch
LONGEST_MAP = 200  # attention maps of longer sequences are left out: nobody could read them
STRONGEST = 10  # filters listed


@dataclass(frozen=True)
class Saliency:
    target: int  # the number of the output that is explained
    output: float  # of the target, for the text
    baseline: float  # of the target, for zero vectors
    integrated: tuple[float, ...]  # (T,) integrated gradients
    gap: float  # output - baseline - their sum
    points: int  # on the way from zero to the text
    occlusion: tuple[float, ...]  # (T,) output - output without the token


@dataclass(frozen=True)
class Attention:
    pooling: tuple[float, ...] | None  # (T,), sums to 1
    # (layers, heads, T, T), of each token to each; rows sum to 1. Empty beyond `LONGEST_MAP` tokens
    maps: tuple[tuple[tuple[tuple[float, ...], ...], ...], ...]

    def to_dict(self) -> dict[str, Any]:
        rounded = [[[[round(w, 4) for w in row] for row in head] for head in layer] for layer in self.maps]
        return {"pooling": self.pooling, "maps": rounded}


@dataclass(frozen=True)
class Fired:
    """A filter of a convolution, and the window in which it counted most for the target."""

    filter: int
    width: int
    start: int  # the window's first token, below 0 where it begins before the text; beyond either end it sees zeros
    activation: float
    contribution: float  # activation × ∂ target / ∂ activation


def saliency(network: Network, inputs: Tensor, target: int | None = None, step: int | None = None) -> Saliency:
    """``inputs`` (1, T) or (1, T, D): one sequence without padding."""
    double = in_double(network)
    given = inputs.double() if inputs.is_floating_point() else inputs
    found = integrated_gradients(double, given, target, step=step)
    with torch.no_grad():
        occluded = _each(double, _occluded(given), _Aim(found.target, step))
    output = found.outputs[found.target]
    return Saliency(
        target=found.target,
        output=output,
        baseline=found.baseline,
        integrated=found.shares,
        gap=output - found.baseline - sum(found.shares),
        points=found.points,
        occlusion=tuple((output - occluded).tolist()),
    )


@dataclass(frozen=True)
class Integrated:
    target: int
    outputs: tuple[float, ...]  # (C,) all, for the text
    baseline: float  # of the target, for zero vectors
    shares: tuple[float, ...]  # (T,) integrated gradients
    points: int


def integrated_gradients(
    network: Network,
    inputs: Tensor,
    target: int | None = None,
    first_points: int = FIRST_POINTS,
    most_points: int = MOST_POINTS,
    step: int | None = None,
) -> Integrated:
    """Of one sequence, as `saliency`. The ``network`` is in evaluation mode, best as `in_double` gives it: in single
    precision, sums can't be told from noise, and the first points should do."""
    with torch.no_grad():
        x = embedded(network, inputs)  # (1, T, D)
        outputs = _outputs(network, x, step)[0]
        aim = _Aim(int(outputs.argmax()) if target is None else target, step)
        target = aim.output
        baseline = float(_outputs(network, torch.zeros_like(x), step)[0, target])
    tolerated = CLOSE * abs(float(outputs[target]) - baseline)
    shares, points = _integrate(network, x, aim, tolerated, first_points, most_points)
    return Integrated(target, tuple(outputs.tolist()), baseline, tuple(shares.tolist()), points)


class _Aim(NamedTuple):
    output: int
    step: int | None  # None: the last, where every step has outputs


def _integrate(
    network: Network, x: Tensor, aim: _Aim, tolerated: float, first_points: int, most_points: int
) -> tuple[Tensor, int]:
    """(T,) integrated gradients, and how many points they took.

    The way from zero to x is cut into pieces, each with the midpoint rule. Over every piece, too, the shares of the
    tokens must add up to the difference of the target between its ends: pieces that miss it by more than their part of
    what is tolerated are halved. So a saturated or a jagged network gets its points where it needs them."""
    edges = torch.linspace(0, 1, first_points + 1, dtype=x.dtype)
    starts, ends = edges[:-1], edges[1:]
    at_starts, at_ends = _along(network, x, aim, edges).unfold(0, 2, 1).unbind(1)
    shares = _shares(network, x, aim, starts, ends)  # (pieces, T)
    points = len(shares)
    while True:
        misses = (at_ends - at_starts - shares.sum(1)).abs()
        if float(misses.sum()) <= tolerated or points >= most_points:
            return shares.sum(0), points
        bad = misses > tolerated / len(misses)
        middles = (starts[bad] + ends[bad]) / 2
        at_middles = _along(network, x, aim, middles)
        halves = (torch.cat([starts[bad], middles]), torch.cat([middles, ends[bad]]))
        points += len(halves[0])
        shares = torch.cat([shares[~bad], _shares(network, x, aim, *halves)])
        at_starts = torch.cat([at_starts[~bad], at_starts[bad], at_middles])
        at_ends = torch.cat([at_ends[~bad], at_middles, at_ends[bad]])
        starts, ends = torch.cat([starts[~bad], halves[0]]), torch.cat([ends[~bad], halves[1]])


def _along(network: Network, x: Tensor, aim: _Aim, places: Tensor) -> Tensor:
    """The target at some places, 0 to 1, on the way from zero to x: (N,)."""
    parts = places.split(max(1, AT_ONCE // x.shape[1]))
    with torch.no_grad():
        return torch.cat([_outputs(network, part[:, None, None] * x, aim.step)[:, aim.output] for part in parts])


def _shares(network: Network, x: Tensor, aim: _Aim, starts: Tensor, ends: Tensor) -> Tensor:
    """(N, T): what each token adds over each piece of the way, from the gradient in its middle."""
    found = []
    for part in ((starts + ends) / 2).split(max(1, AT_ONCE_WITH_GRADIENTS // x.shape[1])):
        path = (part[:, None, None] * x).requires_grad_()
        with torch.enable_grad():
            (gradients,) = torch.autograd.grad(_outputs(network, path, aim.step)[:, aim.output].sum(), path)
        found.append((gradients * x).sum(2))
    return torch.cat(found) * (ends - starts)[:, None]


def _occluded(inputs: Tensor) -> Tensor:
    """(T, T) or (T, T, D): row t is the sequence without its token t."""
    steps = inputs.shape[1]
    rows = inputs.repeat(steps, *[1] * (inputs.ndim - 1))
    rows[torch.arange(steps), torch.arange(steps)] = UNKNOWN if inputs.ndim == 2 else 0
    if inputs.ndim == 3 and not inputs.is_floating_point():  # the token's own id, and those of n-grams that end with it
        rows[torch.arange(steps), torch.arange(steps), 0] = UNKNOWN
    return rows


def _each(network: Network, rows: Tensor, aim: _Aim) -> Tensor:
    """The target for each of many sequences of one length: (N,)."""
    parts = rows.split(max(1, AT_ONCE // rows.shape[1]))
    return torch.cat([_outputs(network, embedded(network, part), aim.step)[:, aim.output] for part in parts])


def _outputs(network: Network, x: Tensor, step: int | None = None) -> Tensor:
    """(B, C) for embedded sequences (B, T, D) without padding."""
    lengths = torch.full((len(x),), x.shape[1])
    out = network.head(network.encoder(x, lengths))
    return final_outputs(out, lengths) if step is None else out[:, step]


@torch.no_grad()
def attention(network: Network, inputs: Tensor) -> Attention | None:
    """Of one sequence; None for a network without attention. ``inputs`` (1, T) or (1, T, D)."""
    double = in_double(network)
    x = embedded(double, inputs.double() if inputs.is_floating_point() else inputs)
    maps: list[Tensor] = []
    hooks = [
        layer.query_key_value.register_forward_hook(_keep_map(maps, layer.heads, encoder.look_ahead))
        for encoder in double.modules()
        if isinstance(encoder, TransformerEncoder)
        for layer in encoder.layers
        if isinstance(layer, Layer)
    ]
    try:
        encoded: Encoded = double.encoder(x, torch.tensor([x.shape[1]]))
    finally:
        for hook in hooks:
            hook.remove()
    if encoded.weights is None and not maps:
        return None
    pooling = None if encoded.weights is None else tuple(encoded.weights[0].tolist())
    if x.shape[1] > LONGEST_MAP:
        maps = []
    return Attention(pooling, tuple(tuple(tuple(map(tuple, head)) for head in layer.tolist()) for layer in maps))


def _keep_map(maps: list[Tensor], heads: int, look_ahead: bool) -> Any:
    def hook(module: nn.Module, given: Any, projected: Tensor) -> None:
        steps, width = projected.shape[1], projected.shape[2] // 3
        query, key, _ = projected[0].view(steps, 3, heads, width // heads).permute(1, 2, 0, 3)  # (heads, T, width)
        scores = query @ key.transpose(1, 2) * (width // heads) ** -0.5
        if not look_ahead:
            scores = scores.masked_fill(~torch.ones(steps, steps, dtype=torch.bool).tril(), -torch.inf)
        maps.append(scores.softmax(2))

    return hook


def fired_filters(network: Network, inputs: Tensor, target: int | None = None, most: int = STRONGEST) -> list[Fired]:
    """The filters that count most for the target, those of a TextCNN and the like; empty for other networks."""
    double = in_double(network)
    found: list[tuple[ConvolutionalEncoder, Tensor]] = []

    def watch(module: nn.Module, _: Any, encoded: Encoded) -> Encoded:
        assert isinstance(module, ConvolutionalEncoder)
        states = encoded.states.detach().requires_grad_()
        found.append((module, states))
        return Encoded(states, *module.pool(states, torch.tensor([states.shape[1]])))  # so that the way leads over them

    encoders = [module for module in double.modules() if isinstance(module, ConvolutionalEncoder)]
    hooks = [encoder.register_forward_hook(watch) for encoder in encoders]
    try:
        x = embedded(double, inputs.double() if inputs.is_floating_point() else inputs)
        outputs = _outputs(double, x)[0]
    finally:
        for hook in hooks:
            hook.remove()
    if not found:
        return []
    target = int(outputs.argmax()) if target is None else target
    gradients = torch.autograd.grad(outputs[target], [states for _, states in found])
    fired = []
    for (encoder, states), gradient in zip(found, gradients, strict=True):
        active = states.detach()[0]  # (T, filters · widths)
        contributions = active * gradient[0]
        for number, token in enumerate(contributions.abs().argmax(0).tolist()):
            width = _width_of(encoder, number)
            start = token - encoder.convolution.before[number // len(encoder.convolution.weights[0])]
            activation, contribution = float(active[token, number]), float(contributions[token, number])
            fired.append(Fired(number, width, start, activation, contribution))
    return sorted(fired, key=lambda one: -abs(one.contribution))[:most]


def _width_of(encoder: ConvolutionalEncoder, number: int) -> int:
    """Of a filter's window, in tokens."""
    weights = list(encoder.convolution.weights)
    widest = encoder.convolution.widest
    columns = max(weight.shape[1] for weight in weights)
    return weights[number // len(weights[0])].shape[1] * widest // columns
