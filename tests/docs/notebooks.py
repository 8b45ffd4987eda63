"""The notebooks of examples/, executed. As a program it executes them in full and stores what they print and draw:

python tests/docs/notebooks.py [NAME …]
"""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

EXAMPLES = Path(__file__).parents[2] / "examples"
BOOKS = sorted(EXAMPLES.glob("*.ipynb"))
SVG = "image/svg+xml"
TIMES = re.compile(r"; seconds of training: [^;\"]+")  # in what a chart says of its points: no two executions agree
PARAMETERS, NOT_STORED = "parameters", "not-stored"  # tags of cells


def tagged(cell: Any, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


def executed(path: Path, folder: Path, parameters: str = "") -> Any:
    """The notebook with its outputs, computed in a folder of its own. ``parameters`` is code that comes after the cell
    with this tag, and sets what it sets anew."""
    book = nbformat.read(path, as_version=4)
    at = next(number for number, cell in enumerate(book.cells) if tagged(cell, PARAMETERS))
    if parameters:
        book.cells.insert(at + 1, nbformat.v4.new_code_cell(parameters))
    client = nbclient.NotebookClient(
        book,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": folder}},
    )
    client.execute()
    return book


def printed(cell: Any) -> str:
    return "".join(output["text"] for output in cell.get("outputs", []) if output.get("name") == "stdout")


def store(path: Path, book: Any) -> None:
    """With the outputs, but those of cells that are tagged, and nothing that says where it was executed or how fast."""
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in book.cells:
        if tagged(cell, NOT_STORED):
            cell.outputs = []
        for output in cell.get("outputs", []):
            if SVG in output.get("data", {}):
                output.data[SVG] = TIMES.sub("", output.data[SVG])
    path.write_text(nbformat.writes(book) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for path in [book for book in BOOKS if book.stem in sys.argv[1:] or not sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder:
            store(path, executed(path, Path(folder)))
