"""A recurrence of your own is one class in one file: the minimal gated unit (Zhou et al. 2016), a GRU with one gate.

rnnlab compare --plugin examples/mgu.py --models mgu,gru
"""

from rnnlab import architecture
from rnnlab.models.cells import Cell
from rnnlab.models.recurrent import Recurrent


class MGUCell(Cell):
    """f = σ(W_f x + U_f h),  h' = (1 - f) ⊙ h + f ⊙ tanh(W_n x + U_n (f ⊙ h)), biases included."""

    gates = ("forget", "candidate")

    def step(self, a, state, heard):
        a_f, a_n = a.chunk(2, dim=1)
        forget = a_f + self.from_state(heard, "forget")
        f = forget.sigmoid()
        candidate = a_n + self.from_state(f * heard, "candidate")
        return ((1 - f) * state[0] + f * candidate.tanh(),), self.named(forget, candidate)

    def keep(self, entered):
        return 1 - entered["forget"].sigmoid()


@architecture("mgu")
class MGU(Recurrent):
    """One gate decides what is forgotten and what the candidate hears of the past. Layers, directions, dropout, states
    and pooling are those of every recurrence."""

    cell = MGUCell
