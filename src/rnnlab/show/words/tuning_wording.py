"""What tuning did, in words: a line per arm, and what must be known to believe it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rnnlab.comparing.tuning import TunedArm, Tuning

LEADS = {
    "en": {
        "wins": "On validation, {first} wins from {trials} trials on.",
        "wins at once": "On validation, {first} wins with any number of trials.",
        "ahead": "On validation, {first} is ahead of {others} from {trials} trials on.",
        "ahead at once": "On validation, {first} is ahead of {others} with any number of trials.",
        "open": "With {trials} trials, {first} comes first on validation, but not clearly before {others}.",
    },
    "zh": {
        "wins": "在验证集上，从 {trials} 次试验起，{first} 胜过其他所有模型。",
        "wins at once": "在验证集上，无论试验多少次，{first} 都胜过其他所有模型。",
        "ahead": "在验证集上，从 {trials} 次试验起，{first} 领先于 {others}。",
        "ahead at once": "在验证集上，无论试验多少次，{first} 都领先于 {others}。",
        "open": "试验 {trials} 次后，{first} 在验证集上居首，但与 {others} 拉不开差距。",
    },
}


def tuning_lines(tuning: Tuning) -> list[str]:
    """``lstm: hidden 200, lr 0.0021, dropout 0.3 (best of 12 trials: valid 88.1 %, default 86.9 %)``, one per arm."""
    return [_line(arm, tuning) for arm in tuning.arms]


def _line(arm: TunedArm, tuning: Tuning) -> str:
    best, default = (score_text(trial.score, tuning.metric) for trial in (arm.best, arm.default))
    if len(arm.trials) == 1:
        return f"{arm.label}: nothing to tune (valid {best})"
    tried = f"best of {len(arm.trials)} trials: valid {best}"
    if arm.chosen == 0:
        return f"{arm.label}: the default, {setting_text(arm.setting)} ({tried})"
    return f"{arm.label}: {setting_text(arm.setting)} ({tried}, default {default})"


def setting_text(setting: Mapping[str, Any]) -> str:
    """``hidden 200, lr 0.0021, embedding dropout 0.3``."""
    return ", ".join(f"{axis_text(path)} {value_text(value)}" for path, value in setting.items())


def axis_text(path: str) -> str:
    """``lr`` of ``training.lr``, ``embedding dropout`` of ``model.embedding.dropout``."""
    return " ".join(path.split(".")[1:]).replace("_", " ")


def value_text(value: Any) -> str:
    if value is None:
        return "auto"  # the model finds it by itself, as nbsvm its C
    if isinstance(value, list | tuple):
        return "-".join(map(value_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def score_text(score: float | None, metric: str) -> str:
    if score is None:
        return "no score"
    return f"{score:.4f}" if metric == "loss" else f"{100 * score:.1f} %"


def lead_lines(tuning: Tuning, language: Literal["en", "zh"] = "en") -> list[str]:
    """From how many trials on an arm is ahead, where the intervals say so; a sentence each."""
    words = LEADS[language]
    first = tuning.leader
    rivals = [arm.label for arm in tuning.rivals if arm.label != first]
    if first is None or not rivals:
        return []
    behind = {lead.worse: lead.trials for lead in tuning.leads}
    if set(behind) == set(rivals):
        trials = max(behind.values())
        return [words["wins at once" if trials == 1 else "wins"].format(first=first, trials=trials)]
    lines = []
    for trials in sorted(set(behind.values())):
        others = _listed([label for label in rivals if behind.get(label) == trials], language)
        said = words["ahead at once" if trials == 1 else "ahead"]
        lines.append(said.format(first=first, others=others, trials=trials))
    others = _listed([label for label in rivals if label not in behind], language)
    return [*lines, words["open"].format(first=first, others=others, trials=tuning.trials)]


def _listed(labels: Sequence[str], language: Literal["en", "zh"]) -> str:
    if language == "zh":
        return "、".join(labels)
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def equal_text(tuning: Tuning) -> str:
    """That all got as many trials, or who didn't and why."""
    short = [
        f"{arm.label} has nothing to tune"
        if len(arm.trials) == 1
        else f"{arm.label} has no more than {len(arm.trials)} different settings"
        for arm in tuning.short
    ]
    every = "every other model and baseline" if short else "every model and baseline"
    return "; ".join([*short, f"{every} got {tuning.trials} trials"])


def tuning_notes(tuning: Tuning, vary_split: bool) -> list[str]:
    """For the comparison's notes."""
    notes = [
        f"tune: {equal_text(tuning)}, the first with its default setting; chosen on {tuning.rows:,} validation rows "
        f"with seed {tuning.seed}, which no run of the comparison has"
    ]
    stopped = sum(trial.status == "stopped" for arm in tuning.arms for trial in arm.trials)
    if stopped:
        total = sum(len(arm.trials) for arm in tuning.arms)
        notes.append(f"tune: {stopped} of {total} trials were stopped early, since they were behind")
    fixed = {arm.label: arm.fixed for arm in tuning.arms if arm.fixed}
    if fixed:
        shown = "; ".join(f"{label}: {', '.join(axis_text(path) for path in paths)}" for label, paths in fixed.items())
        notes.append(f"tune: what you set was not searched ({shown})")
    if vary_split:
        notes.append(
            "tune: settings were chosen on the validation rows of the first seed's split; they can be test rows of "
            "other splits, so scores may be slightly too good"
        )
    return notes
