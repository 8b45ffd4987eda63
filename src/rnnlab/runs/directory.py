"""The run directory: spec.json first, events as they come, result.json last. It *is* the model. No torch here.

runs/<digest>/
    spec.json                 what was asked for, defaults filled in
    events.jsonl              one line an epoch, as it happened
    checkpoint.safetensors    while unfinished: where to go on
    model.json                labels, tokeniser, vocabulary
    weights.safetensors       the best epoch
    predictions.safetensors   outputs on the validation and test rows
    result.json               written last, with a SHA-256 of every other file
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import sleep
from typing import Any

from rnnlab.core.errors import RunError
from rnnlab.core.files import write_atomically

RESULT_FORMAT = 1
CHECKPOINT = "checkpoint.safetensors"
PATIENCE = 0.2  # seconds between two looks whether another process is done with a run
SEALED = ("spec.json", "model.json", "weights.safetensors", "predictions.safetensors")


@dataclass(frozen=True)
class Finished:
    result: dict[str, Any]


@dataclass(frozen=True)
class Diverged:
    """NaN or explosion: a result like any other, with step, layer and time step."""

    result: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """The run could not be done; it will be tried again by the next command."""

    reason: str


@dataclass(frozen=True)
class Stopped:
    """Interrupted on request; a checkpoint says where to go on."""


Outcome = Finished | Diverged | Failed | Stopped


class RunDirectory:
    """Reads and writes one run. Where a path is asked for, it is its own."""

    def __init__(self, path: str | PathLike[str]):
        self.path: Path = Path(path)

    def __fspath__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def create(self, spec: dict[str, Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self / "spec.json").exists():
            write_atomically(self / "spec.json", pretty_json(spec))

    def spec(self) -> dict[str, Any]:
        return self._json("spec.json")

    def result(self) -> dict[str, Any] | None:
        """The result, or None while there is none."""
        return self._json("result.json") if (self / "result.json").exists() else None

    def outcome(self) -> Finished | Diverged | None:
        """What an earlier command found out, if it did."""
        result = self.result()
        if result is None:
            return None
        if result.get("format") != RESULT_FORMAT:
            raise RunError(
                "{file}: format {found!r}, but this version of rnnlab reads {ours}; upgrade rnnlab "
                "or delete the run to compute it again",
                file=self / "result.json",
                found=result.get("format"),
                ours=RESULT_FORMAT,
            )
        return Diverged(result) if result["status"] == "diverged" else Finished(result)

    def seal(self, result: dict[str, Any]) -> dict[str, Any]:
        """Write result.json, with the checksums of the other files: from now on the run counts as done."""
        sums = {name: sha256_of(self / name) for name in SEALED if (self / name).exists()}
        result = {"format": RESULT_FORMAT, **result, "files": sums}
        write_atomically(self / "result.json", pretty_json(result))
        self.forget_checkpoint()
        return result

    def forget_checkpoint(self) -> None:
        """With what kills in the middle of writing one left, and the second file that there was before."""
        for pattern in ("checkpoint.*", ".checkpoint.*.tmp"):
            for leftover in self.path.glob(pattern):
                leftover.unlink(missing_ok=True)

    def verified(self, name: str) -> Path:
        """The path of a sealed file, after checking that its bytes are those that were written."""
        result = self.result()
        if result is None:
            raise RunError(
                "{path}: not a finished run (no result.json); run the command again to finish it", path=self.path
            )
        expected = result["files"].get(name)
        if expected is None:
            raise RunError(
                "{path}: this run has no {name} (status: {status})", path=self.path, name=name, status=result["status"]
            )
        if not (self / name).is_file():
            raise RunError("{file}: missing; delete the run directory to compute it again", file=self / name)
        if sha256_of(self / name) != expected:
            raise RunError(
                "{file}: damaged (SHA-256 differs); delete the run directory to compute it again", file=self / name
            )
        return self / name

    def append_event(self, event: dict[str, Any]) -> None:
        with open(self / "events.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(event, ensure_ascii=False) + "\n")

    def events(self) -> list[dict[str, Any]]:
        """Complete lines only: a line cut off by a kill is not an event."""
        if not (self / "events.jsonl").exists():
            return []
        found = []
        for line in (self / "events.jsonl").read_text(encoding="utf-8").split("\n"):
            with contextlib.suppress(json.JSONDecodeError):
                found.append(json.loads(line))
        return found

    def keep_events(self, step: int) -> None:
        """Forget what happened after a step: a resumed run will live through it again."""
        kept = [event for event in self.events() if event.get("step", 0) <= step]
        write_atomically(self / "events.jsonl", "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in kept))

    @contextlib.contextmanager
    def lock(self, go_on_waiting: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Held while a run is computed, so that two commands never write to one directory; freed by any death. Where
        another process holds it, it is waited for as long as one wants to."""
        try:
            import fcntl
        except ImportError:  # Windows: no lock, as before
            yield
            return
        with open(self / ".lock", "w") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if not go_on_waiting():
                        raise RunError("{path}: another process is computing this run", path=self.path) from None
                    sleep(PATIENCE)
            yield

    def _json(self, name: str) -> dict[str, Any]:
        try:
            return json.loads((self / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError("{path}: not a run directory (no {name})", path=self.path, name=name) from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise RunError("{file}: damaged: {error}", file=self / name, error=error) from None


def find_runs(folder: str | Path) -> list[RunDirectory]:
    """Every run directory in a folder, oldest first."""
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(
            "{folder}: no such folder; runs are written by 'rnnlab compare' and 'rnnlab train'", folder=folder
        )
    specs = folder.glob("*/spec.json")
    return [RunDirectory(p.parent) for p in sorted(specs, key=lambda p: (os.stat(p).st_mtime, p.parent.name))]


def find_run(path: str | PathLike[str]) -> RunDirectory:
    """A run by its path, or by the beginning of its name."""
    path = Path(path)
    if (path / "spec.json").is_file():
        return RunDirectory(path)
    matches = [p for p in path.parent.glob(path.name + "*") if (p / "spec.json").is_file()] if path.name else []
    if len(matches) == 1:
        return RunDirectory(matches[0])
    if matches:
        raise RunError("{path}: ambiguous: {names}", path=path, names=", ".join(sorted(p.name for p in matches)))
    raise RunError(
        "{path}: not a run directory; 'rnnlab runs {parent}' lists what there is", path=path, parent=path.parent
    )


def sha256_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pretty_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
