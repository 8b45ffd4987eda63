"""Files of sentences in, the same files with other tags out; and texts, to be tagged."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from corpora import write_bmes, write_conllu
from taggers import train_tagger

import rnnlab
from rnnlab.answers.tags import TagsPrediction
from rnnlab.core.errors import DataError, RunError
from rnnlab.data.formats import base
from rnnlab.data.tagged.reading import read_sentences
from rnnlab.use import Predictor, asking
from rnnlab.use.asking import predict_file

SENTENCES = ["王小明在北京大学读书。", "李红在南海大学教书。"]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return rnnlab.load(train_tagger(tmp_path_factory.mktemp("words"), "words", "lstm"))


@pytest.fixture(scope="module")
def characters(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return rnnlab.load(train_tagger(tmp_path_factory.mktemp("characters"), "characters"))


def tags_of(model: Predictor, rows: list) -> list[list[str]]:
    answers = model.predict(rows)
    return [[tag for tag, _ in answer.steps] for answer in answers if isinstance(answer, TagsPrediction)]


def test_conllu(words: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(base, "PORTION", 7)
    given, out = write_conllu(tmp_path / "in.conllu", 20, seed=3), tmp_path / "out.conllu"
    whole = given.read_text(encoding="utf-8")
    blank = "".join(
        "\t".join([*line.split("\t")[:3], "_", *line.split("\t")[4:]]) if "\t" in line else line
        for line in whole.splitlines(keepends=True)
    )
    multiword = "# newdoc\n1-2\tthecat\t_\t_\t_\t_\t_\t_\t_\t_\n"
    given.write_text(multiword + blank, encoding="utf-8")
    progress: list[tuple[int, int]] = []
    done = predict_file(words, given, out, progress=lambda *at: progress.append(at))
    assert (done.rows, done.skipped, progress) == (20, 0, [(7, 20), (14, 20), (20, 20)])
    assert out.read_text(encoding="utf-8") == multiword + whole  # which it has learnt


def test_columns(characters: Predictor, tmp_path: Path):
    given, out = write_bmes(tmp_path / "in.bmes", 12, seed=4), tmp_path / "out.bmes"
    whole = given.read_text(encoding="utf-8")
    given.write_text("\n".join(line.split(" ")[0] for line in whole.split("\n")), encoding="utf-8")  # tokens alone
    predict_file(characters, given, out)
    assert out.read_text(encoding="utf-8") == whole


def test_spans(characters: Predictor, tmp_path: Path):
    given, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [{"text": SENTENCES[0], "id": 7, "label": {"name": {"王小": [[0, 1]]}}}, {"text": SENTENCES[1], "label": {}}]
    given.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", encoding="utf-8")
    predict_file(characters, given, out)
    first, second = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert first["label"] == {"PER": {"王小明": [[0, 2]]}, "ORG": {"北京大学": [[4, 7]]}}
    assert (list(first), first["id"]) == (["text", "id", "label"], 7)
    assert second["label"] == {"PER": {"李红": [[0, 1]]}, "ORG": {"南海大学": [[3, 6]]}}


def test_a_table_of_tokens(words: Predictor, tmp_path: Path):
    given, out = tmp_path / "in.csv", tmp_path / "out.csv"
    given.write_text('id,tokens\n1,the cat sat\n2,"A ""x"" saw"\n', encoding="utf-8")
    predict_file(words, given, out)
    with open(out, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["tags"].split() for row in rows] == tags_of(words, [["the", "cat", "sat"], ["A", '"x"', "saw"]])
    given, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    given.write_text('{"words": ["the", "cat"], "n": 1}\n', encoding="utf-8")
    predict_file(words, given, out)
    assert json.loads(out.read_text(encoding="utf-8"))["tags"] == ["DET", "NOUN"]


def test_texts_get_columns(characters: Predictor, words: Predictor, tmp_path: Path):
    given, out = tmp_path / "in.csv", tmp_path / "out.csv"
    given.write_text("\n".join(["id,text", *(f"{n},{text}" for n, text in enumerate(SENTENCES))]), encoding="utf-8")
    predict_file(characters, given, out)
    with open(out, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "text", "tokens", "prediction", "probability", "entities"]
    assert rows[0]["tokens"].split() == list(SENTENCES[0])
    assert [[*row["prediction"].split()] for row in rows] == tags_of(characters, SENTENCES)
    assert [entity["text"] for entity in json.loads(rows[1]["entities"])] == ["李红", "南海大学"]
    (tmp_path / "in.txt").write_text("The cat saw.\nthe dog\n", encoding="utf-8")
    told = [answer for _, some in asking.ask(words, file=str(tmp_path / "in.txt")) for answer in some]
    assert [answer.tokens for answer in told if isinstance(answer, TagsPrediction)] == [
        ("The", "cat", "saw", "."),
        ("the", "dog"),
    ]


def test_bad_sentences_stand_in_the_error_or_stay_as_they_are(words: Predictor, tmp_path: Path):
    given, out = write_conllu(tmp_path / "in.conllu", 3), tmp_path / "out.conllu"
    text = given.read_text(encoding="utf-8")
    given.write_text("1\tthe\tDET\n\n" + text, encoding="utf-8")
    with pytest.raises(DataError, match=r"in\.conllu:1: .*columns"):
        predict_file(words, given, out)
    assert not out.exists()
    done = predict_file(words, given, out, skip_bad=True)
    assert (done.rows, done.skipped) == (4, 1)
    assert out.read_text(encoding="utf-8") == "1\tthe\tDET\n\n" + text
    with pytest.raises(DataError, match="written over"):
        predict_file(words, given, given, skip_bad=True)
    with pytest.raises(DataError, match=r"can be written as \.conllu"):
        predict_file(words, given, tmp_path / "out.csv", skip_bad=True)


def test_a_file_is_told_sentence_by_sentence(characters: Predictor, tmp_path: Path):
    given = write_bmes(tmp_path / "in.bmes", 2)
    ((names, answers),) = asking.ask(characters, file=str(given))
    read = read_sentences(given)
    assert list(names) == ["".join(read.tokens_of(row)) for row in range(2)]
    told = [answer for answer in answers if isinstance(answer, TagsPrediction)]
    assert [answer.label.split() for answer in told] == [read.tags_of(row) for row in range(2)]
    assert all(entity.text == name[entity.start : entity.end] for name, answer in zip(names, told, strict=True)
               for entity in answer.entities or ())  # fmt: skip
    with pytest.raises(RunError, match="--top and --probabilities need one label per row"):
        predict_file(characters, given, tmp_path / "out.bmes", top=2)


def test_unknown_words_are_remarked(words: Predictor):
    none, some, every = words.predict(["the cat", "the zebra sat on zebra", "zebra"])
    assert none.remark is None
    assert some.remark == "unknown to the model: zebra, on"
    assert every.remark == "no word of it is known to the model"
    known = [tag["known"] for tag in some.to_dict()["tags"]]
    assert known == [True, False, True, False, False]
    assert np.isclose(some.known, 2 / 5)


def test_a_frame_of_tokens_or_texts(words: Predictor, characters: Predictor):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows = [["the", "cat", "sat"], ["A", "dog"]]
    wanted = [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
    found = words.predict(pandas.DataFrame({"id": [1, 2], "tokens": rows}, index=[5, 7]))
    assert list(found.columns) == ["id", "tokens", "prediction", "probability"]
    assert found["prediction"].tolist() == wanted
    assert list(found.index) == [5, 7]
    assert words.predict(polars.DataFrame({"mine": rows}), text="mine")["prediction"].to_list() == wanted
    texts = characters.predict({"text": SENTENCES})
    assert texts["tokens"] == [list(text) for text in SENTENCES]
    assert texts["prediction"] == tags_of(characters, SENTENCES)
    assert [entity["text"] for entity in texts["entities"][0]] == ["王小明", "北京大学"]
    named = words.predict({"text": ["x y"], "tokens": [["the", "cat"]]})  # tokens need not be cut
    assert named["prediction"] == [["DET", "NOUN"]]
