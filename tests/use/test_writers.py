"""A language model writes: what a sample depends on, where it ends, and that writing and scoring are one model."""

from pathlib import Path

import numpy as np
import pytest
import torch

import rnnlab
from rnnlab import kernels
from rnnlab.answers.stepping import ByRecurrence, recurrence_of
from rnnlab.core.errors import DataError, RunError
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.data.vocabulary import BEGIN, UNKNOWN
from rnnlab.use.writing import ByNetwork, Manner, Sample, Writer, load_writer

SMALL = {
    "rnn": ["model.hidden=12"],
    "lstm": ["model.hidden=20", "model.layers=2"],
    "gru": ["model.hidden=33", "model.layers=2", "model.residual=true"],
    "mingru": ["model.hidden=12"],
    "dilated": [],
    "transformer": ["model.width=8"],
    "kneser-ney": [],
    "unigram": [],
}
WINDOW = 24


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Paths of runs by kind, and `lines`: an LSTM of rows, `words`: of words."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "novel.txt").write_text(nested_sentences(250, 1).text, encoding="utf-8")
    task = {"window": WINDOW, "context": 16, "block": 100}

    options = {"training": {"epochs": 2, "batch_size": 8}, "out": folder / "runs"}

    def train(kind: str, settings: list[str], **task: object) -> str:
        return str(rnnlab.train(str(folder / "novel.txt"), model=kind, settings=settings, task=task, **options).path)

    compared = rnnlab.compare(
        str(folder / "novel.txt"), models=["rnn"], seeds=1, settings=SMALL["rnn"], task=task, jobs=0, **options
    )
    found = {arm.label: arm.runs[0].path for arm in (*compared.arms, *compared.baselines)}
    found |= {kind: train(kind, settings, **task) for kind, settings in SMALL.items() if kind not in found}
    found["lines"] = train("gru", ["model.hidden=24", "training.lr=0.02", "training.epochs=8"], text_per="line")
    found["words"] = train("lstm", ["model.hidden=16"], unit="words", max_size=30)
    return found


@pytest.fixture
def writer(trained: dict[str, str], request: pytest.FixtureRequest) -> Writer:
    return load_writer(trained[request.param])


every_kind = pytest.mark.parametrize("writer", [*SMALL, "lines", "words"], indirect=True)
lstm = pytest.mark.parametrize("writer", ["lstm"], indirect=True)


# --- what a sample depends on -----------------------------------------------------------------------------------------


@every_kind
def test_a_sample_depends_on_its_prompt_the_seed_and_its_number_alone(writer: Writer):
    prompts = ["the ", "", "a cat that the dog "]
    together = writer.generate(prompts, length=40, samples=3, seed=5)
    assert [(sample.prompt, sample.number) for sample in together] == [(p, n) for p in prompts for n in range(3)]
    assert len({sample.text for sample in together}) >= 3
    for prompt in prompts:
        assert [s.text for s in writer.generate([prompt], length=40, samples=3, seed=5)] == [
            s.text for s in together if s.prompt == prompt
        ]
    alone = [*writer.stream(prompts[2], length=40, number=1, manner=Manner(seed=5))][-1]
    assert isinstance(alone, Sample)
    assert (alone.text, alone.number) == (together[7].text, 1)
    assert alone.nats == pytest.approx(together[7].nats, rel=1e-5)


@every_kind
def test_temperature_0_takes_the_likeliest_whatever_the_seed(writer: Writer):
    greedy = {writer.generate(["the "], length=20, temperature=0, seed=seed)[0].text for seed in range(3)}
    cold = writer.generate(["the "], length=20, temperature=1e-5, seed=9)[0].text
    one = writer.generate(["the "], length=20, top_k=1, seed=4)[0].text
    assert greedy == {cold} == {one}


@every_kind
def test_what_is_written_surprises_as_much_as_scoring_says(writer: Writer):
    sample = writer.generate(["the dog "], length=WINDOW // 2, seed=3)[0]
    if writer.tokenizer.tokenize(sample.prompt + sample.text) != [
        *writer.tokenizer.tokenize(sample.prompt), *(w for w in writer.tokenizer.tokenize(sample.text))
    ]:  # fmt: skip
        pytest.skip("the border between prompt and text is no border of tokens")
    read = writer.score(sample.prompt + sample.text).nats
    first = len(writer.tokenizer.tokenize(sample.prompt))
    own = read[first : first + sample.tokens]
    assert len(own) == sample.tokens
    assert sample.nats == pytest.approx(own.sum(), rel=1e-4)


# --- native steps -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(kernels.library() is None, reason="there are no native kernels")
@pytest.mark.parametrize("writer", ["rnn", "lstm", "gru", "words"], indirect=True)
def test_native_steps_are_those_of_the_network_and_know_no_neighbours(writer: Writer):
    network = writer.stored.network
    recurrence = recurrence_of(network)
    assert recurrence is not None
    drawn = np.random.default_rng(0)
    rows = [drawn.integers(3, len(writer.vocabulary), length) for length in (1, 7, 3, *[5] * 30)]
    many, plain, alone = ByRecurrence(recurrence), ByNetwork(network, None), ByRecurrence(recurrence)
    found, expected, single = many.start(rows), plain.start(rows), alone.start(rows[1:2])
    kept = np.array([0, 1, 2, 9])
    for step in range(30):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert np.array_equal(found[1], single[0])  # to the bit
        if step == 10:
            found, expected = found[kept], expected[kept]
            for one in (many, plain):
                one.keep(kept)
        ids = drawn.integers(3, len(writer.vocabulary), len(found))
        found, expected, single = many.go_on(ids), plain.go_on(ids), alone.go_on(ids[1:2])


@lstm
def test_the_10_000th_token_takes_no_more_work_than_the_tenth(writer: Writer, monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    advance = type(writer.stored.network).advance

    def counted(self, inputs, lengths, state):
        seen.append(inputs.numel() + sum(part.numel() for part in state))
        return advance(self, inputs, lengths, state)

    monkeypatch.setattr(type(writer.stored.network), "advance", counted)
    with kernels.switched_off():
        writer.generate(["the "], length=300)
    assert len(seen) == 300
    assert len(set(seen[1:])) == 1


def test_a_transformer_writes_beyond_its_window_and_never_reads_more(trained: dict[str, str]):
    writer = load_writer(trained["transformer"])
    longest = writer.stored.spec.longest
    assert longest == WINDOW
    going = ByNetwork(writer.stored.network, longest)
    going.start([np.full(100, 5)])
    for _ in range(3 * WINDOW):
        going.go_on(np.array([6]))
        assert len(going.recent[0]) <= WINDOW
    found = writer.generate(["the dog sees a cat that the dog sees . " * 3], length=4 * WINDOW, seed=1)[0]
    assert found.tokens == 4 * WINDOW
    assert np.isfinite(found.nats)


# --- where it ends ----------------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("stop", [(" ",), ("e c", "at"), ("\n",), ("s .\nth", "zzz")])
def test_stop_texts_end_a_sample_and_a_stream_alike(writer: Writer, stop: tuple[str, ...]):
    for number in range(4):
        whole = writer.generate(["the "], length=60, samples=number + 1, seed=2)[number].text
        stopped = writer.generate(["the "], length=60, samples=number + 1, seed=2, stop=stop)[number]
        pieces = [*writer.stream("the ", length=60, number=number, manner=Manner(seed=2, stop=stop))]
        ends = [whole.find(text) for text in stop if text in whole]
        assert stopped.text == (whole[: min(ends)] if ends else whole)
        assert stopped.ended == ("stop" if ends else pieces[-1].ended)  # type: ignore[union-attr]
        assert "".join(piece for piece in pieces if isinstance(piece, str)) == stopped.text
        assert isinstance(pieces[-1], Sample)
        assert (pieces[-1].text, pieces[-1].tokens, pieces[-1].ended) == (stopped.text, stopped.tokens, stopped.ended)


def test_rows_come_to_their_end_and_streams_have_none(trained: dict[str, str]):
    lines = load_writer(trained["lines"]).generate(["the "], length=300, samples=20, seed=1)
    assert sum(sample.ended == "end" for sample in lines) > 10
    assert all(sample.tokens == 300 for sample in lines if sample.ended == "length")
    assert not any("\n" in sample.text or "</s>" in sample.text for sample in lines)
    assert len({sample.tokens for sample in lines}) > 3
    stream = load_writer(trained["rnn"]).generate([""], length=50, samples=20)
    assert all((sample.ended, sample.tokens) == ("length", 50) for sample in stream)


@every_kind
def test_marks_and_unknown_tokens_are_never_written(writer: Writer):
    for sample in writer.generate([""], length=80, samples=10, temperature=5.0):
        assert "<" not in sample.text


# --- prompts and bounds -----------------------------------------------------------------------------------------------


@every_kind
def test_unknown_tokens_in_prompts_are_read_and_told_of(writer: Writer):
    assert writer.unknown_in("the 猫 ☂") == ["猫", "☂"] or writer.unknown_in("the 猫 ☂") == ["猫", " ☂"]
    assert UNKNOWN in writer.ids_of("the 猫")
    assert writer.ids_of("")[0] == BEGIN
    assert writer.generate(["猫☂"], length=5)[0].tokens >= 1


@every_kind
def test_prompts_may_be_longer_than_any_window(writer: Writer):
    assert writer.generate(["the dog sees a cat . " * 40], length=10)[0].tokens >= 1


@lstm
def test_what_makes_no_sense_is_refused(writer: Writer):
    for wrong, told in (
        ({"length": 0}, "length: at least 1"),
        ({"samples": 0}, "samples: at least 1"),
        ({"temperature": -1.0}, "temperature: 0 or more"),
        ({"temperature": float("nan")}, "temperature: 0 or more"),
        ({"top_k": 0}, "top_k: at least 1"),
        ({"top_p": 0.0}, "top_p: above 0"),
        ({"stop": [""]}, "stop: texts of 1"),
    ):
        with pytest.raises(DataError, match=told):
            writer.generate([""], **wrong)  # type: ignore[arg-type]


def test_models_that_write_answer_with_no_label_and_others_dont_write(trained: dict[str, str]):
    with pytest.raises(RunError, match="asked for no label"):
        rnnlab.load(trained["lstm"]).predict(["the dog"])
    with pytest.raises(RunError, match="only language models write"):
        load_writer(Path(__file__).parents[1] / "formats" / "v1")


@lstm
def test_more_rows_than_fit_at_a_time(writer: Writer, monkeypatch: pytest.MonkeyPatch):
    whole = writer.generate(["a", "b"], length=8, samples=5)
    monkeypatch.setattr("rnnlab.use.writing.MOST_ROWS", 3)
    assert [s.text for s in writer.generate(["a", "b"], length=8, samples=5)] == [s.text for s in whole]
    assert torch.is_grad_enabled()
