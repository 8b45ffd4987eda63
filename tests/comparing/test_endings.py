"""Runs that a limit ended while they still improved: what counts as that, and what the verdict then may not say."""

from pathlib import Path

import numpy as np
import pytest

from rnnlab.comparing.endings import limit_that_cut, option_to_train_longer
from rnnlab.comparing.records import Record
from rnnlab.judging.findings import ArmScores, Verdict
from rnnlab.judging.verdict import judge
from rnnlab.models.recurrent import GRU
from rnnlab.runs.directory import Finished, RunDirectory
from rnnlab.tasks.classify import Classify
from rnnlab.tasks.synthetic import Adding
from rnnlab.training.spec import RunSpec, Training

RISING = [0.5 + 0.02 * n for n in range(10)]
SETTLED = [*RISING[:8], RISING[7], RISING[7] + 0.009]


def run_with(folder: Path, scores: list[float], ended_by: str | None = "epochs", task=None, **training) -> Record:
    task = task or Classify()
    spec = RunSpec(task, GRU(), Training.model_validate({"epochs": 10, **training}), 0)
    run = RunDirectory(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for epoch, score in enumerate(scores, 1):
        run.append_event(
            {"event": "epoch", "epoch": epoch, "step": 7 * epoch, f"valid_{task.answer.chosen.name}": score}
        )
    result = {"epochs": len(scores), "best_epoch": int(np.argmax(scores)) + 1}
    return Record("gru", spec, Finished(result | ({"ended_by": ended_by} if ended_by else {})), folder)


@pytest.mark.parametrize(
    ("scores", "ended_by", "found"),
    [
        (RISING, "epochs", "epochs"),
        (RISING, "patience", None),  # it came to its own end
        (RISING, "until", None),
        (SETTLED, "epochs", None),  # the last epoch is the best, by less than anybody would care about
        (RISING[:1], "epochs", "epochs"),  # nothing says that one epoch was enough
        (RISING, "minutes", "minutes"),
        ([0.5, 1.0], "epochs", None),  # nothing is left to improve
        ([1.0], "epochs", None),
    ],
)
def test_a_limit_and_a_rise_together(tmp_path, scores, ended_by, found):
    assert limit_that_cut(run_with(tmp_path, scores, ended_by), 0.01) == found


def test_a_loss_that_still_falls(tmp_path):
    falling = [1.0 * 0.8**n for n in range(10)]
    assert limit_that_cut(run_with(tmp_path / "a", falling, task=Adding()), 0.01) == "epochs"
    assert limit_that_cut(run_with(tmp_path / "b", [*falling[:8], falling[7], falling[7]], task=Adding()), 0.01) is None


def test_runs_from_before_did_not_say_what_ended_them(tmp_path):
    assert limit_that_cut(run_with(tmp_path / "a", RISING, None), 0.01) == "epochs"
    assert limit_that_cut(run_with(tmp_path / "b", [*RISING[:5], 0.1, 0.1, 0.1], None, patience=3), 0.01) is None
    assert limit_that_cut(run_with(tmp_path / "c", RISING, None, epochs="none", steps=70), 0.01) == "steps"


def test_half_of_the_runs_make_the_arm(tmp_path):
    runs = [run_with(tmp_path / "a", RISING), run_with(tmp_path / "b", SETTLED)]
    assert option_to_train_longer(runs, 0.01) == "--epochs 30"
    assert option_to_train_longer([*runs, run_with(tmp_path / "c", SETTLED)], 0.01) is None
    assert option_to_train_longer([], 0.01) is None


def judged(longer: dict[str, str]) -> Verdict:
    rng = np.random.default_rng(0)
    arms = [
        ArmScores(label, [0, 1, 2], rng.random((3, 2000)) < share, cost=1.0, longer=longer.get(label))
        for label, share in (("gru", 0.9), ("rnn", 0.6))
    ]
    return judge(arms, np.arange(2000))


def test_nothing_is_worse_that_would_have_gone_on():
    whole, cut = judged({}), judged({"rnn": "--epochs 30"})
    assert whole.between("gru", "rnn").call == "better"
    assert "Measurably worse than gru: rnn" in whole.sentence
    assert cut.between("gru", "rnn").call == "undecided"
    assert cut.recommended == "gru"
    assert not cut.firm
    assert "worse than" not in cut.sentence
    assert "measurably better" not in cut.sentence
    assert "rnn; --epochs 30 trains longer" in cut.sentence
    assert "rnn；用 --epochs 30" in cut.sentence_zh


def test_what_is_ahead_although_it_was_cut_short_is_ahead():
    cut = judged({"gru": "--epochs 30"})
    assert cut.between("gru", "rnn").call == "better"
    assert not cut.firm
