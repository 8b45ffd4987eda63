"""Memory for time: one training step over 2,000 time steps, with and without ``checkpoint_segments``.

    python benchmarks/checkpointing.py

Every row is a process of its own; memory is the most that it held beyond what it held before the step. One thread.
"""

import json
import resource
import subprocess
import sys
import time

BATCH, STEPS, WIDTH, HIDDEN = 32, 2000, 50, 128
REPEATS = 3


def measure(kind: str, segments: int) -> None:
    import torch

    from rnnlab.models.base import ARCHITECTURES

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as in a run
    torch.manual_seed(0)
    encoder = ARCHITECTURES.parse({"kind": kind, "hidden": HIDDEN, "checkpoint_segments": segments}).build(WIDTH)
    x, lengths = torch.randn(BATCH, STEPS, WIDTH, requires_grad=True), torch.full((BATCH,), STEPS)
    encoder(x[:, :4], torch.full((BATCH,), 4)).summary.sum().backward()  # what is loaded on first use
    encoder.zero_grad()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(REPEATS):
        encoder.zero_grad()
        started = time.perf_counter()
        encoder(x, lengths).summary.square().sum().backward()
        seconds.append(time.perf_counter() - started)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    norm = float(torch.cat([p.grad.flatten() for p in encoder.parameters() if p.grad is not None]).norm())
    print(json.dumps({"memory": memory, "seconds": min(seconds), "norm": norm}))


def main() -> None:
    print(f"(B, T, D, H) = ({BATCH}, {STEPS}, {WIDTH}, {HIDDEN}), one thread, forward and backward\n")
    print("| model | segments | memory, MB | of it | seconds | times | gradient norm |")
    print("|---|---|---|---|---|---|---|")
    for kind in ("rnn", "gru", "lstm"):
        whole: dict[str, float] = {}
        for segments in (1, 10, 45):
            command = [sys.executable, __file__, kind, str(segments)]
            row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            whole = whole or row
            share, times = row["memory"] / whole["memory"], row["seconds"] / whole["seconds"]
            print(
                f"| {kind} | {segments} | {row['memory']:.0f} | {100 * share:.0f} % | {row['seconds']:.2f} | "
                f"{times:.2f} × | {row['norm']:.6g} |",
                flush=True,
            )


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2])) if len(sys.argv) == 3 else main()
