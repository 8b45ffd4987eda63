"""Changes of recordings in training: each does what it says, and depends on its random numbers alone."""

import itertools

import numpy as np
import pytest

from rnnlab.data.preprocessor import Scaler
from rnnlab.data.sequences import offsets_of
from rnnlab.data.sound.augment import Augment
from rnnlab.data.sound.mel import LogMel
from rnnlab.data.sound.wav import Waveform

OFF = dict.fromkeys(Augment.model_fields, 0)
BANDS = 12
SOUND, SCALER = LogMel(bands=BANDS), Scaler((1.0,) * BANDS, (2.0,) * BANDS)
LENGTHS = np.array([20, 1, 7, 40])
OFFSETS = offsets_of(LENGTHS)
VALUES = np.random.default_rng(0).normal(size=(LENGTHS.sum(), BANDS)).astype(np.float32)


def varied(seed: int = 0, **settings: float) -> tuple[np.ndarray, np.ndarray]:
    before = VALUES.copy()
    found = Augment.model_validate(OFF | settings).vary((VALUES, OFFSETS), SOUND, SCALER, np.random.default_rng(seed))
    assert np.array_equal(VALUES, before), "the training rows themselves were changed"
    return found


def test_nothing_is_changed_when_all_is_off():
    assert not Augment.model_validate(OFF).active
    values, offsets = varied()
    assert np.allclose(values, VALUES, atol=1e-6)
    assert np.array_equal(offsets, OFFSETS)


@pytest.mark.parametrize("name", Augment.model_fields)
def test_each_change_is_drawn_from_the_seed(name: str):
    strong = {"bands": 6, "gain": 6.0, "microphone": 6.0}.get(name, 0.3)
    first, again, other = (varied(seed, **{name: strong}) for seed in (1, 1, 2))
    assert np.array_equal(first[0], again[0])
    assert first[0].shape != other[0].shape or not np.allclose(first[0], other[0])
    assert first[0].dtype == np.float32
    assert np.isfinite(first[0]).all()


def test_tempo_keeps_the_ends_and_changes_the_length():
    values, offsets = varied(tempo=0.5)
    lengths = np.diff(offsets)
    assert (lengths >= np.minimum(LENGTHS, LENGTHS / 1.5 - 1)).all()
    assert (lengths <= LENGTHS * 1.5 + 1).all()
    assert not np.array_equal(lengths, LENGTHS)
    assert np.allclose(values[offsets[:-1]], VALUES[OFFSETS[:-1]], atol=1e-5)
    assert np.allclose(values[offsets[1:] - 1], VALUES[OFFSETS[1:] - 1], atol=1e-4)


def test_gain_moves_all_bands_alike():
    moved = varied(gain=6.0)[0] - VALUES
    for first, last in itertools.pairwise(OFFSETS):
        assert np.ptp(moved[first:last]) < 1e-5
    assert np.abs(moved).max() <= 6 * np.log(10) / 10 / 2 + 1e-5  # 2 is the deviation of the scaler


def test_a_warp_is_what_another_speed_does_to_the_frequencies():
    t = np.arange(8000) / 8000
    sound = Waveform((np.sin(2 * np.pi * 1000 * t) + 0.3 * np.sin(2 * np.pi * 2000 * t)).astype(np.float32), 8000)
    mel = LogMel(bands=40)
    scaler = Scaler((0.0,) * 40, (1.0,) * 40)
    rng = np.random.default_rng(3)
    factor = np.exp(np.random.default_rng(3).uniform(-1, 1, 1) * np.log1p(0.2))[0]
    frames = mel.frames(sound)
    heard, _ = Augment.model_validate(OFF | {"warp": 0.2}).vary((frames, np.array([0, len(frames)])), mel, scaler, rng)
    played = mel.frames(sound.faster(1 / factor))  # where a band hears what stood higher, the sound is lower
    assert abs(int(heard[5].argmax()) - int(played[5].argmax())) <= 1
    assert heard[5].argmax() != frames[5].argmax()


def test_masks_are_where_the_mean_is():
    values = varied(bands=4)[0]
    for first, last in itertools.pairwise(OFFSETS):
        gone = (values[first:last] == 0).all(0)
        assert gone.sum() <= 8
        assert np.allclose(values[first:last][:, ~gone], VALUES[first:last][:, ~gone], atol=1e-6)
    gone = [(varied(seed, frames=0.2)[0][OFFSETS[3] :] == 0).all(1).sum() for seed in range(20)]
    assert 8 < max(gone) <= 16


def test_coefficients_are_changed_through_their_bands_and_places_follow_the_tempo():
    mel = LogMel(bands=BANDS, coefficients=6, places=3)
    scaler = Scaler((0.5,) * 9, (2.0,) * 9)
    spectra = VALUES.copy()
    given = ((mel.from_spectra(spectra, LENGTHS) - 0.5) / 2).astype(np.float32)
    rng = np.random.default_rng
    same, _ = Augment.model_validate(OFF).vary((given, OFFSETS), mel, scaler, rng(0))
    assert np.allclose(same, given, atol=1e-5)
    slower, offsets = Augment.model_validate(OFF | {"tempo": 0.5}).vary((given, OFFSETS), mel, scaler, rng(0))
    assert np.allclose(slower[:, 6:] * 2 + 0.5, mel.places_of(np.diff(offsets)), atol=1e-5)
    louder, _ = Augment.model_validate(OFF | {"gain": 6.0}).vary((given, OFFSETS), mel, scaler, rng(0))
    moved = np.abs(louder - given).max(0)
    assert moved[0] > 0.1  # the first coefficient is the level of all bands
    assert moved[1:].max() < 1e-5
