"""TextCNN's native kernel against its torch path."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rnnlab.kernels import library, switched_off
from rnnlab.models.convolution import ConvolutionalEncoder, TextCNN

pytestmark = pytest.mark.skipif(library() is None, reason="there are no native kernels")

DTYPES = [torch.float32, torch.float64]
CLOSE = {torch.float32: (1e-4, 1e-5), torch.float64: (1e-10, 1e-12)}  # rtol, atol


def results(encoder: ConvolutionalEncoder, x: Tensor, lengths: Tensor, of: str) -> list[Tensor]:
    """States, summary and all gradients, of something that reads the summary, the states, or both."""
    encoder.zero_grad()
    x = x.detach().requires_grad_()
    encoded = encoder(x, lengths)
    random = torch.Generator().manual_seed(1)
    read = {"summary": [encoded.summary], "states": [encoded.states], "both": [encoded.summary, encoded.states]}[of]
    sum((one * torch.randn(one.shape, generator=random, dtype=one.dtype)).sum() for one in read).backward()  # type: ignore[union-attr]  # not 0: there is one at least
    assert x.grad is not None
    gradients = [p.grad for p in encoder.parameters()]
    return [encoded.states, encoded.summary, x.grad, *(g for g in gradients if g is not None)]


def built(
    widths: tuple[int, ...], filters: int, inputs: int, dtype: torch.dtype, centred: bool = False
) -> ConvolutionalEncoder:
    torch.manual_seed(0)
    encoder = TextCNN(widths=widths, filters=filters, centred=centred).build(inputs).to(dtype)
    assert isinstance(encoder, ConvolutionalEncoder)
    return encoder


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    widths=st.sampled_from([(1,), (2, 3), (5, 2, 3), (4, 11)]),
    filters=st.sampled_from([1, 7, 16, 37]),
    inputs=st.sampled_from([1, 5, 20]),
    dtype=st.sampled_from(DTYPES),
    of=st.sampled_from(["summary", "states", "both"]),
    spare=st.integers(0, 2),
    centred=st.booleans(),
)
def test_answers_and_gradients_are_those_of_torch(
    lengths: list[int],
    widths: tuple[int, ...],
    filters: int,
    inputs: int,
    dtype: torch.dtype,
    of: str,
    spare: int,
    centred: bool,
) -> None:
    encoder = built(widths, filters, inputs, dtype, centred and max(widths) > 2)
    x = torch.randn(len(lengths), max(lengths) + spare, inputs, dtype=dtype)  # not zero at padding
    native = results(encoder, x, torch.tensor(lengths), of)
    with switched_off():
        expected = results(encoder, x, torch.tensor(lengths), of)
    assert len(native) == len(expected) == 4 + len(widths)
    for one, other in zip(native, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=CLOSE[dtype][0], atol=CLOSE[dtype][1])


def test_equal_windows_share_the_gradient() -> None:
    encoder = built((2,), 16, 3, torch.float64)
    with torch.no_grad():  # few bits: sums are exact, in whatever order a processor adds, and equal windows stay equal
        for weight in encoder.parameters():
            weight.copy_((weight * 64).round() / 64)
    x = torch.randint(-4, 5, (1, 1, 3)).double().expand(1, 6, 3).contiguous()  # one word, again and again
    native = results(encoder, x, torch.tensor([6]), "summary")
    with switched_off():
        expected = results(encoder, x, torch.tensor([6]), "summary")
    assert (native[2][0, 1:5].abs().sum(1) > 0).all()
    for one, other in zip(native, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_answers_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    encoder, lengths = built((2, 3, 4, 5), 16, 10, torch.float64), torch.tensor([5, 1, 9, 3])
    x = torch.randn(4, 9, 10, dtype=torch.float64)
    one = results(encoder, x, lengths, "summary")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    many = results(encoder, x, lengths, "summary")
    again = results(encoder, x, lengths, "summary")
    torch.set_num_threads(before)
    assert torch.equal(one[0], many[0])
    for a, b, c in zip(one, many, again, strict=True):
        torch.testing.assert_close(a, b)
        assert torch.equal(b, c)


def test_what_is_not_a_number_stays_so() -> None:
    encoder, x = built((1, 2), 4, 3, torch.float32), torch.zeros(2, 4, 3)
    x[0, 1] = torch.nan
    encoded = encoder(x, torch.tensor([4, 4]))
    assert encoded.summary[0].isnan().all()
    assert encoded.summary[1].isfinite().all()
