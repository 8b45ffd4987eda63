import json

import numpy as np

from rnnlab.data.encoded import encode
from rnnlab.data.examples import Examples
from rnnlab.data.formats.base import BadRow
from rnnlab.data.profile import Profile, profile

TRAIN = Examples(
    "small.csv",
    ["good", "good", "bad", "bad", "good"],
    texts=["A fine film", "a  FINE film", "dull", "fine", "fine"],
    groups=["1", "1", "2", "", "3"],
    skipped=(BadRow(7, "no text"), BadRow(9, "no label")),
    notes=("took 'text' as the text column",),
)
TEST = Examples("test.csv", ["bad", "good"], texts=["fine", "quite new"], groups=["2", "9"])


def small(**changes) -> Profile:
    options = {
        "lengths": np.array([3, 3, 1, 1, 1, 1, 2]),
        "contents": np.array([0, 0, 1, 2, 2, 2, 3]),
        "units": np.array([0, 0, 1, 4, 2, 1, 3]),
        "script": "Latin",
        "tokenizer": "words",
        "tokenizer_reason": "words are separated by spaces",
        "vocabulary": 6,
        "unknown": {"train": 0.0, "valid": 0.0, "test": 2 / 3},
    }
    rows = {"train": np.array([0, 1, 2, 4]), "valid": np.array([3]), "test": np.array([5, 6])}
    return profile([TRAIN, TEST], rows, **(options | changes))


def test_the_figures_of_a_hand_made_set():
    found = small()
    assert found.rows == {"train": 4, "valid": 1, "test": 2}
    assert found.labels == {"train": {"bad": 1, "good": 3}, "valid": {"bad": 1}, "test": {"bad": 1, "good": 1}}
    assert found.lengths == {"min": 1, "p50": 1, "p90": 3, "p99": 3, "max": 3, "total": 12}
    assert found.duplicates == 3
    assert found.conflicts == 3  # "fine" is good once and bad twice
    assert found.overlap == {"valid": 1, "test": 1}
    assert (found.groups, found.largest_group, found.straddling_groups) == (4, 2, 1)
    assert found.skipped == 2
    assert found.cut_rows == 0


def test_the_lines_of_a_hand_made_set():
    assert small(max_length=2).lines() == [
        "7 rows: train 4, valid 1, test 2",
        "2 labels: good 4 (57.1 %), bad 3 (42.9 %)",
        "length in tokens: median 1, 90 % up to 3, 99 % up to 3, from 1 to 3, 12 in all; "
        "cut to the first 2, which shortens 2 rows",
        "script: Latin; tokeniser: words (words are separated by spaces)",
        "vocabulary: 6 entries from the training rows; unknown tokens: train 0.0 %, valid 0.0 %, test 66.7 %",
        "repeated: 3 rows (42.9 %) equal to an earlier one, 3 stand under several labels; "
        "rows that stand in train too: 1 of valid, 1 of test",
        "groups: 4, the largest of 2 rows; 1 in more than one split",
        "skipped: 2 rows that can't be used",
        "note: took 'text' as the text column",
        "warning: fewer than 10 rows: 'good', 'bad'",
        "warning: valid has no row of 'good'",
        "warning: 42.9 % of the rows stand under several labels: no model can get them all right",
        "warning: 100.0 % of the valid rows also stand in train: scores there are too good",
        "warning: 50.0 % of the test rows also stand in train: scores there are too good",
        "warning: 1 group with rows in more than one of the given splits: scores there may be too good",
    ]


def test_a_profile_survives_json():
    found = small()
    again = Profile.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert again == found
    assert again.lines() == found.lines()


def test_a_sound_set_has_no_warnings():
    examples = Examples("fine.csv", ["a", "b"] * 100, texts=[f"word{i} and so on" for i in range(200)])
    lines = Profile.from_dict(encode({"train": examples}).profile).lines()
    assert lines[0] == "200 rows: train 140, valid 20, test 40"
    assert not [line for line in lines if line.startswith("warning")]
    assert any("repeated: 0 rows equal to an earlier one; rows that stand in train too: none" in line for line in lines)


def warnings_for(labels, texts):
    return encode({"train": Examples("w.csv", labels, texts=texts)}).profile["warnings"]


def test_imbalance_is_a_warning():
    texts = [f"t{i}" for i in range(330)]
    assert warnings_for(["a"] * 315 + ["b"] * 15, texts) == [
        "labels are out of balance, 21 to 1: accuracy hardly counts the rare ones"
    ]
    assert warnings_for(["a"] * 300 + ["b"] * 30, texts) == []


def test_a_column_of_labels_that_looks_wrong():
    labels = [str(i // 3) for i in range(18)] + [str(i) for i in range(18, 48)]
    [first, *_] = warnings_for(labels, [f"t{i}" for i in range(48)])
    assert first == "36 labels for 48 rows: is the label column the right one?"


def test_very_long_rows_are_a_warning_that_says_what_cutting_saves():
    texts = [f"a b c d t{i}" for i in range(199)] + ["w " * 1000]
    assert warnings_for(["a", "b"] * 100, texts) == [
        "a few rows are very long (up to 1,000 tokens): max_length = 5 would shorten 1 % of the rows "
        "and save 49.9 % of the tokens"
    ]


def test_a_profile_of_an_earlier_version_can_still_be_read():
    old = small().to_dict()
    del old["saved_by_cutting"]
    assert Profile.from_dict(old).lines() == small().lines()


def test_what_cutting_would_save_is_a_figure():
    """199 rows of 5 tokens, and one with 1,000 more: half of all tokens stand beyond the 5."""
    lengths = np.array([5] * 199 + [1005])
    texts = ["w " * int(length) for length in lengths]
    found = profile(
        [Examples("long.csv", ["a", "b"] * 100, texts=texts)],
        {"train": np.arange(0, 200)},
        lengths=lengths,
        contents=np.arange(200),
        units=np.arange(200),
    )
    assert found.saved_by_cutting == 1000 / 2000


def test_series_are_told_by_channels_and_steps():
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(5 + i % 3, 2)).astype(np.float32) for i in range(40)]
    lines = Profile.from_dict(encode({"train": Examples("s", ["a", "b"] * 20, series=series)}).profile).lines()
    assert lines[2].startswith("length in steps: median 6, 90 % up to 7")
    assert lines[3] == "series of 2 channels, standardised by the training rows"
    assert not any("vocabulary" in line for line in lines)
