"""Known mistakes: what each is, and what to write instead."""

from dataclasses import dataclass

from rnnlab.core.words import note

PACK = "packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)"


@dataclass(frozen=True)
class Cause:
    """A known mistake, found at a place."""

    name: str
    source: str  # the module, or what was taken from it
    what: str
    fix: str  # a sentence, then lines of code


@dataclass(frozen=True)
class Mistake:
    """A known one. The texts' gaps are its ``source``, who the ``reader`` of that is, and what else it needs."""

    name: str
    what: str
    fix: str
    code: tuple[str, ...] = ()

    def found(self, source: str = "forward", **gaps: object) -> Cause:
        what, fix = (text.format(source=source, **gaps) for text in (self.what, self.fix))
        return Cause(self.name, source, what, "\n".join([fix, *self.code]))


LAST_STEP = Mistake(
    "last-step-is-padding",
    note(
        "{reader} takes the last step of {source}, as `output[:, -1]` (or `h_n`) gives it; in padded input that step "
        "is padding."
    ),
    note("Take the last real step of each sequence, or pack the input and take `h_n`:"),
    ("last = output[torch.arange(len(output)), lengths - 1]",),
)
BACKWARD_STARTS_IN_PADDING = Mistake(
    "backward-starts-in-padding",
    note("the backward direction of {source} starts in the padding and carries it to every real step."),
    note("Pack the input, so that each direction sees real steps only:"),
    (PACK, "output, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)"),
)
REVERSED_WITH_PADDING = Mistake(
    "backward-starts-in-padding",
    note("{reader} takes {source} reversed as a whole, so it reads the padding first."),
    note("Reverse the real steps only:"),
    (
        "steps = torch.arange(x.shape[1])",
        "back = torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)",
        "x = x[torch.arange(len(x))[:, None], back]",
    ),
)
MEAN_OVER_PADDING = Mistake(
    "mean-over-padding",
    note("{reader} takes the mean of {source} over all steps, padding counted."),
    note("Add up the real steps and divide by their number (mask is (B, T), True at real steps):"),
    ("mean = (output * mask[:, :, None]).sum(1) / lengths[:, None]",),
)
SUM_OVER_PADDING = Mistake(
    "sum-over-padding",
    note("{reader} takes the sum of {source} over all steps, and what it holds at padding is not zero."),
    note("Add up the real steps only (mask is (B, T), True at real steps):"),
    ("total = (output * mask[:, :, None]).sum(1)",),
)
MAX_OVER_PADDING = Mistake(
    "max-over-padding",
    note("{reader} takes the maximum of {source} over all steps, and in some places padding wins."),
    note(
        "Leave padding out of it (mask is (B, T), True at real steps; after a convolution of width w that shortens T, "
        "mask[:, w - 1:] has the windows of real steps only):"
    ),
    (
        "highest = output.masked_fill(~mask[:, :, None], -torch.inf).amax(1)    # output is (B, T, H)",
        "highest = output.masked_fill(~mask[:, None], -torch.inf).amax(2)       # output is (B, C, T)",
    ),
)
MAX_OVER_ZEROS = Mistake(
    "max-over-padding",
    note("{reader} takes the maximum of {source} with zeros at padding: zero wins where all real steps are negative."),
    note("Fill padding with minus infinity, not with zero (mask is (B, T), True at real steps):"),
    ("highest = output.masked_fill(~mask[:, :, None], -torch.inf).amax(1)",),
)
ATTENTION_POOLS_PADDING = Mistake(
    "attention-over-padding",
    note("{reader} takes a mean of {source}, weighted by the softmax of {scores} over all steps, padding too."),
    note("Give padding the score minus infinity before the softmax (mask is (B, T), True at real steps):"),
    ("weights = scores.masked_fill(~mask[:, :, None], -torch.inf).softmax(1)",),
)
UNMASKED_ATTENTION = Mistake(
    "attention-over-padding",
    note("{source} is given no key_padding_mask: real steps attend to padding."),
    note("Pass the mask, True at padding (nn.TransformerEncoder calls it src_key_padding_mask):"),
    (
        "padding = torch.arange(x.shape[1]) >= lengths[:, None]",
        "attention(x, x, x, key_padding_mask=padding)    # or encoder(x, src_key_padding_mask=padding)",
    ),
)
INVERTED_MASK = Mistake(
    "mask-inverted",
    note("the key_padding_mask of {source} hides every step of an unpadded sequence: in torch, True means 'ignore'."),
    note("Turn it round:"),
    ("key_padding_mask=~mask    # mask is (B, T), True at real steps",),
)
MASK_MISSES_PADDING = Mistake(
    "attention-over-padding",
    note("the key_padding_mask of {source} doesn't hide the padding."),
    note("Make it True at every padded step:"),
    ("key_padding_mask = torch.arange(x.shape[1]) >= lengths[:, None]",),
)
CONVOLUTION_REACHES_PADDING = Mistake(
    "convolution-reaches-padding",
    note("windows of {source} at the end of a sequence reach into the padding, which is not zero there."),
    note("Zero the padding before each convolution (nn.Embedding(…, padding_idx=0) does it for the first only):"),
    ("x = x * mask[:, None]    # x is (B, C, T), mask (B, T), True at real steps",),
)
BAG_COUNTS_PADDING = Mistake(
    "mean-over-padding",
    note("{source} counts padding as words."),
    note("Say which id is padding:"),
    ("nn.EmbeddingBag(words, width, padding_idx=0)",),
)
BATCH_STATISTICS = Mistake(
    "batch-norm-of-the-batch",
    note("{source} normalises by the batch at hand, as in training mode: neighbours and padding count."),
    note(
        "Let evaluation mode use the running statistics (model.eval(); track_running_stats=True; F.batch_norm(…, "
        "training=self.training)), or use nn.LayerNorm, which knows no batch."
    ),
)
BATCH_STATISTICS_IN_TRAINING = Mistake(
    "batch-norm-of-the-batch",
    note(
        "{source} is batch norm: in training its statistics are those of the batch, padded steps included, and the "
        "running ones for evaluation are learnt from them. Neighbours matter by its nature, padding need not."
    ),
    note("Normalise the real steps only, call model.eval() before you predict, or use nn.LayerNorm:"),
    (
        "flat = x[mask]                  # (real steps, H)",
        "x = torch.zeros_like(x).masked_scatter(mask[:, :, None], norm(flat))",
    ),
)
AXES_MIXED_UP = Mistake(
    "axes-mixed-up",
    note("{source} has batch_first={is_first} and takes {takes}, but is given {given}: it runs over the batch."),
    note("Say how the input lies: batch_first={should_be}."),
)
SORTED_ONLY = Mistake(
    "sorted-batches-only",
    note("pack_padded_sequence wants the longest sequence first."),
    note("Let it sort by itself, and put back the order:"),
    (PACK,),
)
DROPOUT_IN_EVALUATION = Mistake(
    "dropout-in-evaluation",
    note("{source} takes numbers of which some, different ones each time, are zero and the others enlarged: dropout."),
    note("F.dropout drops in evaluation mode too unless told otherwise; use nn.Dropout, or"),
    ("F.dropout(x, p, training=self.training)",),
)
RANDOM_INITIAL_STATE = Mistake(
    "random-initial-state",
    note("{source} starts from another random state in each call."),
    note("Start from zeros (leave the state out), or from a learnt nn.Parameter."),
)
KEPT_STATE = Mistake(
    "state-kept-between-calls",
    note("it keeps something from one call to the next: with the same random numbers it still answers otherwise."),
    note("Don't store the hidden state on self; start each batch from zeros, or hand the state in and out."),
)
