"""Seeds that failed to learn: what counts as that, how often it may happen, and what an arm would be without."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from rnnlab.judging.findings import Failures
from rnnlab.judging.luck import Runs, Spreads

FAR = 5  # margins below the arm's best run that are far, unless runs vary much
USUAL_DEVIATIONS = 6  # of runs in general, below which nothing is far
LOST = 0.25  # of what the best run learnt beyond the majority class
AT_MAJORITY = 0.25  # of the margin: a run that ends so near to the majority class has learnt nothing


def find_failures(
    arms: Sequence[Runs],
    diverged: Mapping[str, Sequence[int]],
    spreads: Spreads,
    majority: float | None,
    lowest: float | None,
    margin: float,
) -> dict[str, Failures]:
    """The arms with seeds that failed to learn. ``majority`` is the score of always answering the most frequent class,
    where it is known; ``lowest`` the least that a score can be, where there is such a thing.

    A run failed if it diverged; if it ended at the majority class or below; or if it ended far below the best run of
    its own arm. Far is more than ``FAR`` margins, more than ``USUAL_DEVIATIONS`` times what runs vary in general (the
    median of the arms, so that the one that fails doesn't set the measure), and more than ``LOST`` of what the best run
    learnt beyond the majority class (beyond the lowest score, where that isn't known).
    """
    drawn = [runs for runs in arms if not runs.fixed]
    varying = sorted(spreads.single[r.label].seed_error * np.sqrt(len(r.seeds)) for r in drawn if len(r.seeds) > 1)
    usual = varying[(len(varying) - 1) // 2] if varying else 0.0
    found = {}
    for runs in drawn:
        means, seeds = runs.means, np.array(runs.seeds)
        best = means.max()
        far = max(FAR * margin, USUAL_DEVIATIONS * usual)
        failed = np.isin(seeds, diverged.get(runs.label, ()))
        if majority is not None:
            failed |= means <= majority + AT_MAJORITY * margin
        floor = lowest if majority is None else majority
        if floor is not None:
            far = max(far, LOST * (best - floor))
        failed |= means < best - far
        if failed.any():
            low, high = clopper_pearson(int(failed.sum()), len(seeds))
            lost = tuple(int(seed) for seed in seeds if seed in diverged.get(runs.label, ()))
            found[runs.label] = Failures(tuple(int(s) for s in seeds[failed]), lost, len(seeds), low, high)
    return found


def learnt_only(arms: Sequence[Runs], failures: Mapping[str, Failures], keep: str | None) -> list[Runs]:
    """The arms without the runs that failed: what they may turn out to be at best, since failures only lower a mean.
    The arm ``keep`` stays as it is, and so does one all of whose runs failed."""
    found = []
    for runs in arms:
        failed = failures[runs.label].failed if runs.label in failures and runs.label != keep else ()
        learnt = ~np.isin(runs.seeds, failed)
        if learnt.all() or not learnt.any():
            found.append(runs)
        else:
            seeds = tuple(seed for seed in runs.seeds if seed not in failed)
            found.append(replace(runs, seeds=seeds, sums=runs.sums[learnt], means=runs.means[learnt]))
    return found


def clopper_pearson(hits: int, runs: int, level: float = 0.95) -> tuple[float, float]:
    """Of a share of runs: exact, and so never too narrow."""
    alpha = 1 - level
    low = float(special.betaincinv(hits, runs - hits + 1, alpha / 2)) if hits else 0.0
    high = float(special.betainccinv(hits + 1, runs - hits, alpha / 2)) if hits < runs else 1.0
    return low, high
