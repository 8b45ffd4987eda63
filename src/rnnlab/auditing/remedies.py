"""Known mistakes: what each is, and what to write instead."""

from dataclasses import dataclass

PACK = "packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)"


@dataclass(frozen=True)
class Cause:
    """A known mistake, found at a place."""

    name: str
    source: str  # the module, or what was taken from it
    what: str
    fix: str  # a sentence, then lines of code


def last_step(source: str, reader: str) -> Cause:
    return Cause(
        "last-step-is-padding",
        source,
        f"{reader} takes the last step of {source}, as `output[:, -1]` (or `h_n`) gives it; in padded input that step "
        "is padding.",
        "Take the last real step of each sequence, or pack the input and take `h_n`:\n"
        "last = output[torch.arange(len(output)), lengths - 1]",
    )


def backward_starts_in_padding(source: str) -> Cause:
    return Cause(
        "backward-starts-in-padding",
        source,
        f"the backward direction of {source} starts in the padding and carries it to every real step.",
        "Pack the input, so that each direction sees real steps only:\n"
        f"{PACK}\n"
        "output, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)",
    )


def reversed_with_padding(source: str, reader: str) -> Cause:
    return Cause(
        "backward-starts-in-padding",
        source,
        f"{reader} takes {source} reversed as a whole, so it reads the padding first.",
        "Reverse the real steps only:\n"
        "steps = torch.arange(x.shape[1])\n"
        "back = torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)\n"
        "x = x[torch.arange(len(x))[:, None], back]",
    )


def mean_over_padding(source: str, reader: str) -> Cause:
    return Cause(
        "mean-over-padding",
        source,
        f"{reader} takes the mean of {source} over all steps, padding counted.",
        "Add up the real steps and divide by their number (mask is (B, T), True at real steps):\n"
        "mean = (output * mask[:, :, None]).sum(1) / lengths[:, None]",
    )


def sum_over_padding(source: str, reader: str) -> Cause:
    return Cause(
        "sum-over-padding",
        source,
        f"{reader} takes the sum of {source} over all steps, and what it holds at padding is not zero.",
        "Add up the real steps only (mask is (B, T), True at real steps):\ntotal = (output * mask[:, :, None]).sum(1)",
    )


def max_over_padding(source: str, reader: str) -> Cause:
    return Cause(
        "max-over-padding",
        source,
        f"{reader} takes the maximum of {source} over all steps, and in some places padding wins.",
        "Leave padding out of it (mask is (B, T), True at real steps; after a convolution of width w that shortens T, "
        "mask[:, w - 1:] has the windows of real steps only):\n"
        "highest = output.masked_fill(~mask[:, :, None], -torch.inf).amax(1)    # output is (B, T, H)\n"
        "highest = output.masked_fill(~mask[:, None], -torch.inf).amax(2)       # output is (B, C, T)",
    )


def max_over_zeros(source: str, reader: str) -> Cause:
    return Cause(
        "max-over-padding",
        source,
        f"{reader} takes the maximum of {source} with zeros at padding: zero wins where all real steps are negative.",
        "Fill padding with minus infinity, not with zero (mask is (B, T), True at real steps):\n"
        "highest = output.masked_fill(~mask[:, :, None], -torch.inf).amax(1)",
    )


def attention_pools_padding(scores: str, source: str, reader: str) -> Cause:
    return Cause(
        "attention-over-padding",
        source,
        f"{reader} takes a mean of {source}, weighted by the softmax of {scores} over all steps, padding too.",
        "Give padding the score minus infinity before the softmax (mask is (B, T), True at real steps):\n"
        "weights = scores.masked_fill(~mask[:, :, None], -torch.inf).softmax(1)",
    )


def unmasked_attention(source: str) -> Cause:
    return Cause(
        "attention-over-padding",
        source,
        f"{source} is given no key_padding_mask: real steps attend to padding.",
        "Pass the mask, True at padding (nn.TransformerEncoder calls it src_key_padding_mask):\n"
        "padding = torch.arange(x.shape[1]) >= lengths[:, None]\n"
        "attention(x, x, x, key_padding_mask=padding)    # or encoder(x, src_key_padding_mask=padding)",
    )


def inverted_mask(source: str) -> Cause:
    return Cause(
        "mask-inverted",
        source,
        f"the key_padding_mask of {source} hides every step of an unpadded sequence: in torch, True means 'ignore'.",
        "Turn it round:\nkey_padding_mask=~mask    # mask is (B, T), True at real steps",
    )


def mask_misses_padding(source: str) -> Cause:
    return Cause(
        "attention-over-padding",
        source,
        f"the key_padding_mask of {source} doesn't hide the padding.",
        "Make it True at every padded step:\nkey_padding_mask = torch.arange(x.shape[1]) >= lengths[:, None]",
    )


def convolution_reaches_padding(source: str) -> Cause:
    return Cause(
        "convolution-reaches-padding",
        source,
        f"windows of {source} at the end of a sequence reach into the padding, which is not zero there.",
        "Zero the padding before each convolution (nn.Embedding(…, padding_idx=0) does it for the first only):\n"
        "x = x * mask[:, None]    # x is (B, C, T), mask (B, T), True at real steps",
    )


def bag_counts_padding(source: str) -> Cause:
    return Cause(
        "mean-over-padding",
        source,
        f"{source} counts padding as words.",
        "Say which id is padding:\nnn.EmbeddingBag(words, width, padding_idx=0)",
    )


def batch_statistics(source: str) -> Cause:
    return Cause(
        "batch-norm-of-the-batch",
        source,
        f"{source} normalises by the batch at hand, as in training mode: neighbours and padding count.",
        "Let evaluation mode use the running statistics (model.eval(); track_running_stats=True; "
        "F.batch_norm(…, training=self.training)), or use nn.LayerNorm, which knows no batch.",
    )


def batch_statistics_in_training(source: str) -> Cause:
    return Cause(
        "batch-norm-of-the-batch",
        source,
        f"{source} is batch norm: in training its statistics are those of the batch, padded steps included, and the "
        "running ones for evaluation are learnt from them. Neighbours matter by its nature, padding need not.",
        "Normalise the real steps only, call model.eval() before you predict, or use nn.LayerNorm:\n"
        "flat = x[mask]                  # (real steps, H)\n"
        "x = torch.zeros_like(x).masked_scatter(mask[:, :, None], norm(flat))",
    )


def axes_mixed_up(source: str, batch_first: bool) -> Cause:
    takes, given = ("(B, T, D)", "(T, B, D)") if batch_first else ("(T, B, D)", "(B, T, D)")
    return Cause(
        "axes-mixed-up",
        source,
        f"{source} has batch_first={batch_first} and takes {takes}, but is given {given}: it runs over the batch.",
        f"Say how the input lies: batch_first={not batch_first}.",
    )


def sorted_only() -> Cause:
    return Cause(
        "sorted-batches-only",
        "forward",
        "pack_padded_sequence wants the longest sequence first.",
        f"Let it sort by itself, and put back the order:\n{PACK}",
    )


def dropout_in_evaluation(reader: str) -> Cause:
    return Cause(
        "dropout-in-evaluation",
        reader,
        f"{reader} takes numbers of which some, different ones each time, are zero and the others enlarged: dropout.",
        "F.dropout drops in evaluation mode too unless told otherwise; use nn.Dropout, or\n"
        "F.dropout(x, p, training=self.training)",
    )


def random_initial_state(source: str) -> Cause:
    return Cause(
        "random-initial-state",
        source,
        f"{source} starts from another random state in each call.",
        "Start from zeros (leave the state out), or from a learnt nn.Parameter.",
    )


def kept_state() -> Cause:
    return Cause(
        "state-kept-between-calls",
        "forward",
        "it keeps something from one call to the next: with the same random numbers it still answers otherwise.",
        "Don't store the hidden state on self; start each batch from zeros, or hand the state in and out.",
    )
