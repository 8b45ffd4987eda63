"""What is recorded by a key, scores, settings and how runs ended, as people call it."""

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
    "micro_f1": both("micro-F1"),
    "micro-F1": both("micro-F1"),
    "entity_f1": both("entity F1"),
    "entity F1": both("entity F1"),
    "unknown_words": both("accuracy on unseen words"),
    "accuracy on unseen words": both("accuracy on unseen words"),
    "balanced_accuracy": both("balanced accuracy"),
    "balanced accuracy": both("balanced accuracy"),
    "bleu": same("BLEU"),
    "chrf": same("chrF"),
    "greedy_bleu": both("BLEU, greedy"),
    "BLEU, greedy": both("BLEU, greedy"),
    "greedy_exact": both("exact match, greedy"),
    "exact match, greedy": both("exact match, greedy"),
    "token_accuracy": both("tokens right, the true ones before"),
    "tokens right, the true ones before": both("tokens right, the true ones before"),
    "mase": same("MASE"),
    "mse": same("MSE"),
    "mae": same("MAE"),
    "smape": same("sMAPE"),
    "crps": both("scaled CRPS"),
    "scaled CRPS": both("scaled CRPS"),
    "coverage": both("share within the outer quantiles"),
    "share within the outer quantiles": both("share within the outer quantiles"),
    "loss": both("loss"),
    "error rate": both("error rate"),
    "wer": both("word error rate"),
    "cer": both("character error rate"),
    "character error rate": both("character error rate"),
    "word error rate": both("word error rate"),
    "nats per token": both("nats per token"),
    "bits_per_character": both("bits per character"),
    "bits per character": both("bits per character"),
    "perplexity": both("perplexity"),
    "score": both("score"),
    "share within 0.04": both("share within 0.04"),
    "share recalled": both("share recalled"),
}
POINTS = ("bleu", "chrf", "greedy_bleu")  # scores from 0 to 1 that are said from 0 to 100, without a sign

SETTINGS = {  # by the last part of their paths, or where that would say too little, by the last two
    "activation": both("activation"),
    "batch_size": both("batch size"),
    "batch_tokens": both("tokens per batch"),
    "bidirectional": both("bidirectional"),
    "class_weights": both("class weights"),
    "clip": both("gradient clipping"),
    "crf": both("chain over tags (crf)"),
    "decay": both("decay"),
    "dropout": both("dropout"),
    "embedding.dropout": both("embedding dropout"),
    "embedding.spread": both("embedding spread"),
    "embedding.width": both("embedding width"),
    "epochs": both("epochs"),
    "feedforward": both("feed-forward width"),
    "filters": both("filters"),
    "forget_bias": both("forget bias"),
    "gamma": both("factor of a cut"),
    "heads": both("attention heads"),
    "hidden": both("hidden units"),
    "forcing": both("forcing"),
    "forcing.decay": both("fall of the true tokens"),
    "forcing.end": both("true tokens in the end"),
    "forcing.length": both("epochs of the fall"),
    "forcing.mode": both("forcing"),
    "forcing.start": both("true tokens at first"),
    "initial_scale": both("scale of the initial state"),
    "initial_state": both("initial state"),
    "layer_norm": both("layer normalisation"),
    "layers": both("layers"),
    "length": both("sequence length"),
    "locked_dropout": both("locked dropout"),
    "look_ahead": both("sees later tokens"),
    "lr": both("learning rate"),
    "model.kind": both("model"),
    "momentum": both("momentum"),
    "ngrams": both("longest n-gram"),
    "optimizer": both("optimiser"),
    "patience": both("patience"),
    "pooling": both("pooling"),
    "positions": both("positions"),
    "recurrent_dropout": both("recurrent dropout"),
    "recurrent_init": both("initial recurrent weights"),
    "reset": both("reset gate"),
    "residual": both("residual connections"),
    "rows": both("rows"),
    "schedule": both("learning-rate schedule"),
    "schedule.shape": both("learning-rate schedule"),
    "softmax_samples": both("words sampled for the softmax"),
    "state": both("state between batches"),
    "steps": both("updates"),
    "tied": both("tied vectors"),
    "task.kind": both("task"),
    "type_dropout": both("dropout of whole words"),
    "vectors": both("pre-trained vectors"),
    "warmup": both("warm-up"),
    "weight_decay": both("weight decay"),
    "weight_dropout": both("weight dropout"),
    "width": both("width"),
    "widths": both("window widths"),
    "word_dropout": both("word dropout"),
}


def setting_name(path: str) -> Both:
    """``training.lr`` → ``learning rate``. A name that somebody gave, which has no point in it, stays; so does the last
    part of a path that a plug-in brings."""
    if "." not in path:
        return same(path)
    parts = path.split(".")
    last = parts[-1]
    return SETTINGS.get(".".join(parts[-2:])) or SETTINGS.get(last) or same(last.replace("_", " "))


def status_text(status: str) -> Both:
    return STATUS.get(status, same(status))


def metric_text(metric: str) -> Both:
    """``exact`` → ``exact match``; a plug-in's metric keeps its own name."""
    return METRICS.get(metric, same(metric))
