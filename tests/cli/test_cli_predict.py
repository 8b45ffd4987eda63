"""Asking a trained model."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rnnlab as api

TEXTS = ("a lovely film", "an awful film", "夫 unheard words", "")


@pytest.mark.parametrize("label", ["textcnn", "tfidf"])
def test_arguments_lines_file_and_api_agree(compared, rnnlab, label):
    run = compared.run(label)
    answers = rnnlab("predict", run, *TEXTS, "--json")
    assert (answers.code, answers.err) == (0, "")
    records = answers.json_lines()
    assert [record["input"] for record in records] == list(TEXTS)
    for record, said in zip(records, api.load(run).predict(TEXTS), strict=True):
        assert record["label"] == said.label
        assert record["probabilities"] == said.probabilities
    assert rnnlab("predict", run, "--json", stdin="\n".join(TEXTS).encode() + b"\n").out == answers.out
    assert (
        rnnlab("predict", run, "--json", stdin=b"\xef\xbb\xbf" + "\r\n".join([*TEXTS, ""]).encode()).out == answers.out
    )
    Path("new.jsonl").write_text("".join(json.dumps({"id": 7, "body": text}) + "\n" for text in TEXTS))
    assert rnnlab("predict", run, "--file", "new.jsonl", "--text", "body", "--json").out == answers.out


def test_plain_answers_are_one_line_each(compared, rnnlab):
    run = compared.run("textcnn")
    done = rnnlab("predict", run, *TEXTS)
    lines = done.out.splitlines()
    assert [line.split("\t")[0] for line in lines[:2]] == ["good", "bad"]
    for line, said, text in zip(lines, api.load(run).predict(TEXTS), TEXTS, strict=True):
        note = "  (no word of it is known to the model)" if said.known == 0 else ""
        assert line == f"{said.label}\t{said.probability:.3f}\t{text}{note}"
    assert lines[2].endswith("(no word of it is known to the model)")


def test_any_text_column_of_a_file(compared, rnnlab):
    """It is guessed where there is no doubt, and named where there is; labels aren't needed."""
    run = compared.run("textcnn")
    Path("new.csv").write_text("id,remark\n1,a lovely film it was\n2,an awful film it was\n", encoding="utf-8")
    done = rnnlab("predict", run, "--file", "new.csv")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == ["good", "bad"]
    Path("two.tsv").write_text("pro\tcontra\na lovely old film\tan awful new film\n", encoding="utf-8")
    doubt = rnnlab("predict", run, "--file", "two.tsv")
    assert doubt.code == 1
    assert "which column is the text? it could be 'pro', 'contra'; pass --text NAME" in doubt.err
    assert rnnlab("predict", run, "--file", "two.tsv", "--text", "contra").out.startswith("bad\t")


def test_the_beginning_of_a_name_is_enough(compared, rnnlab):
    run = compared.run("textcnn")
    assert rnnlab("predict", run[:-8], "a lovely film").out == rnnlab("predict", run, "a lovely film").out


@pytest.mark.timeout(60)  # an answer that waits for the end of the input would wait for ever
def test_whoever_types_gets_an_answer_to_every_line(compared):
    command = [sys.executable, "-m", "rnnlab", "predict", compared.run("textcnn")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text, label in (("a lovely film", "good"), ("an awful film", "bad")):
            process.stdin.write(text + "\n")
            process.stdin.flush()
            assert process.stdout.readline().split("\t")[0] == label  # before the input ends
        process.stdin.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.usefixtures("plugins_are_forgotten")
def test_a_plugin_model_can_be_asked(reviews_csv, tmp_path, rnnlab):
    (tmp_path / "mine.py").write_text(
        "from rnnlab.models.linear import Linear\n"
        "from rnnlab.models.base import architecture\n"
        '@architecture("mine")\n'
        "class Mine(Linear):\n"
        '    """My own."""\n',
        encoding="utf-8",
    )
    compare = ["compare", "reviews.csv", "--models", "mine", "--seeds", "1", "--epochs", "1", "--jobs", "0"]
    done = rnnlab(*compare, "--plugin", "mine.py")
    assert done.code == 0, done.err
    run = next(path.parent for path in Path("runs").glob("*/spec.json") if '"kind": "mine"' in path.read_text())
    without = [sys.executable, "-m", "rnnlab", "predict", str(run), "a lovely film"]  # which has never seen the plugin
    assert "unknown model 'mine'" in subprocess.run(without, capture_output=True, text=True, check=False).stderr
    assert rnnlab("predict", str(run), "a lovely film", "--plugin", "mine.py").out.endswith("\ta lovely film\n")


def test_a_bundle_answers_like_its_run(compared, rnnlab):
    run = compared.run("rnn")
    assert rnnlab("pack", run, "-o", "model.rnnlab").code == 0
    for options in ((), ("--json",), ("--top", "2"), ("--explain",)):
        answers = rnnlab("predict", "model.rnnlab", *TEXTS, *options)
        assert (answers.code, answers.err) == (0, "")
        assert answers.out == rnnlab("predict", run, *TEXTS, *options).out


# More than a label


def test_the_best_labels(compared, rnnlab):
    run = compared.run("textcnn")
    (said,) = api.load(run).predict(TEXTS[:1])
    (first, p), (second, q) = said.top(2)
    assert (first, p) == (said.label, said.probability)
    line = f"{first}\t{p:.3f}\t{second}\t{q:.3f}\t{TEXTS[0]}\n"
    assert rnnlab("predict", run, TEXTS[0], "--top", "2").out == line
    assert rnnlab("predict", run, TEXTS[0], "--probabilities").out == line
    assert rnnlab("predict", run, TEXTS[0], "--top", "1").out == f"{first}\t{p:.3f}\t{TEXTS[0]}\n"
    (record,) = rnnlab("predict", run, TEXTS[0], "--top", "1", "--json").json_lines()
    assert record["probabilities"] == {first: p}
    assert rnnlab("predict", run, TEXTS[0], "--top", "0").code == 2


@pytest.mark.parametrize("label", ["textcnn", "tfidf"])
def test_the_tokens_that_mattered(compared, rnnlab, label):
    run = compared.run(label)
    done = rnnlab("predict", run, "the lovely film", "the awful film", "--explain")
    assert (done.code, done.err) == (0, "")
    good, why_good, bad, why_bad = done.out.splitlines()
    assert (good.split("\t")[0], bad.split("\t")[0]) == ("good", "bad")
    assert why_good.startswith("    for: ")
    assert "lovely +" in why_good
    assert "awful +" in why_bad
    (record,) = rnnlab("predict", run, "the lovely film", "--explain", "--json").json_lines()
    assert record["explains"] == record["label"] == "good"
    told = {token["text"]: token["weight"] for token in record["tokens"]}
    assert told["lovely"] > max(0, told["the"])
    (same,) = rnnlab("predict", run, "the lovely film", "--json").json_lines()
    assert same["probabilities"] == record["probabilities"]


def test_a_baseline_that_reads_nothing_has_no_reasons(compared, rnnlab):
    done = rnnlab("predict", compared.run("majority"), "a lovely film", "--explain")
    assert (done.code, done.out) == (1, "")
    assert done.err == "rnnlab: --explain: 'majority' doesn't look at the text; there is nothing to explain\n"


# Files


def test_a_file_becomes_a_file_with_columns(compared, rnnlab):
    run = compared.run("textcnn")
    Path("new.csv").write_text("id,text\n1,a lovely film\n2,an awful film\n", encoding="utf-8")
    done = rnnlab("predict", run, "--file", "new.csv", "-o", "answers.csv")
    assert (done.code, done.out, done.err) == (0, "", "answers.csv: 2 rows\n")
    said = api.load(run).predict(["a lovely film", "an awful film"])
    rows = [
        f"{n},{text},{one.label},{one.probability:.6f}"
        for n, text, one in zip((1, 2), ("a lovely film", "an awful film"), said, strict=True)
    ]
    assert Path("answers.csv").read_text(encoding="utf-8").splitlines() == ["id,text,prediction,probability", *rows]


def test_bad_rows_of_a_printed_file(compared, rnnlab):
    run = compared.run("textcnn")
    Path("new.csv").write_text("id,text\n1,a lovely film\n2\n3,an awful film\n", encoding="utf-8")
    done = rnnlab("predict", run, "--file", "new.csv")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("rnnlab: new.csv: 1 row can't be used\nnew.csv:3: 1 field instead of 2\n")
    done = rnnlab("predict", run, "--file", "new.csv", "--skip-bad")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == ["good", "", "bad"]
    records = rnnlab("predict", run, "--file", "new.csv", "--skip-bad", "--json").json_lines()
    assert [record["label"] for record in records] == ["good", None, "bad"]
    assert records[1]["problem"] == "1 field instead of 2"


def test_a_text_file_has_no_header(compared, rnnlab):
    Path("new.txt").write_text("a lovely film\nan awful film\n", encoding="utf-8")
    done = rnnlab("predict", compared.run("textcnn"), "--file", "new.txt")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == ["good", "bad"]


def test_a_model_is_asked_without_what_it_does_not_need(compared):
    """Start-up is nearly all torch's own: no charts, no scikit-learn, no web server, no tables in colour."""
    script = (
        "import sys\n"
        "from rnnlab.cli.main import app\n"
        "app(['predict', sys.argv[1], 'a lovely film'], standalone_mode=False)\n"
        "heavy = ('altair', 'sklearn', 'scipy', 'pandas', 'pyarrow', 'jinja2', 'onnx', 'starlette', 'torch._dynamo')\n"
        "heavy += ('rich', 'rnnlab.show.terminal.output', 'rnnlab.use.input_file', 'rnnlab.inspecting.saliency')\n"
        "import gc\n"
        "print([name for name in heavy if name in sys.modules], gc.isenabled(), gc.get_freeze_count() > 100_000)\n"
    )
    command = [sys.executable, "-c", script, compared.run("rnn")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines()[-1] == "[] True True"


# Sums


@pytest.fixture(scope="module")
def adder(tmp_path_factory) -> str:
    """A model that adds numbers of up to three digits."""
    run = api.train(
        model="rnn",
        task={"kind": "addition", "length": 3, "numbers": "by-digits"},
        training={"lr": 0.01, "steps": 800, "until": 1.0},
        settings=["model.embedding.width=32"],
        out=tmp_path_factory.mktemp("adder"),
    )
    assert (run.result() or {})["valid"]["exact"] == 1.0
    return str(run.path)


def test_a_sum_is_answered_and_said_to_be_right(adder, rnnlab):
    done = rnnlab("predict", adder, "123+989", "０２ ＋ ５")
    assert (done.code, done.err) == (0, "")
    fields = [line.split("\t") for line in done.out.splitlines()]
    assert [line[0] for line in fields] == ["1112", "7"]
    assert [line[2] for line in fields] == ["123+989  (right)", "０２ ＋ ５  (right)"]
    (record,) = rnnlab("predict", adder, "123+989", "--json").json_lines()
    assert (record["input"], record["label"], record["expected"], record["right"]) == ("123+989", "1112", "1112", True)
    assert "".join(step["digit"] for step in record["digits"]) == "1112"
    assert record["probability"] == pytest.approx(math.prod(step["probability"] for step in record["digits"]))


def test_sums_from_lines_and_files(adder, rnnlab):
    asked = rnnlab("predict", adder, "1+2", "99+1", "--json").out
    assert rnnlab("predict", adder, "--json", stdin=b"1+2\r\n99+1\n").out == asked
    Path("sums.csv").write_text("id,sum\n1,1+2\n2,99+1\n", encoding="utf-8")
    assert rnnlab("predict", adder, "--file", "sums.csv", "--text", "sum", "--json").out == asked
    Path("sums.jsonl").write_text('{"sum": "1+2"}\n{"sum": "99+1"}\n', encoding="utf-8")
    assert rnnlab("predict", adder, "--file", "sums.jsonl", "--json").out == asked


def test_a_longer_sum_is_answered_with_a_remark(adder, rnnlab):
    done = rnnlab("predict", adder, "12345678901234567890+1")
    assert done.code == 0
    assert done.out.endswith("; longer than the 3 digits of its training)\n")


def test_what_is_no_sum(adder, rnnlab):
    done = rnnlab("predict", adder, "1+2", "a lovely film")
    assert (done.code, done.out) == (1, "")
    assert done.err == "rnnlab: this model adds two whole numbers, written like 123+989 (got 'a lovely film')\n"


def test_inspecting_a_model_that_adds(adder, rnnlab):
    done = rnnlab("inspect", adder)
    assert done.code == 0, done.err
    assert "on 32 validation rows" in done.out
    refused = rnnlab("inspect", adder, "--text", "1+2")
    assert refused.code == 1
    assert refused.err == "rnnlab: this model reads no texts: leave --text out to look at its validation rows\n"


# What can't be done


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("a text", "--file", "new.csv"), "give texts or --file, not both"),
        (("a text", "--text", "body"), "--text names a column of --file, which isn't given"),
        (("--file", "nowhere.csv"), "nowhere.csv: no such file"),
        (("--file", "new.ts"), "new.ts: this model reads texts, and a .ts file holds numbers"),
        (("--file", "new.jsonl"), "new.jsonl: this model reads texts, and the column 'values' holds arrays of numbers"),
        (("a text", "-o", "out.csv"), "-o writes the rows of --file, which isn't given; redirect the output instead"),
        (("--file", "new.csv", "-o", "out.csv", "--json"), "-o writes the format of --file, and --json would be"),
        (("--file", "new.csv", "-o", "out.csv", "--explain"), "--explain is for reading, and has no columns in -o"),
        (("--file", "new.csv", "-o", "out.tsv"), "out.tsv: new.csv can be written as .csv; give -o such a name"),
        (("a text", "--skip-bad"), "--skip-bad is about rows of --file, which isn't given"),
        (("--file", "damaged.csv"), "damaged.csv: 21 rows can't be used\ndamaged.csv:3: 3 fields instead of 2"),
    ],
)
def test_wrong_inputs(compared, rnnlab, arguments, complaint):
    Path("new.csv").write_text("text\na lovely film\n", encoding="utf-8")
    Path("new.ts").write_text("@classLabel false\n@data\n1,2,3\n", encoding="utf-8")
    Path("new.jsonl").write_text('{"values": [1, 2]}\n{"values": [3]}\n', encoding="utf-8")
    Path("damaged.csv").write_text("id,text\n1,a lovely film\n" + "1,2,3\n" * 21, encoding="utf-8")
    done = rnnlab("predict", compared.run("textcnn"), *arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"rnnlab: {complaint}")


def test_standard_input_that_is_not_utf8(compared, rnnlab):
    done = rnnlab("predict", compared.run("textcnn"), stdin="a film\n好电影\n".encode("gb18030"))
    assert done.code == 1
    assert done.err == "rnnlab: standard input, line 2: not UTF-8; convert it, or pass it as --file\n"


@pytest.fixture
def copied(compared, tmp_path):
    return Path(shutil.copytree(compared.run("textcnn"), tmp_path / "copy"))


def test_an_unfinished_run(copied, rnnlab):
    (copied / "result.json").unlink()
    done = rnnlab("predict", "copy", "a text")
    assert (done.code, done.out) == (1, "")
    assert done.err == "rnnlab: copy: not a finished run (no result.json); run the command again to finish it\n"


@pytest.mark.parametrize("name", ["weights.safetensors", "model.json", "spec.json"])
def test_a_damaged_run(copied, rnnlab, name):
    content = bytearray((copied / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copied / name).write_bytes(content)
    done = rnnlab("predict", "copy", "a text")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"rnnlab: copy/{name}: damaged (SHA-256 differs); delete the run directory to compute it again\n"
    )


def test_a_file_of_the_run_is_missing(copied, rnnlab):
    (copied / "weights.safetensors").unlink()
    done = rnnlab("predict", "copy", "a text")
    assert done.code == 1
    assert "rnnlab: copy/weights.safetensors: missing" in done.err


def test_a_text_that_grows_is_answered_line_by_line(compared, rnnlab):
    run = compared.run("rnn")
    done = rnnlab("predict", run, "--stream", "--json", stdin=b"the awful\nfilm number\n\nthe lovely\nfilm\n")
    assert (done.code, done.err) == (0, "")
    records = done.json_lines()
    assert [record["input"] for record in records] == ["the awful", "film number", "the lovely", "film"]
    texts = ("the awful", "the awful film number", "the lovely", "the lovely film")
    for record, said in zip(records, api.load(run).predict(texts), strict=True):
        assert record["label"] == said.label
        assert record["probabilities"] == pytest.approx(said.probabilities, abs=1e-5)


@pytest.mark.parametrize(
    ("label", "words", "complaint"),
    [
        ("textcnn", (), "can't answer while a text grows"),
        ("tfidf", (), "'tfidf' counts whole texts"),
        ("rnn", ("a text",), "--stream reads standard input"),
        ("rnn", ("--explain",), "--stream reads standard input"),
    ],
)
def test_what_cannot_be_streamed_is_refused(compared, rnnlab, label, words, complaint):
    done = rnnlab("predict", compared.run(label), "--stream", *words, stdin=b"a line\n")
    assert (done.code, done.out) == (1, "")
    assert complaint in done.err
