"""``package.module:factory``: found, called, or refused in one line."""

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from rnnlab.auditing.factory import build
from rnnlab.core.errors import ConfigError

SOURCE = """
import torch
from torch import nn

def plain(): return nn.Linear(2, 3)
def sized(vocab_size): return nn.Embedding(vocab_size, 3)
def sized_by_default(num_embeddings=7): return nn.Embedding(num_embeddings, 3)
def widths(a, b): return nn.Linear(a, b)
def broken(): raise ValueError("no weights here\\nsecond line")
def leaving(): raise SystemExit(2)
def number(): return 3

class Own(nn.Module): pass
class Group:
    @staticmethod
    def inner(): return nn.Linear(4, 5)

ready = nn.Linear(2, 3)
constant = 3
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With models.py and the package lab; what is imported is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    (tmp_path / "models.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "__init__.py").write_text("")
    (tmp_path / "lab" / "text.py").write_text("from lab.parts import Part\ndef model(): return Part()\n")
    (tmp_path / "lab" / "parts.py").write_text("from torch import nn\nclass Part(nn.Module): pass\n")
    (tmp_path / "syntax.py").write_text("def (:\n")
    (tmp_path / "script.py").write_text("import sys\nsys.exit('usage: script FILE')\n")
    (tmp_path / "needs.py").write_text("import a_package_that_is_missing\n")
    yield
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.mark.parametrize("home", ["models", "models.py", "./models.py"])
def test_functions_classes_and_modules(home):
    assert isinstance(build(f"{home}:plain"), nn.Linear)
    assert isinstance(build(f"{home}:ready"), nn.Linear)
    assert type(build(f"{home}:Own")).__name__ == "Own"
    made = build(f"{home}:Group.inner")
    assert isinstance(made, nn.Linear)
    assert made.in_features == 4


def test_a_package():
    assert type(build("lab.text:model")).__name__ == "Part"
    assert type(build("lab/text.py:model")).__name__ == "Part"


@pytest.mark.parametrize(
    ("name", "vocabulary", "rows"), [("sized", 9, 9), ("sized_by_default", 9, 9), ("sized_by_default", None, 7)]
)
def test_the_vocabulary_is_handed_on(name, vocabulary, rows):
    made = build(f"models:{name}", vocabulary)
    assert isinstance(made, nn.Embedding)
    assert made.num_embeddings == rows


def test_weights_come_from_the_seed():
    state = torch.get_rng_state()
    one, same, other = build("models:plain"), build("models:plain"), build("models:plain", seed=1)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(weight(one), weight(same))
    assert not torch.equal(weight(one), weight(other))


def weight(module: nn.Module) -> torch.Tensor:
    assert isinstance(module, nn.Linear)
    return module.weight


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("models", "models: must be package.module:factory or path/to/file.py:factory"),
        ("models:", "models:: must be package.module:factory or path/to/file.py:factory"),
        ("models:plian", "models:plian: models has no 'plian'; did you mean 'plain'?"),
        ("modles:plain", "modles: no such module here or in the environment ('modles' is missing)"),
        ("lab.txt:model", "lab.txt: no such module here or in the environment ('lab.txt' is missing)"),
        ("modles.py:plain", "modles.py: no such file; did you mean 'models.py'?"),
        ("nowhere/modles.py:plain", "nowhere/modles.py: no such file"),
        (
            "models:constant",
            "models:constant: must be a module, or a class or function that makes one (its type",
        ),
        ("models:number", "models:number: must return an nn.Module (it returned int)"),
        ("models:sized", "models:sized: needs vocab_size; say --vocabulary N"),
        ("models:widths", "models:widths: needs a, b; write a function without arguments that returns the module, "),
        ("models:broken", "models:broken: raises ValueError: no weights here"),
        ("models:leaving", "models:leaving: raises SystemExit: 2"),
        ("syntax:model", "syntax: its import fails: SyntaxError: invalid syntax (syntax.py, line 1)"),
        ("script:model", "script: its import fails: SystemExit: usage: script FILE"),
        ("script.py:model", "script.py: its import fails: SystemExit: usage: script FILE"),
        ("needs:model", "needs: ModuleNotFoundError: No module named 'a_package_that_is_missing'"),
    ],
)
def test_mistakes(target, message):
    with pytest.raises(ConfigError) as caught:
        build(target)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
