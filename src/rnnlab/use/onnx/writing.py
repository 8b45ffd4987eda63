"""Writing ``model.onnx`` and, beside it, ``model.tokenizer.json``, and ``model.step.onnx`` of a model that writes; but
only if the graphs compute what torch does."""

import importlib.util
import json
import math
from collections import Counter
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from rnnlab.answers.forecast import Forecast
from rnnlab.core.files import write_atomically
from rnnlab.core.numbers import size
from rnnlab.core.words import Both, both, note, retold, same
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.tokenizer_file import describe
from rnnlab.use.stored import StoredModel, open_model

SUFFIX = ".onnx"
PACKAGES = ("onnx", "onnxruntime")
RECURRENT = ("RNN", "LSTM", "GRU", "Scan")


@dataclass(frozen=True)
class Exported:
    """What was written, and how well it agrees with torch."""

    path: Path
    tokenizer: Path
    kind: str
    size: int  # bytes
    inputs: tuple[str, ...]  # each with its shape: "ids (batch, length)"
    output: str
    operators: dict[str, int]  # how often each stands in the graph
    difference: float  # see `rnnlab.use.onnx.parity.check_parity`
    rounding: float
    shapes: int
    tolerance: float
    left_out: str | None = None  # of what the model does elsewhere
    step: Path | None = None  # of a model that writes: one token at a time
    step_difference: float = 0.0
    no_step: str | None = None  # why there is none, where one would be expected
    translates: bool = False  # the graph reads a text, and the one of a step writes another
    forecasts: bool = False  # the graph reads windows of series

    def lines(self) -> list[str]:
        """For a person, in the current language."""
        steps = ", ".join(f"{count} {kind}" for kind, count in self.operators.items() if kind in RECURRENT)
        operators = both("{count} operators", count=sum(self.operators.values()))
        if steps:
            operators = both("{operators} ({steps})", operators=operators, steps=steps)
        accepted = both("{tolerance:.0e} is accepted", tolerance=self.tolerance)
        if self.rounding:
            accepted = both(
                "{accepted}; torch itself is {rounding:.1e} from float64, which decided",
                accepted=accepted,
                rounding=self.rounding,
            )
        told = [
            both(
                "{file}: {kind}, {size}, {operators}",
                file=self.path,
                kind=self.kind,
                size=size(self.size),
                operators=operators,
            ),
            same(f"{', '.join(self.inputs)} → {self.output}"),
            both(
                "ONNX Runtime and torch differ by at most {difference:.1e} of the largest output, over {shapes} shapes "
                "from 1×1 to 16×120 ({accepted})",
                difference=self.difference,
                shapes=self.shapes,
                accepted=accepted,
            ),
            self._of_tokenizer(),
        ]
        if self.step is not None:
            told.append(
                both(
                    "{file}: one token at a time, with the state in and out; it differs from torch by at most "
                    "{difference:.1e} over 50 steps",
                    file=self.step,
                    difference=self.step_difference,
                )
            )
        if self.no_step:
            told.append(both("no file for one token at a time: {reason}", reason=retold(self.no_step)))
        if self.left_out:
            told.append(both("left out: {what}", what=retold(self.left_out)))
        return [str(line) for line in told]

    def _of_tokenizer(self) -> Both:
        if self.translates:
            return both("{file}: how a text becomes numbers, and numbers a text; how to search", file=self.tokenizer)
        if self.forecasts:
            return both("{file}: how series become features, and forecasts become values", file=self.tokenizer)
        return both("{file}: how an input becomes numbers; labels; temperature", file=self.tokenizer)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which knows no infinity: torch overflows where float64 doesn't."""
        rounding = self.rounding if math.isfinite(self.rounding) else None
        step = None if self.step is None else str(self.step)
        paths = {"path": str(self.path), "tokenizer": str(self.tokenizer), "step": step}
        return {**asdict(self), **paths, "rounding": rounding}


def export_model(model: str | PathLike[str] | StoredModel, path: str | Path) -> Exported:
    """A run directory or a bundle as ONNX. Nothing is written unless ONNX Runtime gives torch's answers."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise ExportError("{path}: the name of the file has to end with {suffix}", path=path, suffix=SUFFIX)
    if not path.parent.is_dir():
        raise ExportError("{path}: there is no folder {parent}", path=path, parent=path.parent)
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise ExportError("export needs the package '{package}': pip install 'rnnlab[onnx]'", package=package)
    from rnnlab.use.onnx import forecaster_graph, parity, stepping, translator_graphs
    from rnnlab.use.onnx.model_graph import model_graph

    stored = model if isinstance(model, StoredModel) else open_model(model)
    if isinstance(stored.spec.task.answer, Forecast) and stored.spec.task.answer.rolls:
        raise ExportError(
            "{name}: it forecasts by reading its own forecasts (task.strategy = 'recursive'), and a graph can't go "
            "round; train a direct one",
            name=stored.name,
        )
    translates = stored.spec.task.answer.writes
    forecasts = isinstance(stored.spec.task.answer, Forecast)
    make = (
        translator_graphs.encoder_graph
        if translates
        else forecaster_graph.forecaster_graph
        if forecasts
        else model_graph
    )
    graph = make(stored)
    content = graph.SerializeToString(deterministic=True)
    difference, rounding = parity.check_parity(stored, content)
    reading = describe(stored)
    no_step = stepping.why_not(stored) if stepping.writes(stored) else None
    step = path.with_suffix(".step.onnx") if translates or (stepping.writes(stored) and no_step is None) else None
    stepwise, step_difference = b"", 0.0
    if step is not None and translates:
        stepwise = translator_graphs.decoder_graph(stored).SerializeToString(deterministic=True)
        step_difference = translator_graphs.check_writing(stored, stepwise)
        reading["translating"] |= {"step": step.name, **translator_graphs.names_of(stored)}
    elif step is not None:
        stepwise = stepping.step_graph(stored).SerializeToString(deterministic=True)
        step_difference = stepping.check_steps(stored, stepwise)
        reading["writing"] |= {"step": step.name, "states": [asdict(one) for one in stepping.states_of(stored)]}
    done = Exported(
        path=path,
        tokenizer=path.with_suffix(".tokenizer.json"),
        kind=stored.spec.model.kind,
        size=len(content),
        inputs=tuple(_shaped(value) for value in graph.graph.input),
        output=", ".join(_shaped(value) for value in graph.graph.output),
        operators=dict(Counter(node.op_type for node in graph.graph.node)),
        difference=difference,
        rounding=rounding,
        shapes=len(parity.SHAPES),
        tolerance=parity.TOLERANCE,
        left_out=note("model.lookup, the table of the training rows' labels: every row is answered by the model alone")
        if stored.spec.model.lookup
        else None,
        step=step,
        step_difference=step_difference,
        no_step=no_step,
        translates=translates,
        forecasts=forecasts,
    )
    if step is not None:
        write_atomically(step, stepwise)
    write_atomically(done.tokenizer, json.dumps(reading, ensure_ascii=False, allow_nan=False) + "\n")
    write_atomically(path, content)
    return done


def _shaped(value: Any) -> str:
    sizes = [size.dim_param or str(size.dim_value) for size in value.type.tensor_type.shape.dim]
    return f"{value.name} ({', '.join(sizes)})"
