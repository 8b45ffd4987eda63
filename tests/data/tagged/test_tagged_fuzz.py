"""Whatever the bytes, the answer is sentences or a kind error. RNNLAB_FUZZ sets how many files are tried in all."""

import contextlib
import csv
import io
import json
import os
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from rnnlab.core.errors import DataError
from rnnlab.data.tagged import schemes
from rnnlab.data.tagged.finding import has_tags, is_tagged
from rnnlab.data.tagged.reading import read_sentences
from rnnlab.data.tagged.sentences import Sentences
from rnnlab.data.tagged.writing import write_tagged

FUZZ = int(os.environ.get("RNNLAB_FUZZ", "600")) // 5

WORDS = ("the", "dog", "北", "京", "市", "#", "-", "don't", "à", "😀", "3.5", "[", '"', "-DOCSTART-", "\u3000", "\xa0")
TAGS = ("O", "B-X", "M-X", "I-X", "E-X", "S-X", "B-Y", "E-Y", "NOUN", "_")


def words(rng: np.random.Generator) -> list[str]:
    return [str(word) for word in rng.choice(WORDS, rng.integers(1, 8))]


def as_conllu(rng: np.random.Generator) -> str:
    lines = []
    for _ in range(rng.integers(1, 6)):
        own = words(rng)
        lines.append(f"# text = {' '.join(own)}")
        if rng.random() < 0.3:
            lines.append(f"1-2\t{own[0]}" + "\t_" * 8)
        for at, word in enumerate(own, 1):
            lines.append(f"{at}\t{word}\t_\t{rng.choice(('NOUN', 'VERB', 'X'))}\t_\t_\t_\t_\t_\tNER={rng.choice(TAGS)}")
        lines.append("")
    return "\n".join(lines)


def as_columns(rng: np.random.Generator) -> str:
    between, more = str(rng.choice([" ", "\t"])), rng.integers(0, 2)
    tags = TAGS[: rng.integers(2, len(TAGS) + 1)]
    rows = [
        [between.join([word, *["x"] * more, str(rng.choice(tags))]) for word in words(rng)]
        for _ in range(rng.integers(1, 6))
    ]
    return "\n\n".join("\n".join(row) for row in rows) + "\n"


def as_spans(rng: np.random.Generator) -> str:
    lines = []
    layout = rng.integers(0, 3)
    for _ in range(rng.integers(1, 6)):
        text = str(rng.choice([" ", ""])).join(words(rng))
        spans = [sorted(rng.integers(0, len(text) + 1, 2).tolist()) for _ in range(rng.integers(0, 4))]
        if layout == 0:
            label = {"X": {text[a : b + 1]: [[a, b]] for a, b in spans}}
        elif layout == 1:
            label = [[a, b, "X"] for a, b in spans]
        else:
            label = [{"start": a, "end": b, "type": "X", "text": text[a:b]} for a, b in spans]
        lines.append(json.dumps({"text": text, "label": label}, ensure_ascii=bool(rng.random() < 0.3)))
    return "\n".join(lines)


def as_table(rng: np.random.Generator) -> str:
    rows = [words(rng) for _ in range(rng.integers(1, 6))]
    return "\n".join(
        json.dumps({"tokens": row, "tags": [str(tag) for tag in rng.choice(TAGS, len(row))]}) for row in rows
    )


def as_csv(rng: np.random.Generator) -> str:
    rows = [words(rng) for _ in range(rng.integers(1, 6))]
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    lists = rng.random() < 0.5
    table.writerow(["tokens", "tags"])
    for row in rows:
        tags = [str(tag) for tag in rng.choice(TAGS, len(row))]
        table.writerow([str(row), json.dumps(tags)] if lists else [" ".join(row), " ".join(tags)])
    return out.getvalue()


SCRAPS = (
    b'"', b"\0", b",", b"\t", b"\n", b"\n\n", b"\r", b" ", b"[", b"{", b"}", b":", b"#", b"1-2\t", b"1.1\t", b"\xff",
    b"\xb5\xc4", b"-1", b"99999999999999999999", b"1e9", b"null", b"\\ud83d", b"-", b"_", b"|", b"=",
    b"# global.columns = ID FORM\n", b"\xef\xbb\xbf", b"\xff\xfe", b"NaN", b"[[", b"true",
)  # fmt: skip


def mangled(rng: np.random.Generator, data: bytes) -> bytes:
    for _ in range(rng.integers(0, 5)):
        at = int(rng.integers(0, len(data) + 1))
        end = min(len(data), at + int(rng.integers(0, 12)))
        kind = rng.integers(0, 6)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + data[end:]
        elif kind == 2:
            data = data[:at] + bytes(byte ^ 1 for byte in data[at:end]) + data[end:]
        elif kind == 3:
            data = data[:at] + data[at // 2 : end] + data[at:]
        else:
            data = data[:at] + SCRAPS[rng.integers(0, len(SCRAPS))] + data[at:]
    return data


def check_consistent(found: Sentences) -> None:
    assert found.offsets[0] == 0
    assert found.offsets[-1] == len(found.tokens)
    assert (np.diff(found.offsets) > 0).all()
    assert len(found.lines) == len(found) > 0
    assert (np.diff(found.lines) > 0).all()
    assert all(token and "\0" not in token for token in found.tokens)
    "".join(found.tokens).encode()
    assert found.texts is None or len(found.texts) == len(found)
    assert found.unit in ("words", "characters")
    if found.tags is not None:
        assert len(found.tags) == len(found.tokens)
        assert all(tag and tag == tag.strip() for tag in found.tags)
        if found.scheme:
            assert {schemes.parts(tag)[0] for tag in found.tags} <= {"O", *schemes.SCHEMES[found.scheme].letters}


def read_or_refusal(path: Path, **options) -> Sentences | str:
    try:
        found = read_sentences(path, **options)
    except DataError as error:
        said = str(error)
        assert said.startswith(str(path))
        said.encode()
        return said
    check_consistent(found)
    return found


def check_written(path: Path, found: Sentences, rng: np.random.Generator, **options) -> None:
    """With its own tags in another order, the file is read back with these."""
    assert found.tags is not None
    tags = list(found.tags)
    if found.column:
        rng.shuffle(tags)
    answers = [tags[a:b] for a, b in zip(found.offsets, found.offsets[1:], strict=False)]
    out = path.with_name(f"out{path.suffix}")
    write_tagged(path, out, answers, scheme=found.scheme, unit=found.unit, **options)
    again = read_or_refusal(out, skip_bad=True, like=found, **options)
    assert isinstance(again, Sentences), again
    assert (again.tokens, again.tags) == (found.tokens, tags)


@pytest.mark.parametrize(
    ("suffix", "make", "options"),
    [
        (".conllu", as_conllu, {}),
        (".conllu", as_conllu, {"tags": "NER"}),
        (".bmes", as_columns, {}),
        (".txt", as_columns, {}),
        (".jsonl", as_spans, {}),
        (".jsonl", as_table, {}),
        (".csv", as_csv, {}),
    ],
)
def test_any_file_is_read_or_refused(suffix, make, options, tmp_path):
    rng = np.random.default_rng(5)
    path = tmp_path / f"fuzz{suffix}"
    outcomes = {"read": 0, "refused": 0, "written": 0}
    for _ in range(FUZZ):
        encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "gb18030"])
        text = make(rng)
        if rng.random() < 0.2:
            text = text.replace("\n", "\r\n")
        path.write_bytes(mangled(rng, text.encode(str(encoding))))
        assert is_tagged(path) in (True, False)
        with contextlib.suppress(DataError):
            has_tags(path)
        whole, rest = (read_or_refusal(path, skip_bad=skip, **options) for skip in (False, True))
        read_or_refusal(path, tagged=False, skip_bad=True, **options)
        if isinstance(whole, Sentences):
            assert isinstance(rest, Sentences)
            assert (rest.tokens, rest.tags) == (whole.tokens, whole.tags)
            check_written(path, whole, rng, **options)
            outcomes["written"] += 1
        elif "sentences can't be used" in whole:
            assert re.search(rf"{re.escape(str(path))}:\d+: ", whole)
        outcomes["read" if isinstance(rest, Sentences) else "refused"] += 1
    assert min(outcomes.values()) > FUZZ / 20, outcomes


LINES = {
    ".conllu": "1\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n2\tran\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n",
    ".bmes": "北 B-X\n京 E-X\n的 O\n\n",
    ".jsonl": '{"text": "the dog ran home", "label": [[4, 7, "X"]]}\n',
}


@pytest.mark.parametrize("suffix", LINES)
@pytest.mark.parametrize("end", ["", "\0\0"], ids=["good", "bad"])
def test_memory_is_a_few_times_that_of_the_file(suffix: str, end: str, tmp_path: Path):
    path = tmp_path / f"large{suffix}"
    path.write_text(LINES[suffix] * (400_000 // len(LINES[suffix].encode())) + end, encoding="utf-8")
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        assert isinstance(read_or_refusal(path), str if end else Sentences)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 12 * path.stat().st_size
