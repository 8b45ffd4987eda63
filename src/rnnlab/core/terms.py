"""What is recorded by a key, scores and how runs ended, as people call it."""

from rnnlab.core.words import Both, both, same

STATUS = {
    "finished": both("finished"),
    "diverged": both("diverged"),
    "failed": both("failed"),
    "stopped": both("stopped"),
    "unfinished": both("unfinished"),
    "pruned": both("given up"),
}
METRICS = {
    "accuracy": both("accuracy"),
    "exact": both("exact match"),
    "exact match": both("exact match"),
    "macro_f1": both("macro-F1"),
    "macro-F1": both("macro-F1"),
    "loss": both("loss"),
    "error rate": both("error rate"),
    "score": both("score"),
    "share within 0.04": both("share within 0.04"),
    "share recalled": both("share recalled"),
}


def status_text(status: str) -> Both:
    return STATUS.get(status, same(status))


def metric_text(metric: str) -> Both:
    """``exact`` → ``exact match``; a plug-in's metric keeps its own name."""
    return METRICS.get(metric, same(metric))
