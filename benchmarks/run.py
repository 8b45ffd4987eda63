"""Everything that rnnlab says about speed, as ratios measured in one run: one table, and JSON.

    RNNLAB_DATA=… python benchmarks/run.py [--quick] [--only SECTION,…] [--json FILE] [--markdown FILE]

``--quick`` ends in under five minutes on two cores and measures less of everything; the whole takes about half an hour.
``--markdown docs/benchmarks.md`` replaces the marked block of that document, and writes a file of its own where there
is none. Ctrl-C prints what was measured so far. What each section counts stands at the top of its file.
"""

import argparse
import json
import os
import platform
import shlex
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from table import Row, as_json, counted, in_document, markdown, text
from turns import Effort, say

# section: the function that measures, its seconds with --quick and without
SECTIONS: dict[str, tuple[str, float, float]] = {
    "recurrence": ("recurrence:against_torch", 30, 300),
    "peak": ("recurrence:share_of_peak", 5, 60),
    "bidirectional": ("recurrence:both_directions", 12, 120),
    "streams": ("streams:measure", 20, 240),
    "chains": ("chains:measure", 10, 60),
    "vocabulary": ("vocabulary:measure", 12, 120),
    "translation": ("translation:measure", 15, 180),
    "forecasting": ("forecasting:measure", 4, 60),
    "predict": ("predict:measure", 15, 120),
    "startup": ("startup:measure", 15, 60),
    "epoch": ("epoch:measure", 60, 600),
    "comparison": ("comparison:measure", 40, 400),
    "text": ("text_to_ids:measure", 20, 120),
    "same-answer": ("same_answer:measure", 1, 300),
    "keras": ("peers:keras", 25, 240),
    "scikit-learn": ("peers:scikit_learn", 15, 120),
}
THREADS = {
    "epoch": [2, 1],
    "recurrence": [1, 2],
    "streams": [1, 2],
    "peak": 2,
    "bidirectional": 2,
    "predict": 1,
    "plain": 2,
}
QUICK_SECONDS = 250  # after so long --quick begins no section
PACKAGES = ("rnnlab", "torch", "numpy", "onnxruntime", "scikit-learn", "keras", "jax")
EXTRAS = {
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "keras": "bench",
    "jax": "bench",
    "sklearn": "bench",
    "pyarrow": "parquet",
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    started = time.monotonic()
    about = description(sys.argv[1:] if arguments is None else arguments, options.quick)
    if about["load_before"] and about["load_before"] > 0.5:
        say(f"load average {about['load_before']:.1f}: other processes are at work, and figures will be noisy")
    rows: list[Row] = []
    interrupted = False
    try:
        for name in options.only:
            for row in measured(name, options.quick, started + QUICK_SECONDS):
                say("  " + "  ".join(cell for cell in row.cells() if cell))
                rows.append(row)
    except KeyboardInterrupt:
        interrupted = True
        say("interrupted: what follows was measured before")
    about["minutes"] = (time.monotonic() - started) / 60
    about["interrupted"] = interrupted
    print(f"{text(rows)}\n\n{counted(rows)}; {about['minutes']:.1f} minutes")
    if options.json:
        options.json.write_text(json.dumps(as_json(rows, about), indent=2) + "\n", encoding="utf-8")
    if options.markdown and not interrupted:
        document = options.markdown.read_text(encoding="utf-8") if options.markdown.exists() else ""
        options.markdown.write_text(in_document(document, markdown(rows, about)), encoding="utf-8")
    return 130 if interrupted else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under five minutes")
    parser.add_argument("--only", metavar="SECTION,…", help=f"some of: {', '.join(SECTIONS)}")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",") if options.only else list(SECTIONS)
    unknown = [name for name in options.only if name not in SECTIONS]
    if unknown:
        parser.error(f"--only: there is no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    return options


def measured(name: str, quick: bool, deadline: float) -> Iterator[Row]:
    """The rows of a section as they come. What stops it becomes a row, so that the others go on."""
    where, of_quick, of_full = SECTIONS[name]
    started = time.monotonic()
    if quick and started > deadline:
        yield Row(name, name, missing="left out: the time of --quick is over")
        return
    say(f"{name} …")
    try:
        yield from function(where)(Effort(quick, of_quick if quick else of_full))
    except ModuleNotFoundError as error:
        yield Row(name, name, missing=not_installed(error))
    except Exception as error:  # a section must not cost the others their figures
        traceback.print_exc()
        reason = str(error).splitlines() or [""]
        yield Row(name, name, missing=f"failed: {type(error).__name__}: {reason[0]}")
    say(f"{name}: {time.monotonic() - started:.0f} s")


def function(where: str) -> Callable[[Effort], Iterator[Row]]:
    """Imported when it is due: a section may need what isn't installed."""
    module, name = where.split(":")
    return getattr(import_module(module), name)


def not_installed(error: ModuleNotFoundError) -> str:
    package = (error.name or "").split(".")[0]
    extra = EXTRAS.get(package)
    wanted = f"'rnnlab[{extra}]'" if extra else package
    return f"not installed: pip install {wanted}"


def description(arguments: Sequence[str], quick: bool) -> dict[str, Any]:
    """Where, when and with what."""
    from rnnlab.kernels import status
    from rnnlab.training.environment import processor_name

    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": shlex.join(["python", "benchmarks/run.py", *without_files(arguments)]),
        "quick": quick,
        "machine": {"cpu": processor_name(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": versions,
        "native": status().reason,  # also builds the kernels, before any clock runs
        "threads": THREADS,
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def without_files(arguments: Sequence[str]) -> list[str]:
    """How to measure it again: not where it was written."""
    kept = list(arguments)
    for option in ("--json", "--markdown"):
        if option in kept:
            at = kept.index(option)
            del kept[at : at + 2]
    return kept


if __name__ == "__main__":
    sys.exit(main())
