"""The letters of words, as `models.letters` reads them."""

from typing import cast

import numpy as np

from rnnlab.models.base import Encoder
from rnnlab.models.letters import SPAN, LetterVectors
from rnnlab.use.onnx.building_blocks import Rows, linear
from rnnlab.use.onnx.encoders import encode
from rnnlab.use.onnx.graph import FLOAT, INT64, Graph

NAME = "embedding.spelled"


def read_letters(g: Graph, ids: str, rows: Rows, tokens: int, length: int, reader: LetterVectors) -> str:
    """The letters that stand behind the ids of each step, (B, T, tokens + length) → (B, T, width). Every word is read,
    also one that was read before: what torch spares there changes no answer."""
    axis = g.constant([2])
    letters = g.op("Slice", ids, g.constant([tokens]), g.constant([tokens + length]), axis)
    words = g.op("Reshape", letters, g.constant([-1, length]))  # (N, L)
    there = g.op("Greater", words, g.constant(np.array(0)))
    count = g.op("ReduceSum", g.op("Cast", there, to=INT64), g.constant([1]), keepdims=0)
    at_least_one = g.op("Max", count, g.constant(np.array(1)))  # a word without letters is read as if it had one
    each = Rows(g, words, at_least_one)
    vectors = g.op("Gather", g.constant(reader.table, f"{NAME}.table"), words)  # (N, L, D)
    if reader.reader == "bilstm":
        _, found = encode(g, vectors, each, cast(Encoder, reader.lstm), f"{NAME}.lstm")
    else:
        found = _filtered(g, vectors, each, length, reader)
    spelled = g.op("Cast", g.op("Slice", there, g.constant([0]), g.constant([1]), g.constant([1])), to=FLOAT)
    shape = g.op("Concat", rows.batch, rows.steps, g.constant([reader.width]), axis=0)
    return g.op("Reshape", g.op("Mul", found, spelled), shape)


def _filtered(g: Graph, letters: str, words: Rows, length: int, reader: LetterVectors) -> str:
    """(N, L, D) → (N, width): of every filter its strongest answer."""
    around = g.op("Pad", letters, g.constant([0, 1, 0, 0, 1, 0]), g.constant(0.0))
    axis = g.constant([1])
    spans = [g.op("Slice", around, g.constant([first]), g.constant([first + length]), axis) for first in range(SPAN)]
    heard = g.op("Relu", linear(g, g.op("Concat", *spans, axis=2), reader.filters, f"{NAME}.filters"))
    return g.op("ReduceMax", words.zero_padding(heard), axis, keepdims=0)
