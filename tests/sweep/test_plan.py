"""From what a person asked for to an experiment with nothing left open."""

import pytest

from rnnlab.errors import ConfigError
from rnnlab.sweep.plan import experiment_tree, plan


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
    with pytest.raises(ConfigError, match=r"arms\.textcnn\.model\.hidden: unknown key of 'textcnn'"):
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
