"""Models that hear recordings, as ONNX: frames go in; how they are made of a sound stands beside."""

import itertools
import json

import numpy as np
import onnxruntime
from waves import folder_of_tones, tone, wav

import rnnlab
from rnnlab.data.sound.mel import LogMel
from rnnlab.data.sound.wav import decode
from rnnlab.use.onnx.writing import export_model


def test_words_of_a_recording(tmp_path):
    tones = folder_of_tones(tmp_path / "tones", 3, 4, 6)
    settings = {"rows": 200, "held_out": 20, "bands": 12, "longest": 3, "augment": {"frames": 0.0, "bands": 0.0}}
    task = {"kind": "recognise", "pattern": "{label}_{speaker}_{n}.wav", **settings}
    training = {"epochs": 12, "lr": 0.01}
    run = rnnlab.train(tones, model="bigru", task=task, training=training, settings=["model.hidden=16"], out=tmp_path)
    done = export_model(run.path, tmp_path / "model.onnx")
    said = json.loads(done.tokenizer.read_text(encoding="utf-8"))
    assert said["per_step"]
    assert said["blank"] == len(said["labels"]) == 3
    sound = wav(np.concatenate([tone(2, 1, 90), np.zeros(1500), tone(0, 1, 91)]))
    frames = LogMel.from_dict(said["sound"]).frames(decode(sound, "sound"))[None].astype(np.float32)
    session = onnxruntime.InferenceSession(done.path)
    (logits,) = session.run(None, {"features": frames, "lengths": np.array([frames.shape[1]])})
    best = np.asarray(logits)[0].argmax(1)
    words = [said["labels"][step] for step, _ in itertools.groupby(best.tolist()) if step != said["blank"]]
    (told,) = rnnlab.load(run.path).predict([sound])
    assert " ".join(words) == told.label
    assert words
