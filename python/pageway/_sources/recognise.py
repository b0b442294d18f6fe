"""What an object is: batches, or something that is one array or one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from .._ids import are_keys
from .._paths import as_path, is_path
from ..errors import InvalidInputError
from . import arrow, frames, hdf5, json_lines
from .batches import Batch, Batches, library

#: What numpy, DLPack and Arrow arrays have.
_PROTOCOLS = ("__array__", "__dlpack__", "__arrow_c_array__", "__array_interface__")

#: Extensions of index files of other libraries.
_OF_OTHERS = (".faiss", ".index", ".hnsw", ".hnswlib")


def recognised(
    source: Any, name: str, column: Optional[str] = None, id_column: Optional[str] = None
) -> Any:
    """`source` as `Batches`, where that is what it is; otherwise itself, or the array it holds."""
    found = _recognised(source, name, column, id_column)
    if not isinstance(found, Batches) and (column is not None or id_column is not None):
        kind = source if is_path(source) else type(source).__name__
        raise InvalidInputError(f"{name}: {kind} has no columns: leave column and id_column away")
    return found


def _recognised(
    source: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Any:
    if isinstance(source, Batches):
        return source
    if is_path(source):
        return of_path(as_path(source), column, id_column)
    if _all(source, is_path):
        return of_paths([as_path(path) for path in source], column, id_column)
    of_library = _of_library(source, name, column, id_column)
    if of_library is not None:
        return of_library
    if hasattr(source, "__arrow_c_stream__") and not hasattr(source, "__array__"):
        reader = library("pyarrow", name).RecordBatchReader.from_stream(source)
        return arrow.from_reader(reader, name, column, id_column)
    if is_list_of_parts(source) or _is_stream(source):
        return from_iterable(source, name, column, id_column)
    if isinstance(source, dict):
        raise InvalidInputError(
            f"{name}: is a dict; give the vectors themselves, such as {name}["
            f"{next(iter(source), 'embeddings')!r}], and ids by ids="
        )
    return source


def _all(source: Any, condition: Any) -> bool:
    is_list = isinstance(source, (list, tuple))
    return is_list and len(source) > 0 and all(condition(item) for item in source)


def is_list_of_parts(source: Any) -> bool:
    """Whether it is a list of arrays of rows, of tables, or of pairs of those with ids."""
    return _all(source, _is_part)


def _is_part(item: Any) -> bool:
    if isinstance(item, tuple):
        return _with_ids(item) is not None or any(_is_part(one) for one in item)
    return getattr(item, "ndim", 0) == 2 or _is_table(item)


def _is_table(item: Any) -> bool:
    module, kind = type(item).__module__.partition(".")[0], type(item).__name__
    return kind in {"pyarrow": ("Table", "RecordBatch"), "polars": ("DataFrame", "LazyFrame")}.get(
        module, ()
    )


def _of_library(
    source: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Any:
    """By the module that the type comes from, so that nothing is imported to ask."""
    module, kind = type(source).__module__.partition(".")[0], type(source).__name__
    if module == "pyarrow":
        if kind in ("Table", "RecordBatch"):
            return arrow.from_table(source, name, column, id_column)
        if kind.endswith("Dataset"):
            return arrow.from_dataset(source, name, column, id_column)
        if kind == "Scanner":
            return arrow.from_scanner(source, name, column, id_column)
        if kind.endswith("Reader"):
            return arrow.from_reader(source, name, column, id_column)
    if module == "lance" and kind == "LanceDataset":
        return arrow.from_dataset(source, name, column, id_column)
    if module == "polars" and kind in ("DataFrame", "LazyFrame"):
        return frames.from_polars(source, name, column, id_column)
    if module == "pandas" and kind == "DataFrame":
        return frames.from_pandas(source, name, column, id_column)
    if module == "torch" and hasattr(source, "detach"):
        return frames.from_torch(source, name)
    if module == "h5py" and kind == "Dataset":
        return hdf5.from_dataset(source, name)
    return None


def of_path(path: str, column: Optional[str], id_column: Optional[str]) -> Any:
    """A file by its name; the path itself where the engine reads it."""
    lower = path.lower()
    if arrow.is_parquet(path) and not os.path.isdir(path):
        return arrow.from_parquet([path], column, id_column)
    if arrow.is_ipc(path):
        return arrow.from_ipc(path, column, id_column)
    if lower.endswith((".hdf5", ".h5")):
        if id_column is not None:
            raise InvalidInputError(f"{path}: HDF5 has no id columns: give ids by ids=")
        return hdf5.from_hdf5(path, column)
    if json_lines.is_json_lines(path):
        return json_lines.from_json_lines(path, column, id_column)
    if lower.endswith(".lance"):
        return arrow.from_dataset(arrow.lance_dataset(path), path, column, id_column)
    if os.path.isdir(path):
        return arrow.from_parquet(arrow.parquet_files(path), column, id_column)
    if lower.endswith(_OF_OTHERS) and os.path.isfile(path):
        raise InvalidInputError(
            f"{path}: is an index file of another library; 'pageway import' takes the vectors out of "
            "those of faiss, hnswlib and DiskANN"
        )
    return path


def of_paths(
    paths: Sequence[str], column: Optional[str], id_column: Optional[str]
) -> Batches:
    """Files one after the other."""
    if all(arrow.is_parquet(path) for path in paths):
        return arrow.from_parquet(paths, column, id_column)
    parts = [of_path(path, column, id_column) for path in paths]
    wrong = next((part for part in parts if not isinstance(part, Batches)), None)
    if wrong is not None:
        raise InvalidInputError(
            f"{wrong}: several files are read one after the other where they are Parquet, Arrow, "
            "HDF5 or JSON lines; join others with 'pageway convert' first"
        )
    return Batches(lambda: (batch for part in parts for batch in part), f"{len(paths)} files")


def _is_stream(source: Any) -> bool:
    """Whether it can be iterated, and is no sequence, array or text."""
    if isinstance(source, (str, bytes, dict)) or any(hasattr(source, p) for p in _PROTOCOLS):
        return False
    whole = hasattr(source, "__getitem__") and hasattr(source, "__len__")
    return isinstance(source, Iterator) or (isinstance(source, Iterable) and not whole)


def from_iterable(
    source: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Batches:
    """Whatever an iterator gives: batches, batches with ids, tables, or single vectors."""
    return Batches(lambda: _batches(iter(source), name, column, id_column), name)


def _batches(
    items: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Any:
    for number, item in enumerate(items):
        where = f"{name}, batch {number}"
        pair = _with_ids(item)
        if pair is not None:
            yield pair
            continue
        part = recognised(item, where, column, id_column) if not _is_vector(item) else item
        if isinstance(part, Batches):
            yield from part
        elif is_path(part):
            raise InvalidInputError(f"{where}: is a path; give the path itself, not in an iterator")
        elif isinstance(part, (list, tuple)):
            yield Batch([part] if _is_vector(part) else part)
        else:
            array = np.asarray(part)
            yield Batch(array[None] if array.ndim == 1 and array.dtype != object else part)


def _is_vector(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and len(item) > 0 and np.isscalar(item[0])


def _with_ids(item: Any) -> Optional[Batch]:
    """A pair of ids or names, shape ``(n,)``, and vectors, shape ``(n, d)``."""
    if isinstance(item, Batch):
        return item
    if not (isinstance(item, tuple) and len(item) == 2):
        return None
    ids, vectors = item
    shapes = getattr(vectors, "ndim", 0), np.ndim(ids) if not is_path(ids) else 0
    if shapes != (2, 1) or len(ids) != len(vectors):
        return None
    return Batch(vectors, ids) if are_keys(ids) else None


def apart(batch: Any) -> Tuple[Any, Tuple[Any, Any]]:
    """The vectors of a batch, and its ids and attributes; ids may stand first in a pair."""
    pair = _with_ids(batch)
    if pair is not None:
        return pair.vectors, (pair.ids, None)
    if not (isinstance(batch, tuple) and len(batch) in (2, 3)):
        return batch, (None, None)
    return batch[0], (batch[1], batch[2] if len(batch) == 3 else None)
