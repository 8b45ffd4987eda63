"""What a claim's verdict rests on, in words: figures with their units, reasons and notes, in English or Chinese."""

from collections.abc import Sequence
from typing import Literal

from rnnlab.claims.findings import Finding, Note
from rnnlab.claims.quantities import Unit

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
    "or more": "{value} ({low} or more)",  # runs that never arrived leave the other end open
    "or less": "{value} ({high} or less)",
    "more than": "more than {value}",
    "less than": "less than {value}",
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
    "runs": "{hits} of {runs} runs",
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
    "both capped": "on both sides some runs never reached the target, so the truth may be larger or smaller",
    "censored": "runs that never reached the target decide it: their values are larger than the cap, and how much "
    "larger isn't known",
    "order unknown": "runs that never reached the target may come before or after others, so the order along {axis} "
    "isn't known",
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
    "none arrived": "{capped} of {runs} runs never reached the target: each is known to need more than {cap} steps",
    "cut short": "{capped} of {runs} runs never reached the target; they count with the last step at which they were "
    "evaluated, {least} or later",
    "any order": "the interval holds every order that the runs which never arrived may have",
    "unused": "{unused} of {runs} runs ({states}) are not compared: only seeds with a value at every setting are",
    "silent": "{unused} of {runs} runs ({states}) neither finished nor diverged and aren't counted",
    "lost": "can't win, because every run diverged: {axis} {values}",
    "other rows": "the settings have different test rows; their errors are taken as independent",
    "paired shares": "interval of {pairs} pairs of runs, taken as independent",
    "independent shares": "the runs of the two sides can't be paired one to one; all of them count, as independent",
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
    "or more": "{value}（{low} 以上）",
    "or less": "{value}（{high} 以下）",
    "more than": "大于 {value}",
    "less than": "小于 {value}",
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
    "runs": "{runs} 次运行中有 {hits} 次",
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
    "both capped": "两边都有运行从未达到目标，真实结果可能更大，也可能更小",
    "censored": "结论取决于从未达到目标的运行：只知道它们的值大于上限，不知道大多少",
    "order unknown": "从未达到目标的运行可能排在其他运行之前或之后，沿 {axis} 的次序未知",
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
    "none arrived": "{runs} 次运行中有 {capped} 次从未达到目标：已知每次都需要超过 {cap} 步",
    "cut short": "{runs} 次运行中有 {capped} 次从未达到目标，按各自最后一次评估的步数计（不早于 {least} 步）",
    "any order": "区间涵盖了从未达到目标的运行之间所有可能的次序",
    "unused": "{runs} 次运行（{states}）中有 {unused} 次未参与比较：只比较在所有设置下都有结果的随机种子",
    "silent": "{runs} 次运行（{states}）中有 {unused} 次既未完成也未发散，不计入",
    "lost": "因全部发散而不可能居首：{axis} {values}",
    "other rows": "各设置的测试样本不同，其误差视为相互独立",
    "paired shares": "由 {pairs} 对运行得出的区间，各对视为相互独立",
    "independent shares": "两边的运行无法一一配对；全部计入，视为相互独立",
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
    if finding.value is None or (finding.low is None and finding.high is None):
        return _sides(finding, words) if finding.sides else ""
    ends = (finding.value, finding.low, finding.high)
    if claim.measure == "share" and finding.counts:
        hits, runs = finding.counts
        return words["of runs"].format(hits=hits, runs=runs, interval=_interval(ends, "share", words))
    if claim.measure == "trend":
        return words["correlation"].format(interval=_span(ends, [_decimals(end) for end in ends], "{value}", words))
    if claim.measure == "ratio":
        shown = _span(ends, [_digits(end) for end in ends], words["times"], words)
    elif claim.measure == "difference":
        shown = _interval(ends, claim.parsed_quantity.unit, words, signed=True)
    else:
        return _interval(ends, claim.parsed_quantity.unit, words)
    return shown if finding.sides is None else words["against"].format(**_two_sides(finding, words), interval=shown)


def _sides(finding: Finding, words: dict[str, str]) -> str:
    a, b = _two_sides(finding, words).values()
    return words["against"].format(a=a, b=b, interval="").rstrip(" :：")


def _two_sides(finding: Finding, words: dict[str, str]) -> dict[str, str]:
    """The means of a and b, or how many of how many runs."""
    assert finding.sides is not None
    if finding.counts and finding.counts_b:
        a, b = (words["runs"].format(hits=hits, runs=runs) for hits, runs in (finding.counts, finding.counts_b))
        return {"a": a, "b": b}
    unit = finding.claim.parsed_quantity.unit
    a, b = (words[unit].format(value=_figure(side, unit)) for side in finding.sides)
    if finding.capped[0]:
        a = words["more than"].format(value=a)
    if finding.capped[1]:
        b = words["more than"].format(value=b)
    return {"a": a, "b": b}


Ends = tuple[float, float | None, float | None]  # value, low and high, of which one may be open


def _interval(ends: Ends, unit: Unit, words: dict[str, str], signed: bool = False) -> str:
    """The unit once, behind the value: ``+4.4 points (3.1 to 5.7)``."""
    known = tuple(end for end in ends if end is not None)
    figures = [None if end is None else _figure(end, unit, known) for end in ends]
    if signed:
        figures = [None if figure is None else _signed(figure) for figure in figures]
    return _span(ends, figures, words["points" if signed and unit == "share" else unit], words)


def _span(ends: Ends, figures: Sequence[str | None], unit: str, words: dict[str, str]) -> str:
    """The value in its unit, with the interval, or with the one end of it that is known."""
    value, low, high = ends
    shown = unit.format(value=figures[0])
    if low is None:
        return words["or less"].format(value=words["less than"].format(value=shown), high=figures[2])
    if high is None:
        more = words["more than"].format(value=shown)
        return more if low == value else words["or more"].format(value=more, low=figures[1])
    if low == value == high:
        return shown
    return words["interval"].format(value=shown, low=figures[1], high=figures[2])


def _decimals(value: float | None) -> str | None:
    return None if value is None else _signed(f"{value:.2f}")


def _digits(value: float | None) -> str | None:
    return None if value is None else f"{value:.3g}"


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
