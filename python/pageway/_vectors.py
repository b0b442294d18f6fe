"""Vectors back out of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple
from uuid import UUID

import numpy as np
import numpy.typing as npt

from ._attributes import Filter, as_filter, from_json
from ._checks import checked_count, checked_flag
from ._elements import numbers
from ._ids import as_keys
from ._sources.batches import Batch
from .errors import InvalidInputError, naming
from .results import Row, RowPage, as_given, as_known

if TYPE_CHECKING:
    from . import _native
    from .index import Index

#: Bytes of a batch of `Index.export`, about.
_BATCH_BYTES = 8 << 20


class StoredVectors:
    """What an index holds, as it was given."""

    def vectors(self: "Index", ids: Any) -> npt.NDArray[Any]:  # type: ignore[misc]
        """The vectors of some ids, as they were given at build.

        Costs a read per vector where ids are row numbers and the design keeps the order of rows;
        one pass over the index for all of them otherwise.

        Parameters
        ----------
        ids : array_like of int, str or UUID, shape (n,), or one
            Ids or names, as searches return them.

        Returns
        -------
        ndarray, shape (n, d), or (d,) for one id
            In the element type of the index.

        Raises
        ------
        InvalidInputError
            An id that the index does not have, by its place.
        CorruptError, StorageError
            A page that is damaged or cannot be read.

        Examples
        --------
        >>> ids, distances = index.search(query, k=3)
        >>> index.vectors(ids).shape == (3, len(query))
        True
        """
        keys = as_keys(ids)
        if isinstance(keys, list):
            return self._named_vectors(keys, ids)
        wanted = keys
        with naming(self.path):
            rows = self._native.vectors(wanted)
        vectors = numbers(rows.view(self._dtype)).reshape(len(wanted), self.shape[1])
        return vectors if np.ndim(ids) else vectors[0]

    def recent_queries(self: "Index") -> npt.NDArray[Any]:  # type: ignore[misc]
        """Queries that were asked lately, where the index was opened to keep some.

        Each takes the place of a random one once there are as many as are kept, so old ones
        become ever fewer. What recall can be calibrated with: see `calibrate`.

        Returns
        -------
        ndarray, shape (n, d)
            As they were searched for, in no order; none where none are kept.

        Examples
        --------
        >>> with pageway.open("monday.index", recent_queries=100) as index:
        ...     hits = index.search(queries, k=10)
        ...     asked = index.recent_queries()
        >>> asked.shape == queries.shape
        True
        """
        rows = self._native.recent_queries()
        return numbers(rows.view(self._dtype)).reshape(-1, self.shape[1])

    def _named_vectors(  # type: ignore[misc]
        self: "Index", names: List[str], given: Any
    ) -> npt.NDArray[Any]:
        found = {row.id: row.vector for row in self.rows(names, vectors=True, attributes=False)}
        missing = next((at for at, name in enumerate(names) if name not in found), None)
        if missing is not None:
            raise InvalidInputError(f"ids: place {missing}: no row has the name {names[missing]!r}")
        vectors = np.array([found[name] for name in names])
        return vectors[0] if isinstance(given, (str, UUID)) else vectors

    def rows(  # type: ignore[misc]
        self: "Index", ids: Any, *, vectors: bool = False, attributes: bool = True
    ) -> List[Row]:
        """The rows of some ids or names, in their order; those that no row has are left out.

        Costs a few reads per id where the index was opened to be changed or ids are the numbers of
        rows, else a pass over all ids.

        Parameters
        ----------
        ids : int, str, UUID or array_like of them, shape (n,)
            Ids or names, as searches return them.
        vectors, attributes : bool
            What is wanted of them.

        Returns
        -------
        list of Row

        Raises
        ------
        CorruptError, StorageError
            A page that is damaged or cannot be read.
        """
        wanted = as_keys(ids)
        parts = _parts(vectors, attributes)
        with naming(self.path):
            found = self._native.rows(wanted, parts)
        return self._as_rows(found, parts)

    def scroll(  # type: ignore[misc]
        self: "Index",
        *,
        filter: Optional[Filter] = None,
        limit: int = 10,
        offset: int = 0,
        vectors: bool = False,
        attributes: bool = True,
    ) -> RowPage:
        """Rows one after the other, in the order of their ids.

        Costs a pass over ids from there on, as far as it takes; over all ids in an index with ids of
        its own that was never opened to be changed.

        Parameters
        ----------
        filter : str, mapping or iterable of int, optional
            Only rows that match, as for `search`.
        limit : int
            Rows at most.
        offset : int
            The least id.
        vectors, attributes : bool
            What is wanted of rows.

        Returns
        -------
        RowPage
            Rows, and the ``offset`` of those that follow: None after the last.

        Raises
        ------
        InvalidInputError
            What is no filter; a limit of 0; numbers that are negative.
        CorruptError, StorageError
            A page that is damaged or cannot be read.
        """
        parts = _parts(vectors, attributes)
        start = checked_count("offset", offset, 2**64 - 1), checked_count("limit", limit)
        with naming(self.path):
            found = self._native.scroll(as_filter(filter), start, parts)
        return RowPage(self._as_rows(found, parts), found[3])

    def _as_rows(  # type: ignore[misc]
        self: "Index", found: "_native._Scrolled", parts: Tuple[bool, bool]
    ) -> List[Row]:
        (own_ids, names), documents, data, _ = found
        ids = as_known(own_ids, names)
        shape = len(ids), self.shape[1]
        stored = numbers(data.view(self._dtype)).reshape(shape) if parts[0] else [None] * len(ids)
        own = from_json(documents)
        known = ids.tolist()
        return [Row(one, *beside) for one, *beside in zip(known, own, stored)]

    def export(self: "Index") -> "Iterator[Batch]":  # type: ignore[misc]
        """All vectors with their ids, a batch at a time, in the order they lie on disk.

        Yields
        ------
        Batch
            ``vectors`` of shape (n, d) in the element type of the index, ``ids`` of shape (n,);
            about 8 MB each. What `pageway.build` takes.

        Raises
        ------
        CorruptError, StorageError
            A page that is damaged or cannot be read.

        Examples
        --------
        >>> sum(len(batch.ids) for batch in index.export()) == len(index)
        True
        """
        count, dimension = self.shape
        rows = max(1, _BATCH_BYTES // (dimension * self.dtype.itemsize))
        for first in range(0, count, rows):
            with naming(self.path):
                ids, bytes_ = self._native.stored(first, min(rows, count - first))
            yield Batch(numbers(bytes_.view(self._dtype)).reshape(-1, dimension), as_given(ids))


def _parts(vectors: Any, attributes: Any) -> Tuple[bool, bool]:
    """What is wanted of rows."""
    return checked_flag("vectors", vectors), checked_flag("attributes", attributes)
