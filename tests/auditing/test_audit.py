"""Each known mistake is caught with its cause and its figures; the same module written rightly passes."""

import copy
import json

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import rnnlab
from rnnlab.auditing.audit_report import Audit
from rnnlab.core.errors import ConfigError
from rnnlab.core.words import retold, speaking
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import build_network

WORDS, D, H = 50, 12, 16


def real(ids: Tensor) -> Tensor:
    return ids != 0


def steps(ids: Tensor) -> Tensor:
    return real(ids).sum(1)


def pack(x: Tensor, lengths: Tensor, **options: bool):
    return pack_padded_sequence(x, lengths.cpu(), batch_first=True, **{"enforce_sorted": False, **options})


class Text(nn.Module):
    """Embedding, something in between, a linear layer. ``padding_idx`` as most tutorials have it: none."""

    padding_idx: int | None = None
    width = H

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, D, padding_idx=self.padding_idx)
        self.build()
        self.fc = nn.Linear(self.width, 3)

    def build(self) -> None:
        raise NotImplementedError


class Lstm(Text):
    bidirectional = False

    def build(self) -> None:
        self.lstm = nn.LSTM(D, H, batch_first=True, bidirectional=self.bidirectional)

    def last(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """The right one."""
        return self.lstm(self.embedding(ids))[0][torch.arange(len(ids)), lengths - 1]


class BiLstm(Lstm):
    bidirectional = True
    width = 2 * H


class Vectors(Text):
    width = D

    def build(self) -> None:
        pass


class Encoder(Vectors):
    def build(self) -> None:
        layer = nn.TransformerEncoderLayer(D, 2, 24, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def encode(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        return self.fc(self.encoder(self.embedding(ids), src_key_padding_mask=mask)[:, 0])


# Mistakes


class LastStep(Lstm):
    def forward(self, ids):
        return self.fc(self.lstm(self.embedding(ids))[0][:, -1])


class LastHidden(Lstm):
    def forward(self, ids):
        return self.fc(self.lstm(self.embedding(ids))[1][0][-1])


class LastOfZeros(Lstm):
    """Packed, but after unpacking the last step is zeros for all but the longest."""

    def forward(self, ids, lengths):
        output, _ = self.lstm(pack(self.embedding(ids), lengths))
        return self.fc(pad_packed_sequence(output, batch_first=True)[0][:, -1])


class Cell(Text):
    def build(self) -> None:
        self.cell = nn.GRUCell(D, H)

    def forward(self, ids):
        h = torch.zeros(len(ids), H)
        for x in self.embedding(ids).unbind(1):
            h = self.cell(x, h)
        return self.fc(torch.tanh(h))


class FirstAndLast(BiLstm):
    width = 4 * H

    def forward(self, ids):
        output, _ = self.lstm(self.embedding(ids))
        return self.fc(torch.cat([output[:, 0], output[:, -1]], 1))


class BothHidden(BiLstm):
    def forward(self, ids):
        h = self.lstm(self.embedding(ids))[1][0]
        return self.fc(torch.cat([h[-2], h[-1]], 1))


class Flipped(Lstm):
    def forward(self, ids):
        return self.fc(self.lstm(self.embedding(ids).flip(1))[0][:, -1])


class Mean(Vectors):
    def forward(self, ids):
        return self.fc(self.embedding(ids).mean(1))


class MeanOfZeros(Mean):
    padding_idx = 0


class Sum(Vectors):
    def forward(self, ids):
        return self.fc(self.embedding(ids).sum(1))


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.fc = nn.EmbeddingBag(WORDS, D), nn.Linear(D, 3)

    def forward(self, ids):
        return self.fc(self.bag(ids))


class Convolved(Text):
    padding_idx = 0

    def build(self) -> None:
        self.conv = nn.Conv1d(D, H, 3, padding=1)

    def states(self, ids):
        return self.conv(self.embedding(ids).transpose(1, 2))


class MaxPooled(Convolved):
    def forward(self, ids):
        return self.fc(F.max_pool1d(F.relu(self.states(ids)), ids.shape[1]).squeeze(2))


class MaxModule(Convolved):
    def build(self) -> None:
        super().build()
        self.pool = nn.AdaptiveMaxPool1d(1)

    def forward(self, ids):
        return self.fc(self.pool(self.states(ids)).flatten(1))


class MaxOfZeros(Convolved):
    def forward(self, ids):
        return self.fc((self.states(ids) * real(ids)[:, None]).amax(2))


class Reaching(Convolved):
    padding_idx = None

    def forward(self, ids):
        return self.fc(self.states(ids).masked_fill(~real(ids)[:, None], -torch.inf).amax(2))


class Attention(Lstm):
    def build(self) -> None:
        super().build()
        self.score = nn.Linear(H, 1)

    def forward(self, ids):
        output, _ = self.lstm(self.embedding(ids))
        return self.fc((self.score(output).softmax(1) * output).sum(1))


class Transformer(Encoder):
    def forward(self, ids):
        return self.encode(ids, None)


class InvertedMask(Vectors):
    def build(self) -> None:
        self.attention = nn.MultiheadAttention(D, 2, batch_first=True)

    def forward(self, ids):
        x = self.embedding(ids)
        return self.fc(self.attention(x, x, x, key_padding_mask=real(ids))[0][:, 0])


class UselessMask(InvertedMask):
    def forward(self, ids):
        x = self.embedding(ids)
        return self.fc(self.attention(x, x, x, key_padding_mask=torch.zeros_like(ids, dtype=torch.bool))[0][:, 0])


class BatchStatistics(Text):
    width = D

    def build(self) -> None:
        self.norm = nn.BatchNorm1d(D, track_running_stats=False)

    def forward(self, ids):
        x = self.norm(self.embedding(ids).transpose(1, 2)).transpose(1, 2)
        return self.fc((x * real(ids)[:, :, None]).sum(1) / steps(ids)[:, None])


class OverTheBatch(Text):
    """batch_first is missing, and nothing complains."""

    def build(self) -> None:
        self.gru = nn.GRU(D, H)

    def forward(self, ids):
        output, _ = self.gru(self.embedding(ids))
        return self.fc(output[torch.arange(len(ids)), steps(ids) - 1])


class SortedOnly(Lstm):
    def forward(self, ids, lengths):
        return self.fc(self.lstm(pack(self.embedding(ids), lengths, enforce_sorted=True))[1][0][-1])


MISTAKES = [
    (LastStep, "padding", ["last-step-is-padding"], "after lstm (LSTM) and before fc"),
    (LastHidden, "padding", ["last-step-is-padding"], "before fc"),
    (LastOfZeros, "neighbours", ["last-step-is-padding"], "before fc"),
    (Cell, "padding", ["last-step-is-padding"], "before fc"),
    (FirstAndLast, "padding", ["backward-starts-in-padding", "last-step-is-padding"], "in lstm (LSTM)"),
    (BothHidden, "padding", ["backward-starts-in-padding"], "in lstm (LSTM)"),
    (Flipped, "padding", ["backward-starts-in-padding"], "before lstm"),
    (Mean, "padding", ["mean-over-padding"], "before fc"),
    (MeanOfZeros, "padding", ["mean-over-padding"], "before fc"),
    (Sum, "padding", ["sum-over-padding"], "before fc"),
    (Bag, "padding", ["mean-over-padding"], "in bag (EmbeddingBag)"),
    (MaxPooled, "padding", ["max-over-padding"], "before fc"),
    (MaxModule, "padding", ["max-over-padding"], "in pool (AdaptiveMaxPool1d)"),
    (MaxOfZeros, "padding", ["max-over-padding"], "before fc"),
    (Reaching, "padding", ["convolution-reaches-padding"], "in conv (Conv1d)"),
    (Attention, "padding", ["attention-over-padding"], "before fc"),
    (Transformer, "padding", ["attention-over-padding"], "in encoder.layers.0.self_attn (MultiheadAttention)"),
    (UselessMask, "padding", ["attention-over-padding"], "in attention (MultiheadAttention)"),
    (BatchStatistics, "neighbours", ["batch-norm-of-the-batch"], "in norm (BatchNorm1d)"),
    (OverTheBatch, "neighbours", ["axes-mixed-up"], "in gru (GRU)"),
    (SortedOnly, "order", ["sorted-batches-only"], None),
]


def audited(factory, **options) -> Audit:
    torch.manual_seed(3)
    return rnnlab.audit(factory(), **options)


@pytest.mark.parametrize(
    ("factory", "law", "causes", "where"), MISTAKES, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_mistake_is_caught_with_its_cause(factory, law, causes, where):
    found = audited(factory)
    finding = found.finding(law)
    assert not found.passed
    assert finding.status == "fails"
    assert [cause.name for cause in finding.causes] == causes, finding
    assert all(cause.fix for cause in finding.causes)
    told = [text for cause in finding.causes for text in (cause.what, cause.fix.splitlines()[0])]
    assert all(retold(text).zh != text for text in told)
    if where is not None:
        assert finding.where is not None
        assert where in finding.where
        assert all(retold(text).zh != text for text in (finding.where, *finding.by_change))
        assert finding.difference is not None
        assert found.tolerance is not None
        assert finding.difference > 10 * found.tolerance
        assert set(finding.lengths) <= {1, 2, 3, 5, 9, 14}
        assert finding.difference == max(finding.by_change.values())


class Several(Vectors):
    """The maximum is right, as padding is zero and nothing else is below; the mean beside it is not."""

    padding_idx = 0
    width = 2 * D

    def forward(self, ids):
        x = self.embedding(ids)
        return self.fc(torch.cat([F.relu(x).amax(1), x.mean(1)], 1))


class TwoConvolutions(Convolved):
    width = 2 * H

    def build(self) -> None:
        self.conv, self.wide = nn.Conv1d(D, H, 1), nn.Conv1d(D, H, 3, padding=1)
        self.dropout = nn.Dropout()

    def forward(self, ids):
        x = self.embedding(ids).transpose(1, 2)
        return self.fc(torch.cat([self.dropout(convolve(x)).amax(2) for convolve in (self.conv, self.wide)], 1))


class Unharmed(BiLstm):
    """What is wrong is the backward direction; the maximum leaves padding out, in a way of its own."""

    def forward(self, ids):
        output, _ = self.lstm(self.embedding(ids))
        return self.fc((output - 10.0 * ~real(ids)[:, :, None]).amax(1))


@pytest.mark.parametrize(
    ("factory", "name", "source"),
    [
        (Unharmed, "backward-starts-in-padding", "lstm (LSTM)"),
        (Several, "mean-over-padding", "the output of embedding (Embedding)"),
        (TwoConvolutions, "max-over-padding", "the outputs of conv (Conv1d) and wide (Conv1d)"),
    ],
)
def test_what_was_taken_is_named_and_nothing_else(factory, name, source):
    """Not what is harmless beside it, nor the dropout that it went through."""
    (cause,) = audited(factory).finding("padding").causes
    assert (cause.name, cause.source) == (name, source)


def test_steps_that_are_all_the_same_are_not_taken_for_reversed_ones():
    torch.manual_seed(3)
    module = Transformer()
    for parameter in module.parameters():
        parameter.data *= 3
    (cause,) = rnnlab.audit(module, seed=3).finding("padding").causes
    assert cause.name == "attention-over-padding"


# The same, right


class Gathered(Lstm):
    def forward(self, ids, lengths):
        return self.fc(self.last(ids, lengths))


class PackedHidden(BiLstm):
    def forward(self, ids):
        h = self.lstm(pack(self.embedding(ids), steps(ids)))[1][0]
        return self.fc(torch.cat([h[-2], h[-1]], 1))


class MaskedMean(Vectors):
    def forward(self, ids, mask):
        return self.fc((self.embedding(ids) * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True))


class MaskedMax(Convolved):
    def forward(self, ids):
        return self.fc(self.states(ids).masked_fill(~real(ids)[:, None], -torch.inf).amax(2))


class MaskedTransformer(Encoder):
    def forward(self, ids):
        return self.encode(ids, ~real(ids))


class KeyPaddingMask(Encoder):
    def forward(self, tokens, src_key_padding_mask):
        return self.encode(tokens, src_key_padding_mask)


class MaskedAttention(Attention):
    def forward(self, ids):
        output, _ = self.lstm(self.embedding(ids))
        scores = self.score(output).masked_fill(~real(ids)[:, :, None], -torch.inf)
        return self.fc((scores.softmax(1) * output).sum(1))


class TimeFirst(Text):
    """(T, B) in, (B, 3) out."""

    def build(self) -> None:
        self.gru = nn.GRU(D, H)

    def forward(self, ids):
        output, _ = self.gru(self.embedding(ids))
        return self.fc(output[(ids != 0).sum(0) - 1, torch.arange(ids.shape[1])])


class Tagger(Lstm):
    """An answer a step."""

    def forward(self, ids):
        return {"hidden": None, "logits": self.fc(self.lstm(self.embedding(ids))[0])}


class WithDropout(Gathered):
    def build(self) -> None:
        self.lstm = nn.LSTM(D, H, num_layers=2, dropout=0.5, batch_first=True)
        self.dropout = nn.Dropout(0.5)

    def forward(self, ids, lengths):
        return super().forward(ids, lengths) + self.fc(self.dropout(torch.ones(len(ids), H)))


RIGHT = [Gathered, PackedHidden, MaskedMean, MaskedMax, MaskedTransformer, KeyPaddingMask, MaskedAttention, Tagger]


@pytest.mark.parametrize("factory", [*RIGHT, WithDropout], ids=lambda factory: factory.__name__)
def test_a_right_module_passes(factory):
    found = audited(factory)
    assert found.passed, str(found)
    assert [finding.status for finding in found.findings] == ["holds"] * 5
    assert found.verdict == "passed: all laws hold"


def test_time_first():
    assert audited(TimeFirst, time_first=True).passed
    with pytest.raises(ConfigError, match="--time-first"):
        audited(TimeFirst)


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "rnn", "pooling": "mean"},
        {"kind": "lstm", "bidirectional": True, "pooling": "first+last"},
        {"kind": "textcnn"},
        {"kind": "transformer"},
        {"kind": "linear"},
    ],
    ids=lambda settings: settings["kind"],
)
def test_our_own_models_pass(settings):
    torch.manual_seed(0)
    architecture = ARCHITECTURES.parse({**settings, "embedding": Embedding(width=8).to_dict()})
    network = build_network(
        architecture, words=WORDS, features=None, pretrained=None, head=lambda width: SummaryHead(width)
    )
    found = rnnlab.audit(network, vocabulary=WORDS)
    assert found.passed, str(found)
    assert found.call == "forward(ids, lengths=lengths)"


class SummaryHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 2)

    def forward(self, encoded):
        return self.linear(encoded.summary)


# What can't be judged, and what is said about it


class FunctionalDropout(Lstm):
    def forward(self, ids, lengths):
        return self.fc(F.dropout(self.last(ids, lengths)))


class RandomState(Lstm):
    def forward(self, ids):
        state = torch.randn(2, 1, len(ids), H)
        return self.fc(self.lstm(pack(self.embedding(ids), steps(ids)), (state[0], state[1]))[1][0][-1])


class KeptState(Lstm):
    state = None

    def forward(self, ids):
        output, self.state = self.lstm(self.embedding(ids), self.state)
        return self.fc(output[:, -1])


@pytest.mark.parametrize(
    ("factory", "cause"),
    [
        (FunctionalDropout, "dropout-in-evaluation"),
        (RandomState, "random-initial-state"),
        (KeptState, "state-kept-between-calls"),
    ],
)
def test_what_is_not_repeatable_is_said_first_and_nothing_else_is_judged(factory, cause):
    found = audited(factory)
    assert [finding.status for finding in found.findings] == ["fails", "unjudged", "unjudged", "unjudged"]
    assert found.findings[0].law == "repeatable"
    assert [cause.name for cause in found.findings[0].causes] == [cause]
    assert not found.passed
    with speaking("zh"):
        assert str(found).endswith("违反：repeatable；无法判断：padding，neighbours，order")
        assert "无法判断：“repeatable”不成立时无从判断" in str(found)


def test_an_inverted_mask_hides_everything():
    found = audited(InvertedMask)
    assert [(finding.law, finding.status) for finding in found.findings[:2]] == [
        ("repeatable", "holds"),
        ("finite", "fails"),
    ]
    assert [cause.name for cause in found.finding("finite").causes] == ["mask-inverted"]
    assert "in attention (MultiheadAttention)" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 4)
        self.fc = nn.Linear(20 * 4, 3)

    def forward(self, ids):
        return self.fc(self.embedding(ids).flatten(1))


def test_a_module_of_one_length():
    found = audited(Flat, pad_to=20)
    assert {f.law: f.status for f in found.findings} == {
        "repeatable": "holds",
        "padding": "unjudged",
        "neighbours": "holds",
        "order": "holds",
    }
    problem = found.finding("padding").problem
    assert problem is not None
    assert "runs at 20 steps only" in problem
    assert "shapes cannot be multiplied" in problem
    assert not found.passed
    with pytest.raises(ConfigError, match="one fixed length, --pad-to N"):
        audited(Flat)


def test_a_last_layer_of_zeros_hides_everything():
    module = LastStep()
    nn.init.zeros_(module.fc.weight)
    found = rnnlab.audit(module)
    assert found.findings[-4].law == "different"
    assert found.findings[-4].status == "unjudged"
    assert not found.passed


def test_the_shortest_sequences_may_be_too_short():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Embedding(WORDS, D), Swap(), nn.Conv1d(D, 4, 3), nn.AdaptiveMaxPool1d(1), nn.Flatten())
    found = rnnlab.audit(module)
    assert found.finding("padding").tried == (3, 5, 9, 14)
    assert "can't be run on a sequence of 1, 2 steps alone: RuntimeError" in found.notes[0]


class Swap(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


class Positions(Encoder):
    """Learnt positions, 20 of them."""

    def build(self) -> None:
        super().build()
        self.positions = nn.Embedding(20, D)

    def forward(self, ids):
        x = self.embedding(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.fc(self.encoder(x, src_key_padding_mask=~real(ids))[:, 0])


def test_a_table_of_positions_may_end():
    found = audited(Positions)
    assert found.passed
    assert "ids below 50," in found.inputs  # not the 20 positions
    assert any("run at 21 steps: IndexError" in note for note in found.notes)


class Squeezed(Gathered):
    def forward(self, ids, lengths):
        return super().forward(ids, lengths)[:, :1].squeeze()


def test_squeeze_is_noted():
    found = audited(Squeezed)
    assert found.passed
    assert "squeeze" in found.notes[0]


class NoKnownPattern(Lstm):
    """The standard deviation over steps, padding counted."""

    def forward(self, ids):
        return self.fc(self.lstm(self.embedding(ids))[0].std(1, unbiased=False))


def test_an_unknown_mistake_is_localised():
    found = audited(NoKnownPattern)
    finding = found.finding("padding")
    assert (finding.status, finding.causes) == ("fails", ())
    assert "after lstm (LSTM) and before fc (Linear)" in str(finding.where)
    assert "none of the known mistakes" in str(found)


class OneFunction(nn.Module):
    """Nothing inside to be watched."""

    def __init__(self):
        super().__init__()
        self.vectors = nn.Parameter(torch.randn(WORDS, 3))

    def forward(self, ids):
        return self.vectors[ids].std(1, unbiased=False)


def test_without_modules_inside():
    finding = audited(OneFunction, vocabulary=WORDS).finding("padding")
    assert (finding.status, finding.causes) == ("fails", ())
    assert finding.where == "unknown: there is no module inside that can be watched"


class Infinite(Mean):
    def forward(self, ids):
        x = self.embedding(ids).mean(1)
        return self.fc(x) / real(ids).all(1)[:, None]


def test_answers_that_become_infinite():
    found = audited(Infinite)
    assert "some answers are NaN or infinite" in str(found)
    written = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(written)["findings"][1]["difference"] is None


# Training mode


class BatchNormed(Text):
    """Right in evaluation mode."""

    width = D

    def build(self) -> None:
        self.norm = nn.BatchNorm1d(D)
        self.dropout = nn.Dropout(0.5)

    def forward(self, ids):
        x = self.dropout(self.norm(self.embedding(ids).transpose(1, 2))).transpose(1, 2)
        return self.fc((x * real(ids)[:, :, None]).sum(1) / steps(ids)[:, None])


def test_batch_norm_in_training_is_a_warning():
    found = audited(BatchNormed)
    assert found.passed
    finding = found.finding("training")
    assert finding.status == "warns"
    assert [cause.name for cause in finding.causes] == ["batch-norm-of-the-batch"]
    assert set(finding.by_change) == {"with two more neighbours", "7 more steps of padding"}
    assert min(finding.by_change.values()) > 1e-3
    assert found.verdict == "passed, with a warning"


def test_the_module_and_the_random_numbers_stay_as_they_are():
    module = BatchNormed().train()
    module.norm.eval()  # a mixture
    before, flags = copy.deepcopy(module.state_dict()), [part.training for part in module.modules()]
    state = torch.get_rng_state()
    rnnlab.audit(module)
    assert torch.equal(state, torch.get_rng_state())
    assert [part.training for part in module.modules()] == flags
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert module.dropout.p == 0.5
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


class Counting(BatchNormed):
    def build(self) -> None:
        super().build()
        self.calls: Tensor
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, ids):
        self.calls += 1
        return super().forward(ids)


def test_a_module_that_cant_be_copied_is_put_back():
    module = Counting().train()
    module.left_behind = module.fc.weight * 2  # no leaf: deepcopy refuses
    before = copy.deepcopy(module.state_dict())
    found = rnnlab.audit(module)
    assert found.passed
    assert [finding.law for finding in found.findings] == ["repeatable", "padding", "neighbours", "order"]
    assert all(part.training for part in module.modules())
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_the_same_seed_gives_the_same_report():
    one, other = audited(LastStep), audited(LastStep)
    assert one == other
    assert audited(LastStep, seed=1) != one


# Input


class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(5, H, batch_first=True), nn.Linear(H, 3)

    def forward(self, x, lengths):
        return self.fc(self.lstm(x)[0][torch.arange(len(x)), lengths - 1])


class SumOfNumbers(Numbers):
    """Right for zeros in the padding alone."""

    def forward(self, x, lengths):
        return self.fc(self.lstm(x)[0][torch.arange(len(x)), lengths - 1]) + x.sum(1)[:, :3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers(dtype):
    found = rnnlab.audit(Numbers().to(dtype), features=5)
    assert found.passed, str(found)
    assert found.finding("garbage").status == "holds"
    assert found.call == "forward(features, lengths=lengths)"


def test_garbage_in_the_padding():
    found = audited(SumOfNumbers, features=5)
    assert found.finding("padding").status == "holds"
    assert found.finding("garbage").status == "fails"


class Named(Lstm):
    def forward(self, ids, n):
        return self.fc(self.last(ids, n))


class Optional(Lstm):
    def forward(self, ids, *, seq_lens=None):
        return self.fc(self.last(ids, steps(ids) if seq_lens is None else seq_lens))


class HuggingFace(Vectors):
    def forward(self, input_ids, attention_mask):
        shown = 1.0 - attention_mask  # bool would raise
        return self.fc((self.embedding(input_ids) * (1 - shown)[:, :, None]).sum(1))


@pytest.mark.parametrize(
    ("factory", "options", "called"),
    [
        (Named, {}, "forward(ids, n=lengths)"),
        (Optional, {}, "forward(ids, seq_lens=lengths)"),
        (Optional, {"call": "ids"}, "forward(ids)"),
        (HuggingFace, {}, "forward(ids, attention_mask=mask)"),
        (Named, {"call": "ids,lengths"}, "forward(ids, lengths)"),
    ],
)
def test_how_it_is_called(factory, options, called):
    found = audited(factory, **options)
    assert found.passed, str(found)
    assert found.call == called


class NeedsHidden(Lstm):
    def forward(self, ids, hidden):
        return self.fc(self.lstm(self.embedding(ids), hidden)[0][:, -1])


class Labels(LastStep):
    def forward(self, ids):
        return super().forward(ids).argmax(1)


class StepsFirst(Lstm):
    def forward(self, ids):
        return self.fc(self.lstm(self.embedding(ids))[0][-1])


class NoEmbedding(nn.Module):
    def forward(self, ids):
        return F.one_hot(ids, WORDS).float().mean(1)


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        (LastStep, {"vocabulary": 51}, "the embedding has 50 rows; --vocabulary 50"),
        (LastStep, {"vocabulary": 2}, "at least 3"),
        (LastStep, {"padding_id": 50}, "padding id 50: must be one of the ids, 0 to 49"),
        (LastStep, {"lengths": [0, 3]}, "each at least 1"),
        (LastStep, {"lengths": []}, "one or more"),
        (LastStep, {"pad_to": 14}, "must be more than the longest sequence, 14"),
        (LastStep, {"vocabulary": 50, "features": 3}, "not both"),
        (LastStep, {"call": "ids,lenghts"}, "did you mean 'lengths'"),
        (LastStep, {"call": "lengths"}, "must begin with ids"),
        (LastStep, {"call": "ids,lengths"}, "called as forward(ids, lengths): TypeError"),
        (Numbers, {}, "If it takes numbers, say --features D"),
        (NeedsHidden, {}, "NeedsHidden.forward also needs hidden"),
        (Labels, {}, "a tensor of int64; an audit needs a tensor of floating point"),
        (StepsFirst, {}, "is batch_first=True missing"),
        (NoEmbedding, {}, "no nn.Embedding is given the ids"),
    ],
)
def test_mistakes_of_the_caller(module, options, message):
    with pytest.raises(ConfigError) as caught:
        rnnlab.audit(module(), **options)
    assert message in str(caught.value)


def test_without_an_embedding():
    found = audited(NoEmbedding, vocabulary=WORDS)
    assert found.finding("padding").status == "fails"
    assert "unknown" in str(found.finding("padding").where)


@pytest.mark.parametrize(
    ("what", "message"), [(LastStep, "not the class LastStep"), (len, "not an object of type builtin")]
)
def test_not_a_module(what, message):
    with pytest.raises(ConfigError, match=message):
        rnnlab.audit(what)


def test_the_padding_id_of_the_embedding():
    torch.manual_seed(0)
    module = nn.Sequential(nn.EmbeddingBag(WORDS, D, padding_idx=7), nn.Linear(D, 2))
    found = rnnlab.audit(module)
    assert found.passed, str(found)
    assert "padded on the right with 7" in found.inputs
    assert not rnnlab.audit(module, padding_id=0).passed


def test_the_public_name_stays_a_function():
    """No module of the package is called so: importing it would take its place."""
    assert callable(rnnlab.audit)
    assert callable(rnnlab.audit)
    assert rnnlab.Audit is Audit
