"""The mean of the vectors of a text's words and hashed n-grams, and its gradient, in native code (bags.cpp)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlab.native.steps import function


@dataclass(frozen=True)
class Bags:
    """The texts of a batch, and which rows of the table they used."""

    means: Tensor  # (B, D)
    rows: Tensor  # (R,): distinct, in order of first appearance
    lengths: Tensor  # (B,)
    numbers: Tensor  # int32: of each word and n-gram, text after text, its place among the rows
    begins: Tensor  # (B + 1,): where those of a text begin

    def gradient(self, of_means: Tensor) -> Tensor:
        """(R, D), of the rows; from (B, D)."""
        gathered = torch.empty((len(self.rows), of_means.shape[1]), dtype=of_means.dtype)
        tensors = (self.numbers, self.begins, gathered)
        function("spread_out", of_means.dtype)(
            of_means.data_ptr(), self.lengths.data_ptr(), *of_means.shape, *(t.data_ptr() for t in tensors)
        )
        return gathered


def sum_up(
    ids: Tensor,
    lengths: Tensor,
    table: Tensor,
    *,
    words: int,
    ngrams: int,
    buckets: int,
    factor: int,
    squares: bool,
    ends: bool,
    places: Tensor,
) -> Bags:
    """Of ids (B, T) and a table (words + buckets, D); the other settings are those of `models.fasttext.Hashed`.
    ``places`` (words + buckets,) int32 is scratch space: zero before and after."""
    batch, steps = ids.shape
    most = batch * (steps + 1) * ngrams
    means = torch.empty((batch, table.shape[1]), dtype=table.dtype)
    rows, numbers = torch.empty(most, dtype=torch.int64), torch.empty(most, dtype=torch.int32)
    begins = torch.empty(batch + 1, dtype=torch.int64)
    count = function("sum_up", table.dtype)(
        *(ids.data_ptr(), lengths.data_ptr(), batch, steps, table.data_ptr(), words, table.shape[1]),
        *(ngrams, buckets, factor, squares, ends),
        *(t.data_ptr() for t in (places, means, rows, numbers, begins)),
    )
    if count < 0:
        raise IndexError(f"an id is not among the {words} words")
    return Bags(means, rows[:count], lengths, numbers, begins)
