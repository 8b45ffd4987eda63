"""Does a model of 宋词 keep the line lengths that a tune asks for?

    python experiments/tunes.py RUN [--tunes 12] [--samples 20] [--temperature 0.8]

A poem is the name of its tune and its lines; a tune fixes how many characters each part of a line has (浣溪沙: 7, 7, 7,
7, 7, 7). The model is given the names of the most frequent tunes, and writes. A text keeps its tune if the lengths of
its parts, from one sign to the next, are those of some training poem of that tune, all of them and in their order. The
poems of the test part are the yardstick: not all of theirs stand in the training part either.
"""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable

import rnnlab
from rnnlab.core.errors import RunError
from rnnlab.data.vocabulary import BEGIN, END

SIGNS = re.compile("[，。、；？！：\\s]+")
Lengths = tuple[int, ...]


def lengths_of(lines: str) -> Lengths:
    """Characters of each part of a poem, without its tune."""
    return tuple(len(part) for part in SIGNS.split(lines) if part)


def poems(rows: Iterable[str]) -> dict[str, list[Lengths]]:
    """By tune."""
    found: dict[str, list[Lengths]] = defaultdict(list)
    for text in rows:
        tune, _, lines = text.partition("\n")
        found[tune].append(lengths_of(lines))
    return found


def in_order(wanted: Lengths, others: list[Lengths]) -> float:
    """The largest share of parts, counted from the first one, that agree with one of the others."""
    best = 0.0
    for other in others:
        same = next(
            (at for at, (a, b) in enumerate(zip(wanted, other, strict=False)) if a != b), min(map(len, (wanted, other)))
        )
        best = max(best, same / max(1, len(wanted), len(other)))
    return best


def measure(
    run: str, tunes: int, samples: int, temperature: float, seed: int = 0
) -> list[tuple[str, int, float, float, float]]:
    """Of each tune: training poems, the share of texts that keep it, the share of parts up to the first that doesn't,
    and the share of test poems that keep it."""
    model = rnnlab.load(run)
    data, vocabulary = model.task.load(), model.writer.vocabulary
    if model.task.streams:
        raise RunError("{run}: poems are rows; train with --text-per paragraph", run=run)
    texts = {
        name: [
            "".join(vocabulary.spelled(one for one in rows.row(number).tolist() if one not in (BEGIN, END)))
            for number in range(len(rows))
        ]
        for name, rows in (("train", data.train), ("test", data.test))
    }
    train, test = poems(texts["train"]), poems(texts["test"])
    found = []
    for tune, count in Counter({tune: len(own) for tune, own in train.items()}).most_common(tunes):
        written = model.writer.generate([f"{tune}\n"], length=400, samples=samples, temperature=temperature, seed=seed)
        made = [lengths_of(sample.text) for sample in written]
        kept = sum(one in train[tune] for one in made) / len(made)
        part = sum(in_order(one, train[tune]) for one in made) / len(made)
        real = [one in train[tune] for one in test.get(tune, ())]
        found.append((tune, count, kept, part, sum(real) / len(real) if real else float("nan")))
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run")
    options.add_argument("--tunes", type=int, default=12)
    options.add_argument("--samples", type=int, default=20)
    options.add_argument("--temperature", type=float, default=0.8)
    given = options.parse_args()
    rows = measure(given.run, given.tunes, given.samples, given.temperature)
    print("tune\tpoems\ttexts that keep it\tparts up to the first that doesn't\ttest poems that keep it")
    for tune, count, kept, part, real in rows:
        print(f"{tune}\t{count}\t{100 * kept:.0f} %\t{100 * part:.0f} %\t{100 * real:.0f} %")
    mean = [sum(row[at] for row in rows) / len(rows) for at in (2, 3, 4)]
    print(f"mean\t\t{100 * mean[0]:.0f} %\t{100 * mean[1]:.0f} %\t{100 * mean[2]:.0f} %")


if __name__ == "__main__":
    main()
