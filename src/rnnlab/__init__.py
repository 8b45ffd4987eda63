"""rnnlab measures which sequence model fits your data, shows why, and hands you the trained model.

import rnnlab
result = rnnlab.compare("reviews.csv")
print(result.verdict.sentence)
model = rnnlab.load(result.recommended_run)
model.predict(["not good at all"])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rnnlab.analysis.comparison import Comparison
    from rnnlab.auditing.audit import audit
    from rnnlab.auditing.report import Audit
    from rnnlab.errors import RnnlabError
    from rnnlab.experiment import Experiment, RunSpec, Training
    from rnnlab.export.writing import export_model
    from rnnlab.judging.results import judge
    from rnnlab.models.base import Architecture, architecture
    from rnnlab.predict import Prediction, Predictor, load
    from rnnlab.reporting.writing import write_report
    from rnnlab.runs import RunDirectory, find_runs
    from rnnlab.stored import pack
    from rnnlab.sweep.compare import UntilSure, compare, train
    from rnnlab.sweep.sweep import run_sweep
    from rnnlab.tasks.base import Task, task

_HOMES = {
    "compare": "rnnlab.sweep.compare",
    "train": "rnnlab.sweep.compare",
    "UntilSure": "rnnlab.sweep.compare",
    "run_sweep": "rnnlab.sweep.sweep",
    "write_report": "rnnlab.reporting.writing",
    "load": "rnnlab.predict",
    "pack": "rnnlab.stored",
    "export_model": "rnnlab.export.writing",
    "Predictor": "rnnlab.predict",
    "Prediction": "rnnlab.predict",
    "Comparison": "rnnlab.analysis.comparison",
    "Experiment": "rnnlab.experiment",
    "RunSpec": "rnnlab.experiment",
    "Training": "rnnlab.experiment",
    "Architecture": "rnnlab.models.base",
    "architecture": "rnnlab.models.base",
    "Task": "rnnlab.tasks.base",
    "task": "rnnlab.tasks.base",
    "RunDirectory": "rnnlab.runs",
    "find_runs": "rnnlab.runs",
    "judge": "rnnlab.judging.results",
    "RnnlabError": "rnnlab.errors",
    "audit": "rnnlab.auditing.audit",
    "Audit": "rnnlab.auditing.report",
}
__all__ = [
    "Architecture",
    "Audit",
    "Comparison",
    "Experiment",
    "Prediction",
    "Predictor",
    "RnnlabError",
    "RunDirectory",
    "RunSpec",
    "Task",
    "Training",
    "UntilSure",
    "architecture",
    "audit",
    "compare",
    "export_model",
    "find_runs",
    "judge",
    "load",
    "pack",
    "run_sweep",
    "task",
    "train",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Imported on first use (PEP 562): `rnnlab --help` must not wait for torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rnnlab' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
