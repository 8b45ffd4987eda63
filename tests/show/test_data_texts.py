"""The data section of the page: figures of a profile made by hand, and nothing left in English on a Chinese page."""

import re
from typing import Any

import numpy as np
import pytest

from rnnlab.core.words import Both, retold, same, told_in
from rnnlab.data.encoded import encode
from rnnlab.data.examples import Examples
from rnnlab.data.tokenizers import choose_tokenizer, describe_scripts, scripts
from rnnlab.show.data_texts import facts, findings
from rnnlab.tasks.addition import Addition
from rnnlab.tasks.classify import Classify

PROFILE: dict[str, Any] = {
    "source": "small.csv",
    "rows": {"train": 1400, "valid": 200, "test": 400},
    "labels": {"train": {"a": 1000, "b": 400}, "valid": {"a": 200}, "test": {"a": 398, "b": 2}},
    "unit": "tokens",
    "lengths": {"min": 1, "p50": 9, "p90": 20, "p99": 31, "max": 1200, "total": 18_500},
    "max_length": None,
    "cut_rows": 0,
    "channels": None,
    "script": "Chinese 71 %, Latin 29 %",
    "tokenizer": "words",
    "tokenizer_reason": "words are separated by spaces",
    "vocabulary": 3000,
    "unknown": {"train": 0.0, "valid": 0.0312, "test": 0.05},
    "duplicates": 100,
    "conflicts": 40,
    "overlap": {"valid": 0, "test": 60},
    "groups": 700,
    "largest_group": 12,
    "straddling_groups": 3,
    "skipped": 1,
    "notes": ["read as GB18030"],
    "warnings": [
        "valid has no row of 'b'",
        "2.0 % of the rows stand under several labels: no model can get them all right",
        "15.0 % of the test rows also stand in train: scores there are too good",
        "3 groups with rows in more than one of the given splits: scores there may be too good",
        "a few rows are very long (up to 1,200 tokens): max_length = 31 would shorten 1 % of the rows "
        "and save 12.5 % of the tokens",
    ],
    "saved_by_cutting": 0.125,
}
ENGLISH = re.compile(r"[A-Za-z]{2,}")


def told(profile: dict[str, Any]) -> dict[str, Both]:
    return {name.en: value for name, value in facts(profile)}


def test_the_facts_of_a_hand_made_profile():
    assert [(name.en, value.en) for name, value in facts(PROFILE)] == [
        ("rows", "2,000: train 1,400, validation 200, test 400"),
        ("2 labels (train / validation / test)", "“a” 1,000 / 200 / 398, “b” 400 / 0 / 2"),
        ("length", "median 9, 90 % up to 20, 99 % up to 31, from 1 to 1,200 tokens; 18,500 in all"),
        ("cut", "no row"),
        ("script", "Chinese 71 %, Latin 29 %"),
        ("tokeniser", "words (words are separated by spaces)"),
        ("vocabulary", "3,000 entries, from the training rows alone"),
        ("unknown tokens", "train 0.0 %, validation 3.1 %, test 5.0 %"),
        ("repeated rows", "100 rows (5.0 %)"),
        ("same content, several labels", "40 rows (2.0 %)"),
        ("also in train (leakage)", "validation 0 (0.0 %), test 60 (15.0 %)"),
        ("groups", "700, the largest of 12 rows; 3 in more than one split"),
        ("left out", "1 row that can't be used"),
        ("note", "read as GB18030"),
    ]


def test_the_same_in_chinese():
    assert [(name.zh, value.zh) for name, value in facts(PROFILE)] == [
        ("样本数", "2,000：训练集 1,400，验证集 200，测试集 400"),
        ("2 个标签（训练集 / 验证集 / 测试集）", "“a” 1,000 / 200 / 398，“b” 400 / 0 / 2"),
        (
            "长度",
            "中位数 9，90% 不超过 20，99% 不超过 31，从 1 到 1,200 词元；合计 18,500 词元",
        ),
        ("截断", "无"),
        ("文字", "汉字 71%，拉丁字母 29%"),
        ("分词方式", "按词（words）：词与词之间有空格"),
        ("词表", "3,000 项，只取自训练样本"),
        ("词表外词元", "训练集 0.0%，验证集 3.1%，测试集 5.0%"),
        ("重复样本", "100 条样本（5.0%）"),
        ("内容相同而标签不一", "40 条样本（2.0%）"),
        ("也出现在训练集中（泄漏）", "验证集 0 条（0.0%），测试集 60 条（15.0%）"),
        ("分组", "700 个，最大的有 12 条样本；3 个跨越多个划分"),
        ("略去的样本", "1 条样本无法使用"),
        ("说明", "按 GB18030 编码读取"),
    ]


def test_the_findings_in_both_languages():
    found = findings(PROFILE)
    assert [text.en for text in found] == PROFILE["warnings"]
    assert [text.zh for text in found] == [
        "验证集中缺少这些标签的样本：'b'",
        "2.0% 的样本内容相同而标签不一：任何模型都不可能全部答对",
        "测试集有 15.0% 的样本也出现在训练集中：得分会因此偏高",
        "有 3 个组的样本分散在多个给定的划分中：得分可能偏高",
        "少数样本特别长（最长 1,200 词元）：设 max_length = 31 只截短 1% 的样本，却可省去 12.5% 的词元",
    ]


def test_profiles_of_earlier_versions():
    """A warning in words that aren't known stays as it was."""
    other = PROFILE | {"warnings": ["a sentence of another version"]}
    assert findings(other) == [same("a sentence of another version")]


def test_more_labels_than_anybody_would_read():
    labels = {split: {f"label {n:02}": 100 - n for n in range(23)} for split in ("train", "valid", "test")}
    [name, value] = facts(PROFILE | {"labels": labels})[1]
    assert name.en == "23 labels (train / validation / test)"
    assert value.en.startswith("“label 00” 100 / 100 / 100, ")
    assert value.en.endswith(", “label 19” 81 / 81 / 81 and 3 more")
    assert value.zh.endswith("，“label 19” 81 / 81 / 81，另有 3 个")


def test_labels_are_shown_as_they_are():
    labels = {"train": {"{0}": 9, "<b>%s</b>": 8}, "valid": {}, "test": {}}
    assert facts(PROFILE | {"labels": labels})[1][1].en == "“{0}” 9 / 0 / 0, “<b>%s</b>” 8 / 0 / 0"


def test_a_sound_set():
    examples = Examples("fine.csv", ["a", "b"] * 100, texts=[f"word{i} and so on" for i in range(200)])
    profile = encode({"train": examples}, max_length=3).profile
    assert findings(profile) == []
    assert told(profile)["cut"] == told_in(
        en="to the first 3 tokens, which shortens 200 rows", zh="只保留前 3 个词元，截短了 200 条样本"
    )
    nothing = {told(profile)[name] for name in ("repeated rows", "also in train (leakage)", "left out")}
    assert nothing == {told_in(en="no row", zh="无")}
    assert "groups" not in told(profile)


def test_series_are_told_by_channels_and_steps():
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(5, 2)).astype(np.float32) for _ in range(40)]
    found = told(encode({"train": Examples("s", ["a", "b"] * 20, series=series)}).profile)
    assert found["series"] == told_in(
        en="2 channels, standardised by the training rows", zh="2 个通道，按训练样本标准化"
    )
    assert found["length"].zh.endswith("从 5 到 5 步；合计 200 步")
    assert not {"script", "tokeniser", "vocabulary", "unknown tokens"} & set(found)


def test_generated_data_are_told_in_lines():
    profile = Addition(held_out=20).load().profile
    assert facts(profile) == []
    assert [text.en for text in findings(profile)] == profile["lines"]
    assert all(re.search("[\u4e00-\u9fff]", text.zh) for text in findings(profile))
    assert (facts({}), findings({})) == ([], [])


@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        ([str(n) for n in range(30)] + ["0"] * 5, [f"t{n}" for n in range(35)]),  # a wrong column
        (["a"] * 300 + ["b"] * 8, [f"t{n}" for n in range(308)]),  # few, and out of balance
        ([f"l{n % 8}" for n in range(64)] + ["x"] * 20, [f"t{n}" for n in range(84)]),  # few of many labels
        (["a", "b"] * 30, ["the same"] * 60),  # under several labels, and in several splits
        (["a", "b"] * 100, [f"a b c t{n}" for n in range(199)] + ["w " * 1000]),  # a very long one
    ],
)
def test_every_finding_has_chinese(labels, texts):
    groups = [str(n) for n in range(len(labels))]  # equal contents may then stand in several splits
    found = findings(encode({"train": Examples("w.csv", labels, texts=texts, groups=groups)}).profile)
    assert found
    for text in found:
        assert text.en != text.zh
        quoted = re.sub("'[^']*'", "", text.zh).replace("max_length", "")
        assert not ENGLISH.search(quoted)


@pytest.mark.parametrize(
    "texts",
    [
        ["plain words"],
        ["这部电影很好"],
        ["这部电影很好 but longer in English"],
        ["12 34"],
        ["一 two three four five six"],
    ],
)
def test_every_reason_for_a_tokeniser_and_every_script_has_chinese(texts):
    _, reason = choose_tokenizer(texts)
    profile = PROFILE | {"tokenizer_reason": reason, "script": describe_scripts(scripts(texts))}
    found = told(profile)
    assert found["tokeniser"].en == f"words ({reason})"
    assert not ENGLISH.search(found["tokeniser"].zh.replace("words", ""))
    assert not ENGLISH.search(found["script"].zh)
    assert found["script"].en == profile["script"]


def test_the_notes_of_readers_have_chinese(tmp_path):
    rows = [f"好的电影 {n};{'ab'[n % 2]}" for n in range(80)]
    path = tmp_path / "rows.csv"
    path.write_bytes("\n".join(["正文;label", *rows, "没有标签;", "也没有;"]).encode("gb18030"))
    profile = Classify(data=str(path), sample=60, skip_bad=True).load().profile
    notes = [value for name, value in facts(profile) if name.en == "note"]
    assert [note.en for note in notes] == profile["notes"]
    assert len(notes) == 5  # the encoding, semicolons, the columns, bad rows, the sample
    for note in notes:
        assert not ENGLISH.search(re.sub("'[^']*'|GB18030|--[a-z]+", "", note.zh))


def test_notes_with_numbers_and_names():
    assert retold("a sample of 2,000 of 25,000 rows").zh == "从 25,000 条样本中抽取 2,000 条"
    assert retold("text column 'body', label column \"it's\"; --text and --label choose others").zh == (
        "文本列 'body'，标签列 \"it's\"；可用 --text 和 --label 另行指定"
    )
    assert retold("phrase 7 (line 9) is left out: no text and no label").zh == "略去短语 7（第 9 行）：没有文本和标签"
    assert retold("something new") == same("something new")
