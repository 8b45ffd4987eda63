"""A student has a table of hotel reviews from a Chinese Excel: GB18030, columns named as people name them."""

import csv
import random
from pathlib import Path

import pytest
from told import run_in, sentences, typed

PRAISE = [
    "房间很干净",
    "服务态度特别好",
    "早餐丰富又好吃",
    "位置方便，离地铁很近",
    "前台热情周到",
    "床很舒服，睡得很香",
]
BLAME = [
    "房间又脏又小",
    "服务态度很差",
    "早餐难吃，品种也少",
    "隔音太差，整晚没睡",
    "空调坏了没人修",
    "卫生间漏水，味道很大",
]
MIDDLING = ["总体一般", "没什么特别的", "还算过得去", "和价格相符吧", "中规中矩", "不好也不坏"]
SHOPS = ["西湖店", "浦东店", "天河店", "春熙路店"]


def write_reviews(path: Path, rows: int, labelled: bool = True) -> None:
    draw = random.Random(rows)
    with path.open("w", encoding="gb18030", newline="") as file:
        table = csv.writer(file)
        table.writerow(["日期", "店铺", "评论内容", *(["评价"] if labelled else [])])
        for number in range(rows):
            label, phrases = [("好评", PRAISE), ("差评", BLAME), ("中评", MIDDLING)][number % 3]
            text = "，".join(draw.sample(phrases, 3)) + "。" + draw.choice(["", "下次再说。", "和朋友一起来的。"])
            if number == 17 and labelled:
                text = ""  # somebody gave stars alone
            table.writerow(
                [
                    f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}",
                    draw.choice(SHOPS),
                    text,
                    *([label] if labelled else []),
                ]
            )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("student")
    write_reviews(folder / "酒店评论.csv", 600)
    write_reviews(folder / "新评论.csv", 9, labelled=False)
    return folder


def test_from_the_table_to_the_model_in_use(folder: Path, snapshot):
    arms = ("--models", "textcnn", "--seeds", "2", "--epochs", "6")
    compared = typed(folder, "compare", "酒店评论.csv", *arms, language="zh", in_own_process=True)
    assert sentences(compared) == snapshot(name="compare")
    model = run_in(compared)
    asked = typed(folder, "predict", model, "早餐难吃，服务态度很差", language="zh", in_own_process=True)
    assert "差评" in asked
    assert sentences(asked) == snapshot(name="predict")
    answered = typed(folder, "predict", model, "--file", "新评论.csv", "-o", "答案.csv", language="zh")
    assert sentences(answered) == snapshot(name="predict a table")
    with (folder / "答案.csv").open(encoding="gb18030", newline="") as file:  # as Excel opens it
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == ["好评", "差评", "中评"] * 3
    assert list(rows[0])[:3] == ["日期", "店铺", "评论内容"]


@pytest.mark.long
def test_the_same_table_saved_by_excel_is_the_same_run(folder: Path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    with (folder / "酒店评论.csv").open(encoding="gb18030", newline="") as file:
        for row in csv.reader(file):
            book.active.append(row)
    book.save(folder / "酒店评论.xlsx")
    settings = ("--model", "textcnn", "--epochs", "1", "--json")
    runs = [
        typed(folder, "train", name, *settings).partition('"run": "')[2].split('"')[0]
        for name in ("酒店评论.csv", "酒店评论.xlsx")
    ]
    assert runs[0] == runs[1] != ""
