"""The scores of additive attention in native code are those of the formula, forward and backward; and the best tokens
are those of torch."""

import pytest
import torch

from rnnlab import kernels
from rnnlab.kernels import ops

pytestmark = pytest.mark.skipif(kernels.library() is None, reason="no native code here")

SIZES = [(3, 4, 5, 16), (2, 1, 3, 7), (5, 9, 2, 40), (1, 3, 6, 33)]


Given = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def made(sizes: tuple[int, int, int, int], dtype: torch.dtype) -> tuple[Given, torch.Tensor]:
    batch, steps, places, hidden = sizes
    random = torch.Generator().manual_seed(sum(sizes))
    queries, keys, v = (
        torch.randn(shape, generator=random, dtype=dtype, requires_grad=True)
        for shape in ((batch, steps, hidden), (batch, places, hidden), (hidden,))
    )
    lengths = torch.randint(1, places + 1, (batch,), generator=random)
    lengths[0] = places
    return (queries, keys, v), torch.arange(places) < lengths[:, None]


def naive(queries, keys, v):
    return torch.tanh(queries[:, :, None] + keys[:, None]) @ v


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 2e-6), (torch.float64, 1e-13)])
@pytest.mark.parametrize("threads", [1, 2])
def test_scores_and_gradients_are_those_of_the_formula(sizes, dtype, close, threads):
    given, real = made(sizes, dtype)
    weights = torch.randn(sizes[:3], generator=torch.Generator().manual_seed(1), dtype=dtype) * real[:, None]
    results = []
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for scores in (ops.additive_scores(*given, real), naive(*given)):
            assert scores is not None
            gradients = torch.autograd.grad((scores * weights).sum(), given)
            results.append([scores.detach() * real[:, None], *gradients])
    finally:
        torch.set_num_threads(before)
    for ours, theirs in zip(*results, strict=True):
        assert torch.allclose(ours, theirs, atol=close * sizes[3], rtol=0)


def test_gradients_are_finite_differences():
    given, real = made((2, 3, 4, 5), torch.float64)

    def scores(queries: torch.Tensor, keys: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        found = ops.additive_scores(queries, keys, v, torch.ones_like(real))
        assert found is not None
        return found

    assert torch.autograd.gradcheck(scores, given)


def test_padding_has_no_gradient_and_no_influence():
    (queries, keys, v), real = made((3, 4, 5, 16), torch.float32)
    scores = ops.additive_scores(queries, keys, v, real)
    assert scores is not None
    weights = torch.softmax(scores.masked_fill(~real[:, None], -torch.inf), 2)
    (for_keys,) = torch.autograd.grad((weights**2).sum(), keys)
    assert not for_keys[~real].any()
    assert for_keys[real].any()
    other = ops.additive_scores(queries, keys.detach().masked_fill(~real[:, :, None], 7.0), v, real)
    assert other is not None
    assert torch.equal((scores * real[:, None]).detach(), (other * real[:, None]).detach())


@pytest.mark.parametrize(("rows", "size", "count"), [(1, 5, 5), (7, 100, 6), (3, 3001, 11), (2, 16, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_best_tokens_are_those_of_torch(rows, size, count, dtype):
    random = torch.Generator().manual_seed(size)
    outputs = torch.randn((rows, size), generator=random, dtype=dtype) * 30
    outputs[:, size // 2] = -torch.inf
    best, ids = ops.best_tokens(outputs, count)
    expected = torch.log_softmax(outputs, 1).topk(count, dim=1)
    known = expected.values > -torch.inf
    assert torch.allclose(best[known], expected.values[known], atol=1e-4)
    assert torch.equal(ids[known], expected.indices[known])
    assert torch.equal(best == -torch.inf, ~known)


def test_of_equal_tokens_the_first_comes_first():
    outputs = torch.tensor([[1.0, 3.0, 3.0, 2.0, 3.0, 2.0] * 10])
    best, ids = ops.best_tokens(outputs, 4)
    assert ids.tolist() == [[1, 2, 4, 7]]
    assert len(set(best[0].tolist())) == 1
