"""Byte-pair encoding: pieces of words, learnt from texts by merging the most frequent pair of neighbours again and
again (Sennrich, Haddow and Birch 2016).

Nothing is merged across a space, nor across signs and digits. A space is written as `SPACE` before the piece behind it,
so that pieces can be joined to the text again."""

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

SPACE = "▁"
MERGES = 8_000  # unless asked otherwise
TWICE = 2  # a pair that occurs less often isn't merged

Pair = tuple[str, str]


def parts_of(word: str, letter: str) -> list[str]:
    """What stands between two spaces, in parts within which symbols are merged: a run of letters, or another character
    alone. ``letter`` is the pattern of one."""
    return re.findall(rf"{SPACE}?(?:{letter})+(?:['’](?:{letter})+)*|{SPACE}?.", SPACE + word, re.DOTALL)


def learn_merges(parts: Mapping[str, int], merges: int = MERGES) -> tuple[str, ...]:
    """From parts and how often each occurs to the merges in their order, each "left right". Of equally frequent pairs,
    the one that is first in the alphabet is merged."""
    words = [list(part) for part in parts]
    weights = list(parts.values())
    counts: Counter[Pair] = Counter()
    places: dict[Pair, set[int]] = defaultdict(set)  # words that have a pair, or had it
    for number, word in enumerate(words):
        for pair in pairwise(word):
            counts[pair] += weights[number]
            places[pair].add(number)
    queue = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(queue)
    found: list[str] = []
    while queue and len(found) < merges:
        negative, pair = heapq.heappop(queue)
        if -negative != counts[pair]:  # it changed since: it stands further back in the queue, too
            continue
        if -negative < TWICE:
            break
        found.append(" ".join(pair))
        change: dict[Pair, int] = defaultdict(int)
        for number in places.pop(pair):
            old, weight = words[number], weights[number]
            new = words[number] = merged(old, pair)
            for gone in pairwise(old):
                change[gone] -= weight
            for come in pairwise(new):
                change[come] += weight
                places[come].add(number)
        for one, difference in change.items():
            if difference:
                counts[one] += difference
                heapq.heappush(queue, (-counts[one], one))
    return tuple(found)


def merged(symbols: list[str], pair: Pair) -> list[str]:
    """With each such pair as one symbol, from left to right."""
    left, right = pair
    found: list[str] = []
    at = 0
    while at < len(symbols):
        if symbols[at] == left and at + 1 < len(symbols) and symbols[at + 1] == right:
            found.append(left + right)
            at += 2
        else:
            found.append(symbols[at])
            at += 1
    return found


def ranks_of(merges: Iterable[str]) -> dict[Pair, int]:
    found: dict[Pair, int] = {}
    for rank, merge in enumerate(merges):
        left, _, right = merge.partition(" ")
        found[left, right] = rank
    return found


def apply_merges(part: str, ranks: Mapping[Pair, int]) -> list[str]:
    """The symbols of a part: merges in the order in which they were learnt."""
    symbols = list(part)
    while len(symbols) > 1:
        known = [pair for pair in pairwise(symbols) if pair in ranks]
        if not known:
            break
        symbols = merged(symbols, min(known, key=lambda pair: ranks[pair]))
    return symbols


def symbols_of(parts: Iterable[str], merges: Iterable[str]) -> list[str]:
    """All that a text may consist of: the characters of these parts, and what merges make of them."""
    alphabet = {character for part in parts for character in part}
    made = (merge.replace(" ", "") for merge in merges)
    return [*sorted(alphabet), *(symbol for symbol in made if alphabet.issuperset(symbol))]


def joined(symbols: Iterable[str]) -> str:
    return "".join(symbols).replace(SPACE, " ").strip(" ")
