import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.data.batches import buckets, collate, evaluation_batches, updates_of_an_epoch
from rnnlab.data.sequences import Sequences

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=300)


def rows_of(lengths: list[int], width: int | None = None) -> Sequences:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shape = (offsets[-1],) if width is None else (offsets[-1], width)
    values = np.random.default_rng(0).integers(1, 1000, shape).astype(np.int32 if width is None else np.float32)
    rows = len(lengths)
    return Sequences.end_to_end(values, offsets, np.arange(rows) % 3, np.arange(rows))


@pytest.mark.parametrize("width", [None, 4])
def test_a_batch_is_its_rows_padded_with_zeros(width):
    data = rows_of([3, 1, 7, 2], width)
    batch = collate(data, np.array([2, 0, 1]))
    assert batch.inputs.shape[:2] == (3, 7)
    for place, row in enumerate([2, 0, 1]):
        length = data.offsets[row + 1] - data.offsets[row]
        assert int(batch.lengths[place]) == length
        expected = data.values[data.offsets[row] : data.offsets[row + 1]]
        assert np.array_equal(batch.inputs[place, :length].numpy(), expected)
        assert not batch.inputs[place, length:].any()
        assert int(batch.targets[place]) == row % 3


@settings(derandomize=True, deadline=None)
@given(LENGTHS, st.integers(1, 20), st.integers(0, 3), st.integers(0, 3))
def test_an_epoch_holds_every_row_once_and_depends_on_seed_and_epoch_alone(lengths, batch_size, seed, epoch):
    order = buckets(np.array(lengths), batch_size, seed, epoch)
    assert sorted(np.concatenate(order).tolist()) == list(range(len(lengths)))
    assert max(map(len, order)) <= batch_size
    assert len(order) == -(-len(lengths) // batch_size) == updates_of_an_epoch(np.array(lengths), batch_size)
    again = buckets(np.array(lengths), batch_size, seed, epoch)
    assert all(np.array_equal(one, other) for one, other in zip(order, again, strict=True))


def test_epochs_and_seeds_differ():
    lengths = np.random.default_rng(0).integers(1, 30, 1000)
    first = np.concatenate(buckets(lengths, 8, 0, 0)).tolist()
    assert first != np.concatenate(buckets(lengths, 8, 0, 1)).tolist()
    assert first != np.concatenate(buckets(lengths, 8, 1, 0)).tolist()


def test_buckets_leave_little_padding_and_do_not_sort_the_epoch():
    lengths = np.random.default_rng(0).geometric(0.12, 20_000).clip(1, 60)
    order = buckets(lengths, 64, 0, 0)
    padded = sum(len(rows) * lengths[rows].max() for rows in order)
    assert padded < 1.15 * lengths.sum()
    mixed = np.random.default_rng(0).permutation(len(lengths)).reshape(-1, 50)[:300]
    assert sum(len(rows) * lengths[rows].max() for rows in mixed) > 3 * lengths[mixed].sum()  # what buckets save
    means = np.array([lengths[rows].mean() for rows in order])
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.2  # long and short batches come in turn


@settings(derandomize=True, deadline=None)
@given(LENGTHS, st.integers(1, 400))
def test_evaluation_sees_every_row_once_within_its_limit(lengths, max_tokens):
    data = rows_of(lengths)
    seen = []
    for rows, batch in evaluation_batches(data, max_tokens):
        seen += rows.tolist()
        assert batch.inputs.numel() <= max_tokens or len(rows) == 1
    assert sorted(seen) == list(range(len(lengths)))


def one_by_one(lengths, max_tokens):
    """The batches of an evaluation, filled a row at a time."""
    order, start = np.argsort(lengths, kind="stable"), 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * lengths[order[end]] <= max_tokens and end - start < 1024:
            end += 1
        yield order[start:end].tolist()
        start = end


@settings(derandomize=True, deadline=None)
@given(LENGTHS, st.integers(1, 400))
def test_evaluation_batches_are_as_full_as_can_be(lengths, max_tokens):
    found = [rows.tolist() for rows, _ in evaluation_batches(rows_of(lengths), max_tokens)]
    assert found == list(one_by_one(np.array(lengths), max_tokens))


def test_an_evaluation_batch_has_a_thousand_rows_at_most():
    assert [len(rows) for rows, _ in evaluation_batches(rows_of([1] * 2500), 10**6)] == [1024, 1024, 452]


def test_lengths_beyond_sixteen_bits_are_sorted_too():
    lengths = np.array([70_000, 5, 65_540, 3, 65_536, 4])
    (rows,) = buckets(lengths, 6, 0, 0)
    assert lengths[rows].tolist() == sorted(lengths.tolist())


@settings(derandomize=True, deadline=None)
@given(LENGTHS, st.integers(1, 400), st.integers(0, 3), st.integers(0, 3))
def test_batches_of_tokens_hold_every_row_once_and_are_as_many_in_every_epoch(lengths, tokens, seed, epoch):
    order = buckets(np.array(lengths), 64, seed, epoch, tokens)
    assert sorted(np.concatenate(order).tolist()) == list(range(len(lengths)))
    assert min(map(len, order)) > 0
    assert len(order) == updates_of_an_epoch(np.array(lengths), 64, tokens)
    again = buckets(np.array(lengths), 64, seed, epoch, tokens)
    assert all(np.array_equal(one, other) for one, other in zip(order, again, strict=True))


def test_batches_of_tokens_are_of_about_equal_work():
    lengths = np.random.default_rng(0).geometric(0.12, 20_000).clip(1, 60)
    order = buckets(lengths, 64, 0, 0, 512)
    work = np.array([lengths[rows].sum() for rows in order])
    assert 0.85 * 512 < work.min() <= work.max() < 1.2 * 512
    assert abs(work.mean() / 512 - 1) < 0.02
    assert sum(len(rows) * lengths[rows].max() for rows in order) < 1.15 * lengths.sum()
    rows_a_batch = np.array([len(rows) for rows in order])
    assert rows_a_batch.min() < 20 < 200 < rows_a_batch.max()


def test_an_epoch_of_at_most_so_many_rows_has_other_ones_each_time():
    lengths = np.full(1000, 7)
    epochs = [buckets(lengths, 16, 3, epoch, most=100) for epoch in range(3)]
    for order in epochs:
        rows = np.concatenate(order)
        assert len(rows) == len(set(rows.tolist())) == 100
        assert len(order) == updates_of_an_epoch(lengths, 16, most=100) == 7
    assert set(np.concatenate(epochs[0]).tolist()) != set(np.concatenate(epochs[1]).tolist())
    assert updates_of_an_epoch(lengths, 16, most=5000) == updates_of_an_epoch(lengths, 16)
    by_tokens = buckets(lengths, 16, 3, 0, batch_tokens=70, most=100)
    assert len(by_tokens) == updates_of_an_epoch(lengths, 16, 70, most=100) == 10
