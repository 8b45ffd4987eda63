"""The words of the report page, in both languages."""

from rnnlab.core.words import both, same
from rnnlab.show.pages.table import Column

TITLE = both("rnnlab report: {names}")
SECTIONS = {
    "answer": both("The answer"),
    "cost": both("Accuracy against cost"),
    "table": both("The table"),
    "tuning": both("Tuning"),
    "learning": both("Learning curves"),
    "differences": both("Where they differ"),
    "why": both("Why"),
    "sweeps": both("Sweeps"),
    "data": both("The data"),
    "terms": both("Fairness and provenance"),
}
STANDING = {  # in a word or two, and what that means
    "settled": (
        both("Settled"),
        both("The chance that any other model is better by more than {margin} points is below 5 %."),
    ),
    "for now": (both("For now"), both("Some other model may still turn out better by more than {margin} points.")),
    "cannot tell": (both("Cannot tell yet"), both("One run per model doesn't show how much is luck.")),
    "baseline": (
        both("Use the baseline"),
        both("No model is better by more than {margin} points than a baseline that costs next to nothing."),
    ),
    "alone": (both("One model alone"), both("There is nothing to compare it with.")),
    "nothing": (both("Nothing finished"), both("No run of a model finished.")),
}
RECOMMENDED = both("Recommended: {label}")
BEST = both("First so far: {label}")
USE = both("Use it")
COSTS = both("What it costs")
FACTS = {
    "epoch": both("{value} s per epoch"),
    "update": both("{value} ms per update"),
    "row": both("{value} ms per row when predicting"),
    "parameters": both("{value} parameters"),
    "training": both("{value} of training per run"),
    "memory": both("{value} MB at most"),
}
COLUMNS = {
    "model": Column(
        both("model"),
        both("* is within the margin of the best and not measurably worse than any other. Grey: a baseline."),
        number=False,
    ),
    "accuracy": Column(
        both("{metric}, %"), both("The share of test rows answered rightly, the mean of all finished runs.")
    ),
    "score": Column(both("{metric}"), both("Of the test rows, the mean of all finished runs.")),
    "beside": Column(both("{beside}"), both("Of the test rows, the mean of all finished runs.")),
    "interval": Column(
        both("{level} % interval"),
        both(
            "Where the accuracy lies for seeds and test rows in general: of intervals made like this, "
            "{level} in 100 hold it."
        ),
    ),
    "seen": Column(
        both("seen rows, %"), both("Accuracy on the test rows that stand in the training rows too, token for token.")
    ),
    "unseen": Column(both("unseen rows, %"), both("Accuracy on all other test rows.")),
    "macro_f1": Column(
        both("macro-F1, %"), both("F1 of each class, then their mean: rare classes count as much as common ones.")
    ),
    "loss": Column(both("loss"), both("Of the test rows, the mean of all finished runs.")),
    "epoch_seconds": Column(
        both("s/epoch"), both("Seconds of training per epoch, the median; evaluation isn't counted.")
    ),
    "step_seconds": Column(both("ms/update"), both("Milliseconds of training per update, the median.")),
    "row_seconds": Column(both("ms/row"), both("Milliseconds to answer a test row, in batches, on one thread.")),
    "tokens_per_second": Column(both("tokens/s"), both("Tokens trained on per second; padding doesn't count.")),
    "best_epoch": Column(
        both("best epoch"),
        both("At which the validation rows were answered best, the median; + if it still improved at its limit."),
    ),
    "best_evaluation": Column(
        both("best evaluation"),
        both("At which the validation rows were answered best, the median; + if it still improved at its limit."),
    ),
    "parameters": Column(both("parameters"), both("All that is learnt, the embedding included.")),
    "memory": Column(same("MB"), both("The most memory that a run's process held.")),
    "runs": Column(both("runs"), both("Finished runs of those that were asked for.")),
    "failed": Column(
        both("failed seeds"),
        both(
            "Runs that diverged, ended at the majority class or below, or ended far below the best run of their model. "
            "They count in the score; one that diverged counts as answering the majority class."
        ),
    ),
}
TABLE_NOTE = both(
    "{seeds} seeds per model; test accuracy; * within {margin} points of the best and not measurably worse than any "
    "other. The interval of the recommended one allows for its having been picked. Click a column's head to sort."
)
ONE_SEED_NOTE = both(
    "One seed per model: intervals count the luck of the test rows alone. Click a column's head to sort by it."
)
UNFINISHED = both("Runs that didn't finish")
SEED = both("seed")
DISPUTED = both("The rows they disagree on most")
DISPUTED_NOTE = both("Each model's answer by most of its runs; in brackets, how many runs gave it.")
LOOKED_NOTE = both(
    "Coloured tokens: what {arm} looked at for its own answer (integrated gradients of its "
    "best run). Red speaks for the answer, blue against it; dotted: unknown to the model."
)
RIGHT = both("right answer")
ROW = both("test row {row}")
NO_TEXT = both("(a series of numbers)")
WHY_NOTE = both(
    "Looked into: the best run (by validation) of each model, on validation rows. A model "
    "whose gradient fades after a few steps can't learn what lies further back."
)
FAIRNESS = both("On which terms each model took part")
TERMS_COLUMNS = {
    "model": Column(both("model"), both("The arm of the comparison."), number=False),
    "parameters": Column(both("parameters"), both("All that is learnt.")),
    "embedding": Column(both("embedding"), both("Of them, in the embedding.")),
    "encoder": Column(both("encoder"), both("Of them, in the encoder.")),
    "head": Column(both("head"), both("Of them, in the last layer.")),
    "flops": Column(
        both("FLOPs per row"),
        both("Of the matrix products of a forward pass over a row of {length} steps, the median length."),
    ),
    "step": Column(
        both("ms per step"),
        both(
            "To read one more token and answer, after 100 tokens of a row alone: what it takes to answer while a text "
            "grows. Empty for models that read what comes later."
        ),
    ),
    "tried": Column(
        both("settings tried"),
        both(
            "Different settings of this kind of model on this data, among all runs of the folder. "
            "More tries, more luck."
        ),
    ),
    "stopping": Column(both("why its runs ended"), both("The limit that each run reached first."), number=False),
    "epochs": Column(both("epochs trained"), both("Fewest to most.")),
    "evaluations": Column(both("evaluations"), both("Fewest to most.")),
    "time": Column(both("training time"), both("All runs of the model together.")),
}
STOPPING = {
    "epochs": both("all epochs done"),
    "steps": both("all updates done"),
    "minutes": both("time was up"),
    "until": both("reached the score asked for"),
    "patience": both("no more progress (patience)"),
    "diverged": both("diverged"),
    "failed": both("failed"),
}
REPEAT = both("Repeat it")
REPEAT_TYPED = both("The command, as it was typed:")
REPEAT_FILE = both("The same, with every setting in a file:")
DOWNLOAD_EXPERIMENT = both("Download {name}")
RUNS = both("Runs and their specs")
RUNS_NOTE = both("A run is identified by the digest of its spec: click one to save the spec. Same spec, same bits.")
MADE_WITH = both("Made with")
ENVIRONMENT = {
    "rnnlab": same("rnnlab"),
    "torch": same("torch"),
    "python": same("Python"),
    "system": both("system"),
    "machine": both("machine"),
    "cpu": same("CPU"),
    "cpu_capability": both("CPU capability"),
    "kernels": both("kernels"),
    "threads": both("threads per run"),
}
TRAINING_TIME = both("training time, all runs")
FINGERPRINT = both("fingerprint of the data")
LEFT_OUT = both("Left out")
COMPARISON = both("Comparison: {name}")
SWEEP = both("Sweep: {name}")
EVIDENCE = both("Every pair")
EVIDENCE_COLUMNS = {
    "better": Column(both("model"), both("The one with the better mean."), number=False),
    "worse": Column(both("against"), both("The one with the worse mean."), number=False),
    "call": Column(
        both("verdict"),
        both(
            "Better: by the corrected test. Equal: within {margin} points with a chance of 95 % or "
            "more. Undecided: neither."
        ),
        number=False,
    ),
    "gap": Column(both("difference, points"), both("Of the means of all their runs.")),
    "interval": Column(
        both("interval"),
        both(
            "At the level that this pair's correction leaves: it excludes zero exactly when the pair is called better."
        ),
    ),
    "p": Column(
        both("p, corrected"),
        both(
            "How often chance alone would show so large a difference, corrected (Holm) for all pairs "
            "that could have been picked."
        ),
    ),
    "ahead": Column(both("better, %"), both("The chance that it is better by more than {margin} points.")),
    "within": Column(both("within, %"), both("The chance that the two are within {margin} points.")),
    "behind": Column(both("worse, %"), both("The chance that it is worse by more than {margin} points.")),
}
LUCK = {
    "rows": both(
        "Intervals and chances count the luck of the seeds and of the test rows. They don't count "
        "the luck of the split and of the training rows: --vary-split does."
    ),
    "split": both(
        "Every seed drew its own split: intervals and chances count the luck of the seeds, the "
        "test rows, the split and, approximately (Nadeau and Bengio), the training rows."
    ),
}
MORE_ROWS = both("{count} more rows")
TUNING = both("Settings that were chosen")
TUNING_NOTE = both(
    "Every model was to get {trials} trials; the setting that did best on {rows} validation "
    "rows was then trained anew over the seeds. All trials have seed {seed}, which no run of "
    "the comparison has, so that the luck of the chosen trial isn't in the test scores."
)
TUNING_COLUMNS = {
    "model": Column(both("model"), both("Grey: a baseline."), number=False),
    "setting": Column(both("setting"), both("The values of all axes that were searched."), number=False),
    "trials": Column(both("trials"), both("Different settings that were tried, the default included.")),
    "stopped": Column(both("stopped early"), both("Trials that were given up because they were behind.")),
    "default": Column(both("default, validation"), both("The best validation score of the default setting.")),
    "best": Column(
        both("chosen, validation"),
        both("Of the chosen setting. It was picked because it is high: its test score is the fair one."),
    ),
}
DEFAULT_SETTING = both("default")
NOTHING_TUNED = both("nothing to tune")
