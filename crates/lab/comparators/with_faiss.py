"""faiss-cpu: inverted lists of product-quantised residuals with refinement, or HNSW in memory.

Options of the build: ``kind``.

* ``kind=ivfpq`` (default): ``lists`` (4 * sqrt(rows)), ``code_bytes`` (divides the dimensions, else
  the next smaller that does). Vectors for the refinement are kept as they came: float32, float16,
  or bytes. The lists and these vectors are mapped from the file, ``memory=resident`` reads them.
  Effort is the number of lists probed; ``refine`` candidates per neighbour are ranked exactly (10).
  ``prefetch`` threads read mapped lists ahead (0; the 32 of faiss cost more than they brought).
* ``kind=hnsw``: ``degree`` (its M, 24: 48 links on the lowest layer) and ``build_list``. Everything
  in memory as float32. Effort is efSearch.

faiss takes float32 only: other elements are converted, a block at a time.
"""

from __future__ import annotations

import math
from typing import Any, Dict, Tuple

# First: it says so where numpy is missing.
from common import (
    Answers,
    Build,
    ComparatorError,
    Library,
    Line,
    Open,
    Opened,
    as_floats,
    blocks,
    run,
)
import numpy as np

GRAPH, LISTS, VECTORS = "graph.faiss", "lists.faiss", "vectors.faiss"
#: Rows that the coarse centres and the codes are trained on, per list.
TRAINING_ROWS_PER_LIST = 40


class FaissOpened(Opened):
    """An index of faiss. Batches are shared among OpenMP threads."""

    def __init__(self, faiss: Any, index: Any, parameters: Line) -> None:
        self._faiss, self._index, self._parameters = faiss, index, parameters
        self._settings: Any = None
        self._exact = index.metric_type == faiss.METRIC_L2
        mapped = parameters.get("memory") == "mmap"
        self.memory_kind = "mmap page cache" if mapped else "resident"

    def set_effort(self, effort: int) -> None:
        faiss = self._faiss
        if self._parameters["kind"] == "hnsw":
            self._settings = faiss.SearchParametersHNSW(efSearch=effort)
            return
        probes = faiss.SearchParametersIVF(nprobe=effort)
        refine = float(self._parameters["refine"])
        self._settings = faiss.IndexRefineSearchParameters(
            k_factor=refine, base_index_params=probes
        )

    def one(self, query: np.ndarray, k: int) -> Answers:
        ids, distances = self.many(query[None], k, 1)
        return ids[0], None if distances is None else distances[0]

    def many(self, queries: np.ndarray, k: int, threads: int) -> Answers:
        self._faiss.omp_set_num_threads(threads)
        distances, ids = self._index.search(queries, k, params=self._settings)
        return ids, distances if self._exact else None


class Faiss(Library):
    """Builder and opener."""

    name, module, requirement = "faiss", "faiss", "faiss-cpu==1.15.1"
    effort_means = "nprobe of kind=ivfpq, efSearch of kind=hnsw"

    def build(self, task: Build) -> Line:
        import faiss

        faiss.omp_set_num_threads(task.threads)
        kind = task.option("kind", "ivfpq")
        if kind not in ("ivfpq", "hnsw"):
            raise ComparatorError(f"kind is {kind!r}: ivfpq or hnsw")
        index, parts, parameters = (_ivfpq if kind == "ivfpq" else _hnsw)(faiss, task)
        for _, rows in blocks(task.rows):
            index.add(as_floats(rows, task.metric))
        for name, part in parts.items():
            faiss.write_index(part, str(task.out / name))
        return {"kind": kind, **parameters}

    def open(self, task: Open) -> Opened:
        import faiss

        parameters = {**task.made["parameters"], **task.options}
        mapped = parameters.get("memory") == "mmap"

        def read(name: str, flag: int) -> Any:
            return faiss.read_index(str(task.directory / name), flag if mapped else 0)

        if parameters["kind"] == "hnsw":
            index = read(GRAPH, 0)
        else:
            # One file cannot be mapped in both ways.
            lists, vectors = read(LISTS, faiss.IO_FLAG_MMAP), read(VECTORS, faiss.IO_FLAG_MMAP_IFC)
            if mapped:
                on_disk = faiss.downcast_InvertedLists(lists.invlists)
                on_disk.prefetch_nthread = task.option("prefetch", 0)
            index = faiss.IndexRefine(lists, vectors)
        return FaissOpened(faiss, index, parameters)


Made = Tuple[Any, Dict[str, Any], Line]


def _hnsw(faiss: Any, task: Build) -> Made:
    degree, build_list = task.option("degree", 24), task.option("build_list", 100)
    index = faiss.IndexHNSWFlat(task.rows.shape[1], degree, _metric(faiss, task))
    index.hnsw.efConstruction = build_list
    index.hnsw.rng = faiss.RandomGenerator(task.seed)
    return index, {GRAPH: index}, {"degree": degree, "build_list": build_list}


def _ivfpq(faiss: Any, task: Build) -> Made:
    """Lists and codes, trained, under the refinement: the index, its files, what it is."""
    count, dimension = task.rows.shape
    lists = task.option("lists", max(1, min(4 * math.isqrt(count), count // 39)))
    code_bytes = _divisor(dimension, task.option("code_bytes", 32))
    metric = _metric(faiss, task)
    centres = faiss.IndexFlat(dimension, metric)
    base = faiss.IndexIVFPQ(centres, dimension, lists, code_bytes, 8, metric)
    base.cp.seed = base.pq.cp.seed = task.seed
    vectors = _vectors(faiss, task, metric)
    index = faiss.IndexRefine(base, vectors)
    rows = _sample(task.rows, TRAINING_ROWS_PER_LIST * max(lists, 256), task.seed)
    index.train(as_floats(rows, task.metric))
    parameters = {
        "lists": lists,
        "code_bytes": code_bytes,
        "refine": task.option("refine", 10),
        "memory": task.option("memory", "mmap"),
    }
    return index, {LISTS: base, VECTORS: vectors}, parameters


def _sample(rows: np.ndarray, count: int, seed: int) -> np.ndarray:
    """At most `count` of the rows, spread evenly from a start that `seed` gives; for training."""
    if len(rows) <= count:
        return rows
    start = seed % (len(rows) // count)
    return rows[start + (np.arange(count) * (len(rows) // count))]


def _vectors(faiss: Any, task: Build, metric: int) -> Any:
    """The store of the exact vectors: bytes and halves stay what they are, save under cosine."""
    dimension, kind = task.rows.shape[1], str(task.rows.dtype)
    exact = {"uint8": "QT_8bit_direct", "int8": "QT_8bit_direct_signed", "float16": "QT_fp16"}
    if kind not in exact or task.metric == "cosine":
        return faiss.IndexFlat(dimension, metric)
    code = getattr(faiss.ScalarQuantizer, exact[kind])
    return faiss.IndexScalarQuantizer(dimension, code, metric)


def _metric(faiss: Any, task: Build) -> int:
    """Vectors of length 1 have the same order under the inner product as under cosine."""
    return faiss.METRIC_L2 if task.metric == "l2" else faiss.METRIC_INNER_PRODUCT


def _divisor(dimension: int, wish: int) -> int:
    """The largest divisor of `dimension` up to `wish`: codes have parts of one size."""
    return max(size for size in range(1, max(wish, 1) + 1) if dimension % size == 0)


if __name__ == "__main__":
    run(Faiss())
