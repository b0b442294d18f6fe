"""`diskannpy <https://github.com/microsoft/DiskANN>`_ over indexes of pageway.

``build_disk_index`` and ``StaticDiskIndex``, ``build_memory_index`` and ``StaticMemoryIndex``, the
``.bin`` files of vectors and tags. Left out: ``DynamicMemoryIndex``, labels and filters. Memory is
in GiB as there; ``complexity`` is the list size, of the build and of a search. The index lies in
the directory ``<index_directory>/<index_prefix>.pageway``.

>>> from pageway.compat import diskannpy
>>> diskannpy.build_disk_index(
...     vectors, "l2", ".", complexity=60, graph_degree=32,
...     search_memory_maximum=0.01, build_memory_maximum=1.0, num_threads=0,
... )
>>> index = diskannpy.StaticDiskIndex(".", num_threads=1, num_nodes_to_cache=0)
>>> index.search(vectors[7], k_neighbors=3, complexity=50).identifiers[0].item()
7
"""

from __future__ import annotations

import os
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np
import numpy.typing as npt

from .. import building
from .._ids import as_ids
from .._paths import is_path
from .._settings import Metric
from ..errors import InvalidInputError, UnsupportedError
from ..index import open as open_index

__all__ = [
    "DynamicMemoryIndex",
    "QueryResponse",
    "QueryResponseBatch",
    "StaticDiskIndex",
    "StaticMemoryIndex",
    "build_disk_index",
    "build_memory_index",
    "tags_from_file",
    "tags_to_file",
    "vectors_from_file",
    "vectors_to_file",
]

_METRICS: Dict[str, Metric] = {"l2": "l2", "mips": "inner_product", "cosine": "cosine"}
_GIB = 1 << 30
#: Below this no index of pageway searches.
_MEMORY_MIN = 16 << 20


class QueryResponse(NamedTuple):
    """Answers to one query, of shape (k,)."""

    identifiers: npt.NDArray[np.uint32]
    distances: npt.NDArray[np.float32]


class QueryResponseBatch(NamedTuple):
    """Answers to many queries, of shape (n, k)."""

    identifiers: npt.NDArray[np.uint32]
    distances: npt.NDArray[np.float32]


def build_disk_index(
    data: Any,
    distance_metric: str,
    index_directory: str,
    complexity: int,
    graph_degree: int,
    search_memory_maximum: float,
    build_memory_maximum: float,
    num_threads: int,
    pq_disk_bytes: int = 0,
    vector_dtype: Any = None,
    index_prefix: str = "ann",
) -> None:
    """Builds an index of the design that diskannpy has; memory in GiB."""
    if pq_disk_bytes:
        raise UnsupportedError("pq_disk_bytes is not there: vectors on disk are kept whole")
    building.build(
        _place(index_directory, index_prefix),
        _vectors(data),
        metric=_metric(distance_metric),
        preset="diskann",
        memory=max(int(search_memory_maximum * _GIB), _MEMORY_MIN),
        build_memory=int(build_memory_maximum * _GIB),
        degree=graph_degree,
        build_list=max(complexity, graph_degree),
        threads=num_threads,
        dtype=vector_dtype,
        overwrite=True,
    ).close()


def build_memory_index(
    data: Any,
    distance_metric: str,
    index_directory: str,
    complexity: int,
    graph_degree: int,
    num_threads: int,
    alpha: float = 1.2,
    use_pq_build: bool = False,
    num_pq_bytes: int = 0,
    use_opq: bool = False,
    vector_dtype: Any = None,
    tags: Any = "",
    filter_labels: Any = None,
    universal_label: str = "",
    filter_complexity: int = 0,
    index_prefix: str = "ann",
) -> None:
    """Builds an index whose searches may hold all of it in memory."""
    if filter_labels is not None or filter_complexity:
        raise UnsupportedError("filter labels are not there in pageway.compat.diskannpy")
    ids = None
    if isinstance(tags, np.ndarray):
        ids = _tags(tags)
    elif tags:
        ids = tags_from_file(os.fspath(tags))
    building.build(
        _place(index_directory, index_prefix),
        _vectors(data),
        metric=_metric(distance_metric),
        memory=max(2 * _bytes(data), _MEMORY_MIN),
        degree=graph_degree,
        build_list=max(complexity, graph_degree),
        overrides={"graph": {"alpha": alpha}},
        threads=num_threads,
        ids=ids,
        dtype=vector_dtype,
        overwrite=True,
    ).close()


class _StaticIndex:
    """What both kinds share."""

    def __init__(self, place: str, num_threads: int, complexity: Optional[int]) -> None:
        threads = num_threads or (os.cpu_count() or 1)
        self._index = open_index(place, threads=threads, list_size=complexity)

    def search(
        self, query: Any, k_neighbors: int, complexity: int, beam_width: Optional[int] = None
    ) -> QueryResponse:
        """The nearest of one query, of shape (d,)."""
        if np.ndim(query) != 1:
            raise InvalidInputError("query: has shape (d,); for many there is batch_search")
        return QueryResponse(*self._found(query, k_neighbors, complexity, 1, beam_width))

    def batch_search(
        self,
        queries: Any,
        k_neighbors: int,
        complexity: int,
        num_threads: int,
        beam_width: Optional[int] = None,
    ) -> QueryResponseBatch:
        """The nearest of many queries, of shape (n, d)."""
        if np.ndim(queries) != 2:
            raise InvalidInputError("queries: have shape (n, d); for one there is search")
        answers = self._found(queries, k_neighbors, complexity, num_threads, beam_width)
        return QueryResponseBatch(*answers)

    def _found(
        self, asked: Any, k: int, complexity: int, threads: int, beam: Optional[int]
    ) -> Tuple[Any, Any]:
        if complexity < k:
            complexity = k
        found = self._index.search(
            asked, k=k, list_size=complexity, threads=threads, beam=beam
        )
        return found.ids.astype(np.uint32), found.distances


class StaticDiskIndex(_StaticIndex):
    """As ``diskannpy.StaticDiskIndex``; `num_nodes_to_cache` follows from the memory of the build."""

    def __init__(
        self,
        index_directory: str,
        num_threads: int,
        num_nodes_to_cache: int,
        cache_mechanism: int = 1,
        distance_metric: Optional[str] = None,
        vector_dtype: Any = None,
        dimensions: Optional[int] = None,
        index_prefix: str = "ann",
    ) -> None:
        super().__init__(_place(index_directory, index_prefix), num_threads, None)


class StaticMemoryIndex(_StaticIndex):
    """As ``diskannpy.StaticMemoryIndex``."""

    def __init__(
        self,
        index_directory: str,
        num_threads: int,
        initial_search_complexity: int,
        index_prefix: str = "ann",
        distance_metric: Optional[str] = None,
        vector_dtype: Any = None,
        dimensions: Optional[int] = None,
        enable_filters: bool = False,
    ) -> None:
        if enable_filters:
            raise UnsupportedError("filters are not there in pageway.compat.diskannpy")
        place = _place(index_directory, index_prefix)
        super().__init__(place, num_threads, initial_search_complexity)


class DynamicMemoryIndex:
    """Not here: use an index of pageway that changes."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnsupportedError("DynamicMemoryIndex is not there in pageway.compat.diskannpy")


def vectors_to_file(vector_file: str, vectors: Any) -> None:
    """Writes rows, or tags, as a ``.bin`` file: rows and dimension as int32, then the numbers."""
    array = np.ascontiguousarray(vectors)
    rows, dimension = array.shape[0], 1 if array.ndim == 1 else array.shape[1]
    with open(vector_file, "wb") as file:
        file.write(np.array([rows, dimension], dtype="<i4").tobytes())
        file.write(array.data.cast("B"))


def vectors_from_file(vector_file: str, dtype: Any, use_memmap: bool = False) -> npt.NDArray[Any]:
    """Reads, or maps, the rows of a ``.bin`` file."""
    rows, dimension = np.fromfile(vector_file, dtype="<i4", count=2).tolist()
    mapped = np.memmap(vector_file, dtype=dtype, mode="r", offset=8, shape=(rows, dimension))
    return mapped if use_memmap else np.array(mapped)


def tags_to_file(tag_file: str, tags: Any) -> None:
    """Writes ids of shape (n,) as uint32."""
    vectors_to_file(tag_file, _tags(tags).reshape(-1, 1))


def tags_from_file(tag_file: str) -> npt.NDArray[np.uint32]:
    """Reads the ids that `tags_to_file` wrote."""
    return vectors_from_file(tag_file, np.uint32).reshape(-1)


def _tags(tags: Any) -> npt.NDArray[np.uint32]:
    """Ids as the library counts them, in 32 bits."""
    ids = as_ids(tags)
    if ids.size and int(ids.max()) >= 2**32:
        raise InvalidInputError(f"tags: {ids.max()} is one: tags are uint32, from 0 to 2**32 - 1")
    return ids.astype(np.uint32)


def _place(directory: str, prefix: str) -> str:
    return os.path.join(os.fspath(directory), f"{prefix}.pageway")


def _metric(name: str) -> Metric:
    if name not in _METRICS:
        raise InvalidInputError(f"distance_metric is {name!r}: one of {', '.join(_METRICS)}")
    return _METRICS[name]


def _bytes(data: Any) -> int:
    """Bytes of the raw vectors."""
    return os.path.getsize(data) if is_path(data) else int(np.asarray(data).nbytes)


def _vectors(data: Any) -> Any:
    return data if is_path(data) else np.ascontiguousarray(data)
