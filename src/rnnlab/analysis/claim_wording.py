"""What a claim's verdict rests on, in words: figures with their units, reasons and notes, in English or Chinese."""

from typing import Literal

from rnnlab.analysis.claim_findings import Finding, Note
from rnnlab.analysis.quantities import Unit

Language = Literal["en", "zh"]

ENGLISH = {
    "stop": ". ",
    "end": ".",
    "supported": "supported",
    "contradicted": "contradicted",
    "cannot tell": "cannot tell",
    "sentence": "{verdict}: {measured}, {seeds} seeds",
    "sentence of one": "{verdict}: {measured}, 1 seed",
    "sentence of none": "{verdict}",
    # figures
    "interval": "{value} ({low} to {high})",
    "against": "{a} against {b}: {interval}",
    "points": "{value} points",
    "times": "×{value}",
    "seconds": "{value} s",
    "steps": "{value} steps",
    "epochs": "{value} epochs",
    "megabytes": "{value} MB",
    "parameters": "{value} parameters",
    "tokens": "{value} tokens/s",
    "number": "{value}",
    "share": "{value} %",
    "of runs": "{hits} of {runs} runs: {interval}",
    "correlation": "rank correlation {interval}",
    "winner": "{value} (first in {share} of draws)",
    "then": ", then {winners}",
    "inside": "{winners}; within the rule: {share}",
    # why there is no telling
    "not run": "the study '{study}' has not been run",
    "no point": "the study '{study}' has no runs at {where}",
    "unpaired": "one side has no runs at {where}",
    "no value": "no run of {point} has '{quantity}' ({states})",
    "incomplete": "no seed has '{quantity}' at every setting ({states})",
    "no target": "the study '{study}' has no target to reach",
    "never arrived": "no run reached the target, so there is no saying when it would have",
    "both capped": "some pairs reached the target on neither side: whether they are equal can't be seen",
    "all diverged": "every run diverged",
    "not positive": "a ratio needs '{quantity}' above 0 in every run",
    "few values": "{values} values of {axis} are too few, or not all were run",
    "unreadable": "{reason}",
    "rows by seed": "the test rows differ from seed to seed",
    "one seed": "a single seed doesn't show how much is chance",
    "one seed rows": "one seed: the interval is from the test rows alone, and how much runs differ isn't known",
    "no spread": "all {seeds} seeds gave the same value, so how much runs differ isn't known",
    "both sides": "the interval has values on both sides of the rule ({rule})",
    "draws": "the seeds don't agree enough on the winner (95 % of the draws would decide)",
    # notes
    "capped": "{capped} of {runs} runs never reached the target; they count with the cap, {cap} steps",
    "unused": "{unused} of {runs} runs ({states}) are not compared: only seeds with a value at every setting are",
    "silent": "{unused} of {runs} runs ({states}) neither finished nor diverged and aren't counted",
    "lost": "can't win, because every run diverged: {axis} {values}",
    "other rows": "the settings have different test rows; their errors are taken as independent",
    "paired shares": "interval of {pairs} pairs of runs, taken as independent",
    "rounded": "a good part of the interval's width is the distance between two evaluations (or one validation row)",
    "exact": "the same in every run, by construction",
    "spearman": "Spearman's rank correlation with {axis} over {values} values, mean of the seeds",
}
CHINESE = {
    "stop": "。",
    "end": "。",
    "supported": "成立",
    "contradicted": "不成立",
    "cannot tell": "无法判断",
    "sentence": "{verdict}：{measured}，{seeds} 个随机种子",
    "sentence of one": "{verdict}：{measured}，1 个随机种子",
    "sentence of none": "{verdict}",
    "interval": "{value}（{low} 至 {high}）",
    "against": "{a} 对 {b}：{interval}",
    "points": "{value} 个百分点",
    "times": "×{value}",
    "seconds": "{value} 秒",
    "steps": "{value} 步",
    "epochs": "{value} 轮",
    "megabytes": "{value} MB",
    "parameters": "{value} 个参数",
    "tokens": "{value} 词元/秒",
    "number": "{value}",
    "share": "{value}%",
    "of runs": "{runs} 次运行中有 {hits} 次：{interval}",
    "correlation": "秩相关 {interval}",
    "winner": "{value}（在 {share} 的抽样中居首）",
    "then": "，其次 {winners}",
    "inside": "{winners}；落在规则之内：{share}",
    "not run": "研究“{study}”尚未运行",
    "no point": "研究“{study}”在 {where} 处没有运行",
    "unpaired": "有一方在 {where} 处没有运行",
    "no value": "{point} 没有任何运行给出“{quantity}”（{states}）",
    "incomplete": "没有一个随机种子在所有设置下都有“{quantity}”（{states}）",
    "no target": "研究“{study}”没有设定目标",
    "never arrived": "没有任何运行达到目标，无从得知何时会达到",
    "both capped": "有些配对两边都未达到目标，看不出是否相同",
    "all diverged": "所有运行都发散了",
    "not positive": "求比值需要每次运行的“{quantity}”都大于 0",
    "few values": "{axis} 的 {values} 个取值太少，或没有全部运行",
    "unreadable": "{reason}",
    "rows by seed": "不同随机种子的测试样本不同",
    "one seed": "单个随机种子看不出偶然性有多大",
    "one seed rows": "只有一个随机种子：区间仅反映测试样本，运行之间的差异未知",
    "no spread": "{seeds} 个随机种子的结果完全相同，运行之间的差异未知",
    "both sides": "区间跨在规则（{rule}）的两侧",
    "draws": "各随机种子对谁居首意见不够一致（需要 95% 的抽样）",
    "capped": "{runs} 次运行中有 {capped} 次从未达到目标，按上限 {cap} 步计",
    "unused": "{runs} 次运行（{states}）中有 {unused} 次未参与比较：只比较在所有设置下都有结果的随机种子",
    "silent": "{runs} 次运行（{states}）中有 {unused} 次既未完成也未发散，不计入",
    "lost": "因全部发散而不可能居首：{axis} {values}",
    "other rows": "各设置的测试样本不同，其误差视为相互独立",
    "paired shares": "由 {pairs} 对运行得出的区间，各对视为相互独立",
    "rounded": "区间宽度中有相当一部分来自两次评估之间的间隔（或一条验证样本）",
    "exact": "由结构决定，每次运行都相同",
    "spearman": "与 {axis} 的斯皮尔曼秩相关（{values} 个取值），对随机种子取平均",
}
_LANGUAGES = {"en": ENGLISH, "zh": CHINESE}
_SHOWN = 3  # winners named
_MENTIONED = 0.005  # of the draws


def verdict_word(finding: Finding, language: Language = "en") -> str:
    return _LANGUAGES[language][finding.verdict]


def note_text(note: Note, language: Language = "en") -> str:
    return _LANGUAGES[language][note.kind].format(**note.gaps)


def sentence(finding: Finding, language: Language = "en") -> str:
    """The verdict with its figures, and why there is no telling; notes are told apart."""
    words = _LANGUAGES[language]
    shown = measured(finding, language)
    kind = "sentence of none" if not shown else "sentence of one" if len(finding.seeds) == 1 else "sentence"
    verdict = verdict_word(finding, language)
    parts = [words[kind].format(verdict=verdict[0].upper() + verdict[1:], measured=shown, seeds=len(finding.seeds))]
    if finding.reason:
        parts.append(note_text(finding.reason, language))
    return words["stop"].join(part[0].upper() + part[1:] for part in parts) + words["end"]


def measured(finding: Finding, language: Language = "en") -> str:
    """What was measured, with its interval; empty when nothing could be."""
    words, claim = _LANGUAGES[language], finding.claim
    if claim.measure == "best":
        return _winners(finding, words)
    if finding.value is None or finding.low is None or finding.high is None:
        return _sides(finding, words) if finding.sides else ""
    ends = (finding.value, finding.low, finding.high)
    if claim.measure == "share" and finding.counts:
        hits, runs = finding.counts
        return words["of runs"].format(hits=hits, runs=runs, interval=_interval(ends, "share", words))
    if claim.measure == "trend":
        shown = words["interval"].format(**_ends([_signed(f"{end:.2f}") for end in ends]))
        return words["correlation"].format(interval=shown)
    if claim.measure == "ratio":
        shown = words["times"].format(value=words["interval"].format(**_ends([f"{end:.3g}" for end in ends])))
    elif claim.measure == "difference":
        shown = _interval(ends, claim.parsed_quantity.unit, words, signed=True)
    else:
        return _interval(ends, claim.parsed_quantity.unit, words)
    return shown if finding.sides is None else words["against"].format(**_two_sides(finding, words), interval=shown)


def _sides(finding: Finding, words: dict[str, str]) -> str:
    a, b = _two_sides(finding, words).values()
    return words["against"].format(a=a, b=b, interval="").rstrip(" :：")


def _two_sides(finding: Finding, words: dict[str, str]) -> dict[str, str]:
    assert finding.sides is not None
    unit = finding.claim.parsed_quantity.unit
    a, b = (words[unit].format(value=_figure(side, unit)) for side in finding.sides)
    return {"a": a, "b": b}


def _interval(ends: tuple[float, ...], unit: Unit, words: dict[str, str], signed: bool = False) -> str:
    """The unit once, behind the value: ``+4.4 points (3.1 to 5.7)``."""
    figures = [_figure(end, unit, ends) for end in ends]
    if signed:
        figures = [_signed(figure) for figure in figures]
    unit_word = words["points" if signed and unit == "share" else unit]
    if ends[0] == ends[1] == ends[2]:
        return unit_word.format(value=figures[0])
    return words["interval"].format(value=unit_word.format(value=figures[0]), low=figures[1], high=figures[2])


def _ends(figures: list[str]) -> dict[str, str]:
    return dict(zip(("value", "low", "high"), figures, strict=True))


def _figure(value: float, unit: Unit, beside: tuple[float, ...] = ()) -> str:
    """As many digits as people read; figures that stand beside each other have the same number of decimals."""
    if unit == "share":
        return f"{round(100 * value, 1) + 0.0:.1f}"
    if unit in ("steps", "parameters", "tokens", "megabytes"):
        return f"{round(value) + 0:,}"
    if unit == "epochs":
        return f"{round(value, 1) + 0.0:.1f}"
    largest = max(abs(value), *map(abs, beside), 0.0) if beside else abs(value)
    decimals = 2 if largest >= 1 else 3 if largest >= 0.1 else 5
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def _signed(figure: str) -> str:
    if figure.startswith("-"):
        return f"−{figure[1:]}"
    return f"+{figure}" if figure.strip("0.,") else figure


def _winners(finding: Finding, words: dict[str, str]) -> str:
    if not finding.winners or finding.value is None:
        return ""
    named = [won for won in finding.winners[:_SHOWN] if won[1] >= _MENTIONED]
    first, *others = (words["winner"].format(value=value, share=_percent(share, words)) for value, share in named)
    text = first + (words["then"].format(winners="; ".join(others)) if others else "")
    return words["inside"].format(winners=text, share=_percent(finding.value, words))


def _percent(share: float, words: dict[str, str]) -> str:
    return words["share"].format(value=f"{100 * share:.0f}")
