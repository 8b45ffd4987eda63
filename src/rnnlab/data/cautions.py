"""What the figures of a profile warn of, in both languages: decided here, from the figures alone."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FEW_ROWS = 10  # a class with fewer rows is hardly measured at all
IMBALANCE = 20  # largest class to smallest
SHARE = 0.01  # of rows with conflicting labels, or that stand in train too
LONG = 10  # the longest row to the length that nine rows in ten keep within
NAMED = 5  # labels that a warning names

CHINESE_SPLITS = {"train": "训练集", "valid": "验证集", "test": "测试集"}
CHINESE_UNITS = {"tokens": "个词元", "characters": "个字符", "steps": "步"}  # behind a number


@dataclass(frozen=True)
class Caution:
    english: str
    chinese: str


def cautions(figures: Mapping[str, Any]) -> list[Caution]:
    """``figures`` are those of `Profile.to_dict`."""
    found = [*_of_labels(figures), *_of_repeated_rows(figures), *_of_long_rows(figures)]
    return [Caution(*texts) for texts in found]


def _of_labels(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    total = sum(figures["rows"].values())
    labels = over_all_splits(figures["labels"])
    small = [label for label, count in labels.items() if count < FEW_ROWS]
    if len(labels) > total / 2:
        yield (
            f"{len(labels):,} labels for {counted(total, 'row')}: is the label column the right one?",
            f"{total:,} 条样本竟有 {len(labels):,} 种标签：标签列选对了吗？",
        )
    elif small:
        yield (
            f"fewer than {FEW_ROWS} rows: {_some(small)}",
            f"样本不足 {FEW_ROWS} 条的标签：{_some_in_chinese(small)}",
        )
    for name, counts in figures["labels"].items():
        if name != "train" and (missing := [label for label in labels if label not in counts]):
            yield (
                f"{name} has no row of {_some(missing)}",
                f"{CHINESE_SPLITS[name]}中缺少这些标签的样本：{_some_in_chinese(missing)}",
            )
    largest, smallest = max(labels.values()), min(labels.values())
    if largest > IMBALANCE * smallest:
        yield (
            f"labels are out of balance, {largest / smallest:,.0f} to 1: look at more than accuracy",
            f"各标签样本数悬殊，最多与最少之比为 {largest / smallest:,.0f} 比 1：不能只看准确率",
        )


def _of_repeated_rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Rows that stand under several labels, in several splits, or in groups that do."""
    total = sum(figures["rows"].values())
    if figures["conflicts"] > SHARE * total:
        share = figures["conflicts"] / total
        yield (
            f"{percent(share)} of the rows stand under several labels: no model can get them all right",
            f"{chinese_percent(share)} 的样本内容相同而标签不一：任何模型都不可能全部答对",
        )
    for name, count in figures["overlap"].items():
        if count > SHARE * figures["rows"][name]:
            share = count / figures["rows"][name]
            yield (
                f"{percent(share)} of the {name} rows also stand in train: scores there are too good",
                f"{CHINESE_SPLITS[name]}有 {chinese_percent(share)} 的样本也出现在训练集中：得分会因此偏高",
            )
    if groups := figures["straddling_groups"]:
        yield (
            f"{counted(groups, 'group')} with rows in more than one of the given splits: scores there may be too good",
            f"有 {groups:,} 个组的样本分散在多个给定的划分中：得分可能偏高",
        )


def _of_long_rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    p90, p99, longest = (figures["lengths"][name] for name in ("p90", "p99", "max"))
    saved = figures.get("saved_by_cutting")  # profiles of earlier versions lack it
    if figures["max_length"] is not None or longest <= LONG * p90 or saved is None:
        return
    unit = figures["unit"]
    in_chinese = CHINESE_UNITS[unit]
    yield (
        f"a few rows are very long (up to {longest:,} {unit}): max_length = {p99} would shorten 1 % of the rows "
        f"and save {percent(saved)} of the {unit}",
        f"少数样本特别长（最长 {longest:,} {in_chinese}）：设 max_length = {p99} 只截短 1% 的样本，"
        f"却可省去 {chinese_percent(saved)} 的{in_chinese.removeprefix('个')}",
    )


def over_all_splits(labels: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Rows of each label, the largest first."""
    total: Counter[str] = Counter()
    for counts in labels.values():
        total.update(counts)
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(repr(name) for name in names[:NAMED]) + more


def _some_in_chinese(names: Sequence[str]) -> str:
    shown = "、".join(f"“{name}”" for name in names[:NAMED])
    return f"{shown}等 {len(names):,} 个" if len(names) > NAMED else shown


def counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def chinese_percent(share: float) -> str:
    return f"{100 * share:.1f}%"
