"""Claims: what they may say, and what becomes of them on studies made by hand, whose answer is known."""

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from scipy import stats

from rnnlab.claims import intervals
from rnnlab.claims.claim import Claim, claim_problems, parse_claims, parse_rule, table_problems
from rnnlab.claims.judgement import decide
from rnnlab.claims.quantities import AnsweredRows, parse_quantity
from rnnlab.claims.verdicts import Finding
from rnnlab.comparing.studies import Axis, Point, Repeat, Study, Target
from rnnlab.core.config import parse, read_toml
from rnnlab.core.errors import ConfigError
from rnnlab.core.files import write_atomically
from rnnlab.runs.directory import RunDirectory
from rnnlab.show.claim_texts import measured, note_text, sentence

TARGET = Target("exact", 1.0, cap=500)
SEEDS = 5


def claim_of(**fields: Any) -> Claim:
    plain = {
        "id": "c",
        "says": "It is so.",
        "document": "000",
        "study": "s",
        "quantity": "epoch_seconds",
        "rule": "> 0",
    }
    return parse(Claim, plain | fields)


def repeat(seed: int, path: str = "runs/x", **fields: Any) -> Repeat:
    plain: dict[str, Any] = {"status": "finished", "curve": (), "reached": None, "result": {}}
    return Repeat(**{"seed": seed, "digest": f"{path}{seed:04}", "path": path, **plain, **fields})


def study_of(
    axes: Mapping[str, Sequence[Any]], make: Callable[..., Repeat], seeds: int = SEEDS, **fields: Any
) -> Study:
    """``make(seed, **values of the axes)`` for every run."""
    points = []
    for values in itertools.product(*axes.values()):
        at = dict(zip(axes, values, strict=True))
        label = " · ".join(f"{name} {value}" for name, value in at.items())
        plain = {name.replace(".", "_"): value for name, value in at.items()}
        points.append(Point(at, label, tuple(make(seed, **plain) for seed in range(seeds))))
    whole: dict[str, Any] = {"name": "s", "about": "", "metric": "exact", "lower_is_better": False}
    return Study(**whole | fields, axes=tuple(Axis(k, tuple(v)) for k, v in axes.items()), points=tuple(points))


def timed(seconds: Mapping[str, float], spread: float = 0.1) -> Callable[..., Repeat]:
    """Seconds an epoch by model; seeds are a little slower or faster, both models alike, and each by itself."""
    noise = np.random.default_rng(0).normal(0, spread, (len(seconds), 100))

    def make(seed: int, model: str, **_: Any) -> Repeat:
        own = noise[list(seconds).index(model), seed]
        return repeat(seed, f"runs/{model}", result={"epoch_seconds": seconds[model] + own + seed})

    return make


def verdict(claim: Claim, study: Study) -> str:
    finding = decide(claim, {study.name: study})
    check_sound(finding)
    return finding.verdict


def check_sound(finding: Finding) -> None:
    text = json.dumps(finding.to_dict(), allow_nan=False)  # raises at NaN or infinity
    assert Finding.from_dict(json.loads(text)) == finding
    if finding.low is not None or finding.high is not None:
        assert finding.value is not None
        assert finding.low is None or finding.low <= finding.value
        assert finding.high is None or finding.value <= finding.high
        assert (finding.high is None, finding.low is None) == tuple(map(bool, finding.capped))
    assert (finding.verdict == "cannot tell") == (finding.reason is not None)
    english, chinese = sentence(finding).en, sentence(finding).zh
    assert figures(english) == figures(chinese)
    assert "{" not in english + chinese


def figures(text: str) -> list[str]:
    return sorted(re.findall(r"[+−]?\d[\d,.]*\d|\d", text))


def interval_of(finding: Finding) -> tuple[float, float]:
    assert finding.low is not None
    assert finding.high is not None
    return finding.low, finding.high


def kinds(finding: Finding) -> set[str]:
    return {note.kind for note in finding.notes}


# Rules and quantities


@pytest.mark.parametrize(
    ("rule", "inside", "outside", "straddling"),
    [
        ("> 0", (0.1, 1), (-1, 0), (0, 1)),
        (">= 0.5", (0.5, 1), (0, 0.4), (0.4, 0.6)),
        ("< -1e1", (-30, -11), (-10, 5), (-11, -10)),
        ("<= 2", (1, 2), (2.1, 3), (1, 3)),
        ("between -20 and 20", (-20, 20), (21, 30), (-21, 0)),
        ("between .5 and 2.", (0.5, 1), (0, 0.4), (1, 3)),
    ],
)
def test_the_whole_interval_decides(rule, inside, outside, straddling):
    assert parse_rule(rule).judge(*inside) == "supported"
    assert parse_rule(rule).judge(*outside) == "contradicted"
    assert parse_rule(rule).judge(*straddling) == "cannot tell"


def test_wholly_outside_on_either_side_contradicts_an_equivalence():
    assert parse_rule("between 0 and 1").judge(-2, -1) == parse_rule("between 0 and 1").judge(2, 3) == "contradicted"


@pytest.mark.parametrize(
    "rule", ["", "0", "=> 0", "> x", "between 1", "between 2 and 1", "in", "in 3", "in []", "> 0 %"]
)
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(ValueError, match=r"write|smaller"):
        parse_rule(rule)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("test.acuracy", "did you mean 'test.accuracy'"),
        ("reachd", "did you mean 'reached'"),
        ("nonsense", r"known: .*tag\.NAME"),
        ("curve.valid_acuracy@10", "did you mean 'valid_accuracy'"),
        ("curve.valid_accuracy", "write curve.EVENT@EPOCH"),
        ("curve.whatever@3", "known: train_loss"),
        ("epochs_to.1.5", "write epochs_to.0.99"),
        ("epochs_to.x", "write epochs_to.0.99"),
    ],
)
def test_unknown_quantities_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_quantity(text)


def test_a_task_may_have_scores_of_its_own():
    assert parse_quantity("test.perplexity").kind == "result"
    assert parse_quantity("curve.valid_perplexity@step 20").at_unit == "step"


# The language


def test_a_claim_from_toml(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text(
        """
[[claim]]
id = "diverges"
says = "From a rate of 0.1 on it diverges."
document = "001"
study = "rates"
quantity = "diverged"
measure = "share"
a = { training.lr = [0.1, 0.5] }
rule = ">= 0.5"
"""
    )
    (claim,) = parse_claims(read_toml(path)["claim"])
    assert claim.a == {"training.lr": (0.1, 0.5)}
    assert parse(Claim, json.loads(json.dumps(claim.to_dict()))) == claim


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rule": "positive"}, r"claim c\.rule: 'positive' is no rule"),
        ({"quantity": "diverge"}, r"claim c\.quantity: unknown quantity 'diverge'; did you mean 'diverged'"),
        ({"mesure": "value"}, r"claim c\.mesure: unknown key; did you mean 'measure'"),
        ({"b": {}}, "'difference' needs 'b'"),
        ({"along": "lr"}, "'difference' would ignore 'along'"),
        ({"b": {"lr": 1}}, "must name the same axes"),
        ({"measure": "value"}, "'value' would ignore 'b': it looks at one side only, .* needs measure = 'difference'"),
        ({"measure": "share", "quantity": "diverged"}, "'share' would ignore 'b': it looks at one side only"),
        ({"measure": "trend", "a": {}, "b": {}}, "'trend' needs 'along'"),
        ({"measure": "trend", "a": {"m": 1}, "b": {}, "along": "m"}, "'a' can't fix it as well"),
        ({"measure": "best", "a": {}, "b": {}, "along": "m"}, "'best' needs 'best'"),
        ({"measure": "best", "a": {}, "b": {}, "along": "m", "best": "lowest"}, "belongs to measure = 'best'"),
        ({"rule": "in [1]"}, "belongs to measure = 'best'"),
        ({"measure": "share", "b": {}}, "counts runs that arrived or diverged"),
        ({"measure": "value", "b": {}, "quantity": "diverged"}, "yes or no: use measure = 'share'"),
        ({"document": 1}, 'write it as a text, "001"'),
        ({"id": "Not So"}, r"\.id: string should match pattern"),
        ({"says": None}, r"\.says:"),
    ],
)
def test_what_a_claim_may_not_say(fields, message):
    table = {"id": "c", "says": "x", "document": "000", "study": "s", "quantity": "reached", "rule": "> 0"}
    table |= {"a": {"m": 1}, "b": {"m": 2}}
    assert table_problems([table]) == []
    with pytest.raises(ConfigError, match=message):
        parse_claims([table | fields], "e.toml")


def test_every_problem_is_listed_at_once():
    with pytest.raises(ConfigError, match=r"e\.toml: 8 problems") as caught:
        parse_claims([{"id": "x", "says": "y", "document": "0", "study": "s"}, {"says": "z", "colour": 1}], "e.toml")
    assert "\n  claim x.rule: required, but not given\n" in str(caught.value)
    assert "\n  claim 2.id: required, but not given\n" in str(caught.value)
    assert table_problems({"id": "x"}) == ["claim: must be tables, each written as [[claim]]"]


AXES = {"s": (Axis("model", ("rnn", "lstm")), Axis("training.lr", (0.001, 0.01, 0.1)), Axis("layers", (1, 2)))}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"study": "t"}, "study: no study 't'; known: s"),
        ({"a": {"modl": "rnn"}, "b": {"modl": "rnn"}}, "a.modl: the study has no axis 'modl'; did you mean 'model'?"),
        ({"b": {"model": "lst"}}, "b.model: 'model' has no value 'lst'; did you mean 'lstm'?"),
        ({"b": {"model": ["rnn", 3]}}, "b.model: 'model' has no value 3; known: rnn, lstm"),
        ({"measure": "trend", "a": {}, "b": {}, "along": "lr"}, "along: the study has no axis 'lr'; known: model, tr"),
        ({"measure": "trend", "a": {}, "b": {}, "along": "model"}, "along: a trend needs numbers"),
        ({"measure": "trend", "a": {}, "b": {}, "along": "layers"}, "along: a trend needs 3 values or more"),
        (
            {"measure": "best", "a": {}, "b": {}, "along": "training.lr", "best": "lowest", "rule": "in [0.02]"},
            "rule: 'training.lr' has no value 0.02",
        ),
        ({"quantity": "reached"}, "quantity: 'reached' needs a target, which 's' doesn't have"),
    ],
)
def test_unknown_names_are_found_before_anything_is_run(fields, message):
    claim = claim_of(**{"a": {"model": "rnn"}, "b": {"model": "lstm"}} | fields)
    assert [p for p in claim_problems([claim], AXES, with_target=()) if p.startswith(f"claim c.{message}")]


def test_a_good_claim_has_no_problems_but_its_name_may_be_taken():
    claim = claim_of(quantity="reached", a={"model": "rnn", "layers": [1, 2]}, b={"model": "lstm", "layers": 1})
    assert claim_problems([claim], AXES) == claim_problems([claim], AXES, with_target=["s"]) == []
    assert claim_problems([claim, claim], AXES) == ["claim c: another claim has this id"]


COMPARES = re.compile(
    r"\b(prevents?|better|worse|faster|slower|fewer|less|more accurate)\b|\bthan (?!\d)"
    "|防止|更|优于|高于|低于|少于|多于|比"
)
WITH_A_NUMBER = {"rnn-forgets"}  # "hardly better than knowing the last one alone (75 %)": that number is known


def test_what_an_experiment_compares_is_judged_by_a_difference():
    folder = Path(__file__).parents[2] / "experiments"
    claims = [claim for path in folder.glob("*.toml") for claim in parse_claims(read_toml(path).get("claim", []))]
    levels = [claim for claim in claims if claim.measure in ("value", "share")]
    assert len(levels) > 10
    comparing = {claim.id for claim in levels if COMPARES.search(claim.says) or COMPARES.search(claim.says_zh or "")}
    assert comparing == WITH_A_NUMBER


# Value, difference, ratio: one number per seed


def test_difference():
    study = study_of({"model": ("rnn", "cnn")}, timed({"rnn": 7.0, "cnn": 9.0}))
    sides = {"a": {"model": "rnn"}, "b": {"model": "cnn"}}
    assert verdict(claim_of(rule="< 0", **sides), study) == "supported"
    assert verdict(claim_of(rule="> 0", **sides), study) == "contradicted"
    assert verdict(claim_of(rule="< -2", **sides), study) == "cannot tell"
    finding = decide(claim_of(rule="< 0", **sides), {"s": study})
    a, b = finding.sides or (0, 0)
    assert finding.value == pytest.approx(a - b)
    assert finding.value == pytest.approx(-2, abs=0.2)
    assert finding.seeds == (0, 1, 2, 3, 4)
    assert len(finding.runs) == 10
    assert re.match(
        r"Supported: 9\.\d+ s against 1[01]\.\d+ s: −[12]\.\d+ s \(−2\.\d+ to −1\.\d+\), 5 seeds\.",
        sentence(finding).en,
    )


def test_differences_are_paired_by_seed():
    """Seeds differ by seconds, the models by a tenth of one: only pairs show it."""
    study = study_of({"model": ("rnn", "cnn")}, timed({"rnn": 7.0, "cnn": 7.1}, spread=0.005))
    assert verdict(claim_of(rule="< 0", a={"model": "rnn"}, b={"model": "cnn"}), study) == "supported"


def test_differences_are_paired_by_the_other_axes():
    """Longer numbers take ten times as long; the difference of the models is the same at each length."""
    noise = np.random.default_rng(1).normal(0, 0.05, (2, 3, SEEDS))

    def make(seed: int, model: str, length: int) -> Repeat:
        own = noise[int(model == "rnn"), (5, 50, 500).index(length), seed]
        return repeat(seed, f"{model}{length}", result={"epoch_seconds": length + (model == "rnn") + own})

    study = study_of({"model": ("rnn", "cnn"), "length": (5, 50, 500)}, make)
    finding = decide(claim_of(a={"model": "rnn"}, b={"model": "cnn"}, rule="between 0.8 and 1.2"), {"s": study})
    assert finding.verdict == "supported"
    assert len(finding.runs) == 30
    only = decide(claim_of(a={"model": "rnn", "length": 5}, b={"model": "cnn", "length": 5}), {"s": study})
    assert len(only.runs) == 10
    crosswise = claim_of(a={"model": "rnn", "length": 5}, b={"model": "rnn", "length": [50, 500]}, rule="< -200")
    assert decide(crosswise, {"s": study}).value == pytest.approx(5 - 275, abs=0.2)


def test_equivalence():
    study = study_of({"model": ("a", "b")}, timed({"a": 7.0, "b": 7.0}, spread=0.05))
    sides = {"a": {"model": "a"}, "b": {"model": "b"}}
    assert verdict(claim_of(rule="between -1 and 1", **sides), study) == "supported"
    assert verdict(claim_of(rule="between 1 and 2", **sides), study) == "contradicted"
    assert verdict(claim_of(rule="between -0.01 and 0.01", **sides), study) == "cannot tell"


def test_value():
    study = study_of({"model": ("rnn",)}, lambda seed, model: repeat(seed, result={"epoch_seconds": 7 + seed / 10}))
    claim = {"measure": "value", "a": {"model": "rnn"}}
    assert verdict(claim_of(rule="< 8", **claim), study) == "supported"
    assert verdict(claim_of(rule="> 8", **claim), study) == "contradicted"
    assert verdict(claim_of(rule="> 7.2", **claim), study) == "cannot tell"
    finding = decide(claim_of(rule="< 8", **claim), {"s": study})
    half_width = 2.776445 * np.std([0, 0.1, 0.2, 0.3, 0.4], ddof=1) / math.sqrt(5)  # t, 4 degrees of freedom
    assert (finding.low, finding.high) == (pytest.approx(7.2 - half_width), pytest.approx(7.2 + half_width))
    assert measured(finding).en == "7.20 s (7.00 to 7.40)"


def test_ratio():
    study = study_of({"model": ("rnn", "cnn")}, timed({"rnn": 7.0, "cnn": 9.0}))
    sides = {"a": {"model": "rnn"}, "b": {"model": "cnn"}, "measure": "ratio"}
    finding = decide(claim_of(rule="< 1", **sides), {"s": study})
    check_sound(finding)
    assert finding.verdict == "supported"
    per_seed = [
        math.log(a.result["epoch_seconds"] / b.result["epoch_seconds"])
        for a, b in zip(study.points[0].repeats, study.points[1].repeats, strict=True)
    ]
    assert finding.value == pytest.approx(math.exp(np.mean(per_seed)))
    assert math.prod(interval_of(finding)) == pytest.approx((finding.value or 0) ** 2)  # symmetric in logarithms
    assert verdict(claim_of(rule="> 1", **sides), study) == "contradicted"
    assert verdict(claim_of(rule="< 0.8", **sides), study) == "cannot tell"
    assert re.search(r"×0\.\d+ \(0\.\d+ to 0\.\d+\)", measured(finding).en)


def test_a_ratio_of_nothing():
    study = study_of({"model": ("a", "b")}, lambda seed, model: repeat(seed, model, result={"epoch_seconds": seed}))
    finding = decide(claim_of(a={"model": "a"}, b={"model": "b"}, measure="ratio"), {"s": study})
    check_sound(finding)
    assert finding.reason is not None
    assert finding.reason.kind == "not positive"


def test_parameters_are_exact():
    counts = {"lstm": 4000, "gru": 3000}
    study = study_of(
        {"model": ("lstm", "gru")},
        lambda seed, model: repeat(seed, model, result={"parameters": {"encoder": counts[model]}}),
        seeds=1,
    )
    sides = {"a": {"model": "gru"}, "b": {"model": "lstm"}, "quantity": "parameters.encoder"}
    finding = decide(claim_of(rule="between 0.7499 and 0.7501", measure="ratio", **sides), {"s": study})
    check_sound(finding)
    assert finding.verdict == "supported"
    assert kinds(finding) == {"exact"}
    assert verdict(claim_of(rule=">= 0", **sides), study) == "contradicted"


# Curves


def curve(values: Sequence[float], every: int = 50, event: str = "valid_exact") -> tuple[dict[str, Any], ...]:
    return tuple({"step": every * n, "epoch": n, event: v, "seconds": 1.0} for n, v in enumerate(values, 1))


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ("curve.valid_exact@1", 0.1),
        ("curve.valid_exact@2", 0.9),
        ("curve.valid_exact@9", 0.8),  # stopped early: the last one
        ("curve.valid_exact@step 100", 0.9),
        ("curve.valid_exact@step 149", 0.9),
        ("best.valid_exact", 0.9),
        ("epochs_to.1", 2),
        ("epochs_to.0.1", 1),
        ("best_epoch", 7),
    ],
)
def test_what_is_read_off_a_curve(quantity, expected):
    runs = study_of({}, lambda seed: repeat(seed, curve=curve([0.1 + seed * 1e-9, 0.9, 0.8]), result={"best_epoch": 7}))
    finding = decide(claim_of(measure="value", quantity=quantity, rule="> 0"), {"s": runs})
    check_sound(finding)
    assert finding.value == pytest.approx(expected)


def test_equal_scores_on_a_curve_are_known_to_within_a_row():
    """20 validation rows: all seeds are right on every row, but the smallest difference in the curves is one row."""
    runs = study_of({}, lambda seed: repeat(seed, curve=curve([0.1 * seed, 0.95, 1.0])))
    claim = {"measure": "value", "quantity": "curve.valid_exact@3"}
    finding = decide(claim_of(**claim, rule="> 0.9"), {"s": runs})
    assert finding.verdict == "supported"
    assert interval_of(finding) == (pytest.approx(1 - 0.95 * 0.05), 1)
    assert verdict(claim_of(**claim, rule=">= 0.99"), runs) == "cannot tell"


def test_convergence_of_a_loss():
    runs = study_of(
        {},
        lambda seed: repeat(seed, curve=curve([3, 1.009, 1.0], event="valid_loss")),
        metric="loss",
        lower_is_better=True,
    )
    finding = decide(claim_of(measure="value", quantity="epochs_to.0.99", rule="> 0"), {"s": runs})
    assert finding.value == 2


def test_a_curve_that_diverged_before_has_no_value():
    runs = study_of({}, lambda seed: repeat(seed, status="diverged", curve=curve([0.1, 0.2])))
    for epoch, value in ((2, 0.2), (3, None)):
        finding = decide(claim_of(measure="value", quantity=f"curve.valid_exact@{epoch}"), {"s": runs})
        assert finding.value == (pytest.approx(value) if value else None)


# Arrivals


def arriving(steps: Mapping[str, Sequence[int | None]], every: int = 50, cap: int = 500) -> Study:
    def make(seed: int, model: str) -> Repeat:
        return repeat(seed, model, reached=steps[model][seed], curve=curve([0.0] * (cap // every), every))

    target = Target("exact", 1.0, cap)
    return study_of({"model": tuple(steps)}, make, len(next(iter(steps.values()))), target=target)


SIDES = {"a": {"model": "a"}, "b": {"model": "b"}, "quantity": "reached"}


def test_equal_arrivals_are_known_only_to_within_an_evaluation():
    same = arriving({"a": [50] * 5, "b": [50] * 5})
    finding = decide(claim_of(rule="between -50 and 50", **SIDES), {"s": same})
    check_sound(finding)
    assert finding.verdict == "supported"
    assert kinds(finding) == {"rounded"}
    assert (finding.low, finding.high) == (pytest.approx(-38.8, abs=0.1), pytest.approx(38.8, abs=0.1))
    assert verdict(claim_of(rule="between -20 and 20", **SIDES), same) == "cannot tell"
    finer = arriving({"a": [50] * 5, "b": [50] * 5}, every=10)
    assert verdict(claim_of(rule="between -20 and 20", **SIDES), finer) == "supported"
    value = decide(claim_of(rule="< 100", measure="value", quantity="reached", a={"model": "a"}), {"s": same})
    assert (value.low, value.high) == (pytest.approx(2.5), pytest.approx(97.5))


def test_capped_runs_count_with_the_cap_and_are_told():
    study = arriving({"a": [100, 100, 150, 100, 100], "b": [400, None, 450, None, 400]})
    finding = decide(claim_of(rule="< 0", **SIDES), {"s": study})
    check_sound(finding)
    assert finding.verdict == "supported"
    assert finding.sides == (pytest.approx(110), pytest.approx(450))
    assert "2 of 10 runs never reached the target; they count with the cap, 500 steps" in [
        note_text(note).en for note in finding.notes
    ]
    assert "10 次运行中有 2 次从未达到目标，按上限 500 步计" in [note_text(note).zh for note in finding.notes]


def test_a_ratio_of_arrivals_is_rounded_in_proportion():
    study = arriving({"a": [100] * 5, "b": [200] * 5})
    finding = decide(claim_of(rule="< 1", measure="ratio", **SIDES), {"s": study})
    low, high = interval_of(finding)
    assert finding.value == pytest.approx(0.5)
    assert (math.log(0.5 / low), math.log(high / 0.5)) == (pytest.approx(0.388, abs=1e-3),) * 2  # 0.776 of 50 in 100


def test_two_that_never_arrive_are_not_equal():
    never = arriving({"a": [None] * 5, "b": [None] * 5})
    finding = decide(claim_of(rule="between -100 and 100", **SIDES), {"s": never})
    assert (finding.verdict, finding.reason and finding.reason.kind) == ("cannot tell", "never arrived")
    some = arriving({"a": [100, 100, 100, None], "b": [100, 100, 100, None]})
    finding = decide(claim_of(rule="between -100 and 100", **SIDES), {"s": some})
    assert (finding.verdict, finding.reason and finding.reason.kind) == ("cannot tell", "both capped")


def of_arrivals(steps: Sequence[int | None], rule: str, cap: int = 500) -> Finding:
    study = arriving({"a": steps}, every=10, cap=cap)
    finding = decide(claim_of(rule=rule, measure="value", quantity="reached", a={"model": "a"}), {"s": study})
    check_sound(finding)
    return finding


def reason(finding: Finding) -> str | None:
    return finding.reason.kind if finding.reason else None


def test_a_bound_below_the_cap_is_contradicted_by_runs_that_never_arrive():
    """ "reached <= 200", and every run is capped at 300: whatever its value is, it is more than 300."""
    finding = of_arrivals([None] * 5, "<= 200", cap=300)
    assert (finding.verdict, finding.value, finding.low, finding.high) == ("contradicted", 300, 300, None)
    assert sentence(finding).en == "Contradicted: more than 300 steps, 5 seeds."
    assert sentence(finding).zh == "不成立：大于 300 步，5 个随机种子。"
    assert [note_text(note).en for note in finding.notes] == [
        "5 of 5 runs never reached the target: each is known to need more than 300 steps"
    ]


@pytest.mark.parametrize(
    ("rule", "expected", "why"),
    [
        ("<= 300", "contradicted", None),  # not at the cap either, but later
        ("< 300", "contradicted", None),
        ("between 100 and 200", "contradicted", None),
        ("> 300", "supported", None),
        (">= 250", "supported", None),
        ("<= 301", "cannot tell", "never arrived"),
        ("> 301", "cannot tell", "never arrived"),
        ("between 100 and 400", "cannot tell", "never arrived"),
    ],
)
def test_what_is_known_of_runs_that_never_arrive(rule, expected, why):
    for seeds in (2, 5):
        finding = of_arrivals([None] * seeds, rule, cap=300)
        assert (finding.verdict, reason(finding)) == (expected, why)
    alone = of_arrivals([None], rule, cap=300)
    assert (alone.verdict, reason(alone)) == ("cannot tell", "one seed")


def test_a_mean_with_capped_runs_is_known_from_below_only():
    late = [400, 420, None, 410, None]
    assert of_arrivals(late, "<= 300").verdict == "contradicted"
    assert of_arrivals(late, "> 300").verdict == "supported"
    assert measured(of_arrivals(late, "> 300")).en == "more than 446 steps (383 or more)"
    early = [100] * 9 + [None]  # with the cap, 140 (49 to 231); but the last may take ten thousand
    for rule in ("<= 300", "< 250", "between 0 and 300", "> 300"):
        assert (of_arrivals(early, rule).verdict, reason(of_arrivals(early, rule))) == ("cannot tell", "censored")
    assert reason(of_arrivals(early, "<= 200")) == "both sides"
    assert of_arrivals([100] * 10, "<= 300").verdict == "supported"


@pytest.mark.parametrize(("measure", "near", "far"), [("difference", 0, 600), ("ratio", 1, 9)])
def test_capped_runs_of_one_side_are_known_in_one_direction(measure, near, far):
    """a early, b late or never: b's true values are larger still, so a - b and a / b are smaller still."""
    early, late = [100, 110, 150, 100, 120], [400, None, 450, None, 400]
    b_is_capped, a_is_capped = arriving({"a": early, "b": late}), arriving({"a": late, "b": early})
    below, above = (-far, far) if measure == "difference" else (1 / far, far)

    def found(rule: str, study: Study) -> tuple[str, str | None]:
        finding = decide(claim_of(rule=rule, measure=measure, **SIDES), {"s": study})
        check_sound(finding)
        assert (finding.low, finding.high)[study is a_is_capped] is None
        return finding.verdict, reason(finding)

    assert found(f"< {near}", b_is_capped) == ("supported", None)
    assert found(f"> {near}", b_is_capped) == ("contradicted", None)
    assert found(f"> {below}", b_is_capped) == ("cannot tell", "censored")
    assert found(f"between {below} and {near}", b_is_capped) == ("cannot tell", "censored")
    assert found(f"> {near}", a_is_capped) == ("supported", None)
    assert found(f"<= {near}", a_is_capped) == ("contradicted", None)
    assert found(f"< {above}", a_is_capped) == ("cannot tell", "censored")


def test_a_ratio_is_above_zero_however_late_the_other_side_is():
    study = arriving({"a": [100, 110, 150, 100, 120], "b": [400, None, 450, None, 400]})
    assert verdict(claim_of(rule="between 0 and 1", measure="ratio", **SIDES), study) == "supported"


def test_how_one_known_end_is_said():
    study = arriving({"a": [100, 110, 150, 100, 120], "b": [400, None, 450, None, 400]})
    finding = decide(claim_of(rule="< 0", **SIDES), {"s": study})
    assert measured(finding).en == "116 steps against more than 450 steps: less than −334 steps (−254 or less)"
    assert measured(finding).zh == "116 步 对 大于 450 步：小于 −334 步（−254 以下）"
    ratio = decide(claim_of(rule="> 1", measure="ratio", **SIDES | {"a": SIDES["b"], "b": SIDES["a"]}), {"s": study})
    assert re.fullmatch(
        r"more than 450 steps against 116 steps: more than ×3\.\d+ \(2\.\d+ or more\)", measured(ratio).en
    )


def test_capped_runs_of_both_sides_are_known_in_no_direction():
    study = arriving({"a": [100, 100, None, 100, 110], "b": [400, None, 450, None, 400]})
    for measure in ("difference", "ratio"):
        finding = decide(claim_of(rule="< 1", measure=measure, **SIDES), {"s": study})
        check_sound(finding)
        assert (finding.verdict, reason(finding), finding.low, finding.high) == (
            "cannot tell",
            "both capped",
            None,
            None,
        )
        assert measured(finding).en == "more than 182 steps against more than 450 steps"


@pytest.mark.parametrize("measure", ["value", "difference", "ratio", "trend"])
def test_known_ends_hold_what_the_capped_runs_would_have_shown(measure):
    """Arrivals as late as 3,000 are seen up to 500 only. What the whole would have shown is never ruled out."""
    random = np.random.default_rng(12)
    decided = 0
    for _ in range(60):
        middles = random.choice([50, 250, 400, 900], 4)
        steps = {str(n): [int(s) for s in random.gamma(4, m / 4, 4) + 1] for n, m in enumerate(middles)}
        seen = {n: [s if s <= 500 else None for s in of_model] for n, of_model in steps.items()}
        sides = {"a": {"model": "0"}, "b": {"model": "1"}} if measure in ("difference", "ratio") else {}
        along: dict[str, Any] = {"along": "model"} if measure == "trend" else {}
        claim = claim_of(quantity="reached", measure=measure, rule="> 0.9", **sides, **along)
        whole, capped = (decide(claim, {"s": arriving(s, 10, cap)}) for s, cap in ((steps, 10_000), (seen, 500)))
        check_sound(capped)
        assert whole.value is not None
        if reason(capped) in ("both capped", "never arrived"):
            continue
        low, high = (
            (-math.inf if capped.low is None else capped.low),
            (math.inf if capped.high is None else capped.high),
        )
        assert low <= whole.value <= high
        decided += capped.verdict != "cannot tell"
        if capped.verdict != "cannot tell":
            assert claim.parsed_rule.judge(whole.value, whole.value) == capped.verdict
    assert decided > 5


def along_lengths(steps: Mapping[int, int | None], **lasts: int) -> Study:
    """Every seed arrives at the same step; ``lasts`` says where the curves of other lengths end: ``l5=100``."""

    def make(seed: int, length: int) -> Repeat:
        last = lasts.get(f"l{length}", 500)
        return repeat(seed, str(length), reached=steps[length], curve=curve([0.0] * (last // 10), 10))

    return study_of({"length": tuple(steps)}, make, target=TARGET)


def test_a_trend_holds_every_order_of_runs_that_never_arrive():
    claim = claim_of(rule="> 0", measure="trend", along="length", quantity="reached")
    one = decide(claim, {"s": along_lengths({5: 100, 10: 200, 25: 300, 50: None})})
    assert (one.verdict, one.value, one.low) == ("supported", 1, pytest.approx(0.81))  # it is the last for certain
    three = decide(claim, {"s": along_lengths({5: None, 10: 100, 25: None, 50: None})})
    check_sound(three)
    assert three.verdict == "cannot tell"
    assert three.value == pytest.approx(0.258, abs=1e-3)  # as equals; with 0.19 for one exchange, above 0
    assert interval_of(three) == (pytest.approx(-0.4 - 0.19), pytest.approx(0.8 + 0.19))
    assert kinds(three) == {"spearman", "any order", "capped"}


def test_no_order_where_a_run_ended_before_others_arrived():
    claim = claim_of(rule="> 0", measure="trend", along="length", quantity="reached")
    finding = decide(claim, {"s": along_lengths({5: None, 10: 200, 25: 300}, l5=100)})
    check_sound(finding)
    assert (finding.verdict, reason(finding)) == ("cannot tell", "order unknown")


@pytest.mark.parametrize(
    ("best", "members", "expected"),
    [
        # "1" wins with the caps, but one of its runs never arrived; "2" always does, and "3" never.
        ("lowest", "[1]", "cannot tell"),
        ("lowest", "[2]", "cannot tell"),
        ("lowest", "[1, 2]", "supported"),  # 3 can only get worse
        ("lowest", "[3]", "contradicted"),
        ("highest", "[3]", "cannot tell"),  # 1 may take longer still
        ("highest", "[1, 3]", "supported"),
        ("highest", "[2]", "contradicted"),
    ],
)
def test_no_winner_that_larger_values_would_unseat(best, members, expected):
    steps = {1: [100, 110, 100, 110, None], 2: [400, 410, 400, 410, 400], 3: [None] * 5}
    study = study_of(
        {"lr": (1, 2, 3)},
        lambda seed, lr: repeat(seed, str(lr), reached=steps[lr][seed], curve=curve([0.0] * 50, 10)),
        target=TARGET,
    )
    claim = claim_of(rule=f"in {members}", measure="best", along="lr", best=best, quantity="reached")
    finding = decide(claim, {"s": study})
    check_sound(finding)
    assert finding.verdict == expected
    assert reason(finding) == ("censored" if expected == "cannot tell" else None)


def test_a_run_that_ended_before_the_cap_is_known_up_to_its_end():
    """Early stopping, or fewer steps than others: nobody looked after step 100."""
    ended = study_of({}, lambda seed: repeat(seed, curve=curve([0.0] * 10, 10)), target=TARGET)
    claim = {"measure": "value", "quantity": "reached"}
    assert verdict(claim_of(rule="<= 200", **claim), ended) == "cannot tell"
    finding = decide(claim_of(rule="<= 100", **claim), {"s": ended})
    check_sound(finding)
    assert (finding.verdict, finding.value) == ("contradicted", 100)
    assert [note_text(note).en for note in finding.notes] == [
        "5 of 5 runs never reached the target; they count with the last step at which they were evaluated, 100 or later"
    ]
    gone = study_of({}, lambda seed: repeat(seed, status="diverged", curve=curve([0.0] * 10, 10)), target=TARGET)
    assert verdict(claim_of(rule="<= 200", **claim), gone) == "contradicted"  # what diverged never arrives


def test_a_diverged_run_never_arrives():
    study = study_of(
        {}, lambda seed: repeat(seed, status="diverged" if seed else "finished", reached=50), target=TARGET
    )
    late = study_of(
        {}, lambda seed: repeat(seed, status="diverged" if seed else "finished", reached=None if seed else 50,
                                curve=curve([0.5])), target=TARGET)  # fmt: skip
    assert decide(claim_of(measure="value", quantity="reached"), {"s": late}).value == pytest.approx(410)
    assert decide(claim_of(measure="share", quantity="arrived"), {"s": study}).counts == (5, 5)


def test_all_the_same_without_a_known_resolution_is_no_evidence():
    study = study_of({}, lambda seed: repeat(seed, result={"test": {"loss": 0.5}}))
    finding = decide(claim_of(measure="value", quantity="test.loss", rule="< 1"), {"s": study})
    check_sound(finding)
    assert (finding.verdict, finding.reason and finding.reason.kind) == ("cannot tell", "no spread")


# Shares


def diverging(diverged: Sequence[bool]) -> Study:
    def make(seed: int, lr: float) -> Repeat:
        gone = lr > 0.05 and diverged[seed]
        return repeat(seed, f"runs/{lr}", status="diverged" if gone else "finished", reached=None if gone else 100)

    return study_of({"lr": (0.01, 0.1)}, make, len(diverged), target=TARGET)


def test_share():
    study = diverging([True] * 9 + [False])
    claim = {"measure": "share", "quantity": "diverged", "a": {"lr": 0.1}}
    assert verdict(claim_of(rule="> 0.5", **claim), study) == "supported"
    assert verdict(claim_of(rule="< 0.5", **claim), study) == "contradicted"
    assert verdict(claim_of(rule="> 0.9", **claim), study) == "cannot tell"
    finding = decide(claim_of(rule="> 0.5", **claim), {"s": study})
    assert finding.counts == (9, 10)
    assert (finding.low, finding.high) == (pytest.approx(0.5550, abs=1e-4), pytest.approx(0.9975, abs=1e-4))
    assert measured(finding).en == "9 of 10 runs: 90.0 % (55.5 to 99.7)"
    arrived = decide(claim_of(**claim | {"quantity": "arrived"}, rule="< 0.5"), {"s": study})
    assert (arrived.counts, arrived.verdict) == ((1, 10), "supported")
    assert verdict(claim_of(rule="> 0.5", **claim), diverging([True] * 2)) == "cannot tell"  # 2 of 2 is too few


def test_runs_that_failed_say_nothing():
    study = study_of(
        {}, lambda seed: repeat(seed, status=("finished", "diverged", "failed", "pruned")[seed % 4]), seeds=8
    )
    finding = decide(claim_of(measure="share", quantity="diverged"), {"s": study})
    assert finding.counts == (2, 4)
    assert kinds(finding) == {"silent"}


def test_difference_of_shares():
    sides = {"a": {"lr": 0.1}, "b": {"lr": 0.01}, "quantity": "diverged"}
    assert verdict(claim_of(rule="> 0", **sides), diverging([True] * 8)) == "supported"
    assert verdict(claim_of(rule="<= 0", **sides), diverging([True] * 8)) == "contradicted"
    assert verdict(claim_of(rule="> 0", **sides), diverging([True] * 2)) == "cannot tell"
    assert verdict(claim_of(rule="between -0.1 and 0.1", **sides), diverging([False] * 3)) == "cannot tell"


def clipping(with_clipping: Mapping[str, Sequence[bool]], without: Sequence[bool | None]) -> Study:
    """Which runs diverge, by the norm that is clipped to; None for a run that failed."""
    diverged = {**with_clipping, "none": without}
    states = {True: "diverged", False: "finished", None: "failed"}
    points = [
        Point({"clip": clip}, f"clip {clip}", tuple(repeat(s, clip, status=states[gone]) for s, gone in enumerate(of)))
        for clip, of in diverged.items()
    ]
    axes = (Axis("clip", tuple(diverged)),)
    return Study("s", "", "exact", lower_is_better=False, axes=axes, points=tuple(points))


def prevents(study: Study, rule: str = "< 0") -> Finding:
    clipped = [point.at["clip"] for point in study.points if point.at["clip"] != "none"]
    claim = claim_of(quantity="diverged", a={"clip": clipped}, b={"clip": "none"}, rule=rule)
    finding = decide(claim, {"s": study})
    check_sound(finding)
    return finding


SOME = [True, True, False, False, False]


def test_clipping_prevents_explosion_is_judged_by_a_difference():
    """1 of 10 runs diverged with clipping, 2 of 5 without: that is no support, although 1 of 10 is below a half."""
    study = clipping({"1": [True] + [False] * 4, "5": [False] * 5}, SOME)
    level = claim_of(quantity="diverged", measure="share", a={"clip": ["1", "5"]}, rule="< 0.5")
    assert verdict(level, study) == "supported"
    finding = prevents(study)
    assert (finding.verdict, reason(finding)) == ("cannot tell", "both sides")
    assert (finding.counts, finding.counts_b) == ((1, 10), (2, 5))
    assert finding.value == pytest.approx(0.1 - 0.4)
    assert measured(finding).en == "1 of 10 runs against 2 of 5 runs: −30.0 points (−68.5 to +16.1)"
    assert measured(finding).zh == "10 次运行中有 1 次 对 5 次运行中有 2 次：−30.0 个百分点（−68.5 至 +16.1）"
    assert kinds(finding) == {"independent shares"}


def test_a_difference_of_shares_takes_all_runs():
    never = [False] * 5
    assert prevents(clipping({"1": never, "5": never}, [True] * 5)).verdict == "supported"
    assert prevents(clipping({"1": never, "5": never}, [True] * 5), ">= 0").verdict == "contradicted"
    more_seeds = prevents(clipping({"1": never * 2}, [True] * 5))
    assert (more_seeds.verdict, more_seeds.counts, more_seeds.counts_b) == ("supported", (0, 10), (5, 5))
    assert len(more_seeds.seeds) == 10
    paired = prevents(clipping({"1": never}, [True] * 5))
    assert (paired.counts, paired.counts_b, kinds(paired)) == ((0, 5), (5, 5), {"paired shares"})
    failed = prevents(clipping({"1": never}, [True, True, True, True, None]))
    assert (failed.counts, failed.counts_b, kinds(failed)) == ((0, 5), (4, 4), {"independent shares", "silent"})
    alone = prevents(clipping({"1": [False], "5": [False]}, [True]))
    assert (alone.verdict, reason(alone)) == ("cannot tell", "one seed")
    nothing = prevents(clipping({"1": never}, [None] * 5))
    assert (nothing.verdict, reason(nothing)) == ("cannot tell", "no value")


def test_a_share_of_one_seed_decides_nothing():
    study = study_of({"lr": range(9)}, lambda seed, lr: repeat(seed, str(lr), status="diverged"), seeds=1)
    finding = decide(claim_of(measure="share", quantity="diverged", rule="> 0.5"), {"s": study})
    check_sound(finding)
    assert (finding.verdict, reason(finding), finding.counts) == ("cannot tell", "one seed", (9, 9))


# Trend


def rising(slope: float, noise: float, values: Sequence[int] = (5, 10, 25, 50, 70)) -> Study:
    chance = np.random.default_rng(2).normal(0, noise, (len(values), 100))

    def make(seed: int, length: int) -> Repeat:
        place = list(values).index(length)
        return repeat(seed, f"l{length}", result={"epoch_seconds": 10 + slope * place + chance[place, seed]})

    return study_of({"length": values}, make)


def test_trend():
    claim = {"measure": "trend", "along": "length"}
    assert verdict(claim_of(rule="> 0", **claim), rising(1, 0.3)) == "supported"
    assert verdict(claim_of(rule="> 0", **claim), rising(-1, 0.3)) == "contradicted"
    assert verdict(claim_of(rule="> 0", **claim), rising(0, 1)) == "cannot tell"
    finding = decide(claim_of(rule="< 0", **claim), {"s": rising(-1, 0.01)})
    assert finding.value == finding.low == -1
    assert finding.high == pytest.approx(-1 + 0.95 * 0.1)  # one exchange of neighbours in five values is 0.1
    assert measured(finding).en == "rank correlation −1.00 (−1.00 to −0.91)"
    assert kinds(finding) == {"spearman"}


def test_a_trend_is_in_the_order_of_numbers_not_of_the_file():
    assert verdict(claim_of(rule="> 0", measure="trend", along="length"), rising(1, 0.1, (5, 10, 100))) == "supported"
    shuffled = rising(1, 0.1, (70, 50, 25, 10, 5))
    assert verdict(claim_of(rule="> 0", measure="trend", along="length"), shuffled) == "contradicted"


def test_no_trend_where_nothing_changes():
    study = study_of(
        {"length": (5, 10, 25)}, lambda seed, length: repeat(seed, str(length), result={"epoch_seconds": 1})
    )
    assert verdict(claim_of(rule="> 0", measure="trend", along="length"), study) == "cannot tell"


# Best


def rates(levels: Mapping[float, float | None], noise: float = 1.0, seeds: int = SEEDS) -> Study:
    chance = np.random.default_rng(3).normal(0, noise, (len(levels), 100))

    def make(seed: int, lr: float) -> Repeat:
        level = levels[lr]
        if level is None:
            return repeat(seed, f"runs/{lr}", status="diverged")
        return repeat(seed, f"runs/{lr}", result={"epoch_seconds": level + chance[list(levels).index(lr), seed]})

    return study_of({"lr": tuple(levels)}, make, seeds)


def test_best():
    study = rates({0.001: 20, 0.01: 10, 0.1: 30, 0.5: None})
    claim = {"measure": "best", "along": "lr", "best": "lowest"}
    finding = decide(claim_of(rule="in [0.005, 0.01]", **claim), {"s": study})
    check_sound(finding)
    assert finding.verdict == "supported"
    assert finding.winners[0][0] == 0.01
    assert sum(share for _, share in finding.winners) == pytest.approx(1)
    assert kinds(finding) == {"lost"}
    assert "can't win, because every run diverged: lr 0.5" in [note_text(note).en for note in finding.notes]
    assert re.match(r"0\.01 \(first in \d+ % of draws\).*; within the rule: \d+ %", measured(finding).en)
    assert verdict(claim_of(rule="in [0.001, 0.1]", **claim), study) == "contradicted"
    assert verdict(claim_of(rule="in [0.1]", **claim | {"best": "highest"}), study) == "supported"
    close = rates({0.001: 10.2, 0.01: 10, 0.1: 30})
    assert verdict(claim_of(rule="in [0.01]", **claim), close) == "cannot tell"
    assert verdict(claim_of(rule="in [0.01, 0.001]", **claim), close) == "supported"


def test_one_seed_names_no_winner():
    claim = claim_of(measure="best", along="lr", best="lowest", rule="in [0.01]")
    finding = decide(claim, {"s": rates({0.001: 20, 0.01: 10}, seeds=1)})
    check_sound(finding)
    assert (finding.verdict, finding.reason and finding.reason.kind) == ("cannot tell", "one seed")


def test_the_distance_of_evaluations_blurs_first_places():
    """Two values half a step apart, each rounded by up to one: the first is ahead in 1 - 0.5² / 2 of all cases."""
    shares = intervals.first_places({"a": [0.0] * 3, "b": [0.5] * 3}, lowest=True, resolution=1.0)
    assert shares["a"] == pytest.approx(0.875, abs=0.01)


def test_few_seeds_that_agree_are_not_enough_for_a_winner():
    """A plain bootstrap of two seeds that agree would be certain."""
    seconds = {0.001: (11.0, 12.5), 0.01: (10.0, 10.1)}
    study = study_of(
        {"lr": (0.001, 0.01)}, lambda s, lr: repeat(s, f"{lr}", result={"epoch_seconds": seconds[lr][s]}), 2
    )
    claim = claim_of(measure="best", along="lr", best="lowest", rule="in [0.01]")
    assert verdict(claim, study) == "cannot tell"


def test_equal_arrivals_share_the_first_place():
    study = study_of(
        {"lr": (1, 2, 3)}, lambda seed, lr: repeat(seed, str(lr), reached=200 if lr == 3 else 50,
                                                  curve=curve([0.0] * 10)), target=TARGET)  # fmt: skip
    claim = {"measure": "best", "along": "lr", "best": "lowest", "quantity": "reached"}
    finding = decide(claim_of(rule="in [1]", **claim), {"s": study})
    assert finding.verdict == "cannot tell"
    assert dict(finding.winners)[3] == 0
    assert verdict(claim_of(rule="in [1, 2]", **claim), study) == "supported"


def test_best_by_parameters_is_certain():
    study = study_of(
        {"m": ("a", "b")},
        lambda seed, m: repeat(seed, m, result={"parameters": {"total": 1 if m == "a" else 2}}),
        seeds=1,
    )
    claim = {"measure": "best", "along": "m", "best": "lowest", "quantity": "parameters.total"}
    assert verdict(claim_of(rule="in ['a']", **claim), study) == "supported"


# Scores on test rows


def answers(folder: Path, name: str, right: np.ndarray, **arrays: np.ndarray) -> str:
    """A run directory with these answers; its path."""
    run = RunDirectory(folder / name)
    run.create({"task": {"kind": "copy" if "test.answers" in arrays else "classify"}})
    rows = len(right)
    tensors = {
        "test.right": right.astype(np.float64),
        "test.targets": np.zeros(rows, np.int64),
        "test.groups": np.arange(rows),
        "test.lengths": np.ones(rows, np.int64),
        **arrays,
    }
    names = {"test.tag_names": json.dumps(["negation", "plain"])}
    write_atomically(run / "predictions.safetensors", safetensors.numpy.save(tensors, names))
    run.seal({"status": "finished", "test": {"accuracy": float(right.mean())}})
    return str(run.path)


def scored(folder: Path, levels: Mapping[str, float], rows: int = 2000, seeds: int = SEEDS, **arrays: Any) -> Study:
    hardness = np.random.default_rng(4).random(rows)

    def make(seed: int, model: str) -> Repeat:
        chance = np.random.default_rng([seed, list(levels).index(model)])
        right = hardness + chance.normal(0, 0.1, rows) < levels[model]
        extra: dict[str, Any] = {k: v(chance, right) if callable(v) else v for k, v in arrays.items()}
        return repeat(seed, answers(folder, f"{model}-{seed}", right, **extra))

    return study_of({"model": tuple(levels)}, make, seeds)


ACCURACY = {"a": {"model": "rnn"}, "b": {"model": "cnn"}, "quantity": "test.accuracy"}


def test_accuracy_is_judged_over_seeds_and_rows(tmp_path):
    study = scored(tmp_path, {"rnn": 0.66, "cnn": 0.61})
    finding = decide(claim_of(**ACCURACY), {"s": study})
    check_sound(finding)
    assert finding.verdict == "supported"
    assert finding.sides == (pytest.approx(0.66, abs=0.02), pytest.approx(0.61, abs=0.02))
    assert verdict(claim_of(**ACCURACY, rule="< 0"), study) == "contradicted"
    assert verdict(claim_of(**ACCURACY, rule="> 0.05"), study) == "cannot tell"
    assert re.match(r"6\d\.\d % against 5\d\.\d %: \+\d\.\d points \(\+\d\.\d to \+\d\.\d\)", measured(finding).en)


def test_the_interval_is_that_of_the_crossed_bootstrap(tmp_path):
    from rnnlab.judging.spread import measure

    study = scored(tmp_path, {"rnn": 0.66, "cnn": 0.61}, rows=300)
    finding = decide(claim_of(**ACCURACY), {"s": study})
    right = [
        np.stack([safetensors.numpy.load_file(f"{r.path}/predictions.safetensors")["test.right"] for r in p.repeats])
        for p in study.points
    ]
    spread = measure(right[0] - right[1], np.ones(300))
    assert finding.value == pytest.approx(spread.mean)
    assert finding.high == pytest.approx(spread.mean + spread.reach(0.05), abs=1e-6)
    ratio = decide(claim_of(**ACCURACY, measure="ratio", rule="> 1"), {"s": study})
    assert ratio.value == pytest.approx(right[0].mean() / right[1].mean())
    # to first order, the logarithm's interval is the difference's, in proportion to the accuracy
    low, high = interval_of(ratio)
    assert math.log(high / low) == pytest.approx(2 * spread.reach(0.05) / right[0].mean(), rel=0.15)


def test_few_rows_cannot_tell_however_many_seeds(tmp_path):
    study = scored(tmp_path, {"rnn": 0.66, "cnn": 0.61}, rows=40, seeds=8)
    assert verdict(claim_of(**ACCURACY), study) == "cannot tell"


def test_one_seed_shows_an_interval_and_no_verdict(tmp_path):
    finding = decide(claim_of(**ACCURACY), {"s": scored(tmp_path, {"rnn": 0.9, "cnn": 0.3}, seeds=1)})
    check_sound(finding)
    assert finding.low is not None
    assert finding.low > 0.4
    assert (finding.verdict, finding.reason and finding.reason.kind) == ("cannot tell", "one seed rows")
    assert "One seed" in sentence(finding).en


def test_tags(tmp_path):
    def on_negations(chance: np.random.Generator, right: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(right)) % 2 == 0, chance.random(len(right)) < 0.5, right)

    tags = np.arange(2000) % 2
    study = scored(tmp_path, {"rnn": 0.9, "cnn": 0.9}, **{"test.tags": tags, "test.right": on_negations})
    claim = {"measure": "value", "a": {"model": "cnn"}}
    negation = decide(claim_of(quantity="tag.negation", rule="< 0.6", **claim), {"s": study})
    check_sound(negation)
    assert negation.verdict == "supported"
    assert negation.value == pytest.approx(0.5, abs=0.03)
    assert verdict(claim_of(quantity="tag.plain", rule="< 0.6", **claim), study) == "contradicted"
    unknown = decide(claim_of(quantity="tag.negations", rule="< 0.6", **claim), {"s": study})
    check_sound(unknown)
    assert "did you mean 'negation'?" in sentence(unknown).en


def test_a_label_a_step(tmp_path):
    """Accuracy is over the steps asked for; exact is over rows."""
    targets = np.array(
        [1, -100, 1] * 200 + [1] * 400
    )  # two steps of three, then one of one: one row in three is longer
    lengths = np.array([3] * 200 + [1] * 400)

    def half_of_the_long(chance: np.random.Generator, right: np.ndarray) -> np.ndarray:
        last_is_wrong, most = np.tile([1, 0, 2], 200), chance.random(400) < 0.9
        return np.concatenate([last_is_wrong, np.where(most, 1, 2)]).astype(np.int64)

    arrays = {"test.targets": targets, "test.lengths": lengths, "test.answers": half_of_the_long}
    arrays["test.nats"] = np.zeros(len(targets))
    study = scored(tmp_path, {"rnn": 0.5}, rows=600, **arrays)
    claim = {"measure": "value", "a": {"model": "rnn"}}
    accuracy = decide(claim_of(quantity="test.accuracy", **claim), {"s": study})
    exact = decide(claim_of(quantity="test.exact", **claim), {"s": study})
    assert accuracy.value == pytest.approx((200 * 2 * 0.5 + 400 * 0.9) / 800, abs=0.01)
    assert exact.value == pytest.approx(400 * 0.9 / 600, abs=0.01)


def test_accuracy_over_several_settings(tmp_path):
    """RNN and CNN at two layer counts, on the same rows: the mean of two differences."""

    def make(seed: int, model: str, layers: int) -> Repeat:
        right = np.random.default_rng([seed, layers]).random(800) < 0.5 + (0.1 * layers if model == "rnn" else 0)
        return repeat(seed, answers(tmp_path, f"{model}-{layers}-{seed}", right))

    study = study_of({"model": ("rnn", "cnn"), "layers": (1, 2)}, make)
    finding = decide(claim_of(**ACCURACY), {"s": study})
    ratio = decide(claim_of(**ACCURACY, measure="ratio", rule="> 1"), {"s": study})
    assert finding.verdict == ratio.verdict == "supported"
    assert finding.value == pytest.approx(0.15, abs=0.02)
    assert ratio.value == pytest.approx(math.sqrt(0.6 * 0.7) / 0.5, rel=0.04)
    assert not finding.notes


def test_variances_of_different_test_rows_add_up():
    random = np.random.default_rng(11)

    def share(coefficient: float, name: str) -> intervals.Share:
        sets = [AnsweredRows(name, (random.random(400) < 0.6).astype(float), np.arange(400)) for _ in range(3)]
        return intervals.Share(coefficient, sets)

    a, b = share(1.0, "one"), share(-0.5, "other")
    both, first, second = (intervals.crossed(shares) for shares in ([a, b], [a], [b]))
    assert both.mean == pytest.approx(first.mean + second.mean)
    assert both.group_variance == pytest.approx(first.group_variance + second.group_variance)
    whole = intervals.crossed([intervals.Share(1.0, b.rows)])
    assert second.group_variance == pytest.approx(whole.group_variance / 4)
    runs = [[rows.values.mean() for rows in share.rows] for share in (a, b)]
    assert both.seed_variance == pytest.approx(np.var(np.array(runs[0]) - np.array(runs[1]) / 2, ddof=1))


def test_settings_with_different_test_rows(tmp_path):
    """Each length has test rows of its own, so nothing is paired row by row, and both sets' errors count."""

    def make(seed: int, length: int) -> Repeat:
        chance = np.random.default_rng([seed, length])
        right = chance.random(500) < (0.7 if length == 5 else 0.8)
        lengths = np.full(500, length)
        return repeat(seed, answers(tmp_path, f"{length}-{seed}", right, **{"test.lengths": lengths}))

    study = study_of({"length": (5, 50)}, make)
    claim = claim_of(a={"length": 50}, b={"length": 5}, quantity="test.accuracy")
    finding = decide(claim, {"s": study})
    check_sound(finding)
    assert finding.verdict == "supported"
    assert kinds(finding) == {"other rows"}
    alone = decide(claim_of(measure="value", a={"length": 50}, quantity="test.accuracy"), {"s": study})
    both = decide(claim_of(measure="value", quantity="test.accuracy"), {"s": study})
    assert both.value == pytest.approx(0.75, abs=0.02)
    assert np.ptp(interval_of(both)) < np.ptp(interval_of(alone))  # twice the rows


def test_damaged_answers_are_a_reason(tmp_path):
    study = scored(tmp_path, {"rnn": 0.9, "cnn": 0.3}, rows=50, seeds=2)
    (tmp_path / "rnn-1" / "predictions.safetensors").write_bytes(b"x")
    finding = decide(claim_of(**ACCURACY), {"s": study})
    check_sound(finding)
    assert "damaged" in sentence(finding).en


# What is missing


def test_a_study_that_has_not_been_run():
    finding = decide(claim_of(measure="value"), {})
    check_sound(finding)
    assert (finding.verdict, finding.runs) == ("cannot tell", ())
    assert sentence(finding).en == "Cannot tell. The study 's' has not been run."
    assert sentence(finding).zh == "无法判断。研究“s”尚未运行。"


@pytest.mark.parametrize(
    ("fields", "make", "kind"),
    [
        ({}, lambda seed, m: repeat(seed, m, status="failed"), "no value"),
        ({}, lambda seed, m: repeat(seed, m, status="diverged"), "no value"),
        ({"a": {"m": "z"}}, lambda seed, m: repeat(seed, m), "no point"),
        ({"quantity": "reached"}, lambda seed, m: repeat(seed, m, reached=5), "no target"),
        ({"quantity": "arrived", "measure": "share", "b": {}}, lambda seed, m: repeat(seed, m), "no target"),
        ({"quantity": "diverged", "measure": "share", "b": {}}, lambda s, m: repeat(s, m, status="failed"), "no value"),
        (
            {"measure": "best", "a": {}, "b": {}, "along": "m", "best": "lowest", "rule": "in ['a']"},
            lambda seed, m: repeat(seed, m, status="diverged"),
            "all diverged",
        ),
        (
            {"measure": "best", "a": {}, "b": {}, "along": "m", "best": "lowest", "rule": "in ['a']"},
            lambda seed, m: repeat(seed, m, status="failed"),
            "no value",
        ),
        (
            {},
            lambda seed, m: repeat(seed, m, result={"epoch_seconds": 1.0} if (seed < 2) == (m == "a") else {}),
            "incomplete",
        ),
    ],
)
def test_what_is_missing_is_a_reason(fields, make, kind):
    study = study_of({"m": ("a", "b")}, make)
    finding = decide(claim_of(**{"a": {"m": "a"}, "b": {"m": "b"}} | fields), {"s": study})
    check_sound(finding)
    assert (finding.verdict, finding.reason and finding.reason.kind) == ("cannot tell", kind)


def test_one_seed_tells_nothing_about_times():
    study = study_of({"model": ("rnn", "cnn")}, timed({"rnn": 1.0, "cnn": 9.0}), seeds=1)
    finding = decide(claim_of(a={"model": "rnn"}, b={"model": "cnn"}, rule="< 0"), {"s": study})
    check_sound(finding)
    assert (finding.verdict, finding.low) == ("cannot tell", None)
    assert measured(finding).en.startswith("1.01 s against 9.0")


def test_diverged_runs_are_left_out_and_told():
    def make(seed: int, model: str) -> Repeat:
        gone = model == "rnn" and seed == 1
        slow = 1 + seed / 100 + (model == "cnn")
        return repeat(
            seed, model, status="diverged" if gone else "finished", result={} if gone else {"epoch_seconds": slow}
        )

    finding = decide(
        claim_of(a={"model": "rnn"}, b={"model": "cnn"}, rule="< 0"), {"s": study_of({"model": ("rnn", "cnn")}, make)}
    )
    assert finding.seeds == (0, 2, 3, 4)
    assert "2 of 10 runs (9 finished, 1 diverged) are not compared" in " ".join(
        note_text(note).en for note in finding.notes
    )


def test_a_setting_without_its_counterpart():
    study = study_of(
        {"m": ("a", "b"), "n": (1, 2)}, lambda seed, m, n: repeat(seed, f"{m}{n}", result={"epoch_seconds": seed})
    )
    holed = Study(**{**vars(study), "points": study.points[:3]})
    finding = decide(claim_of(a={"m": "a"}, b={"m": "b"}), {"s": holed})
    check_sound(finding)
    assert finding.reason is not None
    assert finding.reason.kind == "unpaired"


# How often intervals hold the truth


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_coverage_of_student(seeds):
    random = np.random.default_rng(6)
    found = [intervals.student(random.normal(3, 1, seeds)) for _ in range(2000)]
    assert np.mean([i is not None and i.low <= 3 <= i.high for i in found]) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0])
def test_coverage_of_arrivals_seen_at_evaluations(spread):
    """True arrivals anywhere between two evaluations; what is seen is the next one."""
    random = np.random.default_rng(7)
    held, by_chance_alone = 0, 0
    for _ in range(600):
        truth = random.uniform(5, 15, 2)
        seen = np.ceil(truth[:, None] + random.normal(0, spread, (2, 5)))
        difference, true_difference = seen[0] - seen[1], truth[0] - truth[1]
        interval, plain = intervals.student(difference, 1.0), intervals.student(difference)
        assert interval is not None
        held += interval.low <= true_difference <= interval.high
        by_chance_alone += plain is not None and plain.low <= true_difference <= plain.high
    assert held / 600 > 0.93
    assert spread > 1 or by_chance_alone / 600 < 0.9  # why it is needed


@pytest.mark.parametrize("truth", [0.05, 0.5, 0.8])
def test_coverage_of_shares(truth):
    random = np.random.default_rng(8)
    found = [intervals.clopper_pearson(int(hits), 10) for hits in random.binomial(10, truth, 1000)]
    assert np.mean([i.low <= truth <= i.high for i in found]) >= 0.95
    assert intervals.clopper_pearson(0, 10).high == pytest.approx(1 - 0.025 ** (1 / 10))


def test_coverage_of_differences_of_shares():
    random = np.random.default_rng(9)
    for n, a, b in ((5, 0.9, 0.2), (10, 0.5, 0.5), (10, 0.95, 0.1)):
        hits = random.random((1000, n)) < a, random.random((1000, n)) < b
        found = [intervals.paired_shares(x.astype(float), y.astype(float)) for x, y in zip(*hits, strict=True)]
        assert np.mean([i.low <= a - b <= i.high for i in found]) > 0.93, (n, a, b)


@pytest.mark.parametrize("cells", [1, 3, 10])
def test_coverage_of_differences_of_independent_shares(cells):
    random = np.random.default_rng(13)
    for runs_a, runs_b, a, b in ((10, 5, 0.9, 0.2), (10, 5, 0.5, 0.5), (4, 2, 0.5, 0.5), (5, 5, 0.02, 0.3)):
        hits = zip(random.binomial(runs_a, a, (800, cells)), random.binomial(runs_b, b, (800, cells)), strict=True)
        found = [
            intervals.independent_shares(
                [((int(x), runs_a), (int(y), runs_b)) for x, y in zip(of_a, of_b, strict=True)]
            )
            for of_a, of_b in hits
        ]
        assert np.mean([i.low <= a - b <= i.high for i in found]) > 0.92, (runs_a, runs_b, a, b)


def test_exact_coverage_of_differences_of_independent_shares():
    """The figures of docs/claims.md: 10 runs against 5, over all true shares."""
    shares = np.linspace(0.01, 0.99, 50)
    truth = shares[:, None] - shares[None, :]  # (50, 50)
    chance_a, chance_b = (stats.binom.pmf(np.arange(n + 1), n, shares[:, None]) for n in (10, 5))  # (50, n + 1)
    held = np.zeros_like(truth)
    for hits_a, hits_b in itertools.product(range(11), range(6)):
        found = intervals.independent_shares([((hits_a, 10), (hits_b, 5))])
        chance = chance_a[:, hits_a, None] * chance_b[None, :, hits_b]
        held += chance * ((found.low <= truth) & (truth <= found.high))
    assert (held.mean(), held.min()) == (pytest.approx(0.964, abs=1e-3), pytest.approx(0.905, abs=1e-3))


def test_agresti_and_caffo():
    """(h + 1) / (n + 2) on either side, and the usual interval around their difference."""
    a, b = 2 / 12, 3 / 7
    reach = 1.959964 * math.sqrt(a * (1 - a) / 12 + b * (1 - b) / 7)
    found = intervals.independent_shares([((1, 10), (2, 5))])
    assert (found.low, found.high) == (pytest.approx(a - b - reach), pytest.approx(a - b + reach))


def test_equals_are_rarely_named_the_only_best():
    random = np.random.default_rng(10)
    wins = [
        intervals.first_places(dict(zip("abcde", random.normal(0, 1, (5, 4)), strict=True)), True) for _ in range(150)
    ]
    assert np.mean([max(shares.values()) >= 0.95 for shares in wins]) < 0.05
