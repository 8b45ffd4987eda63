"""The laws that every architecture, task, baseline, executor and format obeys, for rnnlab's own and for a plugin's.

from rnnlab.testing import check_architecture

def test_my_architecture():
    check_architecture(MyArchitecture(hidden=16))
"""

from rnnlab.testing.architecture_laws import ARCHITECTURE_LAWS, check_architecture
from rnnlab.testing.baseline_laws import BASELINE_LAWS, check_baseline
from rnnlab.testing.executor_laws import EXECUTOR_LAWS, MakeExecutor, check_executor
from rnnlab.testing.format_laws import FORMAT_LAWS, check_format
from rnnlab.testing.task_laws import TASK_LAWS, check_task

__all__ = [
    "ARCHITECTURE_LAWS",
    "BASELINE_LAWS",
    "EXECUTOR_LAWS",
    "FORMAT_LAWS",
    "TASK_LAWS",
    "MakeExecutor",
    "check_architecture",
    "check_baseline",
    "check_executor",
    "check_format",
    "check_task",
]
