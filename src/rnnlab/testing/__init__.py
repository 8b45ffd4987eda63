"""The laws that every architecture, task, baseline, executor and file format obeys: rnnlab's own and a plugin's.

from rnnlab.testing import check_architecture

def test_my_architecture():
    check_architecture(MyArchitecture(hidden=16))
"""

from rnnlab.testing.architectures import ARCHITECTURE_LAWS, EXTRA, LENGTHS, TOLERANCE, WORDS, Law, check_architecture
from rnnlab.testing.baselines import BASELINE_LAWS, check_baseline
from rnnlab.testing.executors import EXECUTOR_LAWS, MakeExecutor, check_executor
from rnnlab.testing.formats import FORMAT_LAWS, check_format
from rnnlab.testing.tasks import TASK_LAWS, check_task

__all__ = [
    "ARCHITECTURE_LAWS",
    "BASELINE_LAWS",
    "EXECUTOR_LAWS",
    "EXTRA",
    "FORMAT_LAWS",
    "LENGTHS",
    "TASK_LAWS",
    "TOLERANCE",
    "WORDS",
    "Law",
    "MakeExecutor",
    "check_architecture",
    "check_baseline",
    "check_executor",
    "check_format",
    "check_task",
]
