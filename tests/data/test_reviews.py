"""The laws of the embedded reviews: labels follow from the text, and nothing that ignores order can guess them."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from itertools import islice

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from rnnlab.core.errors import ConfigError
from rnnlab.core.seeding import generator
from rnnlab.data import reviews
from rnnlab.data.examples import Examples

LANGUAGES = ("en", "zh")
SLACK = 0.08  # how far above the commonest label a model without word order may come on a hard phenomenon


def tokens(text: str, language: str) -> list[str]:
    return re.findall(r"[\w'-]+|[^\w\s]", text.lower()) if language == "en" else list(text)


def rows_of(examples: Examples, phenomenon: str) -> Iterator[tuple[str, str]]:
    """(text, label) of the rows with that tag."""
    assert examples.texts is not None
    assert examples.tags is not None
    for text, label, tag in zip(examples.texts, examples.labels, examples.tags, strict=True):
        if tag == phenomenon:
            yield text, label


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def training(language: str) -> Examples:
    return reviews.generate(8000, language, seed=0)


@pytest.fixture(scope="module")
def unseen(language: str) -> Examples:
    return reviews.generate(8000, language, seed=1)


# --- what is generated ---


def test_same_arguments_same_rows_and_digest(language: str) -> None:
    first, again, other = (reviews.generate(500, language, seed=seed) for seed in (3, 3, 4))
    assert (first.texts, first.labels, first.tags) == (again.texts, again.labels, again.tags)
    assert first.digest == again.digest
    assert len(first.digest) == 64
    assert first.digest != other.digest
    assert first.texts != other.texts


@pytest.mark.parametrize("rows", [50, 51, 77, 1003])
def test_any_size_keeps_the_mix(language: str, rows: int) -> None:
    examples = reviews.generate(rows, language)
    assert len(examples) == rows
    assert examples.source == "reviews"
    assert examples.groups is None
    found = Counter(examples.tags)
    assert set(found) == set(reviews.MIX)
    assert all(abs(found[tag] - share * rows) < 1 for tag, share in reviews.MIX.items())


def test_labels_are_balanced_and_rows_hardly_repeat(training: Examples) -> None:
    shares = {label: count / len(training) for label, count in Counter(training.labels).items()}
    assert set(shares) == set(reviews.LABELS)
    assert all(0.12 <= share <= 0.28 for share in shares.values()), shares
    assert training.texts is not None
    assert len(set(training.texts)) > 0.98 * len(training)


def test_texts_are_finished_sentences(language: str, training: Examples) -> None:
    ends = ".!" if language == "en" else "。！"
    assert training.texts is not None
    for text in training.texts:
        assert text[-1] in ends
        assert not re.search(r"[{}%]|\s\s|\s[,.;:!]|^\s|[，。；：、！]{2}", text), text
        assert (" " in text) == (language == "en")
        assert text[0] == text[0].upper()
        assert not re.search(r"\ba [aeio]|\ban [^aeio]", text), text


def test_most_sentences_are_short_and_long_range_ones_are_not(language: str, training: Examples) -> None:
    assert training.texts is not None
    lengths = [len(tokens(text, language)) for text in training.texts]
    assert np.median(lengths) <= (14 if language == "en" else 20)
    far = [len(tokens(text, language)) for text, _ in rows_of(training, "long-range")]
    assert min(far) >= 28
    assert max(far) <= (55 if language == "en" else 80)


@pytest.mark.parametrize("rows", [49, 1_000_001, 0, -5])
def test_impossible_sizes_are_refused(rows: int) -> None:
    with pytest.raises(ConfigError, match=r"between 50 and 1,000,000"):
        reviews.generate(rows)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown language 'fr'; known: en, zh"):
        reviews.generate(100, "fr")


def test_label_names_in_both_languages() -> None:
    assert set(reviews.LABEL_NAMES) == set(LANGUAGES)
    assert all(tuple(names) == reviews.LABELS for names in reviews.LABEL_NAMES.values())


# --- the lexicon ---


def graded(language: str) -> dict[str, int]:
    """Every verdict word with its label."""
    grammar = reviews.grammar(language)
    return {w: int(s[-1]) for s in grammar for w in grammar[s] if re.fullmatch(r"(adjective|verb|noun)\d", s)}


def test_every_symbol_is_known_and_used(language: str) -> None:
    grammar = reviews.grammar(language)
    used = {slot for productions in grammar.values() for text in productions for slot in reviews.compiled(text)[1]}
    assert used - set(grammar) == set(reviews.GIVEN)
    assert len(grammar["assertion"]) == len(grammar["denial"])
    assert len(grammar["claim-assertion"]) == len(grammar["claim-denial"])
    assert len(grammar["which-first"]) == len(grammar["which-last"])


def test_the_lexicon_is_large_and_repeats_nothing(language: str) -> None:
    grammar = reviews.grammar(language)
    words = graded(language)
    assert len(words) >= 300
    assert sum(len(grammar[s]) for s in grammar if re.fullmatch(r"(adjective|verb|noun)\d", s)) == len(words)
    neutral = ("film", "aspect", "craft", "thing", "property", "name", "place", "venue", "when", "relation", "topic")
    assert sum(len(set(grammar[symbol])) for symbol in neutral) >= 450
    assert all(len(set(grammar[symbol])) == len(grammar[symbol]) for symbol in neutral)


def test_no_verdict_word_hides_in_another_grade_or_in_neutral_text(language: str) -> None:
    grammar = reviews.grammar(language)
    adjectives = {word: label for word, label in graded(language).items() if word in grammar[f"adjective{label}"]}

    def contains(text: str, word: str) -> bool:
        return word in (text if language == "zh" else text.lower().split())

    for symbol, productions in grammar.items():
        own = int(symbol[-1]) if symbol[-1].isdigit() else None
        for text in productions:
            literal = re.sub(r"\{[^}]+\}", " ", text)
            strangers = [w for w, label in adjectives.items() if label != own and contains(literal, w)]
            assert not strangers, (symbol, text, strangers)


# --- labels are a function of the text, by the rules ---

DENIAL = {"en": r"\b(?:isn't|wasn't|not|never|hardly|by no means)\b", "zh": r"[不非]"}
CLAUSE = {"en": r"; |,? and |, ", "zh": r"[，；]"}
ALTHOUGH = {"en": r"\b(?:although|though|even if|despite)\b", "zh": r"虽然|尽管|虽说|即使|哪怕"}
BUT = {"en": r"\b(?:but|yet)\b", "zh": r"但|不过|可是|然而"}
FIRST_COUNTS = {"en": r"^[^:]*\b(?:first|earlier)\b", "zh": r"^[^：]*(?:最先|开头|前面)"}


def alternatives(words: list[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


class Reader:
    """Reads a review as a person would, knowing the words but not the patterns: text and phenomenon to label."""

    def __init__(self, language: str) -> None:
        self.language = language
        grammar = reviews.grammar(language)
        edge = r"\b" if language == "en" else ""
        self.labels = {word: label for label in range(5) for word in grammar[f"adjective{label}"]}
        self.verdict = re.compile(f"{edge}(?:{alternatives(list(self.labels))}){edge}")
        self.thing = re.compile(f"{edge}(?:{alternatives(grammar['thing'])}){edge}")
        self.film = re.compile(f"{edge}(?:{alternatives(grammar['film'])}){edge}")

    def graded(self, text: str) -> list[int]:
        """The labels that the verdict words of a text would have, taken straight, in order."""
        return [self.labels[word] for word in self.verdict.findall(text.lower())]

    def read(self, text: str, phenomenon: str) -> int:
        text = text.lower()
        found, labels = list(self.verdict.finditer(text)), self.graded(text)
        if phenomenon == "long-range":
            return labels[0 if re.search(FIRST_COUNTS[self.language], text) else -1]
        if phenomenon == "contrast":
            although = re.search(ALTHOUGH[self.language], text)
            if although is None:
                assert re.search(BUT[self.language], text)
            return labels[0 if although and although.start() > found[0].start() else 1]
        if phenomenon == "irrelevant":
            return self.of_the_film(text)
        if len(found) == 2:  # "not dull but good", "good, not dull"
            denied = [bool(re.search(r"(?:not |不是)$", text[: match.start()])) for match in found]
            assert sorted(denied) == [False, True]
            return labels[denied.index(False)]
        (clause,) = (part for part in re.split(CLAUSE[self.language], text) if self.verdict.search(part))
        side = np.sign(labels[0] - 2)
        denials = len(re.findall(DENIAL[self.language], clause))
        assert denials <= 2
        return 2 + int(side * (-1) ** denials) if denials else labels[0]

    def of_the_film(self, text: str) -> int:
        text = self.film.sub("FILM", self.thing.sub("THING", text))
        if self.language == "en":
            text = re.sub(r"which came after the (\S+ FILM|\S+ THING)", r"(\1)", text)
            text = re.sub(r"(FILM|THING), \((.*?)\),", r"\2 ; \1", text)
        word = self.verdict.pattern
        after = re.search(rf"FILM (?:is |was )?({word})|FILM很?({word})", text)
        before = re.search(rf"({word})[ 的]FILM", text)
        match = after or before
        assert match is not None, text
        assert not (after and before), text
        return self.labels[next(group for group in match.groups() if group)]


@pytest.mark.parametrize("phenomenon", reviews.HARD)
def test_a_reader_who_knows_the_rules_agrees_with_every_label(
    language: str, training: Examples, phenomenon: str
) -> None:
    reader = Reader(language)
    wrong = [(t, label) for t, label in rows_of(training, phenomenon) if reader.read(t, phenomenon) != int(label)]
    assert not wrong, wrong[:3]


def test_intensity_and_plain_follow_the_word(language: str, training: Examples) -> None:
    grammar = reviews.grammar(language)
    reader = Reader(language)
    amplified = re.compile(alternatives(grammar["amplifier"]))
    for text, label in rows_of(training, "intensity"):
        (straight,) = reader.graded(text)
        assert int(label) == 2 + np.sign(straight - 2) * (2 if amplified.search(text) else 1), text
    for text, label in rows_of(training, "plain"):
        assert all(straight == int(label) for straight in reader.graded(text)), text


def test_one_text_never_has_two_labels(language: str) -> None:
    labels: dict[str, set[str]] = defaultdict(set)
    for seed in range(5):
        examples = reviews.generate(8000, language, seed)
        assert examples.texts is not None
        for text, label in zip(examples.texts, examples.labels, strict=True):
            labels[text].add(label)
    assert all(len(found) == 1 for found in labels.values())


def test_the_rules_on_grades() -> None:
    grades = np.arange(-2, 3)
    assert reviews.deny(grades).tolist() == [1, 1, 0, -1, -1]
    assert reviews.deny(reviews.deny(grades)).tolist() == [-1, -1, 0, 1, 1]
    assert reviews.amplify(grades).tolist() == [-2, -2, 0, 2, 2]
    assert reviews.soften(grades).tolist() == [-1, -1, 0, 1, 1]


# --- nothing without word order can guess ---


def small_writer(language: str) -> reviews.Writer:
    """The same patterns with two verdict words a grade and one of everything else, so that twins really turn up."""
    grammar = dict(reviews.grammar(language))
    for symbol, productions in grammar.items():
        if re.fullmatch(r"(adjective|verb|noun)\d", symbol):
            grammar[symbol] = productions[:2]
        elif not any(slot in reviews.GIVEN for text in productions for slot in reviews.compiled(text)[1]):
            grammar[symbol] = productions[:1]
    return reviews.Writer(grammar, generator(0, "data"))


def labels_by(key: Callable[[str], Hashable], language: str, phenomenon: str, n: int) -> dict[Hashable, list[int]]:
    texts, grades = reviews.BUILDERS[phenomenon](small_writer(language), n)
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for text, grade in zip(texts, grades.tolist(), strict=True):
        groups[key(text)].append(grade)
    return groups


def assert_each_group_has_equally_likely_labels(groups: dict[Hashable, list[int]]) -> None:
    assert sum(map(len, groups.values())) > 10 * len(groups), "too few twins to tell"
    chi_square = freedom = 0.0
    for found in groups.values():
        counts = Counter(found)
        labels = max(len(counts), 2)
        expected = len(found) / labels
        chi_square += sum((count - expected) ** 2 / expected for count in counts.values())
        chi_square += expected * (labels - len(counts))
        freedom += labels - 1
    assert chi_square < freedom + 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("phenomenon", reviews.HARD)
def test_the_same_bag_of_words_has_every_label_equally_often(language: str, phenomenon: str) -> None:
    groups = labels_by(lambda text: tuple(sorted(tokens(text, language))), language, phenomenon, 6000)
    assert_each_group_has_equally_likely_labels(groups)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("punctuation", [True, False])
def test_windows_up_to_five_are_the_same_in_a_long_range_row_and_its_twin(
    language: str, training: Examples, width: int, punctuation: bool
) -> None:
    def windows(text: str) -> Counter[tuple[str, ...]]:
        found = [token for token in tokens(text, language) if punctuation or token[0].isalnum()]
        padded = [""] * (width - 1) + found + [""] * (width - 1)
        return Counter(zip(*(padded[i:] for i in range(width)), strict=False))

    reader = Reader(language)
    for text, label in islice(rows_of(training, "long-range"), 300):
        one, two = (match.span() for match in reader.verdict.finditer(text))
        twin = text[: one[0]] + text[slice(*two)] + text[one[1] : two[0]] + text[slice(*one)] + text[two[1] :]
        assert reader.read(twin, "long-range") == 4 - int(label)
        assert windows(twin) == windows(text), text


def majority(labels: list[str]) -> float:
    return max(Counter(labels).values()) / len(labels)


def test_a_bag_of_words_is_at_chance_where_order_decides_and_good_where_it_does_not(
    language: str, training: Examples, unseen: Examples
) -> None:
    assert training.texts is not None
    counter = TfidfVectorizer(token_pattern=r"\S+")
    bags = counter.fit_transform([" ".join(tokens(text, language)) for text in training.texts])
    model = LogisticRegression(max_iter=300).fit(bags, training.labels)
    scores = {}
    for phenomenon in reviews.MIX:
        texts, labels = map(list, zip(*rows_of(unseen, phenomenon), strict=True))
        bags = counter.transform([" ".join(tokens(text, language)) for text in texts])
        scores[phenomenon] = float(np.mean(model.predict(bags) == np.array(labels)))
        if phenomenon in reviews.HARD:
            assert scores[phenomenon] <= majority(labels) + SLACK, (phenomenon, scores[phenomenon])
    assert scores["plain"] > 0.85, scores
    assert scores["intensity"] > 0.6, scores


CLUES: dict[str, Callable[[list[str]], Hashable]] = {
    "length": len,
    "first token": lambda found: found[0],
    "last token": lambda found: found[-1],
    "commas": lambda found: sum(token in ",，;；" for token in found),
}


@pytest.mark.parametrize("clue", CLUES)
def test_no_single_clue_tells_the_label(language: str, training: Examples, unseen: Examples, clue: str) -> None:
    for phenomenon in reviews.HARD:
        seen: dict[Hashable, Counter[str]] = defaultdict(Counter)
        for text, label in rows_of(training, phenomenon):
            seen[CLUES[clue](tokens(text, language))][label] += 1
        commonest = Counter(label for _, label in rows_of(training, phenomenon)).most_common(1)[0][0]
        texts, labels = map(list, zip(*rows_of(unseen, phenomenon), strict=True))
        guesses = [seen[CLUES[clue](tokens(text, language))] for text in texts]
        guessed = [counts.most_common(1)[0][0] if counts else commonest for counts in guesses]
        accuracy = np.mean(np.array(guessed) == np.array(labels))
        assert accuracy <= majority(labels) + SLACK, (phenomenon, clue, accuracy)


@pytest.mark.parametrize("phenomenon", ["contrast", "irrelevant"])
@pytest.mark.parametrize("place", [0, -1])
def test_neither_the_first_nor_the_last_verdict_word_is_always_the_one(
    language: str, training: Examples, phenomenon: str, place: int
) -> None:
    reader = Reader(language)
    right, chance = [], []
    for text, label in rows_of(training, phenomenon):
        found = reader.graded(text)
        right.append(found[place] == int(label))
        chance.append(1 / len(found))
    assert abs(np.mean(right) - np.mean(chance)) < 0.06
