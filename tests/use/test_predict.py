"""A finished run is a model: the same answers, however it is asked."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch

import rnnlab
from rnnlab.answers.label import probabilities
from rnnlab.core.errors import DataError, RunError
from rnnlab.runs.directory import RunDirectory
from rnnlab.use import CHUNK

MODELS = ("rnn", "bilstm", "textcnn", "transformer", "linear")
WORDS = {"good": ["great", "fine", "lovely"], "bad": ["awful", "dull", "poor"]}


def texts(number: int) -> list[str]:
    """Of very different lengths, some with words that the models never saw, one empty."""
    known = [word for words in WORDS.values() for word in words]
    generator = np.random.default_rng(3)
    chosen = [generator.choice([*known, "the", "film", "未知"], size=generator.integers(0, 60)) for _ in range(number)]
    return [" ".join(words) for words in chosen[:-1]] + [""]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A short run of each model and baseline."""
    folder = tmp_path_factory.mktemp("models")
    rows = [f"the {WORDS[label][n % 3]} film number {n},{label}" for n in range(40) for label in WORDS]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    result = rnnlab.compare(
        folder / "reviews.csv",
        models=MODELS,
        seeds=1,
        training={"epochs": 3, "lr": 0.01},
        settings=["model.embedding.width=8", "arms.bilstm.model.hidden=8"],
        out=folder / "runs",
        jobs=0,
    )
    return {arm.label: arm.runs[0].path for arm in (*result.arms, *result.baselines)}


@pytest.mark.parametrize("label", [*MODELS, "tfidf", "nbsvm", "majority"])
def test_answers_do_not_depend_on_the_batch(runs, label):
    model = rnnlab.load(runs[label])
    inputs = texts(50)
    together = model.predict(inputs)
    alone = [model.predict([text])[0] for text in inputs]
    backwards = model.predict(inputs[::-1])[::-1]
    for one, other, third in zip(together, alone, backwards, strict=True):
        assert one.label == other.label == third.label
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-6)
        assert one.probabilities == pytest.approx(third.probabilities, abs=1e-6)
        assert sum(one.probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert one.probability == max(one.probabilities.values()) == one.probabilities[one.label]
        assert one.known == other.known
    if label != "majority":
        assert len({one.probability for one in together}) > 5  # it does look at the text


@pytest.mark.parametrize("label", [*MODELS, "tfidf", "nbsvm"])
def test_the_test_rows_get_the_answers_of_the_evaluation(runs, label):
    """What `compare` scored is what `predict` says."""
    run = RunDirectory(runs[label])
    kept = safetensors.numpy.load_file(run / "predictions.safetensors")
    data = rnnlab.RunSpec.from_dict(run.spec()).task.load()
    model = rnnlab.load(run.path)
    assert data.vocabulary is not None
    words = data.vocabulary.words
    test = data.test
    rows = [test.values[a:b] for a, b in zip(test.offsets[:-1], test.offsets[1:], strict=True)]
    said = model.predict([" ".join(words[i] if i > 1 else "未" for i in row) for row in rows])
    assert model.card.temperature != 1 or label in ("tfidf", "nbsvm")
    expected = probabilities(kept["test.logits"] / model.card.temperature)
    found = np.array([list(answer.probabilities.values()) for answer in said])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert [model.labels.index(answer.label) for answer in said] == expected.argmax(1).tolist()


@pytest.mark.parametrize("label", MODELS)
def test_what_the_tokens_add_makes_up_the_answer(runs, label):
    """The weights of the tokens sum to the label's logit, less that of zero vectors."""
    model = rnnlab.load(runs[label])
    text = "the great unheard film , dull"
    for explained in (None, *model.labels):
        found = model.explain(text, explained)
        again = model.predict([text])[0]  # meanwhile a table of products may have been made: the same but for rounding
        assert found.prediction.label == again.label
        assert found.prediction.probabilities == pytest.approx(again.probabilities, rel=1e-5)
        assert found.label == (explained or found.prediction.label)
        assert [token for token, _ in found.tokens] == text.split()
        target = model.labels.index(found.label)
        data, _ = model.preprocessor.encode([text])
        network = model.stored.network
        assert network.embedding is not None
        with torch.no_grad():
            x = torch.zeros_like(network.embedding(torch.from_numpy(data.values)[None]))
            nothing = network.head(network.encoder(x, torch.tensor([x.shape[1]])))[0, target]
        whole = float(model.logits(data)[0, target] - nothing)
        assert sum(weight for _, weight in found.tokens) == pytest.approx(whole, abs=0.011 * abs(whole) + 1e-5)
    for_it, against = model.explain(text).strongest(2)
    assert [weight for _, weight in for_it] == sorted((w for _, w in for_it if w > 0), reverse=True)
    assert [weight for _, weight in against] == sorted(w for _, w in against if w < 0)


@pytest.mark.parametrize("baseline", ["tfidf", "nbsvm"])
def test_what_the_grams_add_makes_up_the_answer(runs, baseline):
    """Beyond the other label, and the constant."""
    model = rnnlab.load(runs[baseline])
    text = "the great film , great unheard"
    data, _ = model.preprocessor.encode([text])
    (logits,) = model.logits(data)
    intercept = model.stored.learnt["intercept"]
    for target, label in enumerate(model.labels):
        found = dict(model.explain(text, label).tokens)
        assert {"the", "great", "film"} <= found.keys()
        assert baseline == "nbsvm" or {"the great", "great film"} <= found.keys()  # it may do with 1-grams
        assert "unheard" not in found
        beyond = (logits - intercept)[target] - (logits - intercept)[1 - target]
        assert sum(found.values()) == pytest.approx(beyond, abs=1e-5)
    assert model.explain("unheard").tokens == ()


def test_what_can_not_be_explained(runs):
    with pytest.raises(DataError, match="no label 'goof'; did you mean 'good'"):
        rnnlab.load(runs["textcnn"]).explain("a film", "goof")
    with pytest.raises(DataError, match="explain takes one text"):
        rnnlab.load(runs["textcnn"]).explain(["a film"])  # type: ignore[arg-type]  # on purpose
    with pytest.raises(RunError, match="'majority' doesn't look at the text"):
        rnnlab.load(runs["majority"]).explain("a film")


def test_the_share_of_known_words(runs):
    model = rnnlab.load(runs["textcnn"])
    answers = model.predict(["the great film", "the unheard film unseen", "", "unheard"])
    assert [answer.known for answer in answers] == [1.0, 0.5, 0.0, 0.0]


def test_a_stream_is_answered_chunk_by_chunk(runs):
    model = rnnlab.load(runs["linear"])
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield "the great film"

    assert next(model.stream(endless())).label in ("good", "bad")
    assert taken == CHUNK
    assert len(model.predict(["the great film"] * (CHUNK + 1))) == CHUNK + 1
    assert model.predict([]) == []


def test_a_single_text_is_no_list_of_letters(runs):
    with pytest.raises(DataError, match=r"predict\(\[text\]\)"):
        rnnlab.load(runs["linear"]).predict("the great film")


def test_numbers_for_a_text_model(runs):
    with pytest.raises(DataError, match=r"this model reads texts \(got ndarray\)"):
        rnnlab.load(runs["linear"]).predict([np.zeros((3, 1))])


def test_a_model_moves_without_its_data(runs, tmp_path):
    """A copied run directory is all there is to a model."""
    moved = Path(shutil.copytree(runs["textcnn"], tmp_path / "moved"))
    spec = json.loads((moved / "spec.json").read_text(encoding="utf-8"))
    assert spec["task"]["data"].endswith("reviews.csv")
    (moved / "events.jsonl").unlink()
    assert rnnlab.load(moved).predict(texts(5)) == rnnlab.load(runs["textcnn"]).predict(texts(5))


def test_a_run_of_a_later_format(runs, tmp_path):
    moved = Path(shutil.copytree(runs["textcnn"], tmp_path / "moved"))
    result = json.loads((moved / "result.json").read_text(encoding="utf-8"))
    model = json.loads((moved / "model.json").read_text(encoding="utf-8"))
    (moved / "model.json").write_text(json.dumps(model | {"format": 99}), encoding="utf-8")
    RunDirectory(moved).seal(result)
    with pytest.raises(RunError, match="format 99"):
        rnnlab.load(moved)


# Numeric sequences


@pytest.fixture(scope="module")
def numeric(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two channels, several lengths."""
    folder = tmp_path_factory.mktemp("numeric")
    generator = np.random.default_rng(0)
    with open(folder / "series.jsonl", "w") as file:
        for number in range(40):
            values = generator.normal(100 * (number % 2), 20, (3 + number % 5, 2)).round(3).tolist()
            file.write(json.dumps({"values": values, "label": "ab"[number % 2]}) + "\n")
    run = rnnlab.compare(
        folder / "series.jsonl", models=["textcnn"], seeds=1, training={"epochs": 8}, out=folder / "runs", jobs=0
    ).arms[0]
    return run.runs[0].path


def test_arrays(numeric):
    model = rnnlab.load(numeric)
    inputs = [np.full((steps, 2), level) for steps in (1, 4, 9) for level in (0.0, 100.0)]
    together = model.predict(inputs)
    assert [answer.label for answer in together] == ["a", "b"] * 3
    assert all(answer.known == 1 for answer in together)
    for array, answer in zip(inputs, together, strict=True):
        assert model.predict([array])[0].probabilities == pytest.approx(answer.probabilities, abs=1e-5)


def test_series_are_scaled_as_in_training(numeric):
    run = RunDirectory(numeric)
    kept = safetensors.numpy.load_file(run / "predictions.safetensors")
    data = rnnlab.RunSpec.from_dict(run.spec()).task.load()
    assert data.scaler is not None
    raw = data.test.values * np.array(data.scaler.std) + np.array(data.scaler.mean)
    model = rnnlab.load(numeric)
    said = model.predict(np.split(raw, data.test.offsets[1:-1]))
    found = np.array([list(answer.probabilities.values()) for answer in said])
    np.testing.assert_allclose(found, probabilities(kept["test.logits"] / model.card.temperature), atol=1e-5)


@pytest.mark.parametrize(
    "array", [np.zeros((3, 1)), np.zeros((0, 2)), np.full((3, 2), np.nan), np.zeros(3), np.zeros((1, 2, 2))]
)
def test_arrays_that_do_not_fit(numeric, array):
    with pytest.raises(DataError, match="sequences of 2 finite numbers per step, time first"):
        rnnlab.load(numeric).predict([array])


def test_a_text_for_a_numeric_model(numeric):
    with pytest.raises(DataError, match=r"this model reads numeric sequences \(got str\)"):
        rnnlab.load(numeric).predict(["1 2 3"])


def test_nothing_recommended_is_said_and_not_opened():
    """`result.recommended_run` is None while single runs don't tell."""
    with pytest.raises(RunError, match=r"nothing is recommended; result\.verdict\.sentence says why"):
        rnnlab.load(None)
