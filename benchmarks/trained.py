"""A model to be measured with: an LSTM of 128 units that reads movie reviews, of one step, for weights don't matter."""

import tempfile
from functools import cache
from pathlib import Path

import rnnlab


@cache
def trained() -> Path:
    """Its run directory, made once a process."""
    run = rnnlab.train(
        "movie-reviews",
        model="lstm",
        training={"steps": 1},
        settings=["model.hidden=128", "model.embedding.width=50"],
        out=tempfile.mkdtemp(),
    )
    return run.path
