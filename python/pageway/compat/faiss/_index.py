"""An index with the methods that those of faiss have."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ..._ids import as_ids
from ..._settings import Metric
from ...errors import InvalidInputError, UnsupportedError
from ...truth import ground_truth
from .._growing import Growing

METRIC_INNER_PRODUCT = 0
METRIC_L2 = 1

_METRICS: Dict[int, Metric] = {METRIC_INNER_PRODUCT: "inner_product", METRIC_L2: "l2"}
_FAR = np.float32(np.finfo(np.float32).max)
#: Places of the candidate list for each list of an inverted file that is probed.
_LIST_SIZE_PER_PROBE = 16
#: Rows that a flat range search compares at a time.
_BLOCK_ROWS = 16_384

Found = Tuple["npt.NDArray[np.float32]", "npt.NDArray[np.int64]"]


class Effort:
    """``efSearch`` and ``nprobe``, as far as they were set."""

    def __init__(
        self, efSearch: Optional[int] = None, nprobe: Optional[int] = None, sel: Any = None
    ) -> None:
        if sel is not None:
            raise UnsupportedError("selectors are not there in pageway.compat.faiss")
        self.efSearch, self.nprobe = efSearch, nprobe

    def list_size(self) -> Optional[int]:
        """The list size that they stand for."""
        if self.efSearch is not None:
            return int(self.efSearch)
        return None if self.nprobe is None else _LIST_SIZE_PER_PROBE * int(self.nprobe)


#: All kinds take the same settings; they differ by name alone.
SearchParameters = SearchParametersHNSW = SearchParametersIVF = SearchParametersPQ = Effort


class Kind(NamedTuple):
    """What an index is: its name in the factory, settings of the build, whether it is exact."""

    description: str
    settings: Dict[str, Any]
    exact: bool


class Index:
    """Vectors of `d` components; made by `index_factory`, or by the classes of faiss's names."""

    def __init__(self, d: int, kind: Kind, metric: int = METRIC_L2) -> None:
        if metric not in _METRICS:
            raise UnsupportedError(f"metric {metric} is not there: METRIC_L2, METRIC_INNER_PRODUCT")
        self.d, self.metric_type, self.verbose = int(d), metric, False
        self.is_trained = kind.exact or "IVF" not in kind.description
        self.kind = kind
        #: How hard searches try; ``index.hnsw.efSearch`` and ``index.nprobe`` as in faiss.
        self.hnsw = Effort()
        self.rows = Growing(d, _METRICS[metric], np.float32, **kind.settings)

    @property
    def ntotal(self) -> int:
        """Vectors in the index."""
        return self.rows.count

    @property
    def nprobe(self) -> int:
        """Lists to probe: 16 places of the candidate list each."""
        return self.hnsw.nprobe or 1

    @nprobe.setter
    def nprobe(self, lists: int) -> None:
        self.hnsw.nprobe = int(lists)

    def train(self, x: Any) -> None:
        """Nothing to do: the build trains what it needs."""
        self.is_trained = True

    def add(self, x: Any) -> None:
        """Adds rows of shape (n, d), numbered on from `ntotal`."""
        self.rows.add(_checked(x, self.d))

    def add_with_ids(self, x: Any, ids: Any) -> None:
        """Adds rows under ids of their own."""
        self.rows.add(_checked(x, self.d), ids)

    def search(
        self,
        x: Any,
        k: int,
        *,
        params: Optional[Effort] = None,
        D: Optional[npt.NDArray[np.float32]] = None,
        I: Optional[npt.NDArray[np.int64]] = None,  # noqa: E741, as in faiss
    ) -> Found:
        """Distances and ids of the `k` nearest, of shape (n, k); -1 where there are fewer."""
        queries = _checked(x, self.d)
        wanted = min(k, self.ntotal)
        if wanted == 0:
            distances = np.full((len(queries), 0), np.inf, np.float32)
            found = distances, np.full((len(queries), 0), -1, np.int64)
        elif self.kind.exact:
            found = self._compared(queries, wanted)
        else:
            found = self._searched(queries, wanted, params or self.hnsw)
        return self._as_faiss(found, k, D, I)

    def _compared(self, queries: Any, k: int) -> Found:
        """With every vector."""
        places, ids = self.rows.latest()
        rows = self.rows.rows()
        rows = rows if len(places) == len(rows) else rows[places]
        found = ground_truth(rows, queries, min(k, len(rows)), self.rows.metric)
        return found.distances, ids[found.ids]

    def _searched(self, queries: Any, k: int, effort: Effort) -> Found:
        index, size = self.rows.index(), effort.list_size()
        k = min(k, len(index))
        if size is None:
            found = index.search(queries, k=k, recall=_reachable(index.calibration["curves"]))
        else:
            found = index.search(queries, k=k, list_size=max(size, k))
        return found.distances, found.ids

    def _as_faiss(self, found: Found, k: int, D: Any, I: Any) -> Found:  # noqa: E741
        """Similarities where those are asked for, filled up to `k` and put where the caller says."""
        near, ids = found
        largest = self.metric_type == METRIC_INNER_PRODUCT
        shape = (len(near), k)
        distances = np.full(shape, -_FAR if largest else _FAR, np.float32) if D is None else D
        labels = np.full(shape, -1, np.int64) if I is None else I
        there = ids >= 0
        distances[:, : near.shape[1]][there] = (-near if largest else near)[there]
        labels[:, : near.shape[1]] = ids
        return distances, labels

    def range_search(
        self, x: Any, thresh: float, *, params: Optional[Effort] = None
    ) -> Tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """``lims, distances, ids`` of all vectors nearer, or more similar, than `thresh`."""
        queries = _checked(x, self.d)
        if self.kind.exact:
            lims, values, near = self._all_within(queries, thresh)
            return lims, values, near
        radius = -thresh if self.metric_type == METRIC_INNER_PRODUCT else thresh
        size = (params or self.hnsw).list_size()
        found = self.rows.index().range(queries, radius, limit=1000, list_size=min(size or 100, 1000))
        distances = found.distances
        if self.metric_type == METRIC_INNER_PRODUCT:
            distances = -distances
        return found.lims, distances, found.ids.astype(np.int64)

    def _all_within(self, queries: Any, thresh: float) -> Any:
        places, ids = self.rows.latest()
        rows = self.rows.rows()
        parts: List[List[Tuple[Any, Any]]] = [[] for _ in queries]
        for start in range(0, len(places), _BLOCK_ROWS):
            block = rows[places[start : start + _BLOCK_ROWS]]
            for part, query in zip(parts, queries):
                if self.metric_type == METRIC_INNER_PRODUCT:
                    values = block @ query
                    near = np.flatnonzero(values > thresh)
                else:
                    values = ((block - query) ** 2).sum(axis=1)
                    near = np.flatnonzero(values < thresh)
                part.append((values[near], ids[start + near]))
        counts = [sum(len(values) for values, _ in part) for part in parts]
        lims = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        flat = [piece for part in parts for piece in part]
        distances = np.concatenate([values for values, _ in flat] + [np.empty(0, np.float32)])
        labels = np.concatenate([found for _, found in flat] + [np.empty(0, np.int64)])
        return lims, distances.astype(np.float32), labels

    def reconstruct(self, key: int) -> npt.NDArray[np.float32]:
        """The vector of an id."""
        vector: npt.NDArray[np.float32] = self.reconstruct_batch([key])[0]
        return vector

    def reconstruct_n(self, n0: int = 0, ni: int = -1) -> npt.NDArray[np.float32]:
        """The vectors of `ni` ids from `n0` on."""
        ni = self.ntotal - n0 if ni < 0 else ni
        return self.reconstruct_batch(np.arange(n0, n0 + ni))

    def reconstruct_batch(self, keys: Any) -> npt.NDArray[np.float32]:
        """The vectors of ids, of shape (n, d)."""
        places, ids = self.rows.latest()
        order = np.argsort(ids)
        wanted = as_ids(keys).astype(np.int64)
        at = np.minimum(np.searchsorted(ids, wanted, sorter=order), max(len(ids) - 1, 0))
        if not len(ids) or (ids[order[at]] != wanted).any():
            raise InvalidInputError("reconstruct: there is no vector of that id")
        return np.array(self.rows.rows()[places[order[at]]])

    def reset(self) -> None:
        """Forgets all vectors."""
        self.rows.close()
        self.rows = Growing(self.d, self.rows.metric, np.float32, **self.kind.settings)

    def remove_ids(self, sel: Any) -> int:
        """Not here."""
        raise UnsupportedError("remove_ids is not there in pageway.compat.faiss")

    def __repr__(self) -> str:
        kind = self.kind.description
        return f"<pageway.compat.faiss.Index {kind!r}: {self.ntotal} x {self.d}>"


def _checked(x: Any, d: int) -> npt.NDArray[np.float32]:
    array = np.ascontiguousarray(x, dtype=np.float32)
    if array.ndim != 2 or array.shape[1] != d:
        raise InvalidInputError(f"vectors have shape (n, {d}), these {array.shape}")
    return array


def _reachable(curves: Any) -> float:
    """A recall of 0.95, or what the calibration found for every k."""
    best = [curve["rows"][-1]["recall"] for curve in curves]
    return min([0.95, *best])
