"""Where to go on: tensors and counters of an unfinished run, written whole or not at all."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

from rnnlab.files import write_atomically
from rnnlab.models.network import Network
from rnnlab.runs import RunDirectory, pretty_json, sha256_of
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
    write_atomically(run / "checkpoint.safetensors", save({k: v.cpu().clone() for k, v in tensors.items()}))
    sealed = {"sha256": sha256_of(run / "checkpoint.safetensors"), "progress": asdict(progress)}
    write_atomically(run / "checkpoint.json", pretty_json(sealed))


def load_checkpoint(
    run: RunDirectory, network: Network, optimizer: Optimizer
) -> tuple[Progress, dict[str, Tensor]] | None:
    """Bring network, optimiser, carried and random state back; None when there is nothing whole to go on from."""
    try:
        sealed: dict[str, Any] = json.loads((run / "checkpoint.json").read_text(encoding="utf-8"))
        if sha256_of(run / "checkpoint.safetensors") != sealed["sha256"]:
            return None
    except (FileNotFoundError, json.JSONDecodeError, KeyError):
        return None
    tensors = load((run / "checkpoint.safetensors").read_bytes())
    parts: dict[str, dict[str, Tensor]] = {"network": {}, "best": {}, "optimizer": {}}
    for name, value in tensors.items():
        if "." in name:
            part, _, rest = name.partition(".")
            parts[part][rest] = value
    progress = Progress(**sealed["progress"])
    network.load_state_dict(parts["network"])
    if "carried" in tensors:
        network.encoder.carried = tensors["carried"].to(optimizer.weights.device)
    optimizer.restore(parts["optimizer"], progress.step)
    torch.set_rng_state(tensors["random"])
    return progress, parts["best"]
