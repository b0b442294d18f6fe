"""Data frames of pandas and polars, tensors of torch."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional

import numpy as np

from ..errors import InvalidInputError
from . import arrow
from .batches import BATCH_ROWS_MAX, Batch, Batches, library, rows_per_batch


def from_polars(
    frame: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Batches:
    """A frame, whose columns are Arrow's, or a lazy one, which is run in batches where it can."""
    if hasattr(frame, "collect_batches"):
        parts = iter(frame.collect_batches(chunk_size=BATCH_ROWS_MAX, maintain_order=True))
        first = next(parts, None)
        if first is None:
            raise InvalidInputError(f"{name}: the lazy frame has no rows")
        columns = arrow.Columns(first.to_arrow().schema, name, column, id_column)

        def read() -> Iterator[Batch]:
            tables = (part.to_arrow() for part in _chained(first, parts))
            return arrow.stream((b for table in tables for b in table.to_batches()), columns)

        return Batches(read, name)
    if hasattr(frame, "collect"):
        frame = frame.collect()
    return arrow.from_table(frame.to_arrow(), name, column, id_column)


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def from_pandas(
    frame: Any, name: str, column: Optional[str], id_column: Optional[str]
) -> Batches:
    """A frame with a column of vectors, or with a column per component."""
    names: List[Any] = list(frame.columns)
    for wish in (column, id_column):
        if wish is not None and wish not in names:
            raise InvalidInputError(f"{name}: no column {wish!r}; there are {names}")
    if column is None:
        column = _vectors_of(frame, name, [other for other in names if other != id_column])
    others = [other for other in names if other != id_column]

    def read() -> Iterator[Batch]:
        for start in range(0, len(frame), BATCH_ROWS_MAX):
            rows = frame.iloc[start : start + BATCH_ROWS_MAX]
            vectors = rows[others].to_numpy() if column is None else list(rows[column])
            yield Batch(vectors, None if id_column is None else rows[id_column].to_numpy())

    return Batches(read, name, len(frame))


def _vectors_of(frame: Any, name: str, names: List[Any]) -> Any:
    """The one column that holds vectors; None where every column is a component."""
    if all(frame[other].dtype.kind in "fiu" for other in names):
        return None
    lists = [other for other in names if len(frame) and np.ndim(frame[other].iloc[0]) == 1]
    if len(lists) == 1:
        return lists[0]
    kinds = ", ".join(f"{other} ({frame[other].dtype})" for other in names)
    raise InvalidInputError(
        f"{name}: name the column of the vectors with column=, and that of the ids with "
        f"id_column=; there are {kinds}"
    )


def from_torch(tensor: Any, name: str) -> Any:
    """A tensor as an array where numpy knows its type; bfloat16 as float32, a batch at a time."""
    torch = library("torch", name)
    tensor = tensor.detach().cpu()
    if tensor.dtype != torch.bfloat16:
        return tensor.numpy()
    if tensor.ndim != 2:
        return tensor.float().numpy()
    rows = rows_per_batch(4 * tensor.shape[1])

    def read() -> Iterator[Batch]:
        for start in range(0, len(tensor), rows):
            yield Batch(tensor[start : start + rows].float().numpy())

    return Batches(read, name, len(tensor))
