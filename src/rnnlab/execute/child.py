"""The inside of the process that computes a run. The fork server imports this, and with it torch and every model and
task, once; nothing is computed there."""

import importlib
import json
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rnnlab.core.registry import load_plugin
from rnnlab.execute.executors import guard
from rnnlab.execute.processes import GRACE
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import Outcome
from rnnlab.tasks.base import TASKS
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec

for _module in (*ARCHITECTURES.modules, *TASKS.modules):
    importlib.import_module(_module)


def work(events: Connection, spec_json: str, folder: str, plugins: tuple[str, ...]) -> None:
    """Do a run and send its events as lines of JSON, the outcome last."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides, and says so by SIGTERM
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    threading.Thread(target=_end_with_parent, args=(stop,), daemon=True).start()

    def send(message: dict[str, Any]) -> None:
        try:
            events.send_bytes(json.dumps(message).encode())
        except OSError:  # the parent is gone
            stop.set()

    send({"event": "begun"})  # from here on its time counts: the fork server may have had to import torch first

    def run() -> Outcome:
        for plugin in plugins:
            load_plugin(plugin)
        return execute(RunSpec.from_dict(json.loads(spec_json)), Path(folder), send, stop.is_set)

    outcome = guard(run)
    name = type(outcome).__name__.lower()
    send({"event": "outcome", "outcome": name, "reason": getattr(outcome, "reason", None)})


def _end_with_parent(stop: threading.Event) -> None:
    """A run whose parent died, however it died, writes its checkpoint and ends; one that hangs is ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        stop.set()
        time.sleep(GRACE)
        os._exit(1)
