import torch

from rnnlab.models.linear import Linear
from rnnlab.models.recurrent import RNN


def test_the_mean_does_not_know_the_order() -> None:
    torch.manual_seed(0)
    encoder = Linear(hidden=4, activation="tanh").build(3)
    x, lengths = torch.randn(2, 5, 3), torch.tensor([5, 5])
    torch.testing.assert_close(encoder(x, lengths).summary, encoder(x.flip(1), lengths).summary)


def test_without_activation_it_is_linear() -> None:
    torch.manual_seed(0)
    encoder = Linear(hidden=4).build(3)
    x, y, lengths = torch.randn(2, 5, 3), torch.randn(2, 5, 3), torch.tensor([5, 3])
    both = encoder(x + y, lengths).summary + encoder(torch.zeros_like(x), lengths).summary
    torch.testing.assert_close(encoder(x, lengths).summary + encoder(y, lengths).summary, both)


def test_with_tanh_it_is_the_rnn_without_its_recurrence() -> None:
    torch.manual_seed(0)
    rnn, linear = RNN(hidden=4).build(3), Linear(hidden=4, activation="tanh").build(3)
    with torch.no_grad():
        rnn.get_parameter("ahead.0.weight_hh_l0").zero_()
        rnn.get_parameter("ahead.0.bias_hh_l0").zero_()
        linear.get_parameter("layer.weight").copy_(rnn.get_parameter("ahead.0.weight_ih_l0"))
        linear.get_parameter("layer.bias").copy_(rnn.get_parameter("ahead.0.bias_ih_l0"))
    x, lengths = torch.randn(2, 5, 3), torch.tensor([5, 3])
    torch.testing.assert_close(linear(x, lengths).states, rnn(x, lengths).states)
