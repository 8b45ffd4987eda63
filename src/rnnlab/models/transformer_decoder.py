"""The layers of a Transformer that writes: each looks at what was written so far, and at what was read."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.models.base import State
from rnnlab.models.transformer import Layer, LearnedPositions, SinusoidalPositions, Transformer


class CrossLayer(Layer):
    """x + attention(norm(x)), x + attention to what was read, x + feedforward(norm(x)); (B, L, W) → (B, L, W)."""

    def __init__(self, settings: Transformer, memory_width: int):
        super().__init__(settings)
        width = settings.width
        self.cross_norm: nn.LayerNorm = nn.LayerNorm(width)
        self.cross_query: nn.Linear = nn.Linear(width, width, bias=False)
        self.cross_key_value: nn.Linear = nn.Linear(memory_width, 2 * width, bias=False)
        self.cross_output: nn.Linear = nn.Linear(width, width)

    def look(self, x: Tensor, keys: Tensor, values: Tensor, real: Tensor) -> Tensor:
        """At what was read: keys and values (B, S, W), ``real`` (B, S)."""
        query = self._in_heads(self.cross_query(self.cross_norm(x)))
        dropout = self.dropout.p if self.training else 0.0
        found = F.scaled_dot_product_attention(
            query, self._in_heads(keys), self._in_heads(values), attn_mask=real[:, None, None], dropout_p=dropout
        )
        return x + self.dropout(self.cross_output(found.transpose(1, 2).flatten(2)))

    def weights(self, x: Tensor, keys: Tensor, real: Tensor) -> Tensor:
        """(B, L, S): where `look` looks, the mean of its heads."""
        query, key = self._in_heads(self.cross_query(self.cross_norm(x))), self._in_heads(keys)
        scores = query @ key.transpose(2, 3) / query.shape[3] ** 0.5
        return F.softmax(scores.masked_fill(~real[:, None, None], -torch.inf), dim=3).mean(1)

    def _in_heads(self, x: Tensor) -> Tensor:
        """(B, L, W) → (B, heads, L, W / heads)."""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)


class TransformerLayers(nn.Module):
    def __init__(self, settings: Transformer, input_width: int, memory_width: int):
        super().__init__()
        self.project: nn.Linear = nn.Linear(input_width, settings.width)
        self.positions: SinusoidalPositions | LearnedPositions = (
            SinusoidalPositions(settings.width)
            if settings.max_length is None
            else LearnedPositions(settings.max_length, settings.width)
        )
        self.dropout: nn.Dropout = nn.Dropout(settings.dropout)
        self.layers: nn.ModuleList = nn.ModuleList(CrossLayer(settings, memory_width) for _ in range(settings.layers))
        self.norm: nn.LayerNorm = nn.LayerNorm(settings.width)

    @property
    def every(self) -> list[CrossLayer]:
        return [layer for layer in self.layers if isinstance(layer, CrossLayer)]

    def keys(self, memory: Tensor) -> State:
        """Keys and values (B, S, W) of what was read, of each layer in turn."""
        return tuple(part for layer in self.every for part in layer.cross_key_value(memory).chunk(2, dim=2))

    def forward(self, x: Tensor, keys: State, real: Tensor, *, looked_at: bool = False) -> tuple[Tensor, Tensor | None]:
        """(B, L, input_width) → states (B, L, W), and, if asked for, where the last layer looked. Padding comes last,
        and no step sees a later one."""
        steps = x.shape[1]
        seen = torch.ones(steps, steps, dtype=torch.bool, device=x.device).tril()[None, None]
        x = self.dropout(self.project(x) + self.positions.at(torch.arange(steps, device=x.device)))
        looks = None
        for layer, key, value in zip(self.every, keys[::2], keys[1::2], strict=True):
            x = x + layer.dropout(layer._attend(layer.attention_norm(x), seen))
            looks = layer.weights(x, key, real) if looked_at else None
            x = layer.look(x, key, value, real)
            x = x + layer.dropout(layer.feedforward(x))
        return self.norm(x), looks

    def begin(self, rows: int) -> State:
        like = self.norm.weight
        empty = [like.new_zeros(rows, 0, len(like)) for _ in range(2 * len(self.layers))]
        return torch.zeros(rows, dtype=torch.int64, device=like.device), *empty

    def advance(self, x: Tensor, keys: State, real: Tensor, state: State) -> tuple[Tensor, State]:
        """One step of each row, which all have as many before it. A state holds how many, (B,), and keys and values
        (B, steps so far, W) of each layer in turn."""
        place, *known = state
        x = self.project(x) + self.positions.at(place[:, None])
        after: list[Tensor] = []
        for number, layer in enumerate(self.every):
            query, *new = layer.query_key_value(layer.attention_norm(x)).chunk(3, dim=2)
            key, value = (torch.cat(both, dim=1) for both in zip(known[2 * number : 2 * number + 2], new, strict=True))
            after += [key, value]
            in_heads = [layer._in_heads(part) for part in (query, key, value)]
            found = F.scaled_dot_product_attention(in_heads[0], in_heads[1], in_heads[2])
            x = x + layer.output(found.transpose(1, 2).flatten(2))
            x = layer.look(x, keys[2 * number], keys[2 * number + 1], real)
            x = x + layer.feedforward(x)
        return self.norm(x), (place + 1, *after)
