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
    from rnnlab.api.compare import UntilSure, compare, train
    from rnnlab.api.inspect import inspect_exposure, inspect_model, inspect_run, inspect_translation
    from rnnlab.api.report import write_report
    from rnnlab.api.sweep import run_sweep
    from rnnlab.auditing.audit import audit
    from rnnlab.auditing.audit_report import Audit
    from rnnlab.auditing.forecast_audit import audit_forecaster
    from rnnlab.comparing.comparison import Comparison
    from rnnlab.core.errors import RnnlabError
    from rnnlab.judging.results import judge
    from rnnlab.models.base import Architecture, architecture
    from rnnlab.runs.directory import RunDirectory, find_runs
    from rnnlab.sweeps.experiment import Experiment
    from rnnlab.tasks.base import Task, task
    from rnnlab.training.spec import RunSpec, Training
    from rnnlab.use import Prediction, Predictor, load
    from rnnlab.use.onnx.writing import export_model
    from rnnlab.use.stored import pack

_HOMES = {
    "compare": "rnnlab.api.compare",
    "train": "rnnlab.api.compare",
    "UntilSure": "rnnlab.api.compare",
    "run_sweep": "rnnlab.api.sweep",
    "write_report": "rnnlab.api.report",
    "inspect_run": "rnnlab.api.inspect",
    "inspect_exposure": "rnnlab.api.inspect",
    "inspect_model": "rnnlab.api.inspect",
    "inspect_translation": "rnnlab.api.inspect",
    "load": "rnnlab.use",
    "pack": "rnnlab.use.stored",
    "export_model": "rnnlab.use.onnx.writing",
    "Predictor": "rnnlab.use",
    "Prediction": "rnnlab.use",
    "Comparison": "rnnlab.comparing.comparison",
    "Experiment": "rnnlab.sweeps.experiment",
    "RunSpec": "rnnlab.sweeps.experiment",
    "Training": "rnnlab.sweeps.experiment",
    "Architecture": "rnnlab.models.base",
    "architecture": "rnnlab.models.base",
    "Task": "rnnlab.tasks.base",
    "task": "rnnlab.tasks.base",
    "RunDirectory": "rnnlab.runs.directory",
    "find_runs": "rnnlab.runs.directory",
    "judge": "rnnlab.judging.results",
    "RnnlabError": "rnnlab.core.errors",
    "audit": "rnnlab.auditing.audit",
    "audit_forecaster": "rnnlab.auditing.forecast_audit",
    "Audit": "rnnlab.auditing.audit_report",
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
    "audit_forecaster",
    "compare",
    "export_model",
    "find_runs",
    "inspect_exposure",
    "inspect_model",
    "inspect_run",
    "inspect_translation",
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
