"""Every registered architecture obeys every law, and the laws catch the mistakes that they are there for."""

from itertools import product
from typing import Any, Literal, get_args

import pytest
import torch
from torch import Tensor, nn
from variant_laws import PER_CLASS

from rnnlab.core.config import parse
from rnnlab.models.base import ARCHITECTURES, Architecture, Encoded, Encoder
from rnnlab.models.embedding import TokenVectors
from rnnlab.models.pooling import Pooling
from rnnlab.models.space import Among, Between, Space
from rnnlab.testing import ARCHITECTURE_LAWS, check_architecture

SMALL = {"hidden": 16, "width": 16, "feedforward": 24, "filters": 8, "buckets": 50}
RECURRENT_CHOICES: list[dict[str, Any]] = [
    {"layer_norm": True, "bidirectional": True},
    {"recurrent_dropout": 0.3, "recurrent_init": "orthogonal"},
    {"layers": 3, "residual": True, "recurrent_init": "xavier"},
    {"layers": 8, "hidden": 8, "residual": True, "recurrent_init": "he"},
    {"initial_state": "learned", "bidirectional": True, "layers": 2},
    {"initial_state": "normal", "initial_scale": 0.1, "bidirectional": True},
    {"initial_state": "xavier", "state": "carried"},
    {"initial_state": "xavier-he", "recurrent_dropout": 0.2, "layer_norm": True},
    {"state": "carried", "layers": 2, "dropout": 0.2},
    {"checkpoint_segments": 3, "layers": 2, "bidirectional": True},
    {"checkpoint_segments": 100, "layer_norm": True, "pooling": "attention"},
]
OTHER_CHOICES = [
    *((kind, {"hidden": 16, **choice}) for kind in ("rnn", "lstm", "gru") for choice in RECURRENT_CHOICES),
    ("gru", {"reset": "before", "bidirectional": True}),
    ("gru", {"reset": "before", "layer_norm": True, "checkpoint_segments": 2}),
    ("lstm", {"forget_bias": -1.0}),
    ("fasttext", {"ngrams": 4, "buckets": 1000}),
    ("fasttext", {"ngrams": 3, "buckets": 1000, "ends": True, "hashing": "mixed"}),
    ("rnn", {"activation": "relu", "bidirectional": True}),
    ("lstm", {"layers": 3, "dropout": 0.3}),
    ("textcnn", {"activation": "tanh", "widths": [1]}),
    ("textcnn", {"activation": "gelu", "widths": [3, 9]}),
    ("transformer", {"positions": "learned", "max_length": 8, "heads": 1, "layers": 1}),
    ("transformer", {"width": 15, "heads": 3}),
    ("transformer", {"look_ahead": False, "pooling": "attention"}),
    ("transformer", {"look_ahead": False, "positions": "learned", "max_length": 9, "layers": 1}),
    ("dilated", {"look_ahead": False, "hidden": 16, "layers": 3}),
    ("dilated", {"look_ahead": False, "hidden": 16, "width": 2, "residual": False, "pooling": "mean"}),
    ("linear", {"activation": "tanh"}),
    ("linear", {"activation": "relu", "pooling": "max"}),
]


def variants() -> list[Architecture]:
    """Every architecture of the catalogue as it comes, small with every pooling, and two layers deep both ways."""
    found: list[Architecture] = []
    for cls in ARCHITECTURES:
        fields = cls.model_fields
        small = {name: size for name, size in SMALL.items() if name in fields}
        depths: list[dict[str, Any]] = [{}]
        if "bidirectional" in fields:
            depths.append({"bidirectional": True, "layers": 2})
        poolings = get_args(Pooling) if "pooling" in fields else ()
        found.append(cls())
        found += [parse(cls, {**small, **depth, "pooling": pooling}) for depth, pooling in product(depths, poolings)]
    return found + [ARCHITECTURES.parse({"kind": kind, **choices}) for kind, choices in OTHER_CHOICES]


def described(architecture: Architecture) -> str:
    changed = {k: v for k, v in architecture.to_dict().items() if k in architecture.model_fields_set and k not in SMALL}
    return "-".join([architecture.kind, *(f"{key}={value}" for key, value in changed.items())])


@pytest.mark.parametrize("law", [law for law in ARCHITECTURE_LAWS if law not in PER_CLASS])
@pytest.mark.parametrize("architecture", variants(), ids=described)
def test_architecture_obeys(architecture: Architecture, law: str) -> None:
    ARCHITECTURE_LAWS[law](architecture)


@pytest.mark.parametrize("cls", list(ARCHITECTURES), ids=lambda cls: cls.kind)
def test_no_option_is_ignored(cls: type[Architecture]) -> None:
    """Once for each class: the law varies the options itself."""
    small = {name: size for name, size in SMALL.items() if name in cls.model_fields}
    ARCHITECTURE_LAWS["no_option_is_ignored"](parse(cls, small))


@pytest.mark.parametrize("cls", list(ARCHITECTURES), ids=lambda cls: cls.kind)
def test_the_search_space_is_valid(cls: type[Architecture]) -> None:
    assert cls.space, "nothing to tune"
    ARCHITECTURE_LAWS["the_search_space_is_valid"](cls())


@pytest.mark.parametrize(
    ("space", "complaint"),
    [
        ({"model.hiden": Between(8, 16)}, "unknown key"),
        ({"hidden": Between(8, 16)}, "begins with neither"),
        ({"training.rate": Between(0.1, 0.2)}, "unknown key"),
        ({"model.dropout": Between(0.0, 0.5)}, "would be ignored with layers = 1"),
        ({"model.dropout": Between(0.0, 0.5, when={"model.layers": (7,)}), "model.layers": Among(1, 2)}, "no meaning"),
        ({"model.hidden": Between(0, 16)}, "greater than or equal to 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_search_space_is_caught(monkeypatch: pytest.MonkeyPatch, space: Space, complaint: str) -> None:
    monkeypatch.setattr(ARCHITECTURES["gru"], "space", space)
    with pytest.raises(AssertionError, match=complaint):
        ARCHITECTURE_LAWS["the_search_space_is_valid"](ARCHITECTURES.parse({"kind": "gru"}))


def test_the_whole_family_is_registered() -> None:
    assert set(ARCHITECTURES.names()) >= {
        *("rnn", "lstm", "gru", "mingru", "minlstm"),
        *("textcnn", "cnn2", "dilated", "transformer"),
        *("gru-cnn", "rcnn"),
        *("linear", "fasttext"),
    }


def test_the_suite_leaves_the_random_numbers_alone() -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    check_architecture(ARCHITECTURES["linear"](), input_width=9)
    assert torch.equal(state, torch.get_rng_state())


# The mistakes of tutorials, each with the laws that it must break.


class Tutorial(Encoder):
    """A bidirectional tanh RNN with the parts that the mistakes change."""

    def __init__(self, input_width: int, bidirectional: bool = False):
        super().__init__()
        self.rnn = nn.RNN(input_width, 8, batch_first=True, bidirectional=bidirectional)
        self.width = self.state_width = 16 if bidirectional else 8

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        states = self.mask(self.rnn(x)[0], lengths)
        return Encoded(states, self.summarise(states, lengths))

    def mask(self, states: Tensor, lengths: Tensor) -> Tensor:
        return states * (torch.arange(states.shape[1]) < lengths[:, None])[:, :, None]

    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return states.sum(1) / lengths[:, None]


class ReadsTheLastColumn(Tutorial):
    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        states = self.rnn(x)[0]
        return Encoded(self.mask(states, lengths), states[:, -1])


class MaxOverPadding(Tutorial):
    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return states.amax(1)


class MeanOverPadding(Tutorial):
    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return states.mean(1)


class NoMask(Tutorial):
    def mask(self, states: Tensor, lengths: Tensor) -> Tensor:
        return states


class ReadsThePadding(Tutorial):
    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        encoded = super().forward(x, lengths)
        return Encoded(encoded.states, encoded.summary + 0.1 * x.sum((1, 2))[:, None])


class NormalisesOverTheBatch(Tutorial):
    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        summary = super().summarise(states, lengths)
        return summary - summary.mean(0)


class NumbersTheBatch(Tutorial):
    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return super().summarise(states, lengths) + torch.arange(len(states))[:, None]


class UnusedParameter(Tutorial):
    def __init__(self, input_width: int):
        super().__init__(input_width)
        self.spare = nn.Linear(3, 3)


class Detached(Tutorial):
    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return super().summarise(states.detach(), lengths) + 0 * states.sum()


class ForgetsWeights(Tutorial):
    def __init__(self, input_width: int):
        super().__init__(input_width)
        self.hidden_scale = torch.rand(8)

    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return super().summarise(states, lengths) * self.hidden_scale


class OwnGenerator(Tutorial):
    generator = torch.Generator().manual_seed(0)

    def __init__(self, input_width: int):
        super().__init__(input_width)
        with torch.no_grad():
            self.rnn.get_parameter("weight_hh_l0").uniform_(-0.3, 0.3, generator=self.generator)


class DropoutAlwaysOn(Tutorial):
    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return nn.functional.dropout(super().summarise(states, lengths), 0.5, training=True)


class NeedsTwoSteps(Tutorial):
    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return super().summarise(states, lengths) + 0 * states[:, 1]


class SpreadOverTime(Tutorial):
    """The standard deviation over one step is 0 / 0."""

    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return super().summarise(states, lengths) / (lengths - 1)[:, None]


class WrongWidth(Tutorial):
    def __init__(self, input_width: int):
        super().__init__(input_width)
        self.width = 9


class WritesToItsInput(Tutorial):
    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        return super().forward(x.mul_(2), lengths)


class Adds(Tutorial):
    """Every unit sees one number, the sum of everything: too little to tell eight examples apart."""

    def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
        return 1e-3 * super().summarise(states, lengths).sum(1, keepdim=True).expand(-1, 8)


def settings(encoder: type[Encoder], *arguments: Any, causal: bool = True) -> Architecture:
    class Broken(Architecture):
        @property
        def causal(self) -> bool:
            return causal

        def build(self, input_width: int) -> Encoder:
            return encoder(input_width, *arguments)

    Broken.kind = encoder.__name__
    return Broken()


def broken_laws(architecture: Architecture) -> set[str]:
    found = set()
    for law in ARCHITECTURE_LAWS.values():
        try:
            law(architecture)
        except AssertionError as error:
            found.add(str(error).split("'")[3])  # the name in the message, not ours
    return found


def test_a_sound_architecture_breaks_no_law() -> None:
    assert broken_laws(settings(Tutorial)) == set()


PADDING = {"alone_as_in_a_batch", "more_padding_changes_nothing"}


@pytest.mark.parametrize(
    ("architecture", "laws"),
    [
        (settings(ReadsTheLastColumn), PADDING | {"garbage_in_padding_changes_nothing"}),
        (settings(Tutorial, True, causal=False), PADDING | {"garbage_in_padding_changes_nothing"}),
        (settings(MaxOverPadding), PADDING),
        (settings(MeanOverPadding), PADDING),
        (settings(NoMask), PADDING | {"padding_is_zero", "garbage_in_padding_changes_nothing"}),
        (settings(ReadsThePadding), {"garbage_in_padding_changes_nothing"}),
        (settings(NormalisesOverTheBatch), {"alone_as_in_a_batch"}),
        (settings(NumbersTheBatch), {"alone_as_in_a_batch", "order_of_the_batch_is_free"}),
        (settings(Tutorial, causal=False), {"causal_as_declared"}),
        (settings(UnusedParameter), {"every_parameter_learns"}),
        (settings(Detached), {"every_parameter_learns"}),
        (settings(ForgetsWeights), {"saved_and_loaded_is_the_same"}),
        (settings(OwnGenerator), {"same_seed_same_bits"}),
        (settings(DropoutAlwaysOn), {"evaluation_is_not_random"}),
        (settings(NeedsTwoSteps), {"one_step_is_enough"}),
        (settings(SpreadOverTime), {"one_step_is_enough"}),
        (settings(WrongWidth), {"shapes_are_as_declared"}),
        (settings(WritesToItsInput), {"shapes_are_as_declared"}),
        (settings(Adds), {"eight_examples_are_learnt"}),
    ],
    ids=lambda value: value.kind if isinstance(value, Architecture) else "",
)
def test_a_mistake_breaks_its_laws(architecture: Architecture, laws: set[str]) -> None:
    assert laws <= broken_laws(architecture)


def test_bidirectional_declared_causal_breaks_only_what_it_should() -> None:
    class Looks(Tutorial):
        """Every state also sees the mean of the sequence; all else is sound."""

        def mask(self, states: Tensor, lengths: Tensor) -> Tensor:
            states = super().mask(states, lengths)
            return super().mask(states + (states.sum(1) / lengths[:, None])[:, None], lengths)

    reading_on = {"advance_in_parts_is_one_forward", "padding_between_parts_is_not_read"}
    assert broken_laws(settings(Looks, causal=True)) == {"causal_as_declared", *reading_on}
    assert broken_laws(settings(Looks, causal=False)) == set()


def test_an_ignored_option_is_caught() -> None:
    class Deaf(Architecture):
        hidden: int = 8
        rate: float = 0.5

        @property
        def causal(self) -> bool:
            return True

        def build(self, input_width: int) -> Encoder:
            return Tutorial(input_width)

    with pytest.raises(AssertionError, match=r"hidden = 8 and hidden = 9 do the same: the option is ignored"):
        check_architecture(Deaf())


def test_an_option_that_another_one_silences_is_caught() -> None:
    """``scale`` works, but not beside ``loud = true``, and nobody says so."""

    class Scaled(Tutorial):
        def __init__(self, input_width: int, scale: float):
            super().__init__(input_width)
            self.scale = scale

        def summarise(self, states: Tensor, lengths: Tensor) -> Tensor:
            return self.scale * super().summarise(states, lengths)

    class Moody(Architecture):
        scale: float = 1.0
        loud: bool = False

        @property
        def causal(self) -> bool:
            return True

        def build(self, input_width: int) -> Encoder:
            return Scaled(input_width, 3.0 if self.loud else self.scale)

    with pytest.raises(AssertionError, match=r"scale = 1.0 and scale = 1.25 do the same, with loud = True"):
        check_architecture(Moody())


def test_an_option_with_one_value_is_caught() -> None:
    class Stuck(Architecture):
        choice: Literal["only"] = "only"

        @property
        def causal(self) -> bool:
            return True

        def build(self, input_width: int) -> Encoder:
            return Tutorial(input_width)

    with pytest.raises(AssertionError, match="no two values of choice are accepted"):
        check_architecture(Stuck())


def test_padding_that_leaks_through_the_embedding_is_caught() -> None:
    """Sound for vectors, but its embedding gives padding a vector that depends on the longest text."""

    class Leaking(TokenVectors):
        def forward(self, ids: Tensor) -> Tensor:
            return super().forward(ids) + ids.shape[1]

    class Leaks(Architecture):
        @property
        def causal(self) -> bool:
            return True

        def embed(self, words: int, pretrained: Tensor | None) -> TokenVectors:
            assert self.embedding is not None
            table = self.embedding.build(words).table
            assert table is not None
            return Leaking(table.detach(), None, 0.0)

        def build(self, input_width: int) -> Encoder:
            return Tutorial(input_width)

    assert broken_laws(Leaks()) == {"padded_tokens_change_nothing"}


def test_settings_that_json_changes_are_caught() -> None:
    class Lossy(Architecture):
        scale: float = 1.0

        def to_dict(self) -> dict[str, Any]:
            return {"scale": round(self.scale, 1)}

        def build(self, input_width: int) -> Encoder:
            return Tutorial(input_width)

    with pytest.raises(AssertionError, match="'Lossy' breaks the law 'settings_survive_json'"):
        check_architecture(Lossy(scale=0.123))


def test_a_crash_inside_a_law_names_the_law() -> None:
    class Crashes(Tutorial):
        def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
            raise RuntimeError("no such kernel")

    with pytest.raises(AssertionError, match="breaks the law 'shapes_are_as_declared': RuntimeError: no such kernel"):
        check_architecture(settings(Crashes))
