"""The embedded data set ``reviews``: film reviews from a grammar of our own, in English and in Chinese.

Real reviews don't say *why* a model fails. Here every row names the one phenomenon that decides its label, and the
label follows from rules that fit on a page. A verdict word has a grade from -2 to 2; the label is the grade + 2.

===============  ==================================================================================================
plain            The verdict word decides: dreadful 0, dull 1, average 2, good 3, superb 4.
intensity        An amplifier makes a verdict strong ("extremely good" 4), a downtoner makes it mild ("somewhat
                 superb" 3). Neutral stays neutral.
negation         Denial flips the side and weakens: "not good" 1, "not superb" 1, "not bad" 3, "not dreadful" 3.
double-negation  Denying a denial flips twice: the side comes back, mild. "It isn't true that it isn't superb" 3.
contrast         The main clause decides: what follows "but"; what "although" or "despite" does not introduce.
irrelevant       Only the film counts. The coffee, the car park and the *other* film have verdict words too.
long-range       The opening says whose opinion counts, the first or the last; two opposite ones follow, far apart.
===============  ==================================================================================================

**The twin law.** In the last five (`HARD`) counting words is worth nothing. Each row has a twin with another label and
*exactly the same words*, and both are equally likely to be drawn: "The film isn't long and the plot is good" (3) and
"The film is long and the plot isn't good" (1); "The acting is dreadful but the plot is superb" (4) and the same with
its two adjectives exchanged (0). So whatever ignores order (a bag of words, the length, the first word, the pattern)
is at chance, however clever the model on top. Every row is drawn by itself, twins are not written side by side, so a
split leaks nothing. Chance is the share of a phenomenon's commonest label: no bag makes another label likelier, but
for the strong words among the negations ("dreadful" straight is 0, denied 3), which are worth four points.

**The window law.** A convolution of width 5 sees "isn't good" and "but the plot is superb", so it can learn the other
four, nearly all of them. It can't learn ``long-range``, and it is worth knowing why. It would not do to let an early
cue *reverse* a late word, though the two never share a window: max pooling tells whether a feature occurs anywhere, a
filter that answers to cue and word alike tells their OR, and 2·OR - A - B is XOR, so a linear layer on top has the
answer. What max pooling can't see is order. Hence both opinions are always there, each with the same four words
before it and the same four after it: exchanging them changes the label and leaves the set of all windows of up to five
tokens as it was. Only a model that carries the opening through the sentence can tell. (The last opinion counts in
`LAST_COUNTS` of these rows rather than in half of them. That tells windows nothing, but a recurrent network that has
only learnt to prefer the last opinion is right that often, and so starts to learn sooner.)
"""

import hashlib
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from rnnlab.core.errors import ConfigError, did_you_mean, known_are
from rnnlab.core.seeding import generator
from rnnlab.data.examples import Examples

FILES = {language: Path(__file__).parent / "grammars" / f"{language}.toml" for language in ("en", "zh")}
LABELS = ("0", "1", "2", "3", "4")
LABEL_NAMES: dict[str, dict[str, str]] = {
    "en": dict(zip(LABELS, ("very negative", "negative", "neutral", "positive", "very positive"), strict=True)),
    "zh": dict(zip(LABELS, ("非常负面", "负面", "中性", "正面", "非常正面"), strict=True)),
}
FEWEST_ROWS, MOST_ROWS = 50, 1_000_000

# The share of each phenomenon, chosen so that every label has between 14 % and 25 % of the rows.
MIX = {
    "plain": 0.28,
    "intensity": 0.10,
    "negation": 0.15,
    "double-negation": 0.09,
    "contrast": 0.12,
    "irrelevant": 0.12,
    "long-range": 0.14,
}
HARD = ("negation", "double-negation", "contrast", "irrelevant", "long-range")
LAST_COUNTS = 0.6  # the share of long-range rows in which the last opinion counts

COMMON = 16  # verdict words that take part in every phenomenon; the rarer ones appear in plain rows only
EVERYDAY = 12  # … of which these suit a sandwich as well as a film
GIVEN = (  # symbols that the builders below hand to the grammar
    *("word", "verb", "noun", "degree"),
    *("film-is", "claim-is", "word-is", "asserted", "denied", "on-film", "on-word"),
    *("main", "side", "verdict", "aside", "other", "which", "one", "two"),
)

Rows = tuple[np.ndarray, np.ndarray]  # texts (n,) of str, grades (n,) from -2 to 2


@cache
def grammar(language: str) -> dict[str, list[str]]:
    """By symbol, its productions."""
    return tomllib.loads(FILES[language].read_text(encoding="utf-8"))


def generate(rows: int = 6000, language: str = "en", seed: int = 0) -> Examples:
    """Labelled reviews, shuffled: a function of its arguments alone."""
    if language not in FILES:
        hint = did_you_mean(language, FILES) or known_are(FILES)
        raise ConfigError("reviews: unknown language {language!r}{hint}", language=language, hint=hint)
    if not FEWEST_ROWS <= rows <= MOST_ROWS:
        raise ConfigError(
            "reviews: rows must be between {fewest_rows:,} and {most_rows:,}, got {rows:,}",
            fewest_rows=FEWEST_ROWS,
            most_rows=MOST_ROWS,
            rows=rows,
        )
    rng = generator(seed, "data")
    writer = Writer(grammar(language), rng)
    counts = share_out(rows, MIX)
    parts = [BUILDERS[phenomenon](writer, count) for phenomenon, count in counts.items()]
    order = rng.permutation(rows)
    texts = [text[0].upper() + text[1:] for text in np.concatenate([texts for texts, _ in parts])[order]]
    labels = [LABELS[grade + 2] for grade in np.concatenate([grades for _, grades in parts])[order]]
    tags = np.repeat(np.array(list(counts), dtype=object), list(counts.values()))[order].tolist()
    content = "".join(f"{label}\t{tag}\t{text}\n" for label, tag, text in zip(labels, tags, texts, strict=True))
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Examples(source="reviews", labels=labels, texts=texts, tags=tags, digest=digest)


def share_out(rows: int, shares: dict[str, float]) -> dict[str, int]:
    """Whole rows for each share, adding up to ``rows``: the largest remainders are rounded up."""
    exact = np.array(list(shares.values())) * rows
    counts = np.floor(exact).astype(int)
    counts[np.argsort(counts - exact, kind="stable")[: rows - counts.sum()]] += 1
    return dict(zip(shares, counts.tolist(), strict=True))


# --- the rules, on grades from -2 to 2 ---


def deny(grades: np.ndarray) -> np.ndarray:
    """The other side, mild."""
    return -np.sign(grades)


def amplify(grades: np.ndarray) -> np.ndarray:
    return 2 * np.sign(grades)


def soften(grades: np.ndarray) -> np.ndarray:
    return np.sign(grades)


# --- drawing from a grammar, a column at a time ---


@dataclass(frozen=True)
class Writer:
    """Expands the symbols of a grammar for many rows at once."""

    grammar: dict[str, list[str]]
    rng: np.random.Generator

    def write(self, symbol: str, n: int, given: dict[str, np.ndarray]) -> np.ndarray:
        """(n,) texts, each from a production drawn evenly. The values of ``given`` symbols are there, (n,) each."""
        productions = self.grammar[symbol]
        choice = self.rng.integers(len(productions), size=n)
        if not any("{" in production for production in productions):
            return np.array(productions, dtype=object)[choice]
        texts = np.empty(n, dtype=object)
        for number in np.unique(choice):
            rows = np.flatnonzero(choice == number)
            pattern, slots = compiled(productions[number])
            here = {name: values[rows] for name, values in given.items()}
            columns = [here[slot] if slot in here else self.write(slot, len(rows), here) for slot in slots]
            texts[rows] = [pattern % values for values in zip(*columns, strict=True)] if slots else pattern
        return texts

    def words(self, grades: np.ndarray, kind: str = "adjective", first: int | None = None) -> np.ndarray:
        """(n,) words of the given grades, early ones in the list more often; only the ``first`` ones if told."""
        words = np.empty(len(grades), dtype=object)
        for grade in np.unique(grades):
            rows = np.flatnonzero(grades == grade)
            listed = np.array(self.grammar[f"{kind}{grade + 2}"][:first], dtype=object)
            frequency = 1 / (np.arange(len(listed)) + 6)
            words[rows] = self.rng.choice(listed, size=len(rows), p=frequency / frequency.sum())
        return words

    def parallel(self, n: int, *symbols: str) -> list[np.ndarray]:
        """(n,) words of each symbol, at the same places of their lists: "is" goes with "isn't", "was" with "wasn't"."""
        places = self.rng.integers(len(self.grammar[symbols[0]]), size=n)
        return [np.array(self.grammar[symbol], dtype=object)[places] for symbol in symbols]

    def draw(self, n: int, *sizes: int) -> list[np.ndarray]:
        """(n,) numbers below each size, all independent. They are not dealt out evenly, because then a label that is
        frequent in the training rows would have to be rare in the rest, and guessing it would score below chance."""
        return [self.rng.integers(size, size=n) for size in sizes]


@cache
def compiled(production: str) -> tuple[str, tuple[str, ...]]:
    """``"the {film} is {word}"`` → ``("the %s is %s", ("film", "word"))``."""
    return re.sub(r"\{[^}]+\}", "%s", production), tuple(re.findall(r"\{([^}]+)\}", production))


def joined(*parts: Rows) -> Rows:
    return np.concatenate([texts for texts, _ in parts]), np.concatenate([grades for _, grades in parts])


# --- the phenomena; in each, what the label turns on is drawn apart from everything that a bag of words would see ---


def plain(writer: Writer, n: int) -> Rows:
    (place,) = writer.draw(n, 6)
    grades = np.array([-2, -1, 0, 0, 1, 2])[place]
    given = {
        "word": writer.words(grades),
        "verb": writer.words(grades, "verb"),
        "noun": writer.words(grades, "noun"),
    }
    return writer.write("plain", n, given), grades


def intensity(writer: Writer, n: int) -> Rows:
    place, amplified = writer.draw(n, 5, 2)
    grades = place - 2
    degree = np.where(amplified, writer.write("amplifier", n, {}), writer.write("downtoner", n, {}))
    given = {"degree": degree, "word": writer.words(grades, first=COMMON)}
    return writer.write("intensity", n, given), np.where(amplified, amplify(grades), soften(grades))


def negation(writer: Writer, n: int) -> Rows:
    return joined(negated_clause(writer, n - n // 4), negated_choice(writer, n // 4))


def negated_clause(writer: Writer, n: int) -> Rows:
    """Two clauses, one denied: the one that judges or the one that doesn't. One verdict word in five is strong."""
    positive, denied, strength = writer.draw(n, 2, 2, 5)
    grades = (2 * positive - 1) * np.where(strength == 0, 2, 1)
    assertion, denial = writer.parallel(n, "assertion", "denial")
    given = {
        "word": writer.words(grades, first=COMMON),
        "word-is": np.where(denied, denial, assertion),
        "film-is": np.where(denied, assertion, denial),
    }
    return writer.write("negation-clause", n, given), np.where(denied, deny(grades), grades)


def negated_choice(writer: Writer, n: int) -> Rows:
    """ "Not dull but good", "good, not dull"."""
    (positive,) = writer.draw(n, 2)
    grades = 2 * positive - 1
    given = {"asserted": writer.words(grades, first=COMMON), "denied": writer.words(-grades, first=COMMON)}
    return writer.write("negation-choice", n, given), grades


def double_negation(writer: Writer, n: int) -> Rows:
    return joined(denied_claim(writer, n - n // 2), stacked_denial(writer, n // 2))


def denied_claim(writer: Writer, n: int) -> Rows:
    """Something about the film, a claim, and a verdict inside the claim; two of the three are denied. The verdict is
    denied twice where the film is not, else once: it is itself denied, or the claim is."""
    positive, film_denied, either, strong = writer.draw(n, 2, 2, 2, 2)
    grades = (2 * positive - 1) * (1 + strong)
    assertion, denial = writer.parallel(n, "claim-assertion", "claim-denial")
    claim_denied = ~film_denied.astype(bool) | (either == 0)
    word_denied = ~film_denied.astype(bool) | (either == 1)
    given = {
        "word": writer.words(grades, first=COMMON),
        "film-is": np.where(film_denied, denial, assertion),
        "claim-is": np.where(claim_denied, denial, assertion),
        "word-is": np.where(word_denied, denial, assertion),
    }
    return writer.write("double-negation-claim", n, given), np.where(film_denied, deny(grades), deny(deny(grades)))


def stacked_denial(writer: Writer, n: int) -> Rows:
    """ "Never not good"; or the "never" belongs to the film, and the verdict is simply "not good"."""
    positive, stacked, strong = writer.draw(n, 2, 2, 2)
    grades = (2 * positive - 1) * (1 + strong)
    second = writer.write("second-denial", n, {})
    given = {
        "word": writer.words(grades, first=COMMON),
        "on-word": np.where(stacked, second, ""),
        "on-film": np.where(stacked, "", second),
    }
    return writer.write("double-negation-stack", n, given), np.where(stacked, deny(deny(grades)), deny(grades))


def contrast(writer: Writer, n: int) -> Rows:
    positive, late = writer.draw(n, 2, 2)
    grades = 2 * (2 * positive - 1)
    given = {"main": writer.words(grades, first=COMMON), "side": writer.words(-grades, first=COMMON)}
    texts = np.where(late, writer.write("contrast-late", n, given), writer.write("contrast-early", n, given))
    return texts, grades


def irrelevant(writer: Writer, n: int) -> Rows:
    return joined(one_aside(writer, n // 3), two_asides(writer, n - n // 3))


def one_aside(writer: Writer, n: int) -> Rows:
    (positive,) = writer.draw(n, 2)
    grades = 2 * (2 * positive - 1)
    given = {"verdict": writer.words(grades, first=EVERYDAY), "aside": writer.words(-grades, first=EVERYDAY)}
    return writer.write("irrelevant-pair", n, given), grades


def two_asides(writer: Writer, n: int) -> Rows:
    """A bad, a middling and a good word; the film has one of the three."""
    place, swapped = writer.draw(n, 3, 2)
    grades, next_grades, last_grades = (2 * ((place + step) % 3 - 1) for step in (0, 1, 2))
    given = {
        "verdict": writer.words(grades, first=EVERYDAY),
        "aside": writer.words(np.where(swapped, last_grades, next_grades), first=EVERYDAY),
        "other": writer.words(np.where(swapped, next_grades, last_grades), first=EVERYDAY),
    }
    return writer.write("irrelevant-three", n, given), grades


def long_range(writer: Writer, n: int) -> Rows:
    (positive,) = writer.draw(n, 2)
    last = writer.rng.random(n) < LAST_COUNTS
    grades = 2 * (2 * positive - 1)
    first_word, last_word = writer.parallel(n, "which-first", "which-last")
    counts, ignored = writer.words(grades, first=COMMON), writer.words(-grades, first=COMMON)
    given = {
        "which": np.where(last, last_word, first_word),
        "one": np.where(last, ignored, counts),
        "two": np.where(last, counts, ignored),
        "before": writer.write("before", n, {}),  # drawn once: the same words around both opinions
        "after": writer.write("after", n, {}),
    }
    return writer.write("long-range", n, given), grades


BUILDERS: dict[str, Callable[[Writer, int], Rows]] = {
    "plain": plain,
    "intensity": intensity,
    "negation": negation,
    "double-negation": double_negation,
    "contrast": contrast,
    "irrelevant": irrelevant,
    "long-range": long_range,
}
