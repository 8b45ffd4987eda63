"""Taggers that aren't networks: what they learn of a made-up language, and what they make of its unknown words."""

import itertools

import numpy as np
import pytest
from corpora import write_bmes

from rnnlab.data.preprocessor import Side
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.data.spelling import Spelling
from rnnlab.data.vocabulary import Vocabulary
from rnnlab.kernels import library, switched_off
from rnnlab.models import crf
from rnnlab.models.baselines import BASELINES, Labelled
from rnnlab.models.chain import best_paths
from rnnlab.models.crf import Crf
from rnnlab.models.tag_features import (
    LOWER,
    OF_TOKENS,
    OF_WORDS,
    SUFFIX,
    WORD,
    attributes_of,
    features_of,
    learn_features,
)
from rnnlab.models.tagging_baselines import FrequentTag, Hmm
from rnnlab.tasks.tag import Tag
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec

TAGS = ["name", "verb", "noun", "number", "sign"]
TAGGERS = ["frequent-tag", "hmm", "crf"]
STEMS = [a + b + c for a in "bdfghklmnp" for b in "aeiou" for c in "lrmtskpn"]


def sentences(count: int, seed: int, stems: list[str] = STEMS) -> tuple[list[list[str]], list[list[int]]]:
    """A name, a verb that ends in -ing, a noun in -tion or the same stem as the verb's, perhaps a number, and a full
    stop. A bare stem is a verb after a name, and a noun elsewhere."""
    random = np.random.default_rng(seed)
    rows, tags = [], []
    for _ in range(count):
        name, verb, noun = (stems[i] for i in random.integers(0, len(stems), 3))
        words = [name.capitalize(), verb + ("ing" if random.random() < 0.5 else ""), noun]
        own = [0, 1, 2]
        if random.random() < 0.5:
            words.append(str(random.integers(10, 99)))
            own.append(3)
        rows.append([*words, "."])
        tags.append([*own, 4])
    return rows, tags


class Corpus:
    """Rows as the task `tag` would give them, of words or, without letters, of single tokens."""

    def __init__(self, train: list[list[str]], letters: int = 20):
        words = [word for row in train for word in row]
        vocabulary = Vocabulary.build(*zip(*((w, 1) for w in dict.fromkeys(words)), strict=True))
        self.side = Side(vocabulary=vocabulary, spelling=Spelling.build(words, letters, lowercase=False))

    def encode(self, rows: list[list[str]]) -> Sequences:
        words = [word for row in rows for word in row]
        assert self.side.vocabulary is not None
        ids = np.array(self.side.vocabulary.encode(words), np.int32)
        offsets = offsets_of(np.array([len(row) for row in rows]))
        values = self.side.with_looks(ids, words, offsets)
        return Sequences.end_to_end(values, offsets, np.zeros(len(rows), np.int64), np.arange(len(rows)))


def flat(tags: list[list[int]]) -> np.ndarray:
    return np.array(list(itertools.chain(*tags)), np.int64)


def answers(kind: str, corpus: Corpus, train, test: list[list[str]], **settings) -> np.ndarray:
    tagger = BASELINES.parse({"kind": kind, **settings})
    rows, tags = train
    data = tagger.rows(corpus.encode(rows), corpus.side)
    learnt = tagger.fit_chosen(Labelled(*data, flat(tags)), Labelled(*data, flat(tags)), len(TAGS))
    values, offsets = tagger.rows(corpus.encode(test), corpus.side)
    emissions = tagger.logits(learnt, values, offsets)
    assert emissions.dtype == np.float32
    assert emissions.shape == (len(values), len(TAGS))
    assert np.isfinite(emissions).all()
    chain = learnt.get("chain")
    return emissions.argmax(1) if chain is None else best_paths(emissions, offsets, chain)


@pytest.mark.parametrize("kind", TAGGERS)
def test_words_of_the_training_rows_get_their_tags(kind: str) -> None:
    train = sentences(300, 0)
    right = (answers(kind, Corpus(train[0]), train, train[0]) == flat(train[1])).mean()
    assert right > {"frequent-tag": 0.85, "hmm": 0.97, "crf": 0.999}[kind]


@pytest.mark.parametrize("kind", ["hmm", "crf"])
def test_unknown_words_are_told_by_their_looks(kind: str) -> None:
    train = sentences(300, 0, STEMS[:200])
    rows = [["Pan", "pening", "77", "."], ["Nus", "nuking", "nup", "."]]
    found = answers(kind, Corpus(train[0]), train, rows).tolist()
    assert found == [0, 1, 3, 4, 0, 1, 2, 4]  # by capitals, endings, digits


@pytest.mark.parametrize("kind", ["hmm", "crf"])
def test_tokens_without_letters(kind: str) -> None:
    """As Chinese characters are: a tag may depend on the tokens around it alone."""
    random = np.random.default_rng(0)
    rows = [list("".join(f"{'甲乙'[i]}天" for i in random.integers(0, 2, 3)) + "。") for _ in range(100)]
    tags = [[0 if token != "天" else 1 + (row[at - 1] == "乙") for at, token in enumerate(row)] for row in rows]
    corpus = Corpus(rows, letters=0)
    assert corpus.encode(rows).values.ndim == 1
    right = (answers(kind, corpus, (rows, tags), rows) == flat(tags)).mean()
    assert right > {"hmm": 0.6, "crf": 0.99}[kind]


@pytest.mark.parametrize("kind", TAGGERS)
def test_a_tag_that_training_lacks_is_never_the_answer(kind: str) -> None:
    rows, tags = sentences(60, 0)
    rows, tags = [row[:3] for row in rows], [own[:3] for own in tags]
    found = answers(kind, Corpus(rows), (rows, tags), rows)
    assert set(found.tolist()) <= {0, 1, 2}


@pytest.mark.parametrize("kind", TAGGERS)
def test_neighbouring_rows_change_nothing(kind: str) -> None:
    train = sentences(80, 0)
    corpus = Corpus(train[0])
    rows = [*sentences(5, 1)[0], ["Wox"]]
    together = answers(kind, corpus, train, rows)
    alone = [answers(kind, corpus, train, [row]) for row in rows]
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_the_same_settings_learn_the_same() -> None:
    rows, tags = sentences(50, 0)
    corpus = Corpus(rows)
    data = Crf().rows(corpus.encode(rows), corpus.side)
    one, other = (Crf(C=1.0).fit(*data, flat(tags), len(TAGS)) for _ in range(2))
    assert one.keys() == other.keys() >= {"features", "coef", "intercept", "chain"}
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


@pytest.mark.skipif(library() is None, reason="there are no native kernels")
def test_native_passes_learn_what_numpy_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crf, "PASSES", 3)
    monkeypatch.setattr(crf, "AVERAGED", 2)
    rows, tags = sentences(40, 0)
    corpus = Corpus(rows)
    data = Crf().rows(corpus.encode(rows), corpus.side)
    native = Crf(C=1.0).fit(*data, flat(tags), len(TAGS))
    with switched_off():
        naive = Crf(C=1.0).fit(*data, flat(tags), len(TAGS))
    for name, array in native.items():
        np.testing.assert_allclose(array, naive[name], rtol=2e-3, atol=2e-4)


def test_passes_without_dropout_go_to_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the gradient of the loss with its penalty is zero."""
    monkeypatch.setattr(crf, "PASSES", 400)
    monkeypatch.setattr(crf, "AVERAGED", 100)
    rows, tags = sentences(30, 0)
    corpus = Corpus(rows)
    tagger = Crf(C=1.0, dropout=0.0)
    values, offsets = tagger.rows(corpus.encode(rows), corpus.side)
    learnt = tagger.fit(values, offsets, flat(tags), len(TAGS))
    losses, delta, for_chain = crf.path_losses(
        tagger.logits(learnt, values, offsets), offsets, learnt["chain"], flat(tags)
    )
    start = crf.path_losses(np.zeros_like(delta), offsets, np.zeros_like(learnt["chain"]), flat(tags))
    read = crf._Read(learnt["features"], values, offsets)
    owner = np.repeat(np.arange(len(values)), np.diff(read.starts))
    for_table, at_first = np.zeros_like(learnt["coef"]), np.zeros_like(learnt["coef"])
    np.add.at(for_table, read.indices, delta[owner])
    np.add.at(at_first, read.indices, start[1][owner])
    assert losses.sum() < 0.1 * start[0].sum()
    assert np.abs(for_table + learnt["coef"]).max() < 0.02 * np.abs(at_first).max()
    assert np.abs(for_chain + learnt["chain"]).max() < 0.02 * np.abs(start[2]).max()


def test_features_by_hand() -> None:
    rows = [["Re-do", "it"], ["do", "IT"]]
    corpus = Corpus([["Re-do", "it", "do", "IT", "RITe-", "it-"]])
    attributes = attributes_of(corpus.encode(rows), corpus.side)
    offsets = np.array([0, 2, 4])
    features = features_of(attributes, offsets, OF_WORDS)
    assert (features >= 0).all()
    names = {template.parts: number for number, template in enumerate(OF_WORDS)}

    def equal(steps: tuple[tuple[int, int], ...]) -> list[bool]:
        """Of each pair of tokens whether they share the feature."""
        own = features[names[steps]]
        return [bool(own[i] == own[j]) for i, j in itertools.combinations(range(4), 2)]

    assert not any(equal(((0, WORD),)))  # Re-do it do IT
    assert equal(((0, LOWER),)) == [False] * 4 + [True, False]  # it, IT
    assert equal(((0, SUFFIX + 2),)) == [False, True, False, False, True, False]  # -do, -do; it, IT
    assert equal(((-1, LOWER),)) == [False, True, False, False, False, False]  # nothing stands before the first


def test_features_never_reach_into_other_rows() -> None:
    attributes = np.arange(1, 13).reshape(4, 3)
    together = features_of(attributes, np.array([0, 2, 4]), OF_TOKENS)
    alone = features_of(attributes[2:], np.array([0, 2]), OF_TOKENS)
    np.testing.assert_array_equal(together[:, 2:], alone)


def test_rare_features_are_left_out() -> None:
    features = np.array([[5, 5, 7, 9], [1, 2, 3, 3]])
    assert learn_features(features, 2).tolist() == [3, 5]
    assert learn_features(features, 1).tolist() == [1, 2, 3, 5, 7, 9]


def test_an_unknown_word_has_the_tag_of_words_seen_once() -> None:
    rows = [["a", "b", "a", "b", "a", "c", "d"]]
    tags = np.array([0, 1, 0, 1, 0, 2, 2])
    corpus = Corpus(rows)
    tagger = FrequentTag(by_shape=False)
    learnt = tagger.fit(*tagger.rows(corpus.encode(rows), corpus.side), tags, 3)
    found = tagger.logits(learnt, *tagger.rows(corpus.encode([["a", "b", "x"]]), corpus.side)).argmax(1)
    assert found.tolist() == [0, 1, 2]


def test_or_that_of_those_among_them_that_have_its_shape() -> None:
    rows = [["a", "a", "B", "C", "x", "y", "z"]]
    tags = np.array([0, 0, 1, 1, 2, 2, 2])
    corpus = Corpus([*rows, ["BC", "xyz"]])
    tagger = FrequentTag(by_shape=True)
    learnt = tagger.fit(*tagger.rows(corpus.encode(rows), corpus.side), tags, 3)
    found = tagger.logits(learnt, *tagger.rows(corpus.encode([["BB", "xx"]]), corpus.side)).argmax(1)
    assert found.tolist() == [1, 2]


def test_chain_of_the_hidden_markov_model_is_of_probabilities() -> None:
    rows, tags = sentences(50, 0)
    corpus = Corpus(rows)
    learnt = Hmm().fit(*Hmm().rows(corpus.encode(rows), corpus.side), flat(tags), len(TAGS))
    shares = np.exp(learnt["chain"].astype(np.float64))
    np.testing.assert_allclose(shares[[0, 1, 2, 3, 5]].sum(1), 1, rtol=1e-5)  # a sign ends the row: nothing follows
    assert shares[5].argmax() == 0  # rows start with a name
    assert shares[6].argmax() == 4  # and end with a sign
    assert shares[0].argmax() == 1


@pytest.mark.skipif(library() is None, reason="there are no native kernels")
def test_rows_that_native_code_leaves_are_done_by_numpy() -> None:
    """One feature per token, of which one has a score that no probability can hold."""
    rows, tags = 4, 3
    order, offsets = np.arange(rows, dtype=np.int32), np.arange(rows + 1)
    targets, indices, starts = np.arange(rows) % tags, np.arange(rows, dtype=np.int32), np.arange(rows + 1)
    found = []
    for way in (crf.descend, crf.descend_naively):
        table = np.zeros((rows, tags), np.float32)
        table[1, 0] = 900
        chain = np.zeros((tags + 2, tags), np.float32)
        squares, chain_squares = np.zeros_like(table), np.zeros_like(chain)
        pulls = np.full(rows, 0.01, np.float32)
        way(order, offsets, targets, indices, starts, pulls, 0.1, table, squares, chain, chain_squares)
        found.append((table, chain))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-4, atol=1e-5)
    assert (found[0][0] != 0).any(1).all()


@pytest.mark.parametrize("kind", TAGGERS)
def test_words_that_vectors_alone_know_have_their_own_kind(tmp_path, kind: str):
    """Their ids stand behind those of n-grams, which the words of the vocabulary don't count."""
    corpus = write_bmes(tmp_path / "corpus.bmes")
    test = tmp_path / "test.bmes"
    test.write_text("赵 B-PER\n云 E-PER\n在 O\n7 O\n\n" * 5, encoding="utf-8")
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{token} {number} 1\n" for number, token in enumerate("赵云7王在")), encoding="utf-8")
    task = Tag(data=str(corpus), test=str(test), ngrams=(2,), marks=(), extra_words=str(vectors)).resolve()
    data = task.load()
    assert data.vocabulary is not None
    assert data.test.tokens.max() >= len(data.vocabulary.words)
    known = dict(zip(data.vocabulary.words, data.vocabulary.numbers, strict=True))
    assert data.vocabulary.spelled(data.test.tokens[:4].tolist()) == ["赵", "云", "在", "7"]
    kinds = dict(zip(data.test.tokens.tolist(), attributes_of(data.test, data)[:, 1].tolist(), strict=True))
    assert kinds[known["赵"]] == kinds[known["在"]] != kinds[known["7"]]
    execute(RunSpec(task, BASELINES.parse({"kind": kind}), None, 0), tmp_path, lambda event: None, lambda: False)
