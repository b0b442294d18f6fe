"""Ids of rows: whole numbers, or names."""

from __future__ import annotations

from typing import Any, List, Union
from uuid import UUID

import numpy as np
import numpy.typing as npt

from ._checks import unmasked
from .errors import InvalidInputError


def as_keys(source: Any) -> Union[npt.NDArray[np.uint64], List[str]]:
    """Ids of shape ``(n,)`` as uint64, or names of rows: where they are texts or UUIDs."""
    one = isinstance(source, (str, UUID, int, np.integer))
    items = [source] if one else _listed(source)
    if not items or not any(isinstance(item, (str, UUID)) for item in items):
        return as_ids(items if one else source)
    return [_name(row, item) for row, item in enumerate(items)]


def as_ids(source: Any) -> npt.NDArray[np.uint64]:
    """Ids of shape ``(n,)`` as uint64; whole numbers of any type, none negative."""
    array = np.asarray(unmasked(_large_ids(source), "ids"))
    if source is None:
        raise TypeError("ids must be ids or names, not None")
    if array.dtype == object and array.ndim == 0:
        raise InvalidInputError(
            f"ids: come as an array or a list, not as {type(source).__name__}"
        )
    if array.ndim != 1:
        raise InvalidInputError(f"ids: have shape (n,), this array has shape {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"ids: must be whole numbers from 0 to 2**64 - 2, these are {array.dtype}"
        )
    if array.size and array.dtype.kind == "i" and array.min() < 0:
        row = int(np.argmax(array < 0))
        raise InvalidInputError(f"ids: row {row} has id {array[row]}: ids must not be negative")
    return np.ascontiguousarray(array, dtype=np.uint64)


def are_keys(source: Any) -> bool:
    """Whether `source`, of shape ``(n,)``, holds whole numbers, texts or UUIDs alone."""
    items = _listed(source)
    if not items:
        return np.asarray(source).dtype.kind in "iu"
    kinds = (int, np.integer, str, UUID)
    return all(isinstance(item, kinds) and not isinstance(item, bool) for item in items)


def _name(row: int, item: Any) -> str:
    """The name of a row."""
    if not isinstance(item, (str, UUID)):
        raise InvalidInputError(f"ids: row {row} is {item!r}, others are names of rows")
    name = str(item)
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"ids: row {row} is {name!r}, which is no text: {error}") from None
    return name


def _listed(source: Any) -> List[Any]:
    """The items of what may hold names; none of arrays of numbers."""
    if getattr(getattr(source, "dtype", None), "kind", "O") in "iuf":
        return []
    for way in ("to_pylist", "tolist"):
        if hasattr(source, way):
            listed = getattr(source, way)()
            return listed if isinstance(listed, list) else [listed]
    return list(source) if isinstance(source, (list, tuple)) else []


def _large_ids(source: Any) -> Any:
    """A list with ids from 2**63 up as uint64; numpy would read it as floats, and round."""
    whole = isinstance(source, (list, tuple)) and all(isinstance(id, int) for id in source)
    if whole and source and min(source) >= 0 and 2**63 <= max(source) < 2**64:
        return np.array(source, dtype=np.uint64)
    return source
