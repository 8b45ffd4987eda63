"""Which tokens an answer rests on.

Of a network: integrated gradients (`inspecting.saliency`), what each token adds to the logit of a label, compared with
a text of nothing but zero vectors. Of `tfidf` and `nbsvm`: what each n-gram adds to that logit, beyond what it adds to
the other labels on average (unless a text may have several), times its weight in the text.

Where every token has a tag, one of them is explained: what each token adds to the output for that tag at that step.
With a chain over the tags, the neighbours' tags speak, too, each by what it adds to this tag beyond what it adds to
others on average: ``DET→`` is the tag before, ``→VERB`` the one behind. Of `crf`, each feature of the token speaks by
what it adds to this tag beyond what it adds to others on average (``suffix=ing``, ``lower[-1]=the``), so that all of
them are the score of the tag beyond that of others; of `hmm` and `frequent-tag`, which know one thing of a token, that
is the token's own weight. The tag that is the second most probable there is explained, too."""

from functools import cached_property
from typing import Any

import numpy as np
import torch

from rnnlab.answers.prediction import Explanation, Prediction
from rnnlab.answers.tags import FORBIDDEN, TagsPrediction
from rnnlab.core.errors import DataError, RunError, did_you_mean
from rnnlab.data.joined import segments
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences
from rnnlab.data.vocabulary import SPECIAL, UNKNOWN
from rnnlab.models.baselines import Baseline, Learnt, TfIdf
from rnnlab.models.chain import marginals
from rnnlab.models.crf import Crf, weights_at
from rnnlab.models.feature_names import name_of, segments_of
from rnnlab.models.gram_rows import read_grams, spelled_out
from rnnlab.models.nbsvm import NbSvm, levels_of
from rnnlab.models.network import Network
from rnnlab.use.stored import StoredModel

SPECIAL_START, SPECIAL_END = "<s>", "</s>"  # stand before the first tag and behind the last


class Explainer:
    """Of one model; one that can't be explained is an error that says why."""

    stored: StoredModel
    preprocessor: Preprocessor

    def __init__(self, stored: StoredModel):
        self.stored, self.preprocessor = stored, stored.preprocessor
        model = stored.spec.model
        if stored.spec.task.answer.writes:
            raise RunError("--explain weighs tokens for and against a label, and this model writes a text")
        if self.preprocessor.vocabulary is None:
            raise RunError("--explain weighs the tokens of a text, and this model reads numeric sequences")
        if self.preprocessor.tokenizer is None:
            raise RunError("--explain weighs the tokens of a text, and '{kind}' reads none", kind=stored.spec.task.kind)
        explained = isinstance(model, TfIdf | NbSvm) or (isinstance(model, Baseline) and model.answers == "tags")
        if isinstance(model, Baseline) and not explained:
            raise RunError("--explain: '{kind}' doesn't look at the text; there is nothing to explain", kind=model.kind)

    def explain(
        self,
        text: Any,
        prediction: Prediction,
        label: str | None = None,
        most_points: int | None = None,
        token: int | str | None = None,
    ) -> Explanation:
        labels, step = self.preprocessor.labels, None
        second = None
        if isinstance(prediction, TagsPrediction) and prediction.tokens:
            step = place_of(token, prediction)
            second = self._second(text, prediction.steps[step][0], step) if label is None else None
            label = prediction.steps[step][0] if label is None else label
        elif token is not None:
            raise RunError(
                "--token is for models that tag tokens, and '{kind}' doesn't", kind=self.stored.spec.task.kind
            )
        label = prediction.top(1)[0][0] if label is None else label
        if label not in labels:
            raise DataError(
                "no label {label!r}{hint}\nlabels: {names}",
                label=label,
                hint=did_you_mean(label, labels),
                names=", ".join(labels),
            )
        data, _ = self.preprocessor.encode([text])
        words = self.preprocessor.words_of(text)
        target = labels.index(label)
        if self.stored.is_baseline and step is not None:
            weights = self._features(data, words, target, step)
        elif self.stored.is_baseline:
            weights = self._grams(data, words, target)
        else:
            weights = self._tokens(data.values, words, target, step, most_points)
        if step is not None and isinstance(prediction, TagsPrediction):
            weights += self._neighbours([tag for tag, _ in prediction.steps], step, target)
        runner_up = None if second is None else self.explain(text, prediction, second, most_points, token)
        return Explanation(prediction, label, tuple(weights), step, runner_up)

    def _second(self, text: Any, answered: str, step: int) -> str | None:
        """The tag with the highest probability at a step, besides the one that was answered there."""
        data, _ = self.preprocessor.encode([text])
        model, offsets = self.stored.spec.model, np.array([0, len(data.values)])
        if isinstance(model, Baseline):
            outputs = model.logits(self.stored.learnt, *model.rows(data, self.preprocessor))
        else:
            ids = torch.from_numpy(data.values).long()[None]
            with torch.inference_mode():
                outputs = self.stored.network(ids, torch.tensor([ids.shape[1]]))[0, : ids.shape[1]].numpy()
        if self.preprocessor.chain:
            outputs = marginals(outputs, offsets, np.array(self.preprocessor.chain, np.float32))
        ranked = [self.preprocessor.labels[number] for number in np.argsort(-outputs[step], kind="stable")]
        return next((label for label in ranked if label != answered), None)

    def _features(self, data: Sequences, words: list[str], target: int, step: int) -> list[tuple[str, float]]:
        """Of a tagger without a network, what its features of a token speak for a tag."""
        model, learnt, side = self.stored.spec.model, self.stored.learnt, self.preprocessor
        assert isinstance(model, Baseline)
        values, offsets = model.rows(data, side)
        if not isinstance(model, Crf):
            return [(words[step], _beyond_others(model.logits(learnt, values, offsets)[step], target))]
        letters = side.spelling is not None and side.spelling.length > 0
        segments = None if letters else segments_of(words, side.marks)
        if not letters:
            words = [
                SPECIAL[UNKNOWN] if token == UNKNOWN else word for token, word in zip(data.tokens, words, strict=True)
            ]
        named = [
            (name_of(template, words, step, segments), _beyond_others(weights, target))
            for template, weights in weights_at(learnt, values, offsets, step)
        ]
        return [*named, ("bias", _beyond_others(learnt["intercept"], target))]

    def _tokens(
        self, ids: np.ndarray, words: list[str], target: int, step: int | None, most_points: int | None
    ) -> list[tuple[str, float]]:
        from rnnlab.inspecting.saliency import MOST_POINTS, integrated_gradients

        embedding = self.stored.network.embedding
        assert embedding is not None
        with torch.no_grad():
            x = embedding(torch.from_numpy(ids).long()[None]).double()
        found = integrated_gradients(self._in_double, x, target, most_points=most_points or MOST_POINTS, step=step)
        return list(zip(words, found.shares, strict=True))

    def _neighbours(self, tags: list[str], step: int, target: int) -> list[tuple[str, float]]:
        """What the tags beside one speak for it, where there is a chain."""
        if not self.preprocessor.chain:
            return []
        chain, labels = np.array(self.preprocessor.chain), self.preprocessor.labels
        first, last = step == 0, step == len(tags) - 1
        before = chain[len(labels)] if first else chain[labels.index(tags[step - 1])]
        behind = chain[len(labels) + 1] if last else chain[: len(labels), labels.index(tags[step + 1])]
        names = SPECIAL_START if first else tags[step - 1], SPECIAL_END if last else tags[step + 1]
        return [
            (f"{names[0]}→", _beyond_others(before, target)),
            (f"→{names[1]}", _beyond_others(behind, target)),
        ]

    @cached_property
    def _in_double(self) -> Network:
        """The network without its embedding, which can be large, and of which a text needs a few rows."""
        from rnnlab.inspecting.readings import in_double

        network = self.stored.network
        return in_double(Network(None, network.encoder, 0.0, network.head))

    def _grams(self, data: Sequences, words: list[str], target: int) -> list[tuple[str, float]]:
        model, learnt, columns = self.stored.spec.model, self.stored.learnt, self.preprocessor.text_columns
        assert isinstance(model, TfIdf | NbSvm)
        ids, _ = model.rows(data, self.preprocessor)
        known = zip(data.tokens.tolist(), words, strict=True)
        words = [SPECIAL[UNKNOWN] if number == UNKNOWN else word for number, word in known]
        if columns:
            column = segments(data.tokens, data.offsets, len(columns))
            words += ["", *(f"{columns[at]}:{word}" for at, word in zip(column, words, strict=True))]
        names = dict(zip(ids.tolist(), words, strict=True))
        if isinstance(model, NbSvm):
            return _longer_grams(learnt, ids, names, target, self.preprocessor)
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
        others = _other_labels(coef.T, target, self.preprocessor)
        shares = dict(zip(learnt["grams"][at].tolist(), weights * (coef[target] - others), strict=True))
        return [(name, float(shares[key])) for key, name in names.items() if key in shares]


def place_of(token: int | str | None, prediction: TagsPrediction) -> int:
    """Of the token that is meant by its number, from 1, or its text; without either, the least sure one."""
    tokens = prediction.tokens
    if token is None:
        return min(range(len(tokens)), key=lambda at: prediction.steps[at][1])
    number = int(token) if isinstance(token, int) or token.isdecimal() else 0
    if 1 <= number <= len(tokens):
        return number - 1
    if token in tokens:
        return tokens.index(str(token))
    raise DataError(
        "--token {token}: there is no such token; give its text, or its number from 1 to {count}\ntokens: {names}",
        token=token,
        count=len(tokens),
        names=" ".join(tokens),
    )


def _beyond_others(scores: np.ndarray, target: int) -> float:
    """Of one of the tags (C,), what it has more than others that may stand there have on average."""
    others = np.delete(scores, target)
    others = others[others > FORBIDDEN / 2]
    return float(scores[target] - others.mean()) if len(others) else 0.0


def _other_labels(coef: np.ndarray, target: int, preprocessor: Preprocessor) -> np.ndarray:
    """What each gram (grams, C) adds to the other labels on average: they compete, unless a row may have several."""
    if preprocessor.thresholds:
        return np.zeros(len(coef))
    return (coef.sum(1) - coef[:, target]) / max(1, coef.shape[1] - 1)


def _longer_grams(
    learnt: Learnt, ids: np.ndarray, names: dict[int, str], target: int, preprocessor: Preprocessor
) -> list[tuple[str, float]]:
    """Of `nbsvm`: the shorter grams first, those of one length as they stand in the text."""
    levels = levels_of(learnt)
    x = read_grams(levels, ids, np.array([0, len(ids)]))
    coef = np.zeros((len(x.indices), len(learnt["intercept"])))
    coef[:, learnt["fitted"]] = learnt["coef"][x.indices]
    others = _other_labels(coef, target, preprocessor)
    shares = dict(zip(x.indices.tolist(), float(x.scale[0]) * (coef[:, target] - others), strict=True))
    found, first = [], 0
    for level, ids_of in zip(levels, spelled_out(levels), strict=True):
        there = sorted(gram for gram in shares if first <= gram < first + len(level))
        spelled = [" ".join(names[number] for number in ids_of[gram - first].tolist()) for gram in there]
        found += [(name, float(shares[gram])) for name, gram in zip(spelled, there, strict=True)]
        first += len(level)
    return found
