"""Tagged corpora from files: every layout, what is decided and said, and what is refused."""

import json
from pathlib import Path

import pytest

from rnnlab.core.errors import DataError
from rnnlab.data.tagged.reading import has_tags, is_tagged, parts_of, read_sentences
from rnnlab.data.tagged.sentences import Sentences


@pytest.fixture
def write(tmp_path):
    def write(content: str | bytes | list, name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "\n".join(json.dumps(row, ensure_ascii=False) for row in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refusal(path: Path, **options) -> str:
    with pytest.raises(DataError) as caught:
        read_sentences(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


def rows_of(found: Sentences) -> list[str]:
    """``"the/DET dog/NOUN"``"""
    pairs = [zip(found.tokens_of(row), found.tags_of(row), strict=True) for row in range(len(found))]
    return [" ".join("/".join(pair) for pair in row) for row in pairs]


# CoNLL-U


def conllu(*words: str, **columns: list[str]) -> str:
    """The lines of one sentence; a column that isn't given is empty."""
    names = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
    lines = []
    for at, word in enumerate(words):
        given = {"id": str(at + 1), "form": word} | {name: values[at] for name, values in columns.items()}
        lines.append("\t".join(given.get(name, "_") for name in names))
    return "\n".join(lines) + "\n"


def test_conllu(write):
    text = (
        "# newdoc\n# text = Don't go, dog.\n1-2\tDon't" + "\t_" * 8 + "\n"
        + conllu("Do", "n't", "go", upos=["AUX", "PART", "VERB"])
        + "3.1\tgone" + "\t_" * 8 + "\n\n\n# text = A # sign\n"
        + conllu("A", "#", "sign", upos=["DET", "SYM", "NOUN"])
    )  # fmt: skip
    path = write(text, "a.conllu")
    found = read_sentences(path)
    assert rows_of(found) == ["Do/AUX n't/PART go/VERB", "A/DET #/SYM sign/NOUN"]
    assert found.texts == ["Don't go, dog.", "A # sign"]
    assert (found.lines.tolist(), found.scheme, found.unit, found.column) == ([4, 11], None, "words", "upos")
    assert found.notes == (
        "passed over: multi-word tokens, whose words are read (1), and empty nodes (1)",
        "plain tags, not entities: 6 different ones",
    )
    assert rows_of(read_sentences(write(text.replace("\n", "\r\n").encode("utf-8-sig"), "b.conllu"))) == rows_of(found)
    blank = read_sentences(path, tagged=False)
    assert (blank.tags, blank.tokens) == (None, found.tokens)


def test_other_columns_of_conllu(write):
    text = conllu("Do", "it", upos=["AUX", "PRON"], xpos=["VB", "PRP"], misc=["NER=B-X|SpaceAfter=No", "_"])
    path = write(text, "a.conllu")
    assert rows_of(read_sentences(path, tags="XPOS")) == ["Do/VB it/PRP"]
    assert rows_of(read_sentences(path, tags="lemma", like=read_sentences(path))) == ["Do/_ it/_"]
    found = read_sentences(path, tags="ner")  # what has no key is outside
    assert (rows_of(found), found.scheme, found.column) == (["Do/B-X it/O"], "BIO", "NER")
    assert read_sentences(write(text.replace("NER=B-X", "NER=_"), "b.conllu"), like=found).tags == ["O", "O"]
    assert read_sentences(write(text, "b.conllu"), tags="new", tagged=False).tokens == ["Do", "it"]
    assert "no column 'xpo' for the tags; did you mean 'xpos'?" in refusal(path, tags="xpo")
    assert "keys of MISC: NER, SpaceAfter" in refusal(path, tags="xpo")
    assert "all 2 tokens have the tag '_': there is nothing to learn" in refusal(path, tags="feats")
    plus = write("# global.columns = ID FORM TAG\n1\tDo\tA\n2\tit\tB\n", "b.conllu")
    assert rows_of(read_sentences(plus, tags="tag")) == ["Do/A it/B"]
    assert "did you mean 'tag'?" in refusal(plus, tags="tags")
    assert "lack FORM" in refusal(write("# global.columns = ID WORD\n1\ta\n", "c.conllu"))


def test_bad_lines_of_conllu(write):
    good = conllu("Do", "it", upos=["AUX", "PRON"])
    path = write(good + "\n" + "1\tDo\n\n" + good.replace("1\t", "x\t") + "\n" + conllu("a") + "\n" + good, "a.conllu")
    assert refusal(path) == (
        "a.conllu: 3 of 5 sentences can't be used\n"
        "a.conllu:4: 2 columns between tabs instead of 10\n"
        "a.conllu:6: the id 'x' isn't a number, 1-2 or 1.1\n"
        "a.conllu:9: a token without a tag\n"
        "mend these lines, or pass --skip-bad to leave the sentences out"
    )
    found = read_sentences(path, skip_bad=True)
    assert rows_of(found) == ["Do/AUX it/PRON"] * 2
    assert [row.line for row in found.skipped] == [4, 6, 9]
    assert found.notes[-1] == "3 bad sentences skipped"
    assert read_sentences(path.parent / "a.conllu", skip_bad=True, tagged=False).lines.tolist() == [1, 9, 11]
    assert refusal(write("# text = a\n# b\n", "b.conllu")) == "b.conllu: no line has a token, only comments"
    assert refusal(write("\n \n", "c.conllu")) == "c.conllu: the file is empty"
    assert refusal(write("1\tDo\n", "d.conllu"), skip_bad=True) == (
        "d.conllu: all 1 sentences are bad, none is left; d.conllu:1: 2 columns between tabs instead of 10"
    )


# Columns


def test_two_columns(write):
    text = "小 B-PER\n明 E-PER\n在 O\n\n北 B-LOC\n京 M-LOC\n市 E-LOC\n\n\n我 S-PER\n"
    found = read_sentences(write(text, "a.bmes"))
    assert rows_of(found) == ["小/B-PER 明/E-PER 在/O", "北/B-LOC 京/M-LOC 市/E-LOC", "我/S-PER"]
    assert (found.scheme, found.unit, found.texts, found.column) == ("BMES", "characters", None, "2")
    assert found.lines.tolist() == [1, 5, 10]
    assert found.notes == ("tags are entities in the scheme BMES (2 types)",)
    for content in (
        text.replace(" ", "\t"),
        text.replace("\n", "\r\n"),
        text.replace(" ", "  "),
        text.replace("\n\n", "\n \t\n"),
        text.encode("gb18030"),
        text.encode("utf-16"),
        "\ufeff" + text,
    ):
        assert rows_of(read_sentences(write(content, "b.bmes"))) == rows_of(found)


def test_four_columns(write):
    text = (
        "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n"
        "-DOCSTART- -X- -X- O\n\n# NN B-NP O\nPeter NNP I-NP B-PER\n"
    )
    path = write(text, "eng.train")
    found = read_sentences(path)
    assert rows_of(found) == ["EU/B-ORG rejects/O", "#/O Peter/B-PER"]
    assert (found.column, found.scheme) == ("4", "BIO")
    assert found.notes == (
        "tags are column 4 of 4; --tags chooses another",
        "passed over: 2 lines that begin a document (-DOCSTART-)",
        "tags are entities in the scheme BIO (2 types)",
    )
    assert rows_of(read_sentences(path, tags="2")) == ["EU/NNP rejects/VBZ", "#/NN Peter/NNP"]
    assert rows_of(read_sentences(path, tags="-2")) == ["EU/B-NP rejects/B-VP", "#/B-NP Peter/I-NP"]
    assert "no column 'pos' for the tags; the columns are 1, 2, 3, 4" in refusal(path, tags="pos")


def test_entities_within_entities(write):
    path = write("# x\n1\tBank\tB-ORG\tO\n2\tof\tI-ORG\tO\n3\tRome\tI-ORG\tB-LOC\n\n1\tOh\tO\tO\n", "a.tsv")
    assert rows_of(read_sentences(path)) == ["Bank/B-ORG of/I-ORG Rome/I-ORG", "Oh/O"]
    assert rows_of(read_sentences(path, tags="4")) == ["Bank/O of/O Rome/B-LOC", "Oh/O"]


@pytest.mark.parametrize(
    "text",
    [
        "# id = 1\n# text = Hi Bo\n1\tHi\tO\t-\t-\n2\tBo\tB-PER\t-\tx\n\n1\tYou\tO\t-\t-\n",
        "#\thttp://x.org [2009]\n1\tHi\tO\n2\tBo\tB-PER\n\n#\thttp://y.org [2009]\n1\tYou\tO\n",
        "## nsmc_01\tHi <Bo:PER>\nHi\tO\nBo\tB-PER\n\n## nsmc_02\tYou\nYou\tO\n",
        "Token\tTag\nHi\tO\nBo\tB-PER\n\nYou\tO\n",
        "# about this\nHi O\nBo B-PER\n\nYou O\n",
    ],
)
def test_numbers_comments_and_headers_among_columns(write, text):
    path = write(text, "a.tsv")
    assert rows_of(read_sentences(path)) == ["Hi/O Bo/B-PER", "You/O"]
    assert is_tagged(path)


def test_signs_that_look_like_something_else_are_tokens(write):
    text = "# O\n## B-X\n#tag I-X\n\n-- O\n\u3000 O\n\xa0 O\n"
    assert read_sentences(write(text, "a.bio")).tokens == ["#", "##", "#tag", "--", "\u3000", "\xa0"]
    spaces = read_sentences(write("한\tB-X\n \tI-X\n글\tI-X\n\n자\tO\n", "b.bio"))
    assert (spaces.tokens, spaces.unit) == (["한", " ", "글", "자"], "characters")
    assert read_sentences(write("New York\tB-X\nis\tO\n", "c.bio")).tokens == ["New York", "is"]


def test_bad_lines_of_columns(write):
    path = write("a O\nb B-X\n\nc\nd O\n\ne O O\n\nf O\n", "a.bio")
    assert refusal(path).splitlines()[1:3] == [
        "a.bio:4: a token without a tag",
        "a.bio:7: 3 columns, where other lines have 2",
    ]
    assert rows_of(read_sentences(path, skip_bad=True)) == ["a/O b/B-X", "f/O"]
    assert "a.bio:2: a token without a tag" in refusal(write("a\tO\nb\t\n\nc\tB-X\n", "a.bio"))
    assert "a.bio:2: a line without a token" in refusal(write("a\tO\n\tO\n\nc\tB-X\n", "a.bio"))
    assert "a.bio:1: a NUL character" in refusal(write("a\0\tO\n\nc\tB-X\n", "a.bio"))
    assert "tokens, and no tags" in refusal(write("a\nb\n\nc\n", "a.bio"))
    assert "no line has a token" in refusal(write("token\ttag\n", "a.bio"))
    assert "all 3 tokens have the tag 'O'" in refusal(write("a O\nb O\n\nc O\n", "a.bio"))
    assert "a.bio: no line has a token, only comments" in refusal(write("# a\n# b\n", "a.bio"))
    assert "a.bio:1: a sentence of more than 10,000 tokens; a blank line" in refusal(
        write("a O\nb B-X\n" * 30_000, "a.bio")
    )
    assert read_sentences(write("a\nb\n\nc\n", "a.bio"), tagged=False).offsets.tolist() == [0, 2, 3]
    hopeless = write("a O\n\n" * 3000 + "a\n\n" * 20_000, "a.bio")
    assert "a.bio: 10,001 of the first 13,001 sentences can't be used" in refusal(hopeless, skip_bad=True)


def test_the_scheme_is_that_of_nearly_all_tags(write):
    text = "a B-X\nb I-X\nc O\n\n" * 200
    found = read_sentences(write(text + "a O\nb I-X\n\nb I-Y\n", "a.bio"))
    assert found.notes[1] == "tags that mustn't follow each other in the scheme BIO: 2 (lines 802, 804)"
    path = write(text + "a O\nb i-X\n", "a.bio")
    assert "a.bio:802: the tag 'i-X' isn't of the scheme BIO" in refusal(path)
    found = read_sentences(path, skip_bad=True)
    assert (len(found), found.scheme, found.skipped[0].line) == (200, "BIO", 802)
    plain = read_sentences(write("a B-X\nb NOUN\nc VERB\n\n" * 3, "a.bio"))
    assert (plain.scheme, len(plain)) == (None, 3)


def test_a_further_part_is_read_as_the_first(write):
    train = read_sentences(write("a B-X x\nb O y\n\nc E-X z\n", "train.bio"), tags="2")
    assert (train.scheme, train.unit) == ("BIOES", "characters")
    valid = read_sentences(write("a O x\nbcd O y\n", "dev.bio"), like=train)  # of a kind, though it has no entity
    assert (valid.scheme, valid.unit, valid.column, valid.tags) == ("BIOES", "characters", "2", ["O", "O"])
    assert "the tag 'NN' isn't of the scheme BIOES" in refusal(write("a NN x\n", "dev.bio"), like=train)


# JSON lines with spans


def test_cluener_layout(write):
    rows = [
        {"text": "小明在 北京。", "label": {"name": {"小明": [[0, 1]]}, "city": {"北京": [[4, 5]]}}},
        {"text": "他说", "label": {}},
    ]
    path = write(rows, "a.jsonl")
    found = read_sentences(path)
    assert rows_of(found) == ["小/B-name 明/E-name 在/O 北/B-city 京/E-city 。/O", "他/O 说/O"]
    assert (found.scheme, found.unit, found.texts) == ("BIOES", "characters", ["小明在 北京。", "他说"])
    assert is_tagged(path)


@pytest.mark.parametrize(
    "spans",
    [
        {"spans": [[0, 8, "PER"], [12, 17, "LOC"]]},
        {"label": [[0, 8, "PER"], [12, 17, "LOC"]]},
        {"entities": [{"start": 0, "end": 8, "label": "PER"}, {"start": 12, "end": 17, "label": "LOC"}]},
        {"ents": [{"start_idx": 0, "end_idx": 8, "type": "PER"}, {"start_idx": 12, "end_idx": 17, "type": "LOC"}]},
        {"ner": [{"begin": 0, "end": 7, "type": "PER", "text": "Ada Love"}, {"begin": 12, "end": 16, "type": "LOC"}]},
    ],
)  # fmt: skip
def test_generic_layouts(write, spans):
    path = write([{"text": "Ada Love of Paris."} | spans], "a.jsonl")
    found = read_sentences(path)
    assert rows_of(found) == ["Ada/B-PER Love/E-PER of/O Paris/S-LOC ./O"]
    assert (found.unit, is_tagged(path)) == ("words", True)


def test_spans_that_need_a_decision(write):
    rows = [
        {"text": "Ada Lovelace of Paris", "spans": [[0, 8, "PER"], [16, 21, "LOC"]]},
        {"text": "Ada Lovelace of Paris", "spans": [[0, 12, "PER"], [4, 12, "LAST"], [0, 21, "ALL"], [0, 21, "ALL"]]},
    ]
    found = read_sentences(write(rows, "a.jsonl"))
    assert rows_of(found) == [
        "Ada/B-PER Lovelace/E-PER of/O Paris/S-LOC",
        "Ada/B-ALL Lovelace/I-ALL of/I-ALL Paris/E-ALL",
    ]
    assert found.notes[:2] == (
        "spans that cut a word, widened to all of it: 1 (lines 1)",
        "spans that overlap a longer one, left out: 2 (lines 2, 2)",
    )


def test_lines_that_are_no_objects_are_named(write):
    said = refusal(write("\n\n[1]\nnope\n", "a.jsonl"))
    assert said.startswith("a.jsonl:3: this is no JSON object, nor is any other of the first 2 lines")


def test_bad_spans(write):
    rows = [
        {"text": "Ada of Paris", "spans": [[0, 3, "PER"]]},
        {"text": "Ada of Paris", "spans": [[7, 13, "LOC"]]},
        {"text": "Ada of Paris", "spans": [[3, 3, "LOC"]]},
        {"text": "Ada of Paris", "spans": [[3, 4, "LOC"]]},
        {"text": "Ada of Paris", "spans": [["0", 3, "PER"]]},
        {"text": "Ada of Paris", "spans": [[0, 3, ""]]},
        {"text": "Ada of Paris", "spans": [[0, 3]]},
        {"text": "Ada of Paris", "spans": "PER"},
        {"text": "Ada of Paris"},
        {"text": " ", "spans": []},
        {"text": 3, "spans": []},
        {"text": "Ada of Paris", "spans": [{"start": 0, "end": 3, "label": "PER", "text": "Eve"}]},
    ]
    path = write("\n".join([*map(json.dumps, rows), "{", ""]), "a.jsonl")
    assert "a.jsonl:13: not valid JSON" in refusal(path)
    assert refusal(path).splitlines()[1:-2] == [
        "a.jsonl:2: the span 7–13 isn't within the text of 12 characters",
        "a.jsonl:3: the span 3–3 isn't within the text of 12 characters",
        "a.jsonl:4: the span 3–4 holds no token",
        "a.jsonl:5: the start or the end of a span isn't a whole number",
        "a.jsonl:6: the type of a span isn't a word",
        "a.jsonl:7: a span isn't [start, end, type] or an object with start, end and label",
        "a.jsonl:8: the spans aren't a list",
        "a.jsonl:9: no key 'spans'",
        "a.jsonl:10: no text",
        "a.jsonl:11: no text under the key 'text'",
        "a.jsonl:12: the span 0–3 is 'Ada' in the text, not 'Eve'",
    ]
    assert rows_of(read_sentences(path, skip_bad=True)) == ["Ada/S-PER of/O Paris/O"]
    texts = write([{"text": "Ada of Paris"}], "b.jsonl")
    assert "no object has spans" in refusal(texts)
    assert (has_tags(texts), has_tags(path), is_tagged(texts)) == (False, True, False)
    assert read_sentences(texts, tagged=False).tokens == ["Ada", "of", "Paris"]
    assert read_sentences(texts, tagged=False, unit="characters").tokens == list("AdaofParis")


# Tables


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "id,tokens,tags\n1,Ada of Paris,B-P O B-L\n2,Hi,O\n"),
        ("a.csv", 'tokens;tags\n"[""Ada"", ""of"", ""Paris""]";"[""B-P"", ""O"", ""B-L""]"\n"[""Hi""]";"[""O""]"\n'),
        ("a.csv", "id,words,ner\n1,\"['Ada', 'of', 'Paris']\",\"['B-P', 'O', 'B-L']\"\n2,['Hi'],['O']\n"),
        ("a.csv", "id,words,ner\n1,\"['Ada' 'of'\n 'Paris']\",['B-P' 'O' 'B-L']\n2,['Hi'],['O']\n"),
        ("a.tsv", "id\ttokens\tlabels\n1\tAda of Paris\tB-P O B-L\n2\tHi\tO\n"),
        ("a.jsonl", '{"tokens": ["Ada", "of", "Paris"], "ner": ["B-P", "O", "B-L"]}\n{"ner": ["O"], "tokens": "Hi"}\n'),
    ],
)  # fmt: skip
def test_tables_of_tokens_and_tags(write, name, text):
    path = write(text, name)
    assert is_tagged(path)
    found = read_sentences(path)
    assert rows_of(found) == ["Ada/B-P of/O Paris/B-L", "Hi/O"]
    assert (found.scheme, found.unit) == ("BIO", "words")


def test_columns_of_tables(write):
    rows = [{"tokens": ["Ada", "naps"], "pos_tags": ["N", "V"], "ner_tags": [1, 0], "id": "7"}] * 2
    path = write(rows, "a.jsonl")
    found = read_sentences(path)
    assert (found.column, found.tags) == ("ner_tags", ["1", "0"] * 2)
    assert found.notes[0] == "tokens column 'tokens', tags column 'ner_tags'; --tags chooses another"
    assert read_sentences(path, tags="pos_tags").tags == ["N", "V"] * 2
    assert "did you mean 'pos_tags'?" in refusal(path, tags="pos_tag")
    assert "a.jsonl:1: 2 tokens and 1 of 'id', which must be as many" in refusal(path, tags="id")
    path = write("sentence,ner\nAda naps,N V\n", "a.csv")
    assert "which column has the tokens? there is none named 'tokens'" in refusal(path)
    assert rows_of(read_sentences(path, tokens="sentence")) == ["Ada/N naps/V"]
    bad = write(
        '{"tokens": ["a", "b"], "tags": ["x", "y"]}\n{"tokens": [["a"]], "tags": ["x"]}\n{"tokens": [], "tags": []}\n',
        "b.jsonl",
    )
    assert refusal(bad).splitlines()[1:3] == [
        "b.jsonl:2: 'tokens' has an item that isn't a text",
        "b.jsonl:3: 0 tokens; there may be 1 to 10,000",
    ]


def test_parquet(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    table = arrow.table({"tokens": [["Ada", "naps"], ["Hi"]], "tags": [["N", "V"], ["X"]]})
    parquet.write_table(table, path)
    assert rows_of(read_sentences(path)) == ["Ada/N naps/V", "Hi/X"]
    assert is_tagged(path)
    parquet.write_table(arrow.table({"text": ["a b", "c"], "label": ["x", "y"]}), path)
    assert not is_tagged(path)


# Which files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "text,label\ngood film,1\nbad film,0\n"),
        ("a.csv", "word,label\ngood,1\nbad,0\n"),
        ("a.csv", "tokens,label\ngood film,1\nbad film,0\n"),
        ("a.tsv", "text\tlabel\ngood film\t1\nbad film\t0\n"),
        ("a.tsv", "word\tlabel\ngood\t1\nbad\t0\n\nso\t1\n"),
        ("a.txt", "".join(f"标题很长的一条新闻还要更长一点\t{n % 3}\n" + "\n" * (n % 3 == 0) for n in range(60))),
        ("a.txt", "good\tpos\n\nbad\tneg\n\nfine\tpos\n\ndull\tneg\n"),
        ("a.txt", "one line\nanother line\n\nand one\n"),
        ("a.txt", "Two words\nAnd two\n\nAll lines\nHave two\n\nHow odd\nIsn't it\n"),
        ("a.jsonl", '{"text": "good film", "label": "pos"}\n{"text": "bad", "label": "neg"}\n'),
        ("a.jsonl", '{"text": "good film", "label": ["a", "b"]}\n{"text": "bad", "label": []}\n'),
        ("a.jsonl", '{"text": "good film", "label": {"a": 1}}\n'),
        ("a.jsonl", '{"x": [[1, 2, 3], [4, 5, 6]], "label": "a"}\n'),
        ("a.jsonl", '{"tokens": ["good", "film"], "label": "pos"}\n'),
        ("a.ts", "@data\n1,2:a\n"),
        ("a.md", "# Title\n\nSome text\n"),
        ("empty.txt", ""),
        ("binary.txt", "\0\1\2\3"),
    ],
)
def test_what_is_no_tagged_corpus(write, name, text):
    assert not is_tagged(write(text, name))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.conllu", "# whatever\n"),
        ("a.txt", "the DT\ndog NN\n\na DT\ncat NN\n\nthe DT\ncow NN\n"),
        ("a.txt", "小 B\n明 E\n在 S\n\n他 S\n说 S\n"),
        ("train", "EU B-ORG\nsays O\n"),
        ("a.conll", conllu("a", "b", upos=["X", "Y"])),
        ("a.tsv", "the\tDT\ndog\tNN\n\na\tDT\ncat\tNN\n\nthe\tDT\ncow\tNN\n"),
    ],
)
def test_what_is_one(write, name, text):
    assert is_tagged(write(text, name))


def test_nothing_there(tmp_path):
    assert not is_tagged(tmp_path / "no.txt")
    assert not is_tagged(tmp_path / "no.bio")
    assert not is_tagged(tmp_path)
    assert "no such file" in refusal(tmp_path / "no.bio")


def test_parts_of_a_folder(write):
    text = "a B-X\nb O\n\nc O\n"
    for name in ("x/eng.train", "x/eng.testa", "x/eng.testb", "x/README.txt", "x/.train.bio"):
        folder = write(text, name).parent
    found = {part: file.name for part, file in parts_of(folder).items()}
    assert found == {"train": "eng.train", "valid": "eng.testa", "test": "eng.testb"}
    assert is_tagged(folder)
    file = write(text, "y/NER-de-dev.tsv")
    assert parts_of(file) == {"train": file}
    with pytest.raises(DataError, match=r"no file of a tagged corpus in this folder has 'train' in its name"):
        parts_of(file.parent)
    write(text, "y/NER-de-train.tsv")
    write(text, "y/wnut17train.bio")
    with pytest.raises(DataError, match=r"2 files could be the part train:\n  NER-de-train.tsv\n  wnut17train.bio\n"):
        parts_of(file.parent)
