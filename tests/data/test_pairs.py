"""Pairs of texts: which columns they are, how they are split, and what becomes of them."""

import contextlib
import json
import os
import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from test_guessing import TABLES, column_values

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.data import pair_splits, store
from rnnlab.data.pair_tables import looks_like_pairs
from rnnlab.data.pairs import Pairs, encode_pairs, read_pairs
from rnnlab.data.vocabulary import BEGIN, END, UNKNOWN

FUZZ = int(os.environ.get("RNNLAB_FUZZ", "600")) // 5
NOUNS = {
    "cat": "猫",
    "dog": "狗",
    "bird": "鸟",
    "horse": "马",
    "fish": "鱼",
    "tiger": "虎",
    "sheep": "羊",
    "bear": "熊",
}
DOES = {"eats": "吃饭", "sleeps": "睡觉", "runs": "跑步", "sings": "唱歌", "swims": "游泳", "waits": "等人"}
TIMES = {"today": "今天", "now": "现在", "again": "又"}
SENTENCES = [
    (f"The {noun} {verb} {when}.", f"{zh_when}{zh_noun}在{zh_verb}。")
    for noun, zh_noun in NOUNS.items()
    for verb, zh_verb in DOES.items()
    for when, zh_when in TIMES.items()
]
CREDITS = [f"CC-BY 2.0 (France) Attribution: tatoeba.org #{n} (CM)" for n in range(len(SENTENCES))]


def written(path: Path, rows, header=None, between="\t") -> Path:
    lines = [between.join(map(str, row)) for row in ([header] if header else []) + list(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def pairs_of(rows) -> Pairs:
    return Pairs("made", tuple(a for a, _ in rows), tuple(b for _, b in rows), ("en", "zh"))


# --- reading ------------------------------------------------------------------------------------------------------


def test_credits_are_no_side_and_the_first_line_is_a_row(tmp_path):
    path = written(tmp_path / "cmn.txt", [(*pair, credit) for pair, credit in zip(SENTENCES, CREDITS, strict=True)])
    assert looks_like_pairs(path)
    found = read_pairs(path)
    assert list(zip(found.texts, found.written, strict=True)) == SENTENCES
    assert found.source == "cmn.txt"
    assert any("no header" in text for text in found.notes)


@pytest.mark.parametrize(
    ("header", "columns", "turned"),
    [
        (("english", "chinese"), ("english", "chinese"), False),
        (("en", "zh"), ("en", "zh"), False),
        (("英文", "中文"), ("英文", "中文"), False),
        (("译文", "原文"), ("原文", "译文"), True),
        (("target", "source"), ("source", "target"), True),
    ],
)
def test_headers(tmp_path, header, columns, turned):
    path = written(tmp_path / "pairs.tsv", SENTENCES, header)
    assert looks_like_pairs(path)
    found = read_pairs(path)
    assert found.columns == columns
    assert len(found) == len(SENTENCES)
    assert (found.texts[0] == SENTENCES[0][1]) == turned


def test_columns_by_name_and_by_number(tmp_path):
    rows = [(number, *pair) for number, pair in enumerate(SENTENCES)]
    path = written(tmp_path / "pairs.tsv", rows, ("id", "en", "zh"))
    assert read_pairs(path).columns == ("en", "zh")
    assert read_pairs(path, source="zh", target=2).columns == ("zh", "en")
    assert read_pairs(path, source="3").columns == ("zh", "en")
    bare = written(tmp_path / "bare.tsv", rows)
    assert read_pairs(bare, source=3, target=2).texts[0] == SENTENCES[0][1]
    assert read_pairs(bare, columns=["n", "a", "b"]).columns == ("a", "b")
    with pytest.raises(DataError, match="no column 'xx'"):
        read_pairs(path, source="xx")
    with pytest.raises(DataError, match="no column 4 for --target: there are 3"):
        read_pairs(path, target=4)
    with pytest.raises(DataError, match="can't be both"):
        read_pairs(path, source="en", target=2)


def test_other_formats(tmp_path):
    lines = [json.dumps({"src": a, "tgt": b}, ensure_ascii=False) for a, b in SENTENCES]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    quoted = [(f'"{a}"', f'"{b}"') for a, b in SENTENCES]
    csv = written(tmp_path / "pairs.csv", quoted, ("source", "target"), ",")
    for path in (tmp_path / "pairs.jsonl", csv):
        assert looks_like_pairs(path)
        found = read_pairs(path)
        assert list(zip(found.texts, found.written, strict=True)) == SENTENCES


def test_a_first_row_that_could_be_no_header(tmp_path):
    path = written(tmp_path / "same.tsv", [("OK", "OK"), *SENTENCES])
    assert read_pairs(path).texts[0] == "OK"


def test_blank_sides(tmp_path):
    path = written(tmp_path / "few.tsv", [*SENTENCES, ("only one.", " ")], ("en", "zh"))
    found = read_pairs(path)
    assert len(found) == len(SENTENCES)
    assert any("left out: 1 of 145" in text for text in found.notes)
    many = written(tmp_path / "many.tsv", [*SENTENCES, *[("only one.", "")] * 9], ("en", "zh"))
    with pytest.raises(DataError, match=r"many\.tsv:146: no text"):
        read_pairs(many)
    assert len(read_pairs(many, skip_bad=True)) == len(SENTENCES)


def test_one_column_or_three_texts_are_a_question(tmp_path):
    with pytest.raises(DataError, match="one column"):
        read_pairs(written(tmp_path / "one.tsv", [(a,) for a, _ in SENTENCES]))
    three = written(tmp_path / "three.tsv", [(a, b, a[::-1]) for a, b in SENTENCES], ("aa", "bb", "cc"))
    with pytest.raises(DataError, match="which column is read"):
        read_pairs(three)


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_no_labelled_table_is_taken_for_pairs(number, tmp_path):
    values = column_values(TABLES[number][0], number)
    path = written(tmp_path / "table.tsv", zip(*values.values(), strict=True), tuple(values))
    assert not looks_like_pairs(path)


@pytest.mark.parametrize("header", [("text", "label"), ("title", "content"), None])
def test_nor_labels_and_titles(tmp_path, header):
    rows = [(a, b if header == ("title", "content") else b[0]) for a, b in SENTENCES]
    assert not looks_like_pairs(written(tmp_path / "table.tsv", rows, header))


def test_whatever_the_bytes_there_is_no_traceback(tmp_path):
    good = "\n".join("\t".join(row) for row in SENTENCES[:30]).encode()
    for number in range(FUZZ):
        rng = random.Random(number)
        data = bytearray(good[: rng.randint(0, len(good))])
        for _ in range(rng.randint(0, 12)):
            at = rng.randint(0, len(data))
            data[at:at] = rng.choice([b"\t", b"\n", b'"', b"\0", b"\xff", "中".encode("gbk"), b"\r", b'"\t"', b"{"])
        path = tmp_path / f"pairs{rng.choice(['.tsv', '.csv', '.txt', '.jsonl', '.parquet'])}"
        path.write_bytes(bytes(data))
        looks_like_pairs(path)
        for number in (None, 1):
            with contextlib.suppress(DataError):
                assert len(read_pairs(path, source=number, skip_bad=number is None))


def test_memory_is_a_few_times_the_file(tmp_path):
    rng = random.Random(0)
    rows = [
        (" ".join(rng.choices(list(NOUNS), k=12)), "".join(rng.choices("天地玄黄宇宙洪荒", k=20)))
        for _ in range(20_000)
    ]
    path = written(tmp_path / "large.tsv", rows, ("en", "zh"))
    read_pairs(path)
    tracemalloc.start()
    try:
        read_pairs(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * path.stat().st_size


# --- splits -------------------------------------------------------------------------------------------------------


def test_components_are_those_of_the_slow_way():
    rng = np.random.default_rng(0)
    for _ in range(20):
        first, second = rng.integers(0, 20, 25), rng.integers(0, 20, 25)
        slow = np.arange(25)
        for _ in range(25):
            for a in range(25):
                for b in range(25):
                    if first[a] == first[b] or second[a] == second[b]:
                        slow[a] = slow[b] = min(slow[a], slow[b])
        found = pair_splits.components(first, second)
        assert np.array_equal(found[:, None] == found, slow[:, None] == slow)
        assert list(dict.fromkeys(found.tolist())) == list(range(found.max() + 1))


def test_the_share_of_a_random_split_is_what_drawing_finds():
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 3000, 4000), rng.integers(0, 3000, 4000)
    order = rng.permutation(4000)
    drawn = pair_splits.shares_with([first, second], order[:800], order[800:])
    assert abs(pair_splits.shared_if_random(first, second, 0.8) - drawn) < 0.04


def test_pairs_that_share_a_side_never_straddle():
    rows = [(f"word {n // 2} is here", f"字{(n + 1) // 2 if n % 10 else f'x{n}'}在这") for n in range(400)]
    rows[3] = ("WORD  1 is here", rows[3][1])
    data = encode_pairs({"train": pairs_of(rows)}, valid_fraction=0.15, test_fraction=0.15)
    groups = [set(part.groups.tolist()) for part in (data.train, data.valid, data.test)]
    assert not groups[0] & groups[1]
    assert not groups[0] & groups[2]
    assert not groups[1] & groups[2]
    assert data.profile["components"] == 40
    assert data.profile["largest"] == 10
    assert data.profile["shared_if_random"] > 0.7


def test_given_files_are_taken_as_they_are_and_leaks_are_told():
    parts = {"train": pairs_of(SENTENCES[:100]), "test": pairs_of([*SENTENCES[100:130], *SENTENCES[:10]])}
    data = encode_pairs(parts)
    assert len(data.test) == 40
    assert data.profile["leaks"] == {"test": pytest.approx(leak_of(data))}
    assert any("share a side with training pairs" in line for line in data.profile["lines"])


def leak_of(data) -> float:
    """By the texts alone."""
    spelled = {tuple(data.train.row(row).tolist()) for row in range(len(data.train))}
    rows = [tuple(data.test.row(row).tolist()) in spelled for row in range(len(data.test))]
    assert 0 < sum(rows) <= 10
    return sum(rows) / len(rows)


# --- encoding -----------------------------------------------------------------------------------------------------


def test_a_text_is_asked_for_once_with_all_its_references():
    rows = [pair for a, b in SENTENCES for pair in ((a, b), (a, f"{b[:-1]}呢。"), (a, b))]
    data = encode_pairs({"train": pairs_of(rows)})
    assert len(data.train) % 3 == 0
    assert len(data.train) + 3 * (len(data.valid) + len(data.test)) == len(rows)
    for name in ("valid", "test"):
        part, references = getattr(data, name), data.references[name]
        assert len(references) == len(part)
        assert all(len(found) == 2 for found in references)
        first = [found[0] for found in references]
        assert data.writes is not None
        assert np.array_equal(data.writes.targets(first).values, part.targets)


def test_targets_end_with_their_own_end_and_both_sides_can_be_read_again():
    data = encode_pairs({"train": pairs_of(SENTENCES)})
    assert data.tokenizer is not None
    assert data.tokenizer.name == "words"
    assert data.writes is not None
    assert data.writes.tokenizer is not None
    assert data.writes.vocabulary is not None
    assert data.writes.tokenizer.name == "chars"
    assert data.writes.vocabulary.words[BEGIN] == "<s>"
    known = dict(SENTENCES)
    lower = {a.lower(): b for a, b in known.items()}
    assert data.train.target_offsets is not None
    for row in range(len(data.train)):
        ids = data.train.targets[data.train.target_offsets[row] : data.train.target_offsets[row + 1]]
        assert ids[-1] == END
        assert END not in ids[:-1]
        text = data.tokenizer.join(data.vocabulary.spelled(data.train.row(row)))  # type: ignore[union-attr]
        assert data.writes.written(ids.tolist()) == lower[text]


def test_vocabularies_know_training_rows_alone():
    parts = {"train": pairs_of(SENTENCES), "test": pairs_of([("The unicorn eats now.", "麒麟在吃饭。")])}
    for tokenizer in ("words", "bpe"):
        data = encode_pairs(parts, tokenizer=tokenizer, target_tokenizer="bpe" if tokenizer == "bpe" else "auto")
        assert data.vocabulary is not None
        assert data.writes is not None
        assert data.writes.vocabulary is not None
        assert "麒" not in data.writes.vocabulary.words
        assert (data.test.targets == UNKNOWN).sum() == 2
        assert data.profile["unknown_written"]["test"] > 0
    assert data.profile["unknown"]["test"] == 0  # pieces of words are known


def test_rows_too_long():
    long = ("the cat " * 9 + "sleeps .", "猫" * 30)
    few = pairs_of([SENTENCES[0], long])
    parts = {"train": pairs_of([*SENTENCES, long]), "valid": few, "test": few}
    data = encode_pairs(parts, max_length=8, target_max_length=12)
    assert len(data.train) == len(SENTENCES)
    assert len(encode_pairs(parts).train) == len(SENTENCES) + 1
    assert data.profile["left_out"] == 1
    assert data.train.lengths.max() <= 8
    assert data.test.lengths.tolist()[1] == 8
    assert data.test.target_counts.tolist()[1] == 13  # and its end
    assert data.references["test"][1] == ("猫" * 30,)
    assert any("cut" in line for line in data.profile["lines"])


def test_shared_pieces_and_wrong_settings():
    data = encode_pairs({"train": pairs_of(SENTENCES)}, tokenizer="bpe", target_tokenizer="shared", bpe_merges=50)
    assert data.writes is not None
    assert data.tokenizer == data.writes.tokenizer
    assert data.vocabulary is not None
    assert not any("猫" in word for word in data.vocabulary.words)
    with pytest.raises(ConfigError, match="tokenizer must be 'bpe'"):
        encode_pairs({"train": pairs_of(SENTENCES)}, target_tokenizer="shared")
    with pytest.raises(ConfigError, match="target_max_size: must be at least 5"):
        encode_pairs({"train": pairs_of(SENTENCES)}, target_max_size=2)


def test_case_is_kept_where_it_is_written_and_words_of_one_letter_kind_are_characters():
    turned = encode_pairs({"train": pairs_of([(b, a) for a, b in SENTENCES])})
    assert turned.writes is not None
    assert turned.writes.tokenizer is not None
    assert turned.writes.vocabulary is not None
    assert "The" in turned.writes.vocabulary.words
    assert turned.references["test"][0][0] == turned.writes.written(turned.test.targets.tolist())
    letters = [
        ("".join(pick), "".join(reversed(pick))) for pick in map(random.Random(0).sample, ["abcdefghij"] * 99, [6] * 99)
    ]
    spelled = encode_pairs({"train": pairs_of(letters)})
    assert spelled.tokenizer is not None
    assert spelled.tokenizer.name == "chars"


def test_it_is_stored_with_its_references(tmp_path):
    data = encode_pairs({"train": pairs_of(SENTENCES)}, tokenizer="bpe")
    store.save(data, tmp_path / "kept")
    again = store.load(tmp_path / "kept")
    assert again is not None
    assert again.references == data.references
    assert again.writes == data.writes
    assert again.tokenizer == data.tokenizer
    assert store.fingerprint(again) == store.fingerprint(data)
