"""Rows with names in an index that is made when the first comes: what the stores of frameworks share."""

from __future__ import annotations

import inspect
import math
import os
from threading import Lock
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Type, Union

import numpy as np
import numpy.typing as npt

from ._attributes import Filter
from ._paths import PathLike, as_path, is_path
from ._settings import Metric
from .building import create
from .errors import InvalidInputError
from .index import Index, open
from .results import Row

__all__ = ["Closes", "Hit", "Place", "Store", "similarity"]

#: The directory of an index, or an index that is open.
Place = Union[PathLike, Index]

#: Rows of a page when all that match are read.
_PAGE = 256
#: What `pageway.create` is told of the settings of `pageway.open`.
_OF_CREATE = ("memory", "update_memory")


class Hit(NamedTuple):
    """A row that a search found."""

    id: str
    distance: float
    attributes: Dict[str, Any]


class Store:
    """An index that is opened, or made at the first row, and that any number of threads may use."""

    def __init__(self, place: Place, metric: Optional[Metric], opening: Mapping[str, Any]) -> None:
        self._lock = Lock()
        self._index: Optional[Index] = None
        self._metric: Metric = metric or "cosine"
        self._closed = False
        self._opening = {"writable": True, **opening}
        if isinstance(place, Index):
            if opening:
                raise InvalidInputError(f"{', '.join(opening)}: the index is open already")
            self.path = place.path
            self._take(place, metric)
            return
        if not is_path(place):
            raise InvalidInputError(f"a path or an Index is expected, not {type(place).__name__}")
        self.path = as_path(place)
        inspect.signature(open).bind(self.path, **self._opening)
        stands = os.path.exists(os.path.join(self.path, "MANIFEST"))
        if stands or not self._opening["writable"]:
            self._take(open(self.path, **self._opening), metric)

    def _take(self, index: Index, metric: Optional[Metric]) -> None:
        if metric is not None and index.metric != metric:
            raise InvalidInputError(f"{index.path}: compares by {index.metric}, not by {metric}")
        self._index, self._metric = index, index.metric

    @property
    def metric(self) -> Metric:
        """The distance."""
        return self._metric

    @property
    def index(self) -> Optional[Index]:
        """The index; None before the first row."""
        if self._closed:
            raise InvalidInputError(f"{self.path}: the store is closed")
        return self._index

    def _index_for(self, dimension: int) -> Index:
        with self._lock:
            index = self.index
            if index is None:
                known = {key: own for key, own in self._opening.items() if key in _OF_CREATE}
                create(self.path, dimension=dimension, metric=self._metric, **known).close()
                index = self._index = open(self.path, **self._opening)
            return index

    def __len__(self) -> int:
        index = self.index
        return 0 if index is None else len(index)

    def put(
        self, ids: Sequence[str], vectors: Sequence[Any], attributes: Sequence[Mapping[str, Any]]
    ) -> None:
        """Puts rows in, in place of those of their names; durable when it returns.

        Of rows with one name the last counts.
        """
        if not len(ids) == len(vectors) == len(attributes):
            counts = f"{len(ids)} ids, {len(vectors)} vectors and {len(attributes)} rows"
            raise InvalidInputError(f"{counts}: one of each is needed")
        kept = sorted({id: at for at, id in enumerate(ids)}.values())
        if kept:
            index = self._index_for(len(vectors[0]))
            rows = [vectors[at] for at in kept]
            own = [attributes[at] for at in kept]
            index.upsert(rows, [ids[at] for at in kept], attributes=own)

    def delete(self, ids: Optional[Sequence[str]] = None, filter: Optional[Filter] = None) -> None:
        """Deletes rows by their names, or those that match."""
        index = self.index
        if index is None:
            return
        if ids is None:
            index.delete(filter=filter)
        elif ids:
            index.delete(_distinct(ids))

    def rows(self, ids: Sequence[str], vectors: bool = False) -> List[Row]:
        """The rows of some names, without those that no row has."""
        index = self.index
        if index is None or not ids:
            return []
        return index.rows(_distinct(ids), vectors=vectors)

    def matching(self, filter: Optional[Filter]) -> Iterator[Row]:
        """All rows that match."""
        index = self.index
        offset: Optional[int] = 0
        while index is not None and offset is not None:
            page = index.scroll(filter=filter, limit=_PAGE, offset=offset)
            yield from page.rows
            offset = page.offset

    def nearest(self, query: Any, k: int, filter: Optional[Filter], **how: Any) -> List[Hit]:
        """The `k` nearest rows that match, or as many as there are."""
        index = self.index
        rows = 0 if index is None else len(index)
        if index is None or not rows or k < 1:
            return []
        asked = np.asarray(query, np.float32 if index.dtype.kind == "f" else None)
        found = index.search(asked, min(k, rows), filter=filter, with_attributes=True, **how)
        hits = zip(found.ids.tolist(), found.distances.tolist(), found.attributes)
        return [Hit(str(id), distance, own or {}) for id, distance, own in hits if id != -1]

    def vectors(self, hits: Sequence[Hit]) -> Dict[str, npt.NDArray[Any]]:
        """Vectors of what was found, by id."""
        found = self.rows([hit.id for hit in hits], vectors=True)
        return {str(row.id): row.vector for row in found if row.vector is not None}

    def close(self) -> None:
        """Gives files and memory back. Closing twice is fine."""
        with self._lock:
            self._closed = True
            if self._index is not None:
                self._index.close()


class Closes:
    """A store of a framework, which ends with a ``with`` block."""

    _store: Store

    @property
    def client(self) -> Optional[Index]:
        """The index, an `Index`; None before the first row."""
        return self._store.index

    def close(self) -> None:
        """Gives files and memory back, once running searches are done. Closing twice is fine."""
        self._store.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


def similarity(metric: Metric, distance: float) -> float:
    """A distance of a search as a similarity, which is larger the nearer."""
    if metric == "cosine":
        return 1.0 - distance
    if metric == "inner_product":
        return -distance
    return 1.0 / (1.0 + (math.sqrt(max(distance, 0.0)) if metric == "l2" else distance))


def _distinct(ids: Sequence[str]) -> List[str]:
    """Each id once; one text is no list of its letters."""
    if isinstance(ids, str):
        raise InvalidInputError(f"ids={ids!r}: give a list of ids")
    return list(dict.fromkeys(ids))
