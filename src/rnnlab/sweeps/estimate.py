"""What a sweep would take: how many runs, how long, how much disk. Nothing is written."""

from collections.abc import Sequence
from pathlib import Path

from rnnlab.comparing.studies import Estimate
from rnnlab.runs.directory import RunDirectory
from rnnlab.sweeps.pace import OTHER_FILES, outputs, pace_of
from rnnlab.sweeps.plan import Opened
from rnnlab.sweeps.studies import PlannedStudy
from rnnlab.training.spec import RunSpec

MOST_PROBES = 24  # settings that are timed; the others are taken to be like those beside them


def estimate(planned: Sequence[PlannedStudy], out: Path) -> Estimate:
    """Time a few updates of every setting (of ``MOST_PROBES`` settings, if there are more) that has runs left to do."""
    runs = {spec.digest: spec for study in planned for point in study.points for spec in point.specs}
    todo = [spec for digest, spec in runs.items() if RunDirectory(out / digest).outcome() is None]
    groups: dict[str, list[RunSpec]] = {}
    for spec in todo:
        groups.setdefault(RunSpec(spec.task, spec.model, spec.training, 0).digest, []).append(spec)
    settings = list(groups.values())
    stride = max(1, -(-len(settings) // MOST_PROBES))
    opened = Opened()
    seconds, disk = 0.0, 0
    for first in range(0, len(settings), stride):
        each, size = probe(settings[first][0], opened)
        alike = sum(len(group) for group in settings[first : first + stride])
        seconds += each * alike
        disk += size * alike
    drawn = sum(study.settings.trials or 0 for study in planned)
    return Estimate(len(runs), len(runs) - len(todo), drawn, seconds, disk, -(-len(settings) // stride))


def probe(spec: RunSpec, opened: Opened) -> tuple[float, int]:
    """Seconds and bytes that a run would take, up to its limits."""
    _, data = opened.open(spec.task)
    if spec.training is None:  # a baseline: fitted in seconds, and as large as its outputs
        return 10.0, OTHER_FILES + outputs(data)
    pace = pace_of(spec, data)
    return pace.seconds(pace.most), pace.disk
