"""rnnlab pack: one file, what it says of itself, and what it refuses."""

import json
import re
import zipfile
from pathlib import Path

from rnnlab.use.stored import open_model


def test_pack_and_use(rnnlab, compared):
    run = compared.run("rnn")
    done = rnnlab("pack", run, "-o", "models/model.rnnlab")
    assert done.code == 0, done.err
    first, accuracy, calibration, *rest = done.out.splitlines()
    assert first.startswith("models/model.rnnlab: ")
    assert "KB, rnn, " in first
    assert first.endswith("trained on reviews.csv")
    assert accuracy.startswith("test: accuracy ")
    assert re.search(r"over [23] seeds\)$", accuracy)  # 3 after a test that asks for one more
    assert calibration.startswith("probabilities: ECE ")
    assert 'Use it:  rnnlab predict models/model.rnnlab "…"' in rest
    question = ("the lovely film", "awful 未知")
    of_the_run, of_the_file = (rnnlab("predict", model, *question, "--json") for model in (run, "models/model.rnnlab"))
    assert of_the_file.code == 0, of_the_file.err
    assert of_the_file.out == of_the_run.out


def test_the_default_name(rnnlab, compared):
    run = compared.run("textcnn")
    done = rnnlab("pack", run)
    name = f"textcnn-{Path(run).name[:8]}.rnnlab"
    assert done.out.startswith(f"{name}: ")
    assert open_model(name).name == Path(run).name


def test_a_baseline(rnnlab, compared):
    done = rnnlab("pack", compared.run("tfidf"), "-o", "tfidf.rnnlab")
    assert done.code == 0, done.err
    assert open_model("tfidf.rnnlab").is_baseline
    assert rnnlab("predict", "tfidf.rnnlab", "the lovely film").out.split()[0] == "good"


def test_folders_stay_at_home(rnnlab, compared):
    rnnlab("pack", compared.run("rnn"), "-o", "model.rnnlab")
    with zipfile.ZipFile("model.rnnlab") as archive:
        assert json.loads(archive.read("spec.json"))["task"]["data"] == "reviews.csv"
        assert not any(str(compared.folder).encode() in archive.read(name) for name in archive.namelist())


def test_refused(rnnlab, compared, tmp_path):
    run = Path(compared.run("rnn"))
    assert rnnlab("pack", str(run), "-o", "model.rnnlab").code == 0
    cases = {
        ("pack", "nowhere"): "nowhere: not a run directory",
        ("pack", "model.rnnlab"): "model.rnnlab: is a file; what is packed is a run directory",
        ("pack", str(run), "-o", str(tmp_path)): "is a folder; say which file to write",
    }
    for command, reason in cases.items():
        done = rnnlab(*command)
        assert done.code == 1
        assert reason in done.err
        assert done.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["model.rnnlab"]


def test_a_damaged_bundle_is_said_kindly(rnnlab, compared):
    rnnlab("pack", compared.run("rnn"), "-o", "model.rnnlab")
    content = bytearray(Path("model.rnnlab").read_bytes())
    content[-500] ^= 1
    Path("model.rnnlab").write_bytes(content)
    done = rnnlab("predict", "model.rnnlab", "the lovely film")
    assert done.code == 1
    assert done.err.startswith("rnnlab: model.rnnlab: damaged: ")
    assert done.out == ""
