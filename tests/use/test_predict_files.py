"""Files in, the same files with columns out: nothing of theirs is lost, in constant memory, whole or not at all."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rnnlab
from rnnlab.core.errors import DataError, RunError
from rnnlab.data.formats import base, source
from rnnlab.use import Predictor, asking
from rnnlab.use.asking import predict_file
from rnnlab.use.input_file import InputFile

TEXTS = [
    "a lovely film",
    'an "awful", film',
    "",
    "unheard 这部影片很好看 words",
    " great ",
    "one\nover two lines",
    "a; b",
]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    words = {"good": ["great", "fine", "lovely"], "bad, 坏": ["awful", "dull", "poor"]}
    rows = [f'the {words[label][n % 3]} film number {n},"{label}"' for n in range(40) for label in words]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    run = rnnlab.train(
        folder / "reviews.csv",
        model="gru",
        training={"epochs": 3, "lr": 0.01},
        settings=["model.embedding.width=8", "model.hidden=8"],
        out=folder / "runs",
    )
    return run.path


@pytest.fixture(scope="module")
def model(model_path: Path) -> Predictor:
    return rnnlab.load(model_path)


def write_csv(path: Path, delimiter: str = ",", encoding: str = "utf-8", newline: str = "\n") -> None:
    with open(path, "w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator=newline)
        writer.writerows([["id", "text", "note"], *([f"0{n}", text, "NA"] for n, text in enumerate(TEXTS))])


def read_csv(path: Path, delimiter: str = ",", encoding: str = "utf-8") -> list[list[str]]:
    with open(path, encoding=encoding, newline="") as file:
        return list(csv.reader(file, delimiter=delimiter, strict=True))


def expected(model: Predictor, texts: list[str]) -> list[list[str]]:
    return [[answer.label, f"{answer.probability:.6f}"] for answer in model.predict(texts)]


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".csv", ";"), (".csv", "\t"), (".tsv", "\t")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_a_delimited_file(model, tmp_path, monkeypatch, suffix, delimiter, encoding):
    monkeypatch.setattr(base, "PORTION", 3)
    given, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    write_csv(given, delimiter, encoding, "\r\n")
    done = predict_file(model, given, out)
    assert (done.rows, done.skipped) == (len(TEXTS), 0)
    before, after = read_csv(given, delimiter, encoding), read_csv(out, delimiter, encoding)
    assert after[0] == ["id", "text", "note", "prediction", "probability"]
    assert [row[:3] for row in after] == before
    assert [row[3:] for row in after[1:]] == expected(model, TEXTS)
    written = out.read_bytes()
    assert written[:2] == given.read_bytes()[:2]  # the mark, or the first letters
    assert written.startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
    assert written.decode(encoding).count("\r\n") == len(TEXTS) + 1
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_a_western_file_with_columns_without_names(model, tmp_path):
    given, out = tmp_path / "in.csv", tmp_path / "out.csv"
    rows = ["0,the lovely film number 3 café,", "1,the lovely film number “4”,x"]
    given.write_bytes("\r\n".join([",text,", *rows, ""]).encode("cp1252"))
    done = predict_file(model, given, out)
    assert done.notes == ("read as Windows-1252",)
    after = out.read_bytes().decode("cp1252").split("\r\n")
    assert after[0] == ",text,,prediction,probability"
    assert [line.rpartition(",")[0] for line in after[1:3]] == [f"{row},good" for row in rows]
    with pytest.raises(DataError, match=r"in.csv: it is in Windows-1252, which has no '坏'; save it as UTF-8"):
        source.Source.on_disk(given).encode("bad, 坏")


def test_quotes_that_are_text_stay_text(model, tmp_path):
    lines = ["id\ttext", '1\t"lovely', '2\ta "great" film', '3\t"dull', '4\t"poor" it was', '5\t"awful']
    (tmp_path / "in.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = predict_file(model, tmp_path / "in.tsv", tmp_path / "out.tsv")
    assert "quotes are read as text" in done.notes
    after = (tmp_path / "out.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.rsplit("\t", 2)[0] for line in after] == lines
    texts = [line.split("\t")[1] for line in lines[1:]]
    assert [line.split("\t")[2:] for line in after[1:]] == expected(model, texts)


def test_more_columns(model, tmp_path):
    write_csv(tmp_path / "in.csv")
    predict_file(model, tmp_path / "in.csv", tmp_path / "out.csv", top=9, probabilities=True)
    header, *rows = read_csv(tmp_path / "out.csv")
    assert header[3:] == [
        *("prediction", "probability", "prediction 2", "probability 2"),
        *(f"p({label})" for label in model.labels),
    ]
    for row, answer in zip(rows, model.predict(TEXTS), strict=True):
        first, second = answer.top(2)
        shares = [f"{answer.probabilities[label]:.6f}" for label in model.labels]
        assert row[3:] == [first[0], f"{first[1]:.6f}", second[0], f"{second[1]:.6f}", *shares]
        assert first[1] >= second[1]


def test_names_that_are_taken(model, tmp_path):
    (tmp_path / "in.csv").write_text("text,prediction,probability_new,probability\nlovely film it was,1,2,3\n")
    done = predict_file(model, tmp_path / "in.csv", tmp_path / "out.csv")
    header, row = read_csv(tmp_path / "out.csv")
    assert header[4:] == ["prediction_new", "probability_new_new"]
    assert row[:4] == ["lovely film it was", "1", "2", "3"]
    assert done.notes == (
        "there is a column 'prediction' already; the new one is 'prediction_new'",
        "there is a column 'probability' already; the new one is 'probability_new_new'",
    )
    assert done.sentence.startswith("note: there is a column 'prediction' already;")


def test_json_lines_stay_as_they_are(model, tmp_path):
    lines = [
        '{"id": 1.10, "text": "a lovely film", "x": {"deep": [1, 2.50]}}',
        '  { "text":"影 \\u5f71" , "id":12345678901234567890 }  ',
        '{"id": 3}',
    ]
    (tmp_path / "in.jsonl").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    predict_file(model, tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    after = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert after[0].startswith(lines[0][:-1] + ', "prediction": ')
    assert after[1].startswith('  { "text":"影 \\u5f71" , "id":12345678901234567890, "prediction": ')
    for line, answer in zip(after, model.predict(["a lovely film", "影 影", ""]), strict=True):
        assert json.loads(line)["prediction"] == answer.label
        assert json.loads(line)["probability"] == pytest.approx(answer.probability, abs=1e-6)


def test_parquet(model, tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(base, "PORTION", 2)
    columns = {"text": ["a lovely film", None, "an awful film it was"], "n": [1, 2, None], "tags": [["a"], [], None]}
    before = arrow.table(columns).replace_schema_metadata({"made": "by hand"})
    parquet.write_table(before, tmp_path / "in.parquet")
    predict_file(model, tmp_path / "in.parquet", tmp_path / "out.parquet", column="text")
    after = parquet.read_table(tmp_path / "out.parquet")
    assert after.schema.metadata[b"made"] == b"by hand"
    assert after.select(before.column_names).equals(before)
    answers = model.predict(["a lovely film", "", "an awful film it was"])
    assert after["prediction"].to_pylist() == [answer.label for answer in answers]
    assert after["probability"].to_pylist() == pytest.approx([answer.probability for answer in answers], abs=1e-6)


def test_a_text_a_line(model, tmp_path):
    """No line is taken for a header, and none is left out."""
    texts = ["a lovely film", "", "text", "影 film"]
    (tmp_path / "in.txt").write_text("\n".join(texts), encoding="utf-8")
    predict_file(model, tmp_path / "in.txt", tmp_path / "out.txt")
    rows = [line.split("\t") for line in (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()]
    assert rows == [[text, *more] for text, more in zip(texts, expected(model, texts), strict=True)]
    predict_file(model, tmp_path / "in.txt", tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv") == [["text", "prediction", "probability"], *rows]
    with pytest.raises(DataError, match="one text per line and no columns; leave --text out"):
        predict_file(model, tmp_path / "in.txt", tmp_path / "out.txt", column="text")


def test_the_column_that_is_read(tmp_path):
    def column(lines: str, given: str | None = None) -> str:
        (tmp_path / "in.csv").write_text(lines.replace(" | ", "\n") + "\n")
        return InputFile(tmp_path / "in.csv", given, numeric=False).columns[0]

    assert column("id,Phrase | 1,a b | 2,c d") == "Phrase"
    assert column("x,y | 1,a | 2,b", "x") == "x"
    assert column("stuff | word | word") == "stuff"
    with pytest.raises(DataError, match="which column is the text"):
        column("x,y | 1,2 | 2,3")
    with pytest.raises(DataError, match="no column 'z'"):
        column("x,y | 1,2", "z")


# Bad rows

DAMAGED = {
    ".csv": ("id,text\n1,a lovely film\n2\n3,an awful film\n4,a,b\n", {3: "1 field instead of 2", 5: "3 fields"}),
    ".tsv": ('id\ttext\n1\t"a lovely film"\n2\n3\tan awful film\n4\t"a"\tb\n', {3: "1 field instead", 5: "3 fields"}),
    ".jsonl": (
        '{"text": "a lovely film"}\n\n{"text": \n{"text": "an awful film"}\n[1]\n',
        {3: "not valid JSON", 5: "not a JSON object"},
    ),
}


@pytest.mark.parametrize("suffix", DAMAGED)
def test_bad_rows_are_refused_before_anything_is_written(model, tmp_path, suffix):
    content, problems = DAMAGED[suffix]
    given, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    given.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        predict_file(model, given, out)
    first, *listed, advice = str(caught.value).splitlines()
    assert first == f"{given}: 2 rows can't be used"
    assert len(listed) == len(problems)
    for line, (number, reason) in zip(listed, problems.items(), strict=True):
        assert line.startswith(f"{given}:{number}: {reason}")
    assert "--skip-bad" in advice
    assert [path.name for path in tmp_path.iterdir()] == [given.name]


@pytest.mark.parametrize("suffix", DAMAGED)
def test_bad_rows_are_kept_without_a_prediction(model, tmp_path, suffix):
    content, _ = DAMAGED[suffix]
    given, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    given.write_text(content, encoding="utf-8")
    done = predict_file(model, given, out, skip_bad=True)
    assert (done.rows, done.skipped) == (4, 2)
    assert done.sentence.endswith("4 rows, 2 of them bad and without a prediction")
    good = expected(model, ["a lovely film", "an awful film"])
    if suffix == ".jsonl":
        lines = out.read_text(encoding="utf-8").splitlines()
        assert [lines[1], lines[3]] == ['{"text":', "[1]"]
        assert [json.loads(lines[at])["prediction"] for at in (0, 2)] == [row[0] for row in good]
        return
    rows = read_csv(out, "," if suffix == ".csv" else "\t")[1:]
    assert [row[-2:] for row in rows] == [good[0], ["", ""], good[1], ["", ""]]
    assert [row[0] for row in rows] == ["1", "2", "3", '4\t"a"\tb' if suffix == ".tsv" else "4"]


def test_an_open_quote_costs_one_row(model, tmp_path):
    rows = [f"{n},a lovely film" for n in range(20)]
    rows[7] = '7,"an open quote'
    (tmp_path / "in.csv").write_text("\n".join(["id,text", *rows]) + "\n", encoding="utf-8")
    done = predict_file(model, tmp_path / "in.csv", tmp_path / "out.csv", skip_bad=True)
    assert (done.rows, done.skipped) == (20, 1)
    after = read_csv(tmp_path / "out.csv")[1:]
    assert after[7] == ['7,"an open quote', "", "", ""]
    assert all(row[2] for number, row in enumerate(after) if number != 7)


def test_rows_that_are_not_for_this_model(tmp_path):
    run = rnnlab.train(
        model="rnn",
        task={"kind": "addition", "length": 2},
        training={"steps": 2, "eval_every": 1},
        settings=["model.embedding.width=4"],
        out=tmp_path / "runs",
    )
    adder = rnnlab.load(run.path)
    (tmp_path / "in.csv").write_text("id,sum\n1,1+2\n2,a film\n3,4+5\n")
    with pytest.raises(DataError, match=r"in.csv:3: this model adds two whole numbers, written like 123\+989"):
        predict_file(adder, tmp_path / "in.csv", tmp_path / "out.csv", column="sum")
    assert not (tmp_path / "out.csv").exists()
    done = predict_file(adder, tmp_path / "in.csv", tmp_path / "out.csv", column="sum", skip_bad=True)
    assert done.skipped == 1
    rows = read_csv(tmp_path / "out.csv")[1:]
    assert [row[2] != "" for row in rows] == [True, False, True]
    with pytest.raises(RunError, match="--top and --probabilities need one label per row"):
        predict_file(adder, tmp_path / "in.csv", tmp_path / "out.csv", column="sum", top=2)
    with pytest.raises(RunError, match="weighs the tokens of a text, and 'addition' reads none"):
        adder.explain("1+2")


# What can't be done


def test_other_mistakes(model, tmp_path):
    write_csv(tmp_path / "in.csv")
    for out, complaint in (
        ("out.jsonl", r"in.csv can be written as .csv; give -o such a name"),
        ("in.csv", "would be written over the rows it is made from"),
    ):
        with pytest.raises(DataError, match=complaint):
            predict_file(model, tmp_path / "in.csv", tmp_path / out)
    for name, content, complaint in (
        ("empty.csv", "", "the file is empty"),
        ("header.csv", "id,text\n", "there are no rows, only the header"),
        ("names.csv", "text,text\na,b\n", "names.csv:1: the header: two columns are named 'text'"),
        ("bad.jsonl", '{"text": 1\n', "bad.jsonl: 1 row can't be used\n.*bad.jsonl:1: not valid JSON"),
        ("in.xls", "x", "can't read '.xls' files; supported: .csv, .tsv, .txt, .jsonl"),
        ("in.xlsx", "x", "not a readable Excel file"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=complaint):
            predict_file(model, tmp_path / name, tmp_path / f"out{Path(name).suffix}")
    with pytest.raises(DataError, match="send its lines to standard input instead"):
        predict_file(model, tmp_path, tmp_path / "out.csv")
    with pytest.raises(DataError, match="no column 'txt' for the text; did you mean 'text'"):
        predict_file(model, tmp_path / "in.csv", tmp_path / "out.csv", column="txt")


def test_an_interrupted_file_leaves_nothing(model, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "PORTION", 2)
    write_csv(tmp_path / "in.csv")
    (tmp_path / "out.csv").write_text("of before")

    def interrupt(done: int, total: int) -> None:
        assert total == len(TEXTS)
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(model, tmp_path / "in.csv", tmp_path / "out.csv", progress=interrupt)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv"]
    assert (tmp_path / "out.csv").read_text() == "of before"


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_a_large_file_is_judged_by_a_piece(model, tmp_path, monkeypatch, encoding):
    monkeypatch.setattr(source, "WHOLE", 200)
    rows = [f"{n},这部电影真的很好看 lovely" for n in range(50)]
    text = "\n".join(["id,text", *(f"{n},plain" for n in range(50)), *rows]) + "\n"
    (tmp_path / "in.csv").write_bytes(text.encode(encoding))
    done = predict_file(model, tmp_path / "in.csv", tmp_path / "out.csv")
    assert done.rows == 100
    assert read_csv(tmp_path / "out.csv", encoding=encoding)[-1][1] == "这部电影真的很好看 lovely"
    (tmp_path / "in.csv").write_bytes(text.encode(encoding) + b"9,\xff\xff\n")
    with pytest.raises(DataError, match="UTF-8"):
        predict_file(model, tmp_path / "in.csv", tmp_path / "out.csv")


@pytest.mark.timeout(120)
def test_memory_does_not_grow_with_the_file(model_path, tmp_path):
    """Twenty times the rows, the same memory; 100,000 rows held would take more than 30 MB."""
    script = (
        "import resource, sys, torch\n"
        "torch.set_num_threads(1)\n"
        "import rnnlab\n"
        "from rnnlab.use.asking import predict_file\n"
        "model = rnnlab.load(sys.argv[1])\n"
        "for name in ('small', 'large'):\n"
        "    predict_file(model, f'{name}.csv', f'{name}.out.csv')\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    for name, number in (("small", 5_000), ("large", 100_000)):
        with open(tmp_path / f"{name}.csv", "w") as file:
            file.write("id,text,note\n")
            file.writelines(f'{n},"a lovely film {n}",some more to remember {n}\n' for n in range(number))
    command = [sys.executable, "-c", script, str(model_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    small, large = map(int, done.stdout.split())  # KB
    assert large - small < 15_000
    assert (tmp_path / "large.out.csv").read_bytes().count(b"\n") == 100_001


# Numbers


@pytest.fixture(scope="module")
def numeric(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("numeric")
    generator = np.random.default_rng(0)
    with open(folder / "series.jsonl", "w") as file:
        for number in range(40):
            values = generator.normal(100 * (number % 2), 20, (3 + number % 5, 2)).round(3).tolist()
            file.write(json.dumps({"values": values, "label": "ab"[number % 2]}) + "\n")
    run = rnnlab.train(folder / "series.jsonl", model="gru", training={"epochs": 2}, out=folder / "runs")
    return rnnlab.load(run.path)


def test_series(numeric, tmp_path):
    arrays = [[[1.0, 2.0], [3.0, 4.0]], [[100.0, 90.0]]]
    said = numeric.predict([np.array(array) for array in arrays])
    lines = [json.dumps({"id": n, "values": array}) for n, array in enumerate(arrays)]
    (tmp_path / "in.jsonl").write_text("\n".join([lines[0], '{"id": 7, "values": []}', lines[1]]) + "\n")
    with pytest.raises(DataError, match=r"in.jsonl:2: 'values': the series is empty"):
        predict_file(numeric, tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    done = predict_file(numeric, tmp_path / "in.jsonl", tmp_path / "out.jsonl", skip_bad=True)
    assert (done.rows, done.skipped) == (3, 1)
    after = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(after[at])["prediction"] for at in (0, 2)] == [answer.label for answer in said]
    assert after[1] == '{"id": 7, "values": []}'
    header = "@timeStamps false\n@univariate false\n@dimensions 2\n@classLabel false\n@data\n"
    (tmp_path / "in.ts").write_text(header + "1,3:2,4\n100:90\n")
    predict_file(numeric, tmp_path / "in.ts", tmp_path / "out.csv")
    rows = read_csv(tmp_path / "out.csv")
    assert rows[0] == ["line", "prediction", "probability"]
    assert [row[:2] for row in rows[1:]] == [["6", said[0].label], ["7", said[1].label]]
    with pytest.raises(DataError, match=r"in.ts can be written as .csv or .tsv"):
        predict_file(numeric, tmp_path / "in.ts", tmp_path / "out.ts")
    with pytest.raises(RunError, match="reads numeric sequences"):
        numeric.explain("a text")


def test_asking_prints_the_same_answers(model, tmp_path):
    write_csv(tmp_path / "in.csv")
    ((names, answers),) = asking.ask(model, file=str(tmp_path / "in.csv"))
    assert names == TEXTS
    assert answers == model.predict(TEXTS)
