"""Axes: four ways to say what is varied, and everything that can be wrong with one."""

import pytest

from rnnlab.sweeps.axes import Choice, Choices, Range, axis_problems, grid, label_of, parse_axis


def test_a_field_and_its_values():
    axis = parse_axis("training.lr", [0.1, 0.2])
    assert axis == Choices("training.lr", (Choice(0.1, {"training.lr": 0.1}), Choice(0.2, {"training.lr": 0.2})))


def test_zipped_lists_change_together():
    axis = parse_axis("size", {"model.hidden": [8, 16], "model.layers": [1, 2]})
    assert isinstance(axis, Choices)
    assert [choice.settings for choice in axis.choices] == [
        {"model.hidden": 8, "model.layers": 1},
        {"model.hidden": 16, "model.layers": 2},
    ]
    assert [choice.value for choice in axis.choices] == ["8 / 1", "16 / 2"]


def test_named_settings():
    axis = parse_axis("cell", {"tanh": {"model.activation": "tanh"}, "gru": {"model": {"kind": "gru"}}})
    assert isinstance(axis, Choices)
    assert [choice.value for choice in axis.choices] == ["tanh", "gru"]
    assert axis.choices[1].settings == {"model": {"kind": "gru"}}


def test_a_range_of_whole_numbers_or_of_others():
    assert parse_axis("model.hidden", {"low": 8, "high": 64}) == Range("model.hidden", 8, 64, False)
    assert Range("model.hidden", 8, 64, False).whole
    assert not Range("training.lr", 1e-4, 0.1, True).whole


def test_the_grid_has_every_combination_and_the_last_axis_changes_fastest():
    axes = [parse_axis("training.lr", [1, 2]), parse_axis("task.length", [5, 10, 25])]
    values = [tuple(values) for values, _ in grid(axes)]
    assert values == [(1, 5), (1, 10), (1, 25), (2, 5), (2, 10), (2, 25)]


def test_labels_name_fields_but_not_names():
    axes = [parse_axis("training.lr", [0.01]), parse_axis("cell", {"gru": {"model.kind": "gru"}})]
    assert label_of(axes, [0.01, "gru"]) == "lr 0.01 · gru"


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("trainin.lr", [1], "did you mean 'training'?"),
        ("lr", [1], "it begins with task., model. or training."),
        ("training", [1], "no path of a setting"),
        ("training.lr", [], "at least one value"),
        ("training.lr", [1, 2, 1], "1 stands there twice"),
        ("training.lr", 0.1, "an axis is a list of values"),
        ("size", {"model.hidden": [1, 2], "model.layers": [1]}, "equally long (got 1, 2)"),
        ("size", {"model.hidden": [1, 2], "gru": {"model.kind": "gru"}}, "all its entries must be lists"),
        ("cell", {"gru": {"modle.kind": "gru"}}, "did you mean 'model'?"),
        ("training.lr", {"low": 2, "high": 1}, "low the smaller one"),
        ("training.lr", {"low": 0, "high": 1, "log": True}, "must begin above 0"),
        ("training.lr", {"low": 1, "high": 2, "step": 1}, "unknown key; a range has low, high and log"),
        ("training.lr", {"low": True, "high": 2}, "must be numbers"),
    ],
)
def test_mistakes_are_told_with_their_place(name, given, said):
    found = axis_problems(name, given, "axes.x")
    assert found
    assert all(problem.startswith("axes.x") for problem in found)
    assert said in found[0]
