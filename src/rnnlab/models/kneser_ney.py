"""Modified Kneser-Ney n-grams (Chen & Goodman 1999): interpolated, with three discounts per order.

What follows a context h, of n - 1 tokens, is what was seen after it, less a discount; what the discounts free goes to
the same question with a context one token shorter, and in the end to all words of the vocabulary alike:

    p(w | h) = max(c(hw) - D(c(hw)), 0) / Σ c(h·)  +  γ(h) p(w | h without its first token)
    γ(h)     = (D1 N1(h·) + D2 N2(h·) + D3 N3+(h·)) / Σ c(h·)           N1(h·): how many words w have c(hw) = 1
    p(w)     = max(c(w) - D(c(w)), 0) / Σ c(·)  +  γ / words

At the highest order, c counts occurrences. Below, it counts how many different tokens stand before an n-gram:
"Francisco" is frequent, and follows nothing but "San". A context that never occurred hands all to the shorter one.

Rows are treated as SRILM and kenlm treat sentences: one begin symbol ``<s>`` stands before each row, is read as
context, and is never predicted (nor are there several of them, so the contexts of a row's first tokens are shorter). An
n-gram that begins with ``<s>`` has nothing before it, and keeps its occurrences at every order. A row's end is
predicted if a token for it stands in the ids. No n-gram reaches from one row into another; a stream is one row.

The discounts of an order come from the numbers n1 … n4 of n-grams with a count of 1 … 4. Where these don't tell one
(single characters are all frequent: n1 is zero), or tell that it isn't above zero, it is kenlm's `FALLBACK`; without n1
or n2, all three are. Decision 31 has the measurements.

All is kept in arrays, for each order n its n-grams as a tree (`kernels.gram_tree`): ``tokens.n``, ``starts.n``, their
occurrences ``counts.n``, and ``continuations.n``, what counts below the highest order. So every order up to the highest
can be asked. Single tokens are their own numbers, and ``<s>`` is that behind the last word.
"""

from collections.abc import Iterable

import numpy as np

from rnnlab.kernels import ops

FALLBACK = (0.5, 1.0, 1.5)  # D1, D2, D3+
ORDERS: dict[str, range] = {"characters": range(2, 9), "words": range(2, 6)}  # to choose from

Learnt = dict[str, np.ndarray]


def fit(ids: np.ndarray, offsets: np.ndarray, words: int, order: int) -> Learnt:
    """Counts the rows ``ids[offsets[r]:offsets[r + 1]]``, whose ids are below ``words``."""
    if order < 1 or words < 1:
        raise ValueError(f"order and words must be at least 1, and are {order} and {words}")
    text, _ = _with_begins(ids, offsets, words)
    counts = np.bincount(text, minlength=words + 1).astype(np.int32)
    counts[words] = 0  # <s> is context alone
    learnt: Learnt = {"words": np.array([words]), "counts.1": counts}
    grams, begins = text, words  # of each position, the n-gram that ends there; the first one that begins with <s>
    for n in range(2, order + 1):
        shorter = len(counts)
        parents = _moved_on(grams, text, words)
        where = np.flatnonzero(parents >= 0)
        found, tokens, counts, starts = ops.number_children(parents[where], text[where], shorter, words)
        suffixes = np.empty(len(counts), np.int32)
        suffixes[found] = grams[where]
        continuations = np.bincount(suffixes, minlength=shorter).astype(np.int32)
        continuations[begins:] = learnt[f"counts.{n - 1}"][begins:]
        learnt |= {f"continuations.{n - 1}": continuations, f"tokens.{n}": tokens, f"starts.{n}": starts}
        learnt[f"counts.{n}"] = counts
        begins = starts[begins]
        grams = np.full(len(text), -1, np.int32)
        grams[where] = found
    learnt["discounts"] = np.array(  # (orders, 2, 3): where an order is the highest, and where it is a lower one
        [[_discounts(_counts(learnt, n, n)), _discounts(_counts(learnt, n, min(n + 1, order)))]
         for n in range(1, order + 1)]
    )  # fmt: skip
    return learnt


def highest_order(learnt: Learnt) -> int:
    return len(learnt["discounts"])


def cut(learnt: Learnt, order: int) -> Learnt:
    """What `fit` would have learnt with this order, which isn't above the one that it had."""
    highest = highest_order(learnt)
    if _checked(learnt, order) == highest:
        return learnt
    above = {f"{name}.{n}" for n in range(order + 1, highest + 1) for name in ("tokens", "starts", "counts")}
    above |= {f"continuations.{n}" for n in range(order, highest)}
    kept = {name: array for name, array in learnt.items() if name not in above}
    discounts = learnt["discounts"][:order].copy()
    discounts[-1, 1] = discounts[-1, 0]
    return kept | {"discounts": discounts}


def fit_chosen(
    ids: np.ndarray, offsets: np.ndarray, words: int, orders: Iterable[int],
    validation_ids: np.ndarray, validation_offsets: np.ndarray,
) -> tuple[Learnt, dict[int, float]]:  # fmt: skip
    """Counts once, and keeps the order that is best on the validation rows (the lower one of equals); with the nats per
    token of all."""
    asked = sorted(set(orders))
    learnt = fit(ids, offsets, words, asked[-1])
    tried = {n: float(nats(learnt, validation_ids, validation_offsets, order=n).mean()) for n in asked}
    return cut(learnt, min(asked, key=lambda n: tried[n])), tried


def nats(
    learnt: Learnt, ids: np.ndarray, offsets: np.ndarray, scored_from: np.ndarray | None = None,
    order: int | None = None,
) -> np.ndarray:  # fmt: skip
    """(N,) float64: -log p of each token, given the up to order - 1 tokens before it in its row. Of a row, those before
    ``scored_from`` (rows,) are context alone, and are 0."""
    order = _checked(learnt, order)
    words = int(learnt["words"][0])
    text, real = _with_begins(ids, offsets, words)
    grams, p = text, np.full(len(text), 1 / words)
    contexts = np.zeros(len(text), np.int32)  # of no token: one, which is always there
    for n in range(1, order + 1):
        if n > 1:
            contexts = _moved_on(grams, text, words)
            grams = ops.find_children(learnt[f"starts.{n}"], learnt[f"tokens.{n}"], contexts, text)
        counts, discounts = _counts(learnt, n, order), _discount_of_count(learnt, n, order)
        totals, freed = _of_contexts(learnt, n, counts, discounts)
        known = np.flatnonzero(contexts >= 0)
        known = known[totals[contexts[known]] > 0]
        of_gram = np.where(grams[known] >= 0, counts[grams[known]], 0)
        own = of_gram - discounts[np.minimum(of_gram, 3)]
        total = totals[contexts[known]]
        p[known] = own / total + freed[contexts[known]] / total * p[known]
    found = -np.log(p[real])
    if scored_from is not None:
        numbers = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets))
        found[numbers < np.repeat(scored_from, np.diff(offsets))] = 0
    return found


def next_shares(learnt: Learnt, contexts: np.ndarray, lengths: np.ndarray, order: int | None = None) -> np.ndarray:
    """(B, words) float64: how likely each word is next. Of contexts (B, T), row b holds its most recent tokens, the
    last one at ``lengths[b] - 1``; fewer than order - 1 are all that the row has so far."""
    order = _checked(learnt, order)
    words = int(learnt["words"][0])
    recent = _recent(contexts, lengths, order - 1, words)
    grams = recent  # (B, order - 1): of each place, the n-gram that ends there
    counts, discounts = _counts(learnt, 1, order)[:words], _discount_of_count(learnt, 1, order)
    total, freed = counts.sum(), discounts[np.minimum(counts, 3)]
    alike = np.full(words, 1 / words)
    first = (counts - freed) / total + freed.sum() / total * alike if total else alike
    shares = np.repeat(first[None], len(contexts), axis=0)
    for n in range(2, order + 1):
        tokens, starts = learnt[f"tokens.{n}"], learnt[f"starts.{n}"]
        parents = grams[:, -1]
        sizes = np.where(parents >= 0, starts[parents + 1] - starts[parents], 0)
        rows = np.repeat(np.arange(len(parents)), sizes)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + starts[parents][rows]
        counts, discounts = _counts(learnt, n, order)[places], _discount_of_count(learnt, n, order)
        freed = discounts[np.minimum(counts, 3)]
        total = np.bincount(rows, counts, minlength=len(parents))
        known = np.flatnonzero(total)
        shares[known] *= (np.bincount(rows, freed, minlength=len(parents))[known] / total[known])[:, None]
        shares[rows, tokens[places]] += (counts - freed) / total[rows]
        if n < order:
            before = np.ascontiguousarray(grams[:, :-1]).ravel()
            found = ops.find_children(starts, tokens, before, np.ascontiguousarray(recent[:, 1:]).ravel())
            grams = np.concatenate([np.full((len(parents), 1), -1, np.int32), found.reshape(len(parents), -1)], axis=1)
    return shares


def _with_begins(ids: np.ndarray, offsets: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray]:
    """(N + rows,) int32: all rows, each with <s> before it; and where the ids stand there, (N,)."""
    if len(ids) and not 0 <= ids.min() <= ids.max() < words:
        raise ValueError(f"ids must be from 0 to {words - 1}, and are from {ids.min()} to {ids.max()}")
    if offsets[0] != 0 or offsets[-1] != len(ids) or np.any(np.diff(offsets) < 0):
        raise ValueError(f"offsets must ascend from 0 to {len(ids)}")
    rows = len(offsets) - 1
    real = np.arange(len(ids)) + np.repeat(np.arange(1, rows + 1), np.diff(offsets))
    text = np.full(len(ids) + rows, words, np.int32)
    text[real] = ids
    return text, real


def _moved_on(grams: np.ndarray, text: np.ndarray, words: int) -> np.ndarray:
    """Of each position, the n-gram that ends just before it; -1 for none, and before <s>, where another row ends."""
    before = np.full(len(text), -1, np.int32)
    before[1:] = grams[:-1]
    before[text == words] = -1
    return before


def _recent(contexts: np.ndarray, lengths: np.ndarray, size: int, words: int) -> np.ndarray:
    """(B, size) int32: the last tokens of each context at the right; <s> before them where the row has no more; -1."""
    places = np.arange(-size, 0)[None] + lengths[:, None]
    taken = np.minimum(np.maximum(places, 0), max(contexts.shape[1] - 1, 0))
    padded = contexts if contexts.shape[1] else np.zeros((len(contexts), 1), np.int32)
    tokens = np.take_along_axis(padded, taken, axis=1)
    return np.where(places >= 0, tokens, np.where(places == -1, words, -1)).astype(np.int32)


def _checked(learnt: Learnt, order: int | None) -> int:
    """The order that is asked for; None: the highest."""
    highest = highest_order(learnt)
    if order is not None and not 1 <= order <= highest:
        raise ValueError(f"order must be from 1 to {highest}, and is {order}")
    return highest if order is None else order


def _counts(learnt: Learnt, n: int, order: int) -> np.ndarray:
    """What counts of n-grams where ``order`` is the highest."""
    return learnt[f"counts.{n}" if n == order else f"continuations.{n}"]


def _discounts(counts: np.ndarray) -> tuple[float, float, float]:
    """D1, D2 and D3+, equation 26 of Chen & Goodman."""
    n1, n2, n3, n4 = (int((counts == c).sum()) for c in (1, 2, 3, 4))
    if not n1 or not n2:
        return FALLBACK
    y = n1 / (n1 + 2 * n2)
    d2, d3 = 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3 if n3 else 0
    return y, d2 if d2 > 0 else FALLBACK[1], d3 if d3 > 0 else FALLBACK[2]  # 1 - 2 y n2 / n1 is y itself


def _discount_of_count(learnt: Learnt, n: int, order: int) -> np.ndarray:
    """(4,): of a count of 0, 1, 2, and 3 or more."""
    return np.append(0.0, learnt["discounts"][n - 1, 0 if n == order else 1])


def _of_contexts(learnt: Learnt, n: int, counts: np.ndarray, discounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(contexts,) each: the counts of all that follows a context, and what their discounts free."""
    freed = discounts[np.minimum(counts, 3)]
    if n == 1:
        return counts.sum(keepdims=True), freed.sum(keepdims=True)
    starts = learnt[f"starts.{n}"]
    contexts = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.bincount(contexts, counts, len(starts) - 1), np.bincount(contexts, freed, len(starts) - 1)
