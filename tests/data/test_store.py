import dataclasses
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from rnnlab.core.errors import DataError
from rnnlab.data import store
from rnnlab.data.encoded import SPLITS, EncodedData, encode
from rnnlab.data.examples import Examples
from rnnlab.data.sequences import Sequences
from rnnlab.data.store import cached, find, fingerprint, load, pack, save, unpack


def reviews(rows: int = 60) -> Examples:
    texts = [f"{'Good' if i % 2 else 'bad'} film number {i}, isn't it?" for i in range(rows)]
    return Examples("reviews.csv", ["pos" if i % 2 else "neg" for i in range(rows)], texts=texts)


def waves(rows: int = 40, channels: int = 3) -> Examples:
    rng = np.random.default_rng(0)
    series = [rng.normal(5, 2, size=(int(n), channels)).astype(np.float32) for n in rng.integers(2, 9, rows)]
    for array in series:
        array[:, 0] = 0.1
    return Examples("waves.ts", ["up", "down"] * (rows // 2), series=series)


def assert_equal(a: EncodedData, b: EncodedData) -> None:
    for name in SPLITS:
        for field in dataclasses.fields(Sequences):
            one, other = getattr(getattr(a, name), field.name), getattr(getattr(b, name), field.name)
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_array_equal(one, other, strict=True)
    for field in dataclasses.fields(EncodedData):
        if field.name not in SPLITS:
            assert getattr(a, field.name) == getattr(b, field.name)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path))
    return tmp_path / "encoded"


def folders(cache: Path) -> list[str]:
    return sorted(name for name in os.listdir(cache) if not name.endswith(".key"))


@pytest.mark.parametrize("examples", [reviews(), waves(), dataclasses.replace(reviews(), tags=["t", "u"] * 30)])
def test_saved_and_loaded_is_equal(examples, tmp_path):
    data = encode({"train": examples}, max_length=6)
    save(data, tmp_path / "kept")
    found = load(tmp_path / "kept")
    assert found is not None
    assert_equal(found, data)
    assert os.listdir(tmp_path) == ["kept"]


def test_odd_characters_survive(tmp_path):
    texts = ["\ud800 half a pair", "\x00 nul", "tab\there", "line\u2028end", "👍", "好"] * 3
    data = encode({"train": Examples("odd", ["a", "b"] * 9, texts=[f"{t} {i}" for i, t in enumerate(texts)])})
    save(data, tmp_path / "kept")
    found = load(tmp_path / "kept")
    assert found is not None
    assert_equal(found, data)


def test_what_is_kept_is_not_made_again(cache):
    made = []

    def make() -> EncodedData:
        made.append(1)
        return encode({"train": reviews()})

    first, second = cached("abc", make), cached("abc", make)
    assert_equal(first, second)
    assert len(made) == 1
    cached("abd", make)
    assert len(made) == 2
    assert folders(cache) == ["abc", "abd"]


def test_any_damage_means_made_again(cache):
    data = cached("key", lambda: encode({"train": reviews()}))
    names = sorted(os.listdir(cache / "key"))
    assert {"data.json", "manifest.json", "train.values.npy"} <= set(names)
    for name in names:
        path = cache / "key" / name
        content = bytearray(path.read_bytes())
        for damage in ("flip", "cut", "remove"):
            if damage == "flip":
                position = content.index(b'"format"') + 2 if name == "manifest.json" else len(content) // 2
                path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
            elif damage == "cut":
                path.write_bytes(content[:-3])
            else:
                path.unlink()
            assert load(cache / "key") is None, (name, damage)
            assert_equal(cached("key", lambda: encode({"train": reviews()})), data)
            assert load(cache / "key") is not None
    assert folders(cache) == ["key"]


def test_data_are_found_by_their_fingerprint(cache):
    data = cached("key", lambda: encode({"train": reviews()}))
    mark = fingerprint(data)
    found = find(mark)
    assert found is not None
    assert_equal(found, data)
    assert fingerprint(encode({"train": dataclasses.replace(reviews(), source="elsewhere.csv")})) == mark
    assert fingerprint(encode({"train": reviews()}, split_seed=1)) != mark
    assert find("0" * 32) is None
    save(encode({"train": reviews()}, split_seed=1), cache / "key")
    assert find(mark) is data  # this process still has them
    store.forget()
    assert find(mark) is None  # other data stand there now
    (cache / f"{mark}.key").write_bytes(b"\xff\xfe")
    assert find(mark) is None


@pytest.mark.parametrize("examples", [reviews(), waves(), dataclasses.replace(reviews(), tags=["t", "u"] * 30)])
def test_what_was_sent_is_found_elsewhere(examples, cache):
    data = encode({"train": examples}, max_length=6)
    packed, mark = pack(data), fingerprint(data)
    assert find(mark) is None
    unpack(packed, mark)
    found = find(mark)
    assert found is not None
    assert_equal(found, data)
    assert folders(cache) == [f"sent-{mark}"]


def test_what_was_sent_must_be_what_was_asked_for(cache):
    packed = pack(encode({"train": reviews()}))
    with pytest.raises(DataError, match="not those with the fingerprint 0000"):
        unpack(packed, "0" * 32)
    for damaged in (packed[:-30], b"", packed.replace(b"data.json", b"else.json")):
        with pytest.raises(DataError, match="can't be read"):
            unpack(damaged, "0" * 32)
    assert not cache.exists()


def test_several_writers_at_once(cache):
    found: list[EncodedData] = []
    start = threading.Barrier(6)

    def work() -> None:
        start.wait()
        for _ in range(10):
            found.append(cached("key", lambda: encode({"train": reviews()})))
            save(found[-1], cache / "key")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 60
    expected = encode({"train": reviews()})
    for data in found:
        assert_equal(data, expected)
    assert load(cache / "key") is not None
    assert folders(cache) == ["key"]


def test_a_cache_that_cannot_be_written_is_no_reason_to_stop(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="can't be kept"):
        assert len(cached("key", lambda: encode({"train": reviews()})).train) == 42
    with pytest.raises(ValueError, match="plain file name"):
        cached("../key", lambda: encode({"train": reviews()}))


def test_what_killed_writers_left_is_removed_after_a_day(cache):
    def age(path: Path, days: float) -> None:
        then = time.time() - days * 86_400
        os.utime(path, (then, then))

    cached("first", lambda: encode({"train": reviews()}))
    age(cache / "first", 2)  # finished, so it stays
    for name, days in (("old", 2), ("recent", 0.5)):
        folder, file = cache / f".{name}.123.0a1b2c3d.tmp", cache / f".{name}.key.123.0a1b2c3d.tmp"
        folder.mkdir()
        (folder / "train.values.npy").write_bytes(b"half of it")
        file.write_text("half of it")
        age(folder, days)
        age(file, days)
    cached("second", lambda: encode({"train": reviews()}))
    assert folders(cache) == [".recent.123.0a1b2c3d.tmp", ".recent.key.123.0a1b2c3d.tmp", "first", "second"]
    assert load(cache / "first") is not None
