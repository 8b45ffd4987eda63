"""One Keras model over given batches, in a process of its own: `benchmarks/peers.py` starts it with KERAS_BACKEND set.

    KERAS_BACKEND=jax python benchmarks/peer_keras.py rnn BATCHES.npz WORDS CLASSES

Prints a JSON line: seconds a step of the last of its epochs.
"""

import json
import sys
import time
from typing import Any

import keras
import numpy as np

LENGTHS = (4, 8, 16, 24, 32, 48, 64)  # to which JAX's batches are padded: it compiles for each
EPOCHS = 2  # the first compiles and warms up


class Batches(keras.utils.PyDataset):
    def __init__(self, file: str, pad: bool):
        super().__init__()
        arrays = np.load(file, allow_pickle=False)
        number = len(arrays.files) // 2
        inputs = [arrays[f"inputs{i}"] for i in range(number)]
        self.batches = [
            (padded(ids) if pad else ids, targets)
            for ids, targets in zip(inputs, (arrays[f"targets{i}"] for i in range(number)), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.batches[index]


def padded(ids: np.ndarray) -> np.ndarray:
    wanted = next((length for length in LENGTHS if length >= ids.shape[1]), ids.shape[1])
    return np.pad(ids, ((0, 0), (0, wanted - ids.shape[1])))


class Clock(keras.callbacks.Callback):
    """Seconds of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        self.started = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        self.seconds.append(time.perf_counter() - self.started)


def main() -> None:
    kind, file, words, classes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if keras.backend.backend() == "torch":
        import torch

        torch.set_num_threads(2)
    layer = {"rnn": keras.layers.SimpleRNN, "gru": keras.layers.GRU, "lstm": keras.layers.LSTM}[kind]
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.layers.Embedding(words, 50, mask_zero=True), layer(128), keras.layers.Dense(classes)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=loss)  # jit_compile="auto": where the backend has it
    batches, clock = Batches(file, pad=keras.backend.backend() == "jax"), Clock()
    silent: Any = 0  # documented; the annotation knows "auto" alone
    model.fit(batches, epochs=EPOCHS, shuffle=False, verbose=silent, callbacks=[clock])
    print(json.dumps({"seconds": clock.seconds[-1] / len(batches), "first": clock.seconds[0] / len(batches)}))


if __name__ == "__main__":
    main()
