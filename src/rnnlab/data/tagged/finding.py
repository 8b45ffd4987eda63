"""Which files are tagged corpora, which layout one has, and which file of a folder is for training."""

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from rnnlab.core.errors import DataError
from rnnlab.data.formats.source import Source
from rnnlab.data.tagged.columns import Columns
from rnnlab.data.tagged.conllu import ConllU, looks_like_conllu
from rnnlab.data.tagged.layout import Layout, Sentence
from rnnlab.data.tagged.schemes import recognise
from rnnlab.data.tagged.sentences import Unit
from rnnlab.data.tagged.span_lines import SpanLines
from rnnlab.data.tagged.token_table import TokenTable

SUFFIXES = (".conllu", ".conll", ".bio", ".bio2", ".bioes", ".bmes", ".iob", ".iob2", ".iobes", ".bilou", ".ner")
JSON = (".jsonl", ".ndjson", ".json")
TABLES = (".csv", ".parquet")
PEEK = 1 << 18  # bytes of a file that tell what it is
PARTS: dict[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "valid": ("dev", "devel", "development", "valid", "validation", "val", "testa"),
    "test": ("test", "testing", "testb"),
}


def open_layout(source: Source, tags: str | None, tokens: str | None, unit: Unit | None, tagged: bool = True) -> Layout:
    """A file by its suffix, and by its head where a suffix has several layouts."""
    if source.suffix == ".conllu" or (source.suffix not in (*JSON, *TABLES) and looks_like_conllu(source)):
        return ConllU(source, tags, tagged)
    if source.suffix in TABLES:
        return TokenTable(source, tags, tokens, tagged)
    if source.suffix in (*JSON, ".tsv", ".txt") and TokenTable.fits(source):
        return TokenTable(source, tags, tokens, tagged)
    if source.suffix in JSON:
        return SpanLines(source, tags, tokens, unit)
    return Columns(source, tags, tokens, tagged)


# --- one file -----------------------------------------------------------------------------------------------------


def is_tagged(path: str | Path) -> bool:
    """Whether a file, or a file of a folder, looks like a tagged corpus: by its suffix, or by its head."""
    path = Path(path)
    if path.is_dir():
        return any(is_tagged(file) for files in _candidates(path).values() for file in files)
    if path.suffix.lower() in SUFFIXES:
        return path.is_file()
    try:
        source = _head_of(path)
        if source.suffix in TABLES:
            return TokenTable.fits(source)
        layout = open_layout(source, None, None, None)
        if isinstance(layout, SpanLines):
            return layout.has_spans
        return layout.has_tags and (not isinstance(layout, Columns) or _are_sentences(list(layout.sentences(True))))
    except DataError:
        return False


def has_tags(path: str | Path, tags: str | None = None) -> bool:
    """Whether there are tags in the head of a file that looks like a tagged corpus: CLUENER's test has none."""
    return open_layout(_head_of(Path(path)), tags, None, None, tagged=False).has_tags


def _head_of(path: Path) -> Source:
    """The lines at the beginning; a binary file as it is on the disk."""
    if path.suffix.lower() == ".parquet":
        return Source.on_disk(path)
    try:
        with open(path, "rb") as file:
            head = file.read(PEEK)
    except OSError as error:
        raise DataError("{path}: can't be read: {value}", path=path, value=error.strerror) from None
    if not head.strip():
        raise DataError("{path}: the file is empty", path=path)
    return Source(path, head if len(head) < PEEK else head[: head.rfind(b"\n") + 1] or head)


def _are_sentences(found: Sequence[Sentence]) -> bool:
    """Whether blocks of lines are sentences, and no table of texts with a blank line here and there."""
    good = [sentence for sentence in found if not sentence.problem]
    if len(good) < 0.9 * len(found) or not good:
        return False
    tokens = [token for sentence in good for token in sentence.tokens]
    tags = {tag for sentence in good for tag in sentence.tags}
    if fmean(" " in token.strip() for token in tokens) > 0.02 or fmean(map(len, tokens)) > 12:
        return False
    if recognise(tags):
        return len(tokens) > len(good)
    length = len(tokens) / len(good)
    return len(good) >= 3 and 2 <= length <= 200 and 2 <= len(tags) <= min(500, len(tokens) / 2)


# --- a folder -----------------------------------------------------------------------------------------------------


def parts_of(path: str | Path) -> dict[str, Path]:
    """The files for train, valid and test, as far as a folder has them; a file alone is for training. Whether a test
    file has tags, `has_tags` tells."""
    path = Path(path)
    if not path.is_dir():
        return {"train": path}
    found = _candidates(path)
    tagged = {part: [file for file in files if _may_be(file)] for part, files in found.items()}
    for part, files in tagged.items():
        if len(files) > 1:
            raise DataError(
                "{path}: {count} files could be the part {part}:\n{files}\nname one file, and the others with --valid "
                "and --test",
                path=path,
                count=len(files),
                part=part,
                files="\n".join(f"  {file.name}" for file in files),
            )
    if not tagged["train"]:
        raise DataError(
            "{path}: no file of a tagged corpus in this folder has 'train' in its name; name a file instead", path=path
        )
    return {part: files[0] for part, files in tagged.items() if files}


def _may_be(file: Path) -> bool:
    """A test file may lack its tags: then it is known by its sentences."""
    if is_tagged(file):
        return True
    try:
        return file.suffix.lower() in JSON and bool(open_layout(_head_of(file), None, None, None, tagged=False))
    except DataError:
        return False


def _candidates(folder: Path) -> dict[str, list[Path]]:
    """The files of a folder by the part that their names tell."""
    found: dict[str, list[Path]] = {part: [] for part in PARTS}
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith("."):
            words = re.findall(r"[a-z]+", file.name.lower())
            for part, names in PARTS.items():
                if any(word in names for word in words):
                    found[part].append(file)
                    break
    return found
