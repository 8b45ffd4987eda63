"""What a task is: it loads data, puts a head on an encoder, and says how right an answer is. It knows no encoder."""

from typing import Any, ClassVar, Self

from pydantic import Field
from torch import Tensor, nn

from rnnlab.config import Config
from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.interface import Interface
from rnnlab.registry import Registry
from rnnlab.tasks.tally import Tally


class Task(Config):
    """Pure data, like an architecture."""

    metric: ClassVar[str] = "accuracy"
    """The score by which epochs and models are chosen; higher is better."""
    causal: ClassVar[bool] = False
    """Whether answers at step t may depend on inputs up to t only; architectures that look ahead are then refused."""

    fingerprint: str | None = Field(default=None, description="Identifies the encoded data; filled in.")

    def resolve(self) -> Self:
        """Read the data once, fill in everything that was automatic, and set the fingerprint."""
        raise NotImplementedError

    def load(self) -> EncodedData:
        """The encoded data: from the cache, or from the source again."""
        raise NotImplementedError

    def head(self, width: int, interface: Interface) -> nn.Module:
        """From what the encoder made to outputs: ``Encoded -> (B, C)``."""
        raise NotImplementedError

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        """The mean loss of a batch, to differentiate."""
        raise NotImplementedError

    def tally(self, out: Tensor, batch: Batch) -> Tally:
        """Sums and counts of a batch, which can be added up."""
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        """What a run's digest depends on: the encoded data alone, not where or how the file was found."""
        return {"kind": self.kind, "fingerprint": self.fingerprint} if self.fingerprint else self.to_dict()


TASKS: Registry[Task] = Registry("task", ("rnnlab.tasks.classify",))
task = TASKS.register
