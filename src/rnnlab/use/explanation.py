"""Which tokens an answer rests on.

Of a network: integrated gradients (`inspecting.saliency`), what each token adds to the logit of a label, compared with
a text of nothing but zero vectors. Of `tfidf` and `nbsvm`: what each n-gram adds to that logit, beyond what it adds to
the other labels on average, times its weight in the text."""

from functools import cached_property

import numpy as np
import torch

from rnnlab.answers.prediction import Explanation, Prediction
from rnnlab.core.errors import DataError, RunError, did_you_mean
from rnnlab.data.vocabulary import SPECIAL, UNKNOWN
from rnnlab.models.baselines import Baseline, Learnt, TfIdf
from rnnlab.models.gram_rows import read_grams, spelled_out
from rnnlab.models.nbsvm import NbSvm, levels_of
from rnnlab.models.network import Network
from rnnlab.use.stored import StoredModel


class Explainer:
    """Of one model; one that can't be explained is an error that says why."""

    def __init__(self, stored: StoredModel):
        self.stored, self.preprocessor = stored, stored.preprocessor
        model = stored.spec.model
        if self.preprocessor.vocabulary is None:
            raise RunError("--explain weighs the tokens of a text, and this model reads numeric sequences")
        if self.preprocessor.tokenizer is None:
            raise RunError("--explain weighs the tokens of a text, and '{kind}' reads none", kind=stored.spec.task.kind)
        if isinstance(model, Baseline) and not isinstance(model, TfIdf | NbSvm):
            raise RunError("--explain: '{kind}' doesn't look at the text; there is nothing to explain", kind=model.kind)

    def explain(
        self, text: str, prediction: Prediction, label: str | None = None, most_points: int | None = None
    ) -> Explanation:
        labels, tokenizer = self.preprocessor.labels, self.preprocessor.tokenizer
        assert tokenizer is not None
        label = prediction.label if label is None else label
        if label not in labels:
            raise DataError(
                "no label {label!r}{hint}\nlabels: {names}",
                label=label,
                hint=did_you_mean(label, labels),
                names=", ".join(labels),
            )
        data, _ = self.preprocessor.encode([text])
        words = tokenizer.tokenize(text)[: self.preprocessor.max_length] or [SPECIAL[UNKNOWN]]
        target = labels.index(label)
        if self.stored.is_baseline:
            weights = self._grams(data.tokens, words, target)
        else:
            weights = self._tokens(data.values, words, target, most_points)
        return Explanation(prediction, label, tuple(weights))

    def _tokens(
        self, ids: np.ndarray, words: list[str], target: int, most_points: int | None
    ) -> list[tuple[str, float]]:
        from rnnlab.inspecting.saliency import MOST_POINTS, integrated_gradients

        embedding = self.stored.network.embedding
        assert embedding is not None
        with torch.no_grad():
            x = embedding(torch.from_numpy(ids).long()[None]).double()
        found = integrated_gradients(self._in_double, x, target, most_points=most_points or MOST_POINTS)
        return list(zip(words, found.shares, strict=True))

    @cached_property
    def _in_double(self) -> Network:
        """The network without its embedding, which can be large, and of which a text needs a few rows."""
        from rnnlab.inspecting.readings import in_double

        network = self.stored.network
        return in_double(Network(None, network.encoder, 0.0, network.head))

    def _grams(self, ids: np.ndarray, words: list[str], target: int) -> list[tuple[str, float]]:
        model, learnt = self.stored.spec.model, self.stored.learnt
        if isinstance(model, NbSvm):
            return _longer_grams(learnt, ids, words, target)
        assert isinstance(model, TfIdf)
        names = dict(zip(ids.tolist(), words, strict=True))
        if UNKNOWN in names:
            names[UNKNOWN] = SPECIAL[UNKNOWN]  # whatever the words were
        pairs = zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True)
        names |= {(a + 1) << 32 | b: f"{names[a]} {names[b]}" for a, b in pairs}
        keys = np.array(sorted(names), np.int64)
        at = np.flatnonzero(np.isin(learnt["grams"], keys))
        if not len(at):
            return []
        one_by_one: Learnt = {
            "grams": learnt["grams"][at],
            "idf": learnt["idf"][at],
            "coef": np.eye(len(at), dtype=np.float32),
            "intercept": np.zeros(len(at), np.float32),
        }
        weights = model.logits(one_by_one, ids, np.array([0, len(ids)]))[0]  # (grams,) TF-IDF
        coef = learnt["coef"][:, at].astype(np.float64)
        others = (coef.sum(0) - coef[target]) / max(1, len(coef) - 1)
        shares = dict(zip(learnt["grams"][at].tolist(), weights * (coef[target] - others), strict=True))
        return [(name, float(shares[key])) for key, name in names.items() if key in shares]


def _longer_grams(learnt: Learnt, ids: np.ndarray, words: list[str], target: int) -> list[tuple[str, float]]:
    """Of `nbsvm`: the shorter grams first, those of one length as they stand in the text."""
    levels = levels_of(learnt)
    x = read_grams(levels, ids, np.array([0, len(ids)]))
    coef = np.zeros((len(x.indices), len(learnt["intercept"])))
    coef[:, learnt["fitted"]] = learnt["coef"][x.indices]
    others = (coef.sum(1) - coef[:, target]) / max(1, coef.shape[1] - 1)
    shares = dict(zip(x.indices.tolist(), float(x.scale[0]) * (coef[:, target] - others), strict=True))
    names = dict(zip(ids.tolist(), words, strict=True)) | ({UNKNOWN: SPECIAL[UNKNOWN]} if UNKNOWN in ids else {})
    found, first = [], 0
    for level, ids_of in zip(levels, spelled_out(levels), strict=True):
        there = sorted(gram for gram in shares if first <= gram < first + len(level))
        spelled = [" ".join(names[number] for number in ids_of[gram - first].tolist()) for gram in there]
        found += [(name, float(shares[gram])) for name, gram in zip(spelled, there, strict=True)]
        first += len(level)
    return found
