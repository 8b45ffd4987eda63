"""From a file, a public data set or the generator to encoded data, once and with an identity."""

import pytest

from rnnlab.errors import DataError
from rnnlab.tasks.answers import probabilities
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


def test_probabilities_of_large_logits_are_finite():
    import numpy as np

    shares = probabilities(np.array([[1e4, 0.0], [0.0, 0.0]], np.float32))
    assert shares.tolist() == [[1.0, 0.0], [0.5, 0.5]]
