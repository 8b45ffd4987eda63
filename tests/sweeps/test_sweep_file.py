"""Sweep files: from a text to runs, and every problem at once."""

import pytest

from rnnlab.comparing.studies import Target
from rnnlab.core.errors import ConfigError
from rnnlab.sweeps.sweep_file import read_sweep
from rnnlab.sweeps.sweep_plan import plan_studies

FILE = """
name = "小实验"
repeats = 2
target = { value = 1.0, cap = 30 }
[task]
kind = "addition"
length = 2
held_out = 50
[model]
kind = "rnn"
hidden = 4
embedding = { width = 3 }
[training]
steps = 30
eval_every = 10
[quick]
repeats = 1
training = { steps = 10 }
[study.rates]
axes = { "training.lr" = [0.01, 0.1], "model.layers" = [1, 2] }
heatmaps = [["training.lr", "model.layers"]]
quick = { keep = { "training.lr" = [0.1] } }
[study.cells]
[study.cells.axes.cell]
rnn = {}
gru = { model = { kind = "gru", hidden = 4, embedding = { width = 3 } } }
[[claim]]
id = "faster"
says = "A high rate is faster."
document = "000"
study = "rates"
quantity = "reached"
a = { "training.lr" = 0.1 }
b = { "training.lr" = 0.01 }
rule = "< 0"
"""


@pytest.fixture
def write(tmp_path):
    def to_file(text: str):
        path = tmp_path / "sweep.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def planned(path, **options):
    return {study.name: study for study in plan_studies(read_sweep(path, **options), "sweep.toml")}


def test_every_point_of_the_grid_has_its_runs(write):
    studies = planned(write(FILE))
    rates = studies["rates"]
    assert [point.at for point in rates.points] == [
        {"training.lr": lr, "model.layers": layers} for lr in (0.01, 0.1) for layers in (1, 2)
    ]
    assert rates.points[0].label == "lr 0.01 · layers 1"
    for point in rates.points:
        assert [spec.seed for spec in point.specs] == [0, 1]
        for spec in point.specs:
            assert spec.training is not None
            assert spec.training.lr == point.at["training.lr"]
            assert spec.model.to_dict()["layers"] == point.at["model.layers"]
    digests = [spec.digest for point in rates.points for spec in point.specs]
    assert len(set(digests)) == 8
    assert rates.target == Target("exact", 1.0, 30)


def test_settings_of_the_top_hold_and_a_whole_table_takes_their_place(write):
    cells = planned(write(FILE))["cells"]
    assert [point.specs[0].model.kind for point in cells.points] == ["rnn", "gru"]
    assert cells.points[1].specs[0].model.to_dict()["hidden"] == 4


def test_quick_and_set_and_only(write):
    path = write(FILE)
    quick = planned(path, quick=True)
    assert [point.at["training.lr"] for point in quick["rates"].points] == [0.1, 0.1]
    assert [len(point.specs) for point in quick["rates"].points] == [1, 1]
    assert all(s.training and s.training.steps == 10 for p in quick["rates"].points for s in p.specs)
    changed = planned(path, settings=["training.steps=20", "repeats=[7]"], only=["cells"])
    assert list(changed) == ["cells"]
    assert [(s.seed, s.training and s.training.steps) for s in changed["cells"].points[0].specs] == [(7, 20)]


def test_points_that_two_studies_share_are_the_same_run(write):
    shared = FILE + '\n[study.again]\naxes = { "training.lr" = [0.1] }\n'
    studies = planned(write(shared))
    mine = {spec.digest for point in studies["again"].points for spec in point.specs}
    theirs = {spec.digest for point in studies["rates"].points for spec in point.specs}
    assert mine < theirs


def test_one_study_may_stand_at_the_top(write):
    top = 'repeats = 1\n[task]\nkind = "addition"\n[model]\nkind = "rnn"\n[axes]\n"model.hidden" = [4, 8]\n'
    studies = planned(write(top))
    assert list(studies) == ["sweep"]
    assert len(studies["sweep"].points) == 2


def test_a_target_may_stop_runs(write):
    stopping = FILE.replace("cap = 30 }", "cap = 30, stop = true }")
    spec = planned(write(stopping))["rates"].points[0].specs[0]
    assert spec.training is not None
    assert spec.training.until == 1.0


def test_baselines_stand_beside_models(write):
    text = 'repeats = 2\n[task]\nrows = 60\n[axes.m]\ngru = { model = { kind = "gru", hidden = 4 } }\n'
    points = planned(write(text + 'tfidf = { model = { kind = "tfidf" } }\n'))["sweep"].points
    assert [len(point.specs) for point in points] == [2, 1]
    assert points[1].specs[0].training is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("hidden = 4", "hiden = 4", "model.hiden: unknown key of 'rnn'; did you mean 'hidden'?"),
        ('"training.lr" = [0.01, 0.1]', '"training.lr" = [0.01, -1]', "training.lr: input should be greater than 0"),
        ('heatmaps = [["training.lr"', 'heatmaps = [["training.rl"', "'training.rl' is no axis"),
        ("repeats = 2", "repeat = 2", "did you mean 'repeats'?"),
        ("[study.rates]", '[study.rates]\nstrategy = "tpe"', "needs to know how many settings to try"),
        ("[study.rates]", "[study.rates]\ntrials = 3", "would ignore 'trials'"),
        ('study = "rates"', 'study = "rate"', "did you mean 'rates'?"),
        ('b = { "training.lr" = 0.01 }', 'b = { "training.lr" = 0.5 }', "0.5"),
        ("steps = 30", "epochs = 3", "draws fresh batches, so there are no epochs"),
        ('kind = "rnn"', 'kind = "rnm"', "did you mean 'rnn'?"),
        ("value = 1.0, cap", 'metric = "accuracy", stop = true, value = 1.0, cap', "a run can stop only at 'exact'"),
        (
            'keep = { "training.lr" = [0.1] }',
            'keep = { "training.lr" = [0.3, 0.4, 0.5] }',
            "not values of such an axis",
        ),
    ],
)
def test_mistakes_name_file_place_and_rule(write, old, new, said):
    assert old in FILE
    path = write(FILE.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        read_sweep(path, quick="keep" in old)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_a_study_that_isnt_there(write):
    with pytest.raises(ConfigError, match="no study 'rate'; there are rates, cells"):
        read_sweep(write(FILE), only=["rate"])


def test_a_file_with_arms_is_sent_to_compare(write):
    with pytest.raises(ConfigError, match="run it with 'rnnlab compare"):
        read_sweep(write('[arms.gru.model]\nkind = "gru"\n'))
