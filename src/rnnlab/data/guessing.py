"""Which column is the text and which the label: told by the names that people give to columns, and by what they hold.

A name is read from its end, where English and Chinese have the word that counts: ``review_date`` is a date, 评论内容 is
content. What a column holds decides whether it can be what its name says. Where two columns fit equally well, nothing
is guessed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

SAMPLE = 1_000  # values looked at to tell prose from other columns
FEW = 50  # classes that need no justification; of more than that, there must be five rows each

# fmt: off
NAMES = {
    "text": """
        text sentence review phrase content comment title tweet message document body headline utterance description
        question passage context abstract summary post transcript feedback query article reply caption remark subject
        statement excerpt snippet paragraph narrative complaint lyric plot synopsis sequence seq premise hypothesis
        answer response overview transcription
        文本 内容 评论 句子 标题 正文 短语 文章 描述 留言 反馈 意见 问题 问句 摘要 简介 新闻 帖子 微博 弹幕 原文 语句
        题目 备注 回复 对话 点评 评语 全文 段落 文案 诉求 序列 回答 答复 追评""",
    "label": """
        label sentiment target emotion intent topic polarity stance outcome genre spam toxic toxicity attitude mood
        verdict
        标签 情感 倾向 极性 意图 主题 情绪 栏目 板块 态度 好评 中评 差评 正负 立场""",
    "kind": "class category type department group 类别 分类 类型 种类 类目 部门",  # a label, if it stands alone
    "either": "result evaluation opinion judgement judgment 评价 评定 结果 结论",  # what it holds tells
    "rating": "rating star score grade level priority overall 评分 星级 打分 得分 分数 等级 评级 优先级",
    "id": "id idx index uid uuid guid key hash sku number no code 序号 编号 代码 编码 单号 号码 主键",
    "date": "date time datetime timestamp day month year created updated 日期 时间 年份 月份 年 月 日",
    "split": "split fold subset partition 数据集 划分",
    "other": """
        user username author name customer reviewer shop store brand product item hotel city country region location
        address place email mail phone tel url link source platform channel language lang gender sex age vendor seller
        agent state province district company site device version count length len like vote helpful price amount cost
        quantity size file image useful funny cool helpfulness numerator denominator verified purchase vine
        用户 昵称 作者 姓名 名称 名字 店铺 商家 店名 门店 品牌 商品 产品 酒店 宾馆 城市 地区 区域 省份 地址 国家 电话
        手机 邮箱 网址 链接 来源 平台 渠道 语言 性别 年龄 会员 客户 房型 型号 版本 数量 价格 金额 次数 长度 点赞数
        数 用户名 人""",
}
# fmt: on
KINDS = {word: kind for kind, words in NAMES.items() for word in words.split()}
PLAIN_LABELS = {"label", "labels", "class", "target", "标签", "类别"}  # a name that says it and nothing else
FILLERS = {"raw", "clean", "cleaned", "processed", "en", "zh", "cn", "str", "full", "value", "col", "column", "field"}

_ID = re.compile(r"(?:^|[_\-. ]|[a-z](?=I))(?i:ids?|idx|index|uid|uuid|guid)$|[序编]号$|^Unnamed: 0$")
_MONTH = "(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}[-/.年]\d{1,2}([-/.月]\d{1,2}日?)?([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}.*|\d+:\d\d.*"
    r"|\d{1,2}月\d{1,2}日.{0,9}"
    rf"|([A-Z][a-z]{{2,8}},? )?({_MONTH}\.? \d{{1,2}}|\d{{1,2}}[ -]{_MONTH})(st|nd|rd|th)?\b.{{0,30}}"
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_LINK = re.compile(r"(?i)(https?://|www\.)\S+|\S+@\S+\.\w+|[\w./\\-]+\.(jpg|png|wav|mp3|txt|pdf)")


@dataclass(frozen=True)
class Name:
    """What the words of a name say, the last one first."""

    text: str

    @cached_property
    def kinds(self) -> list[str]:
        plain = re.sub(r"[(（\[【].*?[)）\]】]", " ", self.text)
        plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).casefold()
        found: list[str] = []
        for piece in re.findall(r"[a-z]+|[\u3400-\u9fff]+", plain):
            found += _chinese_kinds(piece) if piece[0] >= "\u3400" else [_english_kind(piece)]
        return [kind for kind in reversed(found) if kind != "filler"]

    @property
    def head(self) -> str:
        return self.kinds[0] if self.kinds else "unknown"

    @property
    def is_id(self) -> bool:
        return self.head == "id" or _ID.search(self.text) is not None

    @property
    def asks_whether(self) -> bool:
        return re.match(r"[iI]s[_ A-Z]|IS[_ ]|您?是否", self.text) is not None

    @property
    def may_be_another_s(self) -> bool:
        """Whether it may be said of something else than the text: a type of room, whether there is a logo."""
        kind_of_something = self.head == "kind" and len(self.kinds) > 1 and not {"label", "either"} & set(self.kinds)
        return self.asks_whether or kind_of_something

    @property
    def text_rank(self) -> int:
        """2: the name of a text; 1: it has to do with one; 0: it says nothing; -1: that of something else."""
        if self.head in ("text", "either") and not self.is_id:
            return 2
        if self.is_id or self.asks_whether or self.head in ("date", "split", "other", "rating", "label", "kind"):
            return -1
        return 1 if "text" in self.kinds else 0

    @property
    def label_rank(self) -> int:
        """From 5, which says that it is the label, to 1, which says nothing; 0: that of something else."""
        if self.text.strip().casefold() in PLAIN_LABELS:
            return 5
        if self.is_id:
            return 3 if {"label", "kind"} & set(self.kinds) else 0
        if self.head == "label":
            return 4
        if self.head == "kind":
            return 2 if self.may_be_another_s else 4
        if self.asks_whether or self.head == "either" or ("label" in self.kinds and self.head != "date"):
            return 3
        if self.head == "rating":
            return 2
        return 0 if self.head in ("date", "split", "other") else 1


def _english_kind(word: str) -> str:
    if word in FILLERS:
        return "filler"
    singular = word.removesuffix("ies") + "y" if word.endswith("ies") else word.removesuffix("s")
    return KINDS.get(word) or KINDS.get(singular) or "unknown"


def _chinese_kinds(run: str) -> list[str]:
    """The known words of a run of Chinese letters, each as long as can be, read from the end."""
    kinds: list[str] = []
    end = len(run)
    while end:
        start = next((start for start in range(max(0, end - 4), end) if run[start:end] in KINDS), end - 1)
        kinds.append(KINDS.get(run[start:end], "unknown"))
        end = start
    return kinds[::-1]


class Column:
    """What a column holds, as far as it matters here."""

    def __init__(self, name: str, values: Sequence[str]):
        self.name: Name = Name(name)
        self.values = values
        self.sample: list[str] = [v.strip() for v in values[:: max(1, len(values) // SAMPLE)] if v.strip()]

    @cached_property
    def distinct(self) -> int:
        hashes = np.unique(hashes_of(self.values))
        return len(hashes) - int(np.isin(hash(""), hashes))

    @cached_property
    def prose(self) -> bool:
        """At least half of the values have three words or four Chinese or Japanese characters, and most differ."""
        wordy = sum(is_wordy(value[:1_000]) for value in self.sample)
        return wordy * 2 >= len(self.sample) > 0 and len(set(self.sample)) * 2 > len(self.sample)

    @cached_property
    def measured(self) -> bool:
        """Dates, numbers or links, nearly all."""
        found = sum(any(p.fullmatch(v) for p in (_DATE, _NUMBER, _LINK)) for v in self.sample)
        return found * 10 >= 9 * len(self.sample) > 0

    @cached_property
    def dated(self) -> bool:
        return sum(_DATE.fullmatch(v) is not None for v in self.sample) * 10 >= 9 * len(self.sample) > 0

    @property
    def like_classes(self) -> bool:
        return 2 <= self.distinct <= FEW and self.distinct * 2 <= len(self.values)

    @property
    def rivals(self) -> bool:
        """Whether it could be the label although its name doesn't say so; numbers of many sizes are rather counts."""
        return self.like_classes and (self.distinct <= 5 or not is_numeric(self.sample))

    @cached_property
    def nested(self) -> bool:
        """Lists or objects, nearly all, which are here as JSON."""
        found = sum(v[0] + v[-1] in ("[]", "{}") for v in self.sample)
        return found * 10 >= 9 * len(self.sample) > 0

    @property
    def text_score(self) -> int:
        """How well name and contents fit a text; 0: not at all."""
        if self.measured or self.nested or not self.sample or (self.like_classes and not self.prose):
            return 0
        if not self.prose and self.name.text_rank < 2:
            return 0
        return max(0, (3 if self.prose else 1) + self.name.text_rank)

    @property
    def label_score(self) -> int:
        rank = self.name.label_rank
        named = rank >= 2 and (self.distinct <= FEW or self.distinct * 5 <= len(self.values))
        fits = self.distinct >= 2 and not self.prose and not self.dated and (named or self.like_classes)
        return rank if fits else 0


def text_candidates(columns: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """The columns that could be the text, all equally well: it is clear where there is one."""
    looked = [Column(name, values) for name, values in columns]
    best = _best((column.text_score, column) for column in looked)
    if best:
        return [column.name.text for column in best]
    known = [c for c in looked if c.name.head == "text" and c.name.text_rank == 2 and not c.nested]
    if known:  # few texts, over and over
        return [column.name.text for column in known]
    left = [c for c in looked if c.name.text_rank >= 0 and c.name.label_rank <= 1 and c.sample]
    left = [column for column in left if not column.measured and not column.nested]
    return [left[0].name.text] if len(left) == 1 else []


def label_candidates(columns: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """The columns that could be the label, all equally well. Of those that say the same of every row, one is enough."""
    looked = [Column(name, values) for name, values in columns]
    best = _best((column.label_score, column) for column in looked)
    if any(column.name.head == "kind" and column.label_score == 4 for column in best):  # or a group of the rows
        best += [column for column in looked if column.name.asks_whether and column.label_score]
    if any(column.name.may_be_another_s for column in best):
        best += [column for column in looked if column.label_score == 1 and column.rivals]
    if not best:  # one that says that it is the label, and can't be: the reader will say why
        best = _best((column.name.label_rank, column) for column in looked if column.name.label_rank >= 4)
    apart: list[Column] = []
    for column in best:
        if not any(_same_classes(column, other) for other in apart):
            apart.append(column)
    return [column.name.text for column in apart]


def hashes_of(values: Sequence[str]) -> np.ndarray:
    """(rows,) int64, of the values without spaces around them: to count them without holding them."""
    return np.fromiter((hash(value.strip()) for value in values), np.int64, len(values))


def says_nothing(name: str) -> bool:
    """Whether the name of a label was no reason to take it."""
    return Name(name).label_rank == 1


def is_numeric(values: Iterable[str]) -> bool:
    return all(_NUMBER.fullmatch(value.strip()) for value in values)


def is_text_name(name: str) -> bool:
    return Name(name).text_rank == 2


def _best(scored: Iterable[tuple[int, Column]]) -> list[Column]:
    found = [(score, column) for score, column in scored if score > 0]
    most = max((score for score, _ in found), default=0)
    return [column for score, column in found if score == most]


def _same_classes(one: Column, other: Column) -> bool:
    pairs = {(a.strip(), b.strip()) for a, b in zip(one.values, other.values, strict=True)}
    return len(pairs) == one.distinct == other.distinct


def is_wordy(value: str) -> bool:
    words = sum(re.search(r"[^\W\d_]", word) is not None for word in value.split())
    return words >= 3 or len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff]", value)) >= 4
