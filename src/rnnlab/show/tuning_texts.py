"""What tuning did, in words: a line per arm, and what must be known to believe it."""

from collections.abc import Mapping
from typing import Any

from rnnlab.comparing.tuning import TunedArm, Tuning
from rnnlab.core.words import CLAUSES, Both, both, joined, listed, note, retold, same


def tuning_lines(tuning: Tuning) -> list[Both]:
    """``lstm: hidden 200, lr 0.0021, dropout 0.3 (best of 12 trials: valid 88.1 %, default 86.9 %)``, one per arm."""
    return [_line(arm, tuning) for arm in tuning.arms]


def _line(arm: TunedArm, tuning: Tuning) -> Both:
    gaps = {
        "label": arm.label,
        "setting": setting_text(arm.setting),
        "trials": len(arm.trials),
        "best": score_text(arm.best.score, tuning.metric),
    }
    if len(arm.trials) == 1:
        return both("{label}: nothing to tune (validation {best})", label=arm.label, best=gaps["best"])
    if arm.chosen == 0:
        return both("{label}: the default, {setting} (best of {trials} trials: validation {best})", **gaps)
    return both(
        "{label}: {setting} (best of {trials} trials: validation {best}, default {default})",
        **gaps,
        default=score_text(arm.default.score, tuning.metric),
    )


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


def score_text(score: float | None, metric: str) -> Both:
    if score is None:
        return both("no score")
    return same(f"{score:.4f}") if metric == "loss" else both("{value} %", value=f"{100 * score:.1f}")


def lead_lines(tuning: Tuning) -> list[Both]:
    """From how many trials on an arm is ahead, where the intervals say so; a sentence each."""
    first = tuning.leader
    rivals = [arm.label for arm in tuning.rivals if arm.label != first]
    if first is None or not rivals:
        return []
    behind = {lead.worse: lead.trials for lead in tuning.leads}
    if set(behind) == set(rivals):
        trials = max(behind.values())
        if trials == 1:
            return [both("On validation, {first} wins with any number of trials.", first=first)]
        return [both("On validation, {first} wins from {trials} trials on.", first=first, trials=trials)]
    lines = []
    for trials in sorted(set(behind.values())):
        gaps = {"first": first, "others": listed([label for label in rivals if behind.get(label) == trials])}
        if trials == 1:
            lines.append(both("On validation, {first} is ahead of {others} with any number of trials.", **gaps))
        else:
            lines.append(
                both("On validation, {first} is ahead of {others} from {trials} trials on.", **gaps, trials=trials)
            )
    others = listed([label for label in rivals if label not in behind])
    said = both(
        "With {trials} trials, {first} comes first on validation, but not clearly before {others}.",
        first=first,
        others=others,
        trials=tuning.trials,
    )
    return [*lines, said]


def equal_text(tuning: Tuning) -> Both:
    """That all got as many trials, or who didn't and why."""
    short = [
        retold(note("{label} has nothing to tune", label=arm.label))
        if len(arm.trials) == 1
        else retold(
            note("{label} has no more than {trials} different settings", label=arm.label, trials=len(arm.trials))
        )
        for arm in tuning.short
    ]
    if short:
        every = retold(note("every other model and baseline got {trials} trials", trials=tuning.trials))
    else:
        every = retold(note("every model and baseline got {trials} trials", trials=tuning.trials))
    return joined([*short, every], CLAUSES)


def tuning_notes(tuning: Tuning, vary_split: bool) -> list[str]:
    """For the comparison's notes, which are stored."""
    notes = [
        note(
            "tune: {who}, the first with its default setting; chosen on {rows:,} validation rows with seed {seed}, "
            "which no run of the comparison has",
            who=equal_text(tuning),
            rows=tuning.rows,
            seed=tuning.seed,
        )
    ]
    stopped = sum(trial.status == "stopped" for arm in tuning.arms for trial in arm.trials)
    if stopped:
        total = sum(len(arm.trials) for arm in tuning.arms)
        text = note(
            "tune: {stopped} of {total} trials were stopped early, since they were behind", stopped=stopped, total=total
        )
        notes.append(text)
    fixed = {arm.label: arm.fixed for arm in tuning.arms if arm.fixed}
    if fixed:
        shown = "; ".join(f"{label}: {', '.join(axis_text(path) for path in paths)}" for label, paths in fixed.items())
        notes.append(note("tune: what you set was not searched ({settings})", settings=shown))
    if vary_split:
        notes.append(
            note(
                "tune: settings were chosen on the validation rows of the first seed's split; they can be test rows of "
                "other splits, so scores may be slightly too good"
            )
        )
    return notes
