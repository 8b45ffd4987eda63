"""The name of the processor, wherever it is to be found."""

import platform
import subprocess

import pytest

from rnnlab.training import environment as processor
from rnnlab.training.environment import environment, model_name, processor_name

INTEL = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R)  CPU: 2.50GHz\n" * 2
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd0c\n"


@pytest.fixture
def asked_anew():
    """The name is read once in a process: here it is read again, and once more for those who come after."""
    processor_name.cache_clear()
    yield
    processor_name.cache_clear()


def test_linux_tells_it_core_by_core():
    assert model_name(INTEL).strip() == "Intel(R) Xeon(R)  CPU: 2.50GHz"
    assert model_name(ARM) == model_name("") == ""


def test_on_linux(asked_anew, monkeypatch, tmp_path):
    (tmp_path / "cpuinfo").write_text(INTEL)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(processor, "LINUX", tmp_path / "cpuinfo")
    assert processor_name() == "Intel(R) Xeon(R) CPU: 2.50GHz"


@pytest.mark.parametrize("content", [ARM.encode(), b"", b"\xff\xfe: \x00", None])
def test_where_linux_is_silent_the_machine_is_named(asked_anew, monkeypatch, tmp_path, content):
    if content is not None:
        (tmp_path / "cpuinfo").write_bytes(content)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(processor, "LINUX", tmp_path / "cpuinfo")
    assert processor_name() == (platform.processor() or platform.machine())


@pytest.mark.parametrize("error", [FileNotFoundError("sysctl"), subprocess.TimeoutExpired("sysctl", 10)])
def test_on_macos(asked_anew, monkeypatch, error):
    monkeypatch.setattr("sys.platform", "darwin")
    told = subprocess.CompletedProcess([], 0, stdout="Apple M2\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: told)
    assert processor_name() == "Apple M2"

    def fails(*_, **__):
        raise error

    processor_name.cache_clear()
    monkeypatch.setattr(subprocess, "run", fails)
    monkeypatch.setattr(platform, "processor", lambda: "")  # which would ask a program, too
    assert processor_name() == platform.machine()


def test_it_is_recorded_with_a_run():
    recorded = environment(1)
    assert recorded["cpu"] == processor_name() != ""
    known = ("rnnlab", "torch", "python", "machine", "cpu", "system", "cpu_capability", "threads", "kernels")
    assert list(recorded) == list(known)
