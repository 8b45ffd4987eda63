"""A model that does what no model should, to see what becomes of the others: a plugin for the laws of executors."""

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from rnnlab.models.base import Architecture, Encoded, Encoder, architecture
from rnnlab.models.pooling import zero_padding

Deed = Literal["nothing", "fail", "hang", "grow", "die", "die once", "kill its worker once"]
MOST = 4096  # MB that it takes before it gives up, should nobody mind


@architecture("misbehaving")
class Misbehaving(Architecture):
    does: Deed = "nothing"
    marks: str = Field(default="", description="A folder for notes: a file named by each process, and deeds done.")

    @property
    def causal(self) -> bool:
        return True

    def build(self, input_width: int) -> Encoder:
        Path(self.marks).mkdir(parents=True, exist_ok=True)
        (Path(self.marks) / f"{os.getpid()}.process").touch()
        return MisbehavingEncoder(self, input_width)


class MisbehavingEncoder(Encoder):
    settings: Misbehaving
    calls: int

    def __init__(self, settings: Misbehaving, input_width: int):
        super().__init__()
        self.width = self.state_width = 4
        self.linear: nn.Linear = nn.Linear(input_width, 4)
        self.settings, self.calls = settings, 0

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        self.calls += self.training
        if self.calls == 3:
            misbehave(self.settings.does, Path(self.settings.marks) / "done")
        states = zero_padding(torch.tanh(self.linear(x)), lengths)
        return Encoded(states, states.sum(1))


def misbehave(deed: Deed, done: Path) -> None:
    if deed == "fail":
        raise RuntimeError("as it was told")
    if deed == "hang":
        time.sleep(600)
    if deed == "grow":
        held = [b"x" * 2**26 for _ in range(MOST // 64)]
        raise MemoryError(f"nobody minded {len(held)} pieces")
    if deed == "die" or (deed == "die once" and _first(done)):
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "kill its worker once" and _first(done):
        parent = multiprocessing.parent_process()
        assert parent is not None
        assert parent.pid is not None
        os.kill(parent.pid, signal.SIGKILL)


def _first(done: Path) -> bool:
    try:
        done.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
