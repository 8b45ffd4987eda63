"""Tags for every token: the task from file to prediction."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from corpora import write_bmes, write_conllu

import rnnlab
from rnnlab.answers.tags import FORBIDDEN, Tags, TagsPrediction
from rnnlab.core.errors import ConfigError, RnnlabError
from rnnlab.data.batches import collate
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.tagged import schemes
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.chain_head import ChainHead
from rnnlab.show.notebook import Result
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.tasks.tag import Tag
from rnnlab.testing import check_task
from rnnlab.training.assemble import assemble
from rnnlab.training.evaluate import evaluate
from rnnlab.training.spec import RunSpec


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_conllu(tmp_path_factory.mktemp("words") / "train.conllu")


@pytest.fixture(scope="module")
def characters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bmes(tmp_path_factory.mktemp("characters") / "train.bmes")


def test_words_obey_the_laws(words: Path):
    check_task(Tag(data=str(words)))


def test_entities_obey_the_laws(characters: Path):
    check_task(Tag(data=str(characters), ngrams=(2,)))


def test_windows_of_taggers_have_their_token_in_the_middle(words: Path, reviews_csv: Path):
    models = ["textcnn", "gru-cnn", "rcnn", "dilated"]
    arms = plan(experiment_tree(str(words), models=models))[0].arms
    assert [label for label, arm in arms.items() if "centred" in arm.model.to_dict()] == ["textcnn", "gru-cnn"]
    arms = plan(experiment_tree(str(words), models=["textcnn"], settings=["model.centred=false"]))[0].arms
    assert "centred" not in arms["textcnn"].model.to_dict()
    arms = plan(experiment_tree(str(words), models=["textcnn"], settings=["model.widths=[1,2]"]))[0].arms
    assert "centred" not in arms["textcnn"].model.to_dict()  # it would change nothing
    arms = plan(experiment_tree(str(reviews_csv), models=models))[0].arms
    assert not any("centred" in arm.model.to_dict() for arm in arms.values())


def test_letters_tell_words_apart_that_the_vocabulary_lacks(words: Path):
    data = Tag(data=str(words), letters=8, marks=()).resolve().load()
    assert data.spelling is not None
    ids, known = Preprocessor.of(data).encode([["the", "Sawx", "the"], "the sawx"])
    assert ids.values.shape == (5, 9)
    assert ids.values[:, 0].tolist()[1] == 1
    assert not np.array_equal(ids.values[1], ids.values[4])  # S and s differ as letters
    assert ids.values[0].tolist() == ids.values[3].tolist()
    assert known.tolist() == [2 / 3, 0.5]
    longer = Preprocessor.of(data).encode([["sathxyzxyzxyslept"]])[0].values[0, 1:]
    wanted = Preprocessor.of(data).encode([["sathlept"]])[0].values[0, 1:]
    assert longer.tolist() == wanted.tolist()


def test_a_chain_never_says_what_the_scheme_forbids(characters: Path):
    task = Tag(data=str(characters)).resolve()
    data, answer = task.load(), task.answer
    assert isinstance(answer, Tags)
    model = ARCHITECTURES.parse({"kind": "gru", "hidden": 6, "crf": True, "embedding": {"width": 4}})
    torch.manual_seed(0)
    network = assemble(RunSpec(task, model, None, 0), Preprocessor.of(data)).eval()
    assert isinstance(network.head, ChainHead)
    with torch.no_grad():
        network.head.learnt.normal_()
    kept = evaluate(network, answer, data.test, torch.device("cpu"))
    offsets = data.test.truth.offsets
    assert offsets is not None
    assert not schemes.illegal(kept["answers"], offsets, data.labels, "BMES").any()
    assert (kept["sure"] > 0).all()
    with torch.no_grad():
        network.head.forbidden.zero_()  # now they come out, so the test above could fail
    free = evaluate(network, answer, data.test, torch.device("cpu"))
    assert schemes.illegal(free["answers"], offsets, data.labels, "BMES").any()
    assert (answer.forbidden(len(data.labels)) == FORBIDDEN).any()


def test_mistakes_in_the_data_do_not_drown_the_others(characters: Path):
    task = Tag(data=str(characters)).resolve()
    data, answer = task.load(), task.answer
    model = ARCHITECTURES.parse({"kind": "gru", "hidden": 6, "crf": True, "embedding": {"width": 4}})
    network = assemble(RunSpec(task, model, None, 0), Preprocessor.of(data)).eval()
    batch = collate(data.train, np.arange(6))
    with torch.no_grad():
        right = float(answer.loss(network(batch.inputs, batch.lengths), batch))
        batch.targets[0, 0] = data.labels.index("M-PER")
        mistaken = float(answer.loss(network(batch.inputs, batch.lengths), batch))
    assert 0 < mistaken < right < 10


@pytest.fixture(scope="module")
def compared(characters: Path, tmp_path_factory: pytest.TempPathFactory) -> Result:
    return rnnlab.compare(
        str(characters), models=["bilstm-crf", "gru"], seeds=1, training={"epochs": 12}, on="serial",
        out=tmp_path_factory.mktemp("runs"), settings=["model.hidden=16", "training.batch_size=8"],
    )  # fmt: skip


def test_the_verdict_goes_by_entities(compared: Result):
    by_label = {arm.label: arm for arm in compared.ranking}
    assert "entity F1" in compared.verdict.sentence
    assert set(by_label) >= {"bilstm-crf", "gru"}
    found = by_label["bilstm-crf"].score
    assert found is not None
    assert found.mean > 0.9


def test_predictions_have_spans_with_offsets_into_the_text(compared: Result):
    run = next(arm for arm in compared.arms if arm.label == "bilstm-crf").runs[0]
    model = rnnlab.load(run.path)
    (said,) = model.predict(["王小明在北京大学读书。"])
    assert isinstance(said, TagsPrediction)
    assert said.entities is not None
    assert [(entity.type, entity.start, entity.end, entity.text) for entity in said.entities] == [
        ("PER", 0, 3, "王小明"),
        ("ORG", 4, 8, "北京大学"),
    ]
    assert all(0 < entity.probability <= 1 for entity in said.entities)
    assert [tag["token"] for tag in said.to_dict()["tags"]] == list("王小明在北京大学读书。")
    json.dumps(said.to_dict())
    alone, among = model.predict(["李红在南海大学教书。"]), model.predict(["王小明" * 40, "李红在南海大学教书。"])
    assert alone[0].label == among[1].label
    assert alone[0].probability == pytest.approx(among[1].probability, rel=1e-4)


@pytest.mark.parametrize("label", ["hmm", "crf"])
def test_baselines_never_say_what_the_scheme_forbids(compared: Result, characters: Path, label: str):
    run = next(arm for arm in compared.baselines if arm.label == label).runs[0]
    stored = json.loads((Path(run.path) / "model.json").read_text(encoding="utf-8"))
    forbidden = Tag(data=str(characters)).resolve().answer.forbidden(len(stored["labels"])) == FORBIDDEN
    chain = np.array(stored["chain"])
    assert forbidden.any()
    assert (chain[forbidden] < FORBIDDEN / 2).all()
    assert (chain[~forbidden] > FORBIDDEN / 2).all()


def test_a_crf_is_refused_where_there_is_nothing_to_tag():
    with pytest.raises(ConfigError, match=r"model\.crf: the task 'classify' doesn't tag tokens"):
        rnnlab.compare(models=["lstm"], settings=["model.crf=true"])


def test_letters_are_refused_where_they_are_no_inputs(characters: Path):
    with pytest.raises(ConfigError, match=r"embedding\.letter_width: the letters of words are no inputs"):
        rnnlab.compare(str(characters), models=["lstm"], settings=["model.embedding.letter_width=9"])


def test_entity_f1_of_plain_tags_is_refused(words: Path):
    with pytest.raises(RnnlabError, match="not parts of entities"):
        rnnlab.compare(str(words), models=["lstm"], task={"metric": "entity-f1"})
