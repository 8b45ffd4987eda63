import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from rnnlab.core.errors import DataError
from rnnlab.data import formats, series
from rnnlab.data.formats.base import BadRow

HEADER = "# a comment\n@problemName Test\n@timeStamps false\n@univariate false\n@classLabel true up down\n@data\n"


@pytest.fixture
def write(tmp_path):
    def write(content: str, name: str = "a.ts") -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return write


def reading_error(path, **options) -> str:
    with pytest.raises(DataError) as caught:
        series.read(path, **options)
    return str(caught.value)


# The .ts format


def test_channels_become_columns_and_lengths_may_differ(write):
    found = series.read(write(HEADER + "1,2,3:4,5,6:up\n\n# between\n-1e2, .5:+7.,8:down\n"))
    np.testing.assert_array_equal(found.arrays[0], np.array([[1, 4], [2, 5], [3, 6]], np.float32))
    np.testing.assert_array_equal(found.arrays[1], np.array([[-100, 7], [0.5, 8]], np.float32))
    assert all(array.dtype == np.float32 and array.flags.c_contiguous for array in found.arrays)
    assert found.table.values == {"label": ["up", "down"]}
    assert found.table.lines.tolist() == [7, 10]
    assert found.column == ""
    assert len(found.table.digest) == 64


def test_a_univariate_file_has_one_channel(write):
    header = "@univariate true\r\n@CLASSLABEL TRUE a b\r\n@Data\r\n"
    found = series.read(write(header + "1,2,3:a\r\n4:b\r\n5:6:a\r\n"))
    assert [array.shape for array in found.arrays] == [(3, 1), (1, 1)]
    assert found.table.bad == [BadRow(6, "the number of channels is 2, the header declares 1")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,?:3,4:up", "channel 1, step 2: '?' isn't a number (a missing value)"),
        ("1,2:3,NaN:up", "channel 2, step 2: 'NaN' isn't a number (a missing value)"),
        ("1,,2:3,4,5:up", "channel 1, step 2: '' isn't a number (a missing value)"),
        ("1,x:3,4:up", "channel 1, step 2: 'x' isn't a number"),
        ("1,1_0:3,4:up", "channel 1, step 2: '1_0' isn't a number"),
        ("1,inf:3,4:up", "channel 1, step 2: 'inf' isn't a number"),
        ("1,2:3,1e39:up", "channel 2 has a number beyond 32 bits"),
        ("1,2:3:up", "channel 2 has length 1, channel 1 has length 2"),
        ("1,2::up", "channel 2 is empty"),
        ("1,2:up", "the number of channels is 1, in the first row 2"),
        ("1,2", "no ':' between the values and the label"),
        ("1,2:3,4:sideways", "the label 'sideways' isn't one of those that @classLabel declares"),
        ("1,2:3,4:", "the label '' isn't one of those that @classLabel declares"),
    ],
)
def test_bad_rows_of_ts_files(write, row, reason):
    found = series.read(write(f"{HEADER}1,2:3,4:up\n{row}\n5,6:7,8:down\n"))
    assert found.table.bad == [BadRow(8, reason)]
    assert [array[0].tolist() for array in found.arrays] == [[1, 3], [5, 7]]
    assert found.table.values["label"] == ["up", "down"]


def test_declared_dimensions_rule(write):
    found = series.read(write(HEADER.replace("@data", "@dimensions 2\n@data") + "1:up\n1:2:up\n3:4:down\n"))
    assert found.table.bad == [BadRow(8, "the number of channels is 1, the header declares 2")]
    assert len(found.arrays) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER.replace("@timeStamps false", "@timeStamps true"), "a.ts:3: time stamps aren't supported"),
        (HEADER.replace("@classLabel true up down\n", ""), "a.ts:5: the header lacks '@classLabel true'"),
        (HEADER.replace("true up down", "true"), "a.ts:6: the header lacks '@classLabel true' and the classes"),
        (HEADER.replace("@data", "@targetLabel true\n@data"), "a.ts:6: a numeric target means regression"),
        (HEADER.replace("@data", "@dimensions many\n@data"), "a.ts:6: @dimensions needs one number"),
        (HEADER.replace("@data\n", ""), "no '@data' line"),
        ("1,2,3:up\n", "a.ts:1: a .ts file begins with"),
        ("", "the file is empty"),
    ],
)
def test_ts_headers_that_cannot_be_used(write, content, message):
    assert message in reading_error(write(content))


def test_unlabelled_files(write):
    found = series.read(write(HEADER.replace("@classLabel true up down", "@classLabel false") + "1,2:3,4\n5:6\n"))
    assert [array.shape for array in found.arrays] == [(2, 2), (1, 2)]
    assert (found.table.columns, found.table.bad, len(found.table)) == ((), [], 2)
    assert len(series.read(write('{"x": [1, 2]}\n{"x": [3]}', "a.jsonl")).arrays) == 2


def test_a_ts_file_has_no_columns_and_other_files_no_series(write):
    assert "leave out 'x'" in reading_error(write(HEADER), column="x")
    assert "supported: .jsonl, .ndjson, .ts" in reading_error(write("a,b", "a.csv"))


# JSON lines


def lines_of(*objects) -> str:
    return "".join(json.dumps(found) + "\n" for found in objects)


def test_json_arrays_are_time_first(write):
    content = lines_of(
        {"x": [[1, 2, 3], [4, 5, 6]], "label": "a", "who": 1}, {"x": [[7.5, 8, 9]], "label": "b", "who": 2}
    )
    found = series.read(write(content, "a.jsonl"))
    np.testing.assert_array_equal(found.arrays[0], np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    np.testing.assert_array_equal(found.arrays[1], np.array([[7.5, 8, 9]], np.float32))
    assert found.table.values == {"label": ["a", "b"], "who": ["1", "2"]}
    assert found.column == "x"
    flat = series.read(write(lines_of({"label": "a", "x": [1, 2.5]}), "b.ndjson"))
    np.testing.assert_array_equal(flat.arrays[0], np.array([[1], [2.5]], np.float32))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "the series is empty"),
        ([[], []], "step 1 is empty"),
        ([[1, 2], [3]], "step 2 has width 1, step 1 has width 2"),
        ([[1, 2], 3], "step 2 isn't made of numbers"),
        ([1, 2], "the number of channels is 1, in the first row 2"),
        ([[1, None]], "step 1 isn't made of numbers"),
        ([[1, "2"]], "step 1 isn't made of numbers"),
        ([[1, 2], [True, 2]], "step 2 isn't made of numbers"),
        ([[1, 2], [3, 1e39]], "step 2 isn't a finite 32-bit number"),
        ([[1, 10**400]], "a number too large"),
        ("[[1, 2]]", "no array of numbers"),
        (None, "no array of numbers"),
    ],
)
def test_bad_rows_of_json_series(write, value, reason):
    good = {"x": [[1, 2]], "label": "a"}
    found = series.read(write(lines_of(good, {"x": value, "label": "b"}, good), "a.jsonl"))
    assert found.table.bad == [BadRow(2, f"'x': {reason}")]
    assert len(found.arrays) == len(found.table) == 2


def test_a_row_that_is_bad_for_another_reason_takes_its_array_along(write):
    content = lines_of(*({"x": [n], "label": "nul \0" if n == 1 else "a"} for n in range(3)))
    found = series.read(write(content, "a.jsonl"))
    assert [row.line for row in found.table.bad] == [2]
    assert [array.item() for array in found.arrays] == [0, 2]


def test_the_column_of_arrays_is_chosen_or_named(write):
    path = write(lines_of({"x": [1], "y": [2], "words": ["a"], "label": "a"}), "a.jsonl")
    assert series.peek(formats.read_whole(path)) == (["x", "y"], ["x", "y", "words", "label"])
    assert "several columns hold arrays of numbers: 'x', 'y'" in reading_error(path)
    assert series.read(path, column="y").arrays[0].item() == 2
    assert "no column 'z'" in reading_error(path, column="z")
    assert "no arrays of numbers" in reading_error(write(lines_of({"text": "a"}), "b.jsonl"))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    arrays(
        np.float32,
        array_shapes(min_dims=2, max_dims=2),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    )
)
def test_both_formats_give_back_the_numbers(tmp_path_factory, array):
    folder = tmp_path_factory.mktemp("series")
    as_json, as_ts = folder / "a.jsonl", folder / "a.ts"
    as_json.write_text(lines_of({"x": array.tolist(), "label": "up"}))
    as_ts.write_text(HEADER + ":".join(",".join(map(repr, channel)) for channel in array.T.tolist()) + ":up\n")
    for path in (as_json, as_ts):
        np.testing.assert_array_equal(series.read(path).arrays[0], array)


# The public data sets


@pytest.mark.data
@pytest.mark.skipif("RNNLAB_DATA" not in os.environ, reason="RNNLAB_DATA isn't set")
@pytest.mark.parametrize(
    ("name", "rows", "channels", "lengths", "classes"),
    [
        ("JapaneseVowels_TRAIN", 270, 12, (7, 26), 9),
        ("JapaneseVowels_TEST", 370, 12, (7, 29), 9),
        ("BasicMotions_TRAIN", 40, 6, (100, 100), 4),
        ("BasicMotions_TEST", 40, 6, (100, 100), 4),
    ],
)
def test_uea_files(name, rows, channels, lengths, classes):
    found = series.read(Path(os.environ["RNNLAB_DATA"]) / "uea" / f"{name}.ts")
    assert found.table.bad == []
    assert len(found.arrays) == len(found.table) == rows
    assert {array.shape[1] for array in found.arrays} == {channels}
    assert (min(map(len, found.arrays)), max(map(len, found.arrays))) == lengths
    assert len(set(found.table.values["label"])) == classes
