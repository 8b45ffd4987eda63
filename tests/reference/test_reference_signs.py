"""No sign may be turned: every + and - of every backward pass, one at a time, and the gradient check must fail."""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from test_reference_triangle import MODULES, ask, ask_network, derive_linear

import rnnlab.reference
from rnnlab.reference import (
    bidirectional,
    convolution,
    embedding,
    gru,
    linear,
    lstm,
    network,
    pooling,
    rnn,
    stacked,
)
from rnnlab.reference.gradcheck import central_differences, disagreements
from rnnlab.reference.layer import Array, Arrays
from rnnlab.reference.linear import IGNORE

LENGTHS = np.array([4, 1, 3])
FLIPPED: dict[type[ast.AST], ast.operator] = {ast.Add: ast.Sub(), ast.Sub: ast.Add()}
PRODUCTS = (ast.Mult, ast.MatMult, ast.Div)
SUMS = {"sum", "sum_of", "sum_of_products", "mirror", "zero_padding"}
GRADIENTS = ("d_", "delta", "from_", "h_from_", "c_from_", "through_")  # how the names of gradients begin


def signs(tree: ast.Module) -> list[ast.AST]:
    """In functions named ``backward``: every + and -, and whatever has a sign that isn't written: products, sums over
    steps, gradients that are handed on."""
    backwards = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "backward"]
    nodes = [node for function in backwards for node in ast.walk(function)]
    containers = {id(node.value) for node in nodes if isinstance(node, ast.Subscript | ast.Attribute)}
    return [node for node in nodes if has_sign(node, inner=id(node) in containers)]


def has_sign(node: ast.AST, inner: bool) -> bool:
    match node:
        case ast.BinOp(op=op):
            return isinstance(op, (ast.Add, ast.Sub, *PRODUCTS))
        case ast.AugAssign(op=op):
            return type(op) in FLIPPED
        case ast.UnaryOp(op=ast.USub()):
            return True
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in SUMS
        case ast.Attribute(attr="x"):
            return True
        case ast.Name(ctx=ast.Load()) | ast.Subscript(ctx=ast.Load()):
            return not inner and ast.unparse(node).startswith(GRADIENTS)
    return False


class Turn(ast.NodeTransformer):
    """Turns one sign: + and - become each other; what has none gets a minus."""

    def __init__(self, sign: ast.AST):
        self.sign = sign

    def visit(self, node: ast.AST) -> Any:
        if node is not self.sign:
            return self.generic_visit(node)
        match node:
            case (ast.BinOp(op=ast.Add() | ast.Sub()) | ast.AugAssign()) as sum_or_difference:
                sum_or_difference.op = FLIPPED[type(sum_or_difference.op)]
                return sum_or_difference
            case ast.UnaryOp(operand=operand):
                return operand
            case ast.expr():
                return ast.UnaryOp(ast.USub(), node)
        raise AssertionError(ast.dump(node))


def turned_modules(module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """A copy of the module for every sign, with that sign turned, and where it is."""
    assert module.__file__
    source = Path(module.__file__).read_text(encoding="utf-8")
    for number in range(len(signs(ast.parse(source)))):
        tree = ast.parse(source)
        sign = signs(tree)[number]
        where = f"{module.__name__}, line {sign.lineno}: {ast.unparse(sign)}"  # type: ignore[attr-defined]  # all have one
        copy = ModuleType(module.__name__)
        exec(compile(ast.fix_missing_locations(Turn(sign).visit(tree)), module.__file__, "exec"), copy.__dict__)
        yield where, copy


def notices(derive: Callable[[], dict[str, Array]], truth: Arrays) -> bool:
    """Whether the gradient check fails, or the tampered code itself does."""
    try:
        return disagreements(derive(), truth) != {}
    except (TypeError, ValueError, IndexError):
        return True


def layer_check(name: str, *kinds: str) -> Callable[[ModuleType], bool]:
    questions = [ask(kind, LENGTHS, 1, 2, 3, seed=5) for kind in kinds]
    truths = []
    for question in questions:  # central differences; and for δ_t, which no number can be moved for, autograd
        deltas = {key: value for key, value in question.autograd().items() if key.startswith("delta.")}
        truths.append(central_differences(question.loss, question.arrays()) | deltas)
        assert not notices(partial(question.derived, MODULES), truths[-1])

    def check(module: ModuleType) -> bool:
        modules = {**MODULES, name: module}
        answers = zip(questions, truths, strict=True)
        return any(notices(partial(question.derived, modules), truth) for question, truth in answers)

    return check


def linear_check() -> Callable[[ModuleType], bool]:
    generator = np.random.default_rng(5)
    arrays = {name: generator.normal(size=shape) for name, shape in (("h", (2, 4, 3)), ("W_hy", (3, 3)), ("b_y", (3,)))}
    targets = np.array([[0, 2, 1, 1], [2, IGNORE, 0, IGNORE]])
    truth = central_differences(lambda moved: derive_linear(linear, moved, targets)[1], arrays)
    return lambda module: notices(lambda: derive_linear(module, arrays, targets)[0], truth)


def embedding_check() -> Callable[[ModuleType], bool]:
    generator = np.random.default_rng(5)
    E, ids, weight = generator.normal(size=(4, 2)), np.array([[1, 2, 1], [3, 1, 0]]), generator.normal(size=(2, 3, 2))
    truth = central_differences(lambda moved: float((weight * moved["E"][ids]).sum()), {"E": E})
    return lambda module: notices(lambda: module.embedding(ids, {"E": E})[1](weight), truth)


def network_check(name: str) -> Callable[[ModuleType], bool]:
    arrays, derive = ask_network("max_over_time", LENGTHS, 1, 2, 3, seed=5)
    truth = central_differences(lambda moved: derive(network, pooling, moved)[1], arrays)

    def check(module: ModuleType) -> bool:
        used = {"network": network, "pooling": pooling, name: module}
        return notices(lambda: derive(used["network"], used["pooling"], arrays)[0], truth)

    return check


CHECKS: dict[ModuleType, Callable[[], Callable[[ModuleType], bool]]] = {
    rnn: lambda: layer_check("rnn", "tanh", "relu"),
    lstm: lambda: layer_check("lstm", "lstm"),
    gru: lambda: layer_check("gru", "gru", "gru-before"),
    bidirectional: lambda: layer_check("bidirectional", "both lstm"),
    stacked: lambda: layer_check("stacked", "2 gru"),
    convolution: lambda: layer_check("convolution", "convolution"),
    linear: linear_check,
    embedding: embedding_check,
    pooling: lambda: network_check("pooling"),
    network: lambda: network_check("network"),
}


@pytest.mark.parametrize("module", CHECKS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_turned_sign_is_noticed(module, record_property):
    check = CHECKS[module]()
    assert not check(module), "as it is, it is right"
    results = {where: check(turned) for where, turned in turned_modules(module)}
    record_property("signs", len(results))
    assert results
    assert [where for where, noticed in results.items() if not noticed] == []


def test_every_backward_is_among_them():
    package = Path(rnnlab.reference.__file__).parent
    having = {path.stem for path in package.glob("*.py") if "def backward(" in path.read_text(encoding="utf-8")}
    assert having == {module.__name__.rpartition(".")[2] for module in CHECKS}
