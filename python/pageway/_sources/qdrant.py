"""Collections of Qdrant, scrolled through its client.

No library reads a snapshot file; a client reads a server that was restored from one, and the local
directories that it keeps itself (``QdrantClient(path=...)``).
"""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Tuple

import numpy as np

from ..errors import InvalidInputError
from .batches import Batch, Batches

#: Points of a request.
_POINTS = 1024


def from_qdrant(client: Any, collection: str, vector: Optional[str]) -> Batches:
    """Vectors and ids of all points, in the order of their ids; UUIDs as names."""
    return Batches(lambda: _batches(client, collection, vector), f"collection {collection!r}")


def _batches(client: Any, collection: str, vector: Optional[str]) -> Iterator[Batch]:
    offset: Any = None
    wanted: Any = True if vector is None else [vector]
    while True:
        points, offset = client.scroll(
            collection,
            limit=_POINTS,
            offset=offset,
            with_payload=False,
            with_vectors=wanted,
        )
        if points:
            yield Batch(*_vectors_and_ids(points, collection, vector))
        if offset is None:
            return


def _vectors_and_ids(
    points: List[Any], collection: str, vector: Optional[str]
) -> Tuple[Any, Any]:
    ids = [point.id for point in points]
    kinds = {type(id) for id in ids}
    if len(kinds) > 1:
        one = next(id for id in ids if not isinstance(id, int))
        raise InvalidInputError(
            f"collection {collection!r}: point {one!r} has a UUID, others numbers: rows have ids or "
            "names, all of them one or the other"
        )
    rows = [_vector(point, collection, vector) for point in points]
    keys = np.asarray(ids, np.uint64) if kinds == {int} else [str(id) for id in ids]
    return np.asarray(rows, np.float32), keys


def _vector(point: Any, collection: str, vector: Optional[str]) -> Any:
    found = point.vector
    where = f"collection {collection!r}, point {point.id}"
    if isinstance(found, dict):
        if vector is None:
            names = ", ".join(sorted(found)) or "none"
            raise InvalidInputError(f"{where}: say which vector: vector=; there are {names}")
        found = found.get(vector)
    if not isinstance(found, list) or not found or isinstance(found[0], list):
        raise InvalidInputError(f"{where}: has no single dense vector {vector or ''}".rstrip())
    return found
