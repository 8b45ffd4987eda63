"""Parquet, batch by batch."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rnnlab.core.errors import DataError
from rnnlab.data.cells import check_names
from rnnlab.data.tables import tabulate
from rnnlab.use import rows as of_rows
from rnnlab.use.rows import Answered, Portion, RowFile, cell_text, text_column


class Parquet(RowFile):
    """Through pyarrow, a batch of rows at a time."""

    def __init__(self, path: str | Path, column: str | None):
        super().__init__(path)
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'rnnlab[parquet]'") from None
        self.arrow: Any = pyarrow
        try:
            self.schema = pyarrow.parquet.read_schema(self.path)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{path}: not a readable Parquet file: {error}") from None
        check_names(str(path), self.schema.names)
        self.columns = tuple(self.schema.names)
        first = next(self._batches(None), None)
        rows = [] if first is None else [(number, row) for number, row in enumerate(first.to_pylist(), 1)]
        if not rows:
            raise DataError(f"{path}: there are no rows")
        self.text = text_column(tabulate(self.path, b"", rows), column)
        self._count()

    def _batches(self, columns: list[str] | None) -> Iterator[Any]:
        try:
            with self.arrow.parquet.ParquetFile(self.path) as file:
                yield from file.iter_batches(batch_size=of_rows.PORTION, columns=columns)
        except (self.arrow.ArrowException, OSError, ValueError, NotImplementedError) as error:
            raise DataError(f"{self.path}: not a readable Parquet file: {error}") from None

    def portions(self) -> Iterator[Portion]:
        number = 0
        for batch in self._batches(None):
            told = [cell_text(self.path, value) for value in batch.column(self.columns.index(self.text)).to_pylist()]
            problems = {at: problem for at, (_, problem) in enumerate(told) if problem}
            lines = list(range(number + 1, number + len(told) + 1))
            number += len(told)
            yield Portion(lines, [text for text, _ in told], problems, batch)

    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        arrow = self.arrow
        types = [arrow.float64() if kind is float else arrow.string() for kind in added.values()]
        schema = self.schema
        for name, kind in zip(added, types, strict=True):
            schema = schema.append(arrow.field(name, kind))
        drain = _Drain()
        with arrow.parquet.ParquetWriter(drain, schema) as writer:
            for portion, cells in answered:
                columns = zip(*cells, strict=True)
                arrays = [arrow.array(column, kind) for column, kind in zip(columns, types, strict=True)]
                batch = arrow.RecordBatch.from_arrays([*portion.content.columns, *arrays], schema=schema)
                writer.write_batch(batch)
                yield drain.taken()
        yield drain.taken()


class _Drain(io.RawIOBase):
    """A file whose bytes are taken away as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []
        self.length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.parts.append(bytes(data))
        self.length += len(self.parts[-1])
        return len(self.parts[-1])

    def tell(self) -> int:
        return self.length

    def taken(self) -> bytes:
        parts, self.parts = self.parts, []
        return b"".join(parts)
