"""A Chinese user gets from a CSV to a verdict, a report and an answer without reading English."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from test_cli_main import COMMANDS

from rnnlab.core.terms import SETTINGS
from rnnlab.core.words import catalogue
from rnnlab.core.wrapping import columns
from rnnlab.training.environment import processor_name

CODE = re.compile(
    r"""'[^']*'|"[^"]*"|“[^”]*”  # what was typed, or stands in a file
    |rnnlab(?:[ ][\w.:/=,>"-]+)+  # a command
    |-{1,2}[a-z][\w-]*(?:=\S+)?  # an option
    |[^\s'"“”；：，。（）]*[\w)][/\\._=:][\w(…][^\s'"“”；：，。（）]*  # paths, settings, versions
    |\[[^\]]*\]|\{[^}]*\}|<[^>]*>  # what an option or argument is called
    """,
    re.VERBOSE,
)
SENTENCE = re.compile(r"[A-Za-z']{2,}(?: [A-Za-z']+)+")
NAMES = {"ONNX Runtime", "loss hinge", "native avx"}  # what a baseline chose, and what is recorded of a processor
KEYS = {"accuracy", "seconds", "parameters", "loss", "seed", "row", "score", "group", "cost", "baseline", "diverged"}
KEYS |= {"model", "label", "text", "words", "chars", "whitespace", "jieba", "data", "none", "seeds", "training"}
KEYS |= {"forward", "train", "runs", "list", "milliseconds", "minutes", "kernels", "native", "processes", *SETTINGS}
"""What a column, a setting or a value of an option is called; a sentence may quote it."""


def words_with_chinese() -> set[str]:
    """Words that the catalogue translates: on their own they would be left in English by mistake."""
    texts = {key.text: text for key, text in catalogue("zh").items()}
    return {text for text, other in texts.items() if re.fullmatch("[a-z]{4,}", text) and text not in other} - KEYS


def english(text: str) -> list[str]:
    """What is left of a text that somebody would have to know English for: two words in a row, or one of ours."""
    found, ours = [], words_with_chinese()
    for line in text.splitlines():
        rest = CODE.sub(" ; ", line.replace(processor_name(), ""))  # a processor is called what it is called
        found += [f"{match[0]!r} in: {line}" for match in SENTENCE.finditer(rest) if match[0] not in NAMES]
        found += [f"{word!r} in: {line}" for word in re.findall(r"[A-Za-z]+", rest) if word in ours]
    return found


def test_english_is_noticed():
    assert english("测试集准确率，3 seeds per model")
    assert english("rnn 种子 0：finished")
    assert not english("rnn 种子 0：验证集 87.5%；用 --epochs 30，见 runs/1f0c/result.json")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command or "rnnlab")
def test_help_in_chinese(rnnlab, snapshot, command):
    done = rnnlab(*command.split(), "--lang", "zh", "--help")
    assert done.code == 0
    assert done.out == snapshot
    assert english(done.out) == []
    assert rnnlab("--lang", "zh", *command.split(), "-h").out == done.out


def test_lines_of_help_are_no_wider_than_the_terminal(rnnlab):
    for command in COMMANDS:
        text = rnnlab(*command.split(), "--help", "--lang=zh").out
        assert max(map(columns, text.splitlines())) <= 100, command


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts, labels and names of columns that are no English words, so that none can hide behind them."""
    folder = tmp_path_factory.mktemp("chinese")
    words = {"好": ["很好", "不错", "精彩"], "坏": ["很差", "无聊", "糟糕"]}
    lines = ["正文,标签,类别"]
    for number in range(120):
        label = ("坏", "好")[number % 2]
        lines.append(f"这部第 {number} 号电影{words[label][number % 3]},{label},{('短', '长')[number // 2 % 2]}")
    (folder / "评论.csv").write_text("\n".join([*lines, "没有标签的一行,,短"]) + "\n", encoding="utf-8")
    (folder / "实验.toml").write_text('[task]\ndata = "评论.csv"\n[arms.a.model]\nkind = "rnn"\n', encoding="utf-8")
    return folder


COMPARE = (
    *("compare", "评论.csv", "--lang", "zh", "--models", "rnn,textcnn", "--seeds", "2", "--epochs", "1", "--jobs", "0"),
    *("--tag", "类别", "--skip-bad", "--set", "model.embedding.width=8", "--text", "正文", "--label", "标签"),
)


@pytest.fixture
def compared(rnnlab, rows, monkeypatch):
    monkeypatch.chdir(rows)
    return rnnlab(*COMPARE, "--report", "报告.html")


def test_compare_predict_report(rnnlab, rows, compared):
    assert compared.code == 0, compared.err
    assert english(compared.out + compared.err) == []
    assert "准确率" in compared.out
    assert "种子 0：验证集" in compared.err
    again = rnnlab(*COMPARE)
    assert "已有结果，不再计算" in again.err
    assert english(again.out + again.err) == []

    run = re.search(r"rnnlab predict (\S+)", compared.out)
    assert run is not None
    asked = rnnlab("predict", run[1], "很好的电影", "--lang", "zh")
    assert asked.code == 0
    assert english(asked.out + asked.err) == []
    written = rnnlab("predict", run[1], "--file", "评论.csv", "--text", "正文", "-o", "回答.csv", "--lang", "zh")
    assert english(written.out + written.err) == []
    assert "条样本" in written.err

    packed = rnnlab("--lang", "zh", "pack", run[1], "-o", "模型.rnnlab")
    assert "局限：" in packed.out
    with zipfile.ZipFile("模型.rnnlab") as archive:
        card = archive.read("card.md").decode()
    assert card.startswith("# 模型卡：")
    assert english(packed.out + packed.err + card) == []
    Path("模型.rnnlab").write_bytes(Path("模型.rnnlab").read_bytes()[:-9])
    damaged = rnnlab("predict", "模型.rnnlab", "很好", "--lang", "zh")
    assert damaged.code == 1
    assert english(damaged.err) == []

    reported = rnnlab("report", "runs", "-o", "又一份.html", "--lang", "zh")
    assert reported.code == 0
    assert english(reported.out + reported.err) == []
    for name in ("报告.html", "又一份.html"):
        page = Path(name).read_text(encoding="utf-8")
        assert page.count('<html lang="zh"') == 1
        assert english("\n".join(texts_in_chinese(page))) == []
    listed = rnnlab("runs", "runs", "--lang", "zh")
    assert english(listed.out) == []


def texts_in_chinese(page: str) -> list[str]:
    """What a page shows to a Chinese reader; scripts, charts, code and English texts left out."""
    for tag in ("script", "style", "code", "pre"):
        page = re.sub(rf"<{tag}\b.*?</{tag}>", " ", page, flags=re.DOTALL)
    page = re.sub(r'<span lang="en">.*?</span>', " ", page, flags=re.DOTALL)
    page = re.sub(r'<button[^>]*lang="en-GB".*?</button>', " ", page, flags=re.DOTALL)
    return [text.strip() for text in re.split(r"<[^>]*>", page) if text.strip()]


def test_train_doctor_check(rnnlab, rows, monkeypatch):
    monkeypatch.chdir(rows)
    small = ("--lang", "zh", "--text", "正文", "--label", "标签", "--skip-bad", "--epochs", "1")
    trained = rnnlab("train", "评论.csv", "--model", "rnn", *small)
    assert trained.code == 0, trained.err
    assert english(trained.out + trained.err) == []
    examined = rnnlab("doctor", "--lang", "zh")
    assert "所需的一切均正常。" in examined.out
    lines = [
        line for line in examined.out.splitlines() if not re.match(r"正常 +(?:python|依赖包|处理器|编译器|缓存) ", line)
    ]
    assert english("\n".join(lines[:13])) == []
    assert english(rnnlab("check", "实验.toml", "--lang", "zh").out) == []
    profiled = rnnlab("data", "profile", "评论.csv", "--text", "正文", "--label", "标签", "--skip-bad", "--lang", "zh")
    assert profiled.code == 0
    assert english(profiled.out) == []


@pytest.mark.parametrize(
    "command",
    [
        "compar",
        "compare --modles rnn",
        "compare --seeds many",
        "compare --lang fr",
        "compare --models ,",
        "compare 没有.csv",
        "compare 评论.csv --text 正文 --label 标签",
        "compare 评论.csv --text 文 --label 标签",
        "compare 评论.csv",
        "compare --models lstmm",
        "compare --models gru,tfidf",
        "compare --set task.kind=clasify",
        "compare --set training.lr=x --set seeds=0 --set model.hiden=3 --models rnn",
        "compare --set lr",
        "compare --match seconds",
        "compare --max-seeds 3",
        "compare --budget soon",
        "compare --jobs -1",
        "compare --on moon",
        "train --seed -1",
        "predict",
        "predict runs/none 好",
        "report none",
        "runs none",
        "check 没有.toml",
        "judge 评论.csv",
        "inspect",
        "pack none",
    ],
)
def test_mistakes_in_chinese(rnnlab, rows, monkeypatch, snapshot, command):
    monkeypatch.chdir(rows)
    done = rnnlab(*command.split(), "--lang", "zh") if "fr" not in command else rnnlab("--lang", "zh", *command.split())
    assert done.code in (1, 2)
    assert done.err == snapshot
    if "fr" not in command:
        assert english(done.err) == []


def test_the_language_of_the_environment(rnnlab, monkeypatch):
    for variables, said in (
        ({"LANG": "zh_CN.UTF-8"}, "none.toml：没有这个文件"),
        ({"LANG": "zh_CN.UTF-8", "RNNLAB_LANG": "en"}, "none.toml: no such file"),
        ({"LANG": "C.UTF-8"}, "none.toml: no such file"),
        ({"RNNLAB_LANG": "fr"}, "RNNLAB_LANG=fr"),
    ):
        for name in ("LANG", "LC_ALL", "LC_MESSAGES", "RNNLAB_LANG"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert said in rnnlab("check", "none.toml").err
    command = [sys.executable, "-m", "rnnlab", "check", "none.toml"]  # in a process of its own, as a user has it
    kept = {name: value for name, value in os.environ.items() if name != "RNNLAB_LANG"} | {"LANG": "zh_CN.UTF-8"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=kept, check=False)
    assert "none.toml：没有这个文件" in done.stderr


def test_a_terminal_without_chinese_shows_question_marks():
    command = [sys.executable, "-m", "rnnlab", "list", "tasks", "--lang", "zh"]
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, encoding="ascii", env=ascii_only, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "??" in done.stdout


def test_json_is_never_translated(rnnlab, rows, monkeypatch):
    monkeypatch.chdir(rows)
    asked = ("data", "profile", "评论.csv", "--text", "正文", "--label", "标签", "--skip-bad", "--json")
    assert rnnlab(*asked, "--lang", "zh").out == rnnlab(*asked).out
    assert (
        rnnlab("doctor", "--json", "--lang", "zh").json()["checks"]["zh"]
        == rnnlab("doctor", "--json").json()["checks"]["zh"]
    )
