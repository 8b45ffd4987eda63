"""A profile of the data in both languages, for the page. What it warns of is decided and worded in `data.cautions`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rnnlab.data.cautions import (
    CHINESE_SPLITS,
    CHINESE_UNITS,
    cautions,
    chinese_percent,
    counted,
    over_all_splits,
    percent,
)
from rnnlab.show.pages.parts import Both, same

MOST_LABELS = 20  # that are named, the largest first
SPLITS = {name: Both(name.replace("valid", "validation"), chinese) for name, chinese in CHINESE_SPLITS.items()}

Fact = tuple[Both, Both]


def findings(profile: Mapping[str, Any]) -> list[Both]:
    """What a person should know before believing a score: the warnings. Generated data are told in lines instead."""
    if "lines" in profile:
        return [same(line) for line in profile["lines"]]
    # The text that was kept with the runs is the finding; the figures kept beside it give its Chinese. Where they give
    # another text, because an earlier version wrote it, there is none.
    chinese = {caution.english: caution.chinese for caution in cautions(profile)} if _told(profile) else {}
    return [Both(text, chinese.get(text, text)) for text in map(str, profile.get("warnings", ()))]


def facts(profile: Mapping[str, Any]) -> list[Fact]:
    """(name, value), the most important first; none of generated data."""
    if not _told(profile):
        return []
    return [
        (Both("rows", "样本数"), _rows(profile["rows"])),
        *_labels(profile["labels"]),
        *_lengths(profile),
        *_of_texts(profile),
        *_repeated(profile),
        *_groups(profile),
        (Both("left out", "略去的样本"), _left_out(profile["skipped"])),
        *((Both("note", "说明"), translated(note)) for note in profile["notes"]),
    ]


def _told(profile: Mapping[str, Any]) -> bool:
    """Whether there are figures, and not lines alone."""
    return "rows" in profile


def _rows(rows: Mapping[str, int]) -> Both:
    total = sum(rows.values())
    return _by_split({name: same(f"{count:,}") for name, count in rows.items()}, Both(f"{total:,}: ", f"{total:,}："))


def _labels(labels: Mapping[str, Mapping[str, int]]) -> list[Fact]:
    every = over_all_splits(labels)
    shown = list(every)[:MOST_LABELS]
    rows = {label: " / ".join(f"{counts.get(label, 0):,}" for counts in labels.values()) for label in shown}
    listed = Both(
        ", ".join(f"“{label}” {text}" for label, text in rows.items()),
        "，".join(f"“{label}” {text}" for label, text in rows.items()),
    )
    more = len(every) - len(shown)
    text = Both("{listed} and {more:,} more", "{listed}，另有 {more:,} 个") if more else Both("{listed}", "{listed}")
    order = [SPLITS[name] for name in labels]
    name = Both("{count:,} labels ({splits})", "{count:,} 个标签（{splits}）").format(
        count=len(every), splits=Both(" / ".join(s.en for s in order), " / ".join(s.zh for s in order))
    )
    return [(name, text.format(listed=listed, more=more))]


def _lengths(profile: Mapping[str, Any]) -> list[Fact]:
    at, unit = profile["lengths"], profile["unit"]
    measure = CHINESE_UNITS[unit]
    length = Both(
        "median {p50:,}, 90 % up to {p90:,}, 99 % up to {p99:,}, from {min:,} to {max:,} {unit}; {total:,} in all",
        "中位数 {p50:,}，90% 不超过 {p90:,}，99% 不超过 {p99:,}，从 {min:,} 到 {max:,} {unit}；合计 {total:,} {unit}",
    ).format(**at, unit=Both(unit, measure))
    told = [(Both("length", "长度"), length)]
    if profile["max_length"] is None:
        told.append((Both("cut", "截断"), Both("no row", "无")))
    else:
        text = Both(
            f"to the first {profile['max_length']:,} {unit}, which shortens {counted(profile['cut_rows'], 'row')}",
            f"只保留前 {profile['max_length']:,} {measure}，截短了 {profile['cut_rows']:,} 条样本",
        )
        told.append((Both("cut", "截断"), text))
    if profile["channels"] is not None:
        channels = profile["channels"]
        text = Both(
            f"{counted(channels, 'channel')}, standardised by the training rows",
            f"{channels:,} 个通道，按训练样本标准化",
        )
        told.append((Both("series", "数值序列"), text))
    return told


def _of_texts(profile: Mapping[str, Any]) -> list[Fact]:
    if profile["tokenizer"] is None:
        return []
    why = Both("{name} ({reason})", "{name}：{reason}")
    tokenizer: str = profile["tokenizer"]
    entries = f"{profile['vocabulary']:,}"
    unknown = {name: Both(percent(share), chinese_percent(share)) for name, share in profile["unknown"].items()}
    return [
        (Both("script", "文字"), _script(profile["script"])),
        (
            Both("tokeniser", "分词方式"),
            why.format(
                name=Both(tokenizer, TOKENIZERS.get(tokenizer, tokenizer)),
                reason=translated(profile["tokenizer_reason"]),
            ),
        ),
        (
            Both("vocabulary", "词表"),
            Both(f"{entries} entries, from the training rows alone", f"{entries} 项，只取自训练样本"),
        ),
        (Both("unknown tokens", "词表外词元"), _by_split(unknown)),
    ]


def _repeated(profile: Mapping[str, Any]) -> list[Fact]:
    total = sum(profile["rows"].values())
    held_out = {
        name: Both(
            f"{count:,} ({percent(count / profile['rows'][name])})",
            f"{count:,} 条（{chinese_percent(count / profile['rows'][name])}）",
        )
        for name, count in profile["overlap"].items()
    }
    leaked = any(profile["overlap"].values())
    return [
        (Both("repeated rows", "重复样本"), _share(profile["duplicates"], total)),
        (Both("same content, several labels", "内容相同而标签不一"), _share(profile["conflicts"], total)),
        (Both("also in train (leakage)", "也出现在训练集中（泄漏）"), _by_split(held_out) if leaked else NO_ROW),
    ]


def _groups(profile: Mapping[str, Any]) -> list[Fact]:
    if profile["groups"] is None:
        return []
    largest, straddling = profile["largest_group"] or 0, profile["straddling_groups"]
    english = f"{straddling:,} in more than one split" if straddling else "none straddles a split"
    chinese = f"{straddling:,} 个跨越多个划分" if straddling else "没有跨越划分的组"
    text = Both(
        f"{profile['groups']:,}, the largest of {counted(largest, 'row')}; {english}",
        f"{profile['groups']:,} 个，最大的有 {largest:,} 条样本；{chinese}",
    )
    return [(Both("groups", "分组"), text)]


def _left_out(skipped: int) -> Both:
    if not skipped:
        return NO_ROW
    return Both(f"{counted(skipped, 'row')} that can't be used", f"{skipped:,} 条无法使用的样本")


NO_ROW = Both("no row", "无")


def _share(count: int, total: int) -> Both:
    if not count:
        return NO_ROW
    share = count / total
    return Both(f"{counted(count, 'row')} ({percent(share)})", f"{count:,} 条（{chinese_percent(share)}）")


def _by_split(values: Mapping[str, Both], before: Both | None = None) -> Both:
    """``train 5,599, validation 801, test 1,600``."""
    told = Both(
        ", ".join(f"{SPLITS[name].en} {value.en}" for name, value in values.items()),
        "，".join(f"{SPLITS[name].zh} {value.zh}" for name, value in values.items()),
    )
    return Both(before.en + told.en, before.zh + told.zh) if before else told


# --- what other parts said in English -----------------------------------------------------------------------------

TOKENIZERS = {
    "words": "按词（words）",
    "chars": "按字（chars）",
    "whitespace": "按空格（whitespace）",
    "jieba": "结巴分词（jieba）",
}
SCRIPTS = {
    "Latin": "拉丁字母",
    "Chinese": "汉字",
    "Japanese": "日文",
    "Korean": "韩文",
    "Cyrillic": "西里尔字母",
    "Greek": "希腊字母",
    "Arabic": "阿拉伯字母",
    "Hebrew": "希伯来字母",
    "Devanagari": "天城文",
    "Thai": "泰文",
    "no letters": "没有文字",
}
QUOTED = "('[^']*'|\"[^\"]*\")"
SAID: Sequence[tuple[str, str]] = (
    # why this tokeniser (`data.tokenizers.choose_tokenizer`)
    ("as asked for", "按设置"),
    ("words are separated by spaces", "词与词之间有空格"),
    ("the texts have no letters", "文本中没有文字"),
    (r"(\d+) % of the letters are of a script without spaces between words", r"\1% 的字符属于词间不加空格的文字"),
    (
        r"(\d+) % of the letters are of a script without spaces between words; "
        r"the other letters become single characters too",
        r"\1% 的字符属于词间不加空格的文字；其余字母也逐个切开",
    ),
    (
        r"mixed text: (\d+) % of the letters are of a script without spaces, each a token",
        r"混合文本：\1% 的字符属于词间不加空格的文字，每个字作为一个词元",
    ),
    # what a reader decided
    (r"read as (UTF-16|GB18030)", r"按 \1 编码读取"),
    ("separated by semicolons", "以分号分隔"),
    ("separated by tabs", "以制表符分隔"),
    ("quotes are read as text", "引号按普通字符读取"),
    ("quotes are read as marks around fields", "引号按字段的界定符读取"),
    (rf"text column {QUOTED}, label column {QUOTED}", r"文本列 \1，标签列 \2"),
    (rf"values column {QUOTED}, label column {QUOTED}", r"数值列 \1，标签列 \2"),
    (r"([\d,]+) bad rows? skipped", r"跳过 \1 条有问题的样本"),
    (r"a sample of ([\d,]+) of ([\d,]+) rows", r"从 \2 条样本中抽取 \1 条"),
    (r"([\d,]+) rows, where ([\d,]+) were published", r"共 \1 条样本，而发布时为 \2 条"),
    (r"phrase (\S+) \(line (\d+)\) is left out: no text", r"略去短语 \1（第 \2 行）：没有文本"),
    (r"phrase (\S+) \(line (\d+)\) is left out: no label", r"略去短语 \1（第 \2 行）：没有标签"),
    (r"phrase (\S+) \(line (\d+)\) is left out: no text and no label", r"略去短语 \1（第 \2 行）：没有文本和标签"),
    (
        r"no test set: (\S+) has no labels of its own, and (\S+) isn't beside it",
        r"没有测试集：\1 本身没有标签，旁边也没有 \2",
    ),
    (
        r"not the copy that rnnlab's own figures were measured on: (.+)",
        r"与 rnnlab 自身数字所用的副本不同：\1",
    ),
    (
        r"fetched without a published checksum, trusted as it first came: (.+)",
        r"下载时没有公布的校验和，以首次取得的为准：\1",
    ),
)


def translated(text: str) -> Both:
    """With its Chinese where this is something that the readers say; else as it is."""
    for pattern, chinese in SAID:
        found = re.fullmatch(pattern, text)
        if found:
            return Both(text, found.expand(chinese))
    return same(text)


def _script(script: str) -> Both:
    """``Latin``, or ``Chinese 71 %, Latin 29 %``."""
    named = [re.fullmatch(r"(.+?)(?: (\d+) %)?", part) for part in script.split(", ")]
    parts = [(found[1], found[2]) for found in named if found]
    return Both(script, "，".join(SCRIPTS.get(name, name) + (f" {share}%" if share else "") for name, share in parts))
