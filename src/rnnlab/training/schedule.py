"""The learning rate at a step."""

import math

from rnnlab.experiment import Training


def learning_rate(training: Training, step: int, epoch: int, steps_per_epoch: int) -> float:
    """``step`` and ``epoch`` count from 0."""
    schedule = training.schedule
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
