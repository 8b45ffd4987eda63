"""Writing a model as ONNX."""

import re
from pathlib import Path

import onnxruntime
import pytest


def test_a_run_is_exported_and_the_difference_is_said(compared, rnnlab):
    done = rnnlab("export", compared.run("rnn"), "-o", "mine.onnx")
    assert (done.code, done.err) == (0, "")
    first, shapes, difference, beside = done.out.splitlines()
    assert re.fullmatch(r"mine\.onnx: rnn, \d+ KB, \d+ operators \(1 RNN\)", first)
    assert shapes == "ids (batch, length), lengths (batch) → logits (batch, 2)"
    found = re.fullmatch(
        r"ONNX Runtime and torch differ by at most (\S+) of the largest output, over 12 shapes from 1×1 to 16×120 "
        r"\(1e-05 is accepted\)",
        difference,
    )
    assert found
    assert float(found[1]) <= 1e-5
    assert beside.startswith("mine.tokenizer.json: ")
    assert [value.name for value in onnxruntime.InferenceSession("mine.onnx").get_inputs()] == ["ids", "lengths"]


def test_a_bundle_and_json(compared, rnnlab):
    packed = rnnlab("pack", compared.run("textcnn"), "-o", "model.rnnlab")
    assert packed.code == 0, packed.err
    said = rnnlab("export", "model.rnnlab", "--json").json()
    assert (said["path"], said["tokenizer"], said["kind"]) == ("model.onnx", "model.tokenizer.json", "textcnn")
    assert said["operators"]["Conv"] == 4
    assert said["difference"] <= said["tolerance"] == 1e-5


@pytest.mark.parametrize("label", ["tfidf", "majority"])
def test_baselines_too(compared, rnnlab, label):
    assert rnnlab("export", compared.run(label)).code == 0


def test_what_cant_be_done(compared, rnnlab):
    wrong = rnnlab("export", compared.run("rnn"), "-o", "mine.pt")
    assert (wrong.code, wrong.out) == (1, "")
    assert wrong.err == "rnnlab: mine.pt: the name of the file has to end with .onnx\n"
    nowhere = rnnlab("export", "no-such-run")
    assert nowhere.code == 1
    assert nowhere.err.startswith("rnnlab: no-such-run")
    assert list(Path().glob("*.onnx")) == []
