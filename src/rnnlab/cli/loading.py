"""Torch and what else a command needs are loaded while somebody waits."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Around the imports of a command that is over in a moment.

    Modules are hundreds of thousands of objects, and none of them is garbage. Python looks through all of them again
    and again while they are loaded, and once more at the end of the process: a quarter of the time that `predict`
    would take. So it doesn't look while they are loaded, and never again at what was there by then."""
    if "torch" in sys.modules:  # a longer-lived process, such as a test: its garbage is to be found
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
