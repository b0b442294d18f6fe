"""Batches of one shape and one element type, whatever the source calls them."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from .._arrays import as_vectors, cast_to
from .._elements import BITS
from .._ids import as_keys
from ..errors import InvalidInputError
from .batches import Batch

#: Ids of rows, or their names.
Keys = Union[npt.NDArray[np.uint64], List[str]]


class Rows(NamedTuple):
    """Rows as the engine takes them, and their ids or names where there are some."""

    vectors: npt.NDArray[Any]
    ids: Optional[Keys]


def settled(
    batches: Iterable[Batch], name: str, dtype: Optional[np.dtype[Any]]
) -> Iterator[Rows]:
    """Batches as the first one is, or of `dtype`: the shape, the type, with ids or without."""
    first_row, first = 0, None
    for batch in batches:
        wished = dtype if first is None else first.vectors.dtype
        dimension = None if first is None else first.vectors.shape[1]
        vectors = _vectors(batch.vectors, _Place(name, first_row, dimension), wished)
        if not len(vectors):
            continue
        ids = _ids(batch.ids, len(vectors), name, first_row)
        if first is not None and type(ids) is not type(first.ids):
            words = "some have ids, others names or none"
            raise InvalidInputError(f"{name}: rows from {first_row} on: {words}")
        rows = Rows(vectors, ids)
        first = first or rows
        first_row += len(vectors)
        yield rows


class _Place(NamedTuple):
    """Which rows are looked at."""

    name: str
    first_row: int
    dimension: Optional[int]


def _vectors(
    source: Any, place: _Place, dtype: Optional[np.dtype[Any]]
) -> npt.NDArray[Any]:
    if isinstance(source, (list, tuple)) and len(source):
        # Bits that were packed are fewer than those of lists to come.
        _check_lengths(source, place._replace(dimension=None) if dtype == BITS else place)
    where = place.name if place.first_row == 0 else f"{place.name}, rows from {place.first_row} on"
    if dtype is None:
        array = as_vectors(source, where)
    else:
        array = cast_to(source, dtype, where)
    if place.dimension not in (None, array.shape[1]) and len(array):
        raise InvalidInputError(
            f"{place.name}: row {place.first_row} has {array.shape[1]} components, the rows before "
            f"it have {place.dimension}"
        )
    return array


def _check_lengths(rows: Sequence[Any], place: _Place) -> None:
    """Names the first row of another length than the ones before it, counted from the first."""
    expected = place.dimension
    for row, vector in enumerate(rows):
        if not hasattr(vector, "__len__"):
            return
        expected = len(vector) if expected is None else expected
        if len(vector) != expected:
            raise InvalidInputError(
                f"{place.name}: row {place.first_row + row} has {len(vector)} components, the rows "
                f"before it have {expected}"
            )


def _ids(source: Any, count: int, name: str, first_row: int) -> Optional[Keys]:
    if source is None:
        return None
    ids = as_keys(source)
    if len(ids) != count:
        raise InvalidInputError(
            f"{name}: rows from {first_row} on: {count} vectors come with {len(ids)} ids"
        )
    return ids
