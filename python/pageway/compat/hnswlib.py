"""`hnswlib <https://github.com/nmslib/hnswlib>`_ over indexes on disk.

Left out: ``mark_deleted``, ``filter=`` and ``allow_replace_deleted``, which raise. ``M`` gives half
the degree of the graph, ``ef_construction`` the list it is built with, ``ef`` the list of a search.
``save_index`` writes a directory, in place of an index or a file there. Adding after a search builds anew at the next one.

>>> from pageway.compat import hnswlib
>>> index = hnswlib.Index(space="l2", dim=vectors.shape[1])
>>> index.init_index(max_elements=len(vectors), ef_construction=100, M=16)
>>> index.add_items(vectors)
>>> labels, distances = index.knn_query(vectors[:2], k=1)
>>> labels.ravel().tolist()
[0, 1]
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Optional, Tuple

import numpy as np
import numpy.typing as npt

from .._settings import Metric
from ..errors import InvalidInputError, UnsupportedError
from ._growing import Growing, marks_of

__all__ = ["Index"]

_METRICS: Dict[str, Metric] = {"l2": "l2", "ip": "inner_product", "cosine": "cosine"}


class Index:
    """As ``hnswlib.Index``: `space` is ``"l2"``, ``"ip"`` or ``"cosine"``."""

    def __init__(self, space: str = "l2", dim: int = 0) -> None:
        if space not in _METRICS:
            raise InvalidInputError(f"space is {space!r}: one of {', '.join(_METRICS)}")
        self.space, self.dim = space, int(dim)
        self.M, self.ef_construction, self.ef = 16, 200, 10
        self.max_elements, self.num_threads = 0, 0
        self._rows: Optional[Growing] = None

    def init_index(
        self,
        max_elements: int = 0,
        ef_construction: int = 200,
        M: int = 16,
        random_seed: int = 100,
        allow_replace_deleted: bool = False,
    ) -> None:
        """Begins an empty index; `max_elements` binds nobody."""
        _no(allow_replace_deleted, "allow_replace_deleted")
        self.max_elements, self.M, self.ef_construction = max_elements, M, ef_construction
        settings = self._settings()
        self._rows = Growing(self.dim, _METRICS[self.space], np.float32, **settings)
        self._rows.settings["seed"] = random_seed

    def _settings(self) -> Dict[str, Any]:
        degree = min(max(2 * self.M, 4), 512)
        build_list = max(self.ef_construction, degree)
        return {"degree": degree, "build_list": build_list, "id_type": np.uint64}

    def add_items(
        self, data: Any, ids: Any = None, num_threads: int = -1, replace_deleted: bool = False
    ) -> None:
        """Adds vectors; those of ids that are there already take their place."""
        _no(replace_deleted, "replace_deleted")
        rows = self._opened()
        labels = None if ids is None else np.atleast_1d(ids)
        rows.add(np.asarray(data, dtype=np.float32), labels)

    def knn_query(
        self, data: Any, k: int = 1, num_threads: int = -1, filter: Any = None
    ) -> Tuple[npt.NDArray[np.uint64], npt.NDArray[np.float32]]:
        """Labels and distances of the `k` nearest, of shape (n, k)."""
        _no(filter is not None, "filter")
        index = self._opened().index()
        queries = np.atleast_2d(np.asarray(data, dtype=np.float32))
        threads = self.num_threads if num_threads < 0 else num_threads
        found = index.search(queries, k=k, list_size=max(self.ef, k), threads=max(threads, 0))
        distances = found.distances + 1 if self.space == "ip" else found.distances
        return found.ids.astype(np.uint64), distances

    def set_ef(self, ef: int) -> None:
        """The list size of the searches to come."""
        self.ef = int(ef)

    def set_num_threads(self, num_threads: int) -> None:
        """Threads of the searches to come."""
        self.num_threads = int(num_threads)

    def save_index(self, path_to_index: str) -> None:
        """Writes the index to a directory of that name."""
        marks = {
            "space": self.space,
            "M": self.M,
            "ef_construction": self.ef_construction,
            "ef": self.ef,
        }
        self._opened().save(os.fspath(path_to_index), json.dumps(marks).encode())

    def load_index(
        self, path_to_index: str, max_elements: int = 0, allow_replace_deleted: bool = False
    ) -> None:
        """Reads what `save_index` wrote."""
        _no(allow_replace_deleted, "allow_replace_deleted")
        path = os.fspath(path_to_index)
        marks = json.loads(marks_of(path))
        self.M = marks.get("M", self.M)
        self.ef_construction = marks.get("ef_construction", self.ef_construction)
        rows = Growing.load(path, **self._settings())
        if rows.dimension != self.dim or rows.metric != _METRICS[self.space]:
            raise InvalidInputError(
                f"{path}: holds {rows.dimension} dimensions under {rows.metric}, this index has "
                f"{self.dim} under {_METRICS[self.space]}"
            )
        self._rows = rows
        self.max_elements = max(max_elements, rows.count)

    def get_items(self, ids: Any = None, return_type: str = "numpy") -> Any:
        """The vectors of some labels."""
        rows = self._opened()
        wanted = self.get_ids_list() if ids is None else ids
        vectors = rows.index().vectors(np.atleast_1d(wanted))
        if self.space == "cosine":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
        return vectors if return_type == "numpy" else vectors.tolist()

    def get_ids_list(self) -> Any:
        """All labels."""
        return self._opened().latest()[1].tolist()

    def get_current_count(self) -> int:
        """Vectors in the index."""
        return len(self._opened().latest()[1])

    element_count = property(get_current_count)

    def get_max_elements(self) -> int:
        """As `init_index` was told."""
        return self.max_elements

    def resize_index(self, new_size: int) -> None:
        """Takes note of the size; there is no limit."""
        self.max_elements = int(new_size)

    def mark_deleted(self, label: int) -> None:
        """Not here: an index of this module does not forget."""
        _no(True, "mark_deleted")

    def _opened(self) -> Growing:
        if self._rows is None:
            raise InvalidInputError("call init_index or load_index first")
        return self._rows

    def __repr__(self) -> str:
        return f"<pageway.compat.hnswlib.Index(space={self.space!r}, dim={self.dim})>"


def _no(wanted: bool, what: str) -> None:
    if wanted:
        raise UnsupportedError(f"{what} of hnswlib is not there in pageway.compat.hnswlib")
