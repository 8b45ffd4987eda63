"""Recordings become strings: none stands on both sides of a split, and a trained model hears words in their order."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waves import folder_of_tones, tone, wav

import rnnlab
from rnnlab.core.errors import DataError
from rnnlab.core.seeding import generator
from rnnlab.data import catalogue
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sound.augment import Augment
from rnnlab.data.sound.strings import Recipe, blocks_of, divide_speakers, draw, held_out_recordings, join
from rnnlab.data.sound.wav import Waveform
from rnnlab.models.baselines import Labelled
from rnnlab.models.segments import Segments
from rnnlab.tasks.base import TASKS
from rnnlab.tasks.recognise import Recognise
from rnnlab.use.asking import predict_file

PATTERN = "{label}_{speaker}_{n}.wav"
UNCHANGED = dict.fromkeys(Augment.model_fields, 0)  # training strings


@pytest.fixture(scope="module")
def tones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_tones(tmp_path_factory.mktemp("recordings") / "tones", 3, 6, 6)


def recognise(tones: Path, **settings: Any) -> Recognise:
    small = {"rows": 60, "held_out": 20, "bands": 12, "longest": 4}
    task = TASKS.parse({"kind": "recognise", "data": str(tones), "pattern": PATTERN, **small, **settings})
    assert isinstance(task, Recognise)
    return task


@pytest.mark.parametrize("split", ["speakers", "recordings"])
def test_no_recording_stands_in_two_splits(tones: Path, split: Any):
    task = recognise(tones, split=split)
    found, _ = task._read()
    speakers = task._speakers(found)
    divided = task._divided(found, speakers)
    assert sum(map(len, divided.values())) == len(found)
    for one, other in combinations(divided.values(), 2):
        assert not set(one) & set(other)
        assert bool({speakers[n] for n in one} & {speakers[n] for n in other}) == (split == "recordings")
    words = {name: {found.labels[number] for number in numbers} for name, numbers in divided.items()}
    assert words["train"] == words["valid"] == words["test"] == {"0", "1", "2"}


def test_speakers_take_turns():
    names = ["a", "b", "c", "d", "e", "f"] * 3
    turns = [divide_speakers(names, 0.1, 0.2, seed) for seed in range(6)]
    assert sorted(turn["test"] for turn in turns) == [("a",), ("b",), ("c",), ("d",), ("e",), ("f",)]
    assert all(len(turn["train"]) == 4 for turn in turns)
    with pytest.raises(DataError, match="2 speakers are too few"):
        divide_speakers(["a", "b"], 0.1, 0.2, 0)


def test_a_share_of_every_kind_is_held_out():
    kinds = [(speaker, word) for speaker in "ab" for word in "01" for _ in range(10)] + [("c", "0")]
    held = held_out_recordings(kinds, 0.2, generator(0, "split"))
    assert held.sum() == 8
    assert not held[-1]  # it is the only one


def test_strings_of_two_groups_have_no_recording_in_common():
    rng = generator(0, "data")
    pools = blocks_of(np.arange(57), 5, rng)
    assert sorted(np.concatenate(pools).tolist()) == list(range(57))
    assert min(map(len, pools)) >= 10
    drawn = draw(pools, 200, Recipe(2, 5, 100.0), rng)
    assert {len(one.recordings) for one in drawn} == {2, 3, 4, 5}
    of_group: dict[int, set[int]] = {}
    for one in drawn:
        assert len(set(one.recordings)) == len(one.recordings)
        assert len(one.pauses) == len(one.recordings) + 1
        assert 0.05 <= one.pauses.min() <= one.pauses.max() <= 0.15
        of_group.setdefault(one.group, set()).update(one.recordings.tolist())
    assert not any(one & other for one, other in combinations(of_group.values(), 2))


def test_a_string_is_its_recordings_with_quiet_around_them():
    rng = generator(0, "data")
    sounds = [Waveform(tone(label, 0, 0).astype(np.float32), 8000) for label in range(3)]
    one = draw([np.arange(3)], 1, Recipe(3, 3, 100.0), rng)[0]
    joined = join(one, sounds, rng).samples
    at = 0
    for place, number in enumerate(one.recordings):
        at += round(one.pauses[place] * 8000)
        assert np.array_equal(joined[at : at + 1600], sounds[number].samples)
        at += 1600
    assert len(joined) == at + round(one.pauses[3] * 8000)
    assert np.abs(joined[: round(one.pauses[0] * 8000)]).max() < 0.1


def test_training_strings_have_speeds_of_their_own():
    rng = generator(0, "data")
    drawn = draw([np.arange(9)], 300, Recipe(1, 1, 100.0, 0.2), rng, speeds=True)
    assert {one.speed for one in drawn} == {0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2}
    assert {one.speed for one in draw([np.arange(9)], 20, Recipe(1, 1, 100.0, 0.2), rng)} == {1.0}
    sounds = [Waveform(tone(0, 0, take).astype(np.float32), 8000) for take in range(9)]
    fast = next(one for one in drawn if one.speed == 1.2)
    whole = 1600 + sum(round(pause * 8000) for pause in fast.pauses)
    assert len(join(fast, sounds, rng).samples) == pytest.approx(whole / 1.2, abs=2)


def test_training_strings_vary_and_keep_their_words(tones: Path):
    task = recognise(tones).resolve()
    data = task.load()
    rows = data.train.chosen(np.array([3, 0, 7]))
    varied = task.varied(rows, data, generator(0, "augment"))
    assert np.array_equal(varied.targets, rows.targets)
    assert np.array_equal(varied.row(1).shape[1:], rows.row(1).shape[1:])
    assert not np.array_equal(varied.lengths, rows.lengths)
    assert task.identity() != recognise(tones, augment=UNCHANGED).resolve().identity()
    same = recognise(tones, augment=UNCHANGED).varied(rows, data, generator(0, "augment"))
    assert np.allclose(same.values, rows.values, atol=1e-4)
    assert np.array_equal(same.offsets, rows.offsets)


def test_rows_have_words_speakers_and_stacked_frames(tones: Path):
    data = recognise(tones, stack=3).encoded()
    alone = recognise(tones, stack=1).encoded()
    assert data.features == 36
    assert data.labels == ("0", "1", "2")
    for one, other in ((data.train, alone.train), (data.test, alone.test)):
        assert np.array_equal(one.targets, other.targets)
        assert np.array_equal(one.lengths, -(-other.lengths // 3))
    assert data.tag_names == ("anna", "bert", "carl", "dora", "eva", "finn")
    assert data.test.tags is not None
    assert {data.tag_names[tag] for tag in data.test.tags} == {"anna"}
    assert not data.profile["warnings"]
    assert "speakers: train carl, dora, eva, finn; valid bert; test anna" in data.profile["lines"]


def test_other_seeds_draw_other_strings_and_too_few_steps_are_told(tones: Path):
    first, other = recognise(tones).encoded(), recognise(tones, data_seed=1).encoded()
    assert not np.array_equal(first.train.targets[:20], other.train.targets[:20])
    (warning, *_) = recognise(tones, stack=20, pause=0).encoded().profile["warnings"]
    assert "have more words than steps" in warning


def test_mistakes_are_told(tones: Path):
    for settings, said in (
        ({"group": "who"}, "no field 'who'"),
        ({"shortest": 5, "longest": 4}, "shortest = 5 is more than longest = 4"),
        ({"data": "nowhere"}, "nowhere: no such file or folder"),
    ):
        with pytest.raises(rnnlab.RnnlabError, match=said):
            recognise(tones, **settings).encoded()


def test_the_beam_is_part_of_a_run(tones: Path):
    one, other = recognise(tones).resolve(), recognise(tones, beam=4).resolve()
    assert one.fingerprint == other.fingerprint
    assert one.identity() != other.identity()


def test_a_trained_model_and_the_baseline_hear_new_files(tones: Path, tmp_path: Path):
    result = rnnlab.compare(
        tones,
        models=["bigru"],
        seeds=1,
        task={
            "kind": "recognise",
            "pattern": PATTERN,
            "rows": 200,
            "held_out": 20,
            "bands": 12,
            "longest": 3,
            "augment": UNCHANGED,
        },
        training={"epochs": 25, "lr": 0.01},
        settings=["model.hidden=16"],
        out=tmp_path / "runs",
        jobs=0,
    )
    by_name = {arm.label: arm for arm in (*result.arms, *result.baselines)}
    assert {"bigru", "segments"} <= set(by_name)
    quiet = np.random.default_rng(0).normal(0, 0.01, 1200)
    said = np.concatenate([quiet, tone(2, 1, 90), quiet, tone(0, 1, 91), quiet, tone(2, 1, 92), quiet])
    for name in ("bigru", "segments"):
        model = rnnlab.load(by_name[name].runs[0].path)
        (told,) = model.predict([wav(said)])
        assert told.label == "2 0 2"
        assert json.loads(json.dumps(told.to_dict()))["words"] == ["2", "0", "2"]
        (again, _) = model.predict([wav(said), wav(tone(1, 0, 5, 3.0))])
        assert again.probability == pytest.approx(told.probability, rel=1e-3)
    (tmp_path / "said.wav").write_bytes(wav(said))
    asked = rnnlab.load(by_name["bigru"].runs[0].path)
    predict_file(asked, tmp_path / "said.wav", tmp_path / "answers.csv", top=3)
    assert "2 0 2" in (tmp_path / "answers.csv").read_text()
    with pytest.raises(rnnlab.RnnlabError, match="several words; take --top"):
        predict_file(asked, tmp_path / "said.wav", tmp_path / "answers.csv", probabilities=True)
    assert result.folder is not None
    rnnlab.write_report(result.folder, tmp_path / "page.html")
    assert "word error rate" in (tmp_path / "page.html").read_text()
    bundle = rnnlab.pack(by_name["bigru"].runs[0].path, tmp_path / "model.rnnlab")
    assert rnnlab.load(bundle).predict([wav(said)])[0].label == "2 0 2"


@pytest.mark.skipif(catalogue.locate("fsdd") is None, reason="needs the spoken digits")
def test_spoken_digits_are_cut_and_told_by_the_baseline():
    data = Recognise(data="fsdd", split="recordings", rows=300, held_out=60).encoded()
    answer, baseline = Recognise().answer, Segments()
    train, valid = (Labelled(*baseline.rows(one, data), answer.taught(one)) for one in (data.train, data.valid))
    learnt = baseline.fit_chosen(train, valid, 10)
    kept = answer.kept_of(baseline.logits(learnt, *baseline.rows(data.test, data)), data.test)
    assert answer.values(kept, data.test.truth)["wer"] < 0.1


def test_the_frames_are_part_of_the_model(tones: Path):
    data = recognise(tones).encoded()
    again = Preprocessor.from_json(Preprocessor.of(data).to_json())
    assert again.sound == data.sound
    assert again.sound is not None
    assert again.sound.stack == 3
