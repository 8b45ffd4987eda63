"""`rnnlab compare FILE --report PAGE` reads the file once, encodes once, judges once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rnnlab.data import reviews

COUNTING = """
import json, os, sys
counts, file = {}, os.path.abspath(sys.argv[1])
def count(what): counts[what] = counts.get(what, 0) + 1
def heard(event, given):
    if event == "open" and isinstance(given[0], (str, bytes)) and os.path.abspath(os.fsdecode(given[0])) == file:
        count("opened")
sys.addaudithook(heard)
from rnnlab.cli.main import main
import rnnlab.api.report, rnnlab.api.compare
from rnnlab.data import encoded, reading, store
from rnnlab.judging import verdict
from rnnlab.sweeps import experiment
for module, name in ((encoded, "encode"), (store, "load"), (verdict, "judge"), (experiment, "parse_experiment"),
                     (reading, "read_examples")):
    original = getattr(module, name)
    def counted(*given, _original=original, _name=name, **named):
        count(_name)
        return _original(*given, **named)
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith("rnnlab") and vars(other).get(name) is original:
            setattr(other, name, counted)
sys.argv = ["rnnlab", "compare", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(counts))
"""


def counts_of(file: Path, folder: Path) -> dict[str, int]:
    asked = ["--models", "gru,rnn", "--seeds", "2", "--epochs", "1", "--jobs", "0", "--set", "model.hidden=4"]
    where = ["--out", str(folder / "runs"), "--report", str(folder / "report.html")]
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, str(file), *asked, *where],
        env={**os.environ, "RNNLAB_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.long
def test_every_piece_of_work_is_done_once(tmp_path: Path):
    rows = reviews.generate(120, "en", 0)
    file = tmp_path / "reviews.csv"
    lines = [f'"{text}",{label}\n' for text, label in zip(rows.texts or (), rows.labels, strict=True)]
    file.write_text("text,label\n" + "".join(lines), encoding="utf-8")
    os.utime(file, (1e9, 1e9))
    first = counts_of(file, tmp_path)
    assert first == {"opened": 1, "read_examples": 1, "encode": 1, "load": 1, "judge": 1, "parse_experiment": 2}
    (experiment,) = tmp_path.glob("runs/comparisons/*/experiment.toml")
    assert "[arms.gru.model]" in experiment.read_text(encoding="utf-8")
    again = counts_of(file, tmp_path)  # the data come from the cache; the report shows texts of the file
    assert again == {"opened": 2, "read_examples": 1, "load": 1, "judge": 1, "parse_experiment": 1}
