"""The one seam to native code: the rest of the package imports this module of `kernels`, and no other.

An operation chooses by itself: it is done by native code where that knows the case and is measured to be the faster
way. Elsewhere it is done in its naive form, which stands beside the fast one; or, where the naive form is a module that
people look into (`Cell.drive`, a Transformer's layers, the optimiser's formulas), it returns None, and the caller goes
on with that. The tests compare the two.
"""

from rnnlab.kernels.attending import additive_scores
from rnnlab.kernels.calls import active, known, place, places
from rnnlab.kernels.chains import chain_descend, chain_losses, chain_paths
from rnnlab.kernels.gram_tree import find_children, number_children
from rnnlab.kernels.grams import (
    GramRows,
    count_grams,
    find_grams,
    gram_descend,
    gram_product,
    gram_transposed,
    list_grams,
)
from rnnlab.kernels.inference import Layer as PackedLayer  # for answers alone; the naive form: `use.folded.Direction`
from rnnlab.kernels.normalised import Gains, recur_inside
from rnnlab.kernels.recurrence import KINDS, Direction, largest_lstm, recur
from rnnlab.kernels.sampling import best_tokens, draw_tokens
from rnnlab.kernels.steps import adam, classify, descend, gather_gradients, pick
from rnnlab.kernels.transformer import Shape as TransformerShape
from rnnlab.kernels.transformer import encode as encode_transformer
from rnnlab.kernels.whole_steps import ANSWERS, POOLINGS, Member, Step, do_steps  # naively: `Updater`
from rnnlab.kernels.windows import highest_answers
