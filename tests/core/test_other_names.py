"""Names of other tools: each leads to a setting that there is, in every place where a person can write it."""

import pytest

from rnnlab.core.config import Config, problems
from rnnlab.core.other_names import OTHER_NAMES, normal, paths_of
from rnnlab.models.base import ARCHITECTURES
from rnnlab.sweeps.experiment import _TOP_KEYS, experiment_problems
from rnnlab.sweeps.sweep_file import StudySettings
from rnnlab.tasks.base import TASKS
from rnnlab.training.spec import Training


def has(cls: type[Config], parts: list[str]) -> bool:
    """Found by setting it: an unknown key says so."""
    tree: dict = {}
    inner = tree
    for part in parts[:-1]:
        inner[part] = inner = {}
    inner[parts[-1]] = object()
    return not any("unknown key" in line or "no such option" in line for line in problems(cls, tree))


@pytest.mark.parametrize("path", OTHER_NAMES)
def test_every_path_exists(path):
    root, *rest = path.split(".")
    if not rest:
        assert root in (*_TOP_KEYS, *StudySettings.model_fields)
    elif rest == ["kind"]:
        assert root in ("model", "task")
    else:
        classes = {"model": list(ARCHITECTURES), "task": list(TASKS), "training": [Training]}[root]
        assert any(has(cls, rest) for cls in classes)


def test_a_path_that_does_not_exist_would_be_noticed():
    assert has(Training, ["schedule", "warmup"])
    assert not has(Training, ["learning_rate"])
    assert not has(Training, ["schedule", "warm"])


def test_no_name_stands_twice_for_one_setting():
    for path, names in OTHER_NAMES.items():
        listed = [normal(name) for name in names.split()]
        assert len(set(listed)) == len(listed), path


@pytest.mark.parametrize("name", ["learningRate", "learning-rate", "LEARNING_RATE", "Learning Rate"])
def test_however_it_is_written(name):
    assert paths_of(name) == ["training.lr"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("training.learning_rate", "lr"),
        ("training.batch", "batch_size"),
        ("training.bs", "batch_size"),
        ("training.max_epochs", "epochs"),
        ("training.num_epochs", "epochs"),
        ("training.n_epochs", "epochs"),
        ("training.wd", "weight_decay"),
        ("training.grad_clip", "clip"),
        ("training.max_grad_norm", "clip"),
        ("training.early_stopping", "patience"),
        ("training.lr_scheduler", "schedule"),
        ("training.warmup_ratio", "schedule.warmup"),
        ("training.schedule.warmup_steps", "rise"),
        ("training.hidden_size", "model.hidden"),
        ("task.max_len", "max_length"),
        ("task.seq_len", "max_length"),
        ("task.vocab_size", "max_size"),
        ("task.text_column", "text"),
        ("task.lr", "training.lr"),
        ("arms.lstm.model.hidden_size", "hidden"),
        ("arms.lstm.model.units", "hidden"),
        ("arms.lstm.model.hidden_dim", "hidden"),
        ("arms.lstm.model.n_layers", "layers"),
        ("arms.lstm.model.num_layers", "layers"),
        ("arms.lstm.model.dropout_rate", "dropout"),
        ("arms.lstm.model.bidir", "bidirectional"),
        ("arms.lstm.model.emb_dim", "embedding.width"),
        ("arms.lstm.model.embedding.embedding_dim", "width"),
        ("arms.lstm.model.nhead", "model.heads"),
        ("arms.lstm.model.architecture", "kind"),
        ("arms.transformer.model.num_heads", "heads"),
        ("arms.transformer.model.hidden_size", "width"),
        ("arms.transformer.model.d_model", "width"),
        ("arms.textcnn.model.kernel_size", "widths"),
        ("model.hidden_size", "hidden"),
        ("model.emb_dim", "embedding.width"),
        ("learning_rate", "training.lr"),
        ("hidden_size", "model.hidden"),
        ("epochs", "training.epochs"),
        ("random_state", "seeds"),
        ("models", "arms"),
    ],
)
def test_a_file_says_how_it_is_called_here(path, said):
    tree: dict = {"arms": {kind: {"model": {"kind": kind}} for kind in ("lstm", "transformer", "textcnn")}}
    inner = tree
    for part in path.split(".")[:-1]:
        inner = inner.setdefault(part, {})
    inner[path.split(".")[-1]] = 1
    (problem,) = experiment_problems(tree)
    assert problem.startswith(f"{path}: unknown key")
    assert f"'{said}'" in problem


def test_who_has_it_is_said_where_this_kind_does_not():
    (problem,) = ARCHITECTURES.problems({"kind": "lstm", "nhead": 2}, "model")
    assert problem == "model.nhead: unknown key of 'lstm'; in rnnlab it is 'model.heads', of transformer"
