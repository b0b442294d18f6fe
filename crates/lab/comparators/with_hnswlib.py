"""hnswlib: HNSW, everything in memory. What a search costs when memory is no concern.

Effort is its ``ef``. Options of the build: ``degree`` (its M, 24: 48 links on the lowest layer),
``build_list`` (its ef_construction). It takes float32 only, other elements are converted.
"""

from __future__ import annotations

from typing import Any

# First: it says so where numpy is missing.
from common import Answers, Build, Library, Line, Open, Opened, as_floats, blocks, run
import numpy as np

FILE = "index.hnswlib"


class HnswlibOpened(Opened):
    """An index of hnswlib."""

    def __init__(self, index: Any, exact: bool) -> None:
        self._index, self._exact = index, exact

    def set_effort(self, effort: int) -> None:
        self._index.set_ef(effort)

    def one(self, query: np.ndarray, k: int) -> Answers:
        ids, distances = self._index.knn_query(query, k, num_threads=1)
        return ids[0], distances[0] if self._exact else None

    def many(self, queries: np.ndarray, k: int, threads: int) -> Answers:
        ids, distances = self._index.knn_query(queries, k, num_threads=threads)
        return ids.astype(np.int64), distances if self._exact else None


class Hnswlib(Library):
    """Builder and opener."""

    name, module, requirement = "hnswlib", "hnswlib", "hnswlib==0.8.0"
    effort_means = "ef"

    def build(self, task: Build) -> Line:
        import hnswlib

        degree, build_list = task.option("degree", 24), task.option("build_list", 100)
        count, dimension = task.rows.shape
        index = hnswlib.Index(task.metric, dimension)
        index.init_index(count, build_list, degree, task.seed)
        for first, rows in blocks(task.rows):
            ids = np.arange(first, first + len(rows))
            index.add_items(as_floats(rows, "l2"), ids, num_threads=task.threads)
        index.save_index(str(task.out / FILE))
        return {"degree": degree, "build_list": build_list}

    def open(self, task: Open) -> Opened:
        import hnswlib

        made = task.made
        index = hnswlib.Index(made["metric"], made["dimensions"])
        index.load_index(str(task.directory / FILE))
        return HnswlibOpened(index, made["metric"] == "l2")


if __name__ == "__main__":
    run(Hnswlib())
