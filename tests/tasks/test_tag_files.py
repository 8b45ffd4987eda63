"""Files of the task tag: folders, test rows without tags, several parts."""

import json
from pathlib import Path

from corpora import write_bmes, write_conllu

from rnnlab.tasks.choosing import task_for
from rnnlab.tasks.tag import Tag


def test_a_folder_has_its_parts(tmp_path: Path):
    for seed, part in enumerate(("train", "dev", "test")):
        write_conllu(tmp_path / f"xx-ud-{part}.conllu", 20 + seed, seed)
    data = Tag(data=str(tmp_path)).resolve().load()
    assert (len(data.train), len(data.valid), len(data.test)) == (20, 21, 22)
    assert task_for(str(tmp_path), {}) == "tag"


def test_test_rows_without_tags_give_way_to_the_validation_rows(tmp_path: Path):
    def rows(count: int, tagged: bool) -> str:
        spans = {"label": [[0, 2, "PER"]]} if tagged else {}
        return "".join(
            json.dumps({"text": f"小明在第{n}号读书", **spans}, ensure_ascii=False) + "\n" for n in range(count)
        )

    for part, count in (("train", 40), ("dev", 9), ("test", 5)):
        (tmp_path / f"{part}.jsonl").write_text(rows(count, part != "test"), encoding="utf-8")
    task = Tag(data=str(tmp_path)).resolve()
    data = task.load()
    assert len(data.test) == 9
    assert any("have no tags" in line for line in data.profile["lines"])
    assert task.scheme == "BIOES"
    assert task.answer.judged.name == "entity_f1"


def test_one_file_says_nothing_about_others(tmp_path: Path):
    data = Tag(data=str(write_bmes(tmp_path / "a.bmes", 40))).resolve().load()
    assert not any("have no tags" in line for line in data.profile["lines"])


def test_the_metric_is_asked_for_before_the_data_are_read(tmp_path: Path):
    path = str(write_bmes(tmp_path / "a.bmes", 40))
    assert Tag(data=path, metric="accuracy").resolve().answer.judged.name == "accuracy"
    plain = str(write_conllu(tmp_path / "a.conllu", 40))
    resolved = Tag(data=plain, metric="accuracy").resolve()
    assert resolved.metric is None  # it is what happens anyway
    assert resolved.identity() == Tag(data=plain).resolve().identity()
