"""What a report sees of the inside of models is what the models do."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch

from rnnlab.answers.label import Label
from rnnlab.api.compare import compare, train
from rnnlab.api.inspect import inspect_run
from rnnlab.comparing.chapters import GateShare
from rnnlab.data.encoded import EncodedData
from rnnlab.inspecting.gates import gate_statistics
from rnnlab.inspecting.saliency import saliency
from rnnlab.runs.directory import RunDirectory, find_runs
from rnnlab.show.looking import internals, looks
from rnnlab.training.monitor import probe_batch
from rnnlab.training.spec import RunSpec
from rnnlab.use.stored import open_run

KINDS = ("lstm", "bigru", "textcnn", "transformer")


def data_of(run: RunDirectory) -> EncodedData:
    return RunSpec.from_dict(run.spec()).task.load()


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, RunDirectory]:
    """Small models on few reviews, whose vocabulary lacks rare words; and the baselines."""
    folder = tmp_path_factory.mktemp("runs")
    small = ["model.embedding.width=6", "arms.lstm.model.hidden=5", "arms.bigru.model.hidden=4"]
    small += ["training.monitor.gradients=true"]
    compare(
        models=KINDS,
        seeds=1,
        task={"rows": 300, "min_count": 3},
        training={"epochs": 2, "lr": 0.01},
        settings=small,
        out=folder,
        on="serial",
    )
    found = {}
    for run in find_runs(folder):
        model = run.spec()["model"]
        found["bigru" if model.get("bidirectional") else model["kind"]] = run
    return found


# Inside


def test_internals_are_those_of_inspect(runs):
    arms = {kind: runs[kind] for kind in KINDS}
    found = internals(arms, data_of(runs["lstm"]).valid)
    assert [one.arm for one in found] == list(KINDS)
    for one in found:
        looked = inspect_run(runs[one.arm].path)
        assert one.run == runs[one.arm].path.name
        assert (one.rows, one.longest) == (looked.rows, looked.longest)
        assert one.norms == pytest.approx(looked.by_input.norms)
        assert one.memory == looked.by_input.memory
        assert looked.by_input_at_first is not None
        assert one.memory_at_first == looked.by_input_at_first.memory
        assert [epoch["epoch"] for epoch in one.epochs] == [1, 2]
        assert one.epochs == looked.epochs
    lstm, bigru, textcnn, transformer = found
    assert [gate.gate for gate in lstm.gates] == ["input", "forget", "output"]
    assert {gate.layer for gate in bigru.gates} == {"layer 1", "layer 1 backward"}
    assert textcnn.gates == transformer.gates == ()


def rewritten(run: RunDirectory, folder: Path, **weights: np.ndarray) -> RunDirectory:
    """A copy of a run with some weights replaced."""
    shutil.copytree(run.path, folder)
    copy = RunDirectory(folder)
    tensors = safetensors.numpy.load_file(copy / "weights.safetensors")
    (copy / "weights.safetensors").write_bytes(safetensors.numpy.save({**tensors, **weights}))
    copy.seal({**(run.result() or {})})
    return copy


def test_gates_and_dead_units_are_counted_over_all_layers(runs, tmp_path):
    """Weights of zero and a bias that closes the input gate: these units of the LSTM never say anything."""
    tensors = safetensors.numpy.load_file(runs["lstm"] / "weights.safetensors")
    changed = {name: value.copy() for name, value in tensors.items() if name.startswith("encoder.ahead.0.")}
    assert changed
    for name, value in changed.items():
        for gate in range(4):
            value[5 * gate : 5 * gate + 3] = 0  # units 0, 1 and 2 of 5
        if "bias" in name:
            value[0:3] = -20.0
    run = rewritten(runs["lstm"], tmp_path / "dead", **changed)
    (found,) = internals({"a": run}, data_of(run).valid)
    assert found.dead_units == 3
    closed = {gate.gate: gate for gate in found.gates}["input"]
    assert closed.closed >= 3 / 5
    _, _, network = open_run(run)
    batch = probe_batch(data_of(run).valid, Label())
    (layer,) = gate_statistics(network, batch.inputs, batch.lengths)
    expected = [GateShare("layer 1", gate.name, gate.low, gate.high, gate.mean) for gate in layer.gates]
    assert list(found.gates) == expected


def test_internals_are_json_even_where_gradients_overflow(runs, tmp_path):
    table = safetensors.numpy.load_file(runs["textcnn"] / "weights.safetensors")["head.linear.weight"]
    run = rewritten(runs["textcnn"], tmp_path / "huge", **{"head.linear.weight": np.full_like(table, 3e38)})
    (found,) = internals({"a": run}, data_of(run).valid)
    assert None in found.norms
    json.dumps(asdict(found), allow_nan=False)


def test_at_most_200_distances_are_kept(tmp_path):
    run = train(
        model="rnn",
        task={"kind": "first-last", "rows": 100, "length": 230},
        training={"epochs": 1},
        settings=["model.hidden=3"],
        out=tmp_path,
    )
    (found,) = internals({"rnn": run}, data_of(run).valid)
    assert (found.longest, len(found.norms), found.epochs) == (230, 200, ())
    assert looks(run, [0, 1], data_of(run), [None, None]) == [None, None]  # numbers


def test_an_answer_at_every_step(tmp_path):
    run = train(
        model="rnn",
        task={"kind": "addition", "length": 3, "held_out": 20},
        training={"steps": 2, "eval_every": 1},
        settings=["model.hidden=3"],
        out=tmp_path,
    )
    (found,) = internals({"rnn": run}, data_of(run).valid)
    assert found.longest == 4
    assert looks(run, [0], data_of(run), ["12+3"]) == [None]


# Looks


def test_looks_are_integrated_gradients_of_the_answer(runs):
    data, rows = data_of(runs["lstm"]), [4, 0, 17]
    for kind in KINDS:
        recorded = safetensors.numpy.load_file(runs[kind] / "predictions.safetensors")["test.logits"][rows]
        shares = torch.from_numpy(recorded).softmax(1)
        _, _, network = open_run(runs[kind])
        for row, look, share in zip(rows, looks(runs[kind], rows, data, [None] * 3), shares, strict=True):
            assert look is not None
            assert look.label == data.labels[int(share.argmax())]
            assert look.probability == pytest.approx(float(share.max()), abs=1e-5)
            ids = data.test.values[slice(*data.test.offsets[row : row + 2])]
            assert data.vocabulary is not None
            assert [token.text for token in look.tokens] == [data.vocabulary.words[number] for number in ids]
            assert look.cut == 0
            expected = saliency(network, torch.from_numpy(ids).long()[None])
            assert [token.weight for token in look.tokens] == pytest.approx(expected.integrated)


def test_unknown_words_are_shown_as_they_were_written(runs):
    """If the text is there to its end; a text that is cut, or of another row, isn't taken for it."""
    run = runs["textcnn"]
    data = data_of(run)
    assert data.tokenizer is not None
    texts = RunSpec.from_dict(run.spec()).task.texts(range(len(data.test)))
    assert texts is not None
    row = next(
        r for r in range(len(data.test)) if (data.test.values[slice(*data.test.offsets[r : r + 2])] == 1).sum() > 1
    )
    written, cut, other = looks(run, [row] * 3, data, [texts[row], texts[row][:-3], texts[row - 1]])
    assert written is not None
    assert cut is not None
    assert other is not None
    assert [token.text for token in written.tokens] == data.tokenizer.tokenize(texts[row])
    unknown = [number for number, token in enumerate(written.tokens) if not token.known]
    assert len(unknown) > 1
    assert {written.tokens[number].text for number in unknown} & {"<unk>"} == set()
    for found in (cut, other):
        assert {found.tokens[number].text for number in unknown} == {"<unk>"}
        assert [(t.weight, t.known) for t in found.tokens] == [(t.weight, t.known) for t in written.tokens]


@pytest.fixture(scope="module")
def long_rows(tmp_path_factory) -> RunDirectory:
    """Rows of 90, 150, 400 and 401 tokens."""
    folder = tmp_path_factory.mktemp("long")
    rng = np.random.default_rng(0)
    lengths = {"train": [20] * 40, "valid": [20] * 10, "test": [90, 150, 400, 401]}
    for split, each in lengths.items():
        rows = [" ".join(rng.choice(["yes", "no", "so", "well"], length)) for length in each]
        lines = [f"{text},{text.split()[0] in ('yes', 'so')}" for text in rows]
        (folder / f"{split}.csv").write_text("\n".join(["text,label", *lines]) + "\n", encoding="utf-8")
    files = {"data" if split == "train" else split: str(folder / f"{split}.csv") for split in lengths}
    return train(
        model="gru",
        task=files,
        training={"epochs": 2},
        settings=["model.hidden=4", "model.pooling=last"],
        out=folder / "runs",
    )


def test_long_rows_are_cut_and_the_longest_left_out(long_rows):
    data = data_of(long_rows)
    short, long, longest, too_long = looks(long_rows, [0, 1, 2, 3], data, [None] * 4)
    assert too_long is None
    shown = [(len(look.tokens), look.cut) for look in (short, long, longest) if look]
    assert shown == [(80, 10), (80, 70), (80, 320)]


def test_the_rough_picture_of_a_long_row_is_like_the_exact_one(long_rows):
    data = data_of(long_rows)
    _, _, network = open_run(long_rows)
    (look,) = looks(long_rows, [1], data, [None])
    ids = torch.from_numpy(data.test.values[slice(*data.test.offsets[1:3])]).long()[None]
    exact = np.array(saliency(network, ids).integrated[:80])
    assert look is not None
    rough = np.array([token.weight for token in look.tokens])
    assert np.abs(rough - exact).max() < 0.05 * np.abs(exact).max()


def test_a_baseline_has_no_looks(runs):
    assert looks(runs["tfidf"], [0, 1], data_of(runs["tfidf"]), [None, None]) == [None, None]


def test_looking_leaves_random_numbers_and_threads_alone(runs):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    data = data_of(runs["lstm"])
    internals({"lstm": runs["lstm"]}, data.valid)
    looks(runs["lstm"], [0], data, [None])
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
