"""How Python calls the library: its functions by name, the fields of its structures, and where tensors lie."""

from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, Structure, byref, c_double, c_int64, c_void_p
from functools import cache
from typing import Any

import torch
from torch import Tensor

from rnnlab import kernels as native

TYPES = {torch.float32: "float", torch.float64: "double"}
P, N, R = c_void_p, c_int64, c_double  # where something lies; how many; a real number
SIGNATURES: dict[str, tuple[Any, ...]] = {  # as in the sources: what is returned, then what is taken
    **dict.fromkeys(("recurrence_forward", "recurrence_backward"), (None, P)),
    **dict.fromkeys(("normalised_forward", "normalised_backward"), (None, P)),
    **dict.fromkeys(("normalised_input_forward", "normalised_input_backward"), (None, P)),
    **dict.fromkeys(("transformer_forward", "transformer_backward", "do_steps"), (None, P)),
    **dict.fromkeys(("recurrence_saved", "normalised_saved"), (N, N, N, N)),
    "normalised_input_saved": (N, N, N),
    "transformer_saved": (N, P, N),
    "count_tokens": (N, P, N, N),
    "inference_width": (N,),
    "inference_read": (N, P),
    "adam": (R, *[P] * 4, N, *[P] * 5, N, N, *[R] * 7, N),
    "descend": (R, *[P] * 3, N, *[P] * 3, N, N, *[R] * 4, N),
    "pick": (N, P, N, P, N, N, P, N, *[P] * 4),
    "gather_gradients": (None, P, N, N, N, P, P),
    "classify": (N, *[P] * 5, N, N, N, *[P] * 4),
    "windows_forward": (None, *[N] * 5, *[P] * 8, N),
    "windows_backward": (None, *[N] * 5, *[P] * 12, N),
    "count_grams": (N, P, P, N, P, P),
    "find_grams": (None, P, N, P, N, P),
    "list_grams": (N, P, P, N, N, N, P, P),
    "gram_product": (None, P, P, P, P, N, N, P, P),
    "gram_transposed": (None, P, P, P, P, N, N, P, P),
    "number_children": (N, P, P, N, N, N, *[P] * 4),
    "find_children": (None, *[P] * 4, N, P),
    "draw_tokens": (None, P, N, N, N, R, P, P),
    "best_tokens": (None, P, N, N, N, P, P, N),
    "additive_forward": (None, *[N] * 4, *[P] * 5, N),
    "additive_backward": (None, *[N] * 4, *[P] * 8, N),
    "chain_losses": (N, N, N, *[P] * 7),
    "chain_descend": (N, N, N, *[P] * 6, R, R, *[P] * 4),
    "best_paths": (None, N, N, *[P] * 4),
    "gram_descend": (None, P, P, P, P, N, N, P, P, P, P, P, N, P, P, P, P),
}


@cache
def function(name: str, dtype: torch.dtype | None = None) -> Callable[..., Any]:
    """One that the library has for numbers of this type, or for one type alone."""
    library = native.library()
    assert library is not None  # the caller asked whether it is there
    if dtype is None:
        return CFUNCTYPE(*SIGNATURES[name])((name, library))
    return CFUNCTYPE(*SIGNATURES[name])(c_void_p.in_dll(library, f"{name}_{TYPES[dtype]}").value or 0)


def call(name: str, dtype: torch.dtype, *given: Any) -> Any:
    """A function of numbers, structures, and tensors, of which it gets the places. They must be as many as it takes:
    ctypes would pass what is beyond as 32 bits, of which the other half is anything."""
    if len(given) != len(SIGNATURES[name]) - 1:
        raise TypeError(f"{name} takes {len(SIGNATURES[name]) - 1} arguments, and got {len(given)}")
    return function(name, dtype)(*(one.data_ptr() if isinstance(one, Tensor) else one for one in given))


def run(name: str, dtype: torch.dtype, given: Structure) -> None:
    """A function of one structure."""
    function(name, dtype)(byref(given))


def fields(*given: Any) -> list[tuple[str, Any]]:
    """Of a structure: a type and the names of the fields that have it, in turn."""
    return [(name, kind) for kind, names in zip(given[::2], given[1::2], strict=True) for name in names.split()]


def active() -> bool:
    """Whether there is native code, loaded or ready to be."""
    return native.ready() is not None


def known(x: Tensor) -> bool:
    """Whether there is native code for this: on the CPU, and of a precision that it knows."""
    return active() and x.dtype in TYPES and x.device.type == "cpu"


def usable(*tensors: Tensor) -> bool:
    """The same of several, that they are of one precision, and without gaps."""
    first = tensors[0]
    return known(first) and all(
        t.dtype == first.dtype and t.device.type == "cpu" and t.is_contiguous() for t in tensors
    )


def check_precision(x: Tensor, *others: Tensor | None) -> None:
    """Native code would take the bits of one for those of the other."""
    if any(other is not None and other.dtype != x.dtype for other in others):
        raise TypeError(f"the input is {x.dtype}, and some of the weights, starts, masks or positions aren't")


def count_tokens(lengths: Tensor, x: Tensor) -> int:
    """Of a batch (B, T, D). Native code would read beyond the end of things where lengths (B,) aren't as they should
    be."""
    batch, steps, _ = x.shape
    if lengths.dtype != torch.int64 or lengths.shape != (batch,):
        raise TypeError(f"lengths must be ({batch},) int64, and are {tuple(lengths.shape)} {lengths.dtype}")
    tokens = function("count_tokens")(lengths.data_ptr(), batch, steps)
    if not tokens:
        raise ValueError(f"lengths must be from 1 to {steps}, and are {lengths.min()} to {lengths.max()}")
    return tokens


def side_by_side(x: Tensor) -> Tensor:
    """(B, T, D) whose last numbers are; rows and steps may lie anywhere."""
    return x if x.stride(2) == 1 else x.contiguous()


def place(tensor: Tensor | None, beyond: int = 0) -> int | None:
    """Where it lies, or so many bytes beyond. Whoever has the address keeps the tensor."""
    return None if tensor is None else tensor.data_ptr() + beyond


def places(tensors: Sequence[Tensor | None]) -> Any:
    """The same of several, as a C array."""
    return (c_void_p * len(tensors))(*map(place, tensors))
