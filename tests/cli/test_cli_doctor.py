"""rnnlab doctor, from outside: also where torch doesn't work."""

import json
import os
import subprocess
import sys
from pathlib import Path

from rnnlab.kernels import status


def test_the_doctor_answers(rnnlab):
    status()  # it may have to be compiled first, which is said
    done = rnnlab("doctor")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\nAll that is needed works.\n")
    told = rnnlab("doctor", "--json").json()
    assert told["healthy"] is True
    assert told["checks"]["torch"]["word"] == "ok"
    for name, check in told["checks"].items():
        assert f"{check['word']:<8} {name}" in done.out


def test_what_is_broken_is_said_and_ends_with_1(rnnlab, monkeypatch):
    monkeypatch.setenv("RNNLAB_DATA", "nowhere")
    done = rnnlab("doctor")
    assert done.code == 1
    assert "broken   data         RNNLAB_DATA=nowhere: no such folder; correct it, or unset it\n" in done.out
    assert done.out.endswith("\nBroken: data.\n")


def test_the_doctor_comes_where_torch_is_broken_and_native_kernels_are_off(tmp_path: Path):
    (tmp_path / "torch.py").write_text("raise ImportError('libtorch.so is missing')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "RNNLAB_NATIVE": "off"}
    command = [sys.executable, "-m", "rnnlab", "doctor", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "")
    told = json.loads(done.stdout)["checks"]
    assert [name for name, check in told.items() if check["word"] == "broken"] == ["torch"]
    assert told["torch"]["found"] == "can't be imported: libtorch.so is missing"
    assert told["torch"]["advice"] == "pip install torch"
    (tmp_path / "torch.py").unlink()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    told = json.loads(done.stdout)["checks"]["recurrences"]
    assert (told["word"], told["values"]["path"]) == ("off", "torch")
    assert told["found"].endswith("switched off by RNNLAB_NATIVE=off")
