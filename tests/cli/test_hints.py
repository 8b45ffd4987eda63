"""Verbs, options and experiments as people from other tools name them."""

import pytest
from typer.main import get_command

from rnnlab.cli.hints import OTHER_OPTIONS, OTHER_VERBS
from rnnlab.cli.main import app
from rnnlab.core.other_names import normal
from rnnlab.sweeps.experiment_names import shipped_experiments
from rnnlab.sweeps.sweep_file import read_sweep


def commands(command, name=""):
    yield name, command
    for own, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {own}".strip())


COMMANDS = dict(commands(get_command(app)))
OPTIONS = {option for command in COMMANDS.values() for param in command.params for option in param.opts}


@pytest.mark.parametrize("ours", OTHER_VERBS)
def test_every_verb_exists(ours):
    verb, _, option = ours.partition("--")
    assert verb.strip() in COMMANDS
    known = [option for param in COMMANDS[verb.strip()].params for option in param.opts]
    assert not option or f"--{option.split()[0]}" in (*known, "--help")


def test_names_of_others_are_not_ours_and_stand_once():
    names = [name for listed in OTHER_VERBS.values() for name in listed.split()]
    assert len(set(names)) == len(names)
    assert not set(names) & set(COMMANDS)


def test_every_option_exists():
    assert set(OTHER_OPTIONS) <= OPTIONS
    for names in OTHER_OPTIONS.values():
        assert names.split() == [normal(name) for name in names.split()]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("compare --lr 0.01", "--set training.lr=0.01"),
        ("compare --learning-rate=0.01", "--set training.lr=0.01"),
        ("compare --epoch 3", "--epochs"),
        ("compare --max-epochs 3", "--epochs"),
        ("compare --model lstm", "--models"),
        ("compare --seed 1", "--seeds"),
        ("compare --bs 8", "--set training.batch_size=8"),
        ("compare --batch-size", "--set training.batch_size=…"),
        ("compare --n_jobs 2", "--jobs"),
        ("compare --silent", "--quiet"),
        ("compare --text-column body", "--text"),
        ("train --models lstm", "--model"),
        ("train --hidden-size 64", "--set model.hidden=64"),
        ("train --emb-dim 64", "--set model.embedding.width=64"),
        ("train --gpu", "--device"),
        ("sweep 001 --lr 3", "--set training.lr=3"),
        ("report --out page.html", "--output"),
        ("fit reviews.csv", "rnnlab train"),
        ("tune reviews.csv", "rnnlab compare --tune 12"),
        ("data download imdb", "rnnlab data get"),
        ("nonsense", ""),
        ("compare --wat", ""),
        ("report --lr 3", ""),
    ],
)
def test_a_mistake_says_how_it_is_said_here(rnnlab, typed, said):
    done = rnnlab(*typed.split())
    assert done.code == 2
    assert [line for line in done.err.splitlines() if line.startswith("In rnnlab it is")] == (
        [f"In rnnlab it is: {said}"] if said else []
    )
    if said:
        assert "Possible options" not in done.err


def test_in_chinese(rnnlab):
    assert rnnlab("train", "--lr", "1", "--lang", "zh").err.endswith("在 rnnlab 中写作：--set training.lr=1\n")


# --- experiments by name ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["001", "001-addition", "001-add"])
def test_an_experiment_by_its_name(rnnlab, name):
    done = rnnlab("check", name)
    assert (done.code, done.out.partition(".")[0]) == (0, f"{name}: fine")
    done = rnnlab("sweep", name, "--quick", "--only", "schedule", "--dry-run", "--set", "repeats=[0]")
    assert done.code == 0, done.err
    assert "of them finished" in done.out
    assert read_sweep(name) == read_sweep(shipped_experiments()["001-addition"])


def test_an_experiment_with_arms_is_compared_by_its_name(rnnlab):
    done = rnnlab("compare", "memory", "--set", "seeds=0")
    assert done.err.startswith("rnnlab: memory: 1 problem\n  seeds: ")


def test_a_file_of_that_name_comes_first(rnnlab, reviews_csv):
    reviews_csv.rename("001")
    done = rnnlab("compare", "001", "--models", "rnn", "--epochs", "0")
    assert done.err.startswith("rnnlab: 001: 1 problem\n  training.epochs: ")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("sweep 01-adition", "01-adition: no such experiment; did you mean '001-addition'?"),
        ("check 001-adition", "001-adition: no such experiment; did you mean '001-addition'?"),
        ("reproduce 04-rules", "04-rules: no such experiment; did you mean '004-rules-of-thumb'?"),
        ("sweep 00", "00: several experiments begin so: 000-movie-reviews, 001-addition, "),
        ("sweep quark", "quark: no such experiment; there are 000-movie-reviews, "),
        ("compare 001", "001: this file has axes, not arms: run it with 'rnnlab sweep 001'"),
        ("sweep memory", "memory: this file has arms, not axes: run it with 'rnnlab compare memory'"),
        ("sweep mine.tolm", "mine.tolm: no such experiment; there are "),
        ("check min.toml", "min.toml: no such file; did you mean 'mine.toml'?"),
        ("compare min.toml", "min.toml: no such file; did you mean 'mine.toml'?"),
    ],
)
def test_a_name_that_is_none(rnnlab, tmp_path, typed, said):
    (tmp_path / "mine.toml").write_text("", encoding="utf-8")
    done = rnnlab(*typed.split())
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"rnnlab: {said}")
