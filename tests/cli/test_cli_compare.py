"""The main job, from a file to a verdict."""

import csv
import json
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from rnnlab.runs.directory import RunDirectory

ARM_KEYS = {
    *("label", "model", "score", "scores", "epoch_seconds", "step_seconds", "total_seconds", "tokens_per_second"),
    *("row_seconds", "best_epoch"),
    *("parameters", "peak_memory_mb", "by_tag", "by_length", "runs", "in_best_group", "failed_seeds"),
    *("by_seen", "cut_short"),
}


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in folder.glob("*/result.json")}


def ranked(result):
    """Models and baselines in one list, by their means; of equals, the cheaper comes first."""
    costs = {label: float("inf") if cost is None else cost for label, cost in result["verdict"]["costs"].items()}
    return sorted(result["arms"] + result["baselines"], key=lambda a: (-a["score"]["mean"], costs[a["label"]]))


# The answer as JSON, Markdown and CSV


def test_json_holds_all_that_the_answer_rests_on(compared):
    result = compared.result
    assert compared.first.code == 0
    keys = {"format", "profile", "arms", "baselines", "verdict", "question", "recommended_run", "notes", "folder"}
    assert set(result) == keys | {"tuning", "beside", "use"}
    assert sum(result["profile"]["rows"].values()) == 80
    assert {arm["label"] for arm in result["arms"]} == {"rnn", "textcnn"}
    assert [arm["label"] for arm in result["baselines"]] == ["majority", "nbsvm", "tfidf"]
    for arm in result["arms"]:
        assert set(arm) == ARM_KEYS
        assert 0 <= arm["score"]["low"] <= arm["score"]["mean"] <= arm["score"]["high"] <= 1
        assert arm["score"]["mean"] == pytest.approx(sum(run["score"] for run in arm["runs"]) / 2)
        assert [run["seed"] for run in arm["runs"]] == [0, 1]
        assert {run["status"] for run in arm["runs"]} == {"finished"}
        measured = ("epoch_seconds", "tokens_per_second", "row_seconds", "parameters", "peak_memory_mb")
        assert all(arm[key] > 0 for key in measured)
        assert set(arm["by_tag"]) == {"short", "long"}
        assert sum(cell["count"] for cell in arm["by_tag"].values()) == result["profile"]["rows"]["test"]
    assert all(0 < baseline["row_seconds"] < 1 for baseline in result["baselines"])
    verdict = result["verdict"]
    assert {"recommended", "best_group", "firm", "advice", "failures", "sentence"} <= set(verdict)
    assert verdict["recommended"] in {"rnn", "textcnn", "nbsvm", "tfidf"}
    assert verdict["recommended"] in verdict["sentence"]
    model = RunDirectory(result["recommended_run"]).spec()["model"]["kind"]
    assert model == verdict["recommended"]


def test_what_a_baseline_chose_is_said(compared):
    [run] = next(arm for arm in compared.result["baselines"] if arm["label"] == "nbsvm")["runs"]
    chosen = (RunDirectory(run["path"]).result() or {})["chosen"]
    assert RunDirectory(run["path"]).spec()["model"]["loss"] == "chosen"
    text = f"{chosen['C']:g}, ngrams {chosen['ngrams']}, loss {chosen['loss']}"
    assert compared.result["notes"][-1] == f"chosen on validation: nbsvm: C {text}"


def test_the_models_learn_where_the_majority_cannot(compared):
    scores = {arm["label"]: arm["score"]["mean"] for arm in compared.result["arms"] + compared.result["baselines"]}
    assert scores["majority"] == 0.5
    assert scores["textcnn"] > 0.9


def test_markdown_agrees_with_json(compared):
    text = (compared.folder / "new" / "table.md").read_text(encoding="utf-8")
    table, sentence = text.rstrip("\n").split("\n\n")
    assert sentence == compared.result["verdict"]["sentence"]
    head, _, *shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    seconds = {"ms/epoch": 1000, "s/epoch": 1, "total, ms": 1000, "total, s": 1}
    arms = ranked(compared.result)
    assert len(shown) == len(arms)
    for cells, arm in zip(shown, arms, strict=True):
        score = arm["score"]
        assert cells == [
            arm["label"] + (" \\*" if arm["in_best_group"] else ""),
            f"{100 * score['mean']:.1f} %",
            f"{100 * score['low']:.1f}–{100 * score['high']:.1f}",
            f"{100 * arm['scores']['macro_f1']:.1f} %",
            *cells[4:6],
            f"{arm['parameters']:,}",
        ]
        for name, cell, key in zip(head[4:6], cells[4:6], ("epoch_seconds", "total_seconds"), strict=True):
            told = float(cell) / seconds[name] if cell else None
            assert told == (None if arm[key] is None else pytest.approx(arm[key], rel=0.06))


def test_csv_agrees_with_json(compared):
    with open(compared.folder / "new" / "table.csv", encoding="utf-8", newline="") as file:
        shown = list(csv.DictReader(file))
    arms = ranked(compared.result)
    for row, arm in zip(shown, arms, strict=True):
        assert (row["label"], row["kind"]) == (arm["label"], arm["model"]["kind"])
        for end in ("mean", "low", "high"):
            assert float(row[f"score_{end}"]) == arm["score"][end]
        assert float(row["macro_f1"]) == arm["scores"]["macro_f1"]
        for key in ("epoch_seconds", "tokens_per_second", "parameters", "peak_memory_mb"):
            assert row[key] == ("" if arm[key] is None else str(arm[key]))
        for tag in ("short", "long"):
            assert float(row[f"score[{tag}]"]) == arm["by_tag"][tag]["score"]


def test_the_terminal_shows_the_figures_of_the_json(compared, rnnlab):
    done = rnnlab(*(argument for argument in compared.command if argument != "--json"))
    assert done.code == 0
    assert done.out.startswith("80 rows: train 56, valid 8, test 16\n")
    assert compared.result["verdict"]["sentence"] in done.out
    assert f'rnnlab predict {compared.result["recommended_run"]} "…"' in done.out
    for arm in compared.result["arms"]:
        line = re.search(rf"^{arm['label']}( \*)? +(.*)$", done.out, re.MULTILINE)
        assert line is not None
        assert line[2].startswith(f"{100 * arm['score']['mean']:.1f} %")
        assert f"{arm['parameters']:,}" in line[2]
    assert "Accuracy by tag" in done.out


def test_a_second_call_computes_nothing_and_says_the_same(compared, rnnlab):
    before = stamps(compared.folder / "runs")
    assert len(before) == 7
    again = rnnlab(*compared.command)
    assert again.out == compared.first.out
    assert stamps(compared.folder / "runs") == before
    assert again.err.count("(found, not computed again)") == 7
    kept = list((compared.folder / "runs" / "comparisons").glob("*/comparison.json"))
    assert [path.read_text(encoding="utf-8") for path in kept] == [again.out]


def test_another_seed_adds_to_what_is_there(compared, rnnlab):
    before = stamps(compared.folder / "runs")
    command = ["3" if argument == "2" else argument for argument in compared.command if argument != "--json"]
    command[-3:] = [str(compared.folder / "other" / "table.md"), "--csv", str(compared.folder / "other" / "table.csv")]
    done = rnnlab(*command)
    assert done.code == 0, done.err
    assert done.err.count("(found, not computed again)") == 7
    after = stamps(compared.folder / "runs")
    assert {path: after[path] for path in before} == before
    assert len(after) == 9


# Settings


def test_set_reaches_one_arm_all_arms_and_the_training(rnnlab, reviews_csv, small):
    done = rnnlab(
        *("compare", "reviews.csv", "--models", "lstm,gru", "--seeds", "1", "--json", *small),
        *("--set", "model.hidden=6", "--set", "arms.lstm.model.hidden=8", "--set", "training.lr=0.01"),
        *("--set", "arms.gru.training.lr=0.02", "--set", "training.schedule=cosine"),
    )
    assert done.code == 0, done.err
    arms = {arm["label"]: arm for arm in done.json()["arms"]}
    assert (arms["lstm"]["model"]["hidden"], arms["gru"]["model"]["hidden"]) == (8, 6)
    training = {label: RunDirectory(arm["runs"][0]["path"]).spec()["training"] for label, arm in arms.items()}
    assert (training["lstm"]["lr"], training["gru"]["lr"]) == (0.01, 0.02)
    assert training["lstm"]["schedule"]["shape"] == "cosine"


def test_a_setting_that_a_model_lacks_is_an_error_with_its_path(rnnlab, reviews_csv):
    done = rnnlab("compare", "reviews.csv", "--models", "lstm,textcnn", "--set", "model.hidden=8")
    assert done.code == 1
    assert "model.hidden: 'textcnn' has no such option; it belongs to " in done.err
    assert "lstm.model" not in done.err


def test_models_of_equal_size(rnnlab, small):
    command = ("compare", "--rows", "100", "--models", "rnn,bilstm,textcnn,transformer", "--seeds", "1", *small)
    done = rnnlab(*command, "--match", "parameters", "--json")
    assert done.code == 0, done.err
    result = done.json()
    arms = {arm["label"]: arm for arm in result["arms"]}
    beyond = {}
    for label, arm in arms.items():
        counts = (RunDirectory(arm["runs"][0]["path"]).result() or {})["parameters"]
        assert arm["parameters"] == counts["total"]
        beyond[label] = counts["encoder"] + counts["head"]
    for sizes in (beyond, {label: arm["parameters"] for label, arm in arms.items()}):
        middle = sorted(sizes.values())[1]
        assert all(abs(size / middle - 1) < 0.02 for size in sizes.values())
    note, _ = result["notes"]
    assert f"bilstm hidden {arms['bilstm']['model']['hidden']} ({beyond['bilstm']:,})" in note
    assert f"note: {note}\n" in rnnlab(*command, "--match", "parameters").out


def test_models_of_equal_time(rnnlab, small):
    command = ("compare", "--rows", "100", "--models", "linear,textcnn", "--seeds", "1", *small)
    done = rnnlab(*command, "--match", "seconds", "--minutes", "0.003", "--json")
    assert done.code == 0, done.err
    for arm in done.json()["arms"]:
        run = RunDirectory(arm["runs"][0]["path"])
        training = run.spec()["training"]
        assert (training["epochs"], training["steps"], training["patience"]) == (None, None, None)
        assert sum(event["seconds"] for event in run.events() if event["event"] == "epoch") >= 0.003 * 60


def test_processes_print_the_same_as_one_process(compared, rnnlab):
    """The default, a process a run, and nothing but JSON on standard output; figures that depend on chance agree."""
    command = list(compared.command)
    command[command.index("--jobs") + 1] = "2"
    command[command.index("--out") + 1] = str(compared.folder / "processes")
    done = rnnlab(*command)
    assert done.code == 0, done.err
    assert done.json()["verdict"]["estimates"] == compared.result["verdict"]["estimates"]


# Runs that end badly


def test_divergence_is_a_result(rnnlab, reviews_csv, small):
    wild = {"optimizer": "sgd", "lr": "1e6", "clip": "none"}
    settings = [part for key, value in wild.items() for part in ("--set", f"arms.rnn.training.{key}={value}")]
    command = (
        *("compare", "reviews.csv", "--models", "rnn,textcnn", "--seeds", "2", *small, *settings),
        *("--set", "arms.rnn.model.activation=relu", "--set", "training.batch_size=8", "--markdown", "table.md"),
    )
    done = rnnlab(*command)
    assert done.code == 3
    assert re.search(r"^rnn +50\.0 % .* 2 of 2 *$", done.out, re.MULTILINE)  # it counts as answering the majority class
    assert re.search(r"^textcnn( \*)? +\d", done.out, re.MULTILINE)
    said = done.err.splitlines()[-2:]
    assert said[0].startswith("rnnlab: rnn seed 0 diverged: step ")
    assert said[1].startswith("rnn seed 1 diverged: step ")
    with open("table.md", encoding="utf-8") as file:
        assert re.search(r"^\| rnn \| 50\.0 % \| [^|]+ \|  \|  \|  \|  \|$", file.read(), re.MULTILINE)
    again = rnnlab(*command, "--json")
    assert again.code == 3
    arm = next(arm for arm in again.json()["arms"] if arm["label"] == "rnn")
    assert (arm["score"]["mean"], arm["failed_seeds"]) == (0.5, [0, 1])
    assert all(run["score"] is None for run in arm["runs"])
    assert all(arm[key] is None for key in ("epoch_seconds", "parameters"))
    assert arm["scores"] == {}
    assert {run["status"] for run in arm["runs"]} == {"diverged"}
    refused = rnnlab("predict", arm["runs"][0]["path"], "a text")
    assert refused.code == 1
    assert re.search(r"this run diverged at step \d+; it left no model", refused.err)


def test_a_failed_run_leaves_the_others(rnnlab, reviews_csv, small):
    """A file stands where one of the runs should be."""
    command = ("compare", "reviews.csv", "--models", "rnn,linear", "--seeds", "2", *small)
    digest = next(arm for arm in rnnlab(*command, "--json").json()["arms"] if arm["label"] == "rnn")["runs"][1][
        "digest"
    ]
    taken = RunDirectory(f"elsewhere/{digest}")
    taken.path.parent.mkdir()
    taken.path.touch()
    done = rnnlab(*command, "--out", "elsewhere")
    assert done.code == 3
    assert re.search(f"rnnlab: rnn seed 1 failed: .*{digest}", done.err)
    assert re.search(r"^rnn( \*)? +\d", done.out, re.MULTILINE)
    taken.path.unlink()
    assert rnnlab(*command, "--out", "elsewhere").code == 0  # a failed run is tried again


@pytest.mark.parametrize("option", ["--markdown", "--csv", "--scores"])
def test_a_folder_where_a_file_should_be_is_noticed_before_training(rnnlab, reviews_csv, small, option):
    done = rnnlab("compare", "reviews.csv", "--models", "rnn", *small, option, ".", "--out", "nothing")
    assert (done.code, done.err) == (1, "rnnlab: .: this is a folder; give the name of a file\n")
    assert not Path("nothing").exists()


def test_a_run_that_another_process_computes_is_waited_for(rnnlab, reviews_csv, small, monkeypatch):
    command = ("compare", "reviews.csv", "--models", "rnn", "--seeds", "1", *small)
    (arm,) = rnnlab(*command, "--json").json()["arms"]
    taken = RunDirectory(f"elsewhere/{arm['runs'][0]['digest']}")
    taken.path.mkdir(parents=True)
    another = ExitStack()
    another.enter_context(taken.lock())
    waited: list[float] = []

    def done_meanwhile(seconds: float) -> None:
        waited.append(seconds)
        another.close()

    monkeypatch.setattr("rnnlab.runs.directory.sleep", done_meanwhile)
    assert rnnlab(*command, "--out", "elsewhere").code == 0
    assert len(waited) == 1


# Splits that vary


def test_the_seed_draws_the_split_too(rnnlab):
    command = ("compare", "--rows", "200", "--models", "linear", "--epochs", "1", "--jobs", "0")
    done = rnnlab(*command, "--vary-split", "--json")
    assert done.code == 0, done.err
    result = done.json()
    assert result["notes"][0].startswith("vary_split: the seed of a run is its split_seed too")
    for arm in [*result["arms"], *result["baselines"]]:
        assert [run["seed"] for run in arm["runs"]] == [0, 1, 2, 3, 4]
        specs = [RunDirectory(run["path"]).spec() for run in arm["runs"]]
        assert [spec["task"]["split_seed"] for spec in specs] == [0, 1, 2, 3, 4]
    before = stamps(Path("runs"))
    usual = rnnlab(*command, "--seeds", "2", "--json").json()
    assert usual["arms"][0]["runs"][0] == result["arms"][0]["runs"][0]  # split 0 with seed 0: found again
    assert usual["arms"][0]["runs"][1] != result["arms"][0]["runs"][1]
    assert len(stamps(Path("runs")).items() - before.items()) == 1
    few = rnnlab(*command, "--vary-split", "--seeds", "2")
    assert "note: seeds = 2 is few where the split varies: intervals can be trusted from 5 on\n" in few.out
    assert stamps(Path("runs")).items() >= before.items()


# Kinds of data


def test_cnn2_needs_vectors_and_then_keeps_them(rnnlab, reviews_csv, small, tmp_path):
    """Without vectors it is left out with a note; with them it runs, and the run needs the file no more."""
    command = ("compare", "reviews.csv", "--models", "cnn2,rnn", "--seeds", "1", *small, "--json")
    left_out = rnnlab(*command)
    assert left_out.code == 0
    assert [arm["label"] for arm in left_out.json()["arms"]] == ["rnn"]
    assert left_out.json()["notes"][0].startswith("cnn2 is left out: ")
    assert "--vectors" in left_out.json()["notes"][0]
    assert "note: cnn2 is left out" in rnnlab(*command[:-1]).out
    vectors = tmp_path / "tiny.txt"
    words = ("the", "great", "fine", "lovely", "awful", "dull", "poor", "film")
    vectors.write_text("".join(f"{word} {n / 8} {-n} 0.5 {n % 3}\n" for n, word in enumerate(words)), encoding="utf-8")
    command = tuple(part for part in command if part not in ("--set", "model.embedding.width=8"))
    done = rnnlab(*command, "--vectors", "tiny.txt")
    assert done.code == 0, done.err
    arms = {arm["label"]: arm for arm in done.json()["arms"]}
    assert arms["cnn2"]["model"]["embedding"]["channels"] == "two"
    assert arms["rnn"]["model"]["embedding"]["channels"] == "tuned"
    before = {label: rnnlab("predict", arm["runs"][0]["path"], "the great film") for label, arm in arms.items()}
    vectors.unlink()
    for label, arm in arms.items():
        after = rnnlab("predict", arm["runs"][0]["path"], "the great film")
        assert after.code == 0, after.err
        assert after.out == before[label].out


def test_given_splits_are_kept(rnnlab, reviews_csv, small):
    header, *rows = reviews_csv.read_text(encoding="utf-8").splitlines()
    for name, part in (("train", rows[:40]), ("valid", rows[40:50]), ("test", rows[50:])):
        reviews_csv.with_name(f"{name}.csv").write_text("\n".join([header, *part]) + "\n", encoding="utf-8")
    command = ("compare", "train.csv", "--models", "rnn", "--seeds", "1", *small, "--json")
    done = rnnlab(*command, "--valid", "valid.csv", "--test", "test.csv")
    assert done.code == 0, done.err
    assert done.json()["profile"]["rows"] == {"train": 40, "valid": 10, "test": 10}
    partly = rnnlab(*command, "--test", "test.csv").json()["profile"]["rows"]
    assert partly["test"] == 10
    assert partly["train"] + partly["valid"] == 40


def test_groups_never_straddle_a_split(rnnlab, small, tmp_path):
    rows = [f"the {word} film number {n},{label},writer {n // 5}" for n in range(60) for word, label in PAIRS]
    (tmp_path / "grouped.csv").write_text("\n".join(["text,label,writer", *rows]) + "\n", encoding="utf-8")
    done = rnnlab("compare", "grouped.csv", "--group", "writer", "--models", "rnn", "--seeds", "1", *small, "--json")
    assert done.code == 0, done.err
    profile = done.json()["profile"]
    assert (profile["groups"], profile["straddling_groups"]) == (12, 0)
    assert all(count % 10 == 0 for count in profile["rows"].values())  # whole writers


PAIRS = (("fine", "good"), ("dull", "bad"))


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_chinese(rnnlab, tmp_path, encoding):
    """Labels and predictions come out as they went in, and the encoding of the file makes no difference."""
    rows = [f"这部电影{word}，第{n}次看,{label}" for n in range(30) for word, label in CHINESE]
    (tmp_path / "评论.csv").write_text("\n".join(["评论,情感", *rows]) + "\n", encoding=encoding)
    done = rnnlab(
        *("compare", "评论.csv", "--models", "textcnn", "--seeds", "1", "--epochs", "12", "--jobs", "0", "--json"),
        *("--set", "training.lr=0.03"),
    )
    assert done.code == 0, done.err
    result = done.json()
    assert result["profile"]["labels"]["test"] == {"好评": 6, "差评": 6}
    assert result["profile"]["tokenizer"] == "chars"
    run = result["arms"][0]["runs"][0]
    assert run["digest"] == CHINESE_DIGEST.setdefault("both", run["digest"])
    answers = rnnlab("predict", run["path"], "这部电影真好看", "这部电影太难看", "--json").json_lines()
    assert [answer["label"] for answer in answers] == ["好评", "差评"]
    assert set(answers[0]["probabilities"]) == {"好评", "差评"}
    typed = rnnlab("predict", run["path"], stdin="真好看\n太难看\n".encode())
    assert [line.split("\t")[0] for line in typed.out.splitlines()] == ["好评", "差评"]
    assert "评论.csv" in rnnlab("runs").out


CHINESE = (("真好看", "好评"), ("太难看", "差评"))
CHINESE_DIGEST: dict[str, str] = {}


@pytest.mark.parametrize("kind", ["ts", "jsonl"])
def test_numeric_sequences(rnnlab, small, tmp_path, kind):
    """A series that rises or falls, of one channel and several lengths."""
    series = [
        (list(range(n % 4, n % 4 + 6 + n % 3))[::step] + [n / 30], name) for n in range(30) for step, name in STEPS
    ]
    lines = [json.dumps({"values": values, "label": name}) for values, name in series]
    if kind == "ts":
        header = ["@problemName steps", "@timeStamps false", "@univariate true", "@classLabel true up down", "@data"]
        lines = header + [f"{','.join(map(str, values))}:{name}" for values, name in series]
    (tmp_path / f"steps.{kind}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = rnnlab(
        *("compare", f"steps.{kind}", "--models", "rnn,textcnn,cnn2", "--seeds", "1", "--epochs", "15", "--jobs", "0"),
        *(
            "--json",
            "--set",
            "arms.textcnn.model.filters=8",
            "--set",
            "training.lr=0.01",
            "--set",
            "training.patience=none",
        ),
    )
    assert done.code == 0, done.err
    result = done.json()
    [note] = result["notes"]
    assert note.startswith("cnn2 is left out: 'cnn2' reads words")
    assert (result["profile"]["unit"], result["profile"]["channels"]) == ("steps", 1)
    assert [arm["label"] for arm in result["baselines"]] == ["majority", "statistics"]
    for arm in [*result["arms"], *result["baselines"]]:
        answers = rnnlab("predict", arm["runs"][0]["path"], "--file", f"steps.{kind}", "--json")
        assert answers.code == 0, answers.err
        found = [answer["label"] for answer in answers.json_lines()]
        right = sum(answer == name for answer, (_, name) in zip(found, series, strict=True)) / len(series)
        assert right == 0.5 if arm["label"] == "majority" else right > (0.9 if arm["label"] == "statistics" else 0.6)
    refused = rnnlab("predict", result["arms"][0]["runs"][0]["path"], "1 2 3")
    assert (refused.code, refused.out) == (1, "")
    assert "this model reads numeric sequences: give them with --file" in refused.err


STEPS = ((1, "up"), (-1, "down"))
