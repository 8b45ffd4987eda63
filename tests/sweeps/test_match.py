"""Arms of equal size: counted exactly, scaled in shape, said plainly."""

from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from rnnlab.core.errors import ConfigError
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.base import ARCHITECTURES, Architecture, Encoder
from rnnlab.models.linear import Linear
from rnnlab.models.network import parameter_counts
from rnnlab.models.transformer import Transformer
from rnnlab.sweeps.match import TOLERANCE, counter, match_parameters, nearest, resize, sizes_of
from rnnlab.sweeps.plan import complete, experiment_tree, plan
from rnnlab.tasks.classify import Classify
from rnnlab.training.assemble import assemble
from rnnlab.training.spec import RunSpec, Training


@pytest.fixture(scope="module")
def reviews():
    """Data of 200 embedded reviews, to count models for."""
    return Classify(rows=200).load()


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    path.write_text("the 1.0 2.0 3.0\nfilm 2.0 1.0 0.5\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def count(reviews):
    return counter(Classify(rows=200), Preprocessor.of(reviews))


def settings_of(kind, vectors):
    cls = ARCHITECTURES[kind]
    return ARCHITECTURES.parse({"kind": kind, **({"embedding": {"vectors": vectors}} if cls.needs_vectors else {})})


# Counting


@pytest.mark.parametrize("kind", ARCHITECTURES.names())
def test_the_count_is_that_of_the_network(reviews, vectors, count, kind):
    model = complete(settings_of(kind, vectors), reviews)
    spec = RunSpec(Classify(rows=200), model, Training(), 0)
    state = torch.get_rng_state()
    counted = count(model)
    assert torch.equal(torch.get_rng_state(), state)
    found = parameter_counts(assemble(spec, Preprocessor.of(reviews)))
    assert counted == found["encoder"] + found["head"]


class Stubborn(Architecture):
    """Can't be built without numbers."""

    hidden: int = 7

    def build(self, input_width: int) -> Encoder:
        np.asarray(torch.zeros(1))  # the meta device has none
        return Linear(hidden=self.hidden).build(input_width)


def test_a_model_that_needs_numbers_is_built_for_real(reviews, count):
    state = torch.get_rng_state()
    assert count(complete(Stubborn(), reviews)) == count(complete(Linear(hidden=7), reviews))
    assert torch.equal(torch.get_rng_state(), state)


# Scaling


@pytest.mark.parametrize("target", [20_000, 300_000])
@pytest.mark.parametrize("kind", [cls.kind for cls in ARCHITECTURES if cls.sizes])
def test_every_architecture_reaches_a_target(reviews, vectors, count, kind, target):
    model = complete(settings_of(kind, vectors), reviews)
    resized = resize(model, target, count)
    assert abs(count(resized) - target) <= TOLERANCE * target
    changed = {name for name in type(model).model_fields if getattr(model, name) != getattr(resized, name)}
    assert changed <= set(model.sizes)


def test_a_transformer_keeps_its_shape(reviews, count):
    model = complete(Transformer(width=60, heads=5, feedforward=240), reviews)
    for factor in (0.2, 3, 30):
        target = int(factor * count(model))
        resized = resize(model, target, count)
        assert isinstance(resized, Transformer)
        assert resized.width % 5 == 0
        assert 3 < resized.feedforward / resized.width < 5
        assert abs(count(resized) - target) < 0.005 * target


def test_a_model_of_the_right_size_is_left_alone(reviews, count):
    for model in (Transformer(), Linear()):
        model = complete(model, reviews)
        assert resize(model, count(model), count) == model


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    step=st.integers(1, 40),
    last=st.integers(1, 400),
    start=st.integers(1, 400),
    slope=st.integers(0, 9),
    target=st.integers(0, 2000),
)
def test_bisection_finds_what_trying_all_sizes_finds(step, last, start, slope, target):
    """Some sizes are impossible, and beyond the last one all are."""

    def make(size):
        return Linear(hidden=size) if size % step == 0 and size <= last else None

    def count(model):
        return slope * model.hidden + 3

    found = nearest(make, start, target, count)
    possible = [size for size in range(1, last + 1) if make(size)]
    if not possible:
        assert found is None
    else:
        assert isinstance(found, Linear)
        assert abs(count(found) - target) == min(abs(slope * size + 3 - target) for size in possible)


# Matching


class Bounded(Linear):
    """As wide as 20 and no wider."""

    kind: ClassVar[str] = "bounded"
    hidden: int = Field(default=10, ge=1, le=20)


class Fixed(Linear):
    """Has nothing to scale."""

    kind: ClassVar[str] = "fixed"
    sizes: ClassVar[tuple[str, ...]] = ()


class Unset(Linear):
    """Has a size that isn't in force."""

    kind: ClassVar[str] = "unset"
    sizes: ClassVar[tuple[str, ...]] = ("projection",)
    projection: int | None = None


@pytest.mark.parametrize(
    ("hidden", "median"), [([10, 40, 20], "c"), ([10, 40, 20, 80], "c"), ([30, 10], "b"), ([30], "a")]
)
def test_the_median_arm_sets_the_size(reviews, count, hidden, median):
    models = {label: complete(Linear(hidden=n), reviews) for label, n in zip("abcd", hidden, strict=False)}
    matched, notes = match_parameters(models, count)
    assert {model.to_dict()["hidden"] for model in matched.values()} == {models[median].to_dict()["hidden"]}
    assert notes[0].startswith(f"matched at {count(models[median]):,} parameters beyond the embedding, as {median} has")
    assert len(notes) == 1


def test_notes_name_every_arm_with_its_size_and_count(reviews, count):
    models = {"wide": Linear(hidden=90), "attentive": Transformer(), "large": Linear(hidden=900)}
    models = {label: complete(model, reviews) for label, model in models.items()}
    matched, notes = match_parameters(models, count)
    for label, model in matched.items():
        sizes = " ".join(f"{name} {getattr(model, name)}" for name in sizes_of(model))
        assert f"{label} {sizes} ({count(model):,})" in notes[0]


@pytest.mark.parametrize("cls", [Fixed, Unset])
def test_what_has_nothing_to_scale_keeps_its_size_and_does_not_set_it(reviews, count, cls):
    models = {"small": cls(hidden=2), "a": Linear(hidden=100), "b": Linear(hidden=400)}
    models = {label: complete(model, reviews) for label, model in models.items()}
    matched, notes = match_parameters(models, count)
    assert matched["small"] == models["small"]
    assert matched["b"] == matched["a"] == models["a"]
    size = f"{count(models['small']):,} parameters"
    assert notes[1:] == [
        f"small keeps its size, {size} beyond the embedding: '{cls.kind}' has nothing to scale",
    ]
    assert match_parameters({"small": models["small"]}, count) == ({"small": models["small"]}, notes[1:])


def test_an_arm_that_comes_no_nearer_is_named_with_what_it_reached(reviews, count):
    models = {"a": Linear(hidden=100), "b": Bounded(), "c": Linear(hidden=200)}
    models = {label: complete(model, reviews) for label, model in models.items()}
    matched, notes = match_parameters(models, count)
    off = 100 * (count(matched["b"]) / count(models["a"]) - 1)
    assert notes[1:] == [f"b is not matched: hidden 20 comes nearest, {off:+.1f} % off"]


# Planning


def test_a_plan_with_equal_parameters():
    tree = experiment_tree(
        None, models=["lstm", "gru", "textcnn"], match="parameters", task={"rows": 200}, settings=["model.pooling=max"]
    )
    experiment, data = plan({**tree, "arms": {**tree["arms"], "set": {"model": {"kind": "rnn", "hidden": 5}}}})
    count = counter(experiment.task, Preprocessor.of(data))
    counts = [count(arm.model) for arm in experiment.arms.values()]
    assert max(counts) / min(counts) < 1 + 2 * TOLERANCE
    assert experiment.notes[0].startswith("matched at ")
    hidden = experiment.arms["set"].model.to_dict()["hidden"]
    assert experiment.notes[1:] == (f"sizes that were set gave way to the matching: set hidden 5 → {hidden}",)


def test_embeddings_that_differ_are_named():
    tree = experiment_tree(None, models=["gru", "linear"], match="parameters", task={"rows": 200})
    tree["arms"]["gru"]["model"]["embedding"] = {"width": 9}
    assert plan(tree)[0].notes[-1] == "embeddings are not matched, and theirs differ in width: gru 9, linear 50"


def test_arms_that_differ_in_size_alone_are_refused():
    tree = experiment_tree(None, models=["gru"], match="parameters", task={"rows": 200})
    tree["arms"]["wide"] = {"model": {"kind": "gru", "hidden": 200}}
    with pytest.raises(ConfigError, match="'gru' and 'wide' differ in size alone"):
        plan(tree)
