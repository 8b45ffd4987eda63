"""A model of your own is one class in one file: here the minimal gated unit (Zhou et al. 2016), a GRU with one gate.

rnnlab compare --plugin examples/mgu.py --models mgu,gru
"""

import torch
from pydantic import Field
from torch import Tensor, nn

from rnnlab import Architecture, architecture
from rnnlab.models.base import Encoded, Encoder
from rnnlab.models.pooling import Pool, Pooling, zero_padding


@architecture("mgu")
class MGU(Architecture):
    """f_t = σ(W_f x_t + U_f h_{t-1}),  h_t = (1 - f_t) h_{t-1} + f_t tanh(W_h x_t + U_h (f_t h_{t-1}))."""

    hidden: int = Field(default=128, ge=1, description="Width of the state.")
    pooling: Pooling = Field(default="last", description="How the states become one summary.")

    @property
    def causal(self) -> bool:
        return True

    def build(self, input_width: int) -> Encoder:
        return MGUEncoder(self, input_width)


class MGUEncoder(Encoder):
    def __init__(self, settings: MGU, input_width: int):
        super().__init__()
        self.state_width = settings.hidden
        self.from_input = nn.Linear(input_width, 2 * settings.hidden)
        self.gate = nn.Linear(settings.hidden, settings.hidden, bias=False)
        self.candidate = nn.Linear(settings.hidden, settings.hidden, bias=False)
        self.pool = Pool(settings.pooling, self.state_width)
        self.width = self.pool.width

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        gates, candidates = self.from_input(x).chunk(2, dim=2)  # (B, T, H) each
        h = x.new_zeros(x.shape[0], self.state_width)
        states = []
        for t in range(x.shape[1]):
            f = torch.sigmoid(gates[:, t] + self.gate(h))
            h = (1 - f) * h + f * torch.tanh(candidates[:, t] + self.candidate(f * h))
            states.append(h)
        kept = zero_padding(torch.stack(states, dim=1), lengths)
        return Encoded(kept, *self.pool(kept, lengths))
