"""Small taggers, trained in a second on the corpora that a rule makes."""

from pathlib import Path

from corpora import write_bmes, write_conllu

import rnnlab

SETTINGS = ["model.hidden=16", "training.batch_size=8", "training.lr=0.01"]


def train_tagger(folder: Path, corpus: str, model: str = "bilstm-crf", *more: str, epochs: int = 8) -> Path:
    """The run of a model of ``words`` (CoNLL-U, parts of speech) or ``characters`` (BMES, entities)."""
    folder.mkdir(exist_ok=True)
    data = write_conllu(folder / "corpus.conllu") if corpus == "words" else write_bmes(folder / "corpus.bmes")
    training = {"epochs": epochs}
    run = rnnlab.train(str(data), model=model, training=training, settings=[*SETTINGS, *more], out=folder / "runs")
    return run.path


def train_baselines(folder: Path, corpus: str) -> dict[str, Path]:
    """The runs of the taggers without a network, by name."""
    folder.mkdir(exist_ok=True)
    data = write_conllu(folder / "corpus.conllu") if corpus == "words" else write_bmes(folder / "corpus.bmes")
    found = rnnlab.compare(str(data), models=["linear"], seeds=1, training={"epochs": 1}, out=folder / "runs")
    return {arm.label: Path(arm.runs[0].path) for arm in found.baselines}
