"""Native recurrences from several threads of Python at once, and in child processes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Thread

import pytest
import torch
from recurrences import recur
from torch import Tensor

from rnnlab import kernels as native
from rnnlab.kernels.recurrence import GATES, Direction

pytestmark = pytest.mark.skipif(not native.status().active, reason=native.status().reason)


def trained(number: int) -> list[Tensor]:
    """Forward and backward, with kind and shape of their own for each number."""
    kind = list(GATES)[number % 4]
    generator = torch.Generator().manual_seed(number)
    batch, steps, inputs, hidden = 3 + number, 4 + number % 5, 1 + 9 * number, 5 + 13 * number
    shapes = [(GATES[kind] * hidden, inputs), (GATES[kind] * hidden, hidden), *[(GATES[kind] * hidden,)] * 2]
    weights = [torch.randn(*shape, generator=generator) * hidden**-0.5 for shape in shapes]
    x = torch.randn(batch, steps, inputs, generator=generator)
    lengths = torch.randint(1, steps + 1, (batch,), generator=generator)
    learned = [tensor.requires_grad_() for tensor in (x, *weights)]
    states, *_ = recur(kind, x, lengths, Direction(*weights))
    return [states.detach(), *torch.autograd.grad(states.square().sum(), learned)]


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_of_python_do_not_disturb_each_other(threads: int) -> None:
    workers, rounds = 4, 15
    expected = [trained(number) for number in range(workers)]
    start = Barrier(workers)

    def work(number: int) -> bool:
        torch.set_num_threads(threads)  # it counts for the calling thread
        start.wait()
        same = True
        for turn in range(rounds):
            which = (number + turn) % workers
            same &= all(torch.equal(a, b) for a, b in zip(trained(which), expected[which], strict=True))
        return same

    before = torch.get_num_threads()
    with ThreadPoolExecutor(workers) as pool:
        assert all(pool.map(work, range(workers)))
    torch.set_num_threads(before)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no way to see how much memory is in use")
def test_a_thread_that_ends_gives_its_memory_back() -> None:
    """A server has new threads all the time. Each needs 3 MB here, to lay out the weights."""
    hidden = 400
    shapes = [(4 * hidden, 50), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)]
    x, direction = torch.zeros(2, 2, 50), Direction(*(torch.zeros(*shape) for shape in shapes))

    def memory_after(threads: int) -> int:
        for _ in range(threads):
            thread = Thread(target=recur, args=("lstm", x, None, direction))
            thread.start()
            thread.join()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = memory_after(5)
    assert memory_after(40) - before < 60e6


CHILD = """
import torch
from rnnlab import kernels as native
from rnnlab.kernels.recurrence import Direction, recur

def states(threads):
    torch.set_num_threads(threads)
    x = torch.linspace(-1, 1, 8 * 5 * 3).view(8, 5, 3).requires_grad_()
    weights = [torch.linspace(-1, 1, 80 * n).view(80, n) for n in (3, 20)]
    found, *_ = recur("lstm", x, None, Direction(*weights, torch.zeros(80), torch.zeros(80)))
    return found.detach().tolist(), torch.autograd.grad(found.sum(), x)[0].tolist()

def send(threads, pipe):
    pipe.send(states(threads))
"""
PARENT = """
import multiprocessing
import child

if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["rnnlab.execute.child", "child"])
    for threads in (1, 2):
        ours, theirs = context.Pipe()
        process = context.Process(target=child.send, args=(threads, theirs))
        process.start()
        assert ours.poll(60), "no answer"
        answer = ours.recv()
        process.join(60)
        assert process.exitcode == 0
        assert answer == child.states(threads)
    print("same")
"""


def test_a_process_that_was_forked_can_use_it(tmp_path: Path) -> None:
    """As a sweep starts its runs."""
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "parent.py").write_text(PARENT)
    done = subprocess.run(
        [sys.executable, "parent.py"],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("same", 0), done.stderr


def test_fewer_threads_than_were_asked_for_do_the_same_work(tmp_path: Path) -> None:
    """A system may limit the threads of a process: nobody waits for one that never comes."""
    (tmp_path / "child.py").write_text(CHILD)
    script = "import child; native = child.native.library(); print(child.states(1) == child.states(4))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"OMP_THREAD_LIMIT": "2"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr
