"""Several labels in one cell: read, divided among the splits, described; and proposed where nobody asked for it."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rnnlab.core.errors import DataError
from rnnlab.data import splits
from rnnlab.data.classes import check_labels
from rnnlab.data.encoded import encode
from rnnlab.data.label_sets import looks_divisible, read_sets
from rnnlab.data.reading import read_examples


def test_cells_are_split_and_what_is_blank_or_repeated_is_said():
    found = read_sets(["refund;billing", " billing ; refund ;", "", "bug;bug", "bug"], ";")
    assert found.cells == ["billing;refund", "billing;refund", "", "bug", "bug"]
    assert found.notes == ("left out of the label cells: 1 blank parts, 1 labels that a cell repeats",)
    assert read_sets(["a|b", "c"], "|").notes == ()


@pytest.mark.parametrize("cell", ['["b", "a"]', "['b', 'a']", '["a", "b", "a"]'])
def test_lists_are_read_as_lists(cell: str):
    assert read_sets([cell, "[]", "c"], ";").cells == ["a;b", "", "c"]


def test_a_label_in_a_list_that_holds_the_separator_is_a_bad_row():
    found = read_sets(['["a;b"]', "c"], ";")
    assert list(found.problems) == [0]
    assert read_sets(['["a;b"]', "c"], "|").cells == ["a;b", "c"]


def test_what_starts_like_a_list_and_is_none_is_a_label():
    assert read_sets(["[sic]", "[1;2]"], ";").cells == ["[sic]", "2];[1"]


def write(path: Path, rows: Sequence[tuple[str, str]], header: str = "text,labels") -> Path:
    path.write_text("\n".join([header, *(f'"{text}","{labels}"' for text, labels in rows)]) + "\n", encoding="utf-8")
    return path


ROWS = [
    ("pay the bill please", "billing"),
    ("my money back now", "billing;refund"),
    ("it is all fine", ""),
    ("nothing works at all", "bug"),
    ("the bill is wrong again", "billing;bug"),
    ("give it back to me", "refund"),
]


def test_an_empty_cell_is_a_row_without_a_label(tmp_path: Path):
    path = write(tmp_path / "tickets.csv", ROWS)
    found = read_examples(path, multi_label=";")
    assert list(found.labels) == ["billing", "billing;refund", "", "bug", "billing;bug", "refund"]
    assert found.distinct_labels == {"billing", "refund", "bug"}
    with pytest.raises(DataError, match="1 of 6 rows can't be used"):
        read_examples(path)


def test_json_lines_may_hold_lists(tmp_path: Path):
    path = tmp_path / "tickets.jsonl"
    lines = [{"text": text, "labels": labels.split(";") if labels else []} for text, labels in ROWS]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    in_csv = read_examples(write(tmp_path / "tickets.csv", ROWS), multi_label=";")
    assert list(read_examples(path, multi_label=";").labels) == list(in_csv.labels)


def test_one_label_alone_is_refused(tmp_path: Path):
    path = write(tmp_path / "tickets.csv", [("one two three", "a"), ("two three four", ""), ("three four five", "a")])
    with pytest.raises(DataError, match="no more than one label"):
        check_labels(read_examples(path, multi_label=";"))


def test_a_label_of_the_test_that_train_lacks_is_an_error_with_its_line(tmp_path: Path):
    train = read_examples(write(tmp_path / "train.csv", ROWS * 5), multi_label=";")
    test = read_examples(write(tmp_path / "test.csv", [("a b c", "bug"), ("b c d", "bug;praise")]), multi_label=";")
    with pytest.raises(DataError, match=r"test\.csv, line 3: the label 'praise' of test isn't in train"):
        encode({"train": train, "test": test})


# Splits


@pytest.mark.parametrize("seed", range(5))
def test_every_label_has_its_share_of_every_split(seed: int):
    random = np.random.default_rng(seed)
    shares = np.geomspace(0.004, 0.5, 12)
    targets = (random.random((3000, 12)) < shares).astype(np.uint8)
    found = splits.assign(targets, np.arange(3000), {"test": 0.2, "valid": 0.1}, seed)
    assert sorted(np.concatenate(list(found.values()))) == list(range(3000))
    for name, share in (("train", 0.7), ("test", 0.2), ("valid", 0.1)):
        assert len(found[name]) == pytest.approx(3000 * share, rel=0.02)
        counts, wanted = targets[found[name]].sum(0), targets.sum(0) * share
        assert (np.abs(counts - wanted) <= np.maximum(2, 0.1 * wanted)).all(), (name, counts, wanted)
        none = (~targets.any(1)).sum() * share
        assert (~targets[found[name]].any(1)).sum() == pytest.approx(none, rel=0.1, abs=2)


@pytest.mark.parametrize("seed", range(20))
def test_no_label_is_missing_from_train(seed: int):
    random = np.random.default_rng(seed)
    targets = (random.random((60, 20)) < 0.04).astype(np.uint8)
    targets[random.integers(0, 60, 20), np.arange(20)] = 1  # each label at least once
    found = splits.assign(targets, np.arange(60), {"test": 0.2, "valid": 0.1}, seed)
    assert targets[found["train"]].any(0).all()


# What the profile says


def many(tmp_path: Path) -> Path:
    cells = ["a", "a;b", "b", "c", "b;c", "", "a"] * 40
    return write(tmp_path / "many.csv", [(f"ticket number {n} of many", cell) for n, cell in enumerate(cells)])


def test_the_profile_counts_labels_and_rows_without_any(tmp_path: Path):
    data = encode({"train": read_examples(many(tmp_path), multi_label=";")})
    counted = {"a": 120, "b": 120, "c": 80}
    total = {label: sum(part.get(label, 0) for part in data.profile["labels"].values()) for label in counted}
    assert total == counted
    assert data.profile["label_sets"] == {"mean": pytest.approx(320 / 280), "most": 2, "none": 40}
    assert data.labels == ("a", "b", "c")
    assert data.train.targets.shape == (len(data.train), 3)
    assert data.train.targets.dtype == np.uint8


def test_rows_of_the_same_labels_in_another_order_are_no_conflict(tmp_path: Path):
    rows = [("the same text", "a;b"), ("the same text", "b;a"), *((f"row {n} of", "ab"[n % 2]) for n in range(80))]
    assert encode({"train": read_examples(write(tmp_path / "a.csv", rows), multi_label=";")}).profile["conflicts"] == 0
    rows[1] = ("the same text", "b")
    assert encode({"train": read_examples(write(tmp_path / "b.csv", rows), multi_label=";")}).profile["conflicts"] == 2


# What is proposed


def proposed(cells: dict[str, int]) -> str | None:
    found = looks_divisible(list(cells), np.array(list(cells.values())))
    return found["separator"] if found else None


def test_labels_that_look_like_several_in_one_are_seen():
    assert proposed({"a": 50, "b": 30, "a;b": 10}) == ";"
    assert proposed({"a": 50, "b": 30, "c": 30, "a;b": 10, "b;c": 4}) == ";"
    assert proposed({"Action|Drama": 9, "Drama|Comedy": 9, "Comedy": 4}) == "|"
    assert proposed({"sport, news": 9, "news, arts": 9, "sport": 4}) == ","
    assert proposed({'["a", "b"]': 9, '["b"]': 9}) == ";"


@pytest.mark.parametrize(
    "cells",
    [
        {"good": 9, "bad": 9},
        {"1": 4, "2": 5, "3": 1},
        {"Washington, D.C.": 9, "Portland, Oregon": 9, "London": 9},
        {"Salem, Oregon": 9, "Portland, Oregon": 9, "London": 9},
        {"yes, I agree": 9, "no, I don't": 9},
        {"a": 990, "b": 990, "c": 990, "a;b": 1, "b;c": 1},
    ],
)
def test_names_with_a_comma_are_left_alone(cells: dict[str, int]):
    assert proposed(cells) is None


def test_without_the_option_the_profile_proposes_it(tmp_path: Path):
    rows = [(f"text of row {n}", cell) for n, cell in enumerate(["a", "a;b", "b", "b;c", "c"] * 20)]
    path = write(tmp_path / "tickets.csv", rows)
    caution = "labels such as 'a;b' look like several in one: --multi-label ';' would divide them"
    assert caution in encode({"train": read_examples(path)}).profile["warnings"]
    assert caution not in encode({"train": read_examples(path, multi_label=";")}).profile["warnings"]


def test_errors_propose_it_too(tmp_path: Path):
    rows = [(f"text of row {n}", cell) for n, cell in enumerate(["a", "a;b", "b", "b;c", "c"] * 20)]
    with pytest.raises(DataError, match=r"'a;b;c' has only one row\n.*\n.*--multi-label ';' would divide them"):
        check_labels(read_examples(write(tmp_path / "single.csv", [*rows, ("one more row", "a;b;c")])))
    with pytest.raises(DataError, match=r"no label\n.*\n.*--multi-label ';' would divide them"):
        read_examples(write(tmp_path / "empty.csv", [*rows, ("one more row", "")]))
