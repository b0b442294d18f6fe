"""From whatever the caller has to what the engine reads: rows in memory, or a file."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import Any, Iterator, List, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

from .._arrays import DTYPE_OF, ELEMENT_OF, File, Named
from .._arrays import Rows as NativeRows
from .._arrays import as_element, as_rows, as_source
from ..errors import InvalidInputError
from .batches import Batches
from .recognise import recognised
from .scratch import RowFile, Scratch
from .settle import Rows, settled

#: Bytes of rows that are kept in memory; more go to a file.
HELD_BYTES = 16 << 20


class Input(NamedTuple):
    """What the engine reads."""

    #: A path, a path with its element type and name, or rows.
    vectors: Union[str, File, Named, NativeRows]
    #: Ids of the source: an array, or a file of them.
    ids: Union[None, str, npt.NDArray[np.uint64]]
    #: Bytes that were written to read them.
    scratch_bytes: int


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
        element = None if dtype is None else DTYPE_OF[as_element(dtype)].name
        yield _gathered(found, element, scratch)
    finally:
        scratch.close()


def _gathered(batches: Batches, dtype: Optional[str], scratch: Scratch) -> Input:
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
    ids = [part.ids for part in held if part.ids is not None]
    return Input(as_rows(vectors), np.concatenate(ids) if ids else None, 0)


def _spilled(
    held: List[Rows], rest: Iterator[Rows], batches: Batches, scratch: Scratch
) -> Input:
    """Rows by way of files: those at hand first."""
    first = held[0]
    dtype, dimension = first.vectors.dtype, first.vectors.shape[1]
    row_bytes = dimension * dtype.itemsize + (0 if first.ids is None else 8)
    if batches.count is not None:
        scratch.check_space(batches.count * row_bytes)
    vectors = scratch.file(dtype, dimension)
    ids = None if first.ids is None else scratch.file(np.dtype("<u8"), None)
    written = sum(_append(part, vectors, ids) for part in held)
    held.clear()
    for part in rest:
        written += _append(part, vectors, ids)
    named = vectors.finish(), ELEMENT_OF[dtype.name], batches.name
    return Input(named, None if ids is None else ids.finish(), written)


def _append(part: Rows, vectors: RowFile, ids: Optional[RowFile]) -> int:
    written = vectors.append(part.vectors)
    if ids is not None and part.ids is not None:
        written += ids.append(part.ids)
    return written
