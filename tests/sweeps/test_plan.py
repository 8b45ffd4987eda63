"""From what a person asked for to an experiment with nothing left open."""

from typing import ClassVar

import pytest

from rnnlab.core.errors import ConfigError
from rnnlab.sweeps.plan import SHORT_NAMES, experiment_tree, named_model, plan
from rnnlab.tasks.base import TASKS
from rnnlab.tasks.classify import Classify
from rnnlab.training.spec import Training


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    words = ["the", "film", "number", "great", "awful", "dull"]
    path.write_text("\n".join(f"{word} {n}.0 {n}.5 1.0" for n, word in enumerate(words)) + "\n")
    return str(path)


def test_everything_automatic_is_filled_in(reviews_csv):
    experiment, data = plan(experiment_tree(str(reviews_csv), models=["lstm", "bilstm"], seeds=2))
    assert experiment.task.to_dict()["tokenizer"] == "words"
    assert experiment.task.fingerprint
    assert experiment.seeds == (0, 1)
    for arm in experiment.arms.values():
        assert arm.model.embedding is not None
        assert arm.model.embedding.to_dict()["channels"] == "random"
    assert experiment.arms["bilstm"].model.to_dict()["bidirectional"] is True
    assert data.labels == ("bad", "good")


def dropout_of(data: str | None, settings: tuple[str, ...] = (), **options) -> dict[str, tuple[float | None, float]]:
    """Of each arm: on tokens and on the summary."""
    experiment, _ = plan(experiment_tree(data, settings=settings, **options))
    models = {label: arm.model for label, arm in experiment.arms.items()}
    return {
        label: (model.embedding.dropout if model.embedding else None, model.output_dropout)
        for label, model in models.items()
    }


def test_texts_are_read_with_dropout_where_it_helps(reviews_csv, vectors):
    file, models = str(reviews_csv), ["gru", "textcnn", "transformer", "linear", "fasttext"]
    usual = {"gru": (0.3, 0.3), "textcnn": (0.3, 0.3), "transformer": (0, 0), "linear": (0, 0), "fasttext": (0, 0)}
    assert dropout_of(file, models=models) == usual
    assert dropout_of(file, models=["cnn2"], vectors=vectors) == {"cnn2": (0.3, 0.3)}


def test_what_a_person_says_of_dropout_holds(reviews_csv):
    file = str(reviews_csv)
    assert dropout_of(file, ("model.output_dropout=0",), models=["gru"]) == {"gru": (0.3, 0)}
    assert dropout_of(file, ("model.embedding.dropout=0",), models=["gru"]) == {"gru": (0, 0.3)}
    assert dropout_of(file, ("model.embedding.width=8",), models=["gru"]) == {"gru": (0.3, 0.3)}


def test_numbers_and_memory_tasks_have_no_dropout():
    assert dropout_of(None, models=["gru"], task={"kind": "adding", "rows": 200}) == {"gru": (None, 0)}
    assert dropout_of(None, models=["gru"], task={"kind": "parity", "rows": 200}) == {"gru": (0, 0)}
    assert dropout_of(None, models=["gru"], task={"kind": "addition", "length": 3}) == {"gru": (0, 0)}


def test_vectors_are_identified_measured_and_used(reviews_csv, vectors):
    experiment, data = plan(experiment_tree(str(reviews_csv), models=["cnn2", "gru"], vectors=vectors))
    cnn2, gru = (experiment.arms[label].model.embedding for label in ("cnn2", "gru"))
    assert cnn2 is not None
    assert gru is not None
    assert (cnn2.channels, gru.channels) == ("two", "tuned")
    assert (cnn2.width, gru.width) == (3, 3)
    assert cnn2.vectors_digest == gru.vectors_digest
    assert cnn2.vectors_digest
    assert data.vocabulary is not None
    words = set(data.vocabulary.words[2:])
    share = len(words & {"the", "film", "number", "great", "awful", "dull"}) / len(words)
    assert any(f"covers {100 * share:.1f} % of the words" in note for note in experiment.notes)


def test_cnn2_is_left_out_with_a_note_and_alone_it_is_an_error(reviews_csv):
    experiment, _ = plan(experiment_tree(str(reviews_csv), models=["cnn2", "gru"]))
    assert list(experiment.arms) == ["gru"]
    assert "--vectors" in experiment.notes[0]
    with pytest.raises(ConfigError, match="--vectors glove-6b-50d"):
        plan(experiment_tree(str(reviews_csv), models=["cnn2"]))


def test_settings_come_last_and_name_what_they_miss(reviews_csv):
    tree = experiment_tree(str(reviews_csv), models=["gru", "textcnn"], settings=["arms.gru.model.hidden=7"])
    assert plan(tree)[0].arms["gru"].model.to_dict()["hidden"] == 7
    tree = experiment_tree(str(reviews_csv), models=["gru", "textcnn"], settings=["model.hidden=7"])
    with pytest.raises(ConfigError, match=r"  model\.hidden: 'textcnn' has no such option"):
        plan(tree)


def test_paths_in_a_file_are_seen_from_the_file(reviews_csv, tmp_path, monkeypatch):
    (reviews_csv.parent / "e.toml").write_text('[task]\ndata = "reviews.csv"\n[arms.a.model]\nkind = "linear"\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    experiment, _ = plan(experiment_tree("../e.toml"))
    assert list(experiment.arms) == ["a"]


def test_a_misspelt_model_gets_a_hint(reviews_csv):
    with pytest.raises(ConfigError, match="did you mean 'bilstm'"):
        experiment_tree(str(reviews_csv), models=["bilsmt"])


@pytest.mark.parametrize("short", SHORT_NAMES)
def test_short_names_say_what_they_are_short_for(short):
    kind, _, further = short.removeprefix("bi").partition("-")
    both_ways = {"bidirectional": True} if short.startswith("bi") else {}
    more = {"": {}, "crf": {"crf": True}, "plain": {"decoder": {"attention": "none"}}}[further]
    assert named_model(short) == {"kind": kind, **both_ways, **more}


# Channels of an architecture that is made for vectors


def channels_of(experiment, label="cnn2"):
    embedding = experiment.arms[label].model.embedding
    return embedding.channels, embedding.vectors


def test_cnn2_does_without_vectors_when_asked_to(reviews_csv):
    for setting in ("arms.cnn2.model.embedding.channels=random", "model.embedding.channels=random"):
        experiment, _ = plan(experiment_tree(str(reviews_csv), models=["cnn2"], settings=[setting]))
        assert channels_of(experiment) == ("random", None)
    tree = experiment_tree(str(reviews_csv), models=["cnn2", "gru"], settings=["model.embedding.width=9"])
    assert list(plan(tree)[0].arms) == ["gru"]  # it wasn't asked to, only its embedding is narrower


@pytest.mark.parametrize("channels", ["frozen", "tuned", "two"])
def test_cnn2_takes_the_channels_that_it_is_told(reviews_csv, vectors, channels):
    settings = [f"arms.cnn2.model.embedding.channels={channels}"]
    experiment, _ = plan(experiment_tree(str(reviews_csv), models=["cnn2"], vectors=vectors, settings=settings))
    assert channels_of(experiment) == (channels, vectors)


def test_vectors_go_to_the_arms_that_can_use_them(reviews_csv, vectors):
    setting = "arms.cnn2.model.embedding.channels=random"
    tree = experiment_tree(str(reviews_csv), models=["cnn2", "gru"], vectors=vectors, settings=[setting])
    experiment, _ = plan(tree)
    assert channels_of(experiment) == ("random", None)
    assert channels_of(experiment, "gru") == ("tuned", vectors)
    alone = experiment_tree(str(reviews_csv), models=["cnn2"], vectors=vectors, settings=[setting])
    with pytest.raises(ConfigError, match="would ignore the vectors"):
        plan(alone)


# The same time for every arm


def test_minutes_alone_end_a_run_when_seconds_are_matched(reviews_csv):
    limits = {"epochs": 5, "steps": 7, "patience": 2, "minutes": 1.5}
    tree = experiment_tree(str(reviews_csv), models=["gru", "linear"], training=limits, match="seconds")
    tree["arms"]["gru"]["training"] = {"epochs": 3, "lr": 0.1}
    experiment, _ = plan(tree)
    free = {"epochs": None, "steps": None, "patience": None, "minutes": 1.5, "device": "cpu"}
    assert experiment.arms["gru"].training == Training(**free, lr=0.1)
    assert experiment.arms["linear"].training == Training(**free)
    assert experiment.notes == (
        "every run trains for 1.5 minutes, whatever epochs, steps and patience say; results depend on the machine",
    )


@pytest.mark.parametrize(
    ("training", "settings", "complaint"),
    [
        ({}, [], r"match: 'seconds' gives every run the same training time; say how long, with --minutes M"),
        ({"minutes": 1}, ["training.schedule=cosine"], r"training: a 'cosine' schedule needs epochs or steps"),
        ({"minutes": 1}, ["arms.gru.training.schedule=one-cycle"], r"arms\.gru\.training: a 'one-cycle' schedule"),
        ({"minutes": 1}, ["arms.gru.training.minutes=2"], r"arms\.gru\.training\.minutes: with match = 'seconds'"),
        ({"minutes": 1}, ["match=secconds"], r"match: must be .* \(got 'secconds'\); did you mean 'seconds'"),
    ],
)
def test_time_that_cannot_be_matched(reviews_csv, training, settings, complaint):
    tree = experiment_tree(str(reviews_csv), models=["gru"], training=training, match="seconds", settings=settings)
    with pytest.raises(ConfigError, match=complaint) as error:
        plan(tree)
    assert len(str(error.value).splitlines()) == 2  # how many problems, and the one


def test_a_file_may_ask_for_a_match(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text(
        'match = "parameters"\n[task]\nrows = 60\n[arms.a.model]\nkind = "gru"\n[arms.b.model]\nkind = "linear"\n'
    )
    assert plan(experiment_tree(str(path)))[0].notes[0].startswith("matched at ")


# Tasks that must not look ahead


class Causal(Classify):
    """Answers step by step."""

    causal: ClassVar[bool] = True


@pytest.fixture
def causal_task(monkeypatch):
    """Known for one test only: the tests of all tasks are not to meet it."""
    monkeypatch.setitem(TASKS._classes, "steps", Causal)
    monkeypatch.setattr(Causal, "kind", "steps")
    return {"kind": "steps", "rows": 60}


@pytest.mark.parametrize(
    ("model", "settings", "where", "advice"),
    [
        ("bilstm", [], "bidirectional", "take bidirectional = false"),
        ("gru", ["model.bidirectional=true"], "bidirectional", "take bidirectional = false"),
        ("transformer", [], "look_ahead", "take look_ahead = false"),
        ("textcnn", [], "kind", "lstm"),
    ],
)
def test_a_model_that_looks_ahead_is_refused_by_a_causal_task(causal_task, model, settings, where, advice):
    tree = experiment_tree(None, models=[model, "rnn"][: 1 if settings else 2], task=causal_task, settings=settings)
    with pytest.raises(ConfigError) as error:
        plan(tree)
    [_, problem] = str(error.value).splitlines()
    said_of = "model" if settings else f"arms.{model}.model"
    assert problem.strip().startswith(f"{said_of}.{where}: the task 'steps' answers each step from")
    assert advice in problem


def test_a_model_that_does_not_look_ahead_is_welcome(causal_task):
    settings = ["arms.transformer.model.look_ahead=false", "arms.textcnn.model.widths=[1]"]
    models = ["lstm", "linear", "transformer", "textcnn"]
    experiment, _ = plan(experiment_tree(None, models=models, task=causal_task, settings=settings))
    assert list(experiment.arms) == models
    assert "centred" not in experiment.arms["textcnn"].model.to_dict()  # as its digest was before there was the word
    tree = experiment_tree(None, models=["bilstm"], task={"rows": 60})
    assert list(plan(tree)[0].arms) == ["bilstm"]


def test_fasttext_reads_one_token_per_step():
    with pytest.raises(ConfigError, match="'fasttext' reads one token per step, and these rows have 2; take 'linear'"):
        plan(experiment_tree(None, models=["fasttext"], settings=["task.kind=addition"]), "options")
