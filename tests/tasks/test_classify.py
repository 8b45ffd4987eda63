"""From a file, a public data set or the generator to encoded data, once and with an identity; and back to its words."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnlab.answers.label import probabilities
from rnnlab.core.errors import ConfigError, DataError
from rnnlab.tasks.base import TASKS
from rnnlab.tasks.classify import Classify


def test_resolve_fills_in_what_was_automatic(reviews_csv):
    task = Classify(data=str(reviews_csv))
    resolved = task.resolve()
    assert (task.fingerprint, task.tokenizer) == (None, "auto")
    assert resolved.tokenizer == "words"
    assert resolved.fingerprint
    assert resolved.resolve() == resolved


def test_the_fingerprint_follows_the_data_and_the_settings(reviews_csv):
    def fingerprint(**settings):
        return Classify(data=str(reviews_csv), **settings).resolve().fingerprint

    first = fingerprint()
    assert fingerprint(text="text", label="label") == first  # said or guessed, the rows are the same
    assert len({first, fingerprint(split_seed=1), fingerprint(min_count=2), fingerprint(max_length=2)}) == 4
    with open(reviews_csv, "a", encoding="utf-8") as file:
        file.write("a row more,good\n")
    assert fingerprint() != first


def test_a_resolved_task_no_longer_needs_the_file(reviews_csv):
    task = Classify(data=str(reviews_csv)).resolve()
    reviews_csv.unlink()
    assert len(task.load().train) == 42
    with pytest.raises(DataError, match="no such file"):
        Classify(data=str(reviews_csv)).load()


def test_data_that_changed_since_the_plan_is_refused(reviews_csv, monkeypatch, tmp_path):
    task = Classify(data=str(reviews_csv)).resolve()
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "another"))
    with open(reviews_csv, "a", encoding="utf-8") as file:
        file.write("a row more,good\n")
    with pytest.raises(DataError, match="the data changed since the run was planned"):
        task.load()


def test_validation_and_test_files_are_not_mixed_up(reviews_csv):
    """The same files in other roles are other data, also when the first was kept in the cache."""
    held_out = reviews_csv.with_name("held-out.csv")
    held_out.write_text("text,label\nthe great film,good\nthe dull film,bad\n", encoding="utf-8")
    as_valid = Classify(data=str(reviews_csv), valid=str(held_out)).load()
    as_test = Classify(data=str(reviews_csv), test=str(held_out)).load()
    assert (len(as_valid.valid), len(as_test.test)) == (2, 2)
    assert len(as_valid.test) == 12


def test_the_same_bytes_under_another_suffix_are_read_anew(tmp_path):
    """A comma separates columns in .csv, but not in .tsv."""
    rows = [f"some, words\tand {n},{'ab'[n % 2]}" for n in range(40)]
    for suffix in ("csv", "tsv"):
        (tmp_path / f"rows.{suffix}").write_text("\n".join(rows) + "\n", encoding="utf-8")
    first = Classify(data=str(tmp_path / "rows.csv"), columns=("x", "text", "label"), text="text", label="label")
    assert first.load().labels == ("a", "b")
    second = Classify(data=str(tmp_path / "rows.tsv"), columns=("x", "text", "label"), text="text", label="label")
    with pytest.raises(DataError, match="fields instead of 3"):
        second.load()


def test_the_embedded_reviews():
    english, chinese = Classify(rows=100).load(), Classify(rows=100, language="zh").load()
    assert sum(len(part) for part in (english.train, english.valid, english.test)) == 100
    assert english.tag_names == chinese.tag_names
    assert english.vocabulary is not None
    assert chinese.vocabulary is not None
    assert not set(english.vocabulary.words[2:]) & {"不", "好"}
    assert {"不", "好"} & set(chinese.vocabulary.words)


# --- splits that the seed draws -----------------------------------------------------------------------------------


def test_splits_are_resolved_as_each_would_be_alone(reviews_csv):
    task = Classify(data=str(reviews_csv))
    several = list(task.resolve_splits([0, 3]))
    assert several == [task.replace(split_seed=seed).resolve() for seed in (0, 3)]
    assert several[0].with_split(3).fingerprint is None  # it goes with its split


@pytest.mark.parametrize("grouped", [True, False])
def test_what_belongs_together_stays_together_in_every_split(tmp_path, grouped):
    """Each row has a word of its own, so the vocabulary, which training rows alone make, tells which these are."""
    writers = [f"writer{n % 12}" for n in range(60)]  # with a group column they stay together; else equal texts do
    rows = [f"film {writer} {f'row{n}' if grouped else ''},{'ab'[n % 2]},{writer}" for n, writer in enumerate(writers)]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label,writer", *rows]) + "\n", encoding="utf-8")
    task = Classify(data=str(tmp_path / "rows.csv"), label="label", text="text", group="writer" if grouped else None)
    seen = set()
    for split in task.resolve_splits(range(6)):
        data = split.load()
        assert data.vocabulary is not None
        trained = {word for word in data.vocabulary.words if word.startswith("writer")}
        tested = {text.split()[1] for text in split.texts(range(len(data.test))) or ()}
        assert (len(trained | tested), trained & tested) == (len(trained) + len(tested), set())
        assert len(trained) < 11  # the others are validation rows
        parts = [set(part.groups.tolist()) for part in (data.train, data.valid, data.test)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == 12
        seen.add(frozenset(tested))
    assert len(seen) > 1


def test_scaling_is_that_of_the_training_rows_of_each_split(tmp_path):
    rows = [{"values": [n, n * n, -n], "label": "ab"[n % 2]} for n in range(60)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    scalers = set()
    for split in Classify(data=str(tmp_path / "rows.jsonl")).resolve_splits(range(3)):
        data = split.load()
        assert data.train.values.mean() == pytest.approx(0, abs=1e-5)
        assert data.train.values.std() == pytest.approx(1, abs=1e-5)
        assert data.scaler is not None
        scalers.add(data.scaler.mean)
    assert len(scalers) == 3


def test_probabilities_of_large_logits_are_finite():
    shares = probabilities(np.array([[1e4, 0.0], [0.0, 0.0]], np.float32))
    assert shares.tolist() == [[1.0, 0.0], [0.5, 0.5]]


# --- back to the words --------------------------------------------------------------------------------------------

ODD = [  # as a file may have them: quotes, line breaks, commas, other scripts, spaces that no tokeniser keeps
    'she said "no, thanks" and left',
    "one line\nand another",
    "这部电影，太好看了！",
    "  spaces   before and\tbetween  ",
    "<b>HTML</b> & <script>alert('x')</script>",
    "cafe\u0301 \U0001f44d\U0001f3fd 👨‍👩‍👧",
]


def write_odd(path: Path, rows: int = 120) -> list[tuple[str, str, str]]:
    """Rows of text, label and sentence, three to a sentence."""
    written = [(f"{ODD[n % len(ODD)]} №{n}", "ab"[n % 2], f"s{n // 3}") for n in range(rows)]
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label", "sentence"), *written])
    return written


def check_texts(task: Classify, written: Sequence[tuple[str, ...]]) -> list[str]:
    """The texts of all test rows, after a check that each is a row of the file with this label."""
    data = task.load()
    texts = task.texts(range(len(data.test)))
    assert texts is not None
    label_of = {row[0]: row[1] for row in written}
    assert [label_of[text] for text in texts] == [data.labels[target] for target in data.test.targets]
    assert len(set(texts)) == len(texts) == len(data.test)
    return texts


def test_the_words_of_test_rows_are_those_of_the_file(tmp_path):
    written = write_odd(tmp_path / "odd.csv")
    task = Classify(data=str(tmp_path / "odd.csv"), text="text", label="label").resolve()
    texts = check_texts(task, written)
    assert len(texts) == 24
    assert task.texts([7, 3, 3]) == [texts[7], texts[3], texts[3]]
    assert task.texts([]) == []
    other = task.replace(split_seed=1, fingerprint=None)
    assert check_texts(other, written) != texts


def test_words_with_groups_and_with_cut_rows(tmp_path):
    written = write_odd(tmp_path / "odd.csv")
    settings: dict[str, Any] = {
        "data": str(tmp_path / "odd.csv"),
        "text": "text",
        "label": "label",
        "group": "sentence",
    }
    task = Classify(**settings, max_length=2, min_count=3).resolve()
    texts = check_texts(task, written)
    sentences = {row[0]: row[2] for row in written}
    groups = task.load().test.groups.tolist()
    assert len(set(zip(groups, (sentences[text] for text in texts), strict=True))) == len(set(groups)) == 8
    assert any(len(text) > 20 for text in texts)  # whole, though the model saw two tokens


def test_words_of_a_sample_and_of_a_test_file(tmp_path):
    written = write_odd(tmp_path / "odd.csv")
    with open(tmp_path / "test.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label", "sentence"), *(written[n] for n in range(100))])
    settings: dict[str, Any] = {"data": str(tmp_path / "odd.csv"), "text": "text", "label": "label", "sample": 60}
    sampled = check_texts(Classify(**settings).resolve(), written)
    assert len(sampled) == 12
    given = check_texts(Classify(**settings, test=str(tmp_path / "test.csv")).resolve(), written)
    assert len(given) == 60
    assert given == [row[0] for row in written if row[0] in given]  # in the order of the file


def test_words_of_the_embedded_reviews():
    for language in ("en", "zh"):
        task = Classify(rows=100, language=language).resolve()
        [examples] = task.read().values()
        check_texts(task, list(zip(examples.texts or (), examples.labels, strict=True)))


def test_words_of_a_file_that_changed_are_refused(reviews_csv):
    task = Classify(data=str(reviews_csv)).resolve()
    before = task.texts([0, 1])
    assert before is not None
    text = reviews_csv.read_text(encoding="utf-8")
    reviews_csv.write_text(text.replace(before[0], before[0].replace("film", "book")), encoding="utf-8")
    with pytest.raises(DataError, match=r"reviews\.csv: not the rows that were trained and tested on"):
        task.texts([0, 1])
    assert task.texts([1]) == before[1:]  # this one still is what it was
    reviews_csv.write_text(text + "one more,good\n", encoding="utf-8")
    with pytest.raises(DataError, match="not the rows"):
        task.texts([0, 1])
    reviews_csv.unlink()
    with pytest.raises(DataError, match="no such file"):
        task.texts([0, 1])


def test_a_test_file_with_other_labels_or_fewer_rows_is_not_the_same(reviews_csv):
    held_out = reviews_csv.with_name("held-out.csv")
    whole = "text,label\nthe great film,good\nthe dull film,bad\nthe poor film,bad\n"
    held_out.write_text(whole, encoding="utf-8")
    task = Classify(data=str(reviews_csv), test=str(held_out)).resolve()
    assert task.texts([2]) == ["the poor film"]
    for other in (whole.replace("poor film,bad", "poor film,good"), whole.replace("the poor film,bad\n", "")):
        held_out.write_text(other, encoding="utf-8")
        with pytest.raises(DataError, match="not the rows that were trained and tested on"):
            task.texts([2])


def test_numbers_have_no_words(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{"values": rng.normal(size=4).tolist(), "label": "ab"[n % 2]} for n in range(60)]
    path = tmp_path / "numbers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    task = Classify(data=str(path), text="values", label="label")
    assert task.load().features == 1
    assert task.texts([0]) is None


def test_phrases_are_a_setting_of_the_treebank_alone_and_new():
    assert "phrases" not in Classify(data="sst").to_dict()
    assert Classify(data="sst", phrases=True).to_dict()["phrases"] is True
    for data in ("imdb", "reviews", "rows.csv"):
        with pytest.raises(ConfigError, match="'phrases' is a setting of sst"):
            TASKS.parse({"kind": "classify", "data": data, "phrases": True})
