"""What was said against what was heard: the fewest words that must be changed, added or left out."""

from collections.abc import Sequence

import numpy as np

MISSED = -1  # heard in the place of a word that was left out


def align(true: Sequence[int], heard: Sequence[int]) -> tuple[list[int], list[tuple[int, int]]]:
    """What each true word was heard as, `MISSED` where nothing was; and the words that were heard besides, in their
    order, each after how many true words: an alignment with the fewest edits. Of several, one that changes words rather
    than misses and adds them."""
    rows, columns = len(true), len(heard)
    cost = np.zeros((rows + 1, columns + 1), np.int64)
    cost[:, 0], cost[0] = np.arange(rows + 1), np.arange(columns + 1)
    for i in range(rows):
        for j in range(columns):
            changed = cost[i, j] + (true[i] != heard[j])
            cost[i + 1, j + 1] = min(changed, cost[i, j + 1] + 1, cost[i + 1, j] + 1)
    found, added = [MISSED] * rows, list[tuple[int, int]]()
    i, j = rows, columns
    while i or j:
        if i and j and cost[i, j] == cost[i - 1, j - 1] + (true[i - 1] != heard[j - 1]):
            found[i - 1] = heard[j - 1]
            i, j = i - 1, j - 1
        elif i and cost[i, j] == cost[i - 1, j] + 1:
            i -= 1
        else:
            j -= 1
            added.append((i, heard[j]))
    return found, added[::-1]
