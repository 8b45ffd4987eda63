"""The learning rate at an update, and when a run ends.

A number of epochs is a guess: too few for one model, over-fitting for another. The `plateau` schedule needs none. It
holds the rate until the validation score has not improved for so long as patience says, goes back to the best weights,
and lets the rate fall to zero in a straight line: what a decaying rate is worth, without knowing beforehand when the
run will end. Limits (epochs, steps) still hold: the fall begins early enough to fit.
"""

import math

from rnnlab.answers.score import Score
from rnnlab.training.checkpoint import Progress
from rnnlab.training.spec import Training

FIRST_UPDATES = 300  # of a run, in which it doesn't lose patience


def learning_rate(training: Training, step: int, epoch: int, steps_per_epoch: int, progress: Progress) -> float:
    """``step`` and ``epoch`` count from 0."""
    schedule = training.schedule
    if schedule.shape == "plateau":
        if progress.fall_begins is not None:
            return training.lr * max(0.0, 1 - (step - progress.fall_begins) / progress.fall_steps)
        return training.lr * min(1.0, (step + 1) / ((schedule.rise or 0) + 1))
    if schedule.shape == "step":
        return training.lr * (schedule.gamma or 1) ** (epoch // (schedule.every or 1))
    if schedule.shape == "multi-step":
        return training.lr * (schedule.gamma or 1) ** sum(epoch >= e for e in schedule.at or ())
    if schedule.shape in ("cosine", "one-cycle"):
        total = total_steps(training, steps_per_epoch)
        rise = (schedule.warmup or 0) * total
        if step < rise:
            return training.lr * (step + 1) / (rise + 1)
        share = (step - rise) / max(1.0, total - rise)
        return training.lr * 0.5 * (1 + math.cos(math.pi * min(1.0, share)))
    return training.lr


def total_steps(training: Training, steps_per_epoch: int) -> int:
    """How many updates the limits allow: the tighter of epochs and steps."""
    by_epochs = training.epochs * steps_per_epoch if training.epochs else None
    limits = [n for n in (by_epochs, training.steps) if n is not None]
    return min(limits) if limits else 0


def begin_fall_if_due(progress: Progress, training: Training, by: Score, steps_per_epoch: int, chance: float) -> bool:
    """Asked after every evaluation: whether the rate of a plateau falls from the next update on. It falls for a share
    of the way to the best epoch, in whole epochs: what took long to learn takes long to settle."""
    if training.schedule.shape != "plateau" or progress.fall_begins is not None:
        return False
    wanted = max(1, round((training.schedule.decay or 0) * progress.best_epoch)) * steps_per_epoch
    limit = total_steps(training, steps_per_epoch)
    left = limit - progress.step if limit else wanted + 1
    patient = not out_of_patience(progress, training, by, chance)
    if left <= 0 or (patient and left > wanted):
        return False
    progress.fall_begins, progress.fall_steps = progress.step, min(wanted, left)
    progress.fell_by = ("steps" if training.steps == limit else "epochs") if patient else "patience"
    return True


def out_of_patience(progress: Progress, training: Training, by: Score, chance: float) -> bool:
    """Whether the score has not improved for long enough. Before a plateau, patience doesn't count as long as a run
    does no better than one answer to everything, ``chance``: a network may need a while before it learns at all. Nor
    does it count in the first updates: of few rows, so many epochs are a handful of them."""
    if training.patience is None:
        return False
    if training.schedule.shape != "plateau":
        return progress.epoch - progress.best_epoch >= training.patience
    score = progress.best.get(by.name, chance)
    learnt = score < chance if by.lower_is_better else score > chance
    begun = progress.step >= FIRST_UPDATES
    return learnt and begun and progress.epoch - progress.rose_epoch >= training.patience


def reason_to_end(progress: Progress, training: Training, by: Score, chance: float) -> str | None:
    """Which setting ends a run now; None while it goes on. With ``patience`` it came to its end by itself."""
    if training.until is not None and _reached(progress, training.until, by):
        return "until"
    if progress.fall_begins is not None and progress.step >= progress.fall_begins + progress.fall_steps:
        return progress.fell_by
    if training.schedule.shape != "plateau" and out_of_patience(progress, training, by, chance):
        return "patience"
    if progress.epoch == training.epochs:
        return "epochs"
    if progress.step == training.steps:
        return "steps"
    if training.minutes is not None and progress.epoch > 0 and progress.seconds >= training.minutes * 60:
        return "minutes"
    return None


def _reached(progress: Progress, until: float, by: Score) -> bool:
    score = progress.best.get(by.name)
    return score is not None and (score <= until if by.lower_is_better else score >= until)
