"""From recorded runs to all that a report tells of them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.answers.forecast import Forecast
from rnnlab.answers.text import Text
from rnnlab.answers.translation import Translation
from rnnlab.answers.words import Words
from rnnlab.comparing.chapters import Chapter, Continued, Differences, Report, SweepChapter
from rnnlab.comparing.comparison import ArmSummary, Comparison, best_run, summarise
from rnnlab.comparing.conditions import provenance, settings_of, terms
from rnnlab.comparing.differences import differences, with_texts
from rnnlab.comparing.forecasted import Forecasted
from rnnlab.comparing.hearing import heard_rows, hearing_differences
from rnnlab.comparing.learning import learning
from rnnlab.comparing.records import HeldOut, Record
from rnnlab.comparing.tagging import disputed_sentences, tag_differences
from rnnlab.comparing.translated import Translated
from rnnlab.core.config import canonical_json
from rnnlab.core.errors import RnnlabError, RunError, english
from rnnlab.core.words import note, say
from rnnlab.data import catalogue
from rnnlab.data.encoded import EncodedData
from rnnlab.runs.directory import Finished, RunDirectory
from rnnlab.show.experiment_file import experiment_file
from rnnlab.show.exposures import exposures
from rnnlab.show.forecasts import forecasts
from rnnlab.show.gathering import RecordedComparison, RecordedSweep, gather
from rnnlab.show.looking import internals, looks
from rnnlab.show.samples import continuations
from rnnlab.show.translations import translations

EXPERIMENT = "experiment.toml"  # beside comparison.json
MOST_INSIDE = 12  # arms that are looked into, the best
Watch = Callable[[str], None]


def tell(
    paths: Sequence[str | PathLike[str]], watch: Watch = lambda _: None, judged: Sequence[Comparison] = ()
) -> Report:
    """All that there is to tell of some runs, see `gather`; ``watch`` hears what is being done. ``judged`` are
    comparisons of theirs that needn't be judged again."""
    watch(say("reading the runs"))
    found = gather(paths)
    known = {one.folder: one for one in judged}
    chapters = tuple(_chapter(one, found.specs, watch, known.get(one.folder)) for one in found.comparisons)
    return Report(chapters, tuple(sweep_chapter(one) for one in found.sweeps), found.remarks)


def _chapter(
    found: RecordedComparison, specs: Sequence[dict[str, Any]], watch: Watch, judged: Comparison | None
) -> Chapter:
    watch(say("{name}: scoring {count} runs", name=found.name, count=len(found.records)))
    remarks: list[str] = []
    data = _data(found, remarks)
    rows = _held_out(found, data)
    comparison = judged or _judge(found, data, rows)
    lower = comparison.verdict.lower_is_better
    best = {arm.label: best_run(_on_the_data_of(found, arm), lower) for arm in comparison.arms[:MOST_INSIDE]}
    inside = {label: RunDirectory(path) for label, path in best.items() if path is not None}
    if len(comparison.arms) > MOST_INSIDE:
        remarks.append(note("only the {most_inside} best models were looked into", most_inside=MOST_INSIDE))
    if found.splits_vary:
        seed = found.records[0].spec.seed
        remarks.append(note("the split varies with the seed; models were looked into with seed {seed}", seed=seed))
    watch(say("{name}: looking inside, models: {count}", name=found.name, count=len(inside)))
    return Chapter(
        name=found.name,
        comparison=comparison,
        learning=learning(found.records, found.task),
        differences=_differences(found, comparison, data, rows, remarks),
        internals=internals(inside, data.valid) if data and not found.task.answer.writes else (),
        terms=terms(found.records, specs),
        provenance=provenance(found.records, found.command, _experiment(found)),
        remarks=tuple(remarks),
    )


def _judge(found: RecordedComparison, data: EncodedData | None, rows: HeldOut) -> Comparison:
    profile = found.profile or (data.profile if data else {"lines": []})
    comparison = summarise(found.task, rows, found.records, profile, found.notes, spent=found.spent, look=found.look)
    return replace(comparison, folder=found.folder, tuning=found.tuning)


def _on_the_data_of(found: RecordedComparison, arm: ArmSummary) -> ArmSummary:
    """The arm without its runs on other splits: what is shown side by side must be seen on the same rows."""
    same = {record.spec.digest for record in found.records if record.spec.task.identity() == found.task.identity()}
    return replace(arm, runs=tuple(run for run in arm.runs if run.digest in same))


def _experiment(found: RecordedComparison) -> str | None:
    """The comparison as a file, to be repeated; it is kept where the comparison was planned."""
    kept = Path(found.folder) / EXPERIMENT if found.folder else None
    if kept is not None and kept.is_file():
        return kept.read_text(encoding="utf-8")
    specs = [(record.label, record.spec.to_dict()) for record in found.records]
    return experiment_file(found.name, specs)


def _data(found: RecordedComparison, remarks: list[str]) -> EncodedData | None:
    """The encoded data, from the cache or the source; without them some parts of a report are missing. Nothing is
    fetched: a report doesn't wait for a network."""
    name = getattr(found.task, "data", None)
    if name in catalogue.names() and catalogue.locate(name) is None:
        remarks.append(
            note("the data set isn't here, so rows and gradients aren't shown; rnnlab data get {name}", name=name)
        )
        return None
    try:
        return found.task.load()
    except (RnnlabError, OSError) as error:
        remarks.append(
            note("the data can't be read any more, so rows and gradients aren't shown: {error}", error=english(error))
        )
        return None


def _held_out(found: RecordedComparison, data: EncodedData | None) -> HeldOut:
    for record in found.records:
        if isinstance(record.outcome, Finished):
            return HeldOut.recorded(RunDirectory(record.path))
    return HeldOut.of(data) if data else HeldOut(np.zeros(1, np.int64), np.ones(1, np.int64), None, ())


def _differences(
    found: RecordedComparison, comparison: Comparison, data: EncodedData | None, rows: HeldOut, remarks: list[str]
) -> Differences:
    labels = _labels(found, remarks)
    if found.splits_vary and labels:
        remarks.append(note("every seed has test rows of its own, so the rows on which models disagree aren't shown"))
    if isinstance(found.task.answer, Text):
        return Differences((), (), (), (), continued=_of_language_models(found, comparison, data, remarks))
    if isinstance(found.task.answer, Translation):
        return Differences((), (), (), (), translated=_of_translators(found, comparison, data, remarks))
    if isinstance(found.task.answer, Forecast):
        return Differences((), (), (), (), forecasted=_of_forecasters(found, comparison, data, remarks))
    if found.task.answer.chains:
        return _of_taggers(found, comparison, data, labels, remarks)
    if isinstance(found.task.answer, Words):
        return _of_recognisers(found, comparison, labels, rows)
    shown = differences(found.records, labels, tags=rows.tag_names)
    if data is None or not shown.rows:
        return shown
    try:
        shown = with_texts(shown, found.task)
    except (RnnlabError, OSError) as error:
        remarks.append(note("the texts of the test rows can't be read any more: {error}", error=english(error)))
    arm = _looked_at(comparison)
    run = best_run(arm, comparison.verdict.lower_is_better)
    if arm is None or run is None:
        return shown
    seen = looks(RunDirectory(run), [row.row for row in shown.rows], data, [row.text for row in shown.rows])
    with_looks = (replace(row, look=look) for row, look in zip(shown.rows, seen, strict=True))
    return replace(shown, rows=tuple(with_looks), looked=arm.label)


def _of_taggers(
    found: RecordedComparison,
    comparison: Comparison,
    data: EncodedData | None,
    labels: Sequence[str],
    remarks: list[str],
) -> Differences:
    """With the sentences that the best models and the best baseline tag differently."""
    shown = tag_differences(found.records, labels)
    if data is None or shown.tagging is None or found.splits_vary:
        return shown
    try:
        disputed = disputed_sentences(_best_runs(found, comparison), labels, found.task)
    except (RnnlabError, OSError) as error:
        remarks.append(note("the sentences of the test rows can't be read any more: {error}", error=english(error)))
        return shown
    spaced = data.tokenizer is None or data.tokenizer.name != "chars"
    return replace(shown, tagging=replace(shown.tagging, disputed=disputed, spaced=spaced))


def _of_recognisers(
    found: RecordedComparison, comparison: Comparison, labels: Sequence[str], rows: HeldOut
) -> Differences:
    """With some rows as the best models and the best baseline heard them."""
    shown = hearing_differences(found.records, labels)
    if shown.hearing is None or found.splits_vary:
        return shown
    worst, others = heard_rows(_best_runs(found, comparison), labels, rows.tag_names)
    return replace(shown, hearing=replace(shown.hearing, worst=worst, others=others))


def _of_language_models(
    found: RecordedComparison, comparison: Comparison, data: EncodedData | None, remarks: list[str]
) -> Continued | None:
    """With what the best models and the best baseline write, and how models fare along their own tokens."""
    if found.splits_vary:
        remarks.append(note("every seed has test rows of its own, so no passage and no samples are shown"))
        return None
    best = _best_runs(found, comparison)
    shown = continuations(found.records, best, data, remarks)
    if shown is None or data is None:
        return shown
    return replace(shown, exposures=exposures(best, data, remarks))


def _of_translators(
    found: RecordedComparison, comparison: Comparison, data: EncodedData | None, remarks: list[str]
) -> Translated | None:
    if found.splits_vary:
        remarks.append(note("every seed has test rows of its own, so no sentences and no maps are shown"))
        return None
    verdict = comparison.verdict
    ours = verdict.recommended or verdict.best_model
    return translations(found.records, _best_runs(found, comparison), ours, data, remarks) if data else None


def _of_forecasters(
    found: RecordedComparison, comparison: Comparison, data: EncodedData | None, remarks: list[str]
) -> Forecasted | None:
    """The recommended or best arm, beside the best one of the other kind: a baseline, or a model; else the second."""
    if data is None:
        return None
    verdict = comparison.verdict
    ours = next((arm for arm in comparison.ranking if arm.label == (verdict.recommended or verdict.best)), None)
    others = [arm for arm in comparison.ranking if arm is not ours]
    if ours is not None:
        others.sort(key=lambda arm: (arm in comparison.baselines) == (ours in comparison.baselines))
    runs = [_best_run_of(found, arm, verdict.lower_is_better) for arm in (ours, *others)]
    beside = next((run for run in runs[1:] if run is not None), None)
    return forecasts(found.records, runs[0], beside, data, remarks)


def _best_run_of(found: RecordedComparison, arm: ArmSummary | None, lower_is_better: bool) -> Record | None:
    path = best_run(arm, lower_is_better)
    return None if path is None else next(record for record in found.records if record.path == Path(path))


def _best_runs(found: RecordedComparison, comparison: Comparison) -> list[Record]:
    """By validation, of the best models and the best baseline."""
    lower, best = comparison.verdict.lower_is_better, comparison.verdict.best_baseline
    arms = [*comparison.arms[:MOST_INSIDE], *(arm for arm in comparison.baselines if arm.label == best)]
    return [run for arm in arms if (run := _best_run_of(found, arm, lower)) is not None]


def _looked_at(comparison: Comparison) -> ArmSummary | None:
    """The recommended model; the best one where a baseline or nothing is recommended."""
    by_label = {arm.label: arm for arm in comparison.arms}
    verdict = comparison.verdict
    return by_label.get(verdict.recommended or "") or by_label.get(verdict.best_model or "")


def _labels(found: RecordedComparison, remarks: list[str]) -> tuple[str, ...]:
    """Of the answers; none where a task asks for something else than labels of sequences or tokens."""
    answer = found.task.answer
    if answer.reads == "states" and not answer.chains and not isinstance(answer, Words):
        return ()
    of_split = {}
    for record in found.records:
        if isinstance(record.outcome, Finished):
            of_split.setdefault(canonical_json(record.spec.task.identity()), RunDirectory(record.path))
    every = {tuple(json.loads(run.verified("model.json").read_bytes())["labels"]) for run in of_split.values()}
    if len(every) > 1:  # each split has a sample of its own, in which a rare label may be missing
        remarks.append(note("splits have different labels, so classes aren't shown"))
        return ()
    return every.pop() if every else ()


def sweep_chapter(found: RecordedSweep) -> SweepChapter:
    repeats = {r.digest: r for study in found.studies for point in study.points for r in point.repeats}
    specs: list[tuple[str, dict[str, Any]]] = []
    environments: dict[str, dict[str, Any]] = {}
    for digest, repeat in repeats.items():
        environment = repeat.result.get("environment")
        if environment:
            environments.setdefault(canonical_json(environment), environment)
        try:
            specs.append((digest, RunDirectory(found.runs / digest).spec()))
        except RunError:  # its directory was deleted: its figures are kept with the sweep, its spec isn't
            continue
    return SweepChapter(
        name=found.name,
        studies=found.studies,
        command=found.command,
        settings=settings_of(specs),
        environments=tuple(environments[key] for key in sorted(environments)),
        seconds=sum(event.get("seconds", 0.0) for repeat in repeats.values() for event in repeat.curve),
    )
