"""lancedb: a table on disk with an index of inverted lists, refined by the vectors of the table.

Effort is the number of lists probed (``nprobes``). Options of the build: ``kind`` (``IVF_PQ``,
``IVF_HNSW_SQ``, ``IVF_HNSW_PQ``), ``lists`` (sqrt(rows)), ``code_bytes``; of a search: ``refine``
candidates per neighbour (10), ``list_size`` of the graphs of the HNSW kinds. Its element is
float32, others are converted. It has no batches: queries are shared among threads of Python. Its
reads go through the page cache of the operating system, in front of caches of its own.
"""

from __future__ import annotations

import math
from typing import Any, Iterator

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

TABLE = "vectors"
#: The distance would come anyway, with a warning in every search that does not name it.
COLUMNS = ["node", "_distance"]
METRIC = {"l2": "l2", "ip": "dot", "cosine": "cosine"}


class LanceOpened(Opened):
    """A table of lancedb."""

    def __init__(self, table: Any, metric: str, refine: int, list_size: int) -> None:
        self._table, self._metric = table, METRIC[metric]
        self._refine, self._list_size = refine, list_size
        self._probes = 1

    def set_effort(self, effort: int) -> None:
        self._probes = effort

    def one(self, query: np.ndarray, k: int) -> Answers:
        wish = self._table.search(query).distance_type(self._metric).select(COLUMNS)
        wish = wish.minimum_nprobes(self._probes).maximum_nprobes(self._probes)
        if self._list_size:
            wish = wish.ef(self._list_size)
        found = wish.refine_factor(self._refine).limit(k).to_arrow()
        ids = np.full(k, -1, np.int64)
        ids[: len(found)] = found["node"].to_numpy()
        return ids, None


class Lance(Library):
    """Builder and opener."""

    name, module, requirement = "lancedb", "lancedb", "lancedb==0.40.0"
    effort_means = "nprobes"

    def build(self, task: Build) -> Line:
        import lancedb

        count, dimension = task.rows.shape
        kind = task.option("kind", "IVF_PQ")
        lists = task.option("lists", max(1, math.isqrt(count)))
        parts = task.option("code_bytes", 32)
        parts = max(size for size in range(1, parts + 1) if dimension % size == 0)
        table = lancedb.connect(str(task.out)).create_table(TABLE, _batches(task))
        table.create_index("vector", config=_config(task, kind, lists, parts))
        return {"kind": kind, "lists": lists, "code_bytes": parts, "refine": 10}

    def open(self, task: Open) -> Opened:
        import lancedb

        refine = task.option("refine", int(task.made["parameters"]["refine"]))
        table = lancedb.connect(str(task.directory)).open_table(TABLE)
        return LanceOpened(table, task.made["metric"], refine, task.option("list_size", 0))


def _config(task: Build, kind: str, lists: int, parts: int) -> Any:
    from lancedb.index import HnswPq, HnswSq, IvfPq

    common = {"distance_type": METRIC[task.metric], "num_partitions": lists}
    if kind == "IVF_HNSW_SQ":
        return HnswSq(**common)
    if kind == "IVF_HNSW_PQ":
        return HnswPq(num_sub_vectors=parts, **common)
    if kind == "IVF_PQ":
        return IvfPq(num_sub_vectors=parts, **common)
    raise ComparatorError(f"kind is {kind!r}: IVF_PQ, IVF_HNSW_PQ or IVF_HNSW_SQ")


def _batches(task: Build) -> Any:
    """The rows with their numbers as a stream of Arrow batches."""
    import pyarrow

    dimension = task.rows.shape[1]
    vectors = pyarrow.list_(pyarrow.float32(), dimension)
    schema = pyarrow.schema([("node", pyarrow.int64()), ("vector", vectors)])

    def batches() -> Iterator[Any]:
        for first, rows in blocks(task.rows):
            numbers = pyarrow.array(np.arange(first, first + len(rows)), pyarrow.int64())
            values = pyarrow.array(as_floats(rows, "l2").reshape(-1))
            lists = pyarrow.FixedSizeListArray.from_arrays(values, dimension)
            yield pyarrow.record_batch([numbers, lists], schema=schema)

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


if __name__ == "__main__":
    run(Lance())
