"""Files of rows: one module per format, which reads and writes it; training, predicting and judging share them.

A new format is a module here and its name in `MODULES`; a plugin's registers itself with `base.file_format`; and
`rnnlab.testing.check_format` holds it to the laws."""

import importlib
from collections.abc import Sequence
from pathlib import Path

from rnnlab.core.errors import DataError
from rnnlab.core.registry import load_installed_plugins
from rnnlab.core.words import both
from rnnlab.data.formats.base import FORMATS, RowFile, check_names
from rnnlab.data.formats.source import Source

MODULES = ("delimited", "json_lines", "parquet", "excel", "ts", "plain_text")
PURPOSE = {"texts": " as a table", "numbers": " as series", "": ""}  # what of, in an error


def all_formats() -> list[type[RowFile]]:
    """Those of rnnlab first, in the order in which messages name them."""
    own = [importlib.import_module(f"rnnlab.data.formats.{module}").__name__ for module in MODULES]
    load_installed_plugins()
    return sorted(FORMATS, key=lambda cls: own.index(cls.__module__) if cls.__module__ in own else len(own))


def read_whole(
    path: str | Path | Source, names: Sequence[str] | None = None, *, holding: str = "", held: int | None = None
) -> RowFile:
    """A file to learn from, or to judge, in memory; or one whose bytes are known already. ``names`` are those of its
    columns if it has no header; ``holding`` says what it must be able to hold: "texts" or "numbers". One of more than
    ``held`` bytes stays on the disk."""
    known = path if isinstance(path, Source) else None
    path = path.path if isinstance(path, Source) else path
    cls = format_of(path, holding=holding)
    if names is not None:
        if cls.fixed is not None:
            raise DataError(
                "{path}: a {suffixes} file has no columns; leave out the column names",
                path=path,
                suffixes=cls.suffixes[0],
            )
        if not cls.takes_names:
            raise DataError(
                "{path}: a {suffix} file names its columns itself; leave out the column names",
                path=path,
                suffix=Path(path).suffix,
            )
        check_names(both("{path}: the given columns", path=path), names)
    if known is not None:
        return cls(known, names)
    is_large = held is not None and Path(path).is_file() and Path(path).stat().st_size > held
    return cls(Source.on_disk(path) if is_large else Source.load(path), names)


def open_on_disk(path: str | Path) -> RowFile:
    """A file to answer, row by row, in constant memory."""
    source = Source.on_disk(path)
    return format_of(path, labelled=False)(source)


def format_of(path: str | Path, *, holding: str = "", labelled: bool = True) -> type[RowFile]:
    """The format of a file by the end of its name: one that has labels, or rather one that has none."""
    known = [cls for cls in all_formats() if holding in ("", *cls.holds) and (cls.labelled or not labelled)]
    fitting = {suffix: cls for cls in known for suffix in cls.suffixes}  # plain text is after tables that end so
    suffix = Path(path).suffix.lower()
    if suffix not in fitting:
        supported = ", ".join(fitting)
        raise DataError(
            "{path}: can't read '{suffix}' files{purpose}; supported: {supported}",
            path=path,
            suffix=suffix,
            purpose=PURPOSE[holding],
            supported=supported,
        )
    return fitting[suffix]
