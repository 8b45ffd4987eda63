"""What other packages say about the table of judge_example.py, and how they fare on 200 tables like it.

pip install rliable==1.2.0 baycomp==1.0.3 autorank==1.3.0 deepsig==1.2.8 "pandas<3"
python examples/judge_others.py               # the one table
python examples/judge_others.py --tables 200  # tables drawn with the seeds 1 to 200; this takes about ten minutes

docs/judge.md has the figures. None of these packages is a dependency of rnnlab: use a virtual environment of its own.
"""

import contextlib
import io
import itertools
import sys
import warnings

import numpy as np
from judge_example import MODELS, scores

MARGIN = 0.01
ASO_TABLES = 60  # of the tables: the test takes seconds per pair
ASO_CLAIM = 0.2  # the threshold that its authors recommend


def quietly(function, *args, **options):
    """Without the tables that a package prints while it works."""
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*args, **options)


def rliable_intervals(accuracy, draws):
    """(low, high) of each model's mean over seeds: each model is an algorithm, and the test set its only task."""
    from rliable import library, metrics

    matrices = {model: runs[:, None] for model, runs in accuracy.items()}
    _, found = library.get_interval_estimates(
        matrices, lambda runs: np.array([metrics.aggregate_mean(runs)]), reps=draws
    )
    return {model: tuple(found[model][:, 0].tolist()) for model in accuracy}


def baycomp_chances(one, other):
    """That ``one`` is better, that both are within the margin, that ``other`` is better."""
    import baycomp

    return tuple(float(chance) for chance in baycomp.two_on_single(one, other, rope=MARGIN))


def autorank_result(accuracy):
    import pandas
    from autorank import autorank

    return quietly(autorank, pandas.DataFrame(accuracy), alpha=0.05)


def told_apart(result, one, other):
    """By autorank's own rules: Nemenyi's critical distance, or intervals that don't overlap."""
    if result.pvalue >= result.alpha:
        return False
    table = result.rankdf
    if result.posthoc == "nemenyi":
        return bool(abs(table.meanrank[one] - table.meanrank[other]) > result.cd)
    return bool(table.ci_lower[one] > table.ci_upper[other] or table.ci_lower[other] > table.ci_upper[one])


def one_table():
    from autorank import create_report
    from deepsig import multi_aso

    right = scores()
    accuracy = {model: runs.mean(axis=1) for model, runs in right.items()}
    np.random.seed(0)  # noqa: NPY002, rliable draws from it
    for model, (low, high) in rliable_intervals(accuracy, draws=20_000).items():
        print(f"rliable: {model} {100 * accuracy[model].mean():.1f} %, interval {100 * low:.1f}–{100 * high:.1f}")
    for one, other in itertools.combinations(right, 2):
        seeds = baycomp_chances(accuracy[one], accuracy[other])
        rows = baycomp_chances(right[one].mean(axis=0), right[other].mean(axis=0))
        said = [" / ".join(f"{100 * chance:.0f}" for chance in chances) + " %" for chances in (seeds, rows)]
        print(f"baycomp: {one} better, equal, {other} better: {said[0]} from seeds, {said[1]} from rows")
    create_report(autorank_result(accuracy))
    print("deep-significance, upper bounds of the violation ratio of row over column:")
    print(multi_aso(accuracy, confidence_level=0.95, return_df=True, show_progress=False, seed=1).round(2))


def many_tables(tables):
    from deepsig import aso

    held = dict.fromkeys(MODELS, 0)
    counts = dict.fromkeys(("baycomp equal", "baycomp apart", "autorank apart", "autorank missed", "aso apart"), 0)
    for seed in range(1, tables + 1):
        accuracy = {model: runs.mean(axis=1) for model, runs in scores(seed).items()}
        np.random.seed(seed)  # noqa: NPY002
        for model, (low, high) in rliable_intervals(accuracy, draws=1_000).items():
            held[model] += low <= MODELS[model][0] <= high
        better, equal, worse = baycomp_chances(accuracy["lstm"], accuracy["gru"])
        counts["baycomp equal"] += equal > 0.95
        counts["baycomp apart"] += max(better, worse) > 0.95
        result = autorank_result(accuracy)
        counts["autorank apart"] += told_apart(result, "lstm", "gru")
        counts["autorank missed"] += not told_apart(result, "gru", "cnn")
        if seed <= ASO_TABLES:
            options = {"show_progress": False, "seed": seed, "num_comparisons": 6}
            both = [aso(accuracy[a], accuracy[b], **options) for a, b in (("lstm", "gru"), ("gru", "lstm"))]
            counts["aso apart"] += min(both) < ASO_CLAIM
    print(f"rliable, intervals that hold the truth, of {tables}: {held}")
    print(f"of {tables} tables (aso: of {min(tables, ASO_TABLES)}): {counts}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "--tables" in sys.argv:
        many_tables(int(sys.argv[sys.argv.index("--tables") + 1]))
    else:
        one_table()
