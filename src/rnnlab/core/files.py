"""Files that are either there or not: a crash never leaves half of one behind."""

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path


def write_atomically(path: str | Path, data: bytes | memoryview | str) -> None:
    """Write ``data`` (text as UTF-8, line ends untouched) so that a reader sees the old file or the new one."""
    write_parts(path, [data.encode() if isinstance(data, str) else data])


def write_parts(path: str | Path, parts: Iterable[bytes | memoryview]) -> None:
    """As `write_atomically`, one part behind the other, so that large ones needn't be joined in memory first."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        move_into_place(temporary, path)
    except BaseException:  # an interrupted write too must leave nothing behind
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def move_into_place(temporary: Path, path: Path) -> None:
    """Rename a finished file of the same folder and make the new name last through a power cut."""
    for patience in (0.01, 0.1, 1.0):
        try:
            os.replace(temporary, path)
            break
        except PermissionError:  # on Windows, while another process reads what is there
            if sys.platform != "win32":
                raise
            time.sleep(patience)
    else:
        os.replace(temporary, path)
    with contextlib.suppress(OSError, AttributeError):  # Windows can't open a folder; some file systems can't sync one
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Other processes that want the same ``path`` wait while this is held; any death frees it. Leaves a lock file."""
    try:
        import fcntl
    except ImportError:  # Windows: nobody waits
        yield
        return
    with open(path.with_name(f".{path.name}.lock"), "w") as file:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
