"""Dropout that drops the same units at every step of a row."""

import torch.nn.functional as F
from torch import Tensor, nn


class LockedDropout(nn.Dropout):
    """(B, T, D): one mask per row instead of one per step (Gal & Ghahramani 2016). What has no steps, (B, D), is
    dropped as usual."""

    def forward(self, input: Tensor) -> Tensor:  # torch's name
        if not self.training or input.dim() < 3:
            return super().forward(input)
        return input * F.dropout(input.new_ones(len(input), 1, input.shape[2]), self.p)


def dropout_of(p: float, *, locked: bool) -> nn.Dropout:
    return LockedDropout(p) if locked else nn.Dropout(p)
