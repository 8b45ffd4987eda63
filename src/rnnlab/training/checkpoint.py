"""Where to go on: tensors and counters of an unfinished run, one file that is written whole or not at all.

The counters, and a SHA-256 of counters and tensors, stand in the metadata of the file. There is no second file that
could be older or newer: whenever a process is killed, the last checkpoint or the one before it is there.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from rnnlab.core.files import write_atomically
from rnnlab.models.network import Network
from rnnlab.runs.directory import CHECKPOINT, RunDirectory
from rnnlab.training.optimizer import Optimizer


@dataclass
class Progress:
    """How far a run has come. Everything in it goes into a checkpoint."""

    epoch: int = 0  # epochs completed
    batch: int = 0  # batches completed in the current one
    step: int = 0
    seconds: float = 0.0  # spent training
    epoch_seconds: float = 0.0  # of them in the current epoch
    loss_sum: float = 0.0  # over the rows of the current epoch
    correct: float = 0
    rows: int = 0
    tokens: int = 0
    norms: list[float] = field(default_factory=list)  # of the last gradients
    best_epoch: int = 0
    best: dict[str, float] = field(default_factory=dict)  # validation scores of the best epoch
    rose_epoch: int = 0  # the last one whose score was higher than all before, not only its loss lower
    fall_begins: int | None = None  # the update from which on the rate of a plateau falls to zero
    fall_steps: int = 0  # how long that takes
    fell_by: str = ""  # the setting that began it: patience, epochs or steps
    history: list[dict[str, float]] = field(default_factory=list)  # seconds and tokens of each epoch


def save_checkpoint(
    run: RunDirectory, progress: Progress, network: Network, best: dict[str, Tensor], optimizer: Optimizer
) -> None:
    tensors: dict[str, Tensor] = {"random": torch.get_rng_state()}
    tensors |= {f"network.{name}": value for name, value in network.state_dict().items()}
    if network.encoder.carried is not None:
        tensors["carried"] = network.encoder.carried
    tensors |= {f"best.{name}": value for name, value in best.items()}
    tensors |= {f"optimizer.{name}": value for name, value in optimizer.memory.items()}
    tensors = {name: value.cpu().clone() for name, value in tensors.items()}
    counters = json.dumps(asdict(progress))
    write_atomically(run / CHECKPOINT, save(tensors, {"progress": counters, "sha256": _sum_of(counters, tensors)}))


def load_checkpoint(
    run: RunDirectory, network: Network, optimizer: Optimizer
) -> tuple[Progress, dict[str, Tensor]] | None:
    """Bring network, optimiser, carried and random state back; None when there is nothing whole to go on from."""
    found = read_checkpoint(run)
    if found is None:
        return None
    progress, tensors = found
    parts: dict[str, dict[str, Tensor]] = {"network": {}, "best": {}, "optimizer": {}}
    for name, value in tensors.items():
        if "." in name:
            part, _, rest = name.partition(".")
            parts[part][rest] = value
    network.load_state_dict(parts["network"])
    if "carried" in tensors:
        network.encoder.carried = tensors["carried"].to(optimizer.weights.device)
    optimizer.restore(parts["optimizer"], progress.step)
    torch.set_rng_state(tensors["random"])
    return progress, parts["best"]


def read_checkpoint(run: RunDirectory) -> tuple[Progress, dict[str, Tensor]] | None:
    """The counters and tensors of a checkpoint, every byte checked; None if it isn't there or isn't whole."""
    try:
        content = (run / CHECKPOINT).read_bytes()
        sealed = _metadata(content) or _from_before(run, content)
        tensors = load(content)
        if sealed["sha256"] != _sum_of(sealed["progress"], tensors):
            return None
        return Progress(**json.loads(sealed["progress"])), tensors
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError):
        return None


def _sum_of(counters: str, tensors: dict[str, Tensor]) -> str:
    whole = hashlib.sha256(counters.encode())
    for name, value in sorted(tensors.items()):
        whole.update(f"\n{name} {value.dtype} {list(value.shape)}\n".encode())
        whole.update(value.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return whole.hexdigest()


def _metadata(content: bytes) -> dict[str, str] | None:
    """That of a safetensors file: eight bytes say how long its header is, a JSON object."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return header.get("__metadata__")


def _from_before(run: RunDirectory, content: bytes) -> dict[str, str]:
    """Earlier versions wrote the counters to a second file, with the sum of the first."""
    beside = json.loads((run / "checkpoint.json").read_bytes())
    if beside["sha256"] != hashlib.sha256(content).hexdigest():
        raise ValueError("the two files are of different checkpoints")
    counters = json.dumps(beside["progress"])
    return {"progress": counters, "sha256": _sum_of(counters, load(content))}
