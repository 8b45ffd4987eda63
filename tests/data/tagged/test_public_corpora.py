"""The public corpora, as they are."""

import os
from pathlib import Path

import numpy as np
import pytest

from rnnlab.data.tagged import schemes
from rnnlab.data.tagged.reading import has_tags, is_tagged, parts_of, read_sentences
from rnnlab.data.tagged.writing import write_tagged

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("RNNLAB_DATA" not in os.environ, reason="RNNLAB_DATA isn't set"),
]
DATA = Path(os.environ.get("RNNLAB_DATA", ""))


def test_ewt():
    found = parts_of(DATA / "ud-english-ewt")
    parts = {part: read_sentences(path) for part, path in found.items()}
    assert {part: len(sentences) for part, sentences in parts.items()} == {"train": 12544, "valid": 2001, "test": 2077}
    train = parts["train"]
    assert (train.scheme, train.unit, train.column, len(train.labels)) == (None, "words", "upos", 17)
    assert train.notes[0] == ("passed over: multi-word tokens, whose words are read (2,614), and empty nodes (37)")
    assert train.texts is not None
    assert train.tokens_of(1)[:4] == ["[", "This", "killing", "of"]
    assert train.texts[1].startswith("[This killing of")
    assert len(set(map(id, train.tokens))) == len(set(train.tokens))


def test_resume():
    found = parts_of(DATA / "resume-ner")
    parts = {part: read_sentences(path) for part, path in found.items()}
    assert {part: len(sentences) for part, sentences in parts.items()} == {"train": 3821, "valid": 463, "test": 477}
    train = parts["train"]
    assert (train.scheme, train.unit) == ("BMES", "characters")
    assert train.notes == (
        "tags are entities in the scheme BMES (8 types)",
        "tags that mustn't follow each other in the scheme BMES: 4 (lines 62390, 62392, 64412, 64414)",
    )


def test_cluener():
    found = parts_of(DATA / "cluener")
    assert {part: has_tags(path) for part, path in found.items()} == {"train": True, "valid": True, "test": False}
    train, valid = read_sentences(found["train"]), read_sentences(found["valid"])
    assert (len(train), len(valid), len(read_sentences(found["test"], tagged=False))) == (10748, 1343, 1345)
    assert (train.scheme, train.unit) == ("BIOES", "characters")
    assert "tags are entities in the scheme BIOES (10 types)" in train.notes
    ids = schemes.ids_of(valid.tags or [], valid.labels)
    counts = schemes.count_spans(ids, ids, valid.offsets, valid.labels, "BIOES")
    assert counts.true.sum() == counts.right.sum() == 3072


@pytest.mark.parametrize("name", ["ud-english-ewt/en_ewt-ud-test.conllu", "resume-ner/test.bmes", "cluener/dev.jsonl"])
def test_written_with_its_own_tags_it_is_read_back(name, tmp_path):
    before = read_sentences(DATA / name)
    out = tmp_path / Path(name).name
    write_tagged(DATA / name, out, [before.tags_of(row) for row in range(len(before))])
    after = read_sentences(out)
    assert (after.tokens, after.tags) == (before.tokens, before.tags)
    np.testing.assert_array_equal(after.lines, before.lines)
    if not name.endswith("jsonl"):  # spaces and the order of keys within JSON are free
        assert out.read_bytes() == (DATA / name).read_bytes()


def test_other_data_sets_are_no_tagged_corpora():
    tagged = {folder.name for folder in DATA.iterdir() if folder.is_dir() and is_tagged(folder)}
    assert tagged == {"ud-english-ewt", "resume-ner", "cluener"}
