"""Rows of a build as files that every step reads: a data set of Ray is written to one, in parallel."""

from __future__ import annotations

import json
import os
import uuid
from typing import Any, Dict, List, NamedTuple, Optional

import numpy as np
import ray

from .._arrays import as_vectors
from .._ids import as_ids
from .._paths import as_path, is_path
from ..errors import InvalidInputError

#: What the engine streams as it is.
_OWN = (".fbin", ".f16bin", ".bf16bin", ".u8bin", ".i8bin", ".bin", ".fvecs", ".bvecs", ".npy")
#: Rows of a data set that are written at a time.
_BATCH = 8192
_DONE = "rows.json"


class RowFiles(NamedTuple):
    """Vectors, and ids where there are any."""

    vectors: str
    ids: Optional[str]


def row_files(
    source: Any, work: str, column: Optional[str], id_column: Optional[str]
) -> RowFiles:
    """The files of a source; those that are made lie in `work`, and stay for a build that goes on."""
    if is_path(source):
        return _of_path(as_path(source), work, column, id_column)
    if isinstance(source, ray.data.Dataset):
        return _of_dataset(source, work, column, id_column)
    if column is not None or id_column is not None:
        raise InvalidInputError("an array has no columns: leave column and id_column away")
    vectors = as_vectors(source, "dataset")
    path = os.path.join(work, "rows.npy")
    _write_whole(path, vectors)
    return RowFiles(path, None)


def _of_path(
    path: str, work: str, column: Optional[str], id_column: Optional[str]
) -> RowFiles:
    ending = os.path.splitext(path)[1]
    if ending in _OWN:
        if column is not None or id_column is not None:
            raise InvalidInputError(f"{path} has no columns: leave column and id_column away")
        return RowFiles(os.path.abspath(path), None)
    if ending == ".parquet" or os.path.isdir(path):
        return _of_dataset(ray.data.read_parquet(path), work, column, id_column)
    raise InvalidInputError(
        f"{path}: give one of {' '.join(_OWN)}, Parquet, or a data set of Ray"
    )


def write_ids(ids: Any, work: str) -> Optional[str]:
    """The file of ids that were given beside the rows."""
    if ids is None:
        return None
    if is_path(ids):
        return os.path.abspath(as_path(ids))
    path = os.path.join(work, "ids.npy")
    _write_whole(path, as_ids(ids))
    return path


def write_queries(queries: Any, work: str) -> Optional[str]:
    """The file of example queries."""
    if queries is None:
        return None
    if is_path(queries):
        return os.path.abspath(as_path(queries))
    path = os.path.join(work, "queries.npy")
    _write_whole(path, as_vectors(queries, "queries"))
    return path


def _write_whole(path: str, array: Any) -> None:
    """Writes a file that is there whole or not at all; one that says the same stays."""
    if os.path.exists(path) and np.array_equal(np.load(path, mmap_mode="r"), array):
        return
    beside = f"{path}.{uuid.uuid4().hex}.tmp"
    with open(beside, "wb") as file:
        np.save(file, np.ascontiguousarray(array))
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def _of_dataset(
    dataset: Any, work: str, column: Optional[str], id_column: Optional[str]
) -> RowFiles:
    """Tasks write parts; then, once all rows are counted, each part into its place of one file.

    No row goes through the driver. Rows are in the order of the data set.
    """
    done = os.path.join(work, _DONE)
    if os.path.exists(done):
        with open(done, encoding="utf-8") as file:
            return RowFiles(**json.load(file))
    names = dataset.schema().names
    if column is None:
        raise InvalidInputError(f"dataset: say which of its columns has the vectors: {names}")
    for own in filter(None, [column, id_column]):
        if own not in names:
            raise InvalidInputError(f"dataset: has no column {own!r}; its columns: {names}")
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    written = dataset.map_batches(
        _write_part,
        batch_size=_BATCH,
        batch_format="numpy",
        fn_kwargs={"folder": work, "column": column, "id_column": id_column},
    )
    parts: List[Dict[str, Any]] = written.take_all()
    kinds = {(part["dtype"], int(part["dimension"])) for part in parts}
    if len(kinds) != 1:
        said = "no vectors" if not kinds else f"vectors of several shapes: {sorted(kinds)}"
        raise InvalidInputError(f"dataset: {said}")
    files = RowFiles(
        os.path.join(work, "rows.npy"),
        None if id_column is None else os.path.join(work, "ids.npy"),
    )
    _put_together(parts, files)
    with open(f"{done}.tmp", "w", encoding="utf-8") as file:
        json.dump(files._asdict(), file)
    os.replace(f"{done}.tmp", done)
    return files


def _write_part(
    batch: Dict[str, Any], folder: str, column: str, id_column: Optional[str]
) -> Dict[str, Any]:
    vectors = as_vectors(list(batch[column]), column)
    path = os.path.join(folder, f"part-{uuid.uuid4().hex}")
    np.save(f"{path}.rows.npy", vectors)
    if id_column is not None:
        np.save(f"{path}.ids.npy", as_ids(batch[id_column]))
    return {
        "path": [path],
        "rows": [len(vectors)],
        "dtype": [vectors.dtype.str],
        "dimension": [vectors.shape[1]],
    }


def _put_together(parts: List[Dict[str, Any]], files: RowFiles) -> None:
    count = sum(int(part["rows"]) for part in parts)
    shape = count, int(parts[0]["dimension"])
    dtype = np.dtype(str(parts[0]["dtype"]))
    np.lib.format.open_memmap(files.vectors, mode="w+", dtype=dtype, shape=shape).flush()
    if files.ids is not None:
        np.lib.format.open_memmap(files.ids, mode="w+", dtype=np.uint64, shape=(count,)).flush()
    place, first, waiting = ray.remote(_place), 0, []
    for part in parts:
        waiting.append(place.remote(str(part["path"]), first, files))
        first += int(part["rows"])
    ray.get(waiting)
    for part in parts:
        for kind in ("rows", "ids"):
            path = f"{part['path']}.{kind}.npy"
            if os.path.exists(path):
                os.remove(path)


def _place(part: str, first: int, files: RowFiles) -> None:
    for kind, whole in (("rows", files.vectors), ("ids", files.ids)):
        if whole is None:
            continue
        own = np.load(f"{part}.{kind}.npy", mmap_mode="r")
        target = np.load(whole, mmap_mode="r+")
        target[first : first + len(own)] = own
        target.flush()
