"""WAV files and log-mel frames: right to the sample, checked against slow formulas, and never a traceback."""

import io
import os
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waves import chunk, folder_of_tones, tone, wav

from rnnlab.core.errors import DataError, WrongValue
from rnnlab.data.sound.files import holds_sound, sounds
from rnnlab.data.sound.mel import FLOOR, LogMel, slopes
from rnnlab.data.sound.names import Pattern, Where
from rnnlab.data.sound.recordings import names_recordings, read_recordings
from rnnlab.data.sound.straddling import straddling
from rnnlab.data.sound.wav import Waveform, decode

SAMPLES = np.random.default_rng(0).uniform(-0.9, 0.9, 500)
FUZZ = int(os.environ.get("RNNLAB_FUZZ", "600"))


@pytest.mark.parametrize(("coding", "bits"), [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)])
@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_every_coding_is_read_to_its_precision(coding: int, bits: int, extensible: bool, channels: int):
    given = np.random.default_rng(1).uniform(-0.9, 0.9, (500, channels))
    sound = decode(wav(given, 11025, bits, coding, extensible=extensible), "a.wav")
    assert sound.rate == 11025
    assert sound.samples.dtype == np.float32
    assert np.abs(sound.samples - given.mean(1)).max() < (2.0 ** (1 - bits) if coding == 1 else 0) + 1e-6


def test_other_chunks_are_passed_over_and_odd_ones_are_padded():
    extra = chunk(b"LIST", b"odd") + chunk(b"fact", b"four")
    assert np.allclose(decode(wav(SAMPLES, extra=extra), "a").samples, SAMPLES, atol=1e-4)
    assert len(decode(wav(SAMPLES) + b"rubbish behind it", "a").samples) == 500


def test_a_stream_of_unknown_size_is_read_to_its_end():
    made = bytearray(wav(SAMPLES))
    made[40:44] = b"\xff" * 4
    assert len(decode(bytes(made), "a").samples) == 500


WRONG = {
    "nothing": (b"", "no WAV file"),
    "a text": (b"This is no sound at all, is it?", "no WAV file"),
    "big-endian": (b"RIFX" + wav(SAMPLES)[4:], "no WAV file"),
    "only the beginning": (wav(SAMPLES)[:20], "cut off: the chunk 'fmt '"),
    "cut within the sound": (wav(SAMPLES)[:-100], "cut off: the chunk 'data' has 1,000 bytes by its header, and 900"),
    "no sound": (wav(SAMPLES[:0]), "there is no sound in it"),
    "no data chunk": (wav(SAMPLES)[:36], "ends without a chunk 'data'"),
    "sound before its layout": (b"RIFF\0\0\0\0WAVE" + chunk(b"data", b"1234"), "before the chunk 'fmt '"),
    "half a step": (wav(SAMPLES)[:40] + struct.pack("<I", 999) + wav(SAMPLES)[44:], "999 bytes of sound"),
    "mu-law": (wav(SAMPLES)[:20] + struct.pack("<H", 7) + wav(SAMPLES)[22:], "the coding 0x0007"),
    "12 bits": (wav(SAMPLES)[:34] + struct.pack("<H", 12) + wav(SAMPLES)[36:], "12 bits per sample"),
    "no channels": (wav(SAMPLES)[:22] + struct.pack("<H", 0) + wav(SAMPLES)[24:], "0 channels"),
    "rate 0": (wav(SAMPLES, 0), "0 samples per second"),
    "another block": (wav(SAMPLES)[:32] + struct.pack("<H", 6) + wav(SAMPLES)[34:], "6 bytes per step"),
    "not a number": (wav(np.append(SAMPLES, np.nan), coding=3, bits=32), "step 501 is nan"),
    "infinite": (wav(np.append(SAMPLES, -np.inf), coding=3, bits=64), "step 501 is -inf"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_file_is_said(name: str):
    content, reason = WRONG[name]
    with pytest.raises(DataError, match=r"take\.wav: ") as error:
        decode(content, "take.wav")
    assert reason in str(error.value)


def test_whatever_the_bytes_there_is_sound_or_our_error():
    """2,000 files with RNNLAB_FUZZ=2000: headers overwritten, cut, doubled and shuffled."""
    rng = np.random.default_rng(7)
    whole = [
        wav(SAMPLES[:60], bits=bits, coding=coding, extensible=ext)
        for coding, bits in ((1, 8), (1, 16), (1, 24), (3, 32))
        for ext in (False, True)
    ]
    read, refused = 0, list[str]()
    for number in range(FUZZ):
        made = bytearray(whole[number % len(whole)])
        for _ in range(rng.integers(1, 4)):
            kind, at = rng.integers(5), int(rng.integers(min(len(made), 70)))
            if kind == 0:
                made[at] = rng.integers(256)
            elif kind == 1:
                made[at : at + 4] = struct.pack("<I", int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 2])))
            elif kind == 2:
                del made[at : at + int(rng.integers(1, 40))]
            elif kind == 3:
                made[at:at] = made[: int(rng.integers(1, 60))]
            else:
                del made[int(rng.integers(len(made))) :]
            if not made:
                break
        try:
            sound = decode(bytes(made), "fuzz.wav")
        except DataError as error:
            refused.append(str(error))
            continue
        read += 1
        assert np.isfinite(sound.samples).all()
        frames = LogMel().frames(sound)
        assert np.isfinite(frames).all()
        assert frames.nbytes <= 100 * len(made) + 100_000
    assert 0 < read < FUZZ
    assert all(said.startswith("fuzz.wav: ") for said in refused)


def test_decoding_takes_a_few_times_the_memory_of_the_file():
    content = wav(np.tile(SAMPLES, 400))
    lying = content[:40] + struct.pack("<I", 2**31) + content[44:]  # two gigabytes are promised
    tracemalloc.start()
    try:
        decode(content, "take.wav")
        with pytest.raises(DataError):
            decode(lying, "take.wav")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(content)


# Frames


def test_frames_are_those_of_the_slow_formula():
    sound, mel = Waveform(SAMPLES.astype(np.float32), 8000), LogMel(window=20, hop=8, bands=7)
    size, hop, points = 160, 64, 512
    expected = []
    for start in range(0, 500 - size + 1, hop):
        power = []
        for k in range(points // 2 + 1):
            total = 0j
            for n in range(size):
                hann = np.sin(np.pi * (n + 1) / (size + 1)) ** 2
                total += sound.samples[start + n] * hann * np.exp(-2j * np.pi * k * n / points)
            power.append(abs(total) ** 2 / size)
        row = []
        top = 2595 * np.log10(1 + 4000 / 700)
        for band in range(7):
            low, middle, high = (700 * (10 ** (top * (band + i) / 8 / 2595) - 1) for i in range(3))
            energy = 0.0
            for k, p in enumerate(power):
                f = k * 8000 / points
                rising, falling = (f - low) / (middle - low), (high - f) / (high - middle)
                energy += p * max(0.0, min(rising, falling))
            row.append(np.log(max(energy, FLOOR)))
        expected.append(row)
    assert np.allclose(mel.frames(sound), expected, atol=1e-4)


def test_a_tone_is_loudest_in_its_band_at_any_rate():
    for rate in (8000, 11025, 16000, 44100):
        t = np.arange(rate // 4) / rate
        frames = LogMel(rate=8000).frames(Waveform(np.sin(2 * np.pi * 1000 * t).astype(np.float32), rate))
        assert set(frames[2:-2].argmax(1).tolist()) <= {18, 19}
        assert abs(len(frames) - 23) <= 1


def test_short_and_silent_recordings_have_frames():
    for samples in (np.zeros(1), np.zeros(1000), np.ones(3)):
        for trimmed in (False, True):
            frames = LogMel(trimmed=trimmed, centred=trimmed).frames(Waveform(samples.astype(np.float32), 8000))
            assert len(frames) >= 1
            assert np.isfinite(frames).all()


def test_silence_at_either_end_is_trimmed_and_the_mean_taken_away():
    quiet = np.random.default_rng(3).normal(0, 1e-4, 4000)
    word = tone(1, 0, 0, 0.3)
    sound = Waveform(np.concatenate([quiet, word, quiet]).astype(np.float32), 8000)
    whole, trimmed = LogMel().frames(sound), LogMel(trimmed=True).frames(sound)
    assert len(whole) > 120
    assert 20 <= len(trimmed) <= 35
    assert np.abs(LogMel(centred=True).frames(sound).mean(0)).max() < 1e-4


# Names


def test_patterns():
    pattern = Pattern("{label}_{speaker}_{n}.wav")
    assert pattern.read("deep/down/7_theo_12.wav") == {"label": "7", "speaker": "theo", "n": "12"}
    assert pattern.read("7_theo.wav") is None
    assert Pattern("{label}/{speaker}_nohash_{n}.wav").read("x/yes/0a7c_nohash_0.wav") == {
        "label": "yes",
        "speaker": "0a7c",
        "n": "0",
    }
    assert Pattern("{label}/*").read("yes/a.b.wav") == {"label": "yes"}
    for wrong in ("", "a.wav", "{label", "{label}{n}.wav", "{}_a.wav", "{a}_{a}.wav", "{label}*{n}"):
        with pytest.raises(WrongValue):
            Pattern(wrong)


def test_where():
    assert Where("n<5").holds(["4", "5", "10", "x"]) == [True, False, False, False]
    assert Where("n = 0, 1").holds(["0", "1", "2"]) == [True, True, False]
    assert Where("speaker!=theo").holds(["theo", "lucas"]) == [False, True]
    for wrong in ("n", "n<x", "=5", "n=", "n=1,,2"):
        with pytest.raises(WrongValue):
            Where(wrong)


# Files


def archived(folder: Path, path: Path) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(folder.glob("*.wav")):
                archive.write(file, f"recordings/{file.name}")
            archive.writestr("__MACOSX/._x.wav", "no sound")
    else:
        with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
            for file in sorted(folder.glob("*.wav"), reverse=True):
                archive.add(file, f"recordings/{file.name}")
    return path


def frames_of(path: Path, **more: Any) -> list[np.ndarray]:
    return read_recordings(path, LogMel().frames, pattern="{label}_{speaker}_{n}.wav", **more).heard


def test_folders_and_archives_hold_the_same(tmp_path: Path):
    folder = folder_of_tones(tmp_path / "tones")
    found = read_recordings(folder, LogMel().frames, pattern="{label}_{speaker}_{n}.wav")
    assert found.labels == ["0"] * 20 + ["1"] * 20 + ["2"] * 20
    assert found.fields["speaker"][:6] == ["anna"] * 5 + ["bert"]
    for name in ("a.zip", "a.tar", "a.tar.gz", "a.tgz"):
        path = archived(folder, tmp_path / name)
        assert holds_sound(path)
        again = read_recordings(path, LogMel().frames, pattern="{label}_{speaker}_{n}.wav")
        assert again.labels == found.labels
        assert all(np.array_equal(a, b) for a, b in zip(found.heard, again.heard, strict=True))


def test_a_folder_per_label_needs_no_pattern(tmp_path: Path):
    for label in ("yes", "no"):
        (tmp_path / "words" / label).mkdir(parents=True)
        for take in range(3):
            (tmp_path / "words" / label / f"{take}.wav").write_bytes(wav(SAMPLES * (take + 1) / 4))
    assert read_recordings(tmp_path / "words", LogMel().frames).labels == ["no"] * 3 + ["yes"] * 3


def test_a_table_names_recordings(tmp_path: Path):
    folder_of_tones(tmp_path / "tones", 2, 2, 2)
    rows = [f"tones/{p.name},{p.name[0]},{p.name.split('_')[1]}" for p in sorted((tmp_path / "tones").iterdir())]
    table = tmp_path / "all.csv"
    table.write_text("\n".join(["file,digit,who", *rows]))
    assert names_recordings(table)
    with pytest.raises(DataError, match="--label NAME; it could be 'digit'"):
        read_recordings(table, LogMel().frames)
    found = read_recordings(table, LogMel().frames, label="digit")
    assert found.labels == list("00001111")
    assert found.fields["who"] == ["anna", "anna", "bert", "bert"] * 2
    table.write_text("\n".join(["file,label", *(row.rsplit(",", 1)[0] for row in rows), "tones/gone.wav,1"]))
    with pytest.raises(DataError, match=r"all.csv:10: tones/gone.wav: no such file"):
        read_recordings(table, LogMel().frames)


def test_what_cannot_be_read_is_named_or_skipped(tmp_path: Path):
    folder = folder_of_tones(tmp_path / "tones")
    (folder / "1_anna_99.wav").write_bytes(wav(SAMPLES)[:60])
    path = archived(folder, tmp_path / "a.tar.gz")
    for at in (folder, path):
        with pytest.raises(DataError, match="1 recording can't be read") as error:
            frames_of(at)
        assert "1_anna_99.wav: cut off" in str(error.value)
        found = read_recordings(at, LogMel().frames, pattern="{label}_{speaker}_{n}.wav", skip_bad=True)
        assert len(found) == 60
        assert len(found.skipped) == 1


def test_a_name_that_tells_no_label_is_an_error_with_a_pattern_to_try(tmp_path: Path):
    folder = folder_of_tones(tmp_path / "tones")
    with pytest.raises(DataError, match=r"what is its label\?.*--pattern '\{label\}_\{speaker\}_\{n\}.wav'"):
        read_recordings(folder, LogMel().frames)
    with pytest.raises(DataError, match=r"0_anna_0.wav: not of the pattern '\{label\}-\{n\}.wav'"):
        read_recordings(folder, LogMel().frames, pattern="{label}-{n}.wav")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_damaged_archives_are_our_error(tmp_path: Path, name: str):
    path = archived(folder_of_tones(tmp_path / "tones", 2, 1, 2), tmp_path / name)
    whole, rng = path.read_bytes(), np.random.default_rng(5)
    for _ in range(30):
        made = bytearray(whole)
        for _ in range(3):
            at = int(rng.integers(len(made)))
            made[at : at + 3] = rng.bytes(3)
        path.write_bytes(made[: int(rng.integers(len(made)))] if rng.random() < 0.5 else made)
        holds_sound(path)
        try:
            for _, content in sounds(path):
                decode(content, "x")
        except DataError:
            pass


def test_an_archive_that_swells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rnnlab.data.sound.files.HARMLESS", 1000)
    path = tmp_path / "bomb.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("../../0_a_0.wav")
        member.size = 1_000_000
        archive.addfile(member, io.BytesIO(bytes(1_000_000)))
    with pytest.raises(DataError, match="more than 50 times as large"):
        list(sounds(path))
    assert [p.name for p in tmp_path.iterdir()] == ["bomb.tar.gz"]


# Leaks


def test_speakers_on_both_sides_are_told_and_takes_are_not():
    speakers, takes = ["anna", "bert"] * 20, [str(n // 2 % 10) for n in range(40)]
    labels = np.arange(40) // 20
    mixed = {"train": np.arange(0, 30), "test": np.arange(30, 40)}
    apart = {"train": np.arange(0, 40, 2), "test": np.arange(1, 40, 2)}
    fields = {"speaker": speakers, "n": takes}
    (said,) = straddling(fields, mixed, labels)
    assert said.startswith("2 of 2 values of 'speaker' stand in train and in test (anna, bert)")
    assert "--group speaker" in said
    assert straddling(fields, apart, labels) == []
    numbered = {"speaker": [str(1 + (name == "bert")) for name in speakers]}
    assert len(straddling(numbered, mixed, labels)) == 1
    assert straddling({"digit": [str(label) for label in labels]}, mixed, labels) == []


def test_coefficients_are_those_of_the_bands_and_places_tell_how_far():
    from scipy.fft import dct

    sound = Waveform(SAMPLES.astype(np.float32), 8000)
    plain, made = LogMel(bands=20), LogMel(bands=20, coefficients=8, places=3)
    bands, frames = plain.frames(sound), made.frames(sound)
    assert frames.shape == (len(bands), 11) == (len(bands), made.numbers)
    assert np.allclose(frames[:, :8], np.asarray(dct(bands, axis=1, norm="ortho"))[:, :8], atol=1e-4)
    assert frames[0, 8:].tolist() == [1, 0, 0]
    assert frames[-1, 8:].tolist() == [0, 0, 1]
    assert np.allclose(frames[:, 8:].sum(1), 1)
    assert np.allclose(made.from_spectra(made.spectra(frames), np.array([len(frames)])), frames, atol=1e-5)
    assert np.array_equal(plain.spectra(bands), bands)
    assert LogMel(places=2).places_of(np.array([1, 2])).tolist() == [[1, 0], [1, 0], [0, 1]]


def test_a_power_is_near_the_logarithm_and_levelled_recordings_are_equally_loud():
    sound, louder = (Waveform((SAMPLES * gain).astype(np.float32), 8000) for gain in (0.1, 0.8))
    assert np.allclose(LogMel(power=1e-4).frames(sound), LogMel().frames(sound), atol=0.05)
    for power in (0.0, 0.1):
        made = LogMel(power=power, levelled=True)
        assert np.allclose(made.frames(sound), made.frames(louder), atol=1e-4)
        assert made.frames(sound).max() == pytest.approx(0, abs=1e-6)
        assert not np.allclose(LogMel(power=power).frames(sound), LogMel(power=power).frames(louder), atol=0.1)


def test_slopes_are_those_of_a_line_and_stay_within_their_recording():
    lines = np.concatenate([np.arange(9)[:, None] * [1.0, -2.0] + 5, np.arange(4)[:, None] * [3.0, 0.5]])
    found = slopes(lines, np.array([9, 4]))
    assert np.allclose(found[2:7], [1, -2])
    assert np.allclose(slopes(lines[9:], np.array([4])), found[9:])
    sound, made = Waveform(SAMPLES.astype(np.float32), 8000), LogMel(bands=9, coefficients=5, slopes=True, places=2)
    frames = made.frames(sound)
    assert frames.shape[1] == made.numbers == 12
    assert np.allclose(frames[:, 5:10], slopes(frames[:, :5], np.array([len(frames)])), atol=1e-5)
