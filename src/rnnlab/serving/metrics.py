"""What the server counts, as Prometheus reads it."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

Labels = tuple[tuple[str, str], ...]
Sample = tuple[str, Labels, float]  # what is added to the name, labels, value


class Histogram:
    total: float

    def __init__(self, bounds: tuple[float, ...]):
        self.bounds = bounds
        self.counts: list[int] = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def samples(self, *labels: tuple[str, str]) -> Iterator[Sample]:
        below = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            below += count
            yield "_bucket", (*labels, ("le", str(bound))), below
        yield "_sum", labels, self.total
        yield "_count", labels, below


class Metrics:
    """Written from the event loop alone."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by route and status
        self.seconds: dict[str, Histogram] = {}  # by route
        self.batches: Histogram = Histogram(ROWS)
        self.texts: Counter[str] = Counter()  # by model
        self.tokens: Counter[str] = Counter()  # by model
        self.written: Counter[str] = Counter()  # tokens, by model
        self.forecast: Counter[str] = Counter()  # series, by model
        self.writing = 0  # requests that are written for
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
        requests = (
            ("", (("route", route), ("status", str(status))), count)
            for (route, status), count in sorted(self.requests.items())
        )
        seconds = (s for route, found in sorted(self.seconds.items()) for s in found.samples(("route", route)))
        families: list[tuple[str, str, str, Iterable[Sample]]] = [
            ("requests_total", "counter", "Answered requests.", requests),
            ("request_seconds", "histogram", "From the end of the headers to the end of the answer.", seconds),
            ("batch_texts", "histogram", "Texts computed together.", self.batches.samples()),
            ("texts_total", "counter", "Texts that a model answered.", _by("model", self.texts)),
            ("tokens_total", "counter", "Tokens of these texts that the model read.", _by("model", self.tokens)),
            ("written_tokens_total", "counter", "Tokens that a model wrote.", _by("model", self.written)),
            ("forecast_series_total", "counter", "Series that a model continued.", _by("model", self.forecast)),
            ("writing", "gauge", "Requests that are written for.", [("", (), self.writing)]),
            ("connections_cut_total", "counter", "Connections that the server ended.", _by("reason", self.cut)),
            ("reloads_total", "counter", "Models read again.", _by("result", self.reloads)),
            ("queued_texts", "gauge", "Texts that wait.", _by("for", self.queued)),
            ("connections", "gauge", "Open connections.", [("", (), self.connections)]),
            ("model_info", "gauge", "The models that are served.", (("", tuple(m.items()), 1) for m in models)),
        ]
        lines = []
        for name, kind, meaning, samples in families:
            lines += [f"# HELP rnnlab_{name} {meaning}", f"# TYPE rnnlab_{name} {kind}"]
            for more, labels, value in samples:
                listed = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
                lines.append(f"rnnlab_{name}{more}{{{listed}}} {value}" if listed else f"rnnlab_{name}{more} {value}")
        return "\n".join(lines) + "\n"


def _by(label: str, counter: Counter[str]) -> Iterator[Sample]:
    return (("", ((label, key),), count) for key, count in sorted(counter.items()))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
