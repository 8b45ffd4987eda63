"""What was said against what was heard: the fewest words that must be changed, added or left out."""

from collections.abc import Hashable, Sequence

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


def distance(true: Sequence[Hashable], heard: Sequence[Hashable]) -> int:
    """The fewest tokens that must be changed, added or left out.

    Myers (1999), as Hyyrö (2003) has it: neighbours in a column of the table of `align` differ by −1, 0 or 1. So a
    column is two numbers with a bit per true token, of the places where it goes up and where it goes down, and the
    next column takes a handful of operations on whole numbers."""
    if not true:
        return len(heard)
    places = dict[Hashable, int]()
    for place, token in enumerate(true):
        places[token] = places.get(token, 0) | 1 << place
    everywhere, last, edits = (1 << len(true)) - 1, 1 << len(true) - 1, len(true)
    up, down = everywhere, 0
    for token in heard:
        equal = places.get(token, 0)
        unchanged = (((equal & up) + up) ^ up) | equal | down  # as large as the neighbour before and above
        up_across, down_across = down | ~(unchanged | up), up & unchanged
        edits += bool(up_across & last) - bool(down_across & last)
        up_across, down_across = up_across << 1 | 1, down_across << 1
        up = (down_across | ~(unchanged | up_across)) & everywhere
        down = up_across & unchanged & everywhere
    return edits


def edit_counts(
    heard: Sequence[Sequence[Hashable]], references: Sequence[Sequence[Sequence[Hashable]]]
) -> dict[str, np.ndarray]:
    """What the word error rate is a function of, row by row: ``edits`` and ``words``, of the reference with the fewest
    edits per word, of equals the first. Each row has at least one."""
    counts = [
        min(((distance(true, one), len(true)) for true in row), key=lambda found: found[0] / max(1, found[1]))
        for one, row in zip(heard, references, strict=True)
    ]
    edits, words = np.array(counts, np.int64).reshape(-1, 2).T
    return {"edits": edits, "words": words}


def exact_counts(heard: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """``right_rows`` and ``rows``: whether a text is one of its references to the letter, space around it aside."""
    right = [one.strip() in {text.strip() for text in row} for one, row in zip(heard, references, strict=True)]
    return {"right_rows": np.array(right, np.float64), "rows": np.ones(len(right))}
