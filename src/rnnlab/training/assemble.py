"""From a spec and its data to a network."""

import io
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from rnnlab.answers.base import Answer
from rnnlab.answers.heads import TiedHead
from rnnlab.core.cache import cache_dir
from rnnlab.core.config import digest_of
from rnnlab.core.errors import ConfigError
from rnnlab.core.files import write_atomically
from rnnlab.data import vectors
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.base import Architecture
from rnnlab.models.chain_head import ChainHead
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import Extra, Network, build_network
from rnnlab.training.spec import RunSpec


def assemble(
    spec: RunSpec, preprocessor: Preprocessor, pretrained: np.ndarray | None = None, *, for_training: bool = True
) -> Network:
    """A fresh network for a run. ``pretrained`` (V, D) spares looking the vectors up again. Unless it is to be trained,
    its tables have the words beyond the training rows too, as the stored weights do."""
    architecture, vocabulary, answer = spec.model, preprocessor.vocabulary, spec.task.answer
    assert isinstance(architecture, Architecture)
    if pretrained is None and architecture.embedding and architecture.embedding.vectors and vocabulary:
        pretrained = look_up(architecture.embedding, vocabulary.words)
    vectors = None if pretrained is None else torch.from_numpy(pretrained)
    learnt = None if vocabulary is None else vocabulary.learnt
    network = build_network(
        architecture,
        words=None if vocabulary is None else len(vocabulary.learnt_words),
        features=preprocessor.features,
        tokens=preprocessor.tokens,
        columns=len(preprocessor.text_columns),
        letters=preprocessor.letters,
        narrow=preprocessor.narrow,
        pretrained=None if vectors is None else vectors[:learnt],
        ngrams=0 if vocabulary is None else vocabulary.further,
        extra=None
        if vocabulary is None or learnt is None
        else Extra(len(vocabulary.words) - learnt, None if vectors is None else vectors[learnt:], not for_training),
        head=lambda width: head_of(architecture, answer, width, answer.outputs(preprocessor)),
        reads=answer.reads,
        written=answer.outputs(preprocessor) if answer.writes else 0,
    )
    if architecture.tied:
        of_both = (network.embedding, network.encoder.state_width)
        vectors, width = of_both if network.decoder is None else (network.decoder.embedding, network.decoder.width)
        assert vectors is not None
        network.head = TiedHead(width, vectors)
    return network


def head_of(architecture: Architecture, answer: Answer, width: int, outputs: int) -> nn.Module:
    if architecture.tied:
        return nn.Identity()  # until there are vectors
    head = answer.head(width, outputs)
    return ChainHead(head, answer.forbidden(outputs)) if architecture.crf else head


def look_up(embedding: Embedding, words: Sequence[str]) -> np.ndarray:
    """The pre-trained rows of a vocabulary, (V, D); zero where there is none."""
    assert embedding.vectors
    digest = vectors.digest_of_source(embedding.vectors)
    _check(embedding, digest)
    kept = cache_dir() / "vectors" / f"{digest_of([digest, words])}.npy"
    if kept.exists():
        return np.load(kept, allow_pickle=False)
    loaded = vectors.load(embedding.vectors)
    _check(embedding, loaded.digest)  # they may have been swapped since: kept under the digest of what was read
    kept = kept.with_name(f"{digest_of([loaded.digest, words])}.npy")
    chosen, _ = vectors.select(loaded, words)
    kept.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.save(buffer, chosen, allow_pickle=False)
    write_atomically(kept, buffer.getvalue())
    return chosen


def _check(embedding: Embedding, digest: str) -> None:
    if embedding.vectors_digest not in (None, digest):
        raise ConfigError(
            "{vectors}: the vectors changed since the run was planned; start again", vectors=embedding.vectors
        )


def resolve_device(name: str) -> str:
    """``auto`` → the accelerator that torch finds, else cpu."""
    if name != "auto":
        try:
            torch.empty(0, device=name)
        except (RuntimeError, AssertionError, NotImplementedError):
            raise ConfigError(
                "training.device: torch can't use '{name}' here; take auto or cpu (cuda, mps where they are)", name=name
            ) from None
        return name
    accelerator = torch.accelerator.current_accelerator()
    return accelerator.type if accelerator and torch.accelerator.is_available() else "cpu"
