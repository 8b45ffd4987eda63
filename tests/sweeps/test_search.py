"""Searches: what is drawn, what is stopped, and that neither depends on what is computed when."""

import math
import random
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from rnnlab.api.sweep import run_sweep, summarise
from rnnlab.core.errors import ConfigError, Interrupted
from rnnlab.execute.executors import Serial
from rnnlab.execute.processes import Processes
from rnnlab.runs.directory import Diverged, Failed, Finished, Outcome, RunDirectory, Stopped
from rnnlab.sweeps.axes import parse_axis
from rnnlab.sweeps.contest import HALVING, WORST, Score, goes_on
from rnnlab.sweeps.draws import changes_of, draw, propose, values_of
from rnnlab.sweeps.execution import Silent
from rnnlab.sweeps.search import AT_RANDOM, LAG, StudySearch
from rnnlab.sweeps.sweep_file import read_sweep
from rnnlab.sweeps.sweep_plan import plan_studies

LR = '"training.lr" = { low = 1e-4, high = 1.0, log = true }'
RNN = 'kind = "rnn"\nhidden = 4\n'


def write(
    folder: Path,
    strategy: str,
    trials: int,
    *,
    repeats: int = 2,
    axes: str = LR,
    more: str = "",
    model: str = RNN,
    **training,
):
    settings = {"epochs": 4, "batch_size": 20, "patience": "none"} | training
    path = folder / "search.toml"
    path.write_text(
        f'strategy = "{strategy}"\ntrials = {trials}\nrepeats = {repeats}\n{more}\n'
        f'[task]\nkind = "first-last"\nrows = 100\nlength = 3\n[model]\n{model}'
        "[training]\n" + "".join(f"{key} = {value!r}\n" for key, value in settings.items()) + f"[axes]\n{axes}\n"
    )
    return path


def planned(*arguments, **options):
    path = write(*arguments, **options)
    return plan_studies(read_sweep(path), str(path))[0]


class Pretend:
    """An executor that computes nothing: ``curve(spec)`` says what each evaluation shows, NaN where the run diverges.
    Of ``jobs`` runs now this one and now that one goes a step; one that is asked to stop takes ``late`` steps more."""

    def __init__(self, curve, jobs=1, order=0, late=0, interrupt_after=None):
        self.curve, self.jobs, self.late, self.interrupt_after = curve, jobs, late, interrupt_after
        self.rng = random.Random(order)
        self.evaluations: Counter[str] = Counter()  # by digest
        self.asked: dict[str, int] = {}  # digests of runs that were asked to stop, and in how many steps they will

    def map(self, specs, folder, sink):
        todo, running = enumerate(specs), {}
        while True:
            while len(running) < self.jobs and (entry := next(todo, None)):
                assert entry[1] not in running.values(), "a run is computed twice at a time"
                running[entry[0]] = entry[1]
                sink(entry[0], {"event": "started"})
            if not running:
                return
            number = self.rng.choice(sorted(running))
            outcome = self._step(running[number], folder, lambda event, n=number: sink(n, event))
            if outcome is not None:
                del running[number]
                yield number, outcome
            if self.interrupt_after is not None and sum(self.evaluations.values()) >= self.interrupt_after:
                for under_way in running:
                    yield under_way, Stopped()
                raise KeyboardInterrupt

    def _step(self, spec, folder, sink) -> Outcome | None:
        run = RunDirectory(folder / spec.digest)
        run.create(spec.to_dict())
        curve, epoch = self.curve(spec), len(run.events())
        if epoch == len(curve):
            self.asked.pop(spec.digest, None)
            return Finished(run.seal({"status": "finished", "valid": {"accuracy": max(curve)}}))
        if self.asked.get(spec.digest) == 0:
            del self.asked[spec.digest]
            return Stopped()
        if math.isnan(curve[epoch]):
            self.asked.pop(spec.digest, None)
            return Diverged(run.seal({"status": "diverged", "divergence": {"step": epoch, "reason": "NaN"}}))
        self.evaluations[spec.digest] += 1
        event = {"event": "epoch", "epoch": epoch + 1, "step": epoch + 1, "valid_accuracy": curve[epoch]}
        run.append_event(event)
        if spec.digest in self.asked:
            self.asked[spec.digest] -= 1
        if sink(event):
            self.asked.setdefault(spec.digest, self.late)
        return None


class Refuses:
    """Nothing is left to compute."""

    def map(self, specs, folder, sink):
        assert list(specs) == []
        return iter(())


class Recorder(Silent):
    """A display for searches that remembers what it was told."""

    def __init__(self):
        self.runs, self.outcomes, self.again = [], {}, 0

    def begin(self, runs):
        self.runs = list(runs)

    def add(self, label, spec):
        self.runs.append((label, spec))

    def event(self, number, event):
        assert number < len(self.runs)

    def outcome(self, number, outcome, again):
        self.outcomes[number] = outcome
        self.again += again


def result_of(study, out, executor, display=None):
    """What a search finds, without what may depend on the machine."""
    found, outcomes = StudySearch(study, out, display or Silent()).run(executor)
    return {p.label: tuple(type(outcomes[s.digest]).__name__ for s in p.specs) for p in found.points}, found, outcomes


def rising(spec) -> list[float]:
    """Every setting gets better from evaluation to evaluation; the nearer lr is to 0.01, the better."""
    off = abs(math.log10(spec.training.lr) + 2)
    return [1 - off / 5 - 0.3 / n - 0.001 * spec.seed for n in range(1, spec.training.epochs + 1)]


# Draws


AXES = [
    parse_axis("training.lr", {"low": 1e-4, "high": 1.0, "log": True}),
    parse_axis("training.clip", {"low": 0.5, "high": 2.5}),
    parse_axis("model.hidden", {"low": 1, "high": 64, "log": True}),
    parse_axis("model.layers", {"low": 1, "high": 4}),
    parse_axis("model.kind", ["rnn", "gru", "lstm"]),
]


@pytest.fixture(scope="module")
def many():
    return [draw(AXES, number) for number in range(4000)]


def test_draws_stay_in_their_ranges_and_reach_all_of_them(many):
    lr, clip, hidden, layers, kind = zip(*many, strict=True)
    assert 1e-4 <= min(lr) < 1.2e-4
    assert 0.8 < max(lr) <= 1
    assert 0.5 <= min(clip) < 0.51
    assert 2.49 < max(clip) <= 2.5
    assert {type(value) for value in hidden + layers + kind} == {int}
    assert (min(hidden), max(hidden)) == (1, 64)
    assert set(layers) == {1, 2, 3, 4}
    assert set(kind) == {0, 1, 2}
    assert all(float(f"{value:.4g}") == value for value in lr + clip)


def test_every_decade_every_stretch_and_every_choice_is_as_likely(many):
    decades = Counter(math.floor(math.log10(setting[0])) for setting in many)
    stretches = Counter(int((setting[1] - 0.5) * 2) for setting in many)
    octaves = Counter(math.floor(math.log2(setting[2])) for setting in many if setting[2] >= 8)
    for counts, share in ((decades, 1 / 4), (stretches, 1 / 4), (Counter(s[3] for s in many), 1 / 4)):
        assert [counts[key] / len(many) for key in list(counts)[:4]] == pytest.approx([share] * 4, abs=0.03)
    assert octaves[3] == pytest.approx(octaves[4], rel=0.15)
    assert octaves[4] == pytest.approx(octaves[5], rel=0.15)
    lows = [setting[1] < 1.5 for setting in many if setting[0] < 0.01]
    assert sum(lows) / len(lows) == pytest.approx(0.5, abs=0.04)  # what one axis draws says nothing about another


def test_a_setting_has_values_and_stands_for_changes():
    axes = [AXES[0], parse_axis("size", {"model.hidden": [8, 16], "model.layers": [1, 2]})]
    assert values_of(axes, (0.01, 1)) == {"training.lr": 0.01, "size": "16 / 2"}
    assert changes_of(axes, (0.01, 1)) == {"training.lr": 0.01, "model.hidden": 16, "model.layers": 2}


def test_ends_that_are_not_round_are_kept():
    axis = parse_axis("training.lr", {"low": 0.123456, "high": 0.123457})
    assert all(0.123456 <= draw([axis], number)[0] <= 0.123457 for number in range(20))


def test_tpe_finds_better_settings_than_chance():
    """On ten objectives, each with its best learning rate and kind; nothing is trained."""
    axes = [AXES[0], AXES[4]]
    wins, gaps = 0, []
    for which in range(10):
        best_lr, best_kind = -0.5 - 0.35 * which, which % 3

        def loss(setting, best_lr=best_lr, best_kind=best_kind):
            return (math.log10(setting[0]) - best_lr) ** 2 + 0.5 * (setting[1] != best_kind)

        chance = [draw(axes, number) for number in range(30)]
        asked = chance[:AT_RANDOM]
        for number in range(AT_RANDOM, 30):
            known = [(setting, Score(0, loss(setting))) for setting in asked[: number - LAG + 1]]
            asked.append(propose(axes, known, number))
        assert all(1e-4 <= lr <= 1 and kind in (0, 1, 2) for lr, kind in asked)
        wins += sum(map(loss, asked[AT_RANDOM:])) < sum(map(loss, chance[AT_RANDOM:]))
        gaps.append(min(map(loss, chance)) - min(map(loss, asked)))
    assert wins == 10  # what it proposes is better on the whole
    assert sum(gaps) > 0  # and so is the best


def test_tpe_goes_by_the_order_of_scores_alone_and_repeats():
    settings = [draw(AXES, number) for number in range(12)]
    one = propose(AXES, [(s, Score(0, n)) for n, s in enumerate(settings)], 12)
    assert one == propose(AXES, [(s, Score(0, math.exp(n))) for n, s in enumerate(settings)], 12)
    assert one != propose(AXES, [(s, Score(0, -n)) for n, s in enumerate(settings)], 12)
    assert one != propose(AXES, [(s, Score(0, n)) for n, s in enumerate(settings)], 13)


def test_tpe_is_quiet(capfd):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.INFO)
    propose(AXES, [(draw(AXES, 0), WORST)], 1)
    assert capfd.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == optuna.logging.INFO  # the user's own studies go on telling


# Which trials


@pytest.mark.parametrize("strategy", ["random", "asha"])
def test_the_same_file_has_the_same_trials_and_more_are_the_same_and_some(tmp_path, strategy):
    short, long = (planned(tmp_path, strategy, trials, repeats=1) for trials in (5, 9))
    few, *_ = result_of(short, tmp_path / "few", Pretend(rising))
    again, *_ = result_of(short, tmp_path / "again", Pretend(rising, jobs=3))
    many, *_ = result_of(long, tmp_path / "many", Pretend(rising))
    assert few == again
    assert len(few) == 5
    assert list(many)[:5] == list(few)


def test_settings_are_never_drawn_twice_and_run_out(tmp_path):
    for strategy in ("random", "tpe", "asha"):
        axes = '"model.hidden" = [2, 3, 4]\n"model.kind" = ["rnn", "gru", "lstm", "linear"]'
        study = planned(tmp_path, strategy, 20, repeats=1, axes=axes)
        found, drawn, _ = result_of(study, tmp_path / strategy, Pretend(lambda spec: [0.5]))
        assert len(found) == 12
        assert drawn.notes[-1] == "the axes have no more than 12 settings that differ: trials = 20"


def test_settings_that_come_to_the_same_runs_are_one_trial(tmp_path):
    axes = f'{LR}\nmodel = {{ a = {{ "model.kind" = "gru" }}, b = {{ "model.kind" = "gru", "training.lr" = 0.01 }} }}'
    study = planned(tmp_path, "random", 8, axes=axes)
    found, drawn, outcomes = result_of(study, tmp_path / "out", Pretend(rising, jobs=4))
    assert len(found) == 8
    assert len(outcomes) == 16
    assert sum(point.at["model"] == "b" for point in drawn.points) == 1


def test_values_that_do_not_suit_each_other_cost_a_trial_and_not_the_search(tmp_path):
    axes = '"model.width" = { low = 4, high = 8 }'
    study = planned(tmp_path, "random", 5, axes=axes, repeats=1, model='kind = "transformer"\nheads = 2\n')
    found, drawn, _ = result_of(study, tmp_path / "out", Pretend(rising))
    assert 0 < len(found) < 5
    assert len(drawn.notes) == 5 - len(found)
    assert all("heads" in note for note in drawn.notes)


def test_no_trial_is_begun_after_the_minutes_and_the_same_command_goes_on(tmp_path):
    for strategy in ("random", "tpe", "asha"):
        study = planned(tmp_path, strategy, 6, more="minutes = 1e-9")
        found, drawn, outcomes = result_of(study, tmp_path / strategy, Pretend(rising))
        assert (found, outcomes) == ({}, {})
        assert drawn.notes[-1] == "0 of 6 trials were begun within the 1e-09 minutes; the same command goes on"
        assert len(result_of(planned(tmp_path, strategy, 6), tmp_path / strategy, Pretend(rising))[0]) == 6


def test_without_optuna_tpe_says_how_to_get_it_and_the_others_do_without(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install 'rnnlab\[optuna\]'"):
        result_of(planned(tmp_path, "tpe", 3), tmp_path / "out", Pretend(rising))
    for strategy in ("random", "asha"):
        assert len(result_of(planned(tmp_path, strategy, 3), tmp_path / "out", Pretend(rising))[0]) == 3


def test_a_display_is_told_of_every_run_once(tmp_path):
    for strategy in ("random", "tpe", "asha"):
        study = planned(tmp_path, strategy, 10, epochs=12)
        display = Recorder()
        _, _, outcomes = result_of(study, tmp_path / strategy, Pretend(rising, jobs=3), display)
        assert {spec.digest for _, spec in display.runs} == set(outcomes)
        assert len(display.runs) == 20
        assert [outcomes[spec.digest] for _, spec in display.runs] == [display.outcomes[n] for n in range(20)]
        assert display.again == 0
        again = Recorder()
        result_of(study, tmp_path / strategy, Refuses(), again)
        assert again.again == 20
        assert again.outcomes == display.outcomes


def test_few_trials_of_tpe_are_random_ones_and_the_notes_say_so(tmp_path):
    found, drawn, _ = result_of(planned(tmp_path, "tpe", 4), tmp_path / "tpe", Pretend(rising))
    assert list(found) == list(result_of(planned(tmp_path, "random", 4), tmp_path / "random", Pretend(rising))[0])
    assert "tpe draws its first 8 trials at random" in drawn.notes[-1]


def test_tpe_searches_where_scores_are_good(tmp_path):
    study = planned(tmp_path, "tpe", 30, repeats=1)
    _, drawn, _ = result_of(study, tmp_path / "out", Pretend(rising, jobs=3))
    off = [abs(math.log10(float(point.at["training.lr"])) + 2) for point in drawn.points]
    assert sum(off[15:]) / 15 < 0.6 * sum(off[:AT_RANDOM]) / AT_RANDOM


# Stopping


def test_the_rule_of_a_rung_is_that_of_optuna(tmp_path):
    """The same curves, one after the other, through Optuna's pruner."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    rng = random.Random(1)
    levels: dict[str, float] = {}

    def curve(spec):
        level = levels.setdefault(spec.digest, rng.random())
        return [level * n / (n + 2) for n in range(1, spec.training.epochs + 1)]

    study = planned(tmp_path, "asha", 40, repeats=1, epochs=12)
    _, drawn, _ = result_of(study, tmp_path / "out", Pretend(curve, jobs=3, order=5))
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
    peer = optuna.create_study(direction="maximize", pruner=pruner)
    for point in drawn.points:
        trial = peer.ask()
        shown = curve(point.specs[0])
        stopped = 0
        for step, value in enumerate(shown, start=1):
            trial.report(value, step)
            if trial.should_prune():
                stopped = step
                break
        peer.tell(trial, shown[-1])
        events = RunDirectory(tmp_path / "out" / point.specs[0].digest).events()
        assert len(events) == (stopped or 12), point.label


@pytest.mark.parametrize("strategy", ["tpe", "asha"])
def test_what_is_found_does_not_depend_on_what_is_computed_when(tmp_path, strategy):
    study = planned(tmp_path, strategy, 16, epochs=12)
    found, *_ = result_of(study, tmp_path / "one", Pretend(noisy))
    for order, (jobs, late) in enumerate([(2, 0), (3, 2), (7, 1), (50, 5)]):
        out = tmp_path / f"{jobs}"
        assert result_of(study, out, Pretend(noisy, jobs, order, late))[0] == found
    if strategy == "asha":
        assert 0 < sum(words == ("Stopped", "Stopped") for words in found.values()) < 16


def noisy(spec) -> list[float]:
    """Curves that cross, and some that diverge."""
    rng = random.Random(spec.digest)
    curve = [value + rng.gauss(0, 0.1) for value in rising(spec)]
    return [*curve[:5], math.nan] if rng.random() < 0.15 else curve


def test_asha_stops_the_bad_early_and_never_the_best_so_far(tmp_path):
    study = planned(tmp_path, "asha", 20, epochs=12)
    executor = Pretend(rising, jobs=2)
    found, drawn, _ = result_of(study, tmp_path / "out", executor)
    best = -1.0
    for point in drawn.points:
        reached = rising(point.specs[0])[-1]
        if reached > best:
            assert found[point.label] == ("Finished", "Finished")
            best = reached
    early = [label for label, words in found.items() if words == ("Stopped", "Stopped")]
    assert len(early) >= 10
    assert f"asha stopped {len(early)} of 20 trials early" in drawn.notes[-1]
    assert sum(executor.evaluations.values()) < 0.6 * 20 * 2 * 12  # random would take them all


def test_a_trial_is_stopped_as_a_whole_on_the_mean_of_its_repeats(tmp_path):
    study = planned(tmp_path, "asha", 3, repeats=[0, 1], epochs=10)
    labels = list(result_of(planned(tmp_path, "random", 3, epochs=1), tmp_path / "labels", Pretend(rising))[0])
    scores = {labels[0]: (0.5, 0.5), labels[1]: (0.3, 0.8), labels[2]: (0.9, 0.1)}  # means 0.5, 0.55 and 0.5

    def curve(spec):
        label = f"lr {spec.training.lr}"
        return [scores[label][spec.seed]] * spec.training.epochs

    for jobs in (1, 4):
        found, _, outcomes = result_of(study, tmp_path / f"{jobs}", executor := Pretend(curve, jobs))
        assert list(found.values()) == [("Finished",) * 2, ("Finished",) * 2, ("Stopped",) * 2]
        spent = [executor.evaluations[digest] for digest in outcomes]
        assert spent == [10, 10, 10, 10, 1, 1]


def test_a_lost_repeat_is_worse_than_any_score():
    assert Score(0, 5.0) < Score(1, -5.0) < Score(2, -9.0) < WORST
    assert goes_on(Score(0, 1.0), [Score(1, 0.0), Score(1, 0.5)])
    assert not goes_on(Score(1, 0.0), [Score(0, 1.0)])
    assert goes_on(Score(0, 1.0), [Score(0, 1.0)] * 5)  # equals are not told apart


@pytest.mark.parametrize("strategy", ["random", "tpe", "asha"])
def test_interrupted_goes_on_and_finds_what_an_undisturbed_search_finds(tmp_path, strategy):
    study = planned(tmp_path, strategy, 14, epochs=12)
    whole, *_ = result_of(study, tmp_path / "whole", all_at_once := Pretend(noisy, jobs=2))
    spent, attempts = Counter(), 0
    while True:
        executor = Pretend(noisy, jobs=3, order=attempts, interrupt_after=11)
        attempts += 1
        try:
            parts, *_ = result_of(study, tmp_path / "parts", executor)
            break
        except Interrupted:
            assert sum(executor.evaluations.values()) >= 11
        finally:
            spent += executor.evaluations
    assert attempts > 5
    assert parts == whole
    assert spent == all_at_once.evaluations  # nothing was computed twice
    assert result_of(study, tmp_path / "parts", Refuses())[0] == whole


def test_asha_finds_the_runs_of_random_and_decides_as_if_it_had_not(tmp_path):
    result_of(planned(tmp_path, "random", 12, epochs=12), tmp_path / "both", Pretend(rising))
    study = planned(tmp_path, "asha", 12, epochs=12)
    alone, *_ = result_of(study, tmp_path / "alone", Pretend(rising))
    assert result_of(study, tmp_path / "both", Refuses())[0] == alone


# For real


@pytest.mark.parametrize("strategy", ["random", "tpe", "asha"])
def test_real_runs_here_and_in_processes(tmp_path, strategy):
    trials = 10 if strategy == "tpe" else 5
    path = write(tmp_path, strategy, trials, axes=LR + '\n"model.kind" = ["gru", "rnn"]')
    study = plan_studies(read_sweep(path), str(path))[0]
    here, drawn, outcomes = result_of(study, tmp_path / "here", Serial())
    there, _, others = result_of(study, tmp_path / "there", Processes(2))
    assert here == there
    assert len(here) == trials
    assert len(outcomes) == 2 * trials
    for digest, outcome in outcomes.items():
        if isinstance(outcome, Finished):
            other = others[digest]
            assert isinstance(other, Finished)
            assert outcome.result["valid"] == other.result["valid"]
        else:
            assert (tmp_path / "here" / digest / "checkpoint.safetensors").exists()
    assert result_of(study, tmp_path / "there", Refuses())[0] == here
    statuses = [{repeat.status for repeat in point.repeats} for point in summarise(drawn, tmp_path, outcomes).points]
    assert ({"pruned"} in statuses) == (strategy == "asha")
    assert {"finished"} in statuses


def test_a_real_interrupt_keeps_what_is_done(tmp_path):
    class Impatient(Recorder):
        def event(self, number, event):
            if event["event"] == "epoch" and number == 2:
                signal.raise_signal(signal.SIGINT)

    study = planned(tmp_path, "asha", 4)
    with pytest.raises(Interrupted, match=r"1 of 4 trials are done .* the same command goes on"):
        StudySearch(study, tmp_path / "parts", Impatient()).run(Serial())
    whole, *_ = result_of(study, tmp_path / "whole", Serial())
    assert result_of(study, tmp_path / "parts", Serial())[0] == whole


def test_settings_that_diverge_or_fail_do_not_end_a_search(tmp_path):
    axes = '"training.lr" = { low = 0.01, high = 1e30, log = true }'
    path = write(tmp_path, "tpe", 12, axes=axes, repeats=1, epochs=1, optimizer="sgd", clip="none")
    [study] = run_sweep(path, out=tmp_path / "out", on="serial")
    statuses = Counter(repeat.status for point in study.points for repeat in point.repeats)
    assert statuses["diverged"] >= 2
    assert statuses["finished"] >= 2
    assert sum(statuses.values()) == 12

    class Fails(Pretend):
        def _step(self, spec, folder, sink):
            return Failed("no memory") if spec.training.lr > 0.1 else super()._step(spec, folder, sink)

    for strategy in ("random", "tpe", "asha"):
        found, *_ = result_of(planned(tmp_path, strategy, 12), tmp_path / strategy, Fails(rising, jobs=2))
        assert len(found) == 12
        assert ("Failed", "Failed") in found.values()
        assert ("Finished", "Finished") in found.values()


def test_a_run_that_stops_without_being_asked_is_not_begun_again(tmp_path):
    class StopsByItself(Pretend):
        def _step(self, spec, folder, sink):
            if spec.training.lr <= 0.1:
                return super()._step(spec, folder, sink)
            self.evaluations[spec.digest] += 1
            assert self.evaluations[spec.digest] == 1
            return Stopped()

    for strategy in ("random", "tpe", "asha"):
        found, *_ = result_of(planned(tmp_path, strategy, 9), tmp_path / strategy, StopsByItself(rising, jobs=2))
        assert len(found) == 9
        assert ("Stopped", "Stopped") in found.values()


def test_the_example_of_the_documentation_is_a_search(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "search.md").read_text(encoding="utf-8")
    path = tmp_path / "example.toml"
    path.write_text(text.split("```toml\n")[1].split("```")[0])
    for strategy in ("random", "tpe", "asha"):
        file = read_sweep(path, settings=[f"strategy={strategy}", "trials=3"])
        [study] = plan_studies(file, str(path))
        assert len(result_of(study, tmp_path / strategy, Pretend(rising))[0]) == 3
    assert f"the first {AT_RANDOM} trials at random" in text
    assert f"the trials up to *n* − {LAG}," in text
    assert ", ".join(str(HALVING**n) for n in range(4)) in text
