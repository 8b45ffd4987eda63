"""The chain over tags in native code, against the same in numpy (`models.chain`), both on one thread.

A batch of 32 rows of 25 tokens, scores of a normal distribution; losses with their gradients, and best paths. Every
number that both sides give is the same to rounding, or there is no figure.
"""

from collections.abc import Callable, Iterator

import numpy as np
from table import Row
from turns import Effort, best_of, median_ms, passes_for, ratios

from rnnlab import kernels
from rnnlab.models.chain import best_paths, path_losses

ROWS, STEPS = 32, 25
TAGS = (5, 17, 41)
TARGETS = {"losses": 20.0, "best paths": 20.0}
PASS_SECONDS = 0.05


def measure(effort: Effort) -> Iterator[Row]:
    """numpy over native."""
    if kernels.library() is None:
        for what, target in TARGETS.items():
            yield Row("chains", f"{what}, vs numpy", target, missing="there are no native kernels")
        return
    for tags in TAGS:
        for what, job in jobs(tags).items():
            np.testing.assert_allclose(job(), naively(job)(), rtol=1e-4, atol=1e-4)
            passes = [passes_for(one, PASS_SECONDS) for one in (naively(job), job)]
            seconds: tuple[list[float], list[float]] = ([], [])
            for _ in effort.turns(quick=5, full=15, share=1 / (len(TAGS) * len(TARGETS))):
                seconds[0].append(best_of(naively(job), passes[0]))
                seconds[1].append(best_of(job, passes[1]))
            yield Row(
                "chains",
                f"{what} of {ROWS} rows of {STEPS} tokens, {tags} tags, vs numpy",
                TARGETS[what],
                ratios(*seconds),
                details={"numpy_ms": median_ms(seconds[0]), "ours_ms": median_ms(seconds[1])},
            )


def jobs(tags: int) -> dict[str, Callable[[], np.ndarray]]:
    random = np.random.default_rng(0)
    emissions = random.standard_normal((ROWS * STEPS, tags)).astype(np.float32)
    chain = random.standard_normal((tags + 2, tags)).astype(np.float32)
    offsets, targets = np.arange(ROWS + 1) * STEPS, random.integers(0, tags, ROWS * STEPS)
    return {
        "losses": lambda: path_losses(emissions, offsets, chain, targets)[1],
        "best paths": lambda: best_paths(emissions, offsets, chain),
    }


def naively(job: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
    def switched() -> np.ndarray:
        with kernels.switched_off():
            return job()

    return switched
