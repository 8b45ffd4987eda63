"""What the server counts, as Prometheus reads it."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

Labels = tuple[tuple[str, str], ...]


class Histogram:
    def __init__(self, bounds: tuple[float, ...]):
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: Labels) -> Iterable[str]:
        below = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            below += count
            yield _line(f"{name}_bucket", (*labels, ("le", str(bound))), below)
        yield _line(f"{name}_sum", labels, self.total)
        yield _line(f"{name}_count", labels, below)


class Metrics:
    """Written from the event loop alone."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by route and status
        self.seconds: dict[str, Histogram] = {}  # by route
        self.batches = Histogram(ROWS)
        self.texts: Counter[str] = Counter()  # by model
        self.tokens: Counter[str] = Counter()  # by model
        self.cut: Counter[str] = Counter()  # connections, by reason
        self.reloads: Counter[str] = Counter()  # by result
        self.queued: Counter[str] = Counter()  # texts, by what is asked for
        self.connections = 0

    def answered(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        if route not in self.seconds:
            self.seconds[route] = Histogram(SECONDS)
        self.seconds[route].observe(seconds)

    def computed(self, model: str, texts: int, tokens: int) -> None:
        self.batches.observe(texts)
        self.texts[model] += texts
        self.tokens[model] += tokens

    def text(self, models: Iterable[Mapping[str, str]]) -> str:
        """`models`: what is to be told of each, for ``rnnlab_model_info``."""
        lines: list[str] = []

        def declare(name: str, kind: str, meaning: str) -> str:
            lines.extend((f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"))
            return name

        name = declare("rnnlab_requests_total", "counter", "Answered requests.")
        for (route, status), count in sorted(self.requests.items()):
            lines.append(_line(name, (("route", route), ("status", str(status))), count))
        name = declare("rnnlab_request_seconds", "histogram", "From the end of the headers to the end of the answer.")
        for route, histogram in sorted(self.seconds.items()):
            lines.extend(histogram.lines(name, (("route", route),)))
        name = declare("rnnlab_batch_texts", "histogram", "Texts computed together.")
        lines.extend(self.batches.lines(name, ()))
        counters = (
            ("rnnlab_texts_total", "model", self.texts, "Texts that a model answered."),
            ("rnnlab_tokens_total", "model", self.tokens, "Tokens of these texts that the model read."),
            ("rnnlab_connections_cut_total", "reason", self.cut, "Connections that the server ended."),
            ("rnnlab_reloads_total", "result", self.reloads, "Models read again."),
        )
        for name, label, counter, meaning in counters:
            declare(name, "counter", meaning)
            lines.extend(_line(name, ((label, key),), count) for key, count in sorted(counter.items()))
        name = declare("rnnlab_queued_texts", "gauge", "Texts that wait.")
        lines.extend(_line(name, (("for", key),), count) for key, count in sorted(self.queued.items()))
        lines.append(_line(declare("rnnlab_connections", "gauge", "Open connections."), (), self.connections))
        name = declare("rnnlab_model_info", "gauge", "The models that are served.")
        lines.extend(_line(name, tuple(model.items()), 1) for model in models)
        return "\n".join(lines) + "\n"


def _line(name: str, labels: Labels, value: float) -> str:
    listed = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    return f"{name}{{{listed}}} {value}" if listed else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
