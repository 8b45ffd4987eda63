"""Sentences by known rules: what a language model can at best achieve on them is a number, not a guess.

    the cat that the dogs see sleeps .

A subject may have a clause inside it, and that one again; every verb agrees with its own subject, however far back it
stands. All that the next word depends on is the stack of subjects that still wait for their verbs, so each word's
probability is known when it is drawn, and the mean of their surprise is what nobody can do better than.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rnnlab.core.seeding import generator
from rnnlab.data.tokenizers import LINE_END

VERSION = 1  # raised when the same settings would make other sentences
NOUNS = (
    ("cat", "dog", "child", "queen", "farmer", "bird", "pilot", "wolf"),
    ("cats", "dogs", "children", "queens", "farmers", "birds", "pilots", "wolves"),
)
VERBS = (
    ("sees", "sleeps", "sings", "runs", "waits", "falls"),
    ("see", "sleep", "sing", "run", "wait", "fall"),
)
ADVERBS = ("slowly", "again", "here", "today")
CLAUSE = (0.4, 0.3, 0.0)  # how likely a subject has one inside it, by how many it stands in
ADVERB = 0.3
SINGULAR = 0.5


@dataclass(frozen=True)
class Sentences:
    words: tuple[str, ...]  # with a line end behind each sentence
    nats: np.ndarray  # (words,) of each, as the rules have it

    @property
    def text(self) -> str:
        return "".join(word if word == LINE_END else f"{word} " for word in self.words).replace(
            f" {LINE_END}", LINE_END
        )

    @property
    def nats_of_characters(self) -> np.ndarray:
        """The first character of a word has its nats; the others, and the space behind it, follow."""
        sizes = [1 if word == LINE_END else len(word) + (following != LINE_END) for word, following in self._pairs()]
        found = np.zeros(sum(sizes))
        found[np.cumsum([0, *sizes[:-1]])] = self.nats
        return found

    def _pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.words, [*self.words[1:], LINE_END], strict=True))


def nested_sentences(count: int, seed: int) -> Sentences:
    """So many sentences, drawn from a seed."""
    draw = _Draw(generator(seed, "data", 0))
    for _ in range(count):
        draw.sentence()
    return Sentences(tuple(draw.words), np.array(draw.nats))


class _Draw:
    def __init__(self, random: np.random.Generator):
        self.random = random
        self.last = 0  # number that was drawn
        self.words: list[str] = []
        self.nats: list[float] = []

    def sentence(self) -> None:
        self.subject_and_verb(0)
        if self.random.random() < ADVERB:
            self.say(ADVERBS[self.rank(len(ADVERBS))], ADVERB * self.shares(len(ADVERBS))[self.last])
            self.say(".", 1.0)
        else:
            self.say(".", 1 - ADVERB)
        self.say(LINE_END, 1.0)

    def subject_and_verb(self, depth: int) -> None:
        self.say("the", 1.0)
        number = int(self.random.random() >= SINGULAR)
        noun = NOUNS[number][self.rank(len(NOUNS[0]))]
        self.say(noun, (SINGULAR if number == 0 else 1 - SINGULAR) * self.shares(len(NOUNS[0]))[self.last])
        left = 1.0  # that the verb comes at once, or after the clause for certain
        if self.random.random() < CLAUSE[depth]:
            self.say("that", CLAUSE[depth])
            self.subject_and_verb(depth + 1)
        else:
            left = 1 - CLAUSE[depth]
        self.say(VERBS[number][self.rank(len(VERBS[0]))], left * self.shares(len(VERBS[0]))[self.last])

    def rank(self, count: int) -> int:
        """A number below ``count``, the first ones more often."""
        self.last = int(np.searchsorted(np.cumsum(self.shares(count)), self.random.random()))
        return self.last

    def shares(self, count: int) -> np.ndarray:
        return _shares(count)

    def say(self, word: str, probability: float) -> None:
        self.words.append(word)
        self.nats.append(-float(np.log(probability)))


def nats_of_sentence(words: Sequence[str]) -> float | None:
    """Of a whole sentence with its line end, as the rules have it; None where it breaks them."""
    return _Reading(words).sentence()


class _Reading:
    """Word by word, as `_Draw` says them; a word that the rules don't allow there ends it."""

    def __init__(self, words: Sequence[str]):
        self.words, self.at = words, 0
        self.nats = 0.0

    def sentence(self) -> float | None:
        if not self.subject_and_verb(0):
            return None
        if not self.one_of(ADVERBS, ADVERB):
            self.nats -= float(np.log(1 - ADVERB))
        whole = self.is_next(".") and self.is_next(LINE_END) and self.at == len(self.words)
        return self.nats if whole else None

    def subject_and_verb(self, depth: int) -> bool:
        if not self.is_next("the"):
            return False
        singular = self.one_of(NOUNS[0], SINGULAR)
        if not singular and not self.one_of(NOUNS[1], 1 - SINGULAR):
            return False
        left = 1.0
        if CLAUSE[depth] > 0 and self.is_next("that"):
            self.nats -= float(np.log(CLAUSE[depth]))
            if not self.subject_and_verb(depth + 1):
                return False
        else:
            left = 1 - CLAUSE[depth]
        return self.one_of(VERBS[0 if singular else 1], left)

    def is_next(self, word: str) -> bool:
        found = self.at < len(self.words) and self.words[self.at] == word
        self.at += found
        return found

    def one_of(self, words: Sequence[str], probability: float) -> bool:
        """Reads the next word if it is one of these, which together are so likely."""
        for rank, word in enumerate(words):
            if self.is_next(word):
                self.nats -= float(np.log(probability * _shares(len(words))[rank]))
                return True
        return False


def _shares(count: int) -> np.ndarray:
    """Of words by their rank: the first ones are more frequent."""
    weights = 1 / np.arange(2, count + 2)
    return weights / weights.sum()
