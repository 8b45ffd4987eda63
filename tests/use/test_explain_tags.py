"""Why a token has its tag."""

from pathlib import Path

import numpy as np
import pytest
import torch
from taggers import train_baselines, train_tagger

import rnnlab
from rnnlab.answers.prediction import Explanation
from rnnlab.core.errors import DataError, RunError
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.chain import marginals
from rnnlab.models.feature_names import name_of
from rnnlab.models.tag_features import OF_SEGMENTS, OF_TOKENS, OF_WORDS, attributes_of, features_of
from rnnlab.show.terminal.predictions import print_predictions
from rnnlab.tasks.tag import Tag
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
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("the/DET cat/NOUN saw/VERB the/DET saw/NOUN\t0.")
    assert second.startswith("    token 5 (saw), NOUN; for: saw +")
    assert third.startswith("    runner-up ")


def test_the_runner_up_is_the_second_most_probable(tagger: Predictor):
    found = tagger.explain(TEXT, token=3)
    assert found.runner_up is not None
    data, _ = tagger.preprocessor.encode([TEXT])
    outputs = tagger.logits(data)
    chain = np.array(tagger.preprocessor.chain) if tagger.preprocessor.chain else np.zeros((len(tagger.labels) + 2, 1))
    shares = marginals(outputs, np.array([0, 5]), chain + np.zeros((1, len(tagger.labels))))
    ranked = [tagger.labels[number] for number in np.argsort(-shares[2])]
    assert [found.label, found.runner_up.label] == ranked[:2]
    assert found.runner_up.tokens == tagger.explain(TEXT, ranked[1], token=3).tokens
    assert found.to_dict()["runner_up"]["label"] == ranked[1]
    assert tagger.explain(TEXT, "DET", token=3).runner_up is None  # one label was asked for


@pytest.fixture(scope="module")
def baselines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Path]]:
    return {corpus: train_baselines(tmp_path_factory.mktemp(corpus), corpus) for corpus in ("words", "characters")}


def beyond_others(outputs: np.ndarray, target: int) -> float:
    return float(outputs[target] - np.delete(outputs, target).mean())


@pytest.mark.parametrize(("corpus", "text"), [("words", "the Cat saw the unheard7"), ("characters", "王在北京☃")])
def test_features_of_a_crf_add_up_to_the_score_of_the_tag(
    baselines: dict[str, dict[str, Path]], corpus: str, text: str
):
    crf = rnnlab.load(baselines[corpus]["crf"])
    data, _ = crf.preprocessor.encode([text])
    outputs = crf.logits(data)
    for at in range(5):
        found = crf.explain(text, token=at + 1)
        assert found.runner_up is not None
        for one in (found, found.runner_up):
            own = [(name, weight) for name, weight in one.tokens if "→" not in name]
            assert len(one.tokens) == len(own) + 2  # the tags before and behind
            wanted = beyond_others(outputs[at], crf.labels.index(one.label))
            assert sum(weight for _, weight in own) == pytest.approx(wanted, abs=1e-4)
            names = [name for name, _ in own]
            assert len(set(names)) == len(names)
            assert names[-1] == "bias"


def test_features_of_a_crf_are_named_by_what_they_are():
    row = ["In", "McDonald's", "97-x"]
    named = {name_of(template, row, 1, None) for template in OF_WORDS}
    assert named >= {"word=McDonald's", "lower=mcdonald's", "shape=XxXxxxxx'x", "short-shape=XxXx'x"}
    assert named >= {"traits=a capital/a sign/capital first", "prefix=mcd", "suffix=ld's", "suffix=s"}
    assert named >= {"lower[-1]=in", "lower[-2]=<s>", "lower[+2]=</s>", "lower[-1]=in + lower=mcdonald's"}
    assert "prefix=in$" in {name_of(template, row, 0, None) for template in OF_WORDS}
    assert "suffix=^in" in {name_of(template, row, 0, None) for template in OF_WORDS}
    assert "traits=a digit/a hyphen/a sign" in {name_of(template, row, 2, None) for template in OF_WORDS}
    characters = {name_of(template, ["9", "<unk>"], 0, ["B-n", ""]) for template in OF_TOKENS + OF_SEGMENTS}
    assert characters >= {"token=9", "token=9 + token[+1]=<unk>", "kind[-1]=<s> + kind=digit + kind[+1]=unknown"}
    assert characters >= {"segment=B-n", "segment[+1]=?", "segment=B-n + token=9"}


def test_names_differ_where_features_do(tmp_path: Path):
    """Of all tokens of a corpus: two tokens have the same feature exactly where it has the same name."""
    rows = [["the", "Cat", "-", "97-x"], ["The", "cat", "saw", "1"], ["caT", "saw", "CAT", "the"], ["aa", "-", "7x-T"]]
    corpus, taught = tmp_path / "corpus.bio", [[*row, "x" * length] for length in range(1, 11) for row in rows]
    corpus.write_text("".join("".join(f"{word}\tX{len(word) % 2}\n" for word in row) + "\n" for row in taught))
    side = Preprocessor.of(Tag(data=str(corpus), letters=20).resolve().load())
    assert side.spelling is not None
    rows = [[word for word in row if set(word) <= set(side.spelling.letters)] for row in rows]
    encoded, _ = side.encode(rows)
    features = features_of(attributes_of(encoded, side), encoded.offsets, OF_WORDS)
    places = [(row, at) for row in rows for at in range(len(row))]
    for number, template in enumerate(OF_WORDS):
        names = [name_of(template, row, at, None) for row, at in places]
        pairs = set(zip(names, features[number].tolist(), strict=True))
        if all(step == 0 for step, _ in template.parts):  # beyond the ends, a feature tells how far
            assert len(pairs) == len(set(names)) == len(set(features[number].tolist())), template


@pytest.mark.parametrize("kind", ["hmm", "frequent-tag"])
def test_counting_taggers_know_one_thing_of_a_token(baselines: dict[str, dict[str, Path]], kind: str):
    tagger = rnnlab.load(baselines["words"][kind])
    found = tagger.explain(TEXT, token=2)
    (name, weight), *beside = found.tokens
    outputs = tagger.logits(tagger.preprocessor.encode([TEXT])[0])
    assert (name, weight) == ("cat", pytest.approx(beyond_others(outputs[1], tagger.labels.index(found.label))))
    assert [tag for tag, _ in beside] == (["DET→", "→VERB"] if kind == "hmm" else [])


def test_a_label_has_no_token(reviews_csv: Path, tmp_path: Path):
    small = ["model.hidden=4", "model.embedding.width=4"]
    run = rnnlab.train(reviews_csv, model="rnn", training={"epochs": 1}, settings=small, out=tmp_path / "runs")
    with pytest.raises(RunError, match="--token is for models that tag tokens"):
        rnnlab.load(run.path).explain("a great film", token=1)
