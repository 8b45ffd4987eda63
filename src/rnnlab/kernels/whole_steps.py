"""Whole training steps of recurrent networks and of bags of n-grams, in native code (whole_steps.cpp).

A `Member` is a network, its optimiser and the batches that await it. Nothing is copied: the structures hold addresses,
and whoever fills them in keeps the tensors.
"""

from ctypes import POINTER, Structure, c_void_p
from typing import Any

import torch
from torch import Tensor

from rnnlab.kernels.calls import N, P, R, fields, run

ANSWERS = {"class": 0, "class a step": 1, "number": 2, "labels": 3}
POOLINGS = {"last": 0, "first+last": 1, "mean": 2, "max": 3, "attention": 4}


class Step(Structure):
    """The fields of Step in whole_steps.h, in its order."""

    _fields_ = fields(
        *(N, "batch steps", P, "inputs lengths targets", N, "seed", R, "rate keep root loss norm share", N, "whole"),
    )


class Member(Structure):
    """The fields of Member in whole_steps.h, in its order."""

    scratch: Tensor  # (words,) int32, zero: where `places` points
    _fields_ = fields(
        *(N, "kind layers directions inputs hidden threads ngrams buckets factor squares ends"),
        *(POINTER(c_void_p), "weights gradients", P, "carried", N, "normed", POINTER(c_void_p), "gains for_gains"),
        *(N, "words width frozen_width tokens", P, "table frozen places", N, "table_learns", P, "table_gradient"),
        *(N, "columns", P, "segments for_segments"),
        *(R, "embedding_dropout layer_dropout state_dropout output_dropout weight_dropout", N, "locked"),
        *(N, "pooling", P, "query for_query", N, "answer outputs", P, "head head_bias for_head for_head_bias"),
        *(P, "class_weights"),
        *(R, "close", N, "descends", P, "dense gradient moment1 moment2 row_moment1 row_moment2", N, "numbers"),
        *(R, "clip decay momentum beta1 beta2 epsilon exploded", POINTER(Step), "work", N, "count done stopped"),
    )


def do_steps(member: Member, steps: Any, dtype: torch.dtype) -> None:
    """Do the steps, a C array of `Step`, in turn, and write into them what was found. ``done`` says how many were
    completed; a member whose next step broke is ``stopped``, and left as it was before it."""
    member.work, member.count, member.done, member.stopped = steps, len(steps), 0, 0
    run("do_steps", dtype, member)
