import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.data import tables
from rnnlab.data.tables import Column, Selection

laws = settings(derandomize=True, deadline=None, max_examples=100)
strings = st.lists(st.text(max_size=6) | st.sampled_from(["", "好看", "👍🏽", "\ud800", "\udc00", "a"]), max_size=12)


@laws
@given(strings, strings)
def test_a_column_reads_like_a_list(first, then):
    column = Column(first)
    column.extend(iter(then))
    column.append("é")
    expected = [*first, *then, "é"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK", 3)  # several blocks, with and without other letters than ASCII
        assert list(column) == expected
    assert column == expected
    assert len(column) == len(expected)
    assert [column[row] for row in range(-len(expected), len(expected))] == expected + expected
    assert column[1:-1] == expected[1:-1]
    assert column[::-2] == expected[::-2]


@laws
@given(strings.filter(bool), st.data())
def test_a_selection_holds_its_rows(values, data):
    rows = np.array(data.draw(st.lists(st.integers(0, len(values) - 1), max_size=9)), np.int64)
    expected = [values[row] for row in rows]
    for column in (values, Column(values)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "BLOCK", 2)
            found = Selection(column, rows)
            assert list(found) == expected
            assert found[::2] == expected[::2]
        assert [found[at] for at in range(len(found))] == expected


def test_columns_compare_as_lists_do():
    column = Column(["a", "bc"])
    assert column == Column(["a", "bc"])
    assert column != Column(["ab", "c"])  # the same characters
    assert column != ["a"]
    assert column != "abc"


@pytest.mark.parametrize("row", [2, -3])
def test_a_row_beyond_the_column_is_an_index_error(row):
    with pytest.raises(IndexError):
        Column(["a", "b"])[row]
