"""Schemes: recognised, found as seqeval finds them, and written."""

import numpy as np
import pytest
from seqeval.metrics import f1_score
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE2, Tokens

from rnnlab.data.tagged import schemes
from rnnlab.data.tagged.schemes import SCHEMES

SEQEVAL = {
    "BIO": (IOB2, "BI"),
    "IOB1": (IOB1, "BI"),
    "IOE2": (IOE2, "IE"),
    "BIOES": (IOBES, "BIES"),
    "BMES": (IOBES, "BIES"),
    "BMEWO": (IOBES, "BIES"),
    "BILOU": (BILOU, "BILU"),
}
KINDS = ("PER", "LOC", "a-b", "")


def drawn(rng: np.random.Generator, scheme: str, kinds=KINDS) -> list[str]:
    """Any tags whatever, legal or not."""
    labels = ["O", *(f"{letter}-{kind}" if kind else letter for letter in SCHEMES[scheme].letters for kind in kinds)]
    sizes = rng.integers(1, len(labels) + 1)
    return [
        labels[at] for at in rng.choice(len(labels), sizes, replace=False)[rng.integers(0, sizes, rng.integers(0, 14))]
    ]


def as_seqeval_has_it(tag: str, scheme: str) -> str:
    letter, kind = schemes.parts(tag)
    letters = dict(zip(SCHEMES[scheme].letters, SEQEVAL[scheme][1], strict=True))
    return tag if letter == "O" else f"{letters[letter]}-{kind}"


def spans_of_seqeval(tags: list[str], scheme: str) -> list[tuple[int, int, str]]:
    found = Tokens([as_seqeval_has_it(tag, scheme) for tag in tags], SEQEVAL[scheme][0]).entities
    return [(entity.start, entity.end, "" if entity.tag == "_" else entity.tag) for entity in found]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_spans_are_those_of_seqeval(scheme):
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(1500):
        tags = drawn(rng, scheme)
        assert schemes.spans(tags, scheme) == spans_of_seqeval(tags, scheme), tags
        found += len(schemes.spans(tags, scheme))
    assert found > 300


@pytest.mark.parametrize("scheme", SCHEMES)
def test_counts_are_those_of_the_spans(scheme):
    rng = np.random.default_rng(2)
    truth = [drawn(rng, scheme, ("PER", "LOC")) for _ in range(300)]
    answers = [[tag if rng.random() < 0.8 else str(rng.choice(tags)) for tag in tags] for tags in truth]
    labels = sorted({tag for tags in truth for tag in tags})
    offsets = np.cumsum([0, *map(len, truth)])
    given, wanted = (schemes.ids_of([tag for tags in rows for tag in tags], labels) for rows in (answers, truth))
    counts = schemes.count_spans(given, wanted, offsets, labels, scheme)
    types = schemes.types_of(labels, scheme)
    assert types == ["LOC", "PER"]
    for row in range(len(truth)):
        answered, true = (set(schemes.spans(rows[row], scheme)) for rows in (answers, truth))
        for column, kind in enumerate(types):
            assert counts.answered[row, column] == sum(found[2] == kind for found in answered)
            assert counts.true[row, column] == sum(found[2] == kind for found in true)
            assert counts.right[row, column] == sum(found[2] == kind for found in answered & true)
    right, answered, true = (int(count.sum()) for count in counts)
    as_theirs = [[[as_seqeval_has_it(tag, scheme) for tag in tags] for tags in rows] for rows in (truth, answers)]
    theirs = f1_score(*as_theirs, mode="strict", scheme=SEQEVAL[scheme][0])
    assert 2 * right / (answered + true) == pytest.approx(theirs, abs=1e-12)
    assert right > 20


def test_nothing_to_count():
    counts = schemes.count_spans(np.array([], int), np.array([], int), np.array([0, 0, 0]), ["O"], "BIO")
    assert [count.shape for count in counts] == [(2, 0)] * 3
    assert schemes.spans([], "BIOES") == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tags_of_spans_are_legal_and_read_back(scheme):
    rng = np.random.default_rng(3)
    for _ in range(300):
        borders = np.sort(rng.choice(15, 2 * rng.integers(0, 6), replace=False)).reshape(-1, 2).tolist()
        borders = [(a, b) for (a, b) in borders]
        if len(borders) > 1 and rng.random() < 0.5:
            borders[1] = (borders[0][1], borders[1][1])  # neighbours without a gap
        spans = [(a, b, str(rng.choice(KINDS))) for a, b in borders]
        tags = schemes.tags_of_spans(spans, 15, scheme)
        assert schemes.spans(tags, scheme) == spans
        labels = sorted(set(tags))
        assert not schemes.illegal(schemes.ids_of(tags, labels), np.array([0, 15]), labels, scheme).any()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_allowed_sequences_are_those_that_spans_spell(scheme):
    """Every sequence of four tags: legal exactly if its own spans give it back."""
    labels = ["O", *(f"{letter}-{kind}" for letter in SCHEMES[scheme].letters for kind in "XY")]
    table = schemes.allowed(labels, scheme)
    count = len(labels)
    assert table.shape == (count + 2, count)
    for path in np.ndindex(*[count] * (3 if count > 5 else 4)):
        tags = [labels[at] for at in path]
        steps = zip((count, *path), (*path, -1), strict=True)
        legal = all(table[a, b] if b >= 0 else table[count + 1, a] for a, b in steps)
        assert legal == (schemes.tags_of_spans(schemes.spans(tags, scheme), len(tags), scheme) == tags), tags
        wrong = schemes.illegal(np.array(path), np.array([0, len(path)]), labels, scheme)
        assert wrong.any() != legal


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("O B-PER I-PER", "BIO"),
        ("B-PER", "BIO"),
        ("B_PER I_PER O", "BIO"),
        ("O I-PER", "IOB1"),
        ("O I-PER E-PER", "IOE2"),
        ("O B-PER I-PER E-PER S-PER", "BIOES"),
        ("O B-PER E-PER", "BIOES"),
        ("O S-PER", "BIOES"),
        ("O B-PER M-PER E-PER S-PER", "BMES"),
        ("O B-PER M-PER E-PER W-PER", "BMEWO"),
        ("O B-PER I-PER L-PER U-PER", "BILOU"),
        ("B M E S", "BMES"),
        ("B I", "BIO"),
        ("NOUN VERB X", None),
        ("E S", None),
        ("O", None),
        ("O O-X B-PER", None),
        ("", None),
        ("B-PER I-PER O NOUN", None),
        ("B-PER Z-PER O", None),
        ("B-PER M-PER L-PER", None),
    ],
)
def test_recognised_by_the_set(tags, scheme):
    assert schemes.recognise(tags.split()) == scheme


def test_iob1_is_told_from_bio_by_sequences():
    assert schemes.recognise(["I-X", "I-X", "B-X", "O", "I-Y"], np.array([0, 5])) == "IOB1"
    assert schemes.recognise(["I-X", "I-X", "B-X", "O", "B-Y"], np.array([0, 5])) == "BIO"  # with a mistake in it
    assert schemes.recognise(["B-X", "I-X", "B-X", "O", "B-Y"], np.array([0, 5])) == "BIO"
    assert schemes.recognise(["I-X", "O", "I-X", "O", "B-Y"], np.array([0, 5])) == "IOB1"  # with a mistake in it


def test_parts():
    assert [schemes.parts(tag) for tag in ("B-PER", "B", "O", "NOUN", "I-a-b", "S_x")] == [
        ("B", "PER"), ("B", ""), ("O", ""), ("", "NOUN"), ("I", "a-b"), ("S", "x"),
    ]  # fmt: skip


def test_steps_that_are_illegal():
    labels = ["B-X", "E-X", "I-X", "O", "S-X"]
    tags = ["B-X", "E-X", "I-X", "O", "B-X", "B-X", "O"]
    wrong = schemes.illegal(schemes.ids_of(tags, labels), np.array([0, 5, 5, 7]), labels, "BIOES")
    assert np.flatnonzero(wrong).tolist() == [2, 3, 4, 6]
    many = np.tile(schemes.ids_of(tags, labels), 5000)  # more than are looked at together
    offsets = np.append((np.arange(5000)[:, None] * 7 + np.array([0, 5])).ravel(), 35_000)
    np.testing.assert_array_equal(schemes.illegal(many, offsets, labels, "BIOES"), np.tile(wrong, 5000))


def taken_for(span: schemes.Span, answered: list[schemes.Span], types: list[str]) -> int:
    """The column of a true entity, one rule after the other."""
    touching = [other for other in answered if other[0] < span[1] and span[0] < other[1]]
    if not touching:
        return len(types) + 1
    for other in touching:
        if other[:2] == span[:2]:
            return types.index(other[2])
    if any(other[2] == span[2] for other in touching):
        return len(types)
    return types.index(touching[0][2])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_entities_are_taken_for(scheme):
    rng = np.random.default_rng(5)
    truth = [drawn(rng, scheme, ("PER", "LOC", "ORG")) for _ in range(400)]
    answers = [[tag if rng.random() < 0.8 else str(rng.choice(tags)) for tag in tags] for tags in truth]
    labels = sorted({tag for tags in truth for tag in tags})
    types = schemes.types_of(labels, scheme)
    wanted = np.zeros((len(types) + 1, len(types) + 2), int)
    for said, tags in zip(answers, truth, strict=True):
        answered, true = schemes.spans(said, scheme), schemes.spans(tags, scheme)
        for span in true:
            wanted[types.index(span[2]), taken_for(span, answered, types)] += 1
        for start, end, kind in answered:
            if not any(start < other[1] and other[0] < end for other in true):
                wanted[-1, types.index(kind)] += 1
    said, true = (schemes.ids_of([tag for tags in every for tag in tags], labels) for every in (answers, truth))
    offsets = np.cumsum([0, *map(len, truth)])
    assert schemes.confuse_spans(said, true, offsets, labels, scheme).tolist() == wanted.tolist()
    assert (wanted[:-1].sum(0) > 0).all()
    assert wanted[-1].sum() > 0
