"""The gradients of one batch."""

from torch import Tensor, nn

from rnnlab.answers.base import Answer
from rnnlab.answers.heads import SummaryHead
from rnnlab.data.batches import Batch
from rnnlab.kernels import steps as kernels
from rnnlab.models.network import Network

LARGEST = 8192  # weights of a head up to which the native kernel is faster than torch's products


def backward(network: Network, answer: Answer, batch: Batch) -> tuple[float, float]:
    """Adds the gradients of the mean loss to those of the parameters. Returns the loss, and how many rows are right."""
    linear = _plain_head(network, answer, batch.targets)
    encoded = network.before_head(batch.inputs, batch.lengths)
    if linear is not None and encoded.summary.requires_grad and kernels.usable(encoded.summary, linear.weight):
        # The usual head and loss are so small that torch spends its time on everything but their arithmetic.
        value, gradient, right = kernels.classify(encoded.summary, linear.weight, linear.bias, batch.targets)
        encoded.summary.backward(gradient)
        return value, right
    out = network.head(encoded)  # (B, C), or (B, T, C)
    loss = answer.loss(out, batch)
    loss.backward()
    return loss.item(), answer.right(out, batch)


def _plain_head(network: Network, answer: Answer, targets: Tensor) -> nn.Linear | None:
    """The head, if it is a linear layer and the loss the cross-entropy, as the native kernel has them."""
    head = network.head
    if type(head) is not SummaryHead or not targets.is_contiguous():
        return None
    linear = head.linear
    weight, bias = linear.weight, linear.bias
    if answer.native != "class" or weight.numel() > LARGEST or weight.grad is None or bias.grad is None:
        return None
    return linear if kernels.usable(weight, bias, weight.grad, bias.grad) else None
