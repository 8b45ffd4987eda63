"""Whatever reads and writes: training and writing give the same, and nobody is told what isn't there."""

from typing import Any

import pytest
import torch
from torch import Tensor

from rnnlab.answers.heads import StateHead
from rnnlab.answers.translation import tokens_before
from rnnlab.core.errors import ConfigError
from rnnlab.data.sequences import IGNORE
from rnnlab.data.vocabulary import BEGIN, END
from rnnlab.models.base import ARCHITECTURES, select_rows
from rnnlab.models.network import Network, build_network

READ, WRITTEN = 20, 15  # kinds of tokens
WRITERS: dict[str, dict[str, Any]] = {
    "gru": {"kind": "gru", "hidden": 24, "bidirectional": True},
    "gru without attention": {"kind": "gru", "hidden": 24, "decoder": {"attention": "none"}},
    "rnn, dot": {"kind": "rnn", "hidden": 24, "decoder": {"attention": "dot"}},
    "two layers of lstm, scaled": {"kind": "lstm", "hidden": 24, "layers": 2, "decoder": {"attention": "scaled"}},
    "general, fed": {"kind": "gru", "hidden": 24, "decoder": {"attention": "general", "input_feeding": True}},
    "lstm, fed": {"kind": "lstm", "hidden": 24, "layers": 2, "decoder": {"input_feeding": True}},
    "transformer": {"kind": "transformer", "width": 24, "heads": 2, "dropout": 0.0},
    "dilated": {"kind": "dilated"},
    "mingru": {"kind": "mingru", "hidden": 24},
    "textcnn reads, gru writes": {"kind": "textcnn", "decoder": {"model": {"kind": "gru", "hidden": 24}}},
    "gru reads, transformer writes": {
        "kind": "gru",
        "hidden": 24,
        "decoder": {"model": {"kind": "transformer", "width": 24, "heads": 2, "dropout": 0.0, "look_ahead": False}},
    },
}


def network_of(settings: dict[str, Any]) -> Network:
    torch.manual_seed(3)
    architecture = ARCHITECTURES.parse({"embedding": {"width": 12}, **settings})
    return build_network(
        architecture,
        words=READ,
        features=None,
        pretrained=None,
        head=lambda width: StateHead(width, WRITTEN),
        reads="states",
        written=WRITTEN,
    ).eval()


def pairs() -> tuple[Tensor, Tensor, Tensor]:
    """Ids (B, S), lengths (B,) and targets (B, L) of rows of different lengths on both sides."""
    generator = torch.Generator().manual_seed(5)
    lengths, written = torch.tensor([9, 5, 7, 1]), torch.tensor([6, 4, 1, 3])
    ids = torch.randint(4, READ, (4, 9), generator=generator)
    targets = torch.randint(4, WRITTEN, (4, 6), generator=generator)
    targets[torch.arange(4), written - 1] = END
    ids[torch.arange(9) >= lengths[:, None]] = 0
    targets[torch.arange(6) >= written[:, None]] = IGNORE
    return ids, lengths, targets


@pytest.mark.parametrize("name", WRITERS)
def test_forced_scores_are_stepwise_scores(name: str) -> None:
    network, (ids, lengths, targets) = network_of(WRITERS[name]), pairs()
    read = tokens_before(targets)
    with torch.inference_mode():
        whole = network(ids, lengths, read)
        memory = network.remember(ids, lengths)
        assert network.decoder is not None
        state = network.decoder.begin(memory)
        for step in range(read.shape[1]):
            out, state = network.go_on_writing(memory, read[:, step], state)
            asked = targets[:, step] != IGNORE
            torch.testing.assert_close(out[asked], whole[asked, step], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", WRITERS)
def test_a_row_is_the_same_alone_and_with_any_padding(name: str) -> None:
    network, (ids, lengths, targets) = network_of(WRITERS[name]), pairs()
    read = tokens_before(targets)
    with torch.inference_mode():
        whole = network(ids, lengths, read)
        wider = network(torch.nn.functional.pad(ids, (0, 4)), lengths, torch.nn.functional.pad(read, (0, 3)))
        for row, length in enumerate(lengths.tolist()):
            tokens = int((targets[row] != IGNORE).sum())
            alone = network(ids[row : row + 1, :length], lengths[row : row + 1], read[row : row + 1, :tokens])
            torch.testing.assert_close(alone[0], whole[row, :tokens], atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(wider[row, :tokens], whole[row, :tokens], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_later_changes_nothing_before(name: str) -> None:
    network, (ids, lengths, targets) = network_of(WRITERS[name]), pairs()
    changed = targets.clone()
    changed[0, 3] = 4 if targets[0, 3] != 4 else 5
    with torch.inference_mode():
        before, after = (network(ids, lengths, tokens_before(one))[0] for one in (targets, changed))
    torch.testing.assert_close(before[:4], after[:4])
    assert not torch.allclose(before[4:], after[4:])


@pytest.mark.parametrize("name", WRITERS)
def test_rows_of_a_state_can_be_chosen(name: str) -> None:
    network, (ids, lengths, targets) = network_of(WRITERS[name]), pairs()
    read, rows = tokens_before(targets), torch.tensor([1, 0, 0])
    assert network.decoder is not None
    with torch.inference_mode():
        memory = network.remember(ids, lengths)
        _, state = network.go_on_writing(memory, read[:, 0], network.decoder.begin(memory))
        every, _ = network.go_on_writing(memory, read[:, 1], state)
        some, _ = network.go_on_writing(memory.select(rows), read[rows, 1], select_rows(state, rows))
    torch.testing.assert_close(some, every[rows], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", WRITERS)
def test_every_weight_learns(name: str) -> None:
    network, (ids, lengths, targets) = network_of(WRITERS[name]).train(), pairs()
    out = network(ids, lengths, tokens_before(targets))
    torch.nn.functional.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=IGNORE).backward()
    idle = [name for name, weight in network.named_parameters() if weight.grad is None or not weight.grad.any()]
    # of the source, a Transformer that writes is told by its states alone: nothing is pooled
    assert not [name for name in idle if "pool" not in name], idle


@pytest.mark.parametrize("name", ["gru", "two layers of lstm, scaled", "transformer", "general, fed"])
def test_looks_are_shares_of_the_real_source(name: str) -> None:
    network, (ids, lengths, targets) = network_of(WRITERS[name]), pairs()
    read = tokens_before(targets)
    assert network.decoder is not None
    with torch.inference_mode():
        looks = network.decoder.looks(network.remember(ids, lengths), read, (read != 0).sum(1))
    assert looks is not None
    torch.testing.assert_close(looks.sum(2), torch.ones(looks.shape[:2]))
    assert not looks[1, :, 5:].any()  # padding of the source


def test_without_attention_all_goes_through_the_summary() -> None:
    network, (ids, lengths, targets) = network_of(WRITERS["gru without attention"]), pairs()
    assert network.decoder is not None
    with torch.inference_mode():
        memory = network.remember(ids, lengths)
        assert network.decoder.looks(memory, tokens_before(targets), torch.ones(4, dtype=torch.int64)) is None


def test_the_first_token_read_is_the_beginning() -> None:
    targets = torch.tensor([[7, 8, END], [9, END, IGNORE]])
    assert tokens_before(targets).tolist() == [[BEGIN, 7, 8], [BEGIN, 9, 0]]


def test_who_looks_ahead_cannot_write() -> None:
    with pytest.raises(ConfigError, match="reads what comes later"):
        network_of({"kind": "textcnn"})
    with pytest.raises(ConfigError, match=r"input_feeding = true would be ignored"):
        network_of({"kind": "gru", "decoder": {"attention": "none", "input_feeding": True}})
