"""From ids to vectors: x = E[id], a row of the table E for every id.

Backward: a row gets the sum of the gradients of every place where it was used,

    ∂L/∂E[v] = Σ_{places where id = v} ∂L/∂x.

Ids have no gradient. Padding needs no special row: the layers send zero back to it.
"""

from collections.abc import Callable

import numpy as np

from rnnlab.reference.layer import Array, Arrays, Integers


def embedding(ids: Integers, parameters: Arrays) -> tuple[Array, Callable[[Array], dict[str, Array]]]:
    """ids (…), E (V, D) → x (…, D), and a backward that gives {"E": ∂L/∂E}."""
    E = parameters["E"]

    def backward(d_x: Array) -> dict[str, Array]:
        d_E = np.zeros_like(E)
        np.add.at(d_E, ids, d_x)  # unlike d_E[ids] += d_x, which counts an id once that is there twice
        return {"E": d_E}

    return E[ids], backward
