"""Models to export: untrained ones of every kind, without a run."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from node_example import EXAMPLE, IDS, ROOT, browsing, refuse

from rnnlab.core.files import locked
from rnnlab.data.marks import OF_WORDS, Marks
from rnnlab.data.preprocessor import Preprocessor, Scaler, Side
from rnnlab.data.spelling import Spelling
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import SPECIAL, WRITTEN, Vocabulary
from rnnlab.models.base import Architecture
from rnnlab.models.embedding import Embedding
from rnnlab.tasks.base import TASKS
from rnnlab.training.assemble import assemble
from rnnlab.training.spec import RunSpec, Training
from rnnlab.use.card import Calibration, Card
from rnnlab.use.stored import StoredModel

WORDS = (*SPECIAL, *(f"w{number}" for number in range(38)))
CARD = Card({}, {}, {}, None, Calibration(1.7, 100, 0.1, 0.05, 100), {}, "", ())
TEXT = Preprocessor(labels=("bad", "fair", "good"), tokenizer=Tokenizer("words"), vocabulary=Vocabulary(WORDS))
SERIES = Preprocessor(labels=("no", "yes"), scaler=Scaler((5.0, -2.0, 0.5), (3.0, 0.1, 1.0)))
PAIRS = Preprocessor(labels=tuple("0123456789"), vocabulary=Vocabulary((*SPECIAL, *"0123456789")), tokens=2)
ONE_NUMBER = Preprocessor(scaler=Scaler((0.0, 0.0), (1.0, 1.0)))
TAGS = ("B-PER", "I-PER", "O", "B-ORG", "I-ORG")
MARKS = Marks(OF_WORDS, tuple(f"suffix {letter}" for letter in "abcdefgh"))
TAGGER = Preprocessor(
    labels=TAGS,
    tokenizer=Tokenizer("words", lowercase=False),
    vocabulary=Vocabulary(WORDS, marks=len(MARKS)),
    tokens=1 + len(OF_WORDS),
    marks=MARKS,
    spelling=Spelling(("", "?", *"etaoinshrdlu"), 7),
)
CONTINUED = Preprocessor(
    tokenizer=Tokenizer("chars", lowercase=False, verbatim=True),
    vocabulary=Vocabulary((*WRITTEN, *"abcdefghijklmnop \n")),
)
TRANSLATOR = Preprocessor(
    tokenizer=Tokenizer("words"),
    vocabulary=Vocabulary(WORDS),
    writes=Side(
        tokenizer=Tokenizer("chars", lowercase=False), vocabulary=Vocabulary((*WRITTEN, *"abcdefghij "), written=True)
    ),
)
INTERFACES = {
    "classify": TEXT,
    "first-last": SERIES,
    "addition": PAIRS,
    "adding": ONE_NUMBER,
    "tag": TAGGER,
    "language-model": CONTINUED,
    "translate": TRANSLATOR,
}
SETTLED = {
    "tag": {"data": "made-up", "labels": TAGS, "scheme": "BIO"},
    "translate": {"data": "made-up", "longest": 9, "length_penalty": 0.5},
}

Maker = Callable[..., StoredModel]


@pytest.fixture(scope="session")
def made() -> Maker:
    """``made(architecture, task="classify")``: a model of random weights, none of which is zero or one."""
    return make


def make(
    architecture: Architecture,
    task: str = "classify",
    vectors: bool = False,
    preprocessor: Preprocessor | None = None,
    **of_task: Any,
) -> StoredModel:
    preprocessor = preprocessor or INTERFACES[task]
    if preprocessor.vocabulary is not None and architecture.embedding is None:
        embedding = Embedding(width=6, vectors="some", channels="two") if vectors else Embedding(width=6)
        architecture = architecture.replace(embedding=embedding)
    spec = RunSpec(TASKS[task](**SETTLED.get(task, {}), **of_task), architecture, Training(), 0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        pretrained = None
        if vectors and preprocessor.vocabulary is not None:
            pretrained = np.ones((len(preprocessor.vocabulary.words), 4), np.float32)
        network = assemble(spec, preprocessor, pretrained)
        weights = {name: _shaken(name, tensor) for name, tensor in network.state_dict().items()}
    return StoredModel(spec.digest, spec, preprocessor, safetensors.torch.save(weights), CARD)


def _shaken(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Much, but not so much that a recurrence magnifies rounding: that would hide mistakes. No letter has no vector."""
    if name == "embedding.spelled.table":
        return torch.cat([tensor[:1], tensor[1:] + torch.randn(tensor[1:].shape) * 0.3])
    recurrent = tensor.ndim == 2 and name.startswith("encoder")
    return tensor + torch.randn(tensor.shape) * (0.5 * tensor.shape[-1] ** -0.5 if recurrent else 0.3)


def rows_of(model: StoredModel, lengths: list[int], seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs, as the exported model takes them; padding too is random."""
    rng = np.random.default_rng(seed)
    preprocessor: Any = model.preprocessor
    shape = (len(lengths), max(lengths) + 3)
    if preprocessor.vocabulary is None:
        inputs = {"features": rng.standard_normal((*shape, preprocessor.features)).astype(np.float32)}
    else:
        several = (preprocessor.ids_per_step,) if preprocessor.ids_per_step > 1 else ()
        inputs = {"ids": rng.integers(1, len(preprocessor.vocabulary), (*shape, *several))}
    return {**inputs, "lengths": np.array(lengths)}


@pytest.fixture(scope="session")
def random_rows() -> Callable[..., dict[str, np.ndarray]]:
    return rows_of


@pytest.fixture(scope="session")
def node_modules(request: pytest.FixtureRequest) -> Path:
    """The packages of the example: where RNNLAB_NODE_MODULES says, in .venv, or installed once into pytest's cache."""
    for path in (os.environ.get("RNNLAB_NODE_MODULES"), ROOT / ".venv" / "onnx-node" / "node_modules"):
        if path and (Path(path) / "onnxruntime-node").is_dir() and (Path(path) / "onnxruntime-web").is_dir():
            return Path(path)
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        refuse("needs Node and npm: apt install nodejs npm")
    assert npm is not None
    pins = (EXAMPLE / "package.json").read_text(encoding="utf-8")
    folder = Path(request.config.cache.mkdir("onnx-node"))
    with locked(folder / "install"):
        done = folder / "installed.json"
        if not done.exists() or done.read_text(encoding="utf-8") != pins:
            shutil.copy(EXAMPLE / "package.json", folder)
            # The binaries are in the package; its script would only fetch those for CUDA.
            command = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
            installed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)
            if installed.returncode:
                refuse(f"npm install failed: {installed.stderr[-500:]}")
            done.write_text(pins, encoding="utf-8")
    return folder / "node_modules"


@pytest.fixture(scope="session")
def example(node_modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example with its packages; tests put models beside it."""
    folder = tmp_path_factory.mktemp("onnx-node")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    (folder / "node_modules").symlink_to(node_modules, target_is_directory=True)
    (folder / "ids.mjs").write_text(IDS, encoding="utf-8")
    return folder


@pytest.fixture
def address(example: Path) -> Iterator[Any]:
    """``address("en")`` of the page with en.onnx, from the example's own server."""
    servers: list[subprocess.Popen[str]] = []

    def start(name: str) -> str:
        command = ["node", "serve.mjs", f"{name}.onnx", "0"]
        server = subprocess.Popen(command, cwd=example, stdout=subprocess.PIPE, text=True)
        servers.append(server)
        assert server.stdout is not None
        return server.stdout.readline().split(": ", 1)[1].strip()

    yield start
    for server in servers:
        server.terminate()
        server.wait(timeout=20)
        assert server.stdout is not None
        server.stdout.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    tools = browsing()
    reason = tools.missing()
    if reason:
        refuse(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=tools.CHROMIUM, args=tools.ARGUMENTS)
        yield started
        started.close()
