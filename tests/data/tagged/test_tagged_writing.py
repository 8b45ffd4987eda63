"""Files with the answers put in; where tokens are in a text."""

import json
from pathlib import Path

import numpy as np
import pytest

from rnnlab.core.errors import DataError
from rnnlab.data.tagged.cutting import token_offsets, tokens_of
from rnnlab.data.tagged.reading import read_sentences
from rnnlab.data.tagged.writing import write_tagged


def written(tmp_path: Path, name: str, text: str | bytes, answers: list[list[str]], **options) -> str:
    """What `write_tagged` makes of a file, and it can be read with these answers as its tags."""
    path, out = tmp_path / name, tmp_path / f"out{Path(name).suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    write_tagged(path, out, answers, **options)
    found = read_sentences(out, tags=options.get("tags"), skip_bad=True, like=None)
    assert [found.tags_of(row) for row in range(len(found))] == answers
    return out.read_bytes().decode()


def test_columns(tmp_path):
    answers = [["B-X", "O"], ["I-X"]]
    assert written(tmp_path, "a.bio", "a O\nb O\n\n\nc O", answers) == "a B-X\nb O\n\n\nc I-X"
    assert written(tmp_path, "a.bio", "a\r\nb\r\n\r\nc\r\n", answers) == "a B-X\r\nb O\r\n\r\nc I-X\r\n"
    assert written(tmp_path, "a.bio", "a\nb\n\nc\n", answers) == "a B-X\nb O\n\nc I-X\n"
    columns = "# one\na\tx\tO\ty\nb\tx\tB-X\ty\n\nc\tx\tO\ty\n"
    expected = "# one\na\tx\tB-X\ty\nb\tx\tO\ty\n\nc\tx\tI-X\ty\n"
    assert written(tmp_path, "a.bio", columns, answers, tags="3") == expected
    source, out = tmp_path / "a.bio", tmp_path / "b.bio"
    source.write_text("a\tx\nb\tx\n\nc\tx\n")
    write_tagged(source, out, answers, tags="4")  # the column that the model was trained with isn't there yet
    assert out.read_text() == "a\tx\tB-X\nb\tx\tO\n\nc\tx\tI-X\n"
    coded = "小 O\n明 O\n\n他 O\n".encode("gb18030")
    out = tmp_path / "b.bio"
    (tmp_path / "a.bio").write_bytes(coded)
    write_tagged(tmp_path / "a.bio", out, answers)
    assert out.read_bytes().decode("gb18030") == "小 B-X\n明 O\n\n他 I-X\n"


def test_conllu(tmp_path):
    line = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\t{}\n"
    text = (
        "# text = Don't\n" + line.format("1-2", "Don't", "_", "_") + line.format(1, "Do", "_", "SpaceAfter=No")
        + line.format(2, "n't", "_", "_") + "\n" + "1\tbad\n\n" + line.format(1, "Go", "X", "_")
    )  # fmt: skip
    done = written(tmp_path, "a.conllu", text, [["AUX", "PART"], ["VERB"]])
    expected = text.replace("Do\t_\t_", "Do\t_\tAUX").replace("2\tn't\t_\t_", "2\tn't\t_\tPART")
    assert done == expected.replace("\tX\t", "\tVERB\t")
    done = tmp_path / "b.conllu"
    write_tagged(tmp_path / "a.conllu", done, [["B-P", "O"], ["O"]], tags="NER")  # the key is new
    assert read_sentences(done, tags="NER", skip_bad=True).tags == ["B-P", "O", "O"]
    keyed = text.replace("SpaceAfter=No", "SpaceAfter=No|NER=O")
    done = written(tmp_path, "a.conllu", keyed, [["B-P", "O"], ["O"]], tags="NER")
    assert [row.split("\t")[-1] for row in done.splitlines() if "\t" in row] == [
        "_", "SpaceAfter=No|NER=B-P", "NER=O", "bad", "NER=O",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"label": {"x": {"小明": [[0, 1]]}}}, {"label": {"n": {"小明": [[0, 1]], "京": [[4, 4]]}}}),
        ({"spans": [[0, 1, "x"]]}, {"spans": [[0, 2, "n"], [4, 5, "n"]]}),
        ({}, {"label": [[0, 2, "n"], [4, 5, "n"]]}),
        (
            {"ner": [{"start": 0, "end": 0, "type": "x", "text": "小"}]},
            {
                "ner": [
                    {"start": 0, "end": 1, "type": "n", "text": "小明"},
                    {"start": 4, "end": 4, "type": "n", "text": "京"},
                ]
            },
        ),
    ],
)
def test_spans(tmp_path, before, after):
    text = {"id": 3, "text": "小明 在京"}
    source = json.dumps(text | before) + "\n\n{bad\n"
    answers = [["B-n", "E-n", "O", "S-n"]]
    done = written(tmp_path, "a.jsonl", source, answers)
    assert json.loads(done.splitlines()[0]) == text | after
    assert done.endswith("\n\n{bad\n")
    done = tmp_path / "b.jsonl"
    write_tagged(tmp_path / "a.jsonl", done, [["B-n", "I-n", "O", "B-n"]])  # in another scheme
    assert json.loads(done.read_text(encoding="utf-8").splitlines()[0]) == text | after


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "tokens,id,tags\na b,1,x y\nc,2,z\n", "tokens,id,tags\na b,1,N V\nc,2,N\n"),
        ("a.csv", "id,tokens\n1,a b\n2,c\n", "id,tokens,tags\n1,a b,N V\n2,c,N\n"),
        ("a.csv", "tokens;tags\r\n['a', 'b'];x\r\n['c'];y\r\n", None),
        ("a.tsv", "tokens\ttags\na b\tx y\nc\ty\n", "tokens\ttags\na b\tN V\nc\tN\n"),
        (
            "a.jsonl",
            '{"tokens": ["a", "b"], "tags": ["x", "y"], "id": 1}\n{"tokens": ["c"], "tags": ["x"], "id": 2}\n',
            '{"tokens": ["a", "b"], "id": 1, "tags": ["N", "V"]}\n{"tokens": ["c"], "id": 2, "tags": ["N"]}\n',
        ),
    ],
)
def test_tables(tmp_path, name, text, expected):
    done = written(tmp_path, name, text, [["N", "V"], ["N"]])
    assert expected is None or done == expected


@pytest.mark.parametrize("tags", [None, [["x", "y"], ["x"]], [[1, 2], [3]], ["x y", "x"]])
def test_parquet(tmp_path, tags):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"tokens": [["a", "b"], ["c"]], "id": [7, 8]} | ({} if tags is None else {"tags": tags})
    path, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    parquet.write_table(arrow.table(columns), path)
    write_tagged(path, out, [["N", "V"], ["N"]])
    done = parquet.read_table(out).to_pydict()
    assert done == columns | {"tags": [["N", "V"], ["N"]]}


def test_other_answers_than_sentences(tmp_path):
    path, out = tmp_path / "a.bio", tmp_path / "b.bio"
    path.write_text("a O\nb O\n\nc O\n")
    with pytest.raises(DataError, match="other sentences than those that were answered"):
        write_tagged(path, out, [["O", "O"]])
    with pytest.raises(DataError, match="other sentences than those that were answered"):
        write_tagged(path, out, [["O", "O"], ["O"], ["O"]])
    with pytest.raises(DataError, match="other sentences than those that were answered"):
        write_tagged(path, out, [["O"], ["O"]])
    with pytest.raises(DataError, match="the tag 'a b' can't stand in this file, where ' ' is between the columns"):
        write_tagged(path, out, [["O", "a b"], ["O"]])
    assert not out.exists()


# Where tokens are


def test_tokens_of_a_text():
    text = "I can’t—don't—say “e.g. 3.5”…"
    assert tokens_of(text, "words") == ["I", "ca", "n’t", "—", "do", "n't", "—", "say", "“", "e.g.", "3.5", "”", "…"]
    assert tokens_of("小明 reads 书", "characters") == list("小明reads书")
    assert tokens_of("小明 reads 书", "words") == ["小", "明", "reads", "书"]
    assert tokens_of(" \n", "words") == tokens_of(" \u3000", "characters") == []


def test_offsets_of_tokens():
    text = "Je vais au parc  (non)."
    assert token_offsets(text, ["Je", "vais", "à", "le", "parc", "(", "non", ")", "."]) == [
        (0, 2), (3, 7), (8, 10), (8, 10), (11, 15), (17, 18), (18, 21), (21, 22), (22, 23),
    ]  # fmt: skip
    assert token_offsets("au", ["à", "le"]) == [(0, 2), (0, 2)]
    assert token_offsets("a", ["a", "b"]) == [(0, 1), (1, 1)]
    assert token_offsets("", ["b"]) == [(0, 0)]
    assert token_offsets("au parc", []) == []


@pytest.mark.parametrize("unit", ["words", "characters"])
def test_offsets_lead_back_to_the_tokens(unit):
    rng = np.random.default_rng(4)
    letters = list("ab 小明'’\"…—.3,-n't\u00a0\u3000é😀")
    for _ in range(300):
        text = "".join(rng.choice(letters, rng.integers(0, 30)))
        tokens = tokens_of(text, unit)
        assert [text[start:end] for start, end in token_offsets(text, tokens)] == tokens
        assert "".join(tokens) == "".join(text.split())
