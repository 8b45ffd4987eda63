"""Recurrent networks in numpy alone, each forward beside its hand-derived backward. Readable before fast.

A layer is a function that returns its answer and the function that takes gradients back through it:

    states, backward = rnn(x, lengths, parameters)      # x (B, T, D), lengths (B,) → states (B, T, H)
    gradients = backward(d_states)                      # ∂L/∂states → ∂L/∂x, ∂L/∂h_0, ∂L/∂W_xh …, and ∂L/∂h_t

Parameters are dicts of arrays in the textbook's symbols and shapes: ``W_xh`` (H, D), ``W_hh`` (H, H), ``b_h`` (H,).
Read `rnn` first, then `lstm` and `gru`; `stacked` and `bidirectional` make layers of layers, `network` a whole model,
and `examples` trains two of them: ``python -m rnnlab.reference``. `gradcheck` is the judge of all.

Names in the code: ``d_v`` is ∂L/∂v. A batch has sequences as rows, so W x of the textbook is ``x @ W.T`` here and
Wᵀ δ is ``delta @ W``.
"""
