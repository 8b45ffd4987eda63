"""The notebooks of examples/ run from an empty folder, and their cells print what the text around them says. In small
here; in full, as they stand, by make test-long."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from notebooks import BOOKS, NOT_STORED, TIMES, executed, printed, tagged

IN_SMALL = {
    "addition": "SEEDS, UPDATES, HALFWAY = 1, 40, 20",
    "look-inside": "SEEDS, REVIEWS, EPOCHS = 1, 300, 2",
    "your-csv": "ROWS, SEEDS = 400, 2",
}
LARGEST = 300_000  # bytes of a notebook with its outputs
NAMES = [path.stem for path in BOOKS]
SOMEWHERE = re.compile(r"/(home|root|tmp|work|Users|private|var)/|[A-Z]:\\\\")
SHARE = re.compile(r"(\d+(?:\.\d+)?)%")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?")


class Pages:
    """What the cells of an executed notebook show; a cell is found by its code, or by a part that no other has."""

    def __init__(self, book: Any):
        self.cells = [cell for cell in book.cells if cell.cell_type == "code"]

    def cell(self, code: str) -> Any:
        whole = [cell for cell in self.cells if cell.source == code]
        (found,) = whole or [cell for cell in self.cells if code in cell.source]
        return found

    def lines(self, code: str) -> list[str]:
        return printed(self.cell(code)).splitlines()

    def line(self, code: str, beginning: str) -> str:
        (found,) = [line for line in self.lines(code) if line.strip().startswith(beginning)]
        return found

    def shown(self, code: str, kind: str) -> str:
        (output,) = [one for one in self.cell(code).outputs if "data" in one]
        return output["data"][kind]


def book_of(name: str) -> Path:
    (path,) = [path for path in BOOKS if path.stem == name]
    return path


def run(name: str, folder: Path, parameters: str = "") -> Pages:
    book = executed(book_of(name), folder, parameters)
    for cell in book.cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output["text"]
    return Pages(book)


def shares(line: str) -> list[float]:
    return [float(share) for share in SHARE.findall(line)]


def numbers(line: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(line)]


# What holds however little was trained


def check_your_csv(pages: Pages, models: int, seeds: int) -> None:
    assert "text column 'review', label column 'rating'" in pages.lines('compare("reviews.csv"')[0]
    assert "recommended" in pages.lines('compare("reviews.csv"')[-1]
    assert "推荐" in printed(pages.cell("sentence_zh"))
    assert pages.shown("result", "text/html").count("<img") >= 3
    assert "<svg" in pages.shown("seeds.svg", "image/svg+xml")
    scores = [shares(line) for line in pages.lines("turned") if "one seed each" in line]
    assert [len(row) for row in scores] == [seeds + 1] * models
    for *by_seed, mean in scores:
        assert mean == pytest.approx(sum(by_seed) / seeds, abs=0.11)
    turned, of = numbers(pages.lines("turned")[-3])
    first, second = (row[:-1] for row in scores[:2])
    assert of == seeds**2
    assert turned == sum(other >= one for one in first for other in second)
    same = pages.lines("pandas.read_csv")
    assert [line.endswith("the same run: True") for line in same] == [True, True]
    assert shares(pages.line("answer.known", "Ein Meisterwerk"))[-1] == 0  # no word of it is known
    assert pages.lines("model.explain")[0].startswith("answer: ")
    assert any(line.startswith("superb ") for line in pages.lines("model.explain")[1:])
    packed, exported = pages.lines("rnnlab.pack")
    assert packed.endswith("the same answers: True")
    assert exported.startswith(("exported: model.onnx", "not exported: "))


def check_look_inside(pages: Pages) -> None:
    memory = [line.rpartition(" ")[2] for line in pages.lines("inspect_model")]
    plain, half_open, default, open_wide = map(int, memory)
    assert plain <= half_open + 5 < default < open_wide == 100
    for line in pages.lines("layer.bound")[1:]:
        _, norm, bound = numbers(line)
        assert norm <= bound * 1.05  # both are rounded
    whole, parts = (numbers(line)[-1] for line in pages.lines("output for a blank one"))
    assert parts == pytest.approx(whole, abs=0.011 * abs(whole) + 1e-4)
    for figure in ("gradient.svg", "memory-by-epoch.svg"):
        assert "<svg" in pages.shown(figure, "image/svg+xml")
    by_hand, reference, moved, wrong = (numbers(line)[-1] for line in pages.lines("def by_hand")[1:])
    assert max(by_hand, reference) < 1e-12 < moved < 1e-6 < 0.1 < wrong
    assert all(numbers(line)[-1] < 1e-12 for line in pages.lines("torch.nn.LSTM"))


def check_addition(pages: Pages, runs: int) -> None:
    assert [line.rpartition(":")[2].split() for line in pages.lines("steps(123")] == [
        ["3", "2", "1", "0"],
        ["9", "8", "9", "0"],
        ["2", "1", "1", "1"],
    ]
    assert "<svg" in pages.shown("learning.svg", "image/svg+xml")
    tables = pages.lines("def table")
    sizes = [numbers(line) for line in tables if line.startswith("test sums")]
    assert [sum(row) for row in sizes] == [1000] * 4
    asked = [line for code in ("natural = ", "far = ", "shown = ") for line in pages.lines(code)]
    assert [len(shares(line)) for line in asked if "digits  " in line and "by seed" not in line] == [runs] * 20
    answers = pages.lines("answer.remark")
    for line, right in zip(answers, ("1112", "1000000", "12", "42"), strict=True):
        assert (f"= {right} " in line and "right" in line) or f"wrong: {right}" in line


def check(name: str, pages: Pages, *, models: int, seeds: int) -> None:
    match name:
        case "your-csv":
            check_your_csv(pages, models, seeds)
        case "look-inside":
            check_look_inside(pages)
        case "addition":
            check_addition(pages, models * seeds)
        case _:
            pytest.fail(f"nothing is said of what {name} promises")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own making
@pytest.mark.parametrize("name", NAMES)
def test_in_small(name: str, tmp_path: Path):
    pages = run(name, tmp_path, IN_SMALL[name])
    check(name, pages, models=3 if name == "your-csv" else 2, seeds=2 if name == "your-csv" else 1)


# What the text says of a full execution, and whether what is stored is what comes out


def check_lesson(name: str, pages: Pages) -> None:
    if name == "look-inside":
        plain = shares(pages.line("TASK = ", "rnn"))
        assert all(70 < share < 82 for share in plain), "as good as the last number alone"
        assert all(share > 90 for share in shares(pages.line("TASK = ", "lstm")))
        assert all(steps < 39 for steps in numbers(pages.line("inspect_run(run) for", "rnn")))
        assert "all 40 steps" in pages.line("inspect_run(run) for", "lstm")
    if name == "addition":
        scores = [share for label in ("rnn:", "gru:") for share in shares(pages.line("result = compare", label))]
        assert min(scores) > 99, "a perfect or nearly perfect score"
        assert min(shares(pages.line("far = ", "a carry over 64 digits"))) < 90, "that hides something"
        natural, long = shares(pages.lines("shown = ")[-1])
        assert long > natural
    if name == "your-csv":
        spread, difference = (numbers(line)[-1] for line in pages.lines("turned")[-2:])
        assert spread > difference, "one run of each says little"


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_in_full(name: str, tmp_path: Path):
    pages = run(name, tmp_path)
    check(name, pages, models=3 if name == "your-csv" else 2, seeds=3)
    check_lesson(name, pages)
    stored = Pages(nbformat.read(book_of(name), as_version=4))
    if printed(pages.cells[-1]) == printed(stored.cells[-1]):  # the same versions and kernels, so the same bits
        for now, before in zip(pages.cells, stored.cells, strict=True):
            assert printed(now) == printed(before), "stale: python tests/docs/notebooks.py"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored(name: str):
    """Executed in one go, small, and without a word of where."""
    text = book_of(name).read_text(encoding="utf-8")
    assert len(text.encode()) < LARGEST
    assert not SOMEWHERE.search(text)
    assert not TIMES.search(text)
    book = nbformat.read(book_of(name), as_version=4)
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert all(bool(cell.outputs) != tagged(cell, NOT_STORED) for cell in cells if shows(cell))
    assert not any(output.output_type == "error" for cell in cells for output in cell.outputs)


def shows(cell: Any) -> bool:
    """Whether a cell prints something, or ends with what is displayed."""
    return "print(" in cell.source or tagged(cell, NOT_STORED) or "SVG(" in cell.source


@pytest.mark.parametrize("name", NAMES)
def test_every_text_is_there_in_both_languages(name: str):
    for cell in nbformat.read(book_of(name), as_version=4).cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"`[^`]*`|\$\$.*?\$\$|\]\([^)]*\)", "", cell.source, flags=re.DOTALL)
            characters, words = len(re.findall(r"[\u4e00-\u9fff]", prose)), len(re.findall(r"[A-Za-z]+", prose))
            assert 0.8 * words < characters < 3 * words, cell.source


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_readmes_name_them(readme: str):
    text = (BOOKS[0].parents[1] / readme).read_text(encoding="utf-8")
    assert all(f"examples/{name}.ipynb" in text for name in NAMES)
