"""rnnlab reproduce: every experiment of the documents, small, down to its ledger."""

import json
from pathlib import Path

import pytest

from rnnlab.claims.claim import Claim
from rnnlab.sweeps.experiment_names import find_experiments
from rnnlab.sweeps.sweep_file import read_sweep

VERDICTS = {"supported", "contradicted", "cannot tell"}

FILE = """
repeats = 3
target = { value = 1.0, cap = 200 }
[task]
kind = "addition"
length = 3
held_out = 20
[model]
kind = "rnn"
hidden = 48
embedding = { width = 16, spread = 1.0 }
[training]
optimizer = "adam"
steps = 200
eval_every = 10
batch_size = 50
[axes]
"training.lr" = [0.02, 1e-7]
[[claim]]
id = "low-rate-learns"
says = "Three digits are added at a rate of 1e-7."
document = "我们"
study = "mine"
quantity = "test.exact"
measure = "value"
a = { "training.lr" = 1e-7 }
rule = "> 0.9"
[[claim]]
id = "high-rate-better"
says = "A rate of 0.02 is better than one of 1e-7."
document = "我们"
study = "mine"
quantity = "test.exact"
a = { "training.lr" = 0.02 }
b = { "training.lr" = 1e-7 }
rule = "> 0.2"
"""


def test_a_ledger_of_ones_own(rnnlab):
    Path("mine.toml").write_text(FILE, encoding="utf-8")
    done = rnnlab("reproduce", "mine.toml", "--ledger", "docs/ledger.md")
    assert done.code == 0, done.err
    ledger = json.loads(Path("docs/ledger.json").read_text(encoding="utf-8"))
    verdicts = {finding["claim"]["id"]: finding["verdict"] for finding in ledger["findings"]}
    assert verdicts == {"low-rate-learns": "contradicted", "high-rate-better": "supported"}
    page = Path("docs/ledger.md").read_text(encoding="utf-8")
    assert "contradicted" in page
    assert "rnnlab reproduce mine.toml --ledger docs/ledger.md" in page
    assert "../runs/" in page  # the runs, as seen from the page
    assert "supported" in done.out
    chinese = rnnlab("reproduce", "mine.toml", "--lang", "zh")
    assert chinese.code == 0
    assert Path("runs/ledger.md").read_text(encoding="utf-8") != page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("005",), "no such experiment; there are 000-movie-reviews"),
        (("00",), "several experiments begin so"),
        (("none.toml",), "none.toml: no such file"),
    ],
)
def test_mistakes(rnnlab, arguments, said):
    done = rnnlab("reproduce", *arguments)
    assert done.code == 1
    assert said in done.err


def test_a_file_without_claims_is_sent_to_sweep(rnnlab):
    Path("mine.toml").write_text(FILE.split("[[claim]]")[0])
    done = rnnlab("reproduce", "mine.toml")
    assert done.code == 1
    assert "'rnnlab sweep' runs a file without claims" in done.err


TINY = {  # smaller yet than --quick: here it is enough that everything runs
    "000-movie-reviews": ("task.sample=300", "training.epochs=1"),
    "001-addition": ("training.steps=20", "repeats=1", "task.held_out=20"),
    "002-imdb": ("task.sample=100", "task.max_length=10"),
    "003-birnn-textcnn": ("task.sample=100", "task.max_length=10", "training.epochs=1"),
    "004-rules-of-thumb": ("repeats=1",),
}


def test_every_experiment_has_its_tiny_form():
    assert {path.stem for path in find_experiments()} == set(TINY)


def left_out(claim: Claim, keep: dict[str, list]) -> bool:
    """Whether a claim is about a value that --quick leaves out."""
    named = [*claim.a.items(), *claim.b.items()]
    wanted = [(axis, value if isinstance(value, tuple) else (value,)) for axis, value in named]
    return any(axis in keep and not set(values) <= set(keep[axis]) for axis, values in wanted)


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in ("001-addition", "004-rules-of-thumb") else [])
        for name in TINY
    ],
)
def test_the_documents_experiments_run_down_to_the_ledger(rnnlab, data_folder, name):
    settings = [part for text in TINY[name] for part in ("--set", text)]
    done = rnnlab("reproduce", name, "--quick", "--json", *settings)
    assert done.code == 0, done.err
    found = done.json()["findings"]
    [path] = find_experiments([name])
    assert [finding["claim"]["id"] for finding in found] == [claim.id for claim in read_sweep(path).claims]
    assert {finding["verdict"] for finding in found} <= VERDICTS
    assert all(finding["value"] is not None or finding["reason"] for finding in found)
    quick = read_sweep(path, quick=True)
    for claim, finding in zip(quick.claims, found, strict=True):
        assert finding["runs"] or left_out(claim, quick.studies[claim.study].keep), claim.id


def test_there_are_claims_enough():
    claims = [claim for path in find_experiments() for claim in read_sweep(path).claims]
    assert len(claims) >= 25
    assert len({claim.id for claim in claims}) == len(claims)
    assert all(claim.says_zh for claim in claims)
