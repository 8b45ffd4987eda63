"""Padding never leaks, whatever stands there; sequences of unequal length are read to their own end."""

import numpy as np
import pytest
from test_reference_triangle import MODULES, NESTED, SINGLE, ask, make_layer

from rnnlab.reference.gradcheck import relative_error
from rnnlab.reference.pooling import last, last_of_both, max_over_time
from rnnlab.reference.rnn import rnn
from rnnlab.reference.sequences import mirror

LENGTHS = np.array([4, 1, 3])


@pytest.mark.parametrize("kind", [*SINGLE, *NESTED])
@pytest.mark.parametrize("rubbish", [1e6, np.nan, np.inf])
def test_what_stands_at_padding_changes_nothing(kind, rubbish):
    """Nor does a gradient that somebody sends to padding: states there are zero, whatever happens."""
    question = ask(kind, LENGTHS, 2, 2, 3, seed=1)
    layer = make_layer(kind, MODULES)
    padding = np.arange(6) >= LENGTHS[:, None]
    x, d_states = question.x.copy(), question.weight.copy()
    states, backward = layer(x, LENGTHS, question.parameters, question.start)
    expected = backward(d_states)
    assert not states[padding].any()
    assert not expected.x[padding].any()
    assert all(not delta[padding].any() for delta in expected.delta.values())

    x[padding] = d_states[padding] = rubbish
    same, backward = layer(x, LENGTHS, question.parameters, question.start)
    found = backward(d_states)
    np.testing.assert_array_equal(same, states)
    np.testing.assert_array_equal(found.x, expected.x)
    for part in ("parameters", "start", "delta"):
        for name, value in getattr(expected, part).items():
            np.testing.assert_array_equal(getattr(found, part)[name], value, err_msg=name)


@pytest.mark.parametrize("kind", [*SINGLE, *NESTED])
def test_a_batch_is_its_sequences_one_by_one(kind):
    question = ask(kind, LENGTHS, 1, 2, 3, seed=2)
    layer = make_layer(kind, MODULES)
    states, backward = layer(question.x, LENGTHS, question.parameters, question.start)
    together = backward(question.weight)
    total = {name: np.zeros_like(value) for name, value in question.parameters.items()}
    for row, length in enumerate(LENGTHS):
        one, steps = slice(row, row + 1), slice(0, length)
        start = {name: value[one] for name, value in question.start.items()}
        alone, backward = layer(question.x[one, steps], LENGTHS[one], question.parameters, start)
        gradients = backward(question.weight[one, steps])
        assert relative_error(alone, states[one, steps]) < 1e-14
        assert relative_error(gradients.x, together.x[one, steps]) < 1e-14
        for name, value in gradients.start.items():
            assert relative_error(value, together.start[name][one]) < 1e-14
        for name, value in gradients.parameters.items():
            total[name] += value
    assert all(relative_error(total[name], together.parameters[name]) < 1e-13 for name in total)


def test_pooling_takes_the_last_real_step_of_each_direction_and_the_largest_real_number():
    states = -np.arange(1.0, 25.0).reshape(2, 3, 4)
    lengths = np.array([3, 2])
    states[1, 2] = 0  # padding, and larger than anything real
    assert last(states, lengths)[0].tolist() == [states[0, 2].tolist(), states[1, 1].tolist()]
    assert last_of_both(states, lengths)[0].tolist() == [
        [*states[0, 2, :2], *states[0, 0, 2:]],
        [*states[1, 1, :2], *states[1, 0, 2:]],
    ]
    assert max_over_time(states, lengths)[0].tolist() == [states[0, 0].tolist(), states[1, 0].tolist()]


def test_mirror_turns_each_sequence_within_its_length():
    x = np.arange(8.0).reshape(2, 4, 1)
    assert mirror(x, np.array([4, 2]))[:, :, 0].tolist() == [[3, 2, 1, 0], [5, 4, 6, 7]]


def test_zeros_are_the_start_unless_there_is_one():
    question = ask("lstm", LENGTHS, 0, 2, 3, seed=3)
    layer = make_layer("lstm", MODULES)
    zeros = {name: np.zeros_like(value) for name, value in question.start.items()}
    given, _ = layer(question.x, LENGTHS, question.parameters, zeros)
    np.testing.assert_array_equal(layer(question.x, LENGTHS, question.parameters)[0], given)
    only_h = {"h_0": question.start["h_0"]}
    assert not np.array_equal(layer(question.x, LENGTHS, question.parameters, only_h)[0], given)


def test_a_state_that_the_layer_lacks_is_refused():
    question = ask("tanh", LENGTHS, 0, 2, 3, seed=3)
    with pytest.raises(ValueError, match="no such initial state: c_0; this layer has h_0"):
        rnn(question.x, LENGTHS, question.parameters, {"c_0": question.start["h_0"]})
