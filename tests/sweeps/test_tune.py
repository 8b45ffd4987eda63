"""compare --tune: as many trials for all, the best on validation is compared, and the same command computes nothing."""

import json
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from test_search import Pretend, Refuses

from rnnlab.api.compare import UntilSure, compare, prepare
from rnnlab.core.errors import ConfigError, Interrupted
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.space import Between
from rnnlab.runs.directory import Finished, RunDirectory
from rnnlab.show.telling import tell
from rnnlab.sweeps.execution import Silent, baseline_specs
from rnnlab.sweeps.forecast import forecast
from rnnlab.sweeps.tune import FIRST_TRIAL_SEED, RUNGS, ArmSearch, tune
from rnnlab.training.spec import RunSpec

SMALL: dict[str, Any] = {"task": {"rows": 300}, "training": {"epochs": 2}, "models": ["linear", "gru"], "seeds": 2}
ALONE: dict[str, Any] = SMALL | {"models": ["linear"]}


class Baselines(Pretend):
    """As `Pretend`; a baseline is done at once, and scores its C."""

    def _step(self, spec: RunSpec, folder: Path, sink: Any) -> Any:
        if spec.training is not None:
            return super()._step(spec, folder, sink)
        run = RunDirectory(folder / spec.digest)
        run.create(spec.to_dict())
        score = 1 / (1 + abs(getattr(spec.model, "C", None) or 0))
        return Finished(run.seal({"status": "finished", "valid": {"accuracy": score}}))


def rising(spec: RunSpec) -> list[float]:
    """A setting's end lies between 0.5 and 1, by its rate; all rise alike, over 12 evaluations."""
    assert spec.training is not None
    end = 0.5 + 50 * spec.training.lr
    return [end * epoch / 12 for epoch in range(1, 13)]


def searched(tmp_path: Path, executor: Any, trials: int = 6, **options: Any):
    every: dict[str, Any] = SMALL | {"training": {"epochs": 20}} | options
    experiment, data = prepare(None, tune=trials, **every)
    return tune(experiment, data, tmp_path, executor, Silent())


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory):
    out = tmp_path_factory.mktemp("tuned")
    return out, compare(tune=3, out=out, on="serial", **SMALL)


def test_the_choice_is_the_best_on_validation_and_is_compared(tuned):
    out, result = tuned
    assert [arm.label for arm in result.tuning.arms] == ["linear", "gru", "majority", "nbsvm", "tfidf"]
    for arm in result.tuning.arms:
        finished = {n: one.score for n, one in enumerate(arm.trials) if one.status == "finished"}
        for one in arm.trials:  # as the run directories have it
            found = RunDirectory(out / one.digest).result()
            assert found is None or one.score == pytest.approx(found["valid"]["accuracy"])
        assert arm.best.score == max(finished.values())
        chosen = RunSpec.from_dict(RunDirectory(out / arm.best.digest).spec())
        compared = next(one for one in (*result.arms, *result.baselines) if one.label == arm.label)
        assert compared.model == chosen.model.to_dict()
        for run in compared.runs:
            spec = RunSpec.from_dict(RunDirectory(out / run.digest).spec())
            assert spec.training == chosen.training


def test_every_arm_gets_as_many_trials_and_the_first_is_the_default(tuned):
    _, result = tuned
    assert {arm.label: len(arm.trials) for arm in result.tuning.arms} == {
        "linear": 3,
        "gru": 3,
        "majority": 1,
        "nbsvm": 3,
        "tfidf": 3,
    }
    untuned, _ = prepare(None, **SMALL)
    for label, arm in untuned.arms.items():
        first = next(one for one in result.tuning.arms if one.label == label).trials[0]
        assert first.digest == RunSpec(untuned.task, arm.model, arm.training, FIRST_TRIAL_SEED).digest
    [note] = [note for note in result.notes if "nothing to tune" in note]
    assert note.startswith("tune: majority has nothing to tune; every other model and baseline got 3 trials")


def test_no_run_of_the_comparison_has_the_seed_of_the_trials(tuned):
    out, result = tuned
    assert {run.seed for arm in result.arms for run in arm.runs} == {0, 1}
    for arm in result.tuning.arms:
        for trial in arm.trials:
            assert arm.baseline or RunDirectory(out / trial.digest).spec()["seed"] == FIRST_TRIAL_SEED


def test_a_seed_that_is_asked_for_is_not_the_trials(tmp_path: Path):
    _, found = searched(tmp_path, Baselines(rising), settings=[f"seeds=[0, {FIRST_TRIAL_SEED}]"])
    assert found.seed == FIRST_TRIAL_SEED + 1


def test_the_same_command_computes_nothing(tuned, monkeypatch: pytest.MonkeyPatch):
    out, result = tuned
    monkeypatch.setattr("rnnlab.api.compare.executor_for", lambda *_: Refuses())
    again = compare(tune=3, out=out, on="serial", **SMALL)
    assert again.to_dict() == result.to_dict()


def test_the_report_has_it_and_trials_are_no_comparison_of_their_own(tuned):
    out, result = tuned
    report = tell([out])
    [chapter] = report.chapters
    assert chapter.comparison.tuning == result.tuning
    assert json.loads((Path(result.folder) / "comparison.json").read_text())["tuning"]["trials"] == 3


def test_killed_in_the_middle_it_comes_to_the_same_choice(tmp_path: Path):
    _, whole = searched(tmp_path / "whole", Baselines(rising))
    for after in (3, 20, 40):
        out = tmp_path / str(after)
        with pytest.raises(Interrupted, match=r"of 25 trials are done and kept"):  # the majority has one
            searched(out, Baselines(rising, interrupt_after=after))
        assert searched(out, Baselines(rising))[1] == whole
    assert searched(tmp_path / "whole", Refuses())[1] == whole


@pytest.mark.parametrize(("jobs", "order", "late"), [(2, 1, 0), (5, 2, 3)])
def test_the_choice_doesnt_depend_on_how_many_run_at_a_time(tmp_path: Path, jobs: int, order: int, late: int):
    alone = searched(tmp_path / "alone", Baselines(rising))[1]
    assert searched(tmp_path / "many", Baselines(rising, jobs, order, late))[1] == alone


def test_hopeless_trials_are_stopped_and_never_chosen(tmp_path: Path):
    executor = Baselines(rising)
    _, found = searched(tmp_path, executor, trials=12)
    gru = next(arm for arm in found.arms if arm.label == "gru")
    stopped = [trial for trial in gru.trials if trial.status == "stopped"]
    assert stopped
    assert {trial.evaluations for trial in stopped} == {RUNGS.first}
    assert gru.trials[0].status == "finished"  # the default trains to its end
    assert gru.best.status == "finished"
    assert all((trial.score or 0) < (gru.best.score or 0) for trial in stopped)
    assert gru.setting["training.lr"] == max(
        trial.setting["training.lr"] for trial in gru.trials if "training.lr" in trial.setting
    )
    assert max(executor.evaluations.values()) == 12


def test_what_the_user_set_is_fixed(tmp_path: Path):
    experiment, data = prepare(None, tune=6, **SMALL, settings=["model.hidden=24", "arms.gru.training.lr=0.01"])
    _, found = tune(experiment, data, tmp_path, Baselines(rising), Silent())
    linear, gru = found.arms[:2]
    assert linear.fixed == ("model.hidden",)
    assert gru.fixed == ("model.hidden", "training.lr")
    for arm in (linear, gru):
        for trial in arm.trials:
            spec = RunSpec.from_dict(RunDirectory(tmp_path / trial.digest).spec())
            assert attrgetter("model.hidden")(spec) == 24
            assert arm is linear or attrgetter("training.lr")(spec) == 0.01
    rates = {trial.setting["training.lr"] for trial in linear.trials[1:]}
    assert len(rates) == 5


def test_dropout_between_layers_is_searched_only_where_there_are_two(tmp_path: Path):
    _, found = searched(tmp_path, Baselines(rising), trials=20)
    gru = next(arm for arm in found.arms if arm.label == "gru")
    for trial in gru.trials[1:]:
        assert ("model.dropout" in trial.setting) == (trial.setting["model.layers"] == 2)
    assert {trial.setting["model.layers"] for trial in gru.trials[1:]} == {1, 2}


def test_settings_that_dont_suit_what_was_set_are_drawn_again(tmp_path: Path):
    _, found = searched(
        tmp_path, Baselines(rising), models=["transformer"], settings=["model.width=6", "model.heads=3"]
    )
    transformer = found.arms[0]
    assert len(transformer.trials) == 6
    assert set(transformer.fixed) == {"model.width", "model.heads"}
    only_width = searched(tmp_path, Baselines(rising), models=["transformer"], settings=["model.width=36"])[1].arms[0]
    assert {trial.setting["model.heads"] for trial in only_width.trials[1:]} <= {2, 4}  # 8 doesn't divide 36


def test_arms_draw_their_own_settings_and_more_trials_begin_with_the_same(tmp_path: Path):
    _, few = searched(tmp_path / "few", Baselines(rising), models=["gru", "lstm"], trials=3)
    _, many = searched(tmp_path / "many", Baselines(rising), models=["gru", "lstm"], trials=5)
    for one, other in zip(few.arms, many.arms, strict=True):
        assert [trial.digest for trial in one.trials] == [trial.digest for trial in other.trials[: len(one.trials)]]
    gru, lstm = few.arms[:2]
    assert gru.trials[1].setting != lstm.trials[1].setting


def test_a_model_without_a_space_keeps_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ARCHITECTURES["linear"], "space", {})
    _, found = searched(tmp_path, Baselines(rising))
    assert [len(arm.trials) for arm in found.arms[:2]] == [1, 6]


def test_a_space_smaller_than_the_trials_is_exhausted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ARCHITECTURES["linear"], "space", {"model.hidden": Between(126, 129)})
    _, found = searched(tmp_path, Baselines(rising))
    assert len(found.arms[0].trials) == 4  # 128 is the default


@pytest.mark.parametrize(("kind", "absent"), [("adding", "model.embedding.dropout"), ("copy", "model.pooling")])
def test_axes_without_a_use_are_left_out(tmp_path: Path, kind: str, absent: str):
    """Numbers have no embedding, and an answer at every step no pooling."""
    experiment, data = prepare(None, tune=3, models=["gru"], task={"kind": kind, "rows": 100})
    search = ArmSearch("gru", experiment.specs()[0][1], experiment, data, tmp_path, Silent())
    assert set(ARCHITECTURES["gru"].space) - set(search.space) == {absent}
    assert len(search.trials) == 3


def test_the_file_of_the_report_repeats_the_chosen_settings_those_of_baselines_too(tuned, tmp_path: Path):
    _, result = tuned
    file = tmp_path / "again.toml"
    file.write_text(tell([result.folder]).chapters[0].provenance.experiment or "")
    again, data = prepare(file)
    asked = {spec.digest for _, spec in [*baseline_specs(again, data), *again.specs()]}
    assert asked == {run.digest for arm in (*result.arms, *result.baselines) for run in arm.runs}


def test_what_the_user_set_of_a_baseline_is_fixed(tmp_path: Path):
    _, found = searched(tmp_path, Baselines(rising), settings=["baselines.tfidf.C=2.5", "baselines.nbsvm.ngrams=2"])
    tfidf, nbsvm = (next(arm for arm in found.arms if arm.label == label) for label in ("tfidf", "nbsvm"))
    assert (tfidf.fixed, len(tfidf.trials)) == (("model.C",), 1)
    assert RunDirectory(tmp_path / tfidf.trials[0].digest).spec()["model"]["C"] == 2.5
    assert (nbsvm.fixed, nbsvm.searched) == (("model.ngrams",), ("model.C",))


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("baselines.tfdf.C=1", "baselines.tfdf: no such baseline.*tfidf"),
        ("baselines.tfidf.D=1", "baselines.tfidf.D: unknown key"),
        ("baselines.tfidf=3", "baselines.tfidf: must be a table"),
    ],
)
def test_mistakes_in_the_settings_of_baselines(setting: str, complaint: str):
    with pytest.raises(ConfigError, match=complaint):
        prepare(None, **SMALL, settings=[setting])


def test_until_sure_adds_seeds_to_the_chosen_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rnnlab.api.compare.in_play", lambda verdict, left: ["linear"])
    monkeypatch.setattr("rnnlab.api.compare._why_stop", lambda c, labels, last: "stopped" if last else None)
    result = compare(tune=3, until_sure=UntilSure(max_seeds=3), out=tmp_path, on="serial", **ALONE)
    assert result.tuning is not None
    specs = [RunSpec.from_dict(RunDirectory(run.path).spec()) for run in result.arms[0].runs]
    assert [spec.seed for spec in specs] == [0, 1, 2]
    assert len({(spec.model.to_dict()["hidden"], spec.training and spec.training.lr) for spec in specs}) == 1
    assert specs[0].model.to_dict()["hidden"] == result.tuning.arms[0].setting["model.hidden"]


def test_a_file_can_ask_for_it(tmp_path: Path):
    file = tmp_path / "fair.toml"
    file.write_text('tune = 4\n[task]\nrows = 300\n[arms.gru.model]\nkind = "gru"\n')
    experiment, _ = prepare(file)
    assert experiment.tune == 4


@pytest.mark.parametrize("trials", [1, 0, -3, 5000])
def test_what_is_no_number_of_trials(trials: int):
    with pytest.raises(ConfigError, match="tune: how many settings to try per model, from 2 to 1,000"):
        prepare(None, tune=trials, **SMALL)


def test_a_budget_is_refused_before_anything_is_done(tmp_path: Path):
    with pytest.raises(ConfigError, match="--budget can't be kept with --tune 3"):
        compare(tune=3, budget="10m", out=tmp_path, on="serial", **SMALL)
    assert list(tmp_path.iterdir()) == []


def test_the_forecast_counts_the_trials(tuned, tmp_path: Path):
    out, _ = tuned
    experiment, data = prepare(None, tune=3, **SMALL)
    whole = forecast(experiment, data, tmp_path, 1)
    untuned = forecast(replace(experiment, tune=None), data, tmp_path, 1)
    assert whole.runs - untuned.runs == 3 * 4 + 1  # of two models and two baselines, and of the majority
    assert whole.high > untuned.high
    assert forecast(experiment, data, out, 1).high < whole.high


def test_equal_sizes_cant_be_searched():
    with pytest.raises(ConfigError, match="tune: it searches the sizes that match = 'parameters' makes equal"):
        prepare(None, tune=3, match="parameters", **SMALL)


def test_with_splits_that_vary_the_first_ones_validation_chooses(tmp_path: Path):
    result = compare(tune=2, vary_split=True, out=tmp_path, on="serial", **ALONE)
    assert result.tuning is not None
    assert any("the validation rows of the first seed's split" in note for note in result.notes)
    spec = RunSpec.from_dict(RunDirectory(tmp_path / result.tuning.arms[0].trials[1].digest).spec())
    assert spec.task.split_by is not None
    assert getattr(spec.task, spec.task.split_by) == 0
