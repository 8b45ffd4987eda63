"""Results of any framework: what a table may look like, and what is said when it can't be judged."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.judging.result_runs import Results
from rnnlab.judging.results import gather, judge

HEADER = "model,seed,row,score"
Record = dict[str, Any]


def records(**changes: Any) -> list[Record]:
    """Two models, two seeds, three rows; ``changes`` add columns, by a function of the record or with one value."""
    found = []
    for model, right in (("gru", (1, 1, 0)), ("lstm", (1, 0, 0))):
        for seed in (7, 8):
            for row, score in enumerate(right):
                record = {"model": model, "seed": seed, "row": row, "score": score}
                found.append(record | {k: v(record) if callable(v) else v for k, v in changes.items()})
    return found


def csv_of(rows: list[Record], delimiter: str = ",") -> str:
    lines = [delimiter.join(rows[0]), *(delimiter.join(str(value) for value in row.values()) for row in rows)]
    return "\n".join(lines) + "\n"


def as_columns(rows: list[Record]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def assert_same(found: Results, wanted: Results) -> None:
    for one, other in zip(found.arms, wanted.arms, strict=True):
        assert (one.label, list(one.seeds), one.cost) == (other.label, list(other.seeds), other.cost)
        assert (one.baseline, list(one.diverged)) == (other.baseline, list(other.diverged))
        np.testing.assert_array_equal(one.scores, other.scores)
    np.testing.assert_array_equal(found.groups, wanted.groups)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Texts to files of the folder in which the test is, so that messages name the file alone."""
    monkeypatch.chdir(tmp_path)

    def write(content: str | bytes, name: str = "results.csv") -> str:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


# What is read


FULL = records(
    group=lambda r: "ab"[r["row"] // 2],
    cost=lambda r: {"gru": 1.5, "lstm": 2}[r["model"]],
    baseline=lambda r: int(r["model"] == "lstm"),
    diverged=lambda r: int(r["model"] == "gru" and r["seed"] == 8),
)


def test_a_table_says_all_there_is():
    found = gather(FULL)
    gru, lstm = found.arms
    np.testing.assert_array_equal(gru.scores, [[1, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(lstm.scores, [[1, 0, 0], [1, 0, 0]])
    assert (list(gru.seeds), gru.cost, gru.baseline, list(gru.diverged)) == ([7, 8], 1.5, False, [8])
    assert (list(lstm.seeds), lstm.cost, lstm.baseline, list(lstm.diverged)) == ([7, 8], 2.0, True, [])
    np.testing.assert_array_equal(found.groups, [0, 0, 1])


class Frame:
    """What pandas and polars have in common: names, and columns that turn into arrays."""

    def __init__(self, columns: dict[str, list[Any]]):
        self.columns, self._held = list(columns), columns

    def __getitem__(self, name: str) -> Any:
        return type("Series", (), {"to_numpy": lambda _: np.array(self._held[name], object)})()


class Interchanged:
    """A frame that offers nothing but the protocol."""

    def __init__(self, frame: Any):
        self._frame = frame

    def __dataframe__(self, **options: Any) -> Any:
        return self._frame.__dataframe__(**options)


def arrow_table() -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table(as_columns(FULL))


@pytest.mark.parametrize(
    "table",
    [
        lambda: as_columns(FULL),
        lambda: {name: np.array(values) for name, values in as_columns(FULL).items()},
        lambda: Frame(as_columns(FULL)),
        arrow_table,
        lambda: Interchanged(arrow_table()),
        lambda: tuple(FULL),
    ],
    ids=["columns", "arrays", "frame", "arrow", "interchange", "tuple"],
)
def test_tables_in_memory_are_all_the_same(table):
    assert_same(gather(table()), gather(FULL))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_libraries(library):
    frame = pytest.importorskip(library).DataFrame(as_columns(FULL))
    assert_same(gather(frame), gather(FULL))


def parquet() -> bytes:
    pyarrow, io = pytest.importorskip("pyarrow"), pytest.importorskip("io")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(as_columns(FULL)), out := io.BytesIO())
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("results.csv", lambda: csv_of(FULL).encode()),
        ("results.csv", lambda: csv_of(FULL, ";").encode()),
        ("results.tsv", lambda: csv_of(FULL, "\t").encode()),
        ("results.csv", lambda: csv_of(FULL).encode("utf-16")),
        ("results.csv", lambda: csv_of(FULL).replace("\n", "\r\n").encode("utf-8-sig")),
        ("results.jsonl", lambda: "\n".join(map(json.dumps, FULL)).encode()),
        ("results.parquet", parquet),
    ],
    ids=["csv", "semicolons", "tsv", "utf-16", "bom", "jsonl", "parquet"],
)
def test_files_are_all_the_same(write, name, content):
    assert_same(gather(write(content(), name)), gather(FULL))


def test_what_is_wrong_with_a_parquet_file(write):
    """It is read by columns, and has no lines: rows are counted."""
    pyarrow, to = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet").write_table
    to(
        pyarrow.table(as_columns(records(score=lambda r: None if r["row"] == 2 else 1.0))),
        write(b"", "results.parquet"),
    )
    with pytest.raises(DataError, match=re.escape("results.parquet:3: the score is empty (and 3 more like it)")):
        gather("results.parquet")
    to(pyarrow.table(as_columns(records())).slice(0, 0), "results.parquet")
    with pytest.raises(DataError, match=r"results\.parquet: there are no scores in it"):
        gather("results.parquet")
    with pytest.raises(DataError, match=r"results\.parquet: not a readable Parquet file"):
        gather(write(b"no table", "results.parquet"))
    with pytest.raises(DataError, match=r"nowhere\.parquet: no such file"):
        gather("nowhere.parquet")


def test_chinese_names_in_a_chinese_encoding(write):
    text = csv_of(records()).replace("gru", "循环网络")
    found = gather(write(text.encode("gb18030")))
    assert found.arms[0].label == "循环网络"
    assert "read as GB18030" in found.notes


def test_the_order_of_lines_does_not_matter(write):
    """Rows and models are numbered as they come, so arms are compared by name and row."""
    shuffled = [FULL[at] for at in np.random.default_rng(3).permutation(len(FULL))]
    arms = {arm.label: arm for arm in gather(write(csv_of(shuffled))).arms}
    rows = list(dict.fromkeys(record["row"] for record in shuffled))
    for wanted in gather(FULL).arms:
        found = arms[wanted.label]
        np.testing.assert_array_equal(found.scores, wanted.scores[:, rows])
        assert (found.cost, found.baseline, list(found.diverged)) == (wanted.cost, wanted.baseline, [*wanted.diverged])


@pytest.mark.parametrize(
    ("wrong", "right"), [("0", "1"), ("false", "true"), ("False", "TRUE"), ("0.0", "1.0"), (" 0", "1 ")]
)
def test_right_and_wrong_can_be_written_in_several_ways(write, wrong, right):
    rows = records(score=lambda r: right if r["score"] else wrong)
    found = gather(write(csv_of(rows)))
    assert found.right_or_wrong
    assert_same(found, gather(records()))


def test_numbers_are_read_exactly(write):
    rows = records(score=lambda r: (r["row"] + 1) / 3 - r["seed"] * 1e-9)
    found = gather(write(csv_of(rows)))
    assert not found.right_or_wrong
    np.testing.assert_array_equal(found.arms[0].scores[1], [rows[at]["score"] for at in (3, 4, 5)])
    assert_same(gather({name: np.array(values) for name, values in as_columns(rows).items()}), found)


@pytest.mark.parametrize(
    ("seeds", "numbers", "note"),
    [
        ((7, 8), [7, 8], ()),
        ((8, 7), [8, 7], ()),
        ((7.0, 8.0), [7, 8], ()),
        (("first", "second"), [0, 1], ("seeds are numbered: 0 is 'first', 1 is 'second'",)),
        ((1, "last"), [0, 1], ("seeds are numbered: 0 is '1', 1 is 'last'",)),
        (("1", "01"), [0, 1], ("seeds are numbered: 0 is '1', 1 is '01'",)),
        ((1, 2**60), [0, 1], (f"seeds are numbered: 0 is '1', 1 is '{2**60}'",)),
    ],
)
def test_whole_seeds_keep_their_number_and_others_get_one(seeds, numbers, note):
    """A run lists its seeds in the order in which the table names them."""
    found = gather(records(seed=lambda r: seeds[r["seed"] - 7]))
    assert [list(arm.seeds) for arm in found.arms] == [numbers, numbers]
    assert found.notes == note


def test_models_may_have_different_seeds():
    rows = [row for row in records() if (row["model"], row["seed"]) != ("gru", 8)]
    assert [list(arm.seeds) for arm in gather(rows).arms] == [[7], [7, 8]]


def test_the_cost_is_the_median_of_the_runs_and_may_stand_in_one_line_of_each(write):
    rows = records(cost=lambda r: r["seed"] if r["model"] == "gru" and r["row"] == 1 else "")
    assert [arm.cost for arm in gather(write(csv_of(rows))).arms] == [7.5, None]


@pytest.mark.parametrize(("yes", "no"), [(1, 0), ("true", "false"), ("Yes", "No"), (True, False), ("1", "")])
def test_flags(yes, no):
    found = gather(records(baseline=lambda r: yes if r["model"] == "lstm" else no))
    assert [arm.baseline for arm in found.arms] == [False, True]


def test_names_of_columns(write):
    text = csv_of(FULL).replace(HEADER, "Arm, SEED,Row,acc")
    found = gather(write(text), columns={"model": "Arm", "score": "acc"})
    assert_same(found, gather(FULL))


def test_other_columns_are_ignored_and_named(write):
    found = gather(write(csv_of(records(epoch=3, host="a"))))
    assert found.notes == ("ignored: 'epoch', 'host'",)


def test_arrays_by_model():
    arrays = {"gru": np.array([[1, 1, 0], [1, 1, 0]]), "lstm": [[True, False, False], [True, False, False]]}
    found = gather(arrays, groups=["a", "a", "b"], costs={"gru": 1.5, "lstm": 2}, baselines=["lstm"])
    wanted = gather([row | {"seed": row["seed"] - 7, "diverged": 0} for row in FULL])
    assert_same(found, wanted)
    assert_same(gather(arrays), gather([row | {"seed": row["seed"] - 7} for row in records()]))


# What is refused


def line(number: int, text: str, rows: list[Record] | None = None) -> str:
    """The table with one line replaced."""
    lines = csv_of(rows or records()).splitlines()
    return "\n".join([*lines[: number - 1], text, *lines[number:]]) + "\n"


REFUSED = {
    "empty": ("", "results.csv: the file is empty"),
    "only a header": (HEADER, "results.csv: there are no scores, only the header"),
    "no header": ("gru,1,1,1\ngru,1,2,0\n", "two columns are named '1'"),
    "missing": ("model,seed,score\na,1,1\n", "no column 'row'\ncolumns: 'model', 'seed', 'score'\n*--columns row=NAME"),
    "missing, near": ("modle,seed,row,score\na,1,1,1\n", "no column 'model'; did you mean 'modle'?"),
    "mistyped": (csv_of(records(gruop="a")), "the column 'gruop' isn't known; did you mean 'group'?"),
    "anagram": (csv_of(records(cots="1")), "the column 'cots' isn't known; did you mean 'cost'?"),
    "twice the score": (csv_of(records(Score=1)), "'score', 'Score' are all the score; say which with --columns score"),
    "ragged": (line(4, "gru,7,2"), "results.csv:4: 3 fields instead of 4; mend or remove such lines"),
    "no number": (line(3, "gru,7,1,good"), "results.csv:3: the score is 'good'; write a number, or 0 and 1"),
    "comma": (line(3, 'gru,7,1,"0,5"'), "results.csv:3: the score is '0,5'; write a number"),
    "underscore": (line(3, "gru,7,1,1_0"), "results.csv:3: the score is '1_0'"),
    "nan": (line(3, "gru,7,1,nan"), "results.csv:3: the score is 'nan'"),
    "infinite": (line(3, "gru,7,1,-inf"), "results.csv:3: the score is '-inf'"),
    "no score": (line(3, "gru,7,1,"), "results.csv:3: the score is empty"),
    "no model": (line(3, " ,7,1,1"), "results.csv:3: the model is empty; every score needs its model"),
    "no seed": (line(3, "gru,,1,1"), "results.csv:3: the seed is empty"),
    "no row": (line(3, "gru,7,,1"), "results.csv:3: the row is empty"),
    "twice": (
        csv_of(records()) + "gru,8,1,1\n",
        "results.csv:14: gru, seed 8, row '1' has a score already, at results.csv:6\n*one score per row",
    ),
    "twice for once": (
        line(6, "gru,8,0,1"),
        "results.csv:6: gru, seed 8, row '0' has a score already, at results.csv:5",
    ),
    "a gap": (
        csv_of([row for row in records() if (row["model"], row["seed"], row["row"]) != ("lstm", 7, 2)]),
        "results.csv: lstm, seed 7 has no score for 1 of 3 rows, for example row '2'\n*the same rows",
    ),
    "many gaps": (
        csv_of([row for row in records() if row["seed"] == 7 or row["row"] == 1]),
        "results.csv: gru, seed 8 has no score for 2 of 3 rows, for example row '0'; 2 runs lack rows",
    ),
    "a name mistyped": (
        line(9, "lstm,7,1x,0"),
        "results.csv:9: row '1x' is in 1 of 4 runs only, for example in lstm, seed 7\n*the same names",
    ),
    "other group": (
        csv_of(records(group=lambda r: "b" if r["model"] == "lstm" and r["row"] == 1 else "a")),
        "results.csv:9: row '1' is in group 'b', but in 'a' at results.csv:3\n*belongs to one group",
    ),
    "no group": (
        csv_of(records(group=lambda r: "" if r["row"] else "a")),
        "results.csv:3: the group is empty (and 7 more",
    ),
    "half a baseline": (
        csv_of(records(baseline=lambda r: int(r["seed"] == 8))),
        "results.csv:5: baseline of gru is 1, but 0 at results.csv:2\n*the same in all its lines",
    ),
    "half diverged": (
        csv_of(records(diverged=lambda r: int(r["row"] == 2))),
        "results.csv:4: diverged of gru, seed 7 is 1, but 0 at results.csv:2",
    ),
    "no flag": (
        csv_of(records(baseline="maybe")),
        "results.csv:2: baseline is 'maybe' (and 11 more like it); write 0 or 1",
    ),
    "cost in a run": (
        csv_of(records(cost=lambda r: r["row"] if r["row"] else "")),
        "results.csv:4: cost of gru, seed 7 is 2, but 1 at results.csv:3",
    ),
    "cost below zero": (
        csv_of(records(cost=-1)),
        "results.csv:2: the cost is '-1' (and 11 more like it); write a number",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_judged_is_refused_with_its_line(write, case):
    text, message = REFUSED[case]
    pattern = ".*".join(map(re.escape, message.split("*")))
    with pytest.raises(DataError, match=re.compile(pattern, re.DOTALL)):
        gather(write(text))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "the table: there are no scores in it"),
        ({}, "the table: there are no scores in it"),
        ({"model": ["a"], "seed": [1, 2]}, "columns must be equally long, found 'model' 1, 'seed' 2"),
        ([1, 2], "a list must hold dicts, one per score, found list of int"),
        (3, "a path, a dict of columns, a list of dicts, a frame, or a dict of arrays"),
        (records(score=lambda r: None if r["row"] else 1), "the table, entry 1: the score is empty (and 7 more"),
        (records(score=lambda r: np.nan), "the table, entry 0: the score is empty"),
        (records(score=lambda r: np.inf), "the table, entry 0: the score is 'inf'"),
        (records(score=lambda r: {}), "the score must be a text or a number"),
        ({"a": [[1, 0], [1]]}, "the scores of a aren't an array of numbers (seeds, rows)"),
        ({"a": np.zeros((2, 3, 4))}, "the scores of a must have the shape (seeds, rows), found (2, 3, 4)"),
        ({"a": np.zeros((2, 3)), "b": np.zeros((2, 4))}, "a has scores for 3 rows and b for 4"),
        ({"a": np.array([[1, np.nan]])}, "a, seed 0, row 1: the score is nan"),
    ],
)
def test_what_cannot_be_judged_in_memory(table, message):
    with pytest.raises(DataError, match=re.escape(message)):
        gather(table)


ARRAYS = {"gru": np.ones((2, 3)), "lstm": np.zeros((2, 3))}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"modl": "x"}}, "columns: 'modl' is no column of a table of results; did you mean 'model'?"),
        ({"groups": [1, 2, 3]}, "groups: a table says this in a column of its own"),
        ({"costs": {"gru": 1}}, "costs: a table says this in a column of its own"),
        ({"baselines": ["gru"]}, "baselines: a table says this in a column of its own"),
        ({"alpha": 1.5}, "alpha: must lie between 0 and 1 (got 1.5)"),
        ({"margin": 0}, "margin: must be a number above 0 (got 0)"),
        ({"margin": 0.5}, "0.5 would be 50 points (at most 20); half a point is 0.005"),
        ({"cost_unit": "seconds"}, "cost_unit: there are no costs that could be in seconds"),
    ],
)
def test_options_that_would_be_ignored_or_make_no_sense(options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        judge(records(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"model": "x"}}, "columns: a dict of arrays by model has no columns"),
        ({"costs": {"grru": 1}}, "costs: there is no model 'grru'; did you mean 'gru'?"),
        ({"baselines": "grru"}, "baselines: there is no model 'grru'; did you mean 'gru'?"),
    ],
)
def test_options_of_arrays(options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        gather(ARRAYS, **options)
    with pytest.raises(DataError, match=re.escape("groups: one group per row is needed, found 2 groups for 3 rows")):
        gather(ARRAYS, groups=[1, 2])


def test_a_column_that_is_not_there(write):
    with pytest.raises(DataError, match=re.escape("no column 'acc' for the score\ncolumns: 'model', 'seed'")):
        gather(write(csv_of(records())), columns={"score": "acc"})


def test_scores_that_are_no_shares_need_a_margin():
    with pytest.raises(ConfigError, match=r"margin: scores that aren't 0 and 1 need a margin \(--margin\)"):
        judge(records(score=lambda r: r["score"] / 2))
