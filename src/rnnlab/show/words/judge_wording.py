"""The words of `rnnlab judge`, in both languages: of its tables, then of its page."""

from rnnlab.show.pages.parts import Both

TABLE_TITLE = Both("{metric} of {models} on {rows}{stars}", "{rows}上 {models}的{metric}{stars}")
STARS = Both(" (* the best, and what is within {margin} of it)", "（* 最好的，以及与它相差在 {margin}以内的）")
MODELS = (Both("1 model", "1 个模型"), Both("{number} models", "{number} 个模型"))
ROWS = (Both("1 test row", "1 条测试样本"), Both("{number} test rows", "{number} 条测试样本"))
POINTS = (Both("1 point", "1 个百分点"), Both("{number} points", "{number} 个百分点"))
METRICS = {
    "accuracy": Both("accuracy", "准确率"),
    "error rate": Both("error rate", "错误率"),
    "score": Both("score", "得分"),
}
COLUMNS = {
    "model": Both("model", "模型"),
    "interval": Both("{level} % interval", "{level}% 区间"),
    "seeds": Both("seeds", "随机种子"),
    "failed": Both("failed seeds", "失败的种子"),
}
COSTS = {
    "seconds": Both("seconds", "秒"),
    "milliseconds": Both("milliseconds", "毫秒"),
    "parameters": Both("parameters", "参数个数"),
    "unnamed": Both("cost", "开销"),
}
OF = Both("{part} of {whole}", "{whole} 个中的 {part} 个")

PAGE_TITLE = Both("rnnlab judge: {name}", "rnnlab 评判：{name}")
SECTIONS = {
    "answer": Both("The answer", "结论"),
    "seeds": Both("Every seed", "每个随机种子"),
    "scores": Both("The scores", "得分"),
    "pairs": Both("The pairs", "两两比较"),
}
COUNTED = Both("What was counted", "计入了什么")
FACTS = {
    "seeds": Both("seeds: {number}", "随机种子：{number}"),
    "margin": Both("margin: {margin}", "无关紧要的差异：{margin}"),
    "lower": Both("lower is better", "越低越好"),
}
EXPLAINED = {
    "model": Both(
        "* the best, and what is within the margin of it and not measurably worse.",
        "* 最好的，以及与它相差无几、且不是可测地更差的模型。",
    ),
    "score": Both(
        "The mean of all runs.",
        "所有运行的平均。",
    ),
    "interval": Both(
        "Where the score lies for seeds and test rows in general. That of the recommended model allows for its having "
        "been picked because it was ahead.",
        "就一般的随机种子和测试样本而言，得分所在的范围。推荐模型的区间已计入它因领先而被挑中的影响。",
    ),
    "seeds": Both("How many runs there are.", "运行次数。"),
    "failed": Both(
        "Runs that diverged, or ended far below the model's best run.", "发散、或远低于该模型最好结果的运行。"
    ),
    "cost": Both("As the table gives it; the median of the runs.", "表中给出的开销，取各次运行的中位数。"),
}
PAIR_COLUMNS = {
    "better": (Both("ahead", "领先者"), None),
    "worse": (Both("behind", "落后者"), None),
    "gap": (Both("difference{unit}", "差异{unit}"), Both("As measured.", "实测值。")),
    "interval": (
        Both("interval", "区间"),
        Both(
            "Corrected for the number of pairs: it excludes zero exactly where the call is “better”.",
            "已按比较的对数校正：判为“更好”时，区间恰好不含零。",
        ),
    ),
    "more": (
        Both("chance better", "更好的概率"),
        Both(
            "The chance that the one ahead is truly better by more than {margin}.",
            "领先者真正好出 {margin} 以上的概率。",
        ),
    ),
    "within": (
        Both("chance equal", "相当的概率"),
        Both("The chance that the two differ by {margin} or less.", "两者相差不超过 {margin} 的概率。"),
    ),
    "less": (
        Both("chance worse", "更差的概率"),
        Both(
            "The chance that the one ahead is truly worse by more than {margin}.",
            "领先者其实差了 {margin} 以上的概率。",
        ),
    ),
    "call": (
        Both("call", "判断"),
        Both(
            "Better: measurably so, after Holm's correction. Equal: within the margin with 95 % chance.",
            "更好：经 Holm 校正后可测地更好。相当：有 95% 的概率相差不超过界限。",
        ),
    ),
}
CALLS = {
    "better": Both("better", "更好"),
    "equal": Both("equal", "相当"),
    "undecided": Both("undecided", "未定"),
}
IN_POINTS = Both(", points", "（百分点）")
PAIRS_NOTE = Both(
    "The chances that the model ahead is truly better by more than the margin of {margin}, that the two are within it, "
    "and that it is worse by more than that.",
    "三个概率依次是：领先者真正好出 {margin}以上、两者相差在此之内、领先者其实差了这么多以上。",
)
