"""From whatever the caller has to what the engine reads: rows in memory, or a file."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from .._arrays import File, Named, as_rows, as_source
from .._arrays import Rows as NativeRows
from .._elements import DTYPE_OF, ELEMENT_OF, as_element
from .._paths import is_path
from ..errors import InvalidInputError
from .batches import Batches
from .recognise import recognised
from .scratch import RowFile, Scratch
from .settle import Keys, Rows, settled

#: Bytes of rows that are kept in memory; more go to a file.
HELD_BYTES = 16 << 20


class Input(NamedTuple):
    """What the engine reads."""

    #: A path, a path with its element type and name, or rows.
    vectors: Union[str, File, Named, NativeRows]
    #: Ids of the source: an array, a file of them, or names.
    ids: Union[None, str, Keys]
    #: Bytes that were written to read them.
    scratch_bytes: int


def as_whole(source: Any, name: str) -> Tuple[Any, Optional[Keys]]:
    """`source` as one array, with the ids it brings, where it comes in batches; else itself."""
    found = source if is_path(source) else recognised(source, name)
    if not isinstance(found, Batches):
        return found, None
    parts = list(settled(found, found.name, None))
    if not parts:
        raise InvalidInputError(f"{found.name}: has no vectors")
    return np.concatenate([part.vectors for part in parts]), _joined([part.ids for part in parts])


@contextmanager
def as_input(
    source: Any,
    name: str,
    *,
    dtype: Any = None,
    beside: Optional[str] = None,
    column: Optional[str] = None,
    id_column: Optional[str] = None,
) -> Iterator[Input]:
    """`source` as the engine takes it, for as long as the context lasts.

    Arrays and files of the engine's own formats are passed on. Everything else is read once, a
    batch at a time; more than `HELD_BYTES` go to a file next to `beside`.
    """
    found = recognised(source, name, column, id_column)
    if not isinstance(found, Batches):
        yield Input(as_source(found, name, dtype), None, 0)
        return
    scratch = Scratch(beside or os.path.join(tempfile.gettempdir(), "pageway"))
    try:
        wished = None if dtype is None else DTYPE_OF[as_element(dtype)]
        yield _gathered(found, wished, scratch)
    finally:
        scratch.close()


def _gathered(batches: Batches, dtype: Optional[np.dtype[Any]], scratch: Scratch) -> Input:
    held: List[Rows] = []
    held_bytes = 0
    rows = settled(batches, batches.name, dtype)
    for part in rows:
        held.append(part)
        held_bytes += part.vectors.nbytes
        if held_bytes > HELD_BYTES:
            return _spilled(held, rows, batches, scratch)
    if not held:
        raise InvalidInputError(f"{batches.name}: has no vectors")
    vectors = np.concatenate([part.vectors for part in held])
    return Input(as_rows(vectors), _joined([part.ids for part in held]), 0)


def _joined(parts: List[Optional[Keys]]) -> Optional[Keys]:
    """Ids of all parts, or names, or none."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    names = [name for part in parts if isinstance(part, list) for name in part]
    return np.concatenate(arrays) if arrays else names or None


def _spilled(
    held: List[Rows], rest: Iterator[Rows], batches: Batches, scratch: Scratch
) -> Input:
    """Rows by way of files, names in memory: those at hand first."""
    first = held[0]
    dtype, dimension = first.vectors.dtype, first.vectors.shape[1]
    has_ids = isinstance(first.ids, np.ndarray)
    row_bytes = dimension * dtype.itemsize + (8 if has_ids else 0)
    if batches.count is not None:
        scratch.check_space(batches.count * row_bytes)
    vectors = scratch.file(dtype, dimension)
    ids = scratch.file(np.dtype("<u8"), None) if has_ids else None
    names = [name for part in held if isinstance(part.ids, list) for name in part.ids]
    written = sum(_append(part, vectors, ids) for part in held)
    held.clear()
    for part in rest:
        written += _append(part, vectors, ids)
        names.extend(part.ids if isinstance(part.ids, list) else ())
    named = vectors.finish(), ELEMENT_OF[dtype.name], batches.name
    return Input(named, (names or None) if ids is None else ids.finish(), written)


def _append(part: Rows, vectors: RowFile, ids: Optional[RowFile]) -> int:
    written = vectors.append(part.vectors)
    if ids is not None and isinstance(part.ids, np.ndarray):
        written += ids.append(part.ids)
    return written
