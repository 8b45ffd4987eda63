"""Language models on the command line: what is said of them by compare, runs, pack and inspect."""

import zipfile
from pathlib import Path

import pytest

import rnnlab as library
from rnnlab.runs.directory import RunDirectory
from rnnlab.show.notebook import Result
from rnnlab.training.spec import RunSpec

SMALL = ["model.hidden=8", "model.embedding.width=8"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Sentences by known rules, without a file."""
    folder = tmp_path_factory.mktemp("made")
    task = {"kind": "language-model", "unit": "words", "sentences_made": 300}
    return library.compare(
        None, models=["gru"], seeds=2, task=task, training={"epochs": 1}, settings=SMALL, out=folder / "runs", jobs=0
    )


def run_of(result: Result, arm: str) -> str:
    return next(one for one in result.ranking if one.label == arm).runs[0].path


def test_the_best_possible_score_is_said(rnnlab, made: Result):
    folder = Path(made.folder or "").parent.parent
    arguments = ("compare", "--task", "language-model", "--unit", "words", "--models", "gru", "--seeds", "2")
    settings = [part for one in ("task.sentences_made=300", *SMALL) for part in ("--set", one)]
    done = rnnlab(*arguments, "--epochs", "1", *settings, "--jobs", "0", "--out", str(folder))
    floor, means = made.profile["floor"], {arm.label: arm.score.mean for arm in made.ranking if arm.score}
    best = min(means, key=lambda label: means[label])
    said = f"The best possible score is {floor:.4f}: {best} is {100 * (means[best] / floor - 1):.1f} % above it"
    assert said in " ".join(done.out.split())
    assert f"Use it:  rnnlab generate {made.recommended_run} --temperature 0.8" in done.out
    chinese = rnnlab(*arguments, "--epochs", "1", *settings, "--jobs", "0", "--out", str(folder), "--lang", "zh").out
    assert "每词元奈特数" in chinese
    assert "每字符比特数" in chinese
    assert "nats per token" not in chinese


def test_runs_are_listed_with_their_scores(rnnlab, made: Result):
    folder = Path(made.folder or "").parent.parent
    lines = rnnlab("runs", str(folder)).out.splitlines()
    assert "bits per character" in lines[0]
    assert "perplexity" in lines[0]
    [kneser_ney] = [line for line in lines if "kneser-ney" in line]
    result = RunDirectory(run_of(made, "kneser-ney")).result()
    assert result is not None
    assert f"{result['test']['perplexity']:.4f}" in kneser_ney
    assert "language-model" in kneser_ney  # it has no file


def test_the_card_says_what_a_language_model_is_for(rnnlab, made: Result, tmp_path: Path):
    done = rnnlab("pack", run_of(made, "gru"), "-o", "model.rnnlab")
    assert "Use it:  rnnlab generate model.rnnlab --temperature 0.8" in done.out
    assert "rnnlab serve" in done.out
    card = zipfile.ZipFile(tmp_path / "model.rnnlab").read("card.md").decode()
    assert "Continues texts (Latin) like those of 'language-model', token by token." in card
    assert "| rows | nats per token | bits per character | perplexity |" in card
    assert "longest test row" not in card  # blocks of a stream


def test_inspect_counts_the_head_and_says_what_comes_next(rnnlab, made: Result):
    run = run_of(made, "gru")
    result = RunDirectory(run).result()
    assert result is not None
    done = rnnlab("inspect", run, "--text", "the dog")
    assert f"{result['parameters']['total']:,} parameters" in done.out
    assert "Its answer at the last token, “dog”: " in done.out
    assert "output 1" not in done.out


def test_what_is_copied_is_said_after_each_text(rnnlab, made: Result):
    run = run_of(made, "kneser-ney")
    task = RunSpec.from_dict(RunDirectory(run).spec()).task
    data = task.load()
    assert data.vocabulary is not None
    trained = " ".join(data.vocabulary.words[token] for token in data.train.truth.values.tolist())
    done = rnnlab("generate", run, "the", "--length", "40", "--samples", "2", "--copied", "--json")
    for sample in done.json_lines():
        tokens = sample["text"].replace("\n", " \n ").split(" ")
        tokens = [token for token in tokens if token]
        runs = [
            (start, end)
            for start in range(len(tokens))
            for end in range(start + 1, len(tokens) + 1)
            if f" {' '.join(tokens[start:end])} " in f" {trained} "
        ]
        inside = {at for start, end in runs if end - start >= 8 for at in range(start, end)}
        assert sample["copied"]["longest"] == max(end - start for start, end in runs)
        assert sample["copied"]["share"] == pytest.approx(len(inside) / len(tokens))
        assert sample["copied"]["text"] in sample["text"]
    said = rnnlab("generate", run, "the", "--length", "40", "--copied").out
    assert "stand verbatim in the training text, in runs of 8 tokens or more; the longest run has" in said
    assert "verbatim" not in rnnlab("generate", run, "the", "--length", "40").out


def test_copies_need_the_training_text(rnnlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = tmp_path / "text.txt"
    text.write_text("one two three.\n" * 100, encoding="utf-8")
    arguments = ("--seeds", "1", "--models", "gru", "--epochs", "1", "--jobs", "0", "--out", "runs", "--quiet")
    assert rnnlab("compare", "text.txt", *arguments, *[part for one in SMALL for part in ("--set", one)]).code == 0
    run = next(str(path.parent) for path in Path("runs").glob("*/spec.json") if "unigram" in path.read_text())
    text.write_text("something else entirely.\n" * 100, encoding="utf-8")
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "another"))
    done = rnnlab("generate", run, "--copied")
    assert done.code != 0
    assert "the data changed since" in done.err
    assert "Traceback" not in done.err
