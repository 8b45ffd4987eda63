"""Words that pre-trained vectors know and the training rows lack: their own vectors, and nothing else changes."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from rnnlab.api.compare import prepare
from rnnlab.core.errors import ConfigError
from rnnlab.data.encoded import MOST_EXTRA, words_beyond
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import UNKNOWN
from rnnlab.runs.directory import RunDirectory
from rnnlab.tasks.classify import Classify
from rnnlab.training.run import execute
from rnnlab.use.predictor import load
from rnnlab.use.stored import open_model, pack

GOOD, BAD = ("good", "fine", "great"), ("bad", "poor", "awful")
WIDTH = 5


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Training and validation rows; test rows with words that neither has, and test rows without; vectors."""
    rng = np.random.default_rng(0)

    def write(name: str, rows: int, good: tuple[str, ...], bad: tuple[str, ...]) -> str:
        with open(tmp_path / name, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("text", "label"))
            for row in range(rows):
                words = (good, bad)[row % 2]
                filling = " ".join(rng.choice(["the", "film", "was", "zzz"], 3))
                writer.writerow((f"{filling} {rng.choice(words)} {row % 7}", ("pos", "neg")[row % 2]))
        return str(tmp_path / name)

    known = [*GOOD, "superb", *BAD, "dreadful", "the", "film", "was", "elsewhere", "two words"]
    vectors = {word: rng.normal(size=WIDTH) + (3 if word in (*GOOD, "superb") else 0) for word in known}
    lines = [f"{word} {' '.join(f'{v:.4f}' for v in vector)}" for word, vector in vectors.items()]
    (tmp_path / "vectors.txt").write_text("\n".join([f"{len(lines)} {WIDTH}", *lines]) + "\n")
    return {
        "data": write("train.csv", 120, GOOD, BAD),
        "valid": write("valid.csv", 30, GOOD, BAD),
        "new": write("new.csv", 30, ("superb",), ("dreadful",)),
        "old": write("old.csv", 30, GOOD, BAD),
        "vectors": str(tmp_path / "vectors.txt"),
    }


def train(
    files: dict[str, str], out: Path, model: str, test: str = "new", optimizer: str = "lazy-adam", **task: Any
) -> RunDirectory:
    """In this process: one of its own would know nothing of what a test changed here."""
    experiment, _ = prepare(
        files["data"],
        models=[model],
        vectors=files["vectors"],
        task={"valid": files["valid"], "test": files[test], **task},
        training={"epochs": 2, "optimizer": optimizer},
        settings=["seeds=[0]"],
    )
    _, spec = experiment.specs()[0]
    execute(spec, out, lambda event: None, lambda: False)
    return RunDirectory(out / spec.digest)


def weights(run: RunDirectory) -> dict[str, np.ndarray]:
    return safetensors.numpy.load((run / "weights.safetensors").read_bytes())


def test_which_words(files):
    tokens = ["<unk>", "the", "superb", "Superb", "nowhere"]
    counts = np.array([0, 3, 0, 0, 0])
    known = ["a-b c", "the", "superb", "elsewhere", "<unk>"]
    held_out, others = words_beyond(tokens, counts, known, Tokenizer("words"))
    assert held_out == ["Superb", "superb"]
    assert others == ["elsewhere"]  # the tokeniser would never make "a-b c" of anything
    many = [f"w{number}" for number in range(MOST_EXTRA + 5)]
    assert words_beyond(tokens, counts, many, Tokenizer("words"))[1] == many[:MOST_EXTRA]


def test_the_vocabulary_goes_on_behind_the_training_words(files):
    settings = {"data": files["data"], "valid": files["valid"], "test": files["new"]}
    plain = Classify(**settings).encoded()
    found = Classify(**settings, extra_words=files["vectors"]).encoded()
    assert found.vocabulary is not None
    assert plain.vocabulary is not None
    assert found.vocabulary.learnt_words == plain.vocabulary.words
    assert found.vocabulary.words[found.vocabulary.learnt :] == ("dreadful", "superb", "elsewhere")
    assert np.array_equal(found.train.values, plain.train.values)
    assert np.count_nonzero(plain.test.values == UNKNOWN) == 30
    assert np.count_nonzero(found.test.values == UNKNOWN) == 0
    assert found.profile["vocabulary"] == len(plain.vocabulary)
    assert any("2 of the validation and test rows, and the first 1 others" in note for note in found.profile["notes"])


@pytest.mark.parametrize("optimizer", ["lazy-adam", "adamw"])  # the latter moves every row that it knows of
@pytest.mark.parametrize("model", ["lstm", "textcnn", "cnn2", "fasttext"])
def test_training_is_the_same_to_the_bit_whatever_words_the_test_rows_have(
    files, tmp_path, monkeypatch, model, optimizer
):
    monkeypatch.setattr("rnnlab.data.encoded.MOST_EXTRA", 0)  # so that the test rows alone bring words
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "cache"))
    one, other = (train(files, tmp_path / test, model, test, optimizer) for test in ("new", "old"))
    with_test_words, without = weights(one), weights(other)
    assert with_test_words.keys() == without.keys()
    for name, found in with_test_words.items():
        rows = len(without[name])
        more = 2 if name in ("embedding.table", "embedding.frozen") else 0
        assert len(found) == rows + more, name
        assert np.array_equal(found[:rows], without[name]), name
    events = [[e["train_loss"] for e in run.events() if e.get("event") == "epoch"] for run in (one, other)]
    assert events[0] == events[1]


@pytest.mark.parametrize("model", ["lstm", "textcnn", "cnn2", "fasttext"])
def test_extra_words_keep_their_vectors_and_unknown_ones_are_zero(files, tmp_path, model):
    run = train(files, tmp_path, model, max_size=12)  # some training words are unknown, too
    stored = open_model(run.path)
    vocabulary = stored.preprocessor.vocabulary
    assert vocabulary is not None
    lines = [line.rsplit(" ", WIDTH) for line in Path(files["vectors"]).read_text().splitlines()[1:]]
    vectors = {word: np.array([float(v) for v in numbers], np.float32) for word, *numbers in lines}
    found = weights(run)
    for name in ("embedding.table", "embedding.frozen"):
        if name in found:
            assert not found[name][: UNKNOWN + 1].any(), name
    pretrained = found.get("embedding.frozen", found.get("embedding.table"))
    assert pretrained is not None
    behind = len(pretrained) - len(vocabulary)  # fasttext's buckets
    for word in ("superb", "dreadful", "elsewhere"):
        assert np.array_equal(pretrained[vocabulary.index[word] + behind], vectors[word])
    assert not np.array_equal(pretrained[vocabulary.index["the"]], vectors["the"]) or model == "cnn2"


@pytest.mark.parametrize("model", ["lstm", "textcnn", "cnn2", "fasttext"])
def test_what_is_predicted_is_what_was_evaluated(files, tmp_path, model):
    run = train(files, tmp_path / "runs", model)
    rows = list(csv.DictReader(Path(files["new"]).read_text().splitlines()))
    data = load(run.path).preprocessor.encode([row["text"] for row in rows])[0]
    evaluated = safetensors.numpy.load((run / "predictions.safetensors").read_bytes())["test.logits"]
    bundle = pack(run.path, tmp_path / "model.rnnlab")
    for place in (run.path, bundle):
        np.testing.assert_allclose(load(place).logits(data), evaluated, atol=1e-5)
    guessed, known = load(run.path).preprocessor.encode(["elsewhere", "nowhere"])
    assert known.tolist() == [1, 0]
    assert not np.allclose(*load(run.path).logits(guessed))


def test_specs_from_before_keep_their_digest(files):
    assert "extra_words" not in Classify(data=files["data"]).to_dict()
    asked = {"models": ["textcnn"], "vectors": files["vectors"]}
    experiment, _ = prepare(files["data"], **asked)
    assert getattr(experiment.task, "extra_words", None) == files["vectors"]
    switched_off, data = prepare(files["data"], **asked, settings=["task.extra_words=none"])
    assert "extra_words" not in switched_off.task.to_dict()
    assert data.vocabulary is not None
    assert data.vocabulary.learnt is None
    assert switched_off.specs()[0][1].digest != experiment.specs()[0][1].digest


def test_words_that_no_model_can_use_are_refused(files):
    with pytest.raises(ConfigError, match=r"task\.extra_words: no model has the vectors"):
        prepare(files["data"], models=["textcnn"], settings=[f"task.extra_words={files['vectors']}"])
