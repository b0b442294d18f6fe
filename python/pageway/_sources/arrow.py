"""Columns of Arrow: Parquet files, data sets, tables, readers, and what speaks Arrow's C stream."""

from __future__ import annotations

import os
from typing import Any, Iterator, List, Optional, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError, NotFoundError
from .batches import BATCH_ROWS_MAX, Batch, Batches, library, rows_per_batch


class Columns:
    """Which columns hold the vectors and the ids."""

    def __init__(
        self, schema: Any, name: str, column: Optional[str], id_column: Optional[str]
    ) -> None:
        types = library("pyarrow.types", name)
        self.name, self.ids = name, id_column
        names = list(schema.names)
        for wish in (column, id_column):
            if wish is not None and wish not in names:
                raise InvalidInputError(f"{name}: no column {wish!r}; there are {_listed(names)}")
        lists = [field.name for field in schema if _is_list(types, field.type)]
        numbers = [field.name for field in schema if _is_number(types, field.type)]
        components = [other for other in numbers if other != id_column]
        if column is not None:
            self.vectors = [column]
        elif len(lists) == 1:
            self.vectors = lists
        elif lists:
            raise InvalidInputError(
                f"{name}: columns {_listed(lists)} hold lists; say which are the vectors: "
                f"column={lists[0]!r}"
            )
        elif components and len(components) + (id_column is not None) == len(names):
            self.vectors = components
        else:
            kinds = ", ".join(f"{field.name} ({field.type})" for field in schema)
            raise InvalidInputError(
                f"{name}: no column holds lists of numbers; there are {kinds}. Name the column of "
                "the vectors with column="
            )
        self.stacked = column is None and not lists

    @property
    def wanted(self) -> List[str]:
        """The columns to read."""
        ids = [] if self.ids is None else [self.ids]
        return [*self.vectors, *(other for other in ids if other not in self.vectors)]

    def batch(self, record_batch: Any, first_row: int) -> Batch:
        """The rows of a record batch, which begins at `first_row` of all."""
        columns = [record_batch.column(column) for column in self.vectors]
        names = [f"{self.name}, column {column!r}" for column in self.vectors]
        if self.stacked:
            parts = [_values(*pair, first_row) for pair in zip(columns, names)]
            vectors = np.column_stack(parts)
        else:
            vectors = list_rows(columns[0], names[0], first_row)
        if self.ids is None:
            return Batch(vectors)
        name = f"{self.name}, column {self.ids!r}"
        return Batch(vectors, _values(record_batch.column(self.ids), name, first_row))


def list_rows(array: Any, name: str, first_row: int = 0) -> npt.NDArray[Any]:
    """Lists of one length as rows; values are not copied where Arrow need not."""
    array = getattr(array, "storage", array)
    if array.null_count:
        row = first_row + first_null(array)
        raise InvalidInputError(f"{name}: row {row} is null; leave rows without a vector out")
    if not hasattr(array, "flatten") or not hasattr(array.type, "value_type"):
        raise InvalidInputError(
            f"{name}: holds {array.type}; vectors come as lists of numbers, one per row"
        )
    values, length = array.flatten(), _length(array, name, first_row)
    if values.null_count:
        row, component = divmod(first_null(values), length)
        raise InvalidInputError(f"{name}: row {first_row + row}, component {component} is null")
    numbers: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return numbers.reshape(len(array), length)


def first_null(array: Any) -> int:
    """The place of the first null of an array, or of chunks of one, that has some."""
    return int(np.flatnonzero(np.asarray(array.is_null()))[0])


def _length(array: Any, name: str, first_row: int) -> int:
    """Components of every list."""
    fixed = getattr(array.type, "list_size", None)
    if fixed is not None:
        return int(fixed)
    lengths = np.diff(np.asarray(array.offsets))
    if not len(lengths):
        return 0
    wrong = np.flatnonzero(lengths != lengths[0])
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInputError(
            f"{name}: row {first_row + row} has {lengths[row]} components, the rows before it have "
            f"{lengths[0]}"
        )
    return int(lengths[0])


def _values(array: Any, name: str, first_row: int) -> Any:
    """Values of a column, UUIDs as a list; nulls would become floats without a word."""
    if array.null_count:
        raise InvalidInputError(f"{name}: row {first_row + first_null(array)} is null")
    if getattr(array.type, "extension_name", None) == "arrow.uuid":
        return array.to_pylist()
    return array.to_numpy(zero_copy_only=False)


def _is_list(types: Any, kind: Any) -> bool:
    kind = getattr(kind, "storage_type", kind)
    checks = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if not any(check(kind) for check in checks):
        return False
    return _is_number(types, kind.value_type) or bool(types.is_boolean(kind.value_type))


def _is_number(types: Any, kind: Any) -> bool:
    return bool(types.is_floating(kind) or types.is_integer(kind))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)


def stream(reader: Any, columns: Columns, rows: int = BATCH_ROWS_MAX) -> Iterator[Batch]:
    """The batches of a reader of record batches, long ones in pieces."""
    first_row = 0
    for record_batch in reader:
        for start in range(0, record_batch.num_rows, rows):
            piece = record_batch.slice(start, rows)
            yield columns.batch(piece, first_row)
            first_row += piece.num_rows


def from_table(
    table: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Batches:
    """A table, or a record batch, in memory."""
    columns = Columns(table.schema, name, column, id_column)
    if not hasattr(table, "to_batches"):
        return Batches(lambda: stream([table], columns), name, table.num_rows)
    return Batches(lambda: stream(table.to_batches(), columns), name, table.num_rows)


def from_reader(
    reader: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Batches:
    """A reader of record batches; it can be read once."""
    columns = Columns(reader.schema, name, column, id_column)
    return Batches(lambda: stream(reader, columns), name)


def from_dataset(
    source: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Batches:
    """A data set of pyarrow: read without reading ahead, so that little is held."""
    columns = Columns(source.schema, name, column, id_column)

    def read() -> Iterator[Batch]:
        batches = source.to_batches(
            columns=columns.wanted,
            batch_size=BATCH_ROWS_MAX,
            batch_readahead=1,
            fragment_readahead=1,
        )
        return stream(batches, columns)

    return Batches(read, name, source.count_rows())


def from_scanner(
    scanner: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Batches:
    """A scanner of a data set, with the filter and the columns that it was given."""
    columns = Columns(scanner.projected_schema, name, column, id_column)
    return Batches(lambda: stream(scanner.to_batches(), columns), name)


def from_parquet(
    paths: Sequence[str], column: Optional[str], id_column: Optional[str]
) -> Batches:
    """Parquet files, one after the other; of each a few row groups' pages are held."""
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    parquet = library("pyarrow.parquet", name)
    first = _parquet_file(parquet, paths[0])
    columns = Columns(first.schema_arrow, paths[0], column, id_column)
    first.close()

    def read() -> Iterator[Batch]:
        rows_before = 0
        for path in paths:
            file = _parquet_file(parquet, path)
            rows = rows_per_batch(_row_bytes(file.metadata, columns))
            for record_batch in file.iter_batches(rows, columns=columns.wanted):
                yield columns.batch(record_batch, rows_before)
                rows_before += record_batch.num_rows
            file.close()

    count = sum(_parquet_rows(parquet, path) for path in paths)
    return Batches(read, name, count)


def lance_dataset(path: str) -> Any:
    """A data set of Lance, opened."""
    lance = library("lance", path)
    if "://" not in path and not os.path.isdir(path):
        raise NotFoundError(f"{path}: no such data set", filename=path)
    try:
        return lance.dataset(path)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path}: cannot be read as Lance: {error}") from error


def parquet_batches(path: str) -> Iterator[Any]:
    """Record batches of all columns of a file."""
    file = _parquet_file(library("pyarrow.parquet", path), path)
    yield from file.iter_batches(BATCH_ROWS_MAX)
    file.close()


def _parquet_rows(parquet: Any, path: str) -> int:
    file = _parquet_file(parquet, path)
    rows = int(file.metadata.num_rows)
    file.close()
    return rows


def _parquet_file(parquet: Any, path: str) -> Any:
    try:
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path}: cannot be read as Parquet: {error}") from error


def _row_bytes(metadata: Any, columns: Columns) -> float:
    """Bytes of a row of the wanted columns, by the first row group."""
    if not metadata.num_row_groups:
        return 1.0
    group = metadata.row_group(0)
    parts = [group.column(place) for place in range(group.num_columns)]
    wanted = set(columns.wanted)
    total = sum(
        part.total_uncompressed_size
        for part in parts
        if part.path_in_schema.partition(".")[0] in wanted
    )
    return float(total / max(group.num_rows, 1))


def parquet_files(directory: str) -> List[str]:
    """The Parquet files of a directory, by name."""
    names = sorted(name for name in os.listdir(directory) if is_parquet(name))
    if not names:
        raise InvalidInputError(f"{directory}: is a directory without Parquet files")
    return [os.path.join(directory, name) for name in names]


def is_parquet(path: str) -> bool:
    """Whether the name says Parquet."""
    return path.lower().endswith((".parquet", ".pq"))


def from_ipc(path: str, column: Optional[str], id_column: Optional[str]) -> Batches:
    """An Arrow file (Feather), a record batch at a time."""
    columns = Columns(_ipc_file(path).schema, path, column, id_column)
    return Batches(lambda: stream(ipc_batches(path), columns), path)


def ipc_batches(path: str) -> Iterator[Any]:
    """Record batches of all columns of an Arrow file."""
    file = _ipc_file(path)
    return (file.get_batch(place) for place in range(file.num_record_batches))


def is_ipc(path: str) -> bool:
    """Whether the name says an Arrow file."""
    return path.lower().endswith((".arrow", ".feather", ".ipc"))


def _ipc_file(path: str) -> Any:
    ipc = library("pyarrow.ipc", path)
    arrow = library("pyarrow", path)
    try:
        return ipc.open_file(arrow.OSFile(path, "rb"))
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path}: cannot be read as an Arrow file: {error}") from error
