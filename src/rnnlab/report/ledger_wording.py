"""The words of a ledger, in English and Chinese; its findings have theirs in `analysis.claim_wording`."""

ENGLISH = {
    "title": "Ledger of claims",
    "summary": "{claims} claims: {supported} supported, {contradicted} contradicted, {undecided} cannot tell.",
    "document": "Document {document}",
    "columns": "claim|the document's figure|measured (95 % interval)|verdict|decided by|seeds|runs",
    "terminal columns": "document|claim|its figure|measured (95 % interval)|verdict|seeds",
    "decided": "{measure} of {quantity} {rule}",
    "value": "mean",
    "difference": "difference",
    "ratio": "ratio",
    "trend": "trend along {along}",
    "best": "{best} along {along}",
    "lowest": "lowest",
    "highest": "highest",
    "share": "share of runs",
    "to notes": "What the figures rest on, claim by claim:",
    "item": "{id}: {texts}",
    "semicolon": "; ",
    "comma": ", ",
    "notes": "Notes",
    "verdicts": "A claim is supported when its whole 95 % interval satisfies the rule, contradicted when the whole "
    "interval violates it; otherwise there is no telling. For the best value of an axis, 95 % of the draws decide.",
    "many": "{intervals} claims have an interval, each of 95 % by itself and uncorrected for their number: about "
    "{expected} of these intervals are expected to miss the truth, and as many verdicts may be wrong.",
    "computed": "Every figure is computed from the runs: {runs} of them, seeds {seeds}, {time} of training in all; "
    "{date}.",
    "judged again": "The rules have changed since the runs. By the new ones these claims were judged again, from the "
    "values that the ledger had recorded: {claims}.",
    "judged before": "These claims stand as the earlier rules judged them, because the new ones would need values that "
    "weren't recorded: {claims}.",
    "environment": "{runs} runs on {machine} ({system}), CPU capability {cpu_capability}, threads per run: {threads}; "
    "torch {torch}, Python {python}, rnnlab {rnnlab}.",
    "reduced": "What is smaller than in the document",
    "commands": "Commands",
    "runs": "Runs",
    "seed": "seed {seed}: {run}",
    "status": "{run} ({status})",
    "finished": "finished",
    "diverged": "diverged",
    "failed": "failed",
    "pruned": "pruned",
}
CHINESE = {
    "title": "论断账本",
    "summary": "共 {claims} 条论断：{supported} 条成立，{contradicted} 条不成立，{undecided} 条无法判断。",
    "document": "文档 {document}",
    "columns": "论断|文档中的数字|实测（95% 区间）|结论|判断规则|随机种子|运行",
    "terminal columns": "文档|论断|文档中的数字|实测（95% 区间）|结论|随机种子",
    "decided": "{quantity} 的{measure} {rule}",
    "value": "平均值",
    "difference": "差",
    "ratio": "比值",
    "trend": "沿 {along} 的趋势",
    "best": "沿 {along} 的{best}",
    "lowest": "最小值",
    "highest": "最大值",
    "share": "运行占比",
    "to notes": "各条数字的依据：",
    "item": "{id}：{texts}",
    "semicolon": "；",
    "comma": "、",
    "notes": "说明",
    "verdicts": "若整个 95% 区间都满足规则，论断成立；若整个区间都违反规则，论断不成立；否则无法判断。"
    "对于某个轴上的最优取值，由 95% 的抽样决定。",
    "many": "{intervals} 条论断有区间，每个区间各自为 95%，未按条数校正：预计约有 {expected} 个区间不含真值，"
    "因而可能有同样多的结论是错的。",
    "computed": "所有数字均由运行结果计算得出。共 {runs} 次运行，随机种子 {seeds}，训练总时长 {time}；{date}。",
    "judged again": "运行之后判断规则有所改动，以下论断已用账本中记录的数值按新规则重新判断：{claims}。",
    "judged before": "以下论断仍为旧规则的结论，因为按新规则判断所需的数值当时没有记录：{claims}。",
    "environment": "{runs} 次运行：{machine}（{system}），CPU 指令集 {cpu_capability}，每次运行 {threads} 个线程；"
    "torch {torch}，Python {python}，rnnlab {rnnlab}。",
    "reduced": "与文档相比缩小了什么",
    "commands": "命令",
    "runs": "运行",
    "seed": "种子 {seed}：{run}",
    "status": "{run}（{status}）",
    "finished": "完成",
    "diverged": "发散",
    "failed": "失败",
    "pruned": "提前停止",
}
WORDS = {"en": ENGLISH, "zh": CHINESE}
