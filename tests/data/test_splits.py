import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.data.examples import Examples
from rnnlab.data.splits import assign, contents, split, units

laws = settings(derandomize=True, deadline=None, max_examples=150)
FRACTIONS = {"test": 0.2, "valid": 0.1}
seeds = st.integers(0, 5)


@st.composite
def labelled_units(draw, most=80):
    """Labels and units of at least three rows and units per label, so that a split is possible."""
    extra = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(3, 20)), max_size=most))
    rows = [(0, 0), (0, 1), (0, 2), *extra]
    targets, together = np.array(rows, np.int64).T
    return np.unique(targets, return_inverse=True)[1], together


@laws
@given(labelled_units(), seeds)
def test_every_row_is_in_one_split_and_units_stay_whole(data, seed):
    targets, together = data
    rows = assign(targets, together, FRACTIONS, seed)
    assert list(rows) == ["train", "test", "valid"]
    assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(len(targets)))
    homes = [set(together[chosen].tolist()) for chosen in rows.values()]
    assert sum(map(len, homes)) == len(set().union(*homes))


@laws
@given(labelled_units(), seeds)
def test_every_label_is_in_train(data, seed):
    targets, together = data
    rows = assign(targets, together, FRACTIONS, seed)
    assert set(targets[rows["train"]].tolist()) == set(targets.tolist())


@laws
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=4),
    seeds,
    st.sampled_from([(0.2, 0.1), (0.25, 0.25), (0.05, 0.3)]),
)
def test_separate_rows_are_stratified_to_within_one(sizes, seed, fractions):
    targets = np.repeat(np.arange(len(sizes) + 1), [3, *sizes])
    wanted = {"test": fractions[0], "valid": fractions[1]}
    rows = assign(targets, np.arange(len(targets)), wanted, seed)
    for label, size in Counter(targets.tolist()).items():
        found = {name: int((targets[chosen] == label).sum()) for name, chosen in rows.items()}
        for name, fraction in wanted.items():
            assert abs(found[name] - fraction * size) < 1
        least = {1: (1, 0, 0), 2: (1, 1, 0)}.get(size, (1, 1, 1))
        assert all(found[name] >= n for name, n in zip(("train", "test", "valid"), least, strict=True))


@laws
@given(labelled_units(), seeds)
def test_the_same_seed_gives_the_same_split(data, seed):
    targets, together = data
    first, second = assign(targets, together, FRACTIONS, seed), assign(targets, together, FRACTIONS, seed)
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_another_seed_gives_another_split():
    targets = np.tile([0, 1], 50)
    for together in (np.arange(100), np.repeat(np.arange(14), np.arange(14) + 1)[:100]):
        found = {tuple(assign(targets, together, FRACTIONS, seed)["test"].tolist()) for seed in range(10)}
        assert len(found) > 5


def test_groups_are_still_stratified():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 40, 600)
    together = np.repeat(np.arange(600), sizes)
    leaning = rng.dirichlet([0.5, 3, 1.5], 600)  # groups differ in their labels
    targets = np.array([rng.choice(3, p=leaning[group]) for group in together])
    rows = assign(targets, together, FRACTIONS, 0)
    for name, fraction in FRACTIONS.items():
        for label in range(3):
            share = (targets[rows[name]] == label).sum() / (targets == label).sum()
            assert share == pytest.approx(fraction, abs=0.002)


@pytest.mark.parametrize("giants", [[0] * 60, [0] * 35 + [1] * 33])
def test_giant_groups_go_to_train(giants):
    together = np.array(giants + list(range(2, 102 - len(giants))))
    targets = np.tile([0, 1], 50)
    for seed in range(5):
        rows = assign(targets, together, FRACTIONS, seed)
        assert set(range(len(giants))) <= set(rows["train"].tolist())
        assert len(rows["test"]) == 20
        assert len(rows["valid"]) == 10


@laws
@given(st.lists(st.sampled_from(["a b", "A  b ", "ab", "c", "C\n", "d", "e", "f"]), max_size=40), seeds)
def test_equal_texts_stay_on_one_side_without_groups(texts, seed):
    texts = ["x", "y", "z", *texts]
    labels = ["0"] * 3 + [str(len(text) % 2) for text in texts[3:]]
    rows = split(Examples("t", labels, texts=texts), seed=seed)
    sides = [{" ".join(texts[row].lower().split()) for row in chosen} for chosen in rows.values()]
    assert sum(map(len, sides)) == len(set().union(*sides))


def test_groups_rule_where_there_are_groups():
    texts = ["the"] * 30 + [f"t{i}" for i in range(30)]
    groups = [f"g{i % 30}" for i in range(60)]
    examples = Examples("t", ["a", "b"] * 30, texts=texts, groups=groups)
    rows = split(examples)
    homes = [{groups[row] for row in chosen} for chosen in rows.values()]
    assert sum(map(len, homes)) == 30
    assert all(any(texts[row] == "the" for row in chosen) for chosen in rows.values())


def test_a_row_without_a_group_stands_with_its_equals():
    examples = Examples("t", ["a"] * 6, texts=["x", "X", "y", "x", "z", "z"], groups=["", "", "g", "g", "", "h"])
    [numbers] = units([examples], contents([examples]))
    assert numbers[0] == numbers[1]
    assert numbers[2] == numbers[3]
    assert len(set(numbers.tolist())) == 4


def test_units_are_numbered_through_all_parts():
    train = Examples("a", ["0", "1"], texts=["x", "y"], groups=["g", "h"])
    test = Examples("b", ["0", "1"], texts=["Y", "q"], groups=["g", ""])
    first, second = units([train, test], contents([train, test]))
    assert first[0] == second[0]
    assert len({*first.tolist(), *second.tolist()}) == 3


@laws
@given(st.lists(st.lists(st.sampled_from(["a", "A", " a", "a b", "a  b", "好", "\ud800", "c", "d"])), max_size=3))
def test_contents_are_numbered_as_they_are_first_seen(rows):
    parts = [Examples("t", ["x"] * len(texts), texts=texts) for texts in rows]
    seen: dict[str, int] = {}
    expected = [[seen.setdefault(" ".join(text.lower().split()), len(seen)) for text in texts] for texts in rows]
    found = contents(parts) if parts else []
    assert [numbers.tolist() for numbers in found] == expected
    alone = [number.tolist() for number in units(parts, found)] if parts else []
    assert alone == [[len(seen) - 1 - number for number in numbers] for numbers in expected]


def test_the_same_rows_are_split_the_same_in_every_version():
    """Else the runs of one version couldn't be compared with those of another."""
    row = np.arange(2000)
    found = assign(row * 7 % 13 % 5, row**2 % 911, FRACTIONS, 3)
    assert {name: (len(rows), rows.sum()) for name, rows in found.items()} == {
        "train": (1401, 1398009),
        "test": (399, 402740),
        "valid": (200, 198251),
    }


def test_equal_series_stay_on_one_side():
    rng = np.random.default_rng(0)
    different = [rng.normal(size=(n, 2)).astype(np.float32) for n in (3, 4, 5, 6) for _ in range(5)]
    flat = different[0].reshape(2, 3)  # the same numbers, but not the same series
    examples = Examples("s", ["a", "b"] * 20 + ["a"], series=[*different, *(s.copy() for s in different), flat])
    [numbers] = contents([examples])
    assert numbers.tolist() == [*range(20), *range(20), 20]
    for chosen in split(examples).values():
        assert all((row + 20) % 40 in chosen for row in chosen if row < 40)


def test_only_validation_is_split_off_where_test_is_given():
    rows = split(Examples("t", ["a", "b"] * 50, texts=[str(i) for i in range(100)]), test_fraction=None)
    assert {name: len(chosen) for name, chosen in rows.items()} == {"train": 90, "valid": 10}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"valid_fraction": 0.0}, r"valid_fraction: must be between 0 and 1, both excluded \(got 0.0\)"),
        ({"test_fraction": 1.5}, "test_fraction: must be between 0 and 1"),
        (
            {"valid_fraction": 0.5, "test_fraction": 0.5},
            r"test_fraction \+ valid_fraction: must leave rows to train on",
        ),
    ],
)
def test_impossible_fractions(options, message):
    with pytest.raises(ConfigError, match=message):
        split(Examples("t", ["a"] * 9, texts=list("abcdefghi")), **options)


def test_too_few_rows_say_so():
    with pytest.raises(DataError, match=r"few\.csv: 4 rows in 2 separate groups are too few to split off 'valid'"):
        split(Examples("few.csv", ["a"] * 4, texts=["x", "x", "y", "y"]))


@pytest.mark.data
@pytest.mark.skipif("RNNLAB_DATA" not in os.environ, reason="RNNLAB_DATA is not set")
def test_no_sentence_of_the_movie_reviews_straddles():
    path = Path(os.environ["RNNLAB_DATA"]) / "movie-reviews" / "train.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    _, sentences, texts, labels = zip(*(line.split("\t") for line in lines), strict=True)
    examples = Examples("movie-reviews", list(labels), texts=list(texts), groups=list(sentences))
    rows = split(examples)
    homes = [{sentences[row] for row in chosen} for chosen in rows.values()]
    assert sum(map(len, homes)) == len(set(sentences)) == 8529
    total = Counter(labels)
    for name, fraction in FRACTIONS.items():
        assert len(rows[name]) == pytest.approx(fraction * 156_060, abs=2)
        for label, count in Counter(labels[row] for row in rows[name]).items():
            assert count == pytest.approx(fraction * total[label], abs=5)
