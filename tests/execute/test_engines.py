"""Every engine obeys the same laws; Dask and Ray really run, on workers that share no disk with the head."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rnnlab.core.errors import ConfigError, RnnlabError
from rnnlab.execute.cluster import bring_home, folder_for_a_run
from rnnlab.execute.executors import Executor, Limits, Serial, executor_for
from rnnlab.models.embedding import Embedding
from rnnlab.models.recurrent import GRU
from rnnlab.runs.directory import Diverged, Failed, Finished, RunDirectory
from rnnlab.tasks.classify import Classify
from rnnlab.testing import EXECUTOR_LAWS
from rnnlab.testing.executor_laws import (
    ISOLATION_LAWS,
    PLUGIN,
    alive,
    bits,
    diverging,
    misbehaving,
    misbehaviour,
    spec_of,
)
from rnnlab.training.spec import RunSpec, Training

BIN = Path(sys.executable).parent
EVERY_TIME = ("same_bits_as_serial",)
"""The laws that Ray, whose processes take seconds to begin, is held to by `make test`; to all by `make test-long`."""


# The engines, as the laws make them: also in a process of their own


def serial(plugins: tuple[str, ...], limits: Limits) -> Executor:
    return executor_for("serial", plugins=plugins, limits=limits)


def processes(plugins: tuple[str, ...], limits: Limits) -> Executor:
    return executor_for("processes", 2, plugins, limits)


def dask(plugins: tuple[str, ...], limits: Limits) -> Executor:
    return executor_for(os.environ["RNNLAB_TEST_DASK"], 2, plugins, limits)


def ray(plugins: tuple[str, ...], limits: Limits) -> Executor:
    return executor_for("ray://auto", 2, plugins, limits)  # where $RAY_ADDRESS says


ENGINES = (serial, processes, dask, ray)


@pytest.fixture(scope="module")
def dask_cluster() -> Iterator[None]:
    """A scheduler and two workers, elsewhere as far as one machine allows."""
    address = f"127.0.0.1:{free_port()}"
    with elsewhere() as (folder, environment), pytest.MonkeyPatch.context() as patch:
        quiet = ["--no-dashboard", "--host", "127.0.0.1"]
        scheduler = ["scheduler", "--port", address.rpartition(":")[2], "--dashboard-address", "127.0.0.1:0", *quiet]
        worker = ["worker", f"tcp://{address}", "--nworkers", "2", "--nthreads", "1", *quiet]
        with (
            running([BIN / "dask", *scheduler], folder, environment),
            running([BIN / "dask", *worker, "--local-directory", str(folder)], folder, environment),
        ):
            patch.setenv("RNNLAB_TEST_DASK", f"dask://{address}")
            wait_for_port(int(address.rpartition(":")[2]))
            yield


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[None]:
    import ray as library

    port = free_port()
    with elsewhere() as (folder, environment), pytest.MonkeyPatch.context() as patch:
        options = ["--head", "--block", "--port", str(port), "--num-cpus", "2", "--node-ip-address", "127.0.0.1"]
        options += ["--include-dashboard", "false", "--disable-usage-stats", "--temp-dir", str(folder / "r")]
        with running([BIN / "ray", "start", *options], folder, environment):
            patch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
            wait_for_port(port)
            library.init(address="auto", log_to_driver=False)  # once for all laws
            yield
            library.shutdown()


@contextlib.contextmanager
def elsewhere() -> Iterator[tuple[Path, dict[str, str]]]:
    """A working folder, home, cache and temporary folder of one's own; no data sets."""
    folder = Path(tempfile.mkdtemp(prefix="w-", dir="/tmp"))  # short: Ray puts sockets there
    own = {"HOME": "home", "RNNLAB_CACHE": "cache", "TMPDIR": "tmp", "XDG_CACHE_HOME": "xdg"}
    for name in own.values():
        (folder / name).mkdir()
    environment = {k: v for k, v in os.environ.items() if k not in ("RNNLAB_DATA", "PYTEST_CURRENT_TEST")}
    try:
        yield folder, environment | {key: str(folder / name) for key, name in own.items()}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running(command: list, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    with open(folder / f"{Path(command[0]).name}-{command[1]}.log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


@pytest.fixture
def cluster(request: pytest.FixtureRequest, make) -> None:
    """What an engine needs to be there."""
    if make in (dask, ray):
        request.getfixturevalue(f"{make.__name__}_cluster")


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("make", "law"),
    [
        pytest.param(
            make,
            law,
            id=f"{make.__name__}-{law}",
            marks=[pytest.mark.long] if make is ray and law not in EVERY_TIME else [],
        )
        for make in ENGINES
        for law in EXECUTOR_LAWS
        if make is not serial or law not in ISOLATION_LAWS  # a run in this process can't be ended from outside
    ],
)
def test_engine_obeys(make, law):
    EXECUTOR_LAWS[law](make)


@pytest.mark.long
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("make", [processes, dask, ray], ids=lambda make: make.__name__)
def test_in_a_storm_every_run_ends_in_one_state(make, tmp_path):
    """40 runs: 10 whose process or worker is killed once, 2 that diverge, 2 that hang, 2 that grow."""
    with misbehaviour():
        killed = ["die once" if make is processes or n % 4 else "kill its worker once" for n in range(10)]
        specs = [misbehaving(deed, tmp_path, seed=n) for n, deed in enumerate(killed)]
        specs += [misbehaving(deed, tmp_path, seed=n) for n in range(2) for deed in ("hang", "grow")]
        specs += [diverging(n) for n in range(2)] + [spec_of(GRU(hidden=4), seed=n) for n in range(24)]
        order = [(7 * n) % 40 for n in range(40)]
        found = list(
            make((PLUGIN,), Limits(minutes=0.1, memory_mb=700)).map(
                [specs[n] for n in order], tmp_path / "runs", nothing
            )
        )
    by_number = {order[number]: outcome for number, outcome in found}
    assert len(found) == len(by_number) == 40
    wanted = [Finished] * 10 + [Failed] * 4 + [Diverged] * 2 + [Finished] * 24
    wrong = {n: by_number[n] for n in range(40) if not isinstance(by_number[n], wanted[n])}
    assert not wrong
    reasons = Counter("MB" in outcome.reason for outcome in by_number.values() if isinstance(outcome, Failed))
    assert reasons == {True: 2, False: 2}
    assert all(
        (tmp_path / "marks" / f"{deed.replace(' ', '-')}-{n}" / "done").exists() for n, deed in enumerate(killed)
    )


def nothing(number: int, event: dict) -> None: ...


HEAD = """
import sys
from pathlib import Path
from rnnlab.execute.executors import executor_for
from rnnlab.testing.executor_laws import ENDLESS, PLUGIN, misbehaving, misbehaviour

on, folder = sys.argv[1], Path(sys.argv[2])
with misbehaviour():
    specs = [misbehaving("nothing", folder, seed=seed, epochs=ENDLESS) for seed in range(3)]
    tell = lambda number, event: print(number, event["event"], flush=True) if event["event"] == "epoch" else None
    try:
        for number, outcome in executor_for(on, 2, [PLUGIN]).map(specs, folder / "runs", tell):
            print(number, type(outcome).__name__, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.long
@pytest.mark.parametrize("on", ["dask", "ray"])
def test_ctrl_c_at_a_terminal_ends_a_cluster_of_ones_own(on, tmp_path):
    """Every process of the group gets the signal, as from a terminal; the runs come home, and nothing is left: neither
    process nor file nor a line on the screen."""
    temporary = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))
    environment = os.environ | {"TMPDIR": str(temporary), "PYTHONWARNINGS": ""}
    with open(tmp_path / "errors", "w+") as errors:
        head = subprocess.Popen(
            [sys.executable, "-c", HEAD, on, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            start_new_session=True,
        )
        with head:
            assert head.stdout is not None
            seen = set()
            while len(seen) < 2:
                line = head.stdout.readline()
                assert line, (tmp_path / "errors").read_text()
                seen.add(line.split()[0])
            os.killpg(head.pid, signal.SIGINT)
            said = head.stdout.read().splitlines()
            assert head.wait(60) == 0
    assert [line for line in said if "epoch" not in line] in (
        ["0 Stopped", "1 Stopped", "interrupted"],
        ["1 Stopped", "0 Stopped", "interrupted"],
    )
    assert (tmp_path / "errors").read_text() == ""
    assert len(list(tmp_path.glob("runs/*/checkpoint.safetensors"))) == 2
    assert not [p.name for p in temporary.iterdir()]
    deadline = time.monotonic() + 20
    while left := of_session(head.pid):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    temporary.rmdir()


def of_session(session: int) -> list[int]:
    """Processes that are still there of those that a session leader started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and alive(int(entry.name)):
                    found.append(int(entry.name))
    return found


def test_data_are_sent_to_a_worker_that_lacks_them(dask_cluster, tmp_path, monkeypatch):
    """A table that only the head can read, and a head without a cache."""
    (tmp_path / "table.csv").write_text("text,label\n" + "".join(f"film number {n},{n % 2}\n" for n in range(60)))
    task = Classify(data=str(tmp_path / "table.csv")).resolve()
    assert task.fingerprint
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "another"))
    training = Training(epochs=1, device="cpu")
    specs = [RunSpec(task, GRU(hidden=4, embedding=Embedding(width=4)), training, seed) for seed in range(3)]
    found = dict(dask((), Limits()).map(specs, tmp_path / "runs", nothing))
    assert all(isinstance(found[number], Finished) for number in range(3)), found


def test_what_comes_home_is_checked(tmp_path):
    """A file that is no part of a run, or that isn't what the worker wrote: the run doesn't count."""
    spec = spec_of(GRU(hidden=4))
    dict(Serial().map([spec], tmp_path / "there", nothing))
    files = {path.name: path.read_bytes() for path in (tmp_path / "there" / spec.digest).glob("[a-z]*")}
    home = RunDirectory(tmp_path / "home" / spec.digest)
    home.create(spec.to_dict())
    (home / "checkpoint.json").write_text("of an earlier try")
    weights = files["weights.safetensors"]
    for change, words in (
        ({"../../evil.json": b""}, "no part of a run: ../../evil.json"),
        ({"weights.safetensors": weights[:-1] + bytes([weights[-1] ^ 1])}, "not those that it wrote"),
    ):
        outcome = bring_home(home, {"outcome": "finished", "reason": None, "files": files | change})
        assert isinstance(outcome, Failed)
        assert words in outcome.reason
        assert home.result() is None
    assert isinstance(bring_home(home, {"outcome": "finished", "reason": None, "files": files}), Finished)
    assert bits(home.path) == bits(tmp_path / "there" / spec.digest)
    assert not (home / "checkpoint.json").exists()


def test_folders_that_killed_workers_left_are_removed(tmp_path):
    left, in_use, recent = (tmp_path / f"rnnlab-run-{name}" for name in ("left", "in-use", "recent"))
    for folder in (left, in_use, recent):
        folder.mkdir()
    with RunDirectory(in_use).lock():
        for folder in (left, in_use):
            os.utime(folder, (0, 0))
        with folder_for_a_run(str(tmp_path)) as own:
            assert set(tmp_path.iterdir()) == {in_use, recent, own}
    assert set(tmp_path.iterdir()) == {in_use, recent}


def test_a_worker_does_not_import_torch():
    """It supervises: 200 MB a worker for nothing."""
    script = "import sys, rnnlab.execute.on_dask, rnnlab.execute.on_ray; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


# What is said before anything runs


@pytest.mark.parametrize(
    ("on", "jobs", "words"),
    [
        ("proceses", None, "unknown engine 'proceses'; did you mean 'processes'"),
        ("slurm", None, "known: processes, serial, dask, ray, dask://HOST:PORT"),
        ("processes://here", None, "unknown engine"),
        ("dask://", None, "unknown engine"),
        ("dask://here", None, "write dask://HOST:PORT"),
        ("dask://here:99999", None, "write dask://HOST:PORT"),
        ("ray://:1", None, "write ray://HOST:PORT"),
        ("processes", -1, "--jobs must be 0"),
        ("dask", 0, "leave one of them out"),
        ("serial", 4, "would ignore --jobs 4"),
    ],
)
def test_a_mistake_is_said(on, jobs, words):
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        executor_for(on, jobs)


@pytest.mark.parametrize("limits", [{"minutes": 0}, {"memory_mb": -1}, {"retries": -1}])
def test_impossible_limits_are_refused(limits):
    with pytest.raises(ConfigError, match=r"must be|0 or more"):
        Limits(**limits)


def test_limits_that_would_be_ignored_are_refused():
    for limits in (Limits(minutes=1), Limits(memory_mb=1)):
        with pytest.raises(ConfigError, match="can't be ended from outside"):
            executor_for("serial", limits=limits)
    assert isinstance(executor_for(jobs=0), Serial)


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_missing_package_is_named(engine, monkeypatch):
    monkeypatch.delitem(sys.modules, f"rnnlab.execute.on_{engine}", raising=False)
    monkeypatch.setitem(sys.modules, {"dask": "distributed", "ray": "ray"}[engine], None)
    with pytest.raises(ConfigError, match=rf"pip install 'rnnlab\[{engine}\]'"):
        executor_for(engine)


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_cluster_that_is_not_there_is_said_soon(engine, tmp_path):
    on = f"{engine}://127.0.0.1:{free_port()}"
    started = time.monotonic()
    with pytest.raises(RnnlabError, match=on):
        list(executor_for(on).map([], tmp_path, nothing))
    assert time.monotonic() - started < 15
