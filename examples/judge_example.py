"""Results with a known truth, for `rnnlab judge`: four models, five seeds, 2,000 test rows.

python examples/judge_example.py results.csv  # write the table
rnnlab judge results.csv --cost-unit seconds
python examples/judge_example.py --tables 200  # judge tables drawn with the seeds 1 to 200

The true accuracies are 90 % (lstm and gru), 89 % (rnn) and 87 % (cnn). Some rows are hard for every model. The true
accuracy of a run differs from that of its model by 0.3 points (standard deviation); for rnn, the unsteady model, it
differs by 2 points.
"""

import csv
import sys
from collections import Counter
from statistics import NormalDist

import numpy as np

ROWS = 2_000
SEEDS = 5
MODELS = {  # true accuracy, standard deviation between runs, seconds per epoch
    "lstm": (0.90, 0.003, 4.1),
    "gru": (0.90, 0.003, 3.2),
    "cnn": (0.87, 0.003, 1.1),
    "rnn": (0.89, 0.020, 1.4),
}
OWN, FLIPS = 0.3, 0.2  # how hard a row is: for every model 1, for one model, and for one run


def scores(seed: int = 0) -> dict[str, np.ndarray]:
    """Right (1) or wrong (0), ``(SEEDS, ROWS)`` by model."""
    random = np.random.default_rng(seed)
    hardness = random.normal(size=ROWS)
    able = NormalDist(0, np.sqrt(1 + OWN**2 + FLIPS**2))
    found = {}
    for model, (accuracy, between_runs, _) in MODELS.items():
        runs = np.array([able.inv_cdf(share) for share in random.normal(accuracy, between_runs, SEEDS)])
        own = hardness + random.normal(0, OWN, ROWS)
        found[model] = (own + random.normal(0, FLIPS, (SEEDS, ROWS)) < runs[:, None]).astype(int)
    return found


def main(path: str) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "seed", "row", "score", "cost"])
        for model, right in scores().items():
            for seed, row in np.ndindex(right.shape):
                writer.writerow([model, seed, row, right[seed, row], MODELS[model][2]])


def many_tables(tables: int) -> None:
    """How often intervals hold the truth, how lstm and gru (equal) and gru and cnn (not equal) are called, and what is
    recommended."""
    import rnnlab

    costs = {model: cost for model, (_, _, cost) in MODELS.items()}
    held, equals, unequals, recommended = Counter(), Counter(), Counter(), Counter()
    for seed in range(1, tables + 1):
        verdict = rnnlab.judge(scores(seed), costs=costs)
        held.update(label for label, e in verdict.estimates.items() if e.low <= MODELS[label][0] <= e.high)
        equals[verdict.between("lstm", "gru").call] += 1
        unequals[verdict.between("gru", "cnn").call] += 1
        recommended[verdict.recommended] += 1
    print(f"intervals that hold the truth, of {tables}: {dict(held)}")
    print(f"lstm and gru: {dict(equals)}; gru and cnn: {dict(unequals)}; recommended: {dict(recommended)}")


if __name__ == "__main__":
    if "--tables" in sys.argv:
        many_tables(int(sys.argv[sys.argv.index("--tables") + 1]))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else "results.csv")
