"""The native kernels: a small C++ library, compiled for this very processor when a training first needs it.

It is optional. Without a compiler, or with ``RNNLAB_NATIVE=off``, everything runs on torch, slower, with the same
answers to rounding (but for what a Transformer drops in training). `rnnlab doctor` says which path is in use.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rnnlab.core.words import note, retold, say
from rnnlab.kernels import build
from rnnlab.kernels.build import BuildError, obtain
from rnnlab.kernels.build import compiler_command as compiler_command  # for `doctor`

SWITCH = "RNNLAB_NATIVE"
REVISION = 2  # of what the kernels compute: one more where results change in rounding; recorded with every run
_allowed = True


@dataclass(frozen=True)
class Status:
    """Which path is in use, and why."""

    active: bool
    reason: str
    compiler: str | None = None
    vectors: str | None = None  # "avx512", "avx2", … what the library was compiled for
    library: Path | None = None


def _unwanted() -> bool:
    return os.environ.get(SWITCH, "on").lower() in ("off", "0", "no", "false")


@cache
def _loaded() -> tuple[ctypes.CDLL | None, Status]:
    if _unwanted():
        return None, Status(False, note("switched off by {setting}", setting=f"{SWITCH}={os.environ[SWITCH]}"))
    try:
        built = obtain()
    except BuildError as error:
        return None, Status(False, str(error))
    try:
        library = ctypes.CDLL(str(built.path))
    except OSError as error:
        return None, Status(False, note("the library can't be loaded: {error}", error=error), str(built.compiler))
    library.vector_name.restype = ctypes.c_char_p
    vectors = library.vector_name().decode()
    _share_threads(library)
    reason = note("built by {compiler} for {vectors}", compiler=built.compiler.name, vectors=vectors)
    return library, Status(True, reason, str(built.compiler), vectors, built.path)


def library() -> ctypes.CDLL | None:
    """The loaded library, compiled first if need be; None where there is none. Imports torch."""
    return _loaded()[0] if _allowed else None


def ready() -> ctypes.CDLL | None:
    """As `library`, but never compiles: None until somebody has. Training compiles; to answer, nobody should wait."""
    return library() if _loaded.cache_info().currsize or _found() else None


@cache
def _found() -> bool:
    """Looked for once: what is compiled later in this process is loaded by then."""
    return not _unwanted() and build.is_built()


@contextmanager
def switched_off() -> Iterator[None]:
    """Torch alone, to compare with."""
    global _allowed
    before, _allowed = _allowed, False
    try:
        yield
    finally:
        _allowed = before


def prepare() -> None:
    """Compile the library if it isn't there, without loading it: before processes begin that would all wait for it."""
    if not _unwanted():
        with suppress(BuildError):
            obtain()


def slower() -> str | None:
    """One line for somebody whose training takes longer here than it need, and doesn't know; None for the others, among
    them who switched the library off. Compiles nothing."""
    reason = None if _unwanted() else build.obstacle()
    if reason is None:
        return None
    return say(
        "training runs on torch alone and takes two to five times as long, because {reason}", reason=retold(reason)
    )


def status() -> Status:
    """What `library` found."""
    return _loaded()[1]


def _share_threads(library: ctypes.CDLL) -> None:
    """Give the library the thread pool that torch uses. A second pool would compete with the idle threads of the first,
    which keep spinning for a while. Where torch's can't be found, the library runs on one thread."""
    import torch

    for path in sorted((Path(torch.__file__).parent / "lib").glob("lib*omp*.so*")):
        try:
            openmp = ctypes.CDLL(str(path))
            start, size = openmp.GOMP_parallel, openmp.omp_get_num_threads
        except (OSError, AttributeError):
            continue
        library.use_threads(ctypes.cast(start, ctypes.c_void_p), ctypes.cast(size, ctypes.c_void_p))
        return
