"""The catalogue: looked for, fetched from a server on this machine, trusted only as far as it says, and read."""

import dataclasses
import hashlib
import http.server
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.errors import DataError
from rnnlab.data import catalogue, published
from rnnlab.data.catalogue import Download
from rnnlab.data.examples import Examples
from rnnlab.data.unchanged import Content

SHARED = os.environ.get("RNNLAB_DATA")
needs_data = pytest.mark.skipif(not SHARED, reason="RNNLAB_DATA isn't set")

TS = "@univariate false\n@dimensions 2\n@classLabel true 1 2\n@data\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a cache of its own, and no data folder unless it sets one."""
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RNNLAB_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("RNNLAB_DATA", str(folder))
    return folder


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        name = re.sub(r"_(tsv|txt|csv|ts)$", r".\1", name)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


# The list


def test_a_mistyped_name_gets_a_hint():
    with pytest.raises(DataError, match=r"unknown data set 'movie-review'; did you mean 'movie-reviews'\?") as error:
        catalogue.load("movie-review")
    assert all(name in str(error.value) for name in catalogue.names())


@pytest.mark.parametrize("name", catalogue.names())
def test_every_entry_says_what_a_person_should_know(name: str):
    found = catalogue.entry(name)
    assert found.name == name
    assert found.title
    assert found.description
    assert found.licence
    assert found.citation
    assert found.homepage.startswith("https://")
    assert "train" in found.rows
    assert set(found.rows) <= {"train", "valid", "test"}
    for download in found.downloads:
        assert download.url.startswith("https://")
        assert set(download.files) <= set(found.files)
        assert (download.sha256 is None) == (download.size is None)
    if found.downloads:
        assert {file for d in found.downloads for file in d.files} == set(found.files)
    sums = [*found.tested.values(), *(d.sha256 for d in found.downloads if d.sha256)]
    assert all(re.fullmatch(r"[0-9a-f]{64}", s) for s in sums)
    assert set(found.tested) <= {*found.files, *found.optional}


def test_a_folder_of_the_user_comes_before_the_cache(data: Path, cache: Path):
    assert catalogue.locate("japanese-vowels") is None
    files = {"JapaneseVowels_TRAIN_ts": TS + "1,2:3,4:1\n", "JapaneseVowels_TEST_ts": TS + "1:3:2\n"}
    cached = write(cache / "data" / "japanese-vowels", **files)
    assert catalogue.locate("japanese-vowels") == cached
    write(data / "uea", JapaneseVowels_TRAIN_ts=files["JapaneseVowels_TRAIN_ts"])
    assert catalogue.locate("japanese-vowels") == cached  # the folder isn't complete
    write(data / "uea", **files)
    assert catalogue.locate("japanese-vowels") == data / "uea"
    assert catalogue.get("japanese-vowels") == data / "uea"


def test_a_data_folder_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("RNNLAB_DATA", str(tmp_path / "none"))
    with pytest.raises(DataError, match=r"RNNLAB_DATA=.*none: no such folder"):
        catalogue.locate("sst")


# Movie reviews

TRAIN = (
    "PhraseId\tSentenceId\tPhrase\tSentiment\n"
    '1\t1\tA "good film\t3\n'
    "2\t1\tgood\t3\n"
    "3\t2\t \t1\n"
    '4\t2\t"bad\t0\n'
    "5\t2\tNA\t2\n"
)
TEST = "PhraseId\tSentenceId\tPhrase\n6\t3\tfine .\n7\t3\tfine\n8\t3\t.\n"
LABELS = "PhraseId\tSentiment\n7\t4\n6\t3\n"


def test_movie_reviews_are_grouped_by_sentence_and_joined_with_their_labels(data: Path):
    write(data / "movie-reviews", train_tsv=TRAIN, test_tsv=TEST, test_labels_from_sst_tsv=LABELS)
    splits = catalogue.load("movie-reviews")
    train, test = splits["train"], splits["test"]
    assert train.texts == ['A "good film', "good", '"bad', "NA"]
    assert train.labels == ["3", "3", "0", "2"]
    assert train.groups == ["1", "1", "2", "2"]
    assert train.lines is not None
    assert train.lines.tolist() == [2, 3, 5, 6]
    assert [(row.line, row.reason) for row in train.skipped] == [(4, "no text")]
    assert "phrase 3 (line 4) is left out: no text" in train.notes
    assert test.texts == ["fine .", "fine"]
    assert test.labels == ["3", "4"]
    assert test.groups == ["3", "3"]
    assert "phrase 8 (line 4) is left out: no label" in test.notes
    assert train.source == test.source == "movie-reviews"
    assert "5 rows, where 156,060 were published" in train.notes
    assert any(note.startswith("not the copy") and "test.tsv" in note for note in test.notes)
    assert catalogue.held_out("movie-reviews") == ("test",)
    (data / "movie-reviews" / "test_labels_from_sst.tsv").unlink()
    assert list(catalogue.load("movie-reviews")) == ["train"]
    assert catalogue.held_out("movie-reviews") == ()


def test_splits_of_the_publisher_are_known_before_a_set_is_fetched():
    assert catalogue.held_out("sst") == ("valid", "test")
    assert catalogue.held_out("imdb") == ("test",)
    assert catalogue.held_out("movie-reviews") == ()


def test_the_digest_of_the_test_set_covers_its_labels(data: Path):
    folder = write(data / "movie-reviews", train_tsv=TRAIN, test_tsv=TEST, test_labels_from_sst_tsv=LABELS)
    before, content = catalogue.load("movie-reviews"), Content.of(catalogue.paths("movie-reviews"))
    write(folder, test_labels_from_sst_tsv=LABELS.replace("7\t4", "7\t1"))
    after = catalogue.load("movie-reviews")
    assert before["train"].digest == after["train"].digest == hashlib.sha256(TRAIN.encode()).hexdigest()
    assert before["test"].digest != after["test"].digest
    changed = Content.of(catalogue.paths("movie-reviews"))
    assert [a == b for a, b in zip(content.lines, changed.lines, strict=True)] == [True, True, False]


def test_without_labels_there_is_no_test_set_and_a_note_says_so(data: Path):
    write(data / "movie-reviews", train_tsv=TRAIN, test_tsv=TEST)
    splits = catalogue.load("movie-reviews")
    assert set(splits) == {"train"}
    assert any("no test set" in note for note in splits["train"].notes)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train_tsv": TRAIN.replace("\t0\n", "\t7\n")}, r"train\.tsv:5: the label of phrase 4 is '7'"),
        ({"train_tsv": TRAIN.replace("Phrase\t", "Text\t")}, r"train\.tsv: no column 'Phrase'"),
        ({"train_tsv": TRAIN + "6\t2\tragged\n"}, r"train\.tsv:7: "),
        (
            {"train_tsv": TRAIN, "test_tsv": TEST.replace("\t3\t", "\t2\t"), "test_labels_from_sst_tsv": LABELS},
            r"sentence 2 stands in train\.tsv and in test\.tsv",
        ),
    ],
)
def test_damaged_movie_reviews_are_refused(data: Path, files: dict[str, str], message: str):
    write(data / "movie-reviews", **files)
    with pytest.raises(DataError, match=message):
        catalogue.load("movie-reviews")


def test_what_needs_an_account_says_which_files_go_where(data: Path, cache: Path):
    with pytest.raises(DataError) as error:
        catalogue.load("movie-reviews")
    message = str(error.value)
    assert "https://www.kaggle.com/" in message
    assert "put train.tsv (and, for a test set, test.tsv and test_labels_from_sst.tsv) into" in message
    assert str(cache / "data" / "movie-reviews") in message
    assert str(data / "movie-reviews") in message
    write(cache / "data" / "movie-reviews", train_tsv=TRAIN)  # do as it says
    assert len(catalogue.load("movie-reviews")["train"]) == 4


# Trees

LABEL = st.sampled_from("01234")
WORD = st.text("ab'.,-\u00a0\u0085é大", min_size=1, max_size=4)
TREE = st.recursive(
    st.tuples(LABEL, WORD).map(lambda leaf: (f"({leaf[0]} {leaf[1]})", leaf[0], [leaf[1]])),
    lambda children: st.tuples(LABEL, st.lists(children, min_size=1, max_size=3)).map(
        lambda node: (
            f"({node[0]} {' '.join(text for text, _, _ in node[1])})",
            node[0],
            [word for _, _, words in node[1] for word in words],
        )
    ),
    max_leaves=12,
)


def read_trees(folder: Path, lines: list[str]) -> Any:
    trees = "\n".join(lines) + "\n"
    return write(folder / "sst", train_txt=trees, dev_txt="(2 x)\n", test_txt="(2 x)\n")


@settings(derandomize=True, deadline=None, max_examples=60)
@given(trees=st.lists(TREE, min_size=1, max_size=4))
def test_any_tree_gives_its_words_and_its_root(tmp_path_factory: pytest.TempPathFactory, trees: list[Any]):
    folder = tmp_path_factory.mktemp("data")
    read_trees(folder, [text for text, _, _ in trees])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RNNLAB_DATA", str(folder))
        found = catalogue.load("sst")["train"]
    assert found.labels == [label for _, label, _ in trees]
    assert found.texts == [" ".join(words) for _, _, words in trees]


def test_brackets_and_slashes_are_written_out(data: Path):
    read_trees(data, [r"(3 (2 -LRB-) (3 (2 and\/or) (2 -RRB-)))"])
    splits = catalogue.load("sst")
    assert splits["train"].texts == ["( and/or )"]
    assert list(splits) == ["train", "valid", "test"]


def test_every_labelled_phrase_of_the_training_trees_is_a_training_row(data: Path):
    write(
        data / "sst",
        train_txt="(3 (2 It) (4 (3 works) (2 .)))\n(1 (2 It) (1 (3 works) (2 .)))\n(2 It)\n",
        dev_txt="(0 (1 never) (2 seen))\n",
        test_txt="(4 (1 nor) (2 this))\n",
    )
    splits = catalogue.load("sst", phrases=True)
    train = splits["train"]
    assert list(zip(train.texts or [], train.labels, strict=True)) == [  # each once; under two labels, twice
        ("It", "2"),
        ("works", "3"),
        (".", "2"),
        ("works .", "4"),
        ("It works .", "3"),
        ("works .", "1"),
        ("It works .", "1"),
    ]
    assert train.lines is not None
    assert train.lines.tolist() == [1, 1, 1, 1, 1, 2, 2]
    assert "trained on 7 phrases, the distinct subtrees of 3 sentences" in train.notes[0]
    assert (splits["valid"].texts, splits["test"].texts) == (["never seen"], ["nor this"])


@pytest.mark.parametrize(
    "broken",
    [
        "(3 (2 It) (3 works)",
        "(3 (2 It) (3 works)))",
        "(3 (2 It) works)",
        "(5 (2 It) (3 works))",
        "((2 It) (3 works))",
        "(3 (2 It) (3 works)) (2 .)",
        "(3 (2 It works))",
        "(3)",
        "It works",
        "",
        "(3 \0 (2 x))",
    ],
)
def test_a_broken_tree_is_named_by_file_and_line(data: Path, broken: str):
    read_trees(data, ["(2 fine)", broken, "(2 fine)"])
    with pytest.raises(DataError, match=r"train\.txt:2: not a tree"):
        catalogue.load("sst")


# Titles and series


def test_titles_get_the_names_of_their_classes(data: Path):
    rows = {"train_txt": '他说"好\t1\n股市\t0\n', "dev_txt": "球\t1\n", "test_txt": "网\t0\n"}
    folder = write(data / "thucnews", class_txt="stocks\nsports", **rows)
    splits = catalogue.load("thucnews")
    assert splits["train"].texts == ['他说"好', "股市"]
    assert {split: found.labels for split, found in splits.items()} == {
        "train": ["sports", "stocks"],
        "valid": ["sports"],
        "test": ["stocks"],
    }
    digest = splits["test"].digest
    write(folder, class_txt="finance\nsports")
    assert catalogue.load("thucnews")["test"].digest != digest
    write(folder, test_txt="网\t0\n球\t2\n")
    with pytest.raises(DataError, match=r"test\.txt:2: class '2' isn't a line of class\.txt"):
        catalogue.load("thucnews")


def test_series_are_time_by_channel(data: Path):
    write(data / "uea", BasicMotions_TRAIN_ts=TS + "1,2,3:4,5,6:1\n7:8:2\n", BasicMotions_TEST_ts=TS + "1:2:1\n")
    train = catalogue.load("basic-motions")["train"]
    assert train.series is not None
    assert [s.tolist() for s in train.series] == [[[1, 4], [2, 5], [3, 6]], [[7, 8]]]
    assert train.labels == ["1", "2"]


# Fetching


class Silent(http.server.SimpleHTTPRequestHandler):
    requests = 0

    def do_GET(self) -> None:
        Silent.requests += 1
        time.sleep(0.1)  # time enough for a second process to ask too, if nothing keeps it from that
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A folder and the address at which it is served."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "site"
    folder.mkdir()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def publish(monkeypatch: pytest.MonkeyPatch, name: str, address: str, archive: Path | None = None) -> None:
    """Let an entry be fetched from here; with an archive, its sum counts as published."""

    def moved(download: Download) -> Download:
        url = f"{address}/{download.url.rpartition('/')[2]}"
        known = archive.read_bytes() if archive else None
        sha256 = hashlib.sha256(known).hexdigest() if known else None
        return dataclasses.replace(download, url=url, sha256=sha256, size=len(known) if known else None)

    found = catalogue.entry(name)
    moved_entry = dataclasses.replace(found, downloads=tuple(moved(d) for d in found.downloads))
    monkeypatch.setitem(published.ENTRIES, name, moved_entry)


def make_zip(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text)  # without the time: the same members give the same bytes
    return path


VOWELS = {"JapaneseVowels_TRAIN.ts": TS + "1,2:3,4:1\n", "JapaneseVowels_TEST.ts": TS + "1:3:2\n"}


def test_without_a_published_sum_the_first_download_is_trusted_and_said_so(
    site: tuple[Path, str], cache: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, address = site
    archive = make_zip(folder / "JapaneseVowels.zip", **VOWELS, **{"readme.md": "x"})
    publish(monkeypatch, "japanese-vowels", address)
    seen: list[tuple[int, int | None]] = []
    splits = catalogue.load("japanese-vowels", progress=lambda *step: seen.append(step))
    cached = cache / "data" / "japanese-vowels"
    assert [len(found) for found in splits.values()] == [1, 1]
    assert seen[-1] == (archive.stat().st_size, archive.stat().st_size)
    assert any("without a published checksum" in note for note in splits["train"].notes)
    assert sorted(p.name for p in cached.iterdir() if not p.name.startswith(".")) == sorted(VOWELS)
    recorded = json.loads((cache / "data" / "checksums.json").read_text())
    assert recorded[f"{address}/JapaneseVowels.zip"] == hashlib.sha256(archive.read_bytes()).hexdigest()

    archive.unlink()  # nothing is fetched twice
    again = catalogue.load("japanese-vowels")
    assert again["train"].notes == splits["train"].notes

    for file in VOWELS:  # the publisher changes the file, and it is fetched again
        (cached / file).unlink()
    make_zip(archive, **VOWELS, more="x")
    with pytest.raises(DataError, match=r"not the file that it was at your first download"):
        catalogue.load("japanese-vowels")
    assert catalogue.locate("japanese-vowels") is None
    make_zip(archive, **VOWELS, **{"readme.md": "x"})
    assert catalogue.load("japanese-vowels")["train"].labels == ["1"]


def test_a_fetched_file_that_changed_is_refused(site: tuple[Path, str], cache: Path, monkeypatch: pytest.MonkeyPatch):
    folder, address = site
    make_zip(folder / "JapaneseVowels.zip", **VOWELS)
    publish(monkeypatch, "japanese-vowels", address)
    catalogue.load("japanese-vowels")
    path = cache / "data" / "japanese-vowels" / "JapaneseVowels_TEST.ts"
    path.write_text(path.read_text().replace("1:3:2", "1:4:2"))
    with pytest.raises(DataError, match=r"JapaneseVowels_TEST\.ts: changed since it was fetched"):
        catalogue.load("japanese-vowels")
    path.unlink()  # do as it says
    assert catalogue.load("japanese-vowels")["test"].labels == ["2"]


def test_a_download_with_a_published_sum_must_have_it(
    site: tuple[Path, str], cache: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, address = site
    trees = {f"trees/{name}.txt": f"(2 {name})\n" for name in ("train", "dev", "test")}
    archive = make_zip(folder / "trainDevTestTrees_PTB.zip", **trees)
    publish(monkeypatch, "sst", address, archive)
    good = archive.read_bytes()
    bad = bytearray(good)
    bad[60] ^= 1
    archive.write_bytes(bad)
    with pytest.raises(DataError, match=hashlib.sha256(good).hexdigest()):
        catalogue.get("sst")
    assert catalogue.locate("sst") is None
    archive.write_bytes(good)
    splits = catalogue.load("sst")
    assert splits["valid"].texts == ["dev"]
    assert not any("checksum" in note for note in splits["valid"].notes)


def test_an_archive_that_is_none_is_not_remembered(
    site: tuple[Path, str], cache: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, address = site
    (folder / "JapaneseVowels.zip").write_text("<html>moved</html>")
    publish(monkeypatch, "japanese-vowels", address)
    with pytest.raises(DataError, match=r"JapaneseVowels\.zip: not a ZIP archive"):
        catalogue.get("japanese-vowels")
    assert not (cache / "data" / "checksums.json").exists()


def test_a_cache_that_cannot_be_used_is_a_plain_error(cache: Path, monkeypatch: pytest.MonkeyPatch):
    publish(monkeypatch, "japanese-vowels", "http://127.0.0.1:9")
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"can't be written .* RNNLAB_CACHE"):
        catalogue.get("japanese-vowels")
    cache.unlink()
    folder = write(cache / "data" / "japanese-vowels", **{f.replace(".", "_"): text for f, text in VOWELS.items()})
    (folder.parent / "checksums.json").write_text("[1]")
    with pytest.raises(DataError, match=r"checksums\.json: damaged"):
        catalogue.load("japanese-vowels")


def test_single_files_are_fetched_one_by_one(site: tuple[Path, str], monkeypatch: pytest.MonkeyPatch):
    folder, address = site
    write(folder, train_txt="一\t0\n", dev_txt="二\t0\n", test_txt="三\t1\n")
    publish(monkeypatch, "thucnews", address)
    with pytest.raises(DataError, match=r"class\.txt: the server answers 404"):
        catalogue.get("thucnews")
    write(folder, class_txt="a\nb")
    (folder / "train.txt").unlink()  # it is there already
    assert catalogue.load("thucnews")["test"].labels == ["b"]


def test_an_archive_put_there_by_hand_is_used(cache: Path, monkeypatch: pytest.MonkeyPatch):
    target = cache / "data" / "japanese-vowels"
    target.mkdir(parents=True)
    make_zip(target / "JapaneseVowels.zip", **VOWELS)
    publish(monkeypatch, "japanese-vowels", "http://127.0.0.1:9")
    assert len(catalogue.load("japanese-vowels")["train"]) == 1


def make_imdb(path: Path, reviews: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        folder = tarfile.TarInfo("aclImdb/train/pos")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, text in reviews.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
        link = tarfile.TarInfo("aclImdb/train/pos/3_9.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    return path


def test_imdb_is_packed_from_one_file_a_review(
    site: tuple[Path, str], cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    folder, address = site
    reviews = {
        "aclImdb/README": b"about",
        "aclImdb/train/pos/10_9.txt": 'Très “good”, he said: "yes"'.encode(),
        "aclImdb/train/pos/2_7.txt": b"good<br /><br />film ",
        "aclImdb/train/neg/0_3.txt": b"bad",
        "aclImdb/train/unsup/0_0.txt": b"unlabelled",
        "aclImdb/train/neg/../../../evil_1.txt": b"evil",
        "aclImdb/test/pos/0_10.txt": b"line\none",
        "aclImdb/test/neg/0_1.txt": b"awful\x85".replace(b"\x85", "\u0085".encode()),
        "evil/aclImdb/test/neg/1_1.txt": b"evil",
    }
    archive = make_imdb(folder / "aclImdb_v1.tar.gz", reviews)
    publish(monkeypatch, "imdb", address, archive)
    splits = catalogue.load("imdb")
    assert splits["train"].texts == ["bad", "good<br /><br />film ", 'Très “good”, he said: "yes"']
    assert splits["train"].labels == ["0", "1", "1"]
    assert splits["test"].texts == ["awful\u0085", "line\none"]
    cached = cache / "data" / "imdb"
    assert sorted(p.name for p in cached.iterdir() if not p.name.startswith(".")) == ["test.csv", "train.csv"]
    packed = (cached / "train.csv").read_bytes()
    assert packed.startswith(b"id,rating,label,text\r\n0,3,0,bad\r\n2,7,1,good<br />")
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize("damage", ["cut", "page", "empty"])
def test_a_damaged_imdb_archive_is_refused(cache: Path, damage: str):
    target = cache / "data" / "imdb"
    target.mkdir(parents=True)
    noise = np.random.default_rng(0).integers(97, 122, 50_000, dtype=np.uint8).tobytes()
    archive = make_imdb(target / "a.tar.gz", {"aclImdb/train/pos/0_9.txt": noise} if damage == "cut" else {})
    if damage == "cut":
        archive.write_bytes(archive.read_bytes()[:20_000])
    if damage == "page":
        archive.write_text("<html>")
    with pytest.raises(DataError, match=r"a\.tar\.gz: (holds no reviews|not the archive)"):
        published._pack_imdb(archive, target)
    assert not (target / "train.csv").exists()


def test_two_processes_at_once_fetch_once(site: tuple[Path, str], cache: Path):
    folder, address = site
    make_zip(folder / "JapaneseVowels.zip", **VOWELS)
    code = (
        "import dataclasses, sys; from rnnlab.data import catalogue as c; e = c.entry('japanese-vowels'); "
        "d = dataclasses.replace(e.downloads[0], url=sys.argv[1]); "
        "c.ENTRIES[e.name] = dataclasses.replace(e, downloads=(d,)); "
        "print('ready', flush=True); input(); "
        "assert len(c.load(e.name)['train']) == 1"
    )
    arguments = [sys.executable, "-c", code, f"{address}/JapaneseVowels.zip"]
    before = Silent.requests
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen(arguments, **pipes) for _ in range(2)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate(timeout=60)
    assert [worker.returncode for worker in workers] == [0, 0]
    assert Silent.requests == before + 1


# The real data


@lru_cache
def loaded(name: str) -> dict[str, Examples]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RNNLAB_DATA", str(SHARED))
        return catalogue.load(name)


@pytest.mark.data
@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "classes"),
    [
        ("movie-reviews", {"train": 156_059, "test": 66_291}, 5),
        ("sst", {"train": 8_544, "valid": 1_101, "test": 2_210}, 5),
        ("imdb", {"train": 25_000, "test": 25_000}, 2),
        ("thucnews", {"train": 90_526, "valid": 10_000, "test": 10_000}, 10),
        ("japanese-vowels", {"train": 270, "test": 370}, 9),
        ("basic-motions", {"train": 40, "test": 40}, 4),
    ],
)
def test_the_published_sets(name: str, rows: dict[str, int], classes: int):
    splits = loaded(name)
    assert {split: len(found) for split, found in splits.items()} == rows
    digests = {found.digest for found in splits.values()}
    assert len(digests) == len(splits)
    for found in splits.values():
        assert len(set(found.labels)) == classes
        assert found.source == name
        assert not any(note.startswith("not the copy") for note in found.notes)
        if found.texts is not None:
            assert all(text.strip() for text in found.texts)
        else:
            assert found.series is not None
            assert all(s.dtype == np.float32 for s in found.series)


@pytest.mark.data
@needs_data
def test_details_of_the_published_sets():
    reviews = loaded("movie-reviews")
    assert len(set(reviews["train"].groups or ())) == 8_529
    assert "phrase 2006 (line 2007) is left out: no text" in reviews["train"].notes
    assert "phrase 157451 (line 1392) is left out: no text and no label" in reviews["test"].notes
    assert Counter(reviews["train"].labels)["2"] > 79_000
    news = loaded("thucnews")
    assert "90,526 rows, where 180,000 were published" in news["train"].notes
    assert news["valid"].labels[:2] == ["game", "society"]
    vowels = loaded("japanese-vowels")["train"].series or []
    assert {s.shape[1] for s in vowels} == {12}
    assert min(len(s) for s in vowels) == 7
