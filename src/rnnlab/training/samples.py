"""What a language model writes while it learns: a short text after some of the epochs.

Nothing of the training changes by it: the network is asked as in evaluation, and what is drawn comes from a generator
of its own, the same numbers after every epoch, so that two samples differ by the weights alone.
"""

import numpy as np
import torch

from rnnlab.core.seeding import generator
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN
from rnnlab.models.network import Network
from rnnlab.training.monitor import undisturbed

LENGTH = {"chars": 120, "words": 30}  # tokens
TEMPERATURE = 0.8


def is_sampled(epoch: int) -> bool:
    """1, 2, 4, 8 …: most is learnt in the first epochs."""
    return epoch & (epoch - 1) == 0


def epoch_sample(
    network: Network, preprocessor: Preprocessor, seed: int, streams: bool, longest: int | None = None
) -> str | None:
    """A text from ``<s>`` on; where rows end before it is long enough, further ones follow, a line each. None where a
    network can't go on from a state. One that knows no more than ``longest`` steps writes no more."""
    vocabulary, tokenizer = preprocessor.vocabulary, preprocessor.tokenizer
    assert vocabulary is not None
    assert tokenizer is not None
    if not network.goes_on:
        return None
    length = min(LENGTH["chars" if tokenizer.name == "chars" else "words"], longest or 1000)
    uniforms = generator(seed, "sampling").random(length)
    never = [PADDING, UNKNOWN, BEGIN, *([END] if streams else [])]
    device = next(network.parameters()).device
    one = torch.ones(1, dtype=torch.int64, device=device)
    rows: list[list[str]] = [[]]
    with undisturbed(network), torch.inference_mode():
        token, state = BEGIN, network.begin(1)
        for uniform in uniforms:
            out, state = network.advance(one[:, None] * token, one, state)
            token = _draw(out[0, 0].double().cpu().numpy(), never, uniform)
            if token == END:
                rows.append([])
                token, state = BEGIN, network.begin(1)
            else:
                rows[-1].append(vocabulary.words[token])
    return "\n".join(tokenizer.join(row) for row in rows)


def _draw(logits: np.ndarray, never: list[int], uniform: float) -> int:
    """The token whose part of [0, 1) has the uniform number."""
    logits[never] = -np.inf
    sums = np.cumsum(np.exp((logits - logits.max()) / TEMPERATURE))
    return int(np.searchsorted(sums, uniform * sums[-1], side="right"))
