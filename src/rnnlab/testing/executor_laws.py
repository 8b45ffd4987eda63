"""The laws that every executor obeys, for rnnlab's own and for another engine's.

    from rnnlab.testing import check_executor

    def make(plugins, limits):
        return MyEngine(places=2, plugins=plugins, limits=limits)

    def test_my_engine():
        check_executor(make)

``make`` is a function of a module that can be imported, because one law kills the process that called `map`. The
executor does two runs at a time, or one. Each law is a function of its own, listed in `EXECUTOR_LAWS`; a broken one is
an AssertionError that names it. The laws are about processes and signals, so they need Linux.
"""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, Protocol

from rnnlab.core.config import parse
from rnnlab.core.registry import load_plugin
from rnnlab.execute.executors import Executor, Limits, Serial
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.recurrent import GRU, RNN
from rnnlab.runs.directory import SEALED, Diverged, Failed, Finished, Outcome, Stopped
from rnnlab.tasks.synthetic import FirstLast
from rnnlab.testing.suite import holding
from rnnlab.training.spec import RunSpec, Training

PLUGIN = str(Path(__file__).with_name("misbehaving.py"))
ENDLESS = 1_000_000  # epochs
PLACES = 2  # runs at a time, at most


class MakeExecutor(Protocol):
    __module__: str
    __qualname__: str

    def __call__(self, plugins: tuple[str, ...], limits: Limits) -> Executor: ...


Law = Callable[[MakeExecutor], None]
EXECUTOR_LAWS: dict[str, Law] = {}
ISOLATION_LAWS: set[str] = set()
"""Of the laws, those that an executor without a process for every run (`Serial`) can't obey."""


def check_executor(make: MakeExecutor, *, isolated: bool = True) -> None:
    """Hold an executor to every law; to fewer, if its runs are not in processes of their own."""
    for name, law in EXECUTOR_LAWS.items():
        if isolated or name not in ISOLATION_LAWS:
            law(make)


def _law(check: Callable[[MakeExecutor, Path], None]) -> Law:
    """Register a law. It gets a folder of its own."""

    @wraps(check)
    def held(make: MakeExecutor) -> None:
        law = holding(f"'{make.__qualname__}'", check)
        with tempfile.TemporaryDirectory(prefix="rnnlab-laws-") as folder, misbehaviour(), law:
            check(make, Path(folder))

    EXECUTOR_LAWS[check.__name__] = held
    return held


def _isolation_law(check: Callable[[MakeExecutor, Path], None]) -> Law:
    ISOLATION_LAWS.add(check.__name__)
    return _law(check)


@_law
def same_bits_as_serial(make: MakeExecutor, folder: Path) -> None:
    """Every file that a result vouches for, of runs that finish and of one that diverges; each with one outcome."""
    specs = [spec_of(GRU(hidden=4), seed=seed) for seed in (0, 1, 2)] + [diverging()]
    wanted = outcomes(Serial(), specs, folder / "serial")
    found = outcomes(make((), Limits()), specs, folder / "engine")
    kinds = [type(found[number]) for number in range(4)]
    assert kinds == [Finished, Finished, Finished, Diverged], f"outcomes {kinds}"
    for spec in specs:
        one, other = bits(folder / "serial" / spec.digest), bits(folder / "engine" / spec.digest)
        assert one == other, f"other bits in {[name for name in one if one[name] != other.get(name)]}"
    differing = {key for n in found for key in set(_result(wanted[n])) ^ set(_result(found[n]))}
    assert not differing, f"results with other entries: {differing}"


@_law
def specs_are_pulled_when_there_is_a_place(make: MakeExecutor, folder: Path) -> None:
    """A strategy that chooses the next run knows the outcomes before it."""
    pulled, taken = 0, 0

    def specs() -> Iterator[RunSpec]:
        nonlocal pulled
        for seed in range(5):
            assert pulled - taken < PLACES, f"run {seed} was pulled while {pulled - taken} were under way"
            pulled += 1
            yield spec_of(GRU(hidden=4), seed=seed)

    for _, outcome in make((), Limits()).map(specs(), folder, lambda number, event: None):
        assert isinstance(outcome, Finished)
        taken += 1
    assert taken == 5, f"{taken} outcomes of 5 runs"


@_law
def events_come_as_they_happen(make: MakeExecutor, folder: Path) -> None:
    """``started``, then every epoch, before the outcome; each with the number of its run."""
    seen: list[tuple[int, str]] = []
    specs = [spec_of(GRU(hidden=4), seed=seed, epochs=3) for seed in (0, 1)]
    executor = make((), Limits())
    for number, _ in executor.map(specs, folder, lambda n, event: seen.append((n, event["event"]))):
        seen.append((number, "outcome"))
    for number in (0, 1):
        own = [name for n, name in seen if n == number and name != "progress"]
        assert own == ["started", "epoch", "epoch", "epoch", "outcome"], f"run {number} had {own}"


@_law
def what_cannot_be_done_is_one_failed_run(make: MakeExecutor, folder: Path) -> None:
    """An error in a run, and a spec that can't be written down, let alone pickled."""
    specs = [misbehaving("fail", folder), unsendable(folder), spec_of(GRU(hidden=4))]
    found = outcomes(make((PLUGIN,), Limits()), specs, folder / "runs")
    assert isinstance(found[0], Failed), f"the run that fails: {found[0]}"
    assert "as it was told" in found[0].reason, found[0].reason
    assert isinstance(found[1], Failed), f"the run that can't be sent: {found[1]}"
    assert isinstance(found[2], Finished), f"the run beside them: {found[2]}"


@_law
def an_unwanted_run_is_stopped(make: MakeExecutor, folder: Path) -> None:
    """When the sink says so; with a checkpoint, from which the next command goes on."""
    specs = [spec_of(GRU(hidden=4), epochs=ENDLESS), spec_of(GRU(hidden=4), seed=1)]
    epochs: list[int] = []

    def sink(number: int, event: dict[str, Any]) -> bool:
        if number == 0 and event["event"] == "epoch":
            epochs.append(event["epoch"])
        return number == 0 and event["event"] == "epoch"

    for _ in range(2):
        found = dict(make((), Limits()).map(specs, folder, sink))
        assert isinstance(found[0], Stopped), f"the unwanted run: {found[0]}"
        assert isinstance(found[1], Finished), f"the other run: {found[1]}"
        assert (folder / specs[0].digest / "checkpoint.safetensors").exists(), "there is no checkpoint"
    assert epochs == list(range(1, len(epochs) + 1)), f"it didn't go on from its checkpoint: {epochs}"


@_law
def an_interrupt_stops_what_is_under_way(make: MakeExecutor, folder: Path) -> None:
    """SIGINT: the runs under way are `Stopped` with a checkpoint, no other is begun, no process is left."""
    specs = [misbehaving("nothing", folder, seed=seed, epochs=ENDLESS) for seed in range(4)]
    begun, seen = set(), set()
    found: list[tuple[int, Outcome]] = []

    def sink(number: int, event: dict[str, Any]) -> None:
        begun.add(number)
        if event["event"] == "epoch" and not seen:
            seen.add(number)
            os.kill(os.getpid(), signal.SIGINT)

    try:
        found.extend(make((PLUGIN,), Limits()).map(specs, folder / "runs", sink))
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("no KeyboardInterrupt followed")
    assert seen <= {number for number, _ in found} <= begun, f"begun {begun}, outcomes {found}"
    assert all(isinstance(outcome, Stopped) for _, outcome in found), f"outcomes {found}"
    kept = [(folder / "runs" / specs[number].digest / "checkpoint.safetensors").exists() for number in seen]
    assert all(kept), "there is no checkpoint"
    no_process_left(folder)


@_law
def a_dying_head_loses_no_finished_run(make: MakeExecutor, folder: Path) -> None:
    """The process that called `map` is killed: what had come home is kept, the rest ends by itself, and the same call
    computes what is missing, no more."""
    script = "import sys; from rnnlab.testing.executor_laws import be_a_head; be_a_head(*sys.argv[1:])"
    command = [sys.executable, "-c", script, make.__module__, make.__qualname__, str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as head:
        assert head.stdout is not None
        assert head.stderr is not None
        line = head.stdout.readline()
        head.kill()
        assert line == "one is finished, one is under way\n", f"the head said {line!r}, {head.stderr.read()}"
    no_process_left(folder)
    specs = heads_runs(folder, epochs=3)
    stamp = (folder / "runs" / specs[0].digest / "result.json").stat().st_mtime_ns
    found = outcomes(make((PLUGIN,), Limits()), specs, folder / "runs")
    assert all(isinstance(outcome, Finished) for outcome in found.values()), f"afterwards {found}"
    assert (folder / "runs" / specs[0].digest / "result.json").stat().st_mtime_ns == stamp, "it was computed again"


def heads_runs(folder: Path, epochs: int) -> list[RunSpec]:
    return [misbehaving("nothing", folder, seed=0, epochs=2), misbehaving("nothing", folder, seed=1, epochs=epochs)]


def be_a_head(module: str, name: str, folder: str) -> None:
    """In a process that is going to be killed."""
    from importlib import import_module

    make = getattr(import_module(module), name)
    news = {"finished": False, "under way": False}

    def tell(what: str) -> None:
        news[what] = True
        if all(news.values()):
            print("one is finished, one is under way", flush=True)
            news["finished"] = False

    def sink(number: int, event: dict[str, Any]) -> None:
        if number == 1 and event["event"] == "epoch" and not news["under way"]:
            tell("under way")

    with misbehaviour():
        for _ in make((PLUGIN,), Limits()).map(heads_runs(Path(folder), ENDLESS), Path(folder) / "runs", sink):
            tell("finished")


@_isolation_law
def a_killed_process_costs_one_retry(make: MakeExecutor, folder: Path) -> None:
    """SIGKILL once: tried again, with the same result; SIGKILL always: failed. No other run is touched."""
    specs = [misbehaving("die once", folder), misbehaving("die", folder), misbehaving("nothing", folder)]
    found, retries = outcomes_and_retries(make((PLUGIN,), Limits(retries=1)), specs, folder / "runs")
    assert isinstance(found[0], Finished), f"killed once: {found[0]}"
    assert isinstance(found[1], Failed), f"killed always: {found[1]}"
    assert "SIGKILL" in found[1].reason, found[1].reason
    assert isinstance(found[2], Finished), f"never killed: {found[2]}"
    assert retries == [0, 1], f"retries of runs {retries}, not of 0 and 1"
    outcomes(Serial(), specs[:1], folder / "serial")  # it has died, and doesn't do so again
    one, other = bits(folder / "serial" / specs[0].digest), bits(folder / "runs" / specs[0].digest)
    assert one == other, "the second try has other bits"


@_isolation_law
def limits_are_held(make: MakeExecutor, folder: Path) -> None:
    """A run that hangs and one that grows are ended, and say why; they are not tried again; the one beside is done."""
    limits = Limits(minutes=0.08, memory_mb=700)
    specs = [misbehaving("hang", folder), misbehaving("grow", folder), misbehaving("nothing", folder)]
    found, retries = outcomes_and_retries(make((PLUGIN,), limits), specs, folder / "runs")
    assert isinstance(found[0], Failed), f"the run that hangs: {found[0]}"
    assert "its limit of 0.08 minutes" in found[0].reason, found[0].reason
    assert isinstance(found[1], Failed), f"the run that grows: {found[1]}"
    assert "its limit of 700 MB" in found[1].reason, found[1].reason
    assert isinstance(found[2], Finished), f"the run beside them: {found[2]}"
    assert not retries, f"runs {retries} were tried again"
    no_process_left(folder)


# What the laws are written in


def outcomes(executor: Executor, specs: list[RunSpec], folder: Path) -> dict[int, Outcome]:
    return outcomes_and_retries(executor, specs, folder)[0]


def outcomes_and_retries(
    executor: Executor, specs: list[RunSpec], folder: Path
) -> tuple[dict[int, Outcome], list[int]]:
    """By number; every run must have one outcome. And the numbers of those that were tried again."""
    found: dict[int, Outcome] = {}
    retries: list[int] = []

    def sink(number: int, event: dict[str, Any]) -> None:
        if event["event"] == "retry":
            retries.append(number)

    for number, outcome in executor.map(specs, folder, sink):
        assert number not in found, f"run {number} has two outcomes"
        found[number] = outcome
    assert sorted(found) == list(range(len(specs))), f"outcomes of {sorted(found)}, of {len(specs)} runs"
    return found, sorted(retries)


def bits(run: Path) -> dict[str, str]:
    return {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in SEALED if (run / name).exists()}


def spec_of(model: Any, *, seed: int = 0, epochs: int = 2, **training: Any) -> RunSpec:
    """A run of a moment: 80 sequences of 4 steps."""
    settings = {"epochs": epochs, "batch_size": 32, "patience": "none", "device": "cpu", **training}
    return RunSpec(FirstLast(rows=100, length=4).resolve(), model, parse(Training, settings), seed)


def diverging(seed: int = 0) -> RunSpec:
    return spec_of(RNN(hidden=4, activation="relu"), seed=seed, epochs=20, optimizer="sgd", lr=1e8, clip="none")


def misbehaving(deed: str, folder: Path, *, seed: int = 0, epochs: int = 2) -> RunSpec:
    """A run of `testing.misbehaving`; only within `misbehaviour`."""
    marks = folder / "marks" / f"{deed.replace(' ', '-')}-{seed}"
    return spec_of(
        ARCHITECTURES.parse({"kind": "misbehaving", "does": deed, "marks": str(marks)}), seed=seed, epochs=epochs
    )


def unsendable(folder: Path) -> RunSpec:
    """A run whose settings hold what neither JSON nor pickle can write."""
    kind: Any = type(misbehaving("nothing", folder).model)

    class Unsendable(kind):
        def to_dict(self) -> dict[str, Any]:
            return super().to_dict() | {"hidden": lambda: 4}

    return spec_of(Unsendable(marks=str(folder / "marks" / "unsendable")))


@contextlib.contextmanager
def misbehaviour() -> Iterator[None]:
    """The misbehaving model is known meanwhile, and then forgotten: it is no model of the catalogue."""
    load_plugin(PLUGIN)
    try:
        yield
    finally:
        del sys.modules["rnnlab_plugin_misbehaving"], ARCHITECTURES._classes["misbehaving"]


def no_process_left(folder: Path, seconds: float = 30) -> None:
    """Every process that misbehaved, or could have, is gone or goes soon."""
    processes = {int(mark.stem) for mark in folder.glob("marks/*/*.process")}
    assert processes, "no run was begun"
    deadline = time.monotonic() + seconds
    while left := [process for process in processes - {os.getpid()} if alive(process)]:
        assert time.monotonic() < deadline, f"processes {left} are still there"
        time.sleep(0.05)


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _result(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, Finished | Diverged)
    return outcome.result
