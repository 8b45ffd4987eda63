"""A model is the same whether it lies in a run directory or in a bundle; and what isn't one is refused in words."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

import rnnlab
from rnnlab.core.config import parse
from rnnlab.core.errors import BundleError, RnnlabError, RunError
from rnnlab.data.preprocessor import Preprocessor, Scaler
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import Vocabulary
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.bundle import read_bundle, write_bundle
from rnnlab.tasks.base import TASKS
from rnnlab.training.assemble import assemble
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training
from rnnlab.use.stored import _check_preprocessor, open_model, pack, rebuild


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A GRU without and a TextCNN with pre-trained vectors, whose file is gone by now, and the baselines."""
    folder = tmp_path_factory.mktemp("stored")
    words = {"good": ["great", "fine", "好"], "bad": ["awful", "dull", "坏"]}
    rows = [f"the {words[label][n % 3]} film number {n},{label}" for n in range(40) for label in words]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    vectors = folder / "vectors.txt"
    vectors.write_text("great 1 0 0\nawful 0 1 0\nfilm 0 0 1\n")
    found = {}
    for models, given in ((["gru"], None), (["textcnn"], str(vectors))):
        result = rnnlab.compare(
            folder / "reviews.csv",
            models=models,
            seeds=1,
            training={"epochs": 2},
            vectors=given,
            settings=["arms.gru.model.hidden=4", "model.embedding.width=3"][len(given or "") > 0 :],
            out=folder / "runs",
            jobs=0,
        )
        found |= {arm.label: Path(arm.runs[0].path) for arm in (*result.arms, *result.baselines)}
    vectors.unlink()
    return found


@pytest.fixture
def packed(runs, tmp_path) -> Path:
    return pack(runs["gru"], tmp_path / "gru.rnnlab")


def copied(run: Path, folder: Path) -> Path:
    return Path(shutil.copytree(run, folder / run.name))


def changed(bundle: Path, **members: bytes) -> Path:
    """A bundle with other content (``spec_json=…``), sums and all: what somebody could send."""
    content = read_bundle(bundle) | {name.replace("_", "."): data for name, data in members.items()}
    path = bundle.with_name("changed.rnnlab")
    write_bundle(path, content)
    return path


# --- run and bundle ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["gru", "textcnn", "tfidf", "nbsvm", "majority"])
def test_run_and_bundle_are_one_model(runs, tmp_path, label):
    run = open_model(runs[label])
    bundle = open_model(pack(runs[label], tmp_path / "model.rnnlab"))
    assert bundle.name == run.name == runs[label].name
    assert bundle.weights == run.weights
    assert bundle.preprocessor == run.preprocessor
    assert bundle.is_baseline == run.is_baseline == (label in ("tfidf", "nbsvm", "majority"))
    assert bundle.card == run.card
    if run.is_baseline:
        assert {name: a.tolist() for name, a in bundle.learnt.items()} == {n: a.tolist() for n, a in run.learnt.items()}
        return
    assert not bundle.network.training
    rows, _ = run.preprocessor.encode(["the great 好 film", "unheard"])
    for number in range(2):
        ids = torch.tensor(rows.values[rows.offsets[number] : rows.offsets[number + 1]][None], dtype=torch.int64)
        answers = [m.network(ids, torch.tensor([ids.shape[1]])) for m in (run, bundle)]
        assert torch.equal(*answers)


def test_packing_again_gives_the_same_bytes(runs, packed, tmp_path):
    assert pack(runs["gru"], tmp_path / "again.rnnlab").read_bytes() == packed.read_bytes()


def test_the_beginning_of_a_name_is_enough(runs):
    run = runs["gru"]
    assert open_model(run.parent / run.name[:8]).name == run.name


def test_the_card_is_inside(packed):
    card = read_bundle(packed)["card.md"].decode()
    assert "# Model card: gru on reviews.csv" in card
    assert "| good | " in card
    assert open_model(packed).card.data["rows"] == {"train": 56, "valid": 8, "test": 16}


def test_where_the_rows_lay_is_left_out(runs, packed):
    folder = str(runs["gru"].parent.parent).encode()
    assert folder in (runs["gru"] / "spec.json").read_bytes()
    assert folder not in packed.read_bytes()


SMALL = {"rows": 100, "length": 6, "sentences_made": 200, "longest": 8}


OWN = [cls for cls in TASKS if cls.__module__.startswith("rnnlab.")]
MADE_UP = [cls.kind for cls in OWN if "data" not in cls.model_fields or not cls.model_fields["data"].is_required()]


@pytest.mark.parametrize("kind", MADE_UP)
def test_models_of_every_task_can_be_packed(tmp_path, kind):
    fields = TASKS[kind].model_fields
    task = TASKS.parse({"kind": kind, **{name: value for name, value in SMALL.items() if name in fields}}).resolve()
    limits = {"epochs": None, "steps": 2} | ({"eval_every": 2} if task.fresh_batches else {})
    embedding = {"embedding": {"width": 3}} if task.load().vocabulary is not None else {}
    decoder = {"decoder": {}} if task.answer.writes else {}
    model = ARCHITECTURES.parse({"kind": "rnn", "hidden": 4, **embedding, **decoder})
    spec = RunSpec(task, model, parse(Training, limits | {"device": "cpu"}), 0)
    execute(spec, tmp_path, lambda event: None, lambda: False)
    found = open_model(pack(tmp_path / spec.digest, tmp_path / "model.rnnlab"))
    assert found.spec == spec
    assert found.card.data["name"] == (getattr(task, "data", None) or kind)
    assert (found.card.calibration is None) == (
        kind in ("addition", "adding", "copy", "recognise", "language-model", "reverse", "sort", "dates", "forecast")
    )
    assert found.network is not None


# --- what is refused -----------------------------------------------------------------------------------------------


def test_runs_without_a_model(runs, tmp_path):
    run = copied(runs["gru"], tmp_path)
    result = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(result | {"status": "diverged", "divergence": {"step": 7}}))
    with pytest.raises(RunError, match="diverged at step 7"):
        pack(run, tmp_path / "x.rnnlab")
    (run / "result.json").unlink()
    with pytest.raises(RunError, match="not a finished run"):
        pack(run, tmp_path / "x.rnnlab")
    assert not (tmp_path / "x.rnnlab").exists()


@pytest.mark.parametrize("name", ["weights.safetensors", "model.json", "spec.json", "predictions.safetensors"])
def test_a_damaged_run(runs, tmp_path, name):
    run = copied(runs["gru"], tmp_path)
    content = (run / name).read_bytes()
    (run / name).write_bytes(content + b" ")
    for use in (open_model, lambda path: pack(path, tmp_path / "x.rnnlab")):
        with pytest.raises(RunError, match=r"damaged \(SHA-256 differs\)"):
            use(run)
    assert not (tmp_path / "x.rnnlab").exists()


@pytest.mark.parametrize("what", ["model", "task"])
def test_a_plugin_does_not_travel(runs, tmp_path, what):
    run = copied(runs["gru"], tmp_path)
    spec = json.loads((run / "spec.json").read_text(encoding="utf-8"))
    spec[what]["kind"] = "my-own"
    (run / "spec.json").write_text(json.dumps(spec))
    with pytest.raises(BundleError, match=f"the {what} 'my-own' comes from a plugin"):
        pack(run, tmp_path / "x.rnnlab")


def test_what_is_packed_is_a_run(packed, tmp_path):
    with pytest.raises(BundleError, match="what is packed is a run directory"):
        pack(packed, tmp_path / "x.rnnlab")
    with pytest.raises(RunError, match="not a run directory"):
        open_model(tmp_path / "nothing")


ODD_JSON = {
    "no JSON": b"{",
    "no object": b"[]",
    "nothing in it": b"{}",
    "another format": b'{"format": 7}',
    "only a format": b'{"format": 1}',
    "no end": b"[" * 200_000,
    "no UTF-8": b'{"format": "\xff"}',
    "NaN": b'{"format": NaN}',
}


@pytest.mark.parametrize("member", ["spec_json", "model_json", "card_json"])
@pytest.mark.parametrize("case", ODD_JSON)
def test_odd_content_is_refused_in_words(packed, member, case):
    path = changed(packed, **{member: ODD_JSON[case]})
    with pytest.raises(BundleError) as caught:
        open_model(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "change",
    [
        {"labels": [1, 2]},
        {"labels": None},
        {"vocabulary": {"words": [1, 2, 3]}},
        {"vocabulary": None},
        {"tokenizer": {"name": "words", "version": "99"}},
        {"tokenizer": {"name": "../words"}},
        {"max_length": -1},
        {"max_length": "7"},
        {"features": 2},
        {"scaler": {"mean": [0], "std": [1]}, "features": 1},
        {"tokens": 0},
        {"tokens": 1.5},
        {"text_columns": ["a", "b"]},
        {"text_columns": 7},
    ],
    ids=str,
)
def test_an_odd_interface_is_refused_in_words(packed, change):
    values = json.loads(read_bundle(packed)["model.json"]) | change
    path = changed(packed, model_json=json.dumps(values).encode())
    with pytest.raises(RnnlabError) as caught:
        _ = open_model(path).network
    assert (
        "model.json" in str(caught.value)
        or "version 99" in str(caught.value)
        or "unknown tokenizer" in str(caught.value)
    )


@pytest.mark.parametrize("setting", [{"hidden": 10**9}, {"hidden": 5}, {"hidden": 3}, {"layers": 2}])
def test_a_spec_of_another_network_takes_no_memory(packed, setting):
    spec = json.loads(read_bundle(packed)["spec.json"])
    spec["model"] |= setting
    model = open_model(changed(packed, spec_json=json.dumps(spec).encode()))
    with pytest.raises(RunError, match="the weights are not of this network"):
        _ = model.network


def test_an_embedding_of_another_network_takes_no_memory(packed):
    spec = json.loads(read_bundle(packed)["spec.json"])
    spec["model"]["embedding"]["width"] = 10**9
    model = open_model(changed(packed, spec_json=json.dumps(spec).encode()))
    with pytest.raises(RunError, match=r"they have \d+ numbers, and it has \d+,000,000,\d+ or more"):
        _ = model.network


def test_weights_that_are_none(packed, runs, tmp_path):
    tensors = safetensors.torch.load(read_bundle(packed)["weights.safetensors"])
    tensors.pop("head.linear.bias")
    other = read_bundle(pack(runs["textcnn"], tmp_path / "other.rnnlab"))["weights.safetensors"]
    for weights in (b"\x80\x05none", other, safetensors.torch.save(tensors), safetensors.torch.save({})):
        with pytest.raises(RunError, match="the weights"):
            _ = open_model(changed(packed, weights_safetensors=weights)).network
    without = changed(pack(runs["tfidf"], tmp_path / "tfidf.rnnlab"), weights_safetensors=b"none")
    with pytest.raises(RunError, match="the weights can't be read"):
        _ = open_model(without).learnt


def test_a_vectors_model_without_its_vectors(runs, tmp_path):
    bundle = pack(runs["textcnn"], tmp_path / "textcnn.rnnlab")
    tensors = safetensors.torch.load(read_bundle(bundle)["weights.safetensors"])
    name = next(name for name in tensors if name.startswith("embedding."))
    for changes in ({name: None}, {name: tensors[name][:2].clone()}, {name: tensors[name][:, :2].clone()}):
        kept = {key: tensor for key, tensor in (tensors | changes).items() if tensor is not None}
        with pytest.raises(RnnlabError):
            _ = open_model(changed(bundle, weights_safetensors=safetensors.torch.save(kept))).network


# --- every architecture comes back ---------------------------------------------------------------------------------

VOCABULARY = Vocabulary(("<pad>", "<unk>", *map(str, range(30))))
TEXT = Preprocessor(labels=("a", "b"), tokenizer=Tokenizer("words"), vocabulary=VOCABULARY)
SERIES = Preprocessor(labels=("a", "b"), scaler=Scaler((0.0,) * 3, (1.0,) * 3))
GIVEN = {"vectors": "somewhere.txt", "vectors_digest": "0"}
EMBEDDINGS = {
    "random": {"width": 6},
    "frozen": {"width": 5, "channels": "frozen", **GIVEN},
    "tuned": {"width": 5, "channels": "tuned", **GIVEN},
    "two": {"width": 6, "channels": "two", **GIVEN},  # the frozen channel has another width
}
FURTHER = {
    "lstm": ({"layers": 2, "bidirectional": True, "initial_state": "learned", "pooling": "attention"},),
    "gru": ({"layer_norm": True, "pooling": "first+last"}, {"state": "carried"}),
    "rnn": ({"layers": 3, "hidden": 2},),
    "transformer": ({"pooling": "attention"},),
}
CASES = [
    (cls.kind, embedding, further)
    for cls in ARCHITECTURES
    if cls.__module__.startswith("rnnlab.")
    for embedding in (*EMBEDDINGS, None)
    for further in ({}, *FURTHER.get(cls.kind, ()))
]


def test_weights_of_every_architecture_come_back():
    """The bound on sizes never turns a model away that is what it says."""
    vectors, done = np.full((len(VOCABULARY), 5), 0.5, np.float32), 0
    for kind, embedding, further in CASES:
        values = {"kind": kind, **further}
        if embedding is not None:
            values["embedding"] = EMBEDDINGS[embedding]
        if ARCHITECTURES.problems(values):
            continue
        model = ARCHITECTURES.parse(values)
        preprocessor = SERIES if embedding is None else TEXT
        if model.check("features" if embedding is None else "tokens"):
            continue
        spec = RunSpec(TASKS.parse({"kind": "classify"}), model, Training(), 0)
        given = vectors if embedding not in (None, "random") else None
        network = assemble(spec, preprocessor, given)
        again = rebuild(spec, preprocessor, safetensors.torch.save(network.state_dict()))
        tensors = network.state_dict()
        assert tensors.keys() == again.state_dict().keys()
        assert all(torch.equal(tensor, tensors[name]) for name, tensor in again.state_dict().items()), (kind, embedding)
        done += 1
        if embedding == "random" and "hidden" in type(model).model_fields:
            larger = replace(spec, model=model.replace(hidden=4 * model.to_dict()["hidden"]))
            with pytest.raises(RunError, match="it has"):
                rebuild(larger, preprocessor, safetensors.torch.save(tensors))
    assert done > 2 * len(ARCHITECTURES.names())


@pytest.mark.parametrize(("kind", "allowed"), [("classify", False), ("addition", True)])
def test_symbols_without_a_tokenizer_are_for_tasks_that_make_them(kind: str, allowed: bool) -> None:
    """A bundle may be anybody's: a model of texts needs both, the tokenizer and the vocabulary."""
    symbols = Preprocessor(labels=("a", "b"), vocabulary=Vocabulary(("<pad>", "<unk>", "x")))
    task = TASKS.parse({"kind": kind})
    if allowed:
        _check_preprocessor(symbols, task)
        return
    with pytest.raises(ValueError, match="either texts or numbers"):
        _check_preprocessor(symbols, task)
