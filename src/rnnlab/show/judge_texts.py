"""The words of `rnnlab judge`, in both languages: of its tables, then of its page."""

from rnnlab.core.words import both
from rnnlab.show.pages.table import Column

TABLE_TITLE = both("{metric} of {models} on {rows}{stars}")
STARS = both(" (* the best, and what is within {margin} of it)")
MODELS = (both("1 model"), both("{number} models"))
ROWS = (both("1 test row"), both("{number} test rows"))
POINTS = (both("1 point"), both("{number} points"))
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
FACTS = {"seeds": both("seeds: {number}"), "margin": both("margin: {margin}"), "lower": both("lower is better")}
SCORE_COLUMNS = {
    "model": Column(
        both("model"), both("* the best, and what is within the margin of it and not measurably worse."), number=False
    ),
    "score": Column(both("{metric}"), both("The mean of all runs.")),
    "interval": Column(
        both("{level} % interval"),
        both(
            "Where the score lies for seeds and test rows in general. That of the recommended model "
            "allows for its having been picked because it was ahead."
        ),
    ),
    "seeds": Column(both("seeds"), both("How many runs there are.")),
    "failed": Column(both("failed seeds"), both("Runs that diverged, or ended far below the model's best run.")),
    "cost": Column(both("{cost}"), both("As the table gives it; the median of the runs.")),
}
PAIR_COLUMNS = (
    Column(both("ahead"), number=False),
    Column(both("behind"), number=False),
    Column(both("difference{unit}"), both("As measured.")),
    Column(
        both("interval"),
        both("Corrected for the number of pairs: it excludes zero exactly where the call is “better”."),
    ),
    Column(both("chance better"), both("The chance that the one ahead is truly better by more than {margin}.")),
    Column(both("chance equal"), both("The chance that the two differ by {margin} or less.")),
    Column(both("chance worse"), both("The chance that the one ahead is truly worse by more than {margin}.")),
    Column(
        both("call"),
        both("Better: measurably so, after Holm's correction. Equal: within the margin with 95 % chance."),
        number=False,
    ),
)
CALLS = {"better": both("better"), "equal": both("equal"), "undecided": both("undecided")}
IN_POINTS = both(", points")
PAIRS_NOTE = both(
    "The chances that the model ahead is truly better by more than the margin of {margin}, "
    "that the two are within it, and that it is worse by more than that."
)
