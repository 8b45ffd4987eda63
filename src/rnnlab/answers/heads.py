"""From what an encoder made of a batch to outputs."""

from torch import Tensor, nn

from rnnlab.models.base import Encoded


class SummaryHead(nn.Module):
    """(B, S) summary → (B, C)."""

    def __init__(self, width: int, outputs: int):
        super().__init__()
        self.linear: nn.Linear = nn.Linear(width, outputs)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.summary)


class StateHead(nn.Module):
    """(B, T, H) states → (B, T, C)."""

    @property
    def outputs(self) -> int:
        return self.linear.out_features

    def __init__(self, width: int, outputs: int):
        super().__init__()
        self.linear: nn.Linear = nn.Linear(width, outputs)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.states)
