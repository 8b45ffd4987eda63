from typing import ClassVar, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.config import Config, assign, canonical_json, digest_of, parse, parse_setting, problems, read_toml
from rnnlab.core.errors import ConfigError


class Inner(Config):
    rate: float = 0.1
    shape: Literal["round", "square"] = "round"


class Outer(Config):
    inner: Inner = Inner()
    size: int = 3
    names: tuple[str, ...] = ("a", "b")


def test_every_problem_is_named_at_once_with_its_path():
    with pytest.raises(ConfigError) as error:
        parse(Outer, {"inner": {"rat": 1, "shape": "roundd"}, "sizes": 3, "size": "many"}, "model")
    lines = str(error.value).split("\n")
    assert len(lines) == 4
    assert "model.inner.rat: unknown key; did you mean 'rate'?" in lines
    assert "model.sizes: unknown key; did you mean 'size'?" in lines
    assert any(line.startswith("model.inner.shape: ") and "'roundd'" in line for line in lines)
    assert any(line.startswith("model.size: ") and "'many'" in line for line in lines)


class Lamp(Config):
    kind: ClassVar[str] = "lamp"
    inner: Inner = Inner()
    watts: int = 40


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("wats", "unknown key of 'lamp'; did you mean 'watts'?"),
        ("spout", "'lamp' has no such option; it belongs to kettle, teapot; 'lamp' has: inner, watts"),
        ("watt", "'lamp' has no such option; it belongs to heater; did you mean 'watts'?"),
        ("zzz", "unknown key of 'lamp'; known: inner, watts"),
    ],
)
def test_a_key_of_another_kind_is_told_whose_it_is(key, said):
    elsewhere = {"spout": ["kettle", "teapot"], "watt": ["heater"]}
    assert problems(Lamp, {key: 1}, "room", elsewhere) == [f"room.{key}: {said}"]
    assert problems(Lamp, {"inner": {"spout": 1}}, "", elsewhere) == ["inner.spout: unknown key; known: rate, shape"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_are_numbers(value):
    with pytest.raises(ConfigError, match=r"inner\.rate"):
        parse(Outer, {"inner": {"rate": value}})


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError):
        Outer().size = 4  # type: ignore[misc]  # the point of the test


def test_digest_depends_on_values_alone():
    assert digest_of(Outer()) == digest_of(parse(Outer, {"names": ["a", "b"], "size": 3}))
    assert digest_of(Outer()) != digest_of(parse(Outer, {"size": 4}))
    assert canonical_json({"b": 1, "a": "é"}) == '{"a":"é","b":1}'


def test_replace_checks_again():
    assert Outer().replace(size=5).size == 5
    with pytest.raises(ConfigError):
        Outer().replace(size="x")


@pytest.mark.parametrize(
    ("text", "parts", "value"),
    [
        ("training.lr=0.01", ["training", "lr"], 0.01),
        ("a.b = [1, 2]", ["a", "b"], [1, 2]),
        ("name=lstm", ["name"], "lstm"),
        ("x=true", ["x"], True),
        ("x=a=b", ["x"], "a=b"),
    ],
)
def test_settings_are_toml_or_text(text, parts, value):
    assert parse_setting(text) == (parts, value)


@pytest.mark.parametrize("text", ["lr", "=3", "a..b=3"])
def test_malformed_settings_say_how_to_write_them(text):
    with pytest.raises(ConfigError, match=r"training\.lr=0\.01"):
        parse_setting(text)


@settings(derandomize=True, deadline=None)
@given(st.text(max_size=30))
def test_any_setting_text_parses_or_is_refused(text):
    try:
        parts, _ = parse_setting(text)
    except ConfigError:
        return
    assert all(parts)


def test_assign_makes_tables_and_refuses_values():
    tree: dict = {"a": {"b": 1}}
    assign(tree, ["a", "c", "d"], 2)
    assert tree == {"a": {"b": 1, "c": {"d": 2}}}
    with pytest.raises(ConfigError, match="'b' is a value"):
        assign(tree, ["a", "b", "c"], 3)


def test_toml_errors_name_file_and_line(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text("a = \n")
    with pytest.raises(ConfigError, match=r"e\.toml: not valid TOML: .*line 1"):
        read_toml(path)
    with pytest.raises(ConfigError, match="no such file"):
        read_toml(tmp_path / "missing.toml")
