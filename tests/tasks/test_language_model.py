"""Texts that are continued: what is read, what is scored, and what a run makes of it."""

import itertools
import json
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.core.words import retold
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.data.passages import Passages, encode_passages, is_running_text, read_passages
from rnnlab.data.sequences import IGNORE
from rnnlab.data.vocabulary import BEGIN, END, UNKNOWN
from rnnlab.inspecting.cost import parameters
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import parameter_counts
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.tasks.choosing import task_for
from rnnlab.tasks.language_model import LanguageModel
from rnnlab.testing import check_task
from rnnlab.training.assemble import assemble
from rnnlab.training.batch_loader import BatchLoader
from rnnlab.training.evaluate import evaluate
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training
from rnnlab.training.update import Updater, backward
from rnnlab.use.writing import load_writer

POEMS = "\n\n".join(f"第{n}首\n山{n % 7}水{n % 5}\n风月{n % 3}云" for n in range(80))


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text(nested_sentences(600, 1).text, encoding="utf-8")
    return path


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_text_without_tabs_is_continued_and_one_with_tabs_is_a_table(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("good\t1\nbad\t0\n", encoding="utf-8")
    assert is_running_text(tmp_path / "a.txt")
    assert task_for(str(tmp_path / "a.txt"), {}) == "language-model"
    assert not is_running_text(tmp_path / "b.txt")
    assert task_for(str(tmp_path / "b.txt"), {}) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends_make_no_difference(tmp_path: Path, encoding: str, newline: str):
    path = tmp_path / "poems.txt"
    path.write_bytes(POEMS.replace("\n", newline).encode(encoding))
    assert read_passages(path).texts == (POEMS,)
    assert len(read_passages(path, "paragraph").texts) == 80
    assert read_passages(path, "line").texts[:3] == ("第0首", "山0水0", "风月0云")


def test_what_is_no_text_is_refused_with_its_line(tmp_path: Path):
    (tmp_path / "bad.txt").write_bytes(b"one\ntwo \x00 three\n")
    with pytest.raises(DataError, match="line 2: a NUL"):
        read_passages(tmp_path / "bad.txt")
    (tmp_path / "short.txt").write_text("too short", encoding="utf-8")
    with pytest.raises(DataError, match="at least 50 are needed"):
        LanguageModel(data=str(tmp_path / "short.txt")).encoded()


# --- what is scored ---------------------------------------------------------------------------------------------------


def test_every_token_of_a_stream_is_in_one_split_and_scored_once(novel: Path):
    text = novel.read_text(encoding="utf-8")
    data = encode_passages({"train": read_passages(novel)}, context=30, block=100)
    words = data.vocabulary.words  # type: ignore[union-attr]
    parts = {}
    for name in ("valid", "train", "test"):
        truth = getattr(data, name).truth.values
        parts[name] = "".join(words[token] for token in truth[truth != IGNORE].tolist())
    assert parts["valid"] + parts["train"] + parts["test"] == text
    assert len(parts["test"]) == round(len(text) * 0.1)
    assert (data.test.lengths > 100).all()  # behind their context


@pytest.mark.parametrize("unit", ["chars", "words"])
def test_what_was_read_is_told_in_both_languages(novel: Path, unit: Literal["chars", "words"]):
    data = encode_passages({"train": read_passages(novel)}, unit=unit)
    told = retold(data.profile["lines"][0])
    for english, chinese in {"train": "训练集", "valid": "验证集", "test": "测试集"}.items():
        tokens = int((getattr(data, english).truth.values != IGNORE).sum())
        assert f"{english} {tokens:,}" in told["en"]
        assert f"{chinese} {tokens:,}" in told["zh"]


def test_context_is_what_stands_before(novel: Path):
    data = encode_passages({"train": read_passages(novel)}, context=30, block=100)
    words = data.vocabulary.words  # type: ignore[union-attr]
    text = "".join(words[token] for token in data.test.row(3).tolist())
    whole = novel.read_text(encoding="utf-8")
    assert text in whole
    assert data.test.scored_from is not None
    assert data.test.scored_from[3] == 30


def test_given_files_begin_anew(novel: Path):
    parts = {"train": read_passages(novel), "test": Passages("test", ("the cat runs .\n" * 20,))}
    data = encode_passages(parts, block=100)
    assert data.test.values[0] == BEGIN
    truth = data.test.truth.values
    assert (truth != IGNORE).sum() == len("the cat runs .\n" * 20)


def test_rows_begin_and_end_and_equal_ones_stay_together(tmp_path: Path):
    path = tmp_path / "poems.txt"
    path.write_text(POEMS + "\n\n" + POEMS, encoding="utf-8")  # each twice
    data = LanguageModel(data=str(path), text_per="paragraph").encoded()
    rows = {name: {getattr(data, name).row(at).tobytes() for at in range(len(getattr(data, name)))}
            for name in ("train", "valid", "test")}  # fmt: skip
    assert sum(map(len, rows.values())) == 80
    assert not rows["train"] & rows["test"]
    assert all(data.test.row(at)[0] == BEGIN for at in range(len(data.test)))
    assert (data.test.targets[data.test.target_offsets[1:] - 1] == END).all()  # type: ignore[index]


def test_words_know_how_many_characters_they_are(novel: Path):
    text = novel.read_text(encoding="utf-8")
    data = LanguageModel(data=str(novel), unit="words").encoded()
    assert data.tokenizer is not None
    assert data.tokenizer.name == "whitespace"  # signs stand apart
    counted = sum(int(getattr(data, name).characters[getattr(data, name).truth.values != IGNORE].sum())
                  for name in ("train", "valid", "test"))  # fmt: skip
    assert counted == len(text) + text.count("\n")  # a space is counted before each line end, too


def test_words_of_prose_are_cut_and_joined(tmp_path: Path):
    path = tmp_path / "prose.txt"
    path.write_text("\"Don't go,\" she said. It's late (very late).\n" * 60, encoding="utf-8")
    data = LanguageModel(data=str(path), unit="words").encoded()
    assert data.tokenizer is not None
    assert data.tokenizer.name == "words"
    words = data.vocabulary.words  # type: ignore[union-attr]
    found = data.tokenizer.join([words[token] for token in data.train.row(0)[1:60].tolist()])
    assert "Don't go," in found
    assert "It's late (very late).\n" in found


def test_a_rare_word_is_unknown(novel: Path):
    data = LanguageModel(data=str(novel), unit="words", max_size=20).encoded()
    assert len(data.vocabulary) == 20  # type: ignore[arg-type]
    assert (data.train.targets == UNKNOWN).any()
    assert data.profile["unknown"]["test"] > 0


@pytest.mark.parametrize("settings", [{"text_per": "paragraph"}, {"unit": "words"}, {"context": 0, "block": 50}])
def test_all_laws(tmp_path: Path, settings: dict[str, object]):
    path = tmp_path / "poems.txt"
    path.write_text(POEMS, encoding="utf-8")
    check_task(LanguageModel(data=str(path), **settings))  # type: ignore[arg-type]


# --- sentences by rule ------------------------------------------------------------------------------------------------


def test_what_nobody_can_do_better_than_is_known():
    made = nested_sentences(4000, 0)
    assert "".join(made.text.split("\n")[0]) == made.text[: made.text.index("\n")]
    assert made.nats_of_characters.sum() == pytest.approx(made.nats.sum())
    # how often each sentence stands there, against what the rules say of it
    sentences = made.text.split("\n")[:-1]
    nats, at = {}, 0
    for sentence in sentences:
        size = len(sentence.split()) + 1
        nats[sentence] = made.nats[at : at + size].sum()
        at += size
    common = max(set(sentences), key=sentences.count)
    share, expected = sentences.count(common) / len(sentences), np.exp(-nats[common])
    assert abs(share - expected) < 4 * np.sqrt(expected / len(sentences))


def test_the_floor_is_that_of_the_test_text():
    data = LanguageModel(sentences_made=500, unit="words").encoded()
    tokens = int((data.test.truth.values != IGNORE).sum())
    assert data.profile["floor"] == pytest.approx(nested_sentences(500, 0).nats[-tokens:].mean())


def test_settings_that_would_be_ignored_are_refused(novel: Path):
    with pytest.raises(ConfigError, match="would be ignored"):
        plan(experiment_tree(str(novel), models=["gru"], task={"sentences_made": 500}))
    with pytest.raises(ConfigError, match="for texts that are read"):
        plan(experiment_tree(None, models=["gru"], task={"kind": "language-model", "text_per": "line"}))


# --- training ---------------------------------------------------------------------------------------------------------


def spec_of(novel: Path, kind: str, **model: object) -> tuple[RunSpec, object]:
    tree = experiment_tree(str(novel), models=[kind], task={"window": 20, "context": 16, "block": 100},
                           settings=[f"model.{name}={value}" for name, value in model.items()])  # fmt: skip
    experiment, data = plan(tree)
    arm = experiment.arms[kind]
    return RunSpec(experiment.task, arm.model, arm.training.replace(epochs=2, batch_size=8), 0), data


def test_streams_go_on_where_they_ended_and_every_epoch_has_as_many_updates(novel: Path):
    spec, data = spec_of(novel, "gru", hidden=8)
    loader = BatchLoader(spec, data)  # type: ignore[arg-type]
    for epoch in range(3):
        first = epoch * loader.updates
        batches = [loader.batch(step) for step in range(first, first + loader.updates)]
        for one, other in itertools.pairwise(batches):
            assert torch.equal(one.targets[:, -1], other.inputs[:, 0])
        assert all(torch.equal(batch.inputs[:, 1:], batch.targets[:, :-1]) for batch in batches)
        assert max(batch.inputs.shape[1] for batch in batches) <= 20


def test_recurrences_carry_their_state_and_transformers_mask_what_comes_later(novel: Path):
    assert spec_of(novel, "lstm", hidden=8)[0].model.state == "carried"  # type: ignore[union-attr]
    assert spec_of(novel, "transformer", width=8)[0].model.look_ahead is False  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match="bidirectional"):
        plan(experiment_tree(str(novel), models=["bilstm"]))


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 2])
def test_whole_native_steps_carry_what_torch_carries(novel: Path, kind: str, layers: int):
    from rnnlab.kernels import library, switched_off

    if library() is None:
        pytest.skip("there are no native kernels")
    spec, data = spec_of(novel, kind, hidden=12, layers=layers, output_dropout=0, **{"embedding.dropout": 0})
    assert isinstance(spec.training, Training)

    def trained() -> tuple[list[float], torch.Tensor, torch.Tensor]:
        torch.manual_seed(0)
        network = assemble(spec, data)  # type: ignore[arg-type]
        updater = Updater(spec, network, Optimizer(network, spec.training), 1)  # type: ignore[arg-type]
        loader = BatchLoader(spec, data)  # type: ignore[arg-type]
        network.train()
        batches = [loader.batch(step) for step in range(5)]
        losses = [update.loss for update in updater.advance(batches, [0.01] * 5)]
        return losses, network.encoder.carried, network.encoder.resting  # type: ignore[return-value]

    native = trained()
    with switched_off():
        expected = trained()
    assert native[0] == pytest.approx(expected[0], rel=1e-4)
    torch.testing.assert_close(native[1], expected[1], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(native[2], expected[2], rtol=1e-3, atol=1e-4)
    assert native[1].abs().max() > 0


@pytest.mark.parametrize("width", [12, 9])  # of the states, 12, or another
def test_tied_vectors_read_and_score(novel: Path, width: int, tmp_path: Path):
    spec, data = spec_of(novel, "gru", hidden=12, tied="true", output_dropout=0,
                         **{"embedding.width": width, "embedding.dropout": 0})  # fmt: skip
    network = assemble(spec, data)  # type: ignore[arg-type]
    assert network.embedding is not None
    table = network.embedding.table
    assert table is not None
    assert sum(table is parameter for parameter in network.parameters()) == 1
    counts = parameter_counts(network)
    words = len(data.vocabulary)  # type: ignore[attr-defined]
    assert counts == parameters(spec.model, words=words, classes=words, reads="states")  # type: ignore[arg-type]
    assert counts["head"] == words + (0 if width == 12 else 13 * width)

    batch = BatchLoader(spec, data).batch(0)  # type: ignore[arg-type]
    optimizer = Optimizer(network, spec.training)  # type: ignore[arg-type]
    untied = [table.detach().clone().requires_grad_() for _ in range(2)]  # what is read, and what scores
    network.train()
    backward(network, spec.task.answer, batch)
    read = network.embedding.picked.grad
    network.encoder.carried = None  # from the beginning again
    states = network.encoder(F.embedding(batch.inputs, untied[0]), batch.lengths).states
    out = F.linear(network.head.project(states), untied[1], network.head.bias)  # type: ignore[attr-defined]
    spec.task.answer.loss(out, batch).backward()
    assert table.grad is not None
    torch.testing.assert_close(table.grad, untied[1].grad, rtol=1e-3, atol=1e-6)
    expected = untied[0].grad[network.embedding.rows]  # type: ignore[index]
    torch.testing.assert_close(read, expected, rtol=1e-3, atol=1e-6)
    optimizer.step(0.01, None)
    assert not table[0].any()  # padding stays zero

    execute(spec, tmp_path, lambda event: None, lambda: False)
    opened = load_writer(tmp_path / spec.digest)
    assert len(opened.generate(["the "], length=20)[0].text) == 20


def test_vectors_are_tied_where_that_means_something(novel: Path):
    with pytest.raises(ConfigError, match="tied: the task 'parity' doesn't continue a text"):
        plan(experiment_tree(None, models=["gru"], task={"kind": "parity"}, settings=["model.tied=true"]))


def test_windows_score_every_token_once_and_with_half_a_window_before_it(novel: Path):
    data = encode_passages({"train": read_passages(novel)}, context=30, block=100)
    windows, place = data.test.in_windows(20)
    assert windows.lengths.max() <= 20
    counted = place[place >= 0]
    asked = np.flatnonzero(data.test.truth.values != IGNORE)
    assert np.array_equal(np.sort(counted), asked)
    assert windows.scored_from is not None
    assert (windows.scored_from >= 10).mean() > 0.9
    spec, _ = spec_of(novel, "gru", hidden=8)
    network = assemble(spec, data).eval()
    kept = evaluate(network, spec.task.answer, data.test, torch.device("cpu"), longest=20)["nats"]
    whole = evaluate(network, spec.task.answer, data.test, torch.device("cpu"))["nats"]
    assert (kept[asked] > 0).all()
    assert np.abs(kept[asked] - whole[asked]).max() < 0.2  # an untrained network forgets soon


def test_a_run_in_the_middle_of_a_stream_is_taken_up_to_the_bit(novel: Path, tmp_path: Path):
    spec, _ = spec_of(novel, "lstm", hidden=8)
    whole = execute(spec, tmp_path / "whole", lambda event: None, lambda: False)
    asked = iter(range(10_000))
    stops = lambda: next(asked) % 3 == 2  # noqa: E731
    for _ in range(200):
        found = execute(spec, tmp_path / "parts", lambda event: None, stops)
        if type(found).__name__ == "Finished":
            break
    one, other = ((tmp_path / name / spec.digest / "weights.safetensors").read_bytes() for name in ("whole", "parts"))
    assert one == other
    assert type(whole).__name__ == "Finished"


def test_networks_learn_and_are_judged_by_nats(novel: Path, tmp_path: Path):
    spec, _ = spec_of(novel, "gru", hidden=16)
    execute(spec, tmp_path, lambda event: None, lambda: False)
    result = json.loads((tmp_path / spec.digest / "result.json").read_text(encoding="utf-8"))
    assert set(result["test"]) == {"loss", "perplexity", "bits_per_character"}
    assert result["test"]["perplexity"] == pytest.approx(np.exp(result["test"]["loss"]))
    assert result["test"]["bits_per_character"] == pytest.approx(result["test"]["loss"] / np.log(2))
    assert result["test"]["loss"] < 2.6  # 33 kinds of characters: 3.5 untrained


def test_every_causal_model_can_be_asked_for(novel: Path):
    tree = experiment_tree(str(novel), task={"window": 20})
    experiment, _ = plan(tree)
    assert set(experiment.arms) == set(LanguageModel.default_models)
    assert all(ARCHITECTURES[arm.model.kind] for arm in experiment.arms.values())


@pytest.mark.data
def test_a_text_of_the_catalogue_is_found_by_its_name():
    data = LanguageModel(data="tiny-shakespeare").encoded()
    assert len(data.vocabulary) == 65 + 4  # type: ignore[arg-type]
    assert sum(int((part.truth.values != IGNORE).sum()) for part in (data.train, data.valid, data.test)) == 1_115_394
