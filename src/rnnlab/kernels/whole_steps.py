"""Whole training steps of recurrent networks and of bags of n-grams, in native code (whole_steps.cpp).

A `Member` is a network, its optimiser and the batches that await it. Nothing is copied: the structures hold addresses,
and whoever fills them in keeps the tensors.
"""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_double, c_int64, c_void_p
from functools import cache
from typing import Any

import torch
from torch import Tensor

from rnnlab import kernels as native
from rnnlab.kernels.recurrence import TYPES

ANSWERS = {"class": 0, "class a step": 1, "number": 2}
POOLINGS = {"last": 0, "first+last": 1, "mean": 2, "max": 3, "attention": 4}


class Step(ctypes.Structure):
    """The fields of Step in whole_steps.cpp, in its order."""

    _fields_ = [
        *((name, c_int64) for name in ("batch", "steps")),
        *((name, c_void_p) for name in ("inputs", "lengths", "targets")),
        ("seed", c_int64),
        *((name, c_double) for name in ("rate", "keep", "root", "loss", "norm", "share")),
        ("whole", c_int64),
    ]


class Member(ctypes.Structure):
    """The fields of Member in whole_steps.cpp, in its order."""

    _fields_ = [
        *((name, c_int64) for name in ("kind", "layers", "directions", "inputs", "hidden", "threads")),
        *((name, c_int64) for name in ("ngrams", "buckets", "factor", "squares", "ends")),
        *((name, POINTER(c_void_p)) for name in ("weights", "gradients")),
        ("normed", c_int64),
        *((name, POINTER(c_void_p)) for name in ("gains", "for_gains")),
        *((name, c_int64) for name in ("words", "width", "frozen_width", "tokens")),
        *((name, c_void_p) for name in ("table", "frozen", "places")),
        ("table_learns", c_int64),
        ("table_gradient", c_void_p),
        *((f"{where}_dropout", c_double) for where in ("embedding", "layer", "state", "output")),
        ("pooling", c_int64),
        *((name, c_void_p) for name in ("query", "for_query")),
        *((name, c_int64) for name in ("answer", "outputs")),
        *((name, c_void_p) for name in ("head", "head_bias", "for_head", "for_head_bias")),
        ("close", c_double),
        ("descends", c_int64),
        *((name, c_void_p) for name in ("dense", "gradient", "moment1", "moment2", "row_moment1", "row_moment2")),
        ("numbers", c_int64),
        *((name, c_double) for name in ("clip", "decay", "momentum", "beta1", "beta2", "epsilon", "exploded")),
        ("work", POINTER(Step)),
        *((name, c_int64) for name in ("count", "done", "stopped")),
    ]


@cache
def _function(dtype: torch.dtype) -> Any:
    library = native.library()
    assert library is not None  # the caller asked `suits`
    function = getattr(library, f"do_steps_{TYPES[dtype]}")
    function.argtypes, function.restype = [POINTER(Member)], None
    return function


def suits(weights: Tensor) -> bool:
    """Whether there is native code for networks with such weights here."""
    return weights.device.type == "cpu" and weights.dtype in TYPES and native.ready() is not None


def do_steps(member: Member, steps: Any, dtype: torch.dtype) -> None:
    """Do the steps, a C array of `Step`, in turn, and write into them what was found. ``done`` says how many were
    completed; a member whose next step broke is ``stopped``, and left as it was before it."""
    member.work, member.count, member.done, member.stopped = steps, len(steps), 0, 0
    _function(dtype)(member)


def addresses(tensors: Sequence[Tensor | None]) -> Any:
    """A C array of where tensors lie; null for none."""
    return (c_void_p * len(tensors))(*(None if tensor is None else tensor.data_ptr() for tensor in tensors))
