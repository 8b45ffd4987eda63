"""The words of the report page, in both languages."""

from rnnlab.show.pages.parts import Both

TITLE = Both("rnnlab report: {names}", "rnnlab 报告：{names}")
SECTIONS = {
    "answer": Both("The answer", "结论"),
    "cost": Both("Accuracy against cost", "准确率与开销"),
    "table": Both("The table", "结果表"),
    "tuning": Both("Tuning", "调参"),
    "learning": Both("Learning curves", "学习曲线"),
    "differences": Both("Where they differ", "差异在哪里"),
    "why": Both("Why", "原因何在"),
    "sweeps": Both("Sweeps", "参数扫描"),
    "data": Both("The data", "数据"),
    "terms": Both("Fairness and provenance", "公平性与来源"),
}
STANDING = {
    "settled": Both("Settled", "已有定论"),
    "for now": Both("For now", "暂时"),
    "cannot tell": Both("Cannot tell yet", "目前无法判断"),
    "baseline": Both("Use the baseline", "用基线即可"),
    "alone": Both("One model alone", "仅一个模型"),
    "nothing": Both("Nothing finished", "无完成的运行"),
}
STANDING_MEANS = {
    "settled": Both(
        "The chance that any other model is better by more than {margin} points is below 5 %.",
        "其他任何模型好出 {margin} 个百分点以上的概率都低于 5%。",
    ),
    "for now": Both(
        "Some other model may still turn out better by more than {margin} points.",
        "其他模型仍有可能好出 {margin} 个百分点以上。",
    ),
    "cannot tell": Both("One run per model doesn't show how much is luck.", "每个模型只运行一次，看不出偶然性有多大。"),
    "baseline": Both(
        "No model is better by more than {margin} points than a baseline that costs next to nothing.",
        "没有任何模型比几乎没有开销的基线好出 {margin} 个百分点以上。",
    ),
    "alone": Both("There is nothing to compare it with.", "没有可比较的对象。"),
    "nothing": Both("No run of a model finished.", "没有任何模型完成运行。"),
}
RECOMMENDED = Both("Recommended: {label}", "推荐：{label}")
BEST = Both("First so far: {label}", "暂列第一：{label}")
USE = Both("Use it", "使用")
COSTS = Both("What it costs", "开销")
FACTS = {
    "epoch": Both("{value} s per epoch", "每轮 {value} 秒"),
    "update": Both("{value} ms per update", "每次更新 {value} 毫秒"),
    "row": Both("{value} ms per row when predicting", "预测每条 {value} 毫秒"),
    "parameters": Both("{value} parameters", "{value} 个参数"),
    "training": Both("{value} of training per run", "每次运行训练 {value}"),
    "memory": Both("{value} MB at most", "内存峰值 {value} MB"),
}
# name, and what a hover over the column's head explains
COLUMNS = {
    "model": (
        Both("model", "模型"),
        Both(
            "* is within the margin of the best and not measurably worse than any other. Grey: a baseline.",
            "* 与最好成绩的差距在允许范围内，且未被测出不及其他任何模型。灰色：基线。",
        ),
    ),
    "accuracy": (
        Both("{metric}, %", "{metric}，%"),
        Both(
            "The share of test rows answered rightly, the mean of all finished runs.",
            "答对的测试样本所占比例，取所有完成运行的平均。",
        ),
    ),
    "interval": (
        Both("{level} % interval", "{level}% 区间"),
        Both(
            "Where the accuracy lies for seeds and test rows in general: of intervals made like this, {level} in 100 "
            "hold it.",
            "就一般的随机种子和测试样本而言，准确率所在的范围：如此得到的区间，100 个中有 {level} 个包含它。",
        ),
    ),
    "seen": (
        Both("seen rows, %", "见过的样本，%"),
        Both(
            "Accuracy on the test rows that stand in the training rows too, token for token.",
            "在与某条训练样本逐词相同的测试样本上的准确率。",
        ),
    ),
    "unseen": (
        Both("unseen rows, %", "未见过的样本，%"),
        Both("Accuracy on all other test rows.", "在其余测试样本上的准确率。"),
    ),
    "macro_f1": (
        Both("macro-F1, %", "macro-F1，%"),
        Both(
            "F1 of each class, then their mean: rare classes count as much as common ones.",
            "先算每个类别的 F1，再取平均：少数类与多数类同等重要。",
        ),
    ),
    "loss": (
        Both("loss", "损失"),
        Both("Of the test rows, the mean of all finished runs.", "测试集损失，各次运行的平均。"),
    ),
    "epoch_seconds": (
        Both("s/epoch", "秒/轮"),
        Both(
            "Seconds of training per epoch, the median; evaluation isn't counted.",
            "每轮训练的秒数（中位数），不含评估。",
        ),
    ),
    "step_seconds": (
        Both("ms/update", "毫秒/更新"),
        Both("Milliseconds of training per update, the median.", "每次参数更新的毫秒数（中位数）。"),
    ),
    "row_seconds": (
        Both("ms/row", "毫秒/条"),
        Both(
            "Milliseconds to answer a test row, in batches, on one thread.",
            "预测一条测试样本的毫秒数（成批，单线程）。",
        ),
    ),
    "tokens_per_second": (
        Both("tokens/s", "词元/秒"),
        Both("Tokens trained on per second; padding doesn't count.", "训练时每秒处理的词元数，不计填充。"),
    ),
    "best_epoch": (
        Both("best epoch", "最佳轮次"),
        Both(
            "At which the validation rows were answered best, the median; + if it still improved at its limit.",
            "验证集表现最好的轮次（中位数）；带 + 表示到达训练上限时仍在进步。",
        ),
    ),
    "best_evaluation": (
        Both("best evaluation", "最佳评估"),
        Both(
            "At which the validation rows were answered best, the median; + if it still improved at its limit.",
            "验证集表现最好的评估序号（中位数）；带 + 表示到达训练上限时仍在进步。",
        ),
    ),
    "parameters": (
        Both("parameters", "参数量"),
        Both("All that is learnt, the embedding included.", "全部可学习的参数，含词嵌入。"),
    ),
    "memory": (
        Both("MB", "MB"),
        Both("The most memory that a run's process held.", "单次运行进程的内存峰值。"),
    ),
    "runs": (
        Both("runs", "运行"),
        Both("Finished runs of those that were asked for.", "完成的运行数 / 要求的运行数。"),
    ),
    "failed": (
        Both("failed seeds", "未学会"),
        Both(
            "Runs that diverged, ended at the majority class or below, or ended far below the best run of their model. "
            "They count in the score; one that diverged counts as answering the majority class.",
            "发散、以多数类水平或更低结束、或远低于该模型最好一次的运行。它们计入得分；发散的运行按回答多数类计。",
        ),
    ),
}
TABLE_NOTE = Both(
    "{seeds} seeds per model; test accuracy; * within {margin} points of the best and not measurably worse than any "
    "other. The interval of the recommended one allows for its having been picked. Click a column's head to sort.",
    "每个模型 {seeds} 个随机种子；测试集准确率；* 与最好成绩相差不超过 {margin} 个百分点，且未被测出不及其他任何模型。"
    "推荐模型的区间已计入“挑选”带来的偏高。点击表头可排序。",
)
ONE_SEED_NOTE = Both(
    "One seed per model: intervals count the luck of the test rows alone. Click a column's head to sort by it.",
    "每个模型 1 个随机种子：区间只计入测试样本的偶然性。点击表头可排序。",
)
UNFINISHED = Both("Runs that didn't finish", "未完成的运行")
SEED = Both("seed", "随机种子")
STATUS = {
    "finished": Both("finished", "完成"),
    "diverged": Both("diverged", "发散"),
    "failed": Both("failed", "失败"),
    "stopped": Both("stopped", "中止"),
}
NOTES = Both("Notes", "说明")
DISPUTED = Both("The rows they disagree on most", "分歧最大的测试样本")
DISPUTED_NOTE = Both(
    "Each model's answer by most of its runs; in brackets, how many runs gave it.",
    "各模型多数运行给出的答案；括号内为给出该答案的运行数。",
)
LOOKED_NOTE = Both(
    "Coloured tokens: what {arm} looked at for its own answer (integrated gradients of its best run). Red speaks for "
    "the answer, blue against it; dotted: unknown to the model.",
    "着色词元：{arm} 作出自己的回答时所依据的内容（其最佳运行的积分梯度）。红色支持该回答，蓝色反对；"
    "虚线：模型不认识的词元。",
)
RIGHT = Both("right answer", "正确答案")
ROW = Both("test row {row}", "测试样本 {row}")
SAYS = Both("{arm} says", "{arm} 的回答")
MORE_TOKENS = Both("… and {count} more tokens", "……另有 {count} 个词元")
NO_TEXT = Both("(a series of numbers)", "（数值序列）")
NO_DIFFERENCES = Both(
    "This task doesn't ask for one label per sequence: there are no classes to compare.",
    "该任务不是每条序列一个标签，没有类别可比较。",
)
NO_INTERNALS = Both("Nothing was recorded or could be looked into.", "没有可供查看的记录。")
WHY_NOTE = Both(
    "Looked into: the best run (by validation) of each model, on validation rows. A model whose gradient fades after a "
    "few steps can't learn what lies further back.",
    "查看的是每个模型在验证集上最好的一次运行，输入为验证样本。梯度在几步之内就消失的模型学不到更早的内容。",
)
FAIRNESS = Both("On which terms each model took part", "各模型的参赛条件")
TERMS_COLUMNS = {
    "model": (Both("model", "模型"), Both("The arm of the comparison.", "比较中的一支。")),
    "parameters": (Both("parameters", "参数量"), Both("All that is learnt.", "全部可学习的参数。")),
    "embedding": (Both("embedding", "词嵌入"), Both("Of them, in the embedding.", "其中词嵌入的参数。")),
    "encoder": (Both("encoder", "编码器"), Both("Of them, in the encoder.", "其中编码器的参数。")),
    "head": (Both("head", "输出层"), Both("Of them, in the last layer.", "其中输出层的参数。")),
    "flops": (
        Both("FLOPs per row", "每条 FLOPs"),
        Both(
            "Of the matrix products of a forward pass over a row of {length} steps, the median length.",
            "对长度为 {length} 步（中位数）的一条样本做一次前向计算时，矩阵乘法的浮点运算数。",
        ),
    ),
    "step": (
        Both("ms per step", "每步毫秒"),
        Both(
            "To read one more token and answer, after 100 tokens of a row alone: what it takes to answer while a text "
            "grows. Empty for models that read what comes later.",
            "单条样本读入 100 个词元之后，再读一个词元并给出答案所需的时间：文本不断增长时实时作答的代价。"
            "会向后看的模型此处为空。",
        ),
    ),
    "tried": (
        Both("settings tried", "试过的设置"),
        Both(
            "Different settings of this kind of model on this data, among all runs of the folder. More tries, more "
            "luck.",
            "该文件夹的全部运行中，同类模型在此数据上试过的不同设置数。试得越多，越可能碰上好运气。",
        ),
    ),
    "stopping": (
        Both("why its runs ended", "停止原因"),
        Both("The limit that each run reached first.", "各次运行最先达到的限制。"),
    ),
    "epochs": (Both("epochs trained", "训练轮数"), Both("Fewest to most.", "最少至最多。")),
    "evaluations": (Both("evaluations", "评估次数"), Both("Fewest to most.", "最少至最多。")),
    "time": (Both("training time", "训练时间"), Both("All runs of the model together.", "该模型所有运行合计。")),
}
STOPPING = {
    "epochs": Both("all epochs done", "轮数已满"),
    "steps": Both("all updates done", "更新次数已满"),
    "minutes": Both("time was up", "时间到"),
    "until": Both("reached the score asked for", "达到要求的分数"),
    "patience": Both("no more progress (patience)", "不再进步（耐心耗尽）"),
    "diverged": Both("diverged", "发散"),
    "failed": Both("failed", "失败"),
}
REPEAT = Both("Repeat it", "如何重复")
REPEAT_TYPED = Both("The command, as it was typed:", "当时输入的命令：")
REPEAT_FILE = Both("The same, with every setting in a file:", "同样的比较，全部设置写在一个文件里：")
DOWNLOAD_EXPERIMENT = Both("Download {name}", "下载 {name}")
RUNS = Both("Runs and their specs", "运行及其设置")
RUNS_NOTE = Both(
    "A run is identified by the digest of its spec: click one to save the spec. Same spec, same bits.",
    "运行由其设置的摘要标识：点击即可保存设置。设置相同，结果逐位相同。",
)
MADE_WITH = Both("Made with", "运行环境")
ENVIRONMENT = {
    "rnnlab": Both("rnnlab", "rnnlab"),
    "torch": Both("torch", "torch"),
    "python": Both("Python", "Python"),
    "system": Both("system", "操作系统"),
    "machine": Both("machine", "架构"),
    "cpu": Both("CPU", "CPU"),
    "cpu_capability": Both("CPU capability", "CPU 指令集"),
    "kernels": Both("kernels", "计算内核"),
    "threads": Both("threads per run", "每次运行的线程数"),
}
TRAINING_TIME = Both("training time, all runs", "训练时间（全部运行）")
FINGERPRINT = Both("fingerprint of the data", "数据指纹")
SETTINGS_OF = Both("{count} settings, {runs} runs", "{count} 组设置，{runs} 次运行")
LEFT_OUT = Both("Left out", "未包含的内容")
COMPARISON = Both("Comparison: {name}", "比较：{name}")
SWEEP = Both("Sweep: {name}", "扫描：{name}")
EVIDENCE = Both("Every pair", "逐对比较")
EVIDENCE_COLUMNS = {
    "better": (Both("model", "模型"), Both("The one with the better mean.", "平均值较好者。")),
    "worse": (Both("against", "对比"), Both("The one with the worse mean.", "平均值较差者。")),
    "call": (
        Both("verdict", "判断"),
        Both(
            "Better: by the corrected test. Equal: within {margin} points with a chance of 95 % or more. Undecided: "
            "neither.",
            "更好：通过校正后的检验。相当：相差不超过 {margin} 个百分点的概率不低于 95%。其余为未定。",
        ),
    ),
    "gap": (
        Both("difference, points", "差异（百分点）"),
        Both("Of the means of all their runs.", "双方所有运行的平均值之差。"),
    ),
    "interval": (
        Both("interval", "区间"),
        Both(
            "At the level that this pair's correction leaves: it excludes zero exactly when the pair is called better.",
            "按该对的校正水平给出：当且仅当判为“更好”时不含零。",
        ),
    ),
    "p": (
        Both("p, corrected", "校正后的 p"),
        Both(
            "How often chance alone would show so large a difference, corrected (Holm) for all pairs that could have "
            "been picked.",
            "仅凭偶然出现如此大差异的概率，已按所有可能挑选的配对做 Holm 校正。",
        ),
    ),
    "ahead": (
        Both("better, %", "更好，%"),
        Both("The chance that it is better by more than {margin} points.", "好出 {margin} 个百分点以上的概率。"),
    ),
    "within": (
        Both("within, %", "相当，%"),
        Both("The chance that the two are within {margin} points.", "相差不超过 {margin} 个百分点的概率。"),
    ),
    "behind": (
        Both("worse, %", "更差，%"),
        Both("The chance that it is worse by more than {margin} points.", "差出 {margin} 个百分点以上的概率。"),
    ),
}
CALLS = {
    "better": Both("better", "更好"),
    "equal": Both("equal", "相当"),
    "undecided": Both("undecided", "未定"),
}
LUCK = {
    "rows": Both(
        "Intervals and chances count the luck of the seeds and of the test rows. They don't count the luck of the "
        "split and of the training rows: --vary-split does.",
        "区间和概率计入了随机种子与测试样本的偶然性，未计入数据划分与训练样本的偶然性（可用 --vary-split 计入）。",
    ),
    "split": Both(
        "Every seed drew its own split: intervals and chances count the luck of the seeds, the test rows, the split "
        "and, approximately (Nadeau and Bengio), the training rows.",
        "每个随机种子使用各自的数据划分：区间和概率计入了随机种子、测试样本、数据划分的偶然性，"
        "并近似计入（Nadeau–Bengio 校正）训练样本的偶然性。",
    ),
}
MORE_ROWS = Both("{count} more rows", "另外 {count} 条")
