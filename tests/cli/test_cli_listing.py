"""What there is: runs, models, tasks, vectors, data sets; and a look at data."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from rnnlab.core.config import Config
from rnnlab.core.toml import toml_value
from rnnlab.data import catalogue
from rnnlab.data.sound.augment import Augment
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.baselines import BASELINES, Baseline
from rnnlab.models.decoding import DecoderSettings
from rnnlab.models.embedding import Embedding
from rnnlab.show.terminal.kinds import options
from rnnlab.sweeps.plan import SHORT_NAMES
from rnnlab.tasks.base import TASKS
from rnnlab.training.spec import Schedule, Training


def test_runs(compared, rnnlab):
    folder = str(compared.folder / "runs")
    records = {record["run"]: record for record in rnnlab("runs", folder, "--json").json_lines()}
    for arm in compared.result["arms"] + compared.result["baselines"]:
        for run in arm["runs"]:
            record = records[run["digest"]]
            assert record["model"] == arm["model"]["kind"]
            assert record["status"] == "finished"
            assert (record["seed"], record["accuracy"]) == (run["seed"], run["score"])
    lines = rnnlab("runs", folder).out.splitlines()
    assert lines[0].split() == ["run", "model", "data", "seed", "status", "accuracy", "macro-F1", "best", "epoch"]
    assert {line.split()[0] for line in lines[1:]} == set(records)
    assert all("reviews.csv" in line for line in lines[1:])


def test_an_unfinished_run_is_listed_as_such(compared, rnnlab, tmp_path):
    spec = Path(compared.run("rnn")) / "spec.json"
    (tmp_path / "runs" / "half").mkdir(parents=True)
    (tmp_path / "runs" / "half" / "spec.json").write_bytes(spec.read_bytes())
    assert rnnlab("runs", "--json").json_lines()[0]["status"] == "unfinished"
    assert "unfinished" in rnnlab("runs").out


KINDS = {"models": [*ARCHITECTURES, *BASELINES], "tasks": [*TASKS]}
EVERY_KIND = [(what, cls) for what, classes in KINDS.items() for cls in classes]


def described(schema, path=""):
    """(path, whether it is described) of every option, those of tables within too."""
    for name, option in schema["properties"].items():
        yield f"{path}{name}", bool(option.get("description"))
    for name, inner in schema.get("$defs", {}).items():
        yield name, bool(inner.get("description"))
        yield from described(inner, f"{name}.")


@pytest.mark.parametrize("cls", [*(cls for _, cls in EVERY_KIND), Training, Schedule, Embedding])
def test_everything_is_documented(cls):
    """A class without a docstring has its parent's, or pydantic's, in the schema: it must have its own."""
    assert (cls.__doc__ or "").split("\n\n")[0].rstrip().endswith(".")  # whole sentences
    assert cls.__doc__ not in {base.__doc__ for base in cls.__mro__[1:]}
    assert [path for path, has_words in described(cls.model_json_schema()) if not has_words] == []


def test_every_kind_is_listed_with_its_purpose_and_nothing_else(rnnlab):
    for what, classes in KINDS.items():
        *lines, blank, hint = rnnlab("list", what).out.splitlines()
        listed: dict[str, str] = {}
        for line in lines:
            name, words = line.split(" ", 1) if not line.startswith(" ") else (list(listed)[-1], line)
            listed[name] = f"{listed.get(name, '')} {words.strip()}".strip()
        short = SHORT_NAMES if what == "models" else {}
        assert set(listed) == {*(cls.kind for cls in classes), *short}
        for cls in classes:
            first = " ".join((cls.__doc__ or "").split("\n\n")[0].replace("``", "'").split())
            baseline = " A baseline: it runs by itself." if issubclass(cls, Baseline) else ""
            assert listed[cls.kind] == first + baseline
        for name, (kind, preset) in short.items():
            settings = ", ".join(f"{key} = {toml_value(value)}" for key, value in preset.items())
            assert listed[name] == f"Short for {kind} with {settings}."
        assert (blank, hint.split("  ")[1]) == ("", "shows its options")
        assert rnnlab(*hint.split("  ")[0].split()[1:]).out.startswith("lstm: " if what == "models" else "classify: ")


def rows_of(out: str) -> dict[str, list[str]]:
    """Option → its cells, put together again where they were folded."""
    head, *lines = out.splitlines()[2:]
    starts = [head.index(name) for name in ("option", "type", "default", "meaning")]
    rows: dict[str, list[str]] = {}
    for line in lines:
        cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        if cells[0]:
            rows[cells[0]] = cells[1:]
        else:
            last = rows[list(rows)[-1]]
            last[:] = [f"{whole} {part}".strip() for whole, part in zip(last, cells[1:], strict=True)]
    return rows


@pytest.mark.parametrize(("what", "cls"), EVERY_KIND, ids=lambda value: getattr(value, "kind", value))
def test_the_options_of_one(rnnlab, what, cls):
    rows = rows_of(rnnlab("list", what, cls.kind).out)
    tables = {"embedding": Embedding, "augment": Augment, "decoder": DecoderSettings}
    inner = [f"{name}.{one}" for name, of in tables.items() if name in cls.model_fields for one in of.model_fields]
    inner += [f"decoder.embedding.{one}" for one in Embedding.model_fields if "decoder" in cls.model_fields]
    assert sorted(rows) == sorted([*cls.model_fields, *inner])
    for name, field in cls.model_fields.items():
        kind, default, meaning = rows[name]
        assert kind
        if not field.is_required() and name not in tables:
            assert default == ("not set" if field.default is None else json.dumps(field.default))
        assert meaning == " ".join((field.description or "").split())
    schemas = rnnlab("list", what, cls.kind, "--json").json()
    assert {kind: list(schema["properties"]) for kind, schema in schemas.items()} == {cls.kind: list(cls.model_fields)}


def test_json_has_the_schema_of_every_kind(rnnlab):
    for what, classes in KINDS.items():
        schemas = rnnlab("list", what, "--json").json()
        assert {cls.kind: cls.model_json_schema() for cls in classes}.items() <= schemas.items()


def test_a_short_name_has_its_own_defaults(rnnlab):
    assert rows_of(rnnlab("list", "models", "bilstm").out)["bidirectional"][:2] == ["true or false", "true"]
    assert rows_of(rnnlab("list", "models", "lstm").out)["bidirectional"][:2] == ["true or false", "false"]
    schemas = rnnlab("list", "models", "bilstm", "--json").json()
    assert schemas["bilstm"]["properties"]["bidirectional"]["default"] is True


class Many(Config):
    """One option of every type."""

    whole: int = Field(default=1, ge=1, le=1000)
    least: int = Field(default=1, ge=1)
    share: float = Field(default=0.5, ge=0, lt=1)
    inside: float = Field(default=0.5, gt=0, lt=0.5)
    unit: float = Field(default=0.5, ge=0, le=1)
    free: float = 1.0
    flag: bool = False
    name: str = "x"
    one_of: Literal["a", "b"] = "a"
    only: Literal["a"] = "a"
    unset: int | None = None
    off: float | None = 5.0
    either: int | str = 3
    several: tuple[int, ...] = ()
    words: list[str] | None = None
    anything: Any = None
    table: Embedding = Embedding()
    mapping: dict[str, int] = Field(default_factory=dict)


def test_types_are_readable():
    types = {name: kind for name, kind, _, _ in options(Many.model_json_schema()) if "." not in name}
    assert types == {
        "whole": "whole number 1–1,000",
        "least": "whole number from 1",
        "share": "number from 0, below 1",
        "inside": "number above 0, below 0.5",
        "unit": "number 0–1",
        "free": "number",
        "flag": "true or false",
        "name": "text",
        "one_of": "one of a, b",
        "only": "a",
        "unset": "whole number",
        "off": "number or none",
        "either": "whole number or text",
        "several": "list of whole numbers",
        "words": "list of text",
        "anything": "anything",
        "table": "table",
        "mapping": "table",
    }


@pytest.mark.usefixtures("plugins_are_forgotten")
def test_a_plugin_is_listed_and_shown(rnnlab):
    plugin = str(Path(__file__).parents[2] / "examples" / "mgu.py")
    shown = rnnlab("list", "models", "mgu", "--plugin", plugin).out
    assert rows_of(shown)["hidden"][:2] == ["whole number from 1", "128"]


def test_vectors(rnnlab):
    assert "glove-6b-50d\n" in rnnlab("list", "vectors").out


def test_data_list_names_every_data_set(rnnlab):
    lines = rnnlab("data", "list").out.splitlines()
    names = {line.split()[0] for line in lines[1:] if not line.startswith(" ")}
    assert names == set(catalogue.names())


def test_data_profile(rnnlab, reviews_csv):
    done = rnnlab("data", "profile", "reviews.csv")
    assert done.code == 0, done.err
    assert done.out.startswith("60 rows: train 42, valid 6, test 12\n2 labels: ")
    profile = rnnlab("data", "profile", "reviews.csv", "--json").json()
    assert profile["rows"] == {"train": 42, "valid": 6, "test": 12}
    assert profile["tokenizer"] == "words"
    chars = rnnlab("data", "profile", "reviews.csv", "--tokenizer", "chars", "--json").json()
    assert chars["tokenizer"] == "chars"


def test_data_profile_of_a_file_without_a_header(rnnlab, reviews_csv, tmp_path):
    rows = reviews_csv.read_text(encoding="utf-8").splitlines()[1:]
    (tmp_path / "bare.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = rnnlab("data", "profile", "bare.csv", "--columns", "text,label", "--json")
    assert done.code == 0, done.err
    assert sum(done.json()["rows"].values()) == 60


def test_data_profile_of_the_embedded_reviews(rnnlab):
    done = rnnlab("data", "profile", "--json")
    assert done.code == 0, done.err
    assert sum(done.json()["rows"].values()) == 6000
