"""The triangle: derived by hand = central differences = torch's autograd, in float64.

The torch side computes every sequence alone, unpadded, step by step: it knows nothing of batches and lengths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import Tensor

from rnnlab.reference import bidirectional, convolution, gru, linear, lstm, network, pooling, rnn, stacked
from rnnlab.reference.gates import draw_gates
from rnnlab.reference.gradcheck import central_differences, disagreements
from rnnlab.reference.gru import draw_gru
from rnnlab.reference.layer import Array, Arrays, Integers, Layer, named
from rnnlab.reference.linear import IGNORE

EXACT = 1e-10  # between the hand-derived and autograd

# The layers, by a name that says how they are made; "2" and "both" wrap another


def make_layer(kind: str, modules: dict[str, Any]) -> Layer:
    """From the functions in ``modules``, one of which may have been tampered with."""
    wrapper, _, inner = kind.partition(" ")
    if wrapper == "both":
        return modules["bidirectional"].bidirectional(make_layer(inner, modules))
    if wrapper == "2":
        return modules["stacked"].stacked(*[make_layer(inner, modules)] * 2)
    return {
        "tanh": modules["rnn"].rnn,
        "relu": partial(modules["rnn"].rnn, activation="relu"),
        "lstm": modules["lstm"].lstm,
        "gru": modules["gru"].gru,
        "gru-before": partial(modules["gru"].gru, reset="before"),
        "convolution": modules["convolution"].convolution,
    }[kind]


MODULES: dict[str, Any] = {
    "rnn": rnn,
    "lstm": lstm,
    "gru": gru,
    "bidirectional": bidirectional,
    "stacked": stacked,
    "convolution": convolution,
}
SINGLE = ("tanh", "relu", "lstm", "gru", "gru-before", "convolution")
NESTED = ("both tanh", "both lstm", "2 gru", "2 both relu", "2 both lstm", "2 both gru-before")
SMOOTH = ("tanh", "lstm", "gru", "gru-before")


def make_parameters(kind: str, generator: np.random.Generator, d: int, h: int) -> dict[str, Array]:
    wrapper, _, inner = kind.partition(" ")
    if wrapper == "both":
        return {
            **named("ahead", make_parameters(inner, generator, d, h)),
            **named("back", make_parameters(inner, generator, d, h)),
        }
    if wrapper == "2":
        width = 2 * h if inner.startswith("both") else h
        return {
            **named("0", make_parameters(inner, generator, d, h)),
            **named("1", make_parameters(inner, generator, width, h)),
        }
    if kind == "convolution":
        shapes = {"W_1": (h, 1, d), "b_1": (h,), "W_3": (h, 3, d), "b_3": (h,)}
        return {name: generator.normal(size=shape) for name, shape in shapes.items()}
    if kind.startswith("gru"):
        return draw_gru(generator, d, h, "before" if kind == "gru-before" else "after")
    return draw_gates(generator, "ifgo" if kind == "lstm" else "h", d, h)


def start_names(kind: str) -> list[str]:
    wrapper, _, inner = kind.partition(" ")
    if inner:
        return [
            f"{part}.{name}" for part in ("01" if wrapper == "2" else ("ahead", "back")) for name in start_names(inner)
        ]
    return {"convolution": [], "lstm": ["h_0", "c_0"]}.get(kind, ["h_0"])


# The torch side


def torch_states(kind: str, x: Tensor, p: dict[str, Tensor], start: dict[str, Tensor], seen: dict[str, list[Tensor]]):
    """One sequence x (L, D) → states (L, H). ``seen`` gets what ``delta`` is about: a list over the steps by name."""
    wrapper, _, inner = kind.partition(" ")

    def part(name: str, x: Tensor) -> Tensor:
        own: dict[str, list[Tensor]] = {}
        states = torch_states(inner, x, sub(p, name), sub(start, name), own)
        turn = reversed if name == "back" else list  # the order in which the steps lie, not that in which they are read
        seen.update({f"{name}.{key}": list(turn(values)) for key, values in own.items()})
        return states

    if wrapper == "both":
        return torch.cat([part("ahead", x), part("back", x.flip(0)).flip(0)], dim=1)
    if wrapper == "2":
        return part("1", part("0", x))
    if kind == "convolution":
        return torch_convolution(x, p, seen)
    h, c, states = start["h_0"], start.get("c_0"), []
    for x_t in x:
        values = torch_step(kind, x_t, h, c, p)
        for name, value in values.items():
            seen.setdefault(name, []).append(value)
        h, c = values["h"], values.get("c")
        states.append(h)
    return torch.stack(states)


def torch_step(kind: str, x: Tensor, h: Tensor, c: Tensor | None, p: dict[str, Tensor]) -> dict[str, Tensor]:
    def a(q: str) -> Tensor:
        return p[f"W_x{q}"] @ x + p[f"W_h{q}"] @ h + p[f"b_{q}"]

    if kind in ("tanh", "relu"):
        return {"a": (z := a("h")), "h": getattr(torch, kind)(z)}
    if kind == "lstm":
        assert c is not None
        i, f, g, o = a("i"), a("f"), a("g"), a("o")
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return {"a_i": i, "a_f": f, "a_g": g, "a_o": o, "c": c, "h": o.sigmoid() * c.tanh()}
    r, z = a("r"), a("z")
    if kind == "gru":
        n = p["W_xn"] @ x + p["b_n"] + r.sigmoid() * (p["W_hn"] @ h + p["b_hn"])
    else:
        n = p["W_xn"] @ x + p["b_n"] + p["W_hn"] @ (r.sigmoid() * h)
    return {"a_r": r, "a_z": z, "a_n": n, "h": (1 - z.sigmoid()) * n.tanh() + z.sigmoid() * h}


def torch_convolution(x: Tensor, p: dict[str, Tensor], seen: dict[str, list[Tensor]]) -> Tensor:
    answers = []
    for k in (1, 3):
        padded = torch.nn.functional.pad(x.T[None], (0, k - 1))
        a = torch.nn.functional.conv1d(padded, p[f"W_{k}"].transpose(1, 2), p[f"b_{k}"])[0].T
        seen[f"a_{k}"] = list(a)
        answers.append(torch.stack(seen[f"a_{k}"]).relu())
    return torch.cat(answers, dim=1)


def sub(tensors: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    return {key.removeprefix(f"{name}."): value for key, value in tensors.items() if key.startswith(f"{name}.")}


# The question and the three answers


@dataclass(frozen=True)
class Question:
    """The loss is Σ weight ⊙ states: a batch with everything that it depends on, and random weights."""

    kind: str
    lengths: Integers
    x: Array
    parameters: dict[str, Array]
    start: dict[str, Array]
    weight: Array

    def arrays(self) -> dict[str, Array]:
        return {"x": self.x, **self.parameters, **self.start}

    def loss(self, arrays: Arrays) -> float:
        states, _ = self.run(make_layer(self.kind, MODULES), arrays)
        return float((self.weight * states).sum())

    def derived(self, modules: dict[str, Any]) -> dict[str, Array]:
        _, backward = self.run(make_layer(self.kind, modules), self.arrays())
        gradients = backward(self.weight)
        return {"x": gradients.x, **gradients.parameters, **gradients.start, **named("delta", gradients.delta)}

    def run(self, layer: Layer, arrays: Arrays) -> Any:
        parameters = {name: arrays[name] for name in self.parameters}
        return layer(arrays["x"], self.lengths, parameters, {name: arrays[name] for name in self.start})

    def autograd(self) -> dict[str, Array]:
        """By the same names, with ``delta`` too."""
        leaves = {name: torch.tensor(value, requires_grad=True) for name, value in self.arrays().items()}
        p = {name: leaves[name] for name in self.parameters}
        loss = torch.zeros((), dtype=torch.float64)
        traces = []
        for row, length in enumerate(self.lengths):
            seen: dict[str, list[Tensor]] = {}
            start = {name: leaves[name][row] for name in self.start}
            states = torch_states(self.kind, leaves["x"][row, :length], p, start, seen)
            loss = loss + (torch.tensor(self.weight[row, :length]) * states).sum()
            traces.append(seen)
        found = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values()), retain_graph=True), strict=True))
        answers = {name: value.numpy() for name, value in found.items()}
        for name in traces[0]:
            flat = [value for seen in traces for value in seen[name]]
            delta = np.zeros((*self.x.shape[:2], len(flat[0])))
            delta[np.arange(self.x.shape[1]) < self.lengths[:, None]] = np.stack(
                torch.autograd.grad(loss, flat, retain_graph=True)
            )
            answers[f"delta.{name}"] = delta
        return answers


def ask(kind: str, lengths: Integers, extra: int, d: int, h: int, seed: int, value: Callable[..., Array] | None = None):
    """``value`` draws an array of a shape; without it, the seed does."""
    generator = np.random.default_rng(seed)
    draw = value or (lambda shape: generator.normal(size=shape))
    batch, steps = len(lengths), int(max(lengths)) + extra
    parameters = make_parameters(kind, generator, d, h)
    if value:
        parameters = {name: value(array.shape) for name, array in parameters.items()}
    x = draw((batch, steps, d))
    start = {name: draw((batch, h)) for name in start_names(kind)}
    states, _ = make_layer(kind, MODULES)(x, lengths, parameters, start)
    return Question(kind, lengths, x, parameters, start, generator.normal(size=states.shape))


def check_triangle(question: Question) -> None:
    derived = question.derived(MODULES)
    autograd = question.autograd()
    measured = central_differences(question.loss, question.arrays())
    assert disagreements(derived, autograd, EXACT) == {}
    assert disagreements({name: derived[name] for name in measured}, measured) == {}


shapes = {
    "lengths": st.lists(st.integers(1, 4), min_size=1, max_size=3).map(np.array),
    "extra": st.integers(0, 2),
    "d": st.integers(1, 3),
    "h": st.integers(1, 3),
    "seed": st.integers(0, 999),
}


@pytest.mark.parametrize("kind", SINGLE)
@settings(derandomize=True, deadline=None, max_examples=25)
@given(**shapes)
def test_triangle(kind, lengths, extra, d, h, seed):
    check_triangle(ask(kind, lengths, extra, d, h, seed))


@pytest.mark.parametrize("kind", NESTED)
@settings(derandomize=True, deadline=None, max_examples=6)
@given(**shapes)
def test_triangle_of_layers_of_layers(kind, lengths, extra, d, h, seed):
    check_triangle(ask(kind, lengths, extra, d, h, seed))


@pytest.mark.parametrize("kind", SMOOTH)  # where there is a kink, hypothesis finds it, and there is no derivative
@settings(derandomize=True, deadline=None, max_examples=12)
@given(data=st.data(), **shapes)
def test_triangle_at_drawn_weights(kind, data, lengths, extra, d, h, seed):
    numbers = st.floats(-2, 2, allow_subnormal=False)
    check_triangle(
        ask(kind, lengths, extra, d, h, seed, lambda s: data.draw(hnp.arrays(np.float64, s, elements=numbers)))
    )


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple), st.integers(2, 4), st.integers(0, 999), st.data()
)
def test_triangle_of_linear_and_cross_entropy(places, classes, seed, data):
    generator = np.random.default_rng(seed)
    arrays = {
        "h": generator.normal(size=(*places, 3)),
        "W_hy": generator.normal(size=(classes, 3)),
        "b_y": generator.normal(size=classes),
    }
    targets = data.draw(hnp.arrays(np.int64, places, elements=st.sampled_from([IGNORE, *range(classes)])))
    targets.flat[0] = 0  # at least one counts
    derived, loss = derive_linear(linear, arrays, targets)
    leaves = {name: torch.tensor(value, requires_grad=True) for name, value in arrays.items()}
    logits = torch.nn.functional.linear(leaves["h"], leaves["W_hy"], leaves["b_y"]).reshape(-1, classes)
    torch_loss = torch.nn.functional.cross_entropy(logits, torch.tensor(targets).reshape(-1), ignore_index=IGNORE)
    found = torch.autograd.grad(torch_loss, list(leaves.values()))
    assert loss == pytest.approx(torch_loss.item(), rel=1e-12)
    assert disagreements(derived, {name: one.numpy() for name, one in zip(leaves, found, strict=True)}, EXACT) == {}
    measured = central_differences(lambda moved: derive_linear(linear, moved, targets)[1], arrays)
    assert disagreements(derived, measured) == {}


def derive_linear(module: Any, arrays: Arrays, targets: Integers) -> tuple[dict[str, Array], float]:
    logits, backward = module.linear(arrays["h"], arrays)
    loss, loss_backward = module.softmax_cross_entropy(logits, targets)
    gradients = backward(loss_backward())
    return {"h": gradients.x, **gradients.parameters}, loss


@pytest.mark.parametrize("pool", ["last", "last_of_both", "max_over_time", None])
@settings(derandomize=True, deadline=None, max_examples=10)
@given(**shapes)
def test_triangle_of_whole_networks(pool, lengths, extra, d, h, seed):
    """Ids → embedding → bidirectional → pooling → linear; ids come twice and at padding, two of them at a step."""
    arrays, derive = ask_network(pool, lengths, extra, d, h, seed)
    derived, _ = derive(network, pooling, arrays)
    measured = central_differences(lambda moved: derive(network, pooling, moved)[1], arrays)
    assert disagreements(derived, measured) == {}


def ask_network(pool: str | None, lengths: Integers, extra: int, d: int, h: int, seed: int):
    generator = np.random.default_rng(seed)
    ids = generator.integers(0, 3, (len(lengths), max(lengths) + extra, 2))
    arrays = {
        "embedding.E": generator.normal(size=(4, d)),  # 3 is an id that isn't there
        **named("encoder", make_parameters("both tanh", generator, 2 * d, h)),
        **named("head", {"W_hy": generator.normal(size=(3, 2 * h)), "b_y": generator.normal(size=3)}),
    }
    weight = generator.normal(size=(len(lengths), 3) if pool else (*ids.shape[:2], 3))

    def derive(networks: Any, pools: Any, arrays: Arrays) -> tuple[dict[str, Array], float]:
        model = networks.network(make_layer("both tanh", MODULES), getattr(pools, pool) if pool else None)
        logits, backward = model(ids, lengths, arrays)
        return backward(weight), float((weight * logits).sum())

    return arrays, derive
