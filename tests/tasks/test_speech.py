"""Recordings become rows: splits by field, speakers on both sides are told, and a trained model hears new files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waves import folder_of_tones, tone, wav

import rnnlab
from rnnlab.core.errors import DataError
from rnnlab.data import catalogue
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sound.augment import Augment
from rnnlab.data.sound.mel import cosines
from rnnlab.models.mfcc import Mfcc
from rnnlab.tasks.base import TASKS
from rnnlab.tasks.choosing import task_for
from rnnlab.tasks.speech import Speech

PATTERN = "{label}_{speaker}_{n}.wav"


@pytest.fixture(scope="module")
def tones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_tones(tmp_path_factory.mktemp("recordings") / "tones", 3, 6, 6)


def speech(tones: Path, **settings: Any) -> Speech:
    task = TASKS.parse({"kind": "speech", "data": str(tones), "pattern": PATTERN, **settings})
    assert isinstance(task, Speech)
    return task


def test_a_path_of_sound_chooses_the_task(tones: Path, tmp_path: Path):
    assert task_for(str(tones), {}) == "speech"
    assert task_for(str(next(tones.iterdir())), {}) == "speech"
    assert task_for("fsdd", {}) == "speech"
    (tmp_path / "texts.csv").write_text("text,label\na.wav is a name,0\nno,1\n")
    assert task_for(str(tmp_path / "texts.csv"), {}) is None
    assert task_for(str(tmp_path), {}) is None


def test_the_frames_are_part_of_the_model(tones: Path):
    task = speech(tones, bands=12, hop=5.0, centred=True)
    data = task.resolve().load()
    assert data.sound is not None
    assert (data.sound.rate, data.sound.bands, data.sound.hop, data.sound.centred) == (8000, 12, 5.0, True)
    again = Preprocessor.from_json(Preprocessor.of(data).to_json())
    assert again.sound == data.sound
    path = str(tones / "1_anna_3.wav")
    heard, _ = again.encode([path, Path(path).read_bytes()])
    assert np.array_equal(heard.row(0), heard.row(1))
    rows = [part.row(row) for part in (data.train, data.valid, data.test) for row in range(len(part))]
    assert any(len(row) == len(heard.row(0)) and np.allclose(row, heard.row(0), atol=1e-5) for row in rows)


def test_speakers_on_both_sides_are_told_unless_they_are_groups(tones: Path):
    (warning,) = speech(tones).encoded().profile["warnings"]
    assert "of 6 values of 'speaker' stand in train and in test" in warning
    assert "--group speaker" in warning
    assert speech(tones, group="speaker").encoded().profile["warnings"] == []


def test_results_are_told_by_speaker(tones: Path):
    data = speech(tones).encoded()
    assert data.tag_names == ("anna", "bert", "carl", "dora", "eva", "finn")
    assert speech(tones, tag="n").encoded().tag_names == tuple("012345")


def test_fields_choose_the_test_recordings(tones: Path):
    data = speech(tones, test_where="n<2").encoded()
    assert len(data.test) == 36
    data = speech(tones, test_where="speaker=eva", valid_where="speaker=finn").encoded()
    assert len(data.test) == len(data.valid) == 18
    assert data.test.tags is not None
    assert {data.tag_names[tag] for tag in data.test.tags} == {"eva"}
    for wrong, said in (("speaker=eve", "holds for 0 of 108"), ("who=eva", "no field 'who'")):
        with pytest.raises(DataError, match=said):
            speech(tones, test_where=wrong).encoded()


def test_values_take_turns_as_test_recordings(tones: Path):
    left = []
    for task in speech(tones, leave_out="speaker").resolve_splits(range(7)):
        data = task.load()
        assert data.test.tags is not None
        left.append({data.tag_names[tag] for tag in data.test.tags})
    assert left == [{"anna"}, {"bert"}, {"carl"}, {"dora"}, {"eva"}, {"finn"}, {"anna"}]


def test_other_rates_are_resampled_and_it_is_said(tones: Path, tmp_path: Path):
    mixed = folder_of_tones(tmp_path / "mixed", 2, 2, 6)
    (mixed / "0_anna_9.wav").write_bytes(wav(tone(0, 0, 9, rate=44100), 44100))
    data = speech(mixed, rate=None).encoded()
    assert any(
        note.startswith("1 recordings of another rate are resampled: 44,100 Hz") for note in data.profile["notes"]
    )


def test_a_trained_model_hears_new_files(tones: Path, tmp_path: Path):
    result = rnnlab.compare(
        tones,
        models=["gru"],
        seeds=1,
        task={"pattern": PATTERN, "group": "speaker"},
        training={"epochs": 8},
        settings=["model.hidden=16"],
        out=tmp_path / "runs",
        jobs=0,
    )
    by_name = {arm.label: arm for arm in (*result.arms, *result.baselines)}
    assert {"gru", "mfcc", "majority", "statistics"} <= set(by_name)
    for name in ("gru", "mfcc"):
        model = rnnlab.load(by_name[name].runs[0].path)
        told = model.predict([str(tones / "2_eva_1.wav"), (tones / "0_bert_1.wav").read_bytes()])
        assert [answer.label for answer in told] == ["2", "0"]
        with pytest.raises(DataError, match="this model hears recordings"):
            model.predict([np.zeros((5, 40))])


def test_cosines_are_those_of_scipy():
    from scipy.fft import dct

    frames = np.random.default_rng(0).normal(size=(6, 40))
    assert np.allclose(frames @ cosines(40, 13).T, np.asarray(dct(frames, axis=1, norm="ortho"))[:, :13])


@pytest.mark.skipif(catalogue.locate("fsdd") is None, reason="needs the spoken digits")
def test_spoken_digits_have_their_official_split():
    data = Speech(data="fsdd").encoded()
    assert (len(data.train) + len(data.valid), len(data.test)) == (2700, 300)
    rows = Mfcc().rows
    learnt = Mfcc().fit(*rows(data.train, data), data.train.targets, 10)
    right = (Mfcc().logits(learnt, *rows(data.test, data)).argmax(1) == data.test.targets).mean()
    assert right > 0.95


def test_training_batches_are_augmented_by_seed_and_step(tones: Path):
    from rnnlab.models.base import ARCHITECTURES
    from rnnlab.training.batch_loader import BatchLoader
    from rnnlab.training.spec import RunSpec, Training

    task = speech(tones).resolve()
    plain = speech(tones, augment=dict.fromkeys(Augment.model_fields, 0)).resolve()
    assert plain.fingerprint == task.fingerprint
    model = ARCHITECTURES.parse({"kind": "gru", "hidden": 4})
    runs = {
        (name, seed): RunSpec(one, model, Training(batch_size=8), seed)
        for name, one in (("a", task), ("p", plain))
        for seed in (0, 1)
    }
    assert len({spec.digest for spec in runs.values()}) == 4
    data = task.load()
    loader = BatchLoader(runs["a", 0], data)
    in_turn = [loader.batch(step).inputs for step in range(30)]
    for step in (29, 3, 17):
        assert np.array_equal(BatchLoader(runs["a", 0], data).batch(step).inputs, in_turn[step])
    unchanged = BatchLoader(runs["p", 0], data).batch(3).inputs
    assert unchanged.shape != in_turn[3].shape or not np.allclose(unchanged, in_turn[3])
    assert (
        BatchLoader(runs["a", 0], data).batch(3).targets.tolist()
        == BatchLoader(runs["p", 0], data).batch(3).targets.tolist()
    )
