"""The words of the report page, in both languages."""

from rnnlab.comparing.chapters import Counted
from rnnlab.core.words import Both, both, same
from rnnlab.show.pages.table import Column

TITLE = both("rnnlab report: {names}")
SECTIONS = {
    "answer": both("The answer"),
    "cost": both("{metric} against cost"),
    "table": both("The table"),
    "tuning": both("Tuning"),
    "learning": both("Learning curves"),
    "differences": both("Where they differ"),
    "continued": both("What they read and write"),
    "translated": both("What they translate"),
    "forecasted": both("What they forecast"),
    "why": both("Why"),
    "sweeps": both("Sweeps"),
    "data": both("The data"),
    "terms": both("Fairness and provenance"),
}
PROVENANCE = both("Provenance")  # of a sweep, in which nobody competes
STANDING = {  # in a word or two, and what that means
    "settled": (
        both("Settled"),
        both("The chance that any other model is better by more than {margin} is below 5 %."),
    ),
    "for now": (both("For now"), both("Some other model may still turn out better by more than {margin}.")),
    "cannot tell": (both("Cannot tell yet"), both("One run per model doesn't show how much is luck.")),
    "too short": (
        both("Too short to judge"),
        both("The test part has too few blocks, each a horizon long, to tell luck from skill."),
    ),
    "baseline": (
        both("Use the baseline"),
        both("No model is better by more than {margin} than a baseline that costs next to nothing."),
    ),
    "alone": (both("One model alone"), both("There is nothing to compare it with.")),
    "nothing": (both("Nothing finished"), both("No run of a model finished.")),
}
RECOMMENDED = both("Recommended: {label}")
BEST = both("First so far: {label}")
USE = both("Use it")
COSTS = both("What it costs")
FACTS = {
    "epoch": both("{value} per epoch"),
    "update": both("{value} per update"),
    "row": both("{value} per row when predicting"),
    "parameters": both("{value} parameters"),
    "training": both("{value} of training per run"),
    "memory": both("{value} MB at most"),
}
PERCENT = both(", %")
COLUMNS = {
    "model": Column(
        both("model"),
        both("* is within the margin of the best and not measurably worse than any other. Grey: a baseline."),
        number=False,
    ),
    "accuracy": Column(
        both("{metric}, %"), both("The share of right answers in the test rows, the mean of all finished runs.")
    ),
    "entity_f1": Column(
        both("{metric}, %"),
        both(
            "The harmonic mean of recall and precision of all entities together; an entity is right if its first "
            "token, its last token and its type are. The mean of all finished runs."
        ),
    ),
    "unknown_words": Column(
        both("{metric}, %"),
        both(
            "The share of right tags of those test tokens that the training rows lack, the mean of all finished runs."
        ),
    ),
    "percent": Column(both("{metric}, %"), both("Of the test rows, the mean of all finished runs.")),
    "score": Column(both("{metric}"), both("Of the test rows, the mean of all finished runs.")),
    "beside": Column(both("{beside}{beside_percent}"), both("Of the test rows, the mean of all finished runs.")),
    "interval": Column(
        both("{level} % interval"),
        both(
            "Where the score lies for seeds and test rows in general: of intervals made like this, "
            "{level} in 100 hold it."
        ),
    ),
    "seen": Column(
        both("seen rows{percent}"),
        both("The score on the test rows that stand in the training rows too, token for token."),
    ),
    "unseen": Column(both("unseen rows{percent}"), both("The score on all other test rows.")),
    "macro_f1": Column(
        both("macro-F1, %"), both("F1 of each class, then their mean: rare classes count as much as common ones.")
    ),
    "balanced_accuracy": Column(
        both("balanced accuracy, %"),
        both("The share of each class's rows that is found, then the mean of the classes."),
    ),
    "loss": Column(both("loss"), both("Of the test rows, the mean of all finished runs.")),
    "epoch_seconds": Column(
        both("time per epoch"), both("Training time per epoch, the median; evaluation isn't counted.")
    ),
    "step_seconds": Column(both("time per update"), both("Training time per update, the median.")),
    "total_seconds": Column(
        both("total training time"),
        both("Training time of a run from its first epoch to its last, the median; evaluation isn't counted."),
    ),
    "row_seconds": Column(both("{unit}/row"), both("Time to answer a test row, in batches, on one thread.")),
    "best_epoch": Column(
        both("best epoch"),
        both("At which the validation rows were answered best, the median; + if it still improved at its limit."),
    ),
    "best_evaluation": Column(
        both("best evaluation"),
        both("At which the validation rows were answered best, the median; + if it still improved at its limit."),
    ),
    "parameters": Column(both("parameters"), both("All that is learnt, the embedding included.")),
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
    "{seeds} seeds per model; test {metric}; the recommended one first, then from the best to the worst; * within "
    "{margin} of the best and not measurably worse than any other. The interval of the recommended one allows "
    "for its having been picked. Click a column's head to sort."
)
TOO_SHORT_NOTE = both(
    "{seeds} seeds per model; test {metric}, from the best to the worst. The test part is too short for the intervals "
    "to tell who is better. Click a column's head to sort."
)
ONE_SEED_NOTE = both(
    "One seed per model: intervals count the luck of the test rows alone. Click a column's head to sort by it."
)
EPOCHS = {
    "title": both("Validation {metric} by epoch{unit}"),
    "column": both("epoch {number}"),
    "note": both(
        "The mean of the seeds; bold: ahead at that epoch. In brackets: so many runs, where the others had ended "
        "before."
    ),
}
EVALUATIONS = {
    "title": both("Validation {metric} by evaluation{unit}"),
    "column": both("evaluation {number}"),
    "note": both(
        "The mean of the seeds; bold: ahead at that evaluation. In brackets: so many runs, where the others had ended "
        "before."
    ),
}
SOME_RUNS = both("The mean of {part} of {whole} runs: the others had ended before.")
BY_CLASS: dict[Counted, Both] = {
    "rows": both("{label}, class by class"),
    "tokens": both("{label}, tag by tag"),
    "entities": both("{label}, type by type"),
    "words": both("{label}, word by word"),
}
OTHER_CLASSES: dict[Counted, Both] = {
    "rows": both("The other models, class by class"),
    "tokens": both("The other models, tag by tag"),
    "entities": both("The other models, type by type"),
    "words": both("The other models, word by word"),
}
CLASS_COLUMNS: dict[Counted, tuple[Column, ...]] = {
    "rows": (
        Column(both("class"), number=False),
        Column(both("test rows"), both("That are of this class.")),
        Column(both("recall, %"), both("Of the rows of this class, the share that was found; all runs together.")),
        Column(
            both("precision, %"),
            both("Of the rows that were said to be of this class, the share that is. Empty where none was."),
        ),
    ),
    "tokens": (
        Column(both("tag"), number=False),
        Column(both("test tokens"), both("That have this tag.")),
        Column(both("recall, %"), both("Of the tokens with this tag, the share that got it; all runs together.")),
        Column(
            both("precision, %"), both("Of the tokens that got this tag, the share that has it. Empty where none did.")
        ),
    ),
    "entities": (
        Column(both("type"), number=False),
        Column(both("entities"), both("Of this type, in the test rows.")),
        Column(
            both("recall, %"),
            both("Of the entities of this type, the share that was found, with all its tokens; all runs together."),
        ),
        Column(
            both("precision, %"),
            both("Of the entities that were said to be of this type, the share that is right. Empty where none was."),
        ),
    ),
    "words": (
        Column(both("word"), number=False),
        Column(both("times said"), both("In the test rows.")),
        Column(both("recall, %"), both("Of the times it was said, the share that was heard as it; all runs together.")),
        Column(
            both("precision, %"), both("Of the times it was heard, the share that was right. Empty where it never was.")
        ),
    ),
}
CLASS_F1 = Column(
    both("F1, %"), both("The harmonic mean of recall and precision; macro-F1 is its mean over the classes.")
)
TAGGING = both("Seen and unseen tokens, whole sentences")
TAGGING_COLUMNS = {
    "model": Column(both("model"), both("Grey: a baseline."), number=False),
    "seen": Column(
        both("seen tokens, %"),
        both("Of the test tokens that stand in the training rows, too, the share of right tags."),
    ),
    "unseen": Column(
        both("unseen tokens, %"), both("Of the test tokens that the training rows lack, the share of right tags.")
    ),
    "whole": Column(both("whole sentences, %"), both("Of the test sentences, the share all of whose tags are right.")),
    "illegal": Column(
        both("illegal tags"),
        both(
            "Test tokens whose tag the scheme {scheme} doesn't allow there, for example an inside without a beginning; "
            "per run. A model with a chain over the tags (crf) makes none: the chain forbids them."
        ),
    ),
}
TAGGING_NOTE = both(
    "The {sentences} test sentences have {tokens} tokens; the training rows lack {unseen} of them ({share}). The mean "
    "of the runs of each model."
)
HEARING = both("Words changed, missed and added")
HEARING_COLUMNS = {
    "model": Column(both("model"), both("Grey: a baseline."), number=False),
    "changed": Column(both("changed, %"), both("Words heard as other ones, per 100 words that were said.")),
    "missed": Column(both("missed, %"), both("Words that weren't heard, per 100 words that were said.")),
    "added": Column(both("added, %"), both("Words heard where nothing was said, per 100 words that were said.")),
}
HEARING_WORDS = Column(
    both("{words} words, %"), both("Word error rate on the {rows} test rows in which so many words are said.")
)
HEARING_NOTE = both(
    "In the {rows} test rows {words} words are said. Changed, missed and added ones together are the word error rate; "
    "the mean of the runs of each model."
)
HEARD_WORST = both("The rows that were heard worst")
HEARD_NOTE = both(
    "What was said, and what the best run of each model by validation heard; models that heard the same are named "
    "together. Marked: ≠ a changed word, – a missed one, + one that was added."
)
HEARD_OTHERS = both("{count} other rows, from bad to good")
SAID = both("said")
EDITS = both("edits")
STRIPS = both("Surprise, token by token")
STRIPS_NOTE = both(
    "The beginning of the test text (of a stream, from its next line on) as the best run of each model by validation "
    "reads it. The redder a token, the less it was expected; point at one for its nats. ↵ is a line end."
)
STRIP_MEAN = both("{nats:.3f} nats per token")
CONTESTED = both("The tokens on which they differ most")
CONTESTED_COLUMNS = {
    "token": Column(both("token"), both("A token of the test text."), number=False),
    "before": Column(both("before it"), both("What stands before it."), number=False),
}
CONTESTED_ARM = both("Nats of the token, of the best run of {arm} by validation; bold: the least.")
CONTESTED_NOTE = both("By the largest difference between two models; less is better.")
WRITTEN = both("What they write")
WRITTEN_NOTE = both(
    "What the best run of each model by validation writes without a prompt, with seed 0 (rnnlab generate). A lower "
    "temperature prefers likely tokens. Marked: passages of {least} tokens or more that stand verbatim in the training "
    "text; the longest run that stands there is named, however short it is."
)
WRITTEN_NOTE_ALONE = both(
    "What the best run of each model by validation writes without a prompt, with seed 0 (rnnlab generate)."
)
TEMPERATURE = both("temperature {temperature}")
COPIED = both("{share} copied, longest run {longest} tokens")
OTHERS_WRITE = both("What the other models write ({count})")
BY_EPOCH = both("Learning to write")
BY_EPOCH_NOTE = both(
    "What the best run of each model by validation wrote after some of its epochs, each time with the same random "
    "numbers, at temperature 0.8: what changes is the network. Nats per token are those of the validation text."
)
EPOCH, EPOCH_NATS, EPOCH_TEXT = both("epoch"), both("nats per token"), both("it wrote")
BEST_EPOCH = both("best")
SIGNATURE = both("Signature of {score}, in sacrebleu's words:")
BEAMS = both("Greedy search against a beam of {beam}")
BEAM_COLUMNS = {
    "model": Column(both("model"), both("The arm of the comparison."), number=False),
    "beam": Column(both("beam: {score}{percent}"), both("The {beam} best beginnings are followed at a time.")),
    "greedy": Column(both("greedy: {score}{percent}"), both("The most probable token is taken at every step.")),
    "gain": Column(
        both("what the beam adds{unit}"), both("The difference, the mean of all runs; below 0 the beam is worse.")
    ),
    "interval": Column(
        both("95 % interval"),
        both("Of the difference: runs and test rows are paired. One that holds 0 leaves open which is better."),
    ),
}
BEAMS_NOTE = both("The same networks, searched in two ways; baselines have nothing to search.")
MAPS = both("Where it looked")
MAPS_NOTE = both(
    "A short, a middling and a long test sentence, chosen by their length alone, as the best run of {arm} by "
    "validation translates them."
)
BESIDE = both("What {ours} translates, and {theirs} doesn't")
BESIDE_NOTE = both(
    "Of {rows:,} test sentences, {ours} translates {ahead:,} better than {theirs}, and {theirs} {behind:,} better: by "
    "chrF of the sentence, by more than 10. The best runs by validation, and the sentences that differ most."
)
BESIDE_NOTE_RIGHT = both(
    "Of {rows:,} test rows, {ahead:,} are right with {ours} alone, and {behind:,} with {theirs} alone. The best runs "
    "by validation."
)
BESIDE_OTHERS = both("{ours} beside the other models ({count})")
BETTER_BY = both("{arm} does better")
NO_SUCH = both("No sentence.")
READ_TEXT, REFERENCE = both("source text"), both("reference")
CHRF_TEXT = both("chrF {score}")
CLASSES_CUT = both("The {shown} largest of {total} are shown.")
UNFINISHED = both("Runs that didn't finish")
SEED = both("seed")
DISPUTED = both("The rows they disagree on most")
DISPUTED_NOTE = both("Each model's answer by most of its runs; in brackets, how many runs gave it.")
LOOKED_NOTE = both(
    "Coloured tokens: what {arm} looked at for its own answer (integrated gradients of its "
    "best run). Red speaks for the answer, blue against it; dotted: unknown to the model."
)
RIGHT = both("right answer")
SENTENCES = both("The sentences that they tag most differently")
SENTENCES_NOTE: dict[Counted, Both] = {
    "tokens": both(
        "The tags of the best run of each model by validation; models with the same tags are named together. Marked: "
        "a wrong tag."
    ),
    "entities": both(
        "The entities that the best run of each model by validation found; models that found the same are named "
        "together. Dashed, with ✗: a wrong entity. Dotted: one that was missed."
    ),
}
MORE_SENTENCES = both("{count} more sentences")
MORE_TOKENS = both("and {count} more tokens")
MISSED = both("missed")
ROW = both("test row {row}")
NO_TEXT = both("(a series of numbers)")
WHY_NOTE = both(
    "Looked into: the best run (by validation) of each model, on validation rows. A model "
    "whose gradient fades after a few steps can't learn what lies further back."
)
FAIRNESS = both("On which terms each model took part")
TERMS_COLUMNS = {
    "model": Column(both("model"), both("The arm of the comparison."), number=False),
    "tried": Column(
        both("settings tried"),
        both(
            "Different settings of this kind of model on this data, among all runs of the folder. "
            "More tries, more luck."
        ),
    ),
    "epochs": Column(both("epochs trained"), both("Fewest to most.")),
    "evaluations": Column(both("evaluations"), both("Fewest to most.")),
    "time": Column(both("training time"), both("All runs of the model together.")),
    "stopping": Column(both("why its runs ended"), both("The limit that each run reached first."), number=False),
}
SIZE = both("Size, speed and memory")
SIZE_COLUMNS = {
    "model": Column(both("model"), both("The arm of the comparison."), number=False),
    "total": Column(both("parameters"), both("All that is learnt.")),
    "embedding": Column(both("embedding"), both("Of them, in the embedding.")),
    "encoder": Column(both("encoder"), both("Of them, in the encoder.")),
    "head": Column(both("head"), both("Of them, in the last layer.")),
    "flops": Column(
        both("FLOPs per row"),
        both("Of the matrix products of a forward pass over a row of {length} steps, the median length."),
    ),
    "tokens": Column(both("tokens/s"), both("Tokens trained on per second; padding doesn't count.")),
    "step": Column(
        both("{unit} per step"),
        both(
            "To read one more token and answer, after 100 tokens of a row alone: what it takes to answer while a text "
            "grows. Empty for models that read what comes later."
        ),
    ),
    "memory": Column(same("MB"), both("The most memory that a run's process held.")),
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
            "Better: by the corrected test. Equal: within {margin} with a chance of 95 % or more. Undecided: neither."
        ),
        number=False,
    ),
    "gap": Column(both("difference{unit}"), both("Of the means of all their runs.")),
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
    "ahead": Column(both("better, %"), both("The chance that it is better by more than {margin}.")),
    "within": Column(both("within, %"), both("The chance that the two are within {margin}.")),
    "behind": Column(both("worse, %"), both("The chance that it is worse by more than {margin}.")),
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
