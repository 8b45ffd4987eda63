"""Parquet, through pyarrow, a batch of rows at a time."""

import contextlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rnnlab.core.errors import DataError
from rnnlab.data.formats import base
from rnnlab.data.formats.base import (
    Answered,
    Cell,
    Portion,
    RowFile,
    check_names,
    file_format,
    in_portions,
    refuse_unreadable,
)
from rnnlab.data.formats.source import Source


@file_format(".parquet")
class Parquet(RowFile):
    """It has no lines: rows are counted instead, from 1."""

    def __init__(self, source: Source, names: Sequence[str] | None = None):
        super().__init__(source)
        with self._opened() as file:
            self.schema: Any = file.schema_arrow
        self.columns: tuple[str, ...] = tuple(self.schema.names)
        check_names(self.path, self.columns)

    def portions(self) -> Iterator[Portion]:
        number = 1
        with self._opened() as file:
            for batch in file.iter_batches(batch_size=base.PORTION):
                columns = {name: batch.column(at).to_pylist() for at, name in enumerate(self.columns)}
                yield Portion(range(number, number + len(batch)), columns, {}, batch)
                number += len(batch)

    def typed_columns(self) -> Any:
        """By columns, not by rows: that takes several times as long."""
        with self._opened() as file:
            return file.read()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        arrow = _pyarrow(self.path)
        try:
            where = self.path if self.source.data is None else arrow.BufferReader(self.source.data)
            with arrow.parquet.ParquetFile(where) as file:
                yield file
        except (arrow.ArrowException, OSError, ValueError, NotImplementedError) as error:
            raise DataError("{path}: not a readable Parquet file: {error}", path=self.path, error=error) from None

    def extended(self, suffix: str, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        arrow = _pyarrow(self.path)
        types = [arrow.float64() if kind is float else arrow.string() for kind in added.values()]
        schema = self.schema
        for name, kind in zip(added, types, strict=True):
            schema = schema.append(arrow.field(name, kind))

        def batches() -> Iterator[Any]:
            for portion, cells in answered:
                columns = zip(*cells, strict=True)
                arrays = [arrow.array(column, kind) for column, kind in zip(columns, types, strict=True)]
                yield arrow.RecordBatch.from_arrays([*portion.content.columns, *arrays], schema=schema)

        return _bytes(arrow, schema, batches())

    @classmethod
    def written(cls, suffix: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
        check_names("the columns", columns)
        arrow = _pyarrow("the file")
        schema = arrow.schema([(name, arrow.string()) for name in columns])

        def batches() -> Iterator[Any]:
            for portion in in_portions(rows):
                for row in portion:
                    for column, value in zip(columns, row, strict=True):
                        refuse_unreadable(column, value or "")
                arrays = [arrow.array(values, arrow.string()) for values in zip(*portion, strict=True)]
                yield arrow.RecordBatch.from_arrays(arrays, schema=schema)

        return _bytes(arrow, schema, batches())


def _pyarrow(path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError("{path}: reading Parquet needs pyarrow: pip install 'rnnlab[parquet]'", path=path) from None
    return pyarrow


def _bytes(arrow: Any, schema: Any, batches: Iterable[Any]) -> Iterator[bytes]:
    drain = _Drain()
    with arrow.parquet.ParquetWriter(drain, schema) as writer:
        for batch in batches:
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
