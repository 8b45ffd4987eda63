"""The words of `rnnlab judge`, in both languages: of its tables, then of its page."""

from rnnlab.core.words import both

TABLE_TITLE = both("{metric} of {models} on {rows}{stars}")
STARS = both(" (* the best, and what is within {margin} of it)")
MODELS = (both("1 model"), both("{number} models"))
ROWS = (both("1 test row"), both("{number} test rows"))
POINTS = (both("1 point"), both("{number} points"))
COLUMNS = {
    "model": both("model"),
    "interval": both("{level} % interval"),
    "seeds": both("seeds"),
    "failed": both("failed seeds"),
}
COSTS = {
    "seconds": both("seconds"),
    "milliseconds": both("milliseconds"),
    "parameters": both("parameters"),
    "unnamed": both("cost"),
}
OF = both("{part} of {whole}")

PAGE_TITLE = both("rnnlab judge: {name}")
SECTIONS = {
    "answer": both("The answer"),
    "seeds": both("Every seed"),
    "scores": both("The scores"),
    "pairs": both("The pairs"),
}
COUNTED = both("What was counted")
FACTS = {
    "seeds": both("seeds: {number}"),
    "margin": both("margin: {margin}"),
    "lower": both("lower is better"),
}
EXPLAINED = {
    "model": both("* the best, and what is within the margin of it and not measurably worse."),
    "score": both("The mean of all runs."),
    "interval": both(
        "Where the score lies for seeds and test rows in general. That of the recommended model "
        "allows for its having been picked because it was ahead."
    ),
    "seeds": both("How many runs there are."),
    "failed": both("Runs that diverged, or ended far below the model's best run."),
    "cost": both("As the table gives it; the median of the runs."),
}
PAIR_COLUMNS = {
    "better": (both("ahead"), None),
    "worse": (both("behind"), None),
    "gap": (both("difference{unit}"), both("As measured.")),
    "interval": (
        both("interval"),
        both("Corrected for the number of pairs: it excludes zero exactly where the call is “better”."),
    ),
    "more": (
        both("chance better"),
        both("The chance that the one ahead is truly better by more than {margin}."),
    ),
    "within": (
        both("chance equal"),
        both("The chance that the two differ by {margin} or less."),
    ),
    "less": (
        both("chance worse"),
        both("The chance that the one ahead is truly worse by more than {margin}."),
    ),
    "call": (
        both("call"),
        both("Better: measurably so, after Holm's correction. Equal: within the margin with 95 % chance."),
    ),
}
CALLS = {
    "better": both("better"),
    "equal": both("equal"),
    "undecided": both("undecided"),
}
IN_POINTS = both(", points")
PAIRS_NOTE = both(
    "The chances that the model ahead is truly better by more than the margin of {margin}, "
    "that the two are within it, and that it is worse by more than that."
)
