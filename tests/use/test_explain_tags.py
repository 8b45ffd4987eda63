"""Why a token has its tag."""

from pathlib import Path

import numpy as np
import pytest
import torch
from taggers import train_tagger

import rnnlab
from rnnlab.answers.prediction import Explanation
from rnnlab.core.errors import DataError, RunError
from rnnlab.show.terminal.predictions import print_predictions
from rnnlab.use import Predictor, asking


@pytest.fixture(scope="module", params=["lstm", "bilstm-crf"])
def tagger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return rnnlab.load(train_tagger(tmp_path_factory.mktemp("words"), "words", request.param))


TEXT = "the cat saw the saw"


def test_shares_add_up_to_the_score_of_the_tag_at_that_token(tagger: Predictor):
    network = tagger.stored.network
    assert network.embedding is not None
    data, _ = tagger.preprocessor.encode([TEXT])
    with torch.no_grad():
        x = network.embedding(torch.from_numpy(data.values).long()[None])
        lengths = torch.tensor([5])
        out, nothing = (network.head(network.encoder(given, lengths)) for given in (x, torch.zeros_like(x)))
    for token in (3, 5):
        found = tagger.explain(TEXT, token=token)
        tag = tagger.labels.index(found.label)
        assert found.of == token - 1
        wanted = float(out[0, token - 1, tag] - nothing[0, token - 1, tag])
        assert sum(weight for _, weight in found.tokens[:5]) == pytest.approx(wanted, rel=0.03)
    assert [found.label for found in (tagger.explain(TEXT, token=3), tagger.explain(TEXT, token=5))] == ["VERB", "NOUN"]
    later = np.array([weight for _, weight in tagger.explain(TEXT, token=1).tokens[1:5]])
    assert (later == 0).all() == network.encoder.causal


def test_the_tags_beside_speak_where_there_is_a_chain(tagger: Predictor):
    beside = tagger.explain(TEXT, token=2).tokens[5:]
    assert [name for name, _ in beside] == (["DET→", "→VERB"] if tagger.preprocessor.chain else [])
    ends = tagger.explain("the", token=1).tokens[1:]
    assert [name for name, _ in ends] == (["<s>→", "→</s>"] if tagger.preprocessor.chain else [])
    if beside:
        chain, labels = np.array(tagger.preprocessor.chain), tagger.labels
        row, at = chain[labels.index("DET")], labels.index("NOUN")
        assert beside[0][1] == pytest.approx(row[at] - np.delete(row, at).mean())


def test_a_token_is_chosen_by_number_or_text_or_is_the_least_sure(tagger: Predictor):
    steps = tagger.predict([TEXT])[0].to_dict()["tags"]
    least = min(range(5), key=lambda at: steps[at]["probability"])
    assert tagger.explain(TEXT).of == least
    assert tagger.explain(TEXT, token="saw").of == 2
    assert tagger.explain("in 7 5 3", token="3").of == 2  # a number first
    assert tagger.explain("in 7 5 3", token="7").of == 1
    assert tagger.explain(["the", "cat"], token=2).of == 1
    assert tagger.explain(TEXT, "DET", token=2).label == "DET"
    with pytest.raises(DataError, match=r"--token 6: there is no such token.*from 1 to 5"):
        tagger.explain(TEXT, token=6)
    with pytest.raises(RunError, match="--token chooses what --explain explains"):
        asking.check_options([TEXT], None, None, False, False, "3")


def test_what_is_printed(tagger: Predictor, capsys: pytest.CaptureFixture[str]):
    for names, answers in asking.ask(tagger, [TEXT], explain=True, token="5"):
        print_predictions(names, answers)
        assert isinstance(answers[0], Explanation)
        assert answers[0].to_dict()["token"] == 5
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("the/DET cat/NOUN saw/VERB the/DET saw/NOUN\t0.")
    assert second.startswith("    token 5 (saw), NOUN; for: saw +")


def test_a_label_has_no_token(reviews_csv: Path, tmp_path: Path):
    small = ["model.hidden=4", "model.embedding.width=4"]
    run = rnnlab.train(reviews_csv, model="rnn", training={"epochs": 1}, settings=small, out=tmp_path / "runs")
    with pytest.raises(RunError, match="--token is for models that tag tokens"):
        rnnlab.load(run.path).explain("a great film", token=1)
