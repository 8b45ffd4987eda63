"""What charts, page and terminal say of a sweep, in English and Chinese."""

from typing import Literal

from rnnlab.comparing.studies import AxisValue, Study, Target
from rnnlab.core.numbers import percent

Language = Literal["en", "zh"]
SHARES = ("accuracy", "exact", "macro_f1")  # metrics from 0 to 1, said in per cent

WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "accuracy": "accuracy",
        "exact": "exact match",
        "macro_f1": "macro-F1",
        "loss": "loss",
        "valid": "validation {metric}",
        "train": "training {metric}",
        "test": "test {metric}",
        "validation": "validation",
        "tested": "test",
        "comma": ", ",
        "stop": ". ",
        "step": "update",
        "first step": "first update at the target",
        "target": "Target: {metric} {sign} {value} within {cap} updates",
        "no target": "No target: points are compared by {metric}",
        "mean of runs": "Mean of {runs} runs a setting; the band goes from the least to the most",
        "mean of one": "One run a setting",
        "held": "A run that ended early keeps its last value",
        "marks": "Marks show where a run diverged or was given up: the mean goes on without it",
        "pooled": "Pooled over {axes}",
        "shown best": "The best {shown} of {total} settings in colour",
        "bars": "Bar: median; whisker: from the least to the most; a mark a run",
        "capped": "A run that didn't arrive counts as {cap}",
        "bars of scores": "Bar: mean; whisker: from the least to the most; a mark a run",
        "only best": "The best {shown} of {total} settings",
        "arrived": "arrived",
        "never": "never arrived",
        "diverged": "diverged",
        "failed": "failed",
        "pruned": "given up",
        "finished": "finished",
        "all arrived": "all runs arrived",
        "some never": "some never arrived",
        "some diverged": "some diverged",
        "all finished": "all runs finished",
        "n never": "{count} of {runs} never",
        "n diverged": "{count} of {runs} diverged",
        "key arrived": "(2/5): two of five runs arrived",
        "key diverged": "× 2/5: two of five diverged",
        "heatmap": "{what}: {across} × {down}",
        "median of runs": "Median of {runs} runs; darker is faster",
        "mean score": "Mean of {runs} runs; darker is better",
        "one run": "One run a cell; darker is faster",
        "one score": "One run a cell; darker is better",
        "plus": "+ is at least: half of the runs or more never arrived",
        "outlined": "red: runs diverged",
        "crossed": "struck through: no run",
        "faster": "darker = faster",
        "better": "darker = better",
        "setting": "setting",
        "seed": "seed",
        "runs": "runs",
        "median": "median first update",
        "mean": "mean",
        "least": "least",
        "most": "most",
        "least–most": "least–most",
        "first": "first update",
        "seconds": "ms an update",
        "points": "Settings",
        "notes": "Notes",
        "digests": "Runs and their digests",
        "status": "status",
        "title": "Sweep",
        "no best": "± is the standard deviation over the runs.",
    },
    "zh": {
        "accuracy": "准确率",
        "exact": "全对率",
        "macro_f1": "宏平均 F1",
        "loss": "损失",
        "valid": "验证集{metric}",
        "train": "训练{metric}",
        "test": "测试集{metric}",
        "validation": "验证集",
        "tested": "测试集",
        "comma": "，",
        "stop": "。",
        "step": "更新次数",
        "first step": "首次达标的更新次数",
        "target": "目标：{cap} 次更新内{metric} {sign} {value}",
        "no target": "没有目标：各设置按{metric}比较",
        "mean of runs": "每个设置 {runs} 次运行的平均；色带从最小到最大",
        "mean of one": "每个设置一次运行",
        "held": "提前结束的运行保持其最后的值",
        "marks": "记号表示某次运行在此发散或被放弃，此后的平均不再包括它",
        "pooled": "合并了 {axes} 的各个取值",
        "shown best": "{total} 个设置中最好的 {shown} 个着色",
        "bars": "条：中位数；须线：从最小到最大；每个记号是一次运行",
        "capped": "未达标的运行按 {cap} 计",
        "bars of scores": "条：平均；须线：从最小到最大；每个记号是一次运行",
        "only best": "{total} 个设置中最好的 {shown} 个",
        "arrived": "达标",
        "never": "未达标",
        "diverged": "发散",
        "failed": "失败",
        "pruned": "被放弃",
        "finished": "完成",
        "all arrived": "全部达标",
        "some never": "有的未达标",
        "some diverged": "有的发散",
        "all finished": "全部完成",
        "n never": "{runs} 次中 {count} 次未达标",
        "n diverged": "{runs} 次中 {count} 次发散",
        "key arrived": "(2/5)：五次运行中两次达标",
        "key diverged": "× 2/5：五次中两次发散",
        "heatmap": "{what}：{across} × {down}",
        "median of runs": "{runs} 次运行的中位数；颜色越深越快",
        "mean score": "{runs} 次运行的平均；颜色越深越好",
        "one run": "每格一次运行；颜色越深越快",
        "one score": "每格一次运行；颜色越深越好",
        "plus": "+ 表示至少：一半或更多的运行未达标",
        "outlined": "红色：有运行发散",
        "crossed": "斜线：没有运行",
        "faster": "越深越快",
        "better": "越深越好",
        "setting": "设置",
        "seed": "种子",
        "runs": "运行",
        "median": "首次达标（中位数）",
        "mean": "平均",
        "least": "最小",
        "most": "最大",
        "least–most": "最小–最大",
        "first": "首次达标",
        "seconds": "毫秒/更新",
        "points": "各个设置",
        "notes": "说明",
        "digests": "各次运行及其摘要",
        "status": "状态",
        "title": "参数扫描",
        "no best": "± 是各次运行的标准差。",
    },
}


def metric_name(metric: str, language: Language) -> str:
    """``exact`` → ``exact match``; a plug-in's metric keeps its own name."""
    return WORDS[language].get(metric, metric) if metric in (*SHARES, "loss") else metric


def quantity_name(quantity: str, language: Language) -> str:
    """``valid_exact`` → ``validation exact match``."""
    split, _, metric = quantity.partition("_")
    if split not in ("valid", "train", "test") or not metric:
        return quantity
    return WORDS[language][split].format(metric=metric_name(metric, language))


def is_share(quantity: str) -> bool:
    return quantity.split("_", 1)[-1] in SHARES or quantity in SHARES


def score_text(metric: str, value: float) -> str:
    return percent(value) if is_share(metric) else f"{value:.4g}"


def step_text(step: float) -> str:
    """``1,250``, ``87.5``"""
    return f"{step:,.0f}" if step == int(step) else f"{step:,.1f}"


def value_text(value: AxisValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def target_text(target: Target, language: Language) -> str:
    value = f"{100 * target.value:g} %" if is_share(target.metric) else f"{target.value:g}"
    return WORDS[language]["target"].format(
        metric=quantity_name(f"valid_{target.metric}", language),
        sign="≤" if target.lower_is_better else "≥",
        value=value,
        cap=step_text(target.cap),
    )


def aim_text(study: Study, language: Language) -> str:
    """The target, or by what points are compared without one."""
    if study.target is not None:
        return target_text(study.target, language)
    return WORDS[language]["no target"].format(metric=quantity_name(f"valid_{study.metric}", language))


def status_text(status: str, language: Language) -> str:
    return WORDS[language].get(status, status)
