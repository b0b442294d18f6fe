"""Tags of rows as the filter track of big-ann-benchmarks has them: a sparse matrix, a row for each
vector and a column for each tag, of which only the places count.

A file ``.spmat`` holds ``int64 rows, columns, entries``, ``int64`` offsets, one more than rows, ``int32``
columns and ``float32`` values, which are not read.
"""

from __future__ import annotations

import os
from typing import Any, Iterator, List, Mapping, Tuple

import numpy as np

from ..errors import InvalidInputError, NotFoundError

#: The field that the tags of a row become.
FIELD = "tags"
_HEAD_BYTES = 24
#: Columns that are turned into numbers of Python at once.
_HELD = 1 << 16

Tags = Iterator[Mapping[str, List[int]]]


def is_matrix(source: Any) -> bool:
    """Whether `source` has the parts of a matrix of sparse rows, as scipy's ``csr_matrix``."""
    return all(hasattr(source, part) for part in ("indptr", "indices", "shape"))


def tags_of(matrix: Any, name: str) -> Tags:
    """A mapping per row with its columns as `FIELD`."""
    return _rows(np.asarray(matrix.indptr), np.asarray(matrix.indices), name)


def tags_in(path: str) -> Tags:
    """The same of a file, whose header is checked against its size."""
    try:
        size = os.path.getsize(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: no such file") from error
    if size < _HEAD_BYTES:
        raise InvalidInputError(f"{path}: is shorter than the header of a .spmat file")
    rows, columns, entries = (int(number) for number in np.fromfile(path, "<i8", 3))
    needed = _HEAD_BYTES + 8 * (rows + 1) + 8 * entries
    if min(rows, columns, entries) < 0 or needed != size:
        raise InvalidInputError(
            f"{path}: the header says {rows} rows, {columns} columns and {entries} entries, which take "
            f"{needed} bytes, but the file has {size}"
        )
    offsets = np.fromfile(path, "<i8", rows + 1, offset=_HEAD_BYTES)
    tags = np.fromfile(path, "<i4", entries, offset=_HEAD_BYTES + 8 * (rows + 1))
    if tags.size and not 0 <= int(tags.min()) <= int(tags.max()) < columns:
        raise InvalidInputError(f"{path}: names a column outside of the {columns} that there are")
    return _rows(offsets, tags, path)


def _rows(offsets: Any, tags: Any, name: str) -> Tags:
    steps = np.diff(offsets)
    if not offsets.size or offsets[0] != 0 or offsets[-1] != tags.size or (steps < 0).any():
        row = int(np.argmax(steps < 0)) if (steps < 0).any() else 0
        raise InvalidInputError(f"{name}: row {row}: offsets do not lead through the entries")
    return _each(offsets, tags)


def _each(offsets: Any, tags: Any) -> Tags:
    for first in range(0, offsets.size - 1, _HELD):
        bounds = offsets[first : first + _HELD + 1].tolist()
        part = tags[bounds[0] : bounds[-1]].tolist()
        spans: Iterator[Tuple[int, int]] = zip(bounds, bounds[1:])
        for start, end in spans:
            yield {FIELD: part[start - bounds[0] : end - bounds[0]]}
