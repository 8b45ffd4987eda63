"""The gradients of one batch."""

from rnnlab.answers.base import Answer
from rnnlab.answers.heads import SummaryHead
from rnnlab.data.batches import Batch
from rnnlab.kernels import ops
from rnnlab.models.network import Network


def backward(network: Network, answer: Answer, batch: Batch) -> tuple[float, float]:
    """Adds the gradients of the mean loss to those of the parameters. Returns the loss, and how many rows are right."""
    encoded = network.before_head(batch.inputs, batch.lengths)
    if answer.native == "class" and type(network.head) is SummaryHead:
        # The usual head and loss are so small that torch spends its time on everything but their arithmetic.
        found = ops.classify(encoded.summary, network.head.linear, batch.targets)
        if found is not None:
            value, gradient, right = found
            encoded.summary.backward(gradient)
            return value, right
    out = network.head(encoded)  # (B, C), or (B, T, C)
    loss = answer.loss(out, batch)
    loss.backward()
    return loss.item(), answer.right(out, batch)
