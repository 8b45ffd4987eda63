"""--quiet: the result on standard output as without it, and nothing else; standard error stays empty."""

import pytest

from rnnlab.show.terminal import output as terminal
from rnnlab.sweeps.execution import Silent

SMALL = ("--epochs", "1", "--jobs", "0", "--set", "model.embedding.width=8", "--set", "model.hidden=4")
SWEEP = """
repeats = 1
[task]
kind = "addition"
length = 2
held_out = 40
[model]
kind = "rnn"
hidden = 4
[training]
steps = 10
eval_every = 5
[axes]
"training.lr" = [0.02, 0.01]
"""


def quietly(rnnlab, *command: str):
    """The command as it is, and again with --quiet: twice so, since finished runs are found again."""
    talking, quiet = rnnlab(*command), rnnlab(*command, "--quiet")
    assert talking.code == quiet.code == 0, talking.err + quiet.err
    assert quiet.err == ""
    assert rnnlab(*command, "-q").out == quiet.out
    return talking, quiet.out


def test_compare_prints_the_verdict_alone(rnnlab, reviews_csv):
    command = ("compare", "reviews.csv", "--models", "rnn", "--seeds", "1", *SMALL)
    rnnlab(*command)
    talking, quiet = quietly(rnnlab, *command, "--report", "page.html")
    assert "60 rows" in talking.out  # the profile
    assert talking.out.endswith(quiet)
    assert quiet.startswith("Test accuracy")
    assert quiet.endswith("Report: page.html\n")
    assert talking.err


def test_json_stays_json(rnnlab, reviews_csv):
    command = ("compare", "reviews.csv", "--models", "rnn", "--seeds", "1", *SMALL, "--json")
    first = rnnlab(*command)
    assert first.err  # progress is on the other stream
    quiet = rnnlab(*command, "-q")
    assert (quiet.err, quiet.json()["verdict"]) == ("", first.json()["verdict"])


def test_train_prints_the_result_alone(rnnlab, reviews_csv):
    command = ("train", "reviews.csv", "--model", "rnn", "--epochs", "1", "--set", "model.hidden=4")
    talking, quiet = quietly(rnnlab, *command)
    assert quiet.splitlines()[-1].startswith("Use it:")
    assert talking.out.endswith(quiet)
    assert len(quiet.splitlines()) < len(talking.out.splitlines())


def test_sweep_prints_tables_and_paths_alone(rnnlab):
    with open("sweep.toml", "w", encoding="utf-8") as file:
        file.write(SWEEP)
    talking, quiet = quietly(rnnlab, "sweep", "sweep.toml", "--jobs", "0")
    assert quiet == talking.out
    assert "index.html" in quiet


def test_predict_and_report(rnnlab, compared, tmp_path):
    run = compared.run("rnn")
    table = str(compared.folder / "reviews.csv")
    talking, quiet = quietly(rnnlab, "predict", run, "--file", table, "-o", str(tmp_path / "answers.csv"))
    assert (talking.out, quiet) == ("", "")
    assert talking.err
    assert (tmp_path / "answers.csv").is_file()
    talking, quiet = quietly(rnnlab, "report", run, "-o", str(tmp_path / "page.html"))
    assert quiet == talking.out


def test_mistakes_are_said_all_the_same(rnnlab, reviews_csv):
    done = rnnlab("compare", "reviews.csv", "--quiet", "--models", "lstmm")
    assert (done.code, done.out) == (1, "")
    assert "did you mean 'lstm'?" in done.err


def test_a_terminal_has_no_live_table_and_no_question(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    screen = terminal.Screen(quiet=True)
    assert screen.progress.is_terminal
    assert isinstance(screen.live(2), Silent)
    with screen.working() as watch:
        watch("drawing")
    screen.note("a note")
    screen.how_long("10 runs")
    with terminal.prediction_progress(quiet=True) as progress:
        progress(1, 2)
    with terminal.download_progress(quiet=True) as progress:
        progress(1, 2)
    assert capsys.readouterr() == ("", "")
    assert not screen.talks


@pytest.mark.parametrize("verb", ["compare", "train", "sweep", "reproduce", "predict", "report", "judge", "data get"])
def test_every_verb_that_works_long_has_it(rnnlab, verb):
    assert "-q, --quiet" in rnnlab(*verb.split(), "--help").out
