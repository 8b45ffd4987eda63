"""The search finds what trying everything finds, and a beam of one is the greedy choice."""

import itertools
import math

import numpy as np
import pytest
import torch

from rnnlab.answers.heads import StateHead
from rnnlab.answers.translation import tokens_before
from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import Network, build_network
from rnnlab.models.sampling import choose, uniforms
from rnnlab.models.search import Manner, draw, look, search

WORDS = 7  # of which four are special ones
LONGEST = 4


@pytest.fixture(scope="module")
def network() -> Network:
    torch.manual_seed(11)
    architecture = ARCHITECTURES.parse({"kind": "gru", "hidden": 16, "embedding": {"width": 8}})
    made = build_network(
        architecture,
        words=12,
        features=None,
        pretrained=None,
        head=lambda width: StateHead(width, WORDS),
        reads="states",
        written=WORDS,
    )
    with torch.no_grad():
        linear_of(made).weight.mul_(8)  # so that texts differ in their probability
    return made.eval()


def linear_of(network: Network) -> torch.nn.Linear:
    assert isinstance(network.head, StateHead)
    return network.head.linear


@pytest.fixture(scope="module")
def sources() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    ids, lengths = torch.randint(2, 12, (6, 5), generator=generator), torch.tensor([5, 3, 1, 4, 2, 5])
    return ids.masked_fill(torch.arange(5) >= lengths[:, None], PADDING), lengths


def log_probability(network: Network, ids: torch.Tensor, lengths: torch.Tensor, text: tuple[int, ...]) -> float:
    """Of a text with its end, where what is never written has no share."""
    targets = torch.tensor([[*text, END]])
    with torch.no_grad():
        out = network(ids, lengths, tokens_before(targets))[0]
    out[:, [PADDING, UNKNOWN, BEGIN]] = -torch.inf
    return float(torch.log_softmax(out, 1).gather(1, targets[0][:, None]).sum())


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_wide_beam_finds_what_trying_everything_finds(network: Network, sources, penalty: float) -> None:
    ids, lengths = sources
    every = [text for size in range(LONGEST) for text in itertools.product(range(END + 1, WORDS), repeat=size)]
    found = search(network, ids, lengths, Manner(beam=100, length_penalty=penalty, longest=LONGEST))
    for row in range(len(ids)):
        one = slice(row, row + 1)
        chances = {text: log_probability(network, ids[one], lengths[one], text) for text in every}
        score = {text: chance / (len(text) + 1) ** penalty for text, chance in chances.items()}
        ranked = sorted(score, key=lambda text: -score[text])
        assert [text.ids for text in found[row][:5]] == ranked[:5]
        assert found[row][0].nats == pytest.approx(-chances[ranked[0]], abs=1e-4)


def test_a_beam_of_one_is_the_greedy_choice(network: Network, sources) -> None:
    ids, lengths = sources
    found = search(network, ids, lengths, Manner(beam=1, longest=8))
    for row in range(len(ids)):
        one, text = slice(row, row + 1), []
        while len(text) < 8:
            with torch.no_grad():
                out = network(ids[one], lengths[one], torch.tensor([[BEGIN, *text]]))[0, -1]
            out[[PADDING, UNKNOWN, BEGIN]] = -torch.inf
            if (best := int(out.argmax())) == END:
                break
            text.append(best)
        assert list(found[row][0].ids) == text


def test_a_text_does_not_depend_on_its_neighbours(network: Network, sources) -> None:
    ids, lengths = sources
    together = search(network, ids, lengths, Manner(beam=3, longest=8))
    alone = [
        search(network, ids[row : row + 1, :length], lengths[row : row + 1], Manner(beam=3, longest=8))[0]
        for row, length in enumerate(lengths.tolist())
    ]
    assert [[text.ids for text in row] for row in together] == [[text.ids for text in row] for row in alone]


def test_what_has_no_end_is_cut(network: Network, sources) -> None:
    ids, lengths = sources
    bias = linear_of(network).bias
    before = bias.detach().clone()
    try:
        with torch.no_grad():
            bias[END] = -1e4
        found = search(network, ids, lengths, Manner(beam=2, longest=6))
    finally:
        with torch.no_grad():
            bias.copy_(before)
    assert all(len(text.ids) == 6 and not text.ended for row in found for text in row)


def test_unknown_words_are_written_only_if_asked_for(network: Network, sources) -> None:
    ids, lengths = sources
    bias = linear_of(network).bias
    before = bias.detach().clone()
    try:
        with torch.no_grad():
            bias[UNKNOWN] = 100.0
        without = search(network, ids, lengths, Manner(beam=2, longest=4))
        within = search(network, ids, lengths, Manner(beam=2, longest=4, unknown=True))
    finally:
        with torch.no_grad():
            bias.copy_(before)
    assert not any(UNKNOWN in text.ids for row in without for text in row)
    assert all(UNKNOWN in row[0].ids for row in within)


def test_coverage_ranks_by_what_was_looked_at(network: Network, sources) -> None:
    ids, lengths = sources
    plain = search(network, ids, lengths, Manner(beam=4, longest=6))
    ranked = search(network, ids, lengths, Manner(beam=4, longest=6, coverage=5.0))
    assert [{text.ids for text in row} for row in plain] == [{text.ids for text in row} for row in ranked]
    assert [row[0].ids for row in plain] != [row[0].ids for row in ranked]
    for row, texts in enumerate(ranked):
        one = slice(row, row + 1)
        before = {text.ids: text.score for text in plain[row]}
        for text in texts:
            [weights] = look(network, ids[one], lengths[one], [text.ids]) or []
            assert weights.shape == (len(text.ids) + 1, int(lengths[row]))
            assert torch.allclose(weights.sum(1), torch.ones(len(weights)))
            missed = sum(math.log(min(1.0, float(place))) for place in weights.sum(0))
            assert text.score == pytest.approx(before[text.ids] + 5.0 * missed, abs=1e-4)
        assert [text.score for text in texts] == sorted((text.score for text in texts), reverse=True)


def test_without_chance_drawing_is_the_greedy_choice(network: Network, sources) -> None:
    ids, lengths = sources
    greedy = search(network, ids, lengths, Manner(beam=1, longest=8))
    drawn = draw(network, ids, lengths, lambda logits, rows, step: logits.argmax(1), 8)
    assert [text.ids for text in drawn] == [row[0].ids for row in greedy]
    assert [text.nats for text in drawn] == pytest.approx([row[0].nats for row in greedy], abs=1e-4)


def test_what_is_drawn_depends_on_its_row_alone(network: Network, sources) -> None:
    ids, lengths = sources

    def by(rows: np.ndarray) -> list[tuple[int, ...]]:
        chosen = torch.from_numpy(rows)

        def drawn(logits: np.ndarray, going: np.ndarray, step: int) -> np.ndarray:
            return choose(logits, 1.0, None, 1.0, uniforms(3, rows[going], step))

        return [text.ids for text in draw(network, ids[chosen], lengths[chosen], drawn, 8)]

    together = by(np.arange(6))
    assert [by(np.array([row]))[0] for row in range(6)] == together
    assert len(set(together)) > 1
