"""Vectors back out of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

import numpy as np
import numpy.typing as npt

from ._arrays import as_ids
from ._sources.batches import Batch
from .errors import naming
from .results import as_given

if TYPE_CHECKING:
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
        ids : array_like of int, shape (n,), or int
            Ids as searches return them.

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
        wanted = as_ids(np.atleast_1d(ids))
        with naming(self.path):
            rows = self._native.vectors(wanted)
        vectors = rows.view(self.dtype).reshape(len(wanted), self.shape[1])
        return vectors if np.ndim(ids) else vectors[0]

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
            yield Batch(bytes_.view(self.dtype).reshape(-1, dimension), as_given(ids))


