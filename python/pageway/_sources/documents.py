"""Attributes of rows out of tables: frames, Arrow, Parquet, Lance and CSV, sparse matrices of tags; a
mapping per row."""

from __future__ import annotations

import csv
import io
import json
import os
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from .._paths import as_path, is_path
from ..errors import InvalidInputError
from . import arrow, spmat
from .batches import BATCH_ROWS_MAX, library
from .packed import opened

Rows = Iterator[Mapping[str, Any]]

#: Extensions of files that hold vectors and no attributes.
_OF_VECTORS = (
    *(".npy", ".fbin", ".f16bin", ".bf16bin", ".u8bin", ".i8bin", ".bitbin", ".bin"),
    *(".fvecs", ".bvecs", ".h5", ".hdf5"),
)


def rows_of(source: Any, name: str) -> Optional[Rows]:
    """A mapping per row, without what is missing; None for what is no table."""
    if is_path(source):
        return _of_path(as_path(source))
    module, kind = type(source).__module__.partition(".")[0], type(source).__name__
    if module == "polars" and kind in ("DataFrame", "LazyFrame"):
        frame = source.collect() if kind == "LazyFrame" else source
        return _filled(frame.iter_rows(named=True))
    if module == "pandas" and kind == "DataFrame":
        return _filled(_of_pandas(source))
    if module == "pyarrow" and kind == "Table":
        return _of_batches(source.to_batches(BATCH_ROWS_MAX))
    if module == "pyarrow" and kind == "RecordBatch":
        return _of_batches([source])
    if module in ("pyarrow", "lance") and kind.endswith("Dataset"):
        return _of_batches(source.to_batches())
    if spmat.is_matrix(source):
        return spmat.tags_of(source, name)
    if hasattr(source, "__arrow_c_stream__"):
        reader = library("pyarrow", name).RecordBatchReader.from_stream(source)
        return _of_batches(reader)
    return None


def _of_path(path: str) -> Optional[Rows]:
    lower = path.lower()
    if lower.endswith(".lance"):
        return _of_batches(arrow.lance_dataset(path).to_batches())
    if os.path.isdir(path):
        files = arrow.parquet_files(path)
        return _of_batches(batch for file in files for batch in arrow.parquet_batches(file))
    if arrow.is_parquet(path):
        return _of_batches(arrow.parquet_batches(path))
    if arrow.is_ipc(path):
        return _of_batches(arrow.ipc_batches(path))
    if lower.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        return _of_csv(path)
    if lower.endswith(".spmat"):
        return spmat.tags_in(path)
    if lower.endswith(_OF_VECTORS):
        raise InvalidInputError(
            f"attributes: {path} is a file of vectors; they come as JSON lines, Parquet, Arrow, Lance, "
            "CSV or .spmat"
        )
    return None


def _of_batches(batches: Iterable[Any]) -> Rows:
    return _filled(row for batch in batches for row in batch.to_pylist())


def _of_pandas(frame: Any) -> Rows:
    for start in range(0, len(frame), BATCH_ROWS_MAX):
        rows = frame.iloc[start : start + BATCH_ROWS_MAX].astype(object)
        yield from rows.where(rows.notna(), None).to_dict("records")


def _filled(rows: Iterable[Mapping[str, Any]]) -> Rows:
    for row in rows:
        yield {str(field): value for field, value in row.items() if value is not None}


def _of_csv(path: str) -> Rows:
    """Two passes, as the command line does: what each column holds, then its values."""
    kinds: Dict[str, str] = {}
    for names, cells in _records(path):
        for name, cell in zip(names, cells):
            if cell:
                kinds[name] = _wider(kinds.get(name), _kind(cell))
    for names, cells in _records(path):
        pairs = zip(names, cells)
        yield {name: _value(kinds[name], cell) for name, cell in pairs if cell}


def _records(path: str) -> Iterator[Tuple[List[str], List[str]]]:
    """The names of the columns, with the cells of each row."""
    delimiter = "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","
    names: Optional[List[str]] = None
    with opened(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                if not any(cells) and len(cells) < 2:
                    continue
                where = f"{path}, line {reader.line_num}"
                if names is None:
                    names = _header(cells, where)
                elif len(cells) != len(names):
                    raise InvalidInputError(f"{where}: {len(cells)} cells for {len(names)} columns")
                else:
                    yield names, cells
        except (csv.Error, UnicodeDecodeError) as error:
            raise InvalidInputError(f"{path}, line {reader.line_num}: {error}") from None
    if names is None:
        raise InvalidInputError(f"{path}: is empty")


def _header(names: List[str], where: str) -> List[str]:
    for at, name in enumerate(names):
        if not name:
            raise InvalidInputError(f"{where}: column {at} has no name")
        if name in names[:at]:
            raise InvalidInputError(f"{where}: two columns are called {name!r}")
    return names


def _kind(cell: str) -> str:
    """The narrowest kind that a cell is; ``007`` and ``+1`` are texts."""
    if cell in ("true", "false"):
        return "bool"
    if cell[0] not in "-0123456789[{":
        return "text"
    try:
        value = json.loads(cell, parse_constant=_refused)
    except (ValueError, RecursionError):
        return "text"
    if isinstance(value, int):
        return "integer" if -(2**63) <= value < 2**63 and str(value) == cell else "text"
    return "float" if isinstance(value, float) else "json"


def _refused(constant: str) -> Any:
    raise ValueError(constant)


def _wider(before: Optional[str], own: str) -> str:
    if before in (None, own):
        return own
    return "float" if {before, own} == {"integer", "float"} else "text"


def _value(kind: str, cell: str) -> Any:
    return cell if kind == "text" else json.loads(cell)


def same_table(one: Any, other: Any) -> bool:
    """Whether both are one table."""
    if is_path(one) and is_path(other):
        return os.path.abspath(as_path(one)) == os.path.abspath(as_path(other))
    return one is other
