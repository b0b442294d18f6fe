"""`faiss <https://github.com/facebookresearch/faiss>`_ over indexes on disk.

``index_factory`` and the classes of flat, HNSW, IVF and PQ indexes; ``add``, ``add_with_ids``,
``search``, ``range_search``, ``reconstruct``, ``write_index`` (a directory), ``read_index``.
A ``Flat`` index compares with every vector, as there. Every other is an index of pageway whose
sizes follow from the name: degree ``2 M`` of ``HNSWM``, the bytes of codes of ``PQm``. How hard a
search tries is ``efSearch``, or 16 times ``nprobe``, as the list size; until one is set, a recall
of 0.95. Training is not needed and does nothing. Adding after a search builds anew at the next one.

Left out: selectors, ``remove_ids``, GPUs, binary indexes, ``Kmeans``, rotations other than OPQ.
Ids are unique: a vector whose id is there already takes the place of the other.

>>> from pageway.compat import faiss
>>> index = faiss.index_factory(vectors.shape[1], "IVF64,PQ8")
>>> index.train(vectors)
>>> index.add(vectors)
>>> distances, ids = index.search(vectors[:3], 1)
>>> ids.ravel().tolist()
[0, 1, 2]
"""

from ._factory import (
    IndexFlat,
    IndexFlatIP,
    IndexFlatL2,
    IndexHNSWFlat,
    IndexIDMap,
    IndexIDMap2,
    IndexIVFFlat,
    IndexIVFPQ,
    IndexPQ,
    index_factory,
)
from ._index import (
    METRIC_INNER_PRODUCT,
    METRIC_L2,
    Index,
    SearchParameters,
    SearchParametersHNSW,
    SearchParametersIVF,
    SearchParametersPQ,
)
from ._whole import (
    IO_FLAG_MMAP,
    IO_FLAG_READ_ONLY,
    ParameterSpace,
    downcast_index,
    normalize_L2,
    omp_get_max_threads,
    omp_set_num_threads,
    read_index,
    write_index,
)

__all__ = [
    "IO_FLAG_MMAP",
    "IO_FLAG_READ_ONLY",
    "METRIC_INNER_PRODUCT",
    "METRIC_L2",
    "Index",
    "IndexFlat",
    "IndexFlatIP",
    "IndexFlatL2",
    "IndexHNSWFlat",
    "IndexIDMap",
    "IndexIDMap2",
    "IndexIVFFlat",
    "IndexIVFPQ",
    "IndexPQ",
    "ParameterSpace",
    "SearchParameters",
    "SearchParametersHNSW",
    "SearchParametersIVF",
    "SearchParametersPQ",
    "downcast_index",
    "index_factory",
    "normalize_L2",
    "omp_get_max_threads",
    "omp_set_num_threads",
    "read_index",
    "write_index",
]
