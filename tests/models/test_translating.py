"""Translators without a network: what they write, and that rows don't depend on each other or on their order."""

from itertools import pairwise, product

import numpy as np
import pytest
import safetensors.numpy

from rnnlab.data.encoded import EncodedData
from rnnlab.data.pairs import Pairs, encode_pairs
from rnnlab.data.sequences import Sequences
from rnnlab.data.vocabulary import END, PADDING, UNKNOWN
from rnnlab.models.baselines import BASELINES
from rnnlab.models.translating import Copied, Ibm1, Translating, TranslationMemory

ENGLISH = {"cat": "chat", "dog": "chien", "bird": "oiseau", "horse": "cheval", "fish": "poisson", "Tom": "Tom"}
DOES = {"eats": "mange", "sleeps": "dort", "runs": "court", "sings": "chante", "swims": "nage"}
WHEN = {"today": "demain", "now": "maintenant", "again": "encore"}
ROWS = [
    (f"{noun} {verb} {when} .", f"{ENGLISH[noun]} {DOES[verb]} {WHEN[when]} .")
    for noun, verb, when in product(ENGLISH, DOES, WHEN)
]
KINDS = [Copied(), TranslationMemory(), Ibm1()]


def encoded(rows=ROWS) -> EncodedData:
    texts, written = zip(*rows, strict=True)
    return encode_pairs({"train": Pairs("made", texts, written, ("en", "fr"))})


DATA = encoded()


def of_rows(data: Sequences, rows) -> Sequences:
    return data.chosen(np.array(rows))


@pytest.mark.parametrize("model", KINDS, ids=lambda model: model.kind)
class TestLaws:
    def test_it_is_known_by_its_name(self, model: Translating):
        assert BASELINES[model.kind] is type(model)
        assert model.answers == "translation"

    def test_every_text_ends(self, model: Translating):
        learnt = model.fit_pairs(DATA.train, DATA.valid, DATA)
        found = model.written(learnt, DATA.test, DATA)
        assert len(found) == len(DATA.test)
        assert all(ids[-1] == END and END not in ids[:-1] and PADDING not in ids for ids in found)
        assert all(isinstance(text, str) for text in model.texts(learnt, DATA.test, DATA))

    def test_neighbours_change_nothing(self, model: Translating):
        learnt = model.fit_pairs(DATA.train, DATA.valid, DATA)
        together = model.written(learnt, DATA.test, DATA)
        for row in range(len(DATA.test)):
            assert model.written(learnt, of_rows(DATA.test, [row]), DATA) == [together[row]]

    def test_the_order_of_training_rows_changes_nothing(self, model: Translating):
        order = np.random.default_rng(0).permutation(len(DATA.train))
        one = model.fit_pairs(DATA.train, DATA.valid, DATA)
        other = model.fit_pairs(of_rows(DATA.train, order), DATA.valid, DATA)
        assert model.written(one, DATA.test, DATA) == model.written(other, DATA.test, DATA)

    def test_what_is_learnt_survives_a_file(self, model: Translating):
        learnt = model.fit_pairs(DATA.train, DATA.valid, DATA)
        read = safetensors.numpy.load(safetensors.numpy.save({k: np.ascontiguousarray(v) for k, v in learnt.items()}))
        assert model.written(read, DATA.test, DATA) == model.written(learnt, DATA.test, DATA)

    def test_unknown_words_are_no_error(self, model: Translating):
        learnt = model.fit_pairs(DATA.train, DATA.valid, DATA)
        rows, _ = DATA.encode(["zebra xylophone", "zebra eats ."])
        assert len(model.texts(learnt, rows, DATA)) == 2


def test_a_copy_has_words_of_both_sides_alone():
    learnt = Copied().fit_pairs(DATA.train, DATA.valid, DATA)
    rows, _ = DATA.encode(["Tom eats ."])
    assert DATA.writes is not None
    assert DATA.writes.vocabulary is not None
    [ids] = Copied().written(learnt, rows, DATA)
    assert DATA.writes.vocabulary.spelled(ids) == ["Tom", "<unk>", ".", "</s>"]
    assert Copied().texts(learnt, rows, DATA) == ["tom eats."]
    assert Copied().texts(learnt, rows, DATA, ["Tom eats ."]) == ["Tom eats ."]


def nearest_slowly(learnt, data: Sequences) -> list[int]:
    offsets, idf = learnt["read_offsets"], learnt["idf"]
    memory = [learnt["read"][offsets[i] : offsets[i + 1]] for i in range(len(offsets) - 1)]
    found = []
    for row in range(len(data)):
        asked = data.row(row)
        scored = []
        for number, text in enumerate(memory):
            one, other = set(asked.tolist()), set(text.tolist())
            near = sum(idf[w] for w in one & other) / sum(idf[w] for w in one | other)
            scored.append((-round(float(near), 9), abs(len(text) - len(asked)), number))
        found.append(min(scored)[2])
    return found


def test_the_memory_finds_what_the_slow_way_finds():
    model = TranslationMemory()
    learnt = model.fit_pairs(DATA.train, DATA.valid, DATA)
    assert model.nearest(learnt, DATA.test).tolist() == nearest_slowly(learnt, DATA.test)
    own = model.texts(learnt, DATA.train, DATA)
    assert DATA.train.target_offsets is not None
    assert DATA.writes is not None
    ends = DATA.train.target_offsets
    assert own == [DATA.writes.written(DATA.train.targets[a:b].tolist()) for a, b in pairwise(ends)]


def test_word_for_word():
    model = Ibm1()
    learnt = model.fit_pairs(DATA.train, DATA.valid, DATA)
    references = [found[0] for found in DATA.references["test"]]
    right = np.mean(
        [a == b.replace(" .", ".") for a, b in zip(model.texts(learnt, DATA.test, DATA), references, strict=True)]
    )
    assert right > 0.9
    assert UNKNOWN not in {number for ids in model.written(learnt, DATA.test, DATA) for number in ids}


def test_chances_are_those_of_the_slow_way():
    """Expectation maximisation in dictionaries, as textbooks write it."""
    rounds = 4
    data = DATA.train
    learnt = Ibm1(iterations=rounds).fit_pairs(data, DATA.valid, DATA)
    assert data.target_offsets is not None
    pairs = [
        (
            [PADDING, *data.row(r).tolist()],
            data.targets[data.target_offsets[r] : data.target_offsets[r + 1] - 1].tolist(),
        )
        for r in range(len(data))
    ]
    chance = {(s, t): 1.0 for read, written in pairs for s in read for t in written}
    for _ in range(rounds):
        counts = dict.fromkeys(chance, 0.0)
        total: dict[int, float] = {}
        for read, written in pairs:
            for t in written:
                whole = sum(chance[s, t] for s in read)
                for s in read:
                    counts[s, t] += chance[s, t] / whole
                    total[s] = total.get(s, 0.0) + chance[s, t] / whole
        chance = {(s, t): count / total[s] for (s, t), count in counts.items()}
    size = int(learnt["size"][0])
    found = {(int(c) // size, int(c) % size): p for c, p in zip(learnt["cells"], learnt["chance"], strict=True)}
    assert found == pytest.approx(chance)


def test_an_alignment_finds_each_word():
    model = Ibm1()
    learnt = model.fit_pairs(DATA.train, DATA.valid, DATA)
    assert DATA.writes is not None
    rows, _ = DATA.encode(["cat eats now ."])
    target = DATA.writes.targets(["maintenant chat mange ."]).values[:-1]
    found = model.alignment(learnt, rows.row(0).tolist(), target.tolist())
    assert found.shape == (4, 4)
    assert found[:3].argmax(1).tolist() == [2, 0, 1]
    assert (found.sum(1) <= 1 + 1e-9).all()
    assert not model.alignment(learnt, rows.row(0).tolist(), [10**6]).any()
