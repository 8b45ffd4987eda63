"""The published data sets: what each is, where it comes from, and how its files are read."""

import csv
import hashlib
import io
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.files import write_atomically
from rnnlab.core.words import note
from rnnlab.data import tables
from rnnlab.data.download import unpack
from rnnlab.data.examples import Examples
from rnnlab.data.formats.base import BadRow
from rnnlab.data.pairs import read_pairs
from rnnlab.data.passages import read_passages
from rnnlab.data.reading import read_examples
from rnnlab.data.sound.mel import LogMel
from rnnlab.data.sound.names import Where
from rnnlab.data.sound.recordings import read_recordings
from rnnlab.data.tagged.finding import has_tags, parts_of
from rnnlab.data.tagged.reading import read_sentences
from rnnlab.runs.directory import sha256_of


@dataclass(frozen=True)
class Download:
    """A file of the publisher's, and the data files that come of it."""

    url: str
    files: tuple[str, ...]
    unpack: Callable[[Path, Path], None] | None = None  # (archive, folder); None: the download is the data file
    sha256: str | None = None  # None: nobody we can cite has published one
    size: int | None = None


@dataclass(frozen=True)
class SoundArchive:
    """Recordings as they are published: which file has them, what their names tell, and which are for the test."""

    file: str
    pattern: str
    test_where: str


@dataclass(frozen=True)
class Entry:
    """A data set, and all that a person should know before using it."""

    name: str
    title: str
    description: str
    languages: tuple[str, ...]  # empty for numeric sequences
    rows: Mapping[str, int]  # as published, by split
    licence: str
    citation: str
    homepage: str
    folder: str  # under $RNNLAB_DATA
    files: tuple[str, ...]
    read: Callable[[Path], dict[str, Examples]]
    optional: tuple[str, ...] = ()  # files that are read if they are there
    downloads: tuple[Download, ...] = ()  # empty: the publisher wants an account
    tested: Mapping[str, str] = field(default_factory=dict)  # file → SHA-256 of our copy
    read_phrases: Callable[[Path], Examples] | None = None  # the training rows where parts of them have labels, too
    task: str = "classify"  # what is asked of it, unless somebody says otherwise
    sound: SoundArchive | None = None  # of recordings


# How each set is read


def _read_movie_reviews(folder: Path) -> dict[str, Examples]:
    """Phrases. Those of one sentence overlap, so the sentence is their group."""
    table = tables.read(folder / "train.tsv")
    train = _phrases(table, _column(table, "Sentiment"), table.digest)
    if not all((folder / file).is_file() for file in ("test.tsv", "test_labels_from_sst.tsv")):
        lacking = note(
            "no test set: {file} has no labels of its own, and {other} isn't beside it",
            file="test.tsv",
            other="test_labels_from_sst.tsv",
        )
        return {"train": replace(train, notes=(*train.notes, lacking))}
    table, labels = tables.read(folder / "test.tsv"), tables.read(folder / "test_labels_from_sst.tsv")
    label_of = dict(zip(_column(labels, "PhraseId"), _column(labels, "Sentiment"), strict=True))
    digest = hashlib.sha256(f"{table.digest} {labels.digest}".encode()).hexdigest()
    test = _phrases(table, [label_of.get(phrase, "") for phrase in _column(table, "PhraseId")], digest)
    shared = set(train.groups or ()) & set(test.groups or ())
    if shared:
        raise DataError(
            "{folder}: sentence {sentence} stands in train.tsv and in test.tsv", folder=folder, sentence=min(shared)
        )
    return {"train": train, "test": test}


def _phrases(table: tables.Table, labels: Sequence[str], digest: str) -> Examples:
    """Rows with a text and a label; the others (the publisher left one blank in each file) are named in a note."""
    texts, phrases = _column(table, "Phrase"), _column(table, "PhraseId")
    sentences = _column(table, "SentenceId")
    kept: list[int] = []
    skipped: list[BadRow] = []
    notes = list(table.notes)
    for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
        line = int(table.lines[row])
        missing = note("no text and no label") if not text.strip() and not label else ""
        missing = missing or (note("no text") if not text.strip() else "" if label else note("no label"))
        if missing:
            skipped.append(BadRow(line, missing))
            said = note(
                "phrase {phrase} (line {line}) is left out: {reason}", phrase=phrases[row], line=line, reason=missing
            )
            notes.append(said)
        elif label not in ("0", "1", "2", "3", "4"):
            raise DataError(
                "{path}:{line}: the label of phrase {phrases} is {label!r}, not one of 0 to 4",
                path=table.path,
                line=line,
                phrases=phrases[row],
                label=label,
            )
        else:
            kept.append(row)
    return Examples(
        source=table.path,
        labels=[labels[row] for row in kept],
        texts=[texts[row] for row in kept],
        groups=[sentences[row] for row in kept],
        lines=table.lines[kept],
        digest=digest,
        skipped=tuple(skipped),
        notes=tuple(notes),
    )


def _column(table: tables.Table, name: str) -> Sequence[str]:
    if table.bad:
        raise DataError("{path}:{line}: {reason}", path=table.path, line=table.bad[0].line, reason=table.bad[0].reason)
    if name not in table.values:
        raise DataError(
            "{path}: no column '{name}', only {names}", path=table.path, name=name, names=", ".join(table.values)
        )
    return table.values[name]


def _read_sst(folder: Path) -> dict[str, Examples]:
    """Whole sentences with the label at the root of their tree."""
    return {split: _sentences(folder / f"{file}.txt") for split, file in _TRAIN_DEV_TEST.items()}


def _sentences(path: Path) -> Examples:
    trees = [_read_tree(path, number, line) for number, line in enumerate(_lines(path), 1)]
    return Examples(
        source=str(path),
        labels=[label for label, _ in trees],
        texts=[" ".join(words) for _, words in trees],
        lines=np.arange(1, len(trees) + 1),
        digest=sha256_of(path),
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        raise DataError("{path}: not UTF-8 (byte {start})", path=path, start=error.start) from None


def _read_sst_phrases(folder: Path) -> Examples:
    """Every labelled subtree of the training trees, whole sentences included, each phrase once: the official protocol,
    which is still validated and tested on whole sentences."""
    path = folder / "train.txt"
    first: dict[tuple[str, str], int] = {}  # (text, label) → the line of its first tree
    sentences = _sentences(path)
    for number, line in enumerate(_lines(path), 1):
        for label, words in _subtrees(line):
            first.setdefault((" ".join(words), label), number)
    return replace(
        sentences,
        labels=[label for _, label in first],
        texts=[text for text, _ in first],
        lines=np.array(list(first.values())),
        notes=(
            note(
                "trained on {phrases:,} phrases, the distinct subtrees of {sentences:,} sentences; validated and "
                "tested on whole sentences",
                phrases=len(first),
                sentences=len(sentences),
            ),
        ),
    )


def _subtrees(line: str) -> Iterator[tuple[str, list[str]]]:
    """``(3 (2 It) (3 works))`` → ``("2", ["It"])``, ``("3", ["works"])``, ``("3", ["It", "works"])``; of a tree that
    `_read_tree` takes."""
    words: list[str] = []
    open_nodes: list[tuple[str, int]] = []  # the label of each, and how many words stand before it
    for piece in _PIECE.findall(line):
        if piece.startswith("("):
            open_nodes.append((piece[1], len(words)))
        elif piece == ")":
            label, start = open_nodes.pop()
            yield label, words[start:]
        else:
            words.append(_unescape(piece))


_PIECE = re.compile(r"\([0-4]|\)|[^ ()]+")
_LEAF = re.compile(r"\([0-4] ([^ ()\0]+)\)")
_NODE = re.compile(r"\([0-4](?: \0)+\)")  # a node whose children were all read


def _read_tree(path: Path, number: int, line: str) -> tuple[str, list[str]]:
    """``(3 (2 It) (3 (3 works) (2 .)))`` → ``("3", ["It", "works", "."])``, read from the leaves inwards."""
    before, rest = line, _LEAF.sub("\0", line)
    while rest not in ("\0", before):
        before, rest = rest, _NODE.sub("\0", rest)
    if rest != "\0" or "\0" in line:
        found = rest.replace("\0", "…")[:60]
        raise DataError(
            "{path}:{number}: not a tree like (3 (2 It) (3 (3 works) (2 .))), with labels 0 to 4: {found}",
            path=path,
            number=number,
            found=found,
        )
    return line[1], [_unescape(word) for word in _LEAF.findall(line)]


def _unescape(word: str) -> str:
    """The Penn Treebank's way of writing brackets and slashes, undone."""
    return _BRACKETS.get(word) or word.replace("\\/", "/").replace("\\*", "*")


_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def _read_imdb(folder: Path) -> dict[str, Examples]:
    return {split: read_examples(folder / f"{split}.csv", text="text", label="label") for split in ("train", "test")}


def _pack_imdb(archive: Path, folder: Path) -> None:
    """One file a review → ``train.csv`` and ``test.csv``, negative reviews first. Nothing else leaves the archive."""
    rows: dict[str, list[tuple[int, int, int, str]]] = {"train": [], "test": []}
    try:
        with tarfile.open(archive, "r|gz") as opened:
            for member in opened:
                name = _REVIEW.fullmatch(member.name)
                file = opened.extractfile(member) if name and member.isfile() else None
                if name and file:
                    split, kind, number, rating = name.groups()
                    rows[split].append((int(kind == "pos"), int(number), int(rating), file.read().decode()))
    except (tarfile.TarError, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(
            "{archive}: not the archive of reviews that it should be ({error}); delete it", archive=archive, error=error
        ) from None
    for split, found in rows.items():
        if not found:
            raise DataError(
                "{archive}: holds no reviews like aclImdb/{split}/pos/0_9.txt", archive=archive, split=split
            )
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(("id", "rating", "label", "text"))
        writer.writerows((number, rating, label, review) for label, number, rating, review in sorted(found))
        write_atomically(folder / f"{split}.csv", text.getvalue())


_REVIEW = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d{1,6})_(\d{1,2})\.txt")


def _read_thucnews(folder: Path) -> dict[str, Examples]:
    """Titles; the number of a class is its line in class.txt."""
    classes = tables.read(folder / "class.txt", columns=("class",))
    names = _column(classes, "class")
    splits = {}
    for split, file in _TRAIN_DEV_TEST.items():
        path = folder / f"{file}.txt"
        found = read_examples(path, text="title", label="class", columns=("title", "class"))
        name_of = {str(number): name.strip() for number, name in enumerate(names)}
        unknown = next((row for row, label in enumerate(found.labels) if label not in name_of), None)
        if unknown is not None:
            line = "" if found.lines is None else f":{found.lines[unknown]}"
            raise DataError(
                "{path}{line}: class {labels!r} isn't a line of class.txt",
                path=path,
                line=line,
                labels=found.labels[unknown],
            )
        digest = hashlib.sha256(f"{found.digest} {classes.digest}".encode()).hexdigest()
        splits[split] = replace(found, labels=[name_of[label] for label in found.labels], digest=digest)
    return splits


_EWT_FILES = tuple(f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test"))
_TRAIN_DEV_TEST = {"train": "train", "valid": "dev", "test": "test"}


def _read_spoken_digits(folder: Path) -> dict[str, Examples]:
    """As frames of the usual kind; the task `speech` hears them as it is told to."""
    known = ENTRIES["fsdd"].sound
    assert known is not None
    found = read_recordings(folder / known.file, LogMel().frames, pattern=known.pattern)
    where = Where(known.test_where)
    tested = np.array(where.holds(found.column(where.field, "test_where")), bool)
    return {
        split: Examples(
            source=str(folder / known.file),
            labels=[found.labels[row] for row in np.flatnonzero(rows)],
            series=[found.heard[row] for row in np.flatnonzero(rows)],
            tags=[found.fields["speaker"][row] for row in np.flatnonzero(rows)],
        )
        for split, rows in (("train", ~tested), ("test", tested))
    }


def _read_tagged(folder: Path) -> dict[str, Examples]:
    """Sentences as texts; the task `tag` reads tokens and tags by itself."""
    found = {}
    for split, path in parts_of(folder).items():
        rows = read_sentences(path, tagged=has_tags(path))
        texts = [" ".join(rows.tokens_of(row)) for row in range(len(rows))]
        labels = [" ".join(rows.tags_of(row)) for row in range(len(rows))]
        found[split] = Examples(str(path), labels, texts=texts, lines=rows.lines, digest=rows.digest)
    return found


def _read_running_text(folder: Path) -> dict[str, Examples]:
    """One row; the task `language-model` reads and divides the text by itself."""
    [path] = folder.glob("*.txt")
    return {"train": Examples(str(path), [""], texts=list(read_passages(path).texts))}


def _read_pairs(folder: Path) -> dict[str, Examples]:
    """Each translation as the label of its text; the task `translate` reads pairs by itself."""
    [path] = folder.glob("*.txt")
    pairs = read_pairs(path, source=1, target=2)
    return {"train": Examples(str(path), list(pairs.written), texts=list(pairs.texts), notes=pairs.notes)}


def _uea(problem: str) -> Callable[[Path], dict[str, Examples]]:
    """A reader of one problem of the UEA archive."""
    return lambda folder: {
        split: read_examples(folder / f"{problem}_{split.upper()}.ts") for split in ("train", "test")
    }


def _members(files: Mapping[str, str]) -> Callable[[Path, Path], None]:
    """An unpacker that takes these members from a ZIP archive: ``{file: member}``."""
    return lambda archive, folder: unpack(archive, files, folder)


# The data sets

_SST_FILES = ("train.txt", "dev.txt", "test.txt")
_THUCNEWS_FILES = ("train.txt", "dev.txt", "test.txt", "class.txt")
_VOWELS_FILES = ("JapaneseVowels_TRAIN.ts", "JapaneseVowels_TEST.ts")
_MOTIONS_FILES = ("BasicMotions_TRAIN.ts", "BasicMotions_TEST.ts")
_UEA_CITATION = "Bagnall et al. 2018, The UEA multivariate time series classification archive, arXiv:1811.00075"

ENTRIES = {
    found.name: found
    for found in (
        Entry(
            name="movie-reviews",
            title="Sentiment Analysis on Movie Reviews",
            description="phrases of Rotten Tomatoes sentences, from 0 (negative) to 4 (positive)",
            languages=("en",),
            rows={"train": 156_060, "test": 66_292},
            licence="research use",
            citation="Socher et al. 2013, Recursive deep models for semantic compositionality, EMNLP; Kaggle 2014",
            homepage="https://www.kaggle.com/c/sentiment-analysis-on-movie-reviews/data",
            folder="movie-reviews",
            files=("train.tsv",),
            optional=("test.tsv", "test_labels_from_sst.tsv"),
            read=_read_movie_reviews,
            tested={
                "train.tsv": "b59d3b8ab798d0d4f2469932e32ebfa89c9efd0dd2989aa34437c93004974bee",
                "test.tsv": "76a0d0337b4da8d02bbce9c43bc6519515d186c9f6ba768838106fd017952f41",
                "test_labels_from_sst.tsv": "a800ca901fef03886ea77e8b5a776c5c2327a48dc71d45d4d24ad8fc1df96591",
            },
        ),
        Entry(
            name="sst",
            title="Stanford Sentiment Treebank",
            description="whole sentences of movie reviews, from 0 (very negative) to 4 (very positive)",
            languages=("en",),
            rows={"train": 8_544, "valid": 1_101, "test": 2_210},
            licence="research use",
            citation="Socher et al. 2013, Recursive deep models for semantic compositionality, EMNLP",
            homepage="https://nlp.stanford.edu/sentiment/",
            folder="sst",
            files=_SST_FILES,
            read=_read_sst,
            read_phrases=_read_sst_phrases,
            downloads=(
                Download(
                    "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
                    _SST_FILES,
                    _members({file: f"trees/{file}" for file in _SST_FILES}),
                    # the sum that Hugging Face Datasets and Flux's model zoo both recorded
                    sha256="5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
                    size=789_539,
                ),
            ),
            tested={
                "train.txt": "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7",
                "dev.txt": "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40",
                "test.txt": "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761",
            },
        ),
        Entry(
            name="imdb",
            title="Large Movie Review Dataset",
            description="whole film reviews, 0 (negative) or 1 (positive)",
            languages=("en",),
            rows={"train": 25_000, "test": 25_000},
            licence="none stated; cite the paper",
            citation="Maas et al. 2011, Learning word vectors for sentiment analysis, ACL",
            homepage="https://ai.stanford.edu/~amaas/data/sentiment/",
            folder="imdb",
            files=("train.csv", "test.csv"),
            read=_read_imdb,
            downloads=(
                Download(
                    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                    ("train.csv", "test.csv"),
                    _pack_imdb,
                    # the sum that TensorFlow Datasets and Hugging Face Datasets both recorded
                    sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
                    size=84_125_825,
                ),
            ),
        ),
        Entry(
            name="thucnews",
            title="THUCNews titles",
            description="titles of Sina news in ten classes",
            languages=("zh",),
            rows={"train": 180_000, "valid": 10_000, "test": 10_000},
            licence="research use",
            citation="Sun et al. 2016, THUCTC: an efficient Chinese text classifier",
            homepage="https://github.com/649453932/Chinese-Text-Classification-Pytorch",
            folder="thucnews",
            files=_THUCNEWS_FILES,
            read=_read_thucnews,
            downloads=tuple(
                Download(
                    "https://raw.githubusercontent.com/649453932/Chinese-Text-Classification-Pytorch"
                    f"/master/THUCNews/data/{file}",
                    (file,),
                )
                for file in _THUCNEWS_FILES
            ),
            tested={  # of train.txt, our copy is only a half: there is no sum for the whole
                "dev.txt": "6ed73aa2c57ee1560c8f76570d48735c4b1c29ae4983fe3523d56e115813e175",
                "test.txt": "ebecc8c896635ad69730083ca7b81d37c42c9a5779bc05c9d2479d894e34f026",
                "class.txt": "005e8813ad639c219e5902dc84889202b4a717b4238497d26c3fbd5e43927a86",
            },
        ),
        Entry(
            name="japanese-vowels",
            title="Japanese Vowels",
            description="nine speakers saying two vowels: 12 channels, 7 to 29 steps",
            languages=(),
            rows={"train": 270, "test": 370},
            licence="redistributable",
            citation=f"Kudo, Toyama and Shimbo 1999, Pattern Recognition Letters 20; {_UEA_CITATION}",
            homepage="https://www.timeseriesclassification.com/description.php?Dataset=JapaneseVowels",
            folder="uea",
            files=_VOWELS_FILES,
            read=_uea("JapaneseVowels"),
            downloads=(
                Download(
                    "https://www.timeseriesclassification.com/aeon-toolkit/JapaneseVowels.zip",
                    _VOWELS_FILES,
                    _members({file: file for file in _VOWELS_FILES}),
                ),
            ),
            tested={
                "JapaneseVowels_TRAIN.ts": "68a430eabd919cc77f40b1f5f3bc0dcafacc1486bca9260785aeb7d262cc78cd",
                "JapaneseVowels_TEST.ts": "b3d41d6a0ca3bcad3afb9ca7d4365382aa51341e2e58bae2a574babdda5b9462",
            },
        ),
        Entry(
            name="basic-motions",
            title="Basic Motions",
            description="four activities recorded by a smart watch: 6 channels, 100 steps",
            languages=(),
            rows={"train": 40, "test": 40},
            licence="redistributable",
            citation=_UEA_CITATION,
            homepage="https://www.timeseriesclassification.com/description.php?Dataset=BasicMotions",
            folder="uea",
            files=_MOTIONS_FILES,
            read=_uea("BasicMotions"),
            downloads=(
                Download(
                    "https://www.timeseriesclassification.com/aeon-toolkit/BasicMotions.zip",
                    _MOTIONS_FILES,
                    _members({file: file for file in _MOTIONS_FILES}),
                ),
            ),
            tested={
                "BasicMotions_TRAIN.ts": "8dc43cc6306cb679c888c01e26f91772ac4441a916da43bac8b79734a538b9d6",
                "BasicMotions_TEST.ts": "79213102bc6fca1a398ad98ce1185dff0208fa3d1465e687f48288946b0ff8dc",
            },
        ),
        Entry(
            name="ud-english-ewt",
            title="UD English EWT",
            description="English web texts, a part of speech for every word",
            languages=("en",),
            rows={"train": 12_544, "valid": 2_001, "test": 2_077},
            licence="CC BY-SA 4.0",
            citation="Silveira et al. 2014, A gold standard dependency corpus for English",
            homepage="https://github.com/UniversalDependencies/UD_English-EWT",
            folder="ud-english-ewt",
            files=_EWT_FILES,
            read=_read_tagged,
            downloads=tuple(
                Download(
                    f"https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/master/{file}", (file,)
                )
                for file in _EWT_FILES
            ),
            tested={
                "en_ewt-ud-train.conllu": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
                "en_ewt-ud-dev.conllu": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
                "en_ewt-ud-test.conllu": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
            },
            task="tag",
        ),
        Entry(
            name="resume-ner",
            title="Resume NER",
            description="Chinese résumés, entities of eight types marked on characters",
            languages=("zh",),
            rows={"train": 3_821, "valid": 463, "test": 477},
            licence="research use",
            citation="Zhang and Yang 2018, Chinese NER using Lattice LSTM",
            homepage="https://github.com/jiesutd/LatticeLSTM",
            folder="resume-ner",
            files=("train.bmes", "dev.bmes", "test.bmes"),
            read=_read_tagged,
            downloads=tuple(
                Download(
                    f"https://raw.githubusercontent.com/jiesutd/LatticeLSTM/master/ResumeNER/{part}.char.bmes",
                    (f"{part}.bmes",),
                )
                for part in ("train", "dev", "test")
            ),
            tested={
                "train.bmes": "93b9bb0be5dd4730121587f9dc1378de3fbbe55cba1c575edec271f822c27be7",
                "dev.bmes": "1b0d67153e6e8543e9444936ed1b107bd843078c282533898085e1a9aa293952",
                "test.bmes": "c4a9f42622819a4b59f66e184d446ebfa89b2f1dbba06e11d70675e59fe7e79b",
            },
            task="tag",
        ),
        Entry(
            name="cluener",
            title="CLUENER 2020",
            description="Chinese news, entities of ten types as spans; the test rows have no labels",
            languages=("zh",),
            rows={"train": 10_748, "valid": 1_343, "test": 1_345},
            licence="research use",
            citation="Xu et al. 2020, CLUENER2020: fine-grained named entity recognition for Chinese",
            homepage="https://github.com/CLUEbenchmark/CLUENER2020",
            folder="cluener",
            files=("train.jsonl", "dev.jsonl", "test.jsonl"),
            read=_read_tagged,
            downloads=(
                Download(
                    "https://storage.googleapis.com/cluebenchmark/tasks/cluener_public.zip",
                    ("train.jsonl", "dev.jsonl", "test.jsonl"),
                    lambda archive, folder: unpack(
                        archive, {f"{part}.jsonl": f"{part}.json" for part in ("train", "dev", "test")}, folder
                    ),
                ),
            ),
            tested={
                "train.jsonl": "60299d202779dc84f3c3bd81f4dc08f5323d0dbf762cb50cd62dd51aa9a871f8",
                "dev.jsonl": "90036b59832e007c45d11eafe5ed80549f58a18a29aaa7fe8b1229622c69ec38",
                "test.jsonl": "5ca36f6fbe29230a6e3244110fcd9487fc2f5a672f5bfeba82a30f0ece72aa69",
            },
            task="tag",
        ),
        Entry(
            name="fsdd",
            title="Free Spoken Digit Dataset",
            description="six speakers saying the digits 0 to 9 in English, fifty times each",
            languages=("en",),
            rows={"train": 2_700, "test": 300},
            licence="CC BY-SA 4.0",
            citation="Jackson et al. 2018, Free Spoken Digit Dataset v1.0.8, Zenodo 1342401",
            homepage="https://github.com/Jakobovski/free-spoken-digit-dataset",
            folder="fsdd",
            files=("recordings.tar.gz",),
            read=_read_spoken_digits,
            downloads=(
                Download(
                    "https://github.com/Jakobovski/free-spoken-digit-dataset/archive/refs/tags/v1.0.10.tar.gz",
                    ("recordings.tar.gz",),
                    lambda archive, folder: write_atomically(folder / "recordings.tar.gz", archive.read_bytes()),
                ),
            ),
            tested={"recordings.tar.gz": "f19814a642af455d727161c83a4178f271707ee978e3dd1cf2cf40209f6deb84"},
            task="speech",
            sound=SoundArchive("recordings.tar.gz", "{label}_{speaker}_{n}.wav", "n<5"),
        ),
        Entry(
            name="tiny-shakespeare",
            title="Tiny Shakespeare",
            description="plays of Shakespeare in one text of 1.1 million characters, to be continued",
            languages=("en",),
            rows={"train": 1},
            licence="public domain",
            citation="Karpathy 2015, The Unreasonable Effectiveness of Recurrent Neural Networks",
            homepage="https://github.com/karpathy/char-rnn",
            folder="tiny-shakespeare",
            files=("input.txt",),
            read=_read_running_text,
            downloads=(
                Download(
                    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
                    ("input.txt",),
                ),
            ),
            tested={"input.txt": "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"},
            task="language-model",
        ),
        Entry(
            name="war-and-peace",
            title="War and Peace",
            description="Tolstoy's novel in English, one text of 3.2 million characters, to be continued",
            languages=("en",),
            rows={"train": 1},
            licence="public domain",
            citation="Tolstoy 1869, War and Peace, translated by Louise and Aylmer Maude",
            homepage="https://www.gutenberg.org/ebooks/2600",
            folder="war-and-peace",
            files=("warandpeace.txt",),
            read=_read_running_text,
            downloads=(
                Download(
                    "https://www.gutenberg.org/files/2600/2600-0.txt",
                    ("warandpeace.txt",),
                    lambda fetched, folder: write_atomically(folder / "warandpeace.txt", fetched.read_bytes()),
                ),
            ),
            tested={"warandpeace.txt": "bf5b273d9246268f96663c43c00a1055ae2e42c2262be32f7e43b48dd123451a"},
            task="language-model",
        ),
        Entry(
            name="tatoeba-eng-cmn",
            title="Tatoeba, English–Chinese",
            description="short English sentences and their Chinese translations, simplified and traditional",
            languages=("en", "zh"),
            rows={"train": 28_447},
            licence="CC BY 2.0 FR",
            citation="Tatoeba, tatoeba.org; selected by Charles Kelly, manythings.org",
            homepage="https://www.manythings.org/anki/",
            folder="tatoeba-eng-cmn",
            files=("cmn.txt",),
            read=_read_pairs,
            downloads=(
                Download(
                    "https://www.manythings.org/anki/cmn-eng.zip",
                    ("cmn.txt",),
                    lambda archive, folder: unpack(archive, {"cmn.txt": "cmn.txt"}, folder),
                ),
            ),
            tested={"cmn.txt": "3a8ac6cb8cdaab6e235d3075ec3680084044d975882d6139c903bf7893097ff6"},
            task="translate",
        ),
    )
}
