"""What a layer is, and how the names of layers inside layers are made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Gradients:
    """What a backward pass gives back."""

    x: Array
    """∂L/∂x, as the input; zero at padding."""
    parameters: Arrays = field(default_factory=dict)
    """∂L/∂W, with the names and shapes of the parameters."""
    start: Arrays = field(default_factory=dict)
    """∂L/∂h_0 (B, H), and of the LSTM ∂L/∂c_0."""
    delta: Arrays = field(default_factory=dict)
    """Resolved in time: ``delta["v"]`` is ∂L/∂v_t for every step t, (B, T, H), zero at padding. v is h, with all paths
    through time, or a sum before its activation, the textbook's δ_t: a in the RNN, a_i, a_f … with gates."""


Backward = Callable[[Array], Gradients]


class Layer(Protocol):
    """(x (B, T, D), lengths (B,)) → (states (B, T, H), zero at padding; backward). ``start`` is {"h_0": (B, H)}, with
    "c_0" for the LSTM; what it doesn't name is zero."""

    def __call__(
        self, x: Array, lengths: Integers, parameters: Arrays, start: Arrays | None = None, /
    ) -> tuple[Array, Backward]: ...


def below(name: str, arrays: Arrays) -> dict[str, Array]:
    """Those of the arrays that belong to a part: of "ahead", ``ahead.W_xh`` as ``W_xh``."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}


def named(name: str, arrays: Arrays) -> dict[str, Array]:
    """The other way: ``W_xh`` as ``ahead.W_xh``."""
    return {f"{name}.{key}": value for key, value in arrays.items()}
