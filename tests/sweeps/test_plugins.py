"""A model in a file of the user's own: it obeys the laws, it trains in worker processes, it answers."""

import json
import subprocess
import sys
from pathlib import Path

PLUGIN = Path(__file__).parents[2] / "examples" / "mgu.py"


def test_the_example_obeys_the_laws():
    script = (
        "import torch; torch.set_num_threads(1); from rnnlab.core.registry import load_plugin; "
        f"load_plugin({str(PLUGIN)!r}); from rnnlab.models.base import ARCHITECTURES; "
        "from rnnlab.testing import check_architecture; check_architecture(ARCHITECTURES.parse({'kind': 'mgu'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


def test_a_plugin_is_compared_and_asked(reviews_csv, tmp_path):
    def rnnlab(*words: str) -> str:
        command = [sys.executable, "-m", "rnnlab", *words, "--plugin", str(PLUGIN)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        return done.stdout

    options = ["--models", "mgu,gru", "--seeds", "2", "--epochs", "2", "--out", str(tmp_path), "--json"]
    result = json.loads(rnnlab("compare", str(reviews_csv), *options))
    arm = next(arm for arm in result["arms"] if arm["label"] == "mgu")
    assert [run["status"] for run in arm["runs"]] == ["finished", "finished"]
    assert "the great film" in rnnlab("predict", arm["runs"][0]["path"], "the great film")
