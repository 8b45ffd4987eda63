"""Rows in memory are the rows of a file: the same digest, the same bits."""

import csv
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import rnnlab
from rnnlab.core.errors import DataError
from rnnlab.data.memory import as_files, columns_of
from rnnlab.data.reading import read_examples

TEXTS = [f"film number {n} was {'rather good' if n % 3 else 'quite bad'}, 真的" for n in range(120)]
LABELS = [n % 3 != 0 for n in range(120)]
NUMBERS = [int(label) for label in LABELS]
COLUMNS = {"text": TEXTS, "label": NUMBERS}


def frames() -> dict[str, Any]:
    """The same table in everything that holds tables."""
    made: dict[str, Any] = {
        "dict": COLUMNS,
        "arrays": {"text": np.array(TEXTS), "label": np.array(NUMBERS)},
        "pairs": list(zip(TEXTS, NUMBERS, strict=True)),
        "lists": [[text, label] for text, label in zip(TEXTS, NUMBERS, strict=True)],
        "dicts": [{"text": text, "label": label} for text, label in zip(TEXTS, NUMBERS, strict=True)],
        "tuple": (TEXTS, np.array(NUMBERS)),
    }
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    made |= {"pandas": pandas.DataFrame(COLUMNS), "polars": polars.DataFrame(COLUMNS), "arrow": pyarrow.table(COLUMNS)}
    return made


def test_every_holder_is_one_file():
    assert len({as_files(frame)["data"] for frame in frames().values()}) == 1


def test_a_damaged_file_is_written_again():
    path = Path(as_files(COLUMNS)["data"])
    before = path.read_bytes()
    path.write_bytes(before.replace(b"good", b"bad!", 1))
    assert Path(as_files(COLUMNS)["data"]).read_bytes() == before


def test_frame_dict_list_and_file_give_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with open("reviews.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(TEXTS, NUMBERS, strict=True)])
    settings: dict[str, Any] = {"model": "fasttext", "training": {"epochs": 1}}
    from_file = rnnlab.train("reviews.csv", out="of-file", **settings)
    weights = (from_file.path / "weights.safetensors").read_bytes()
    made = frames()
    for name in ("dict", "pandas", "polars", "pairs"):
        run = rnnlab.train(made[name], out=name, **settings)
        assert run.path.name == from_file.path.name  # the digest of the spec
        assert (run.path / "weights.safetensors").read_bytes() == weights


def test_splits_in_memory(tmp_path: Path):
    parts = {
        "train": COLUMNS,
        "validation": {k: v[:30] for k, v in COLUMNS.items()},
        "test": (TEXTS[30:60], NUMBERS[30:60]),
    }
    files = as_files(parts)
    assert set(files) == {"data", "valid", "test"}
    assert len(read_examples(files["test"])) == 30
    with pytest.raises(DataError, match="no split 'train', only test"):
        as_files({"test": COLUMNS})
    columns = {"train": ["a", "b"], "test": ["c", "d"]}  # columns that are called so
    assert set(as_files(columns)) == {"data"}


def test_hugging_face_datasets_by_duck_typing():
    class ClassLabel:
        names = ("neg", "pos")

    class Dataset:
        column_names = ("text", "label")
        features = MappingProxyType({"text": object(), "label": ClassLabel()})

        def __getitem__(self, name: str) -> list[Any]:
            return COLUMNS[name]

    assert columns_of(Dataset())["label"][:4] == ["neg", "pos", "pos", "neg"]


def test_series():
    values = np.random.default_rng(0).normal(size=(40, 7, 2)).astype(np.float32)
    found = read_examples(as_files((values, [n % 2 for n in range(40)]))["data"])
    assert found.series is not None
    assert np.array_equal(np.stack(list(found.series)), values)  # to the bit
    ragged = [values[n, : 1 + n % 7] for n in range(40)]
    found = read_examples(as_files(list(zip(ragged, "ab" * 20, strict=True)))["data"])
    assert found.series is not None
    assert [len(array) for array in found.series] == [len(array) for array in ragged]


def test_what_is_missing_stays_missing():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a", None, "c", "d"], "n": [1.5, float("nan"), 2, 3]})
    frame["day"] = pandas.to_datetime(["2024-01-03", None, "2024-01-04", "2024-01-05"])
    frame["label"] = pandas.array([1, 0, None, 1], dtype="Int64")
    rows = [json.loads(line) for line in Path(as_files(frame)["data"]).read_text(encoding="utf-8").splitlines()]
    assert rows[0] == {"text": "a", "n": "1.5", "day": "2024-01-03 00:00:00", "label": "1"}
    assert [rows[1][name] for name in ("text", "n", "day")] == [None, None, None]
    assert rows[2]["label"] is None


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"text": ["a", "b"], "label": [1]}, r"must be equally long, found 'text' 2, 'label' 1"),
        ({"text": [], "label": []}, "hold no rows"),
        ([("a", 1), ("b", 2, 3)], r"holds \(text, label\) pairs, or dicts \(got tuple of 3\)"),
        (["a", "b"], r"holds \(text, label\) pairs, or dicts \(got str\)"),
        (7, r"data in memory are a frame, .* \(got int\)"),
        ({"text": "a word", "label": [1]}, r"a column in memory is a list of values \(got str\)"),
    ],
)
def test_what_is_no_data_is_told(data: Any, complaint: str):
    with pytest.raises(DataError, match=complaint):
        read_examples(as_files(data)["data"])
