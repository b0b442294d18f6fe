"""usearch: HNSW in a file that is mapped into memory (its ``view``).

Effort is its ``expansion_search``. Options of the build: ``degree`` (its connectivity, 24: 48 links
on the lowest layer), ``build_list``; of a search: ``memory=resident`` loads the file. Elements stay
what they are: float32, float16, uint8 and int8; bytes under cosine become float32.
"""

from __future__ import annotations

from typing import Any

# First: it says so where numpy is missing.
from common import Answers, Build, Library, Line, Open, Opened, as_floats, blocks, run
import numpy as np

FILE = "index.usearch"
METRIC = {"l2": "l2sq", "ip": "ip", "cosine": "cos"}
#: Named in every call: rows of uint8 would else be read as bits.
KIND = {"float32": "f32", "float16": "f16", "uint8": "u8", "int8": "i8"}


class UsearchOpened(Opened):
    """An index of usearch."""

    def __init__(self, index: Any, kind: str, exact: bool, mapped: bool) -> None:
        self._index, self._kind, self._exact = index, kind, exact
        self.memory_kind = "mmap page cache" if mapped else "resident"

    def set_effort(self, effort: int) -> None:
        self._index.expansion_search = effort

    def one(self, query: np.ndarray, k: int) -> Answers:
        found = self._index.search(query, k, threads=1, dtype=self._kind)
        return _padded(found.keys[None], found.distances[None], k, self._exact)

    def many(self, queries: np.ndarray, k: int, threads: int) -> Answers:
        found = self._index.search(queries, k, threads=threads, dtype=self._kind)
        return _padded(found.keys, found.distances, k, self._exact)


def _padded(keys: np.ndarray, distances: np.ndarray, k: int, exact: bool) -> Answers:
    """Rows of `k` ids, -1 where fewer were found."""
    ids = np.full((len(keys), k), -1, np.int64)
    ids[:, : keys.shape[1]] = keys.astype(np.int64)
    return ids, distances if exact and distances.shape == ids.shape else None


class Usearch(Library):
    """Builder and opener."""

    name, module, requirement = "usearch", "usearch", "usearch==2.26.6"
    effort_means = "expansion_search"
    dtypes = tuple(KIND)

    def build(self, task: Build) -> Line:
        from usearch.index import Index

        degree, build_list = task.option("degree", 24), task.option("build_list", 100)
        as_is = task.metric != "cosine"
        kind = KIND[str(task.rows.dtype)] if as_is else "f32"
        index = Index(
            ndim=task.rows.shape[1],
            metric=METRIC[task.metric],
            dtype=kind,
            connectivity=degree,
            expansion_add=build_list,
            enable_key_lookups=False,
        )
        for first, rows in blocks(task.rows):
            ids = np.arange(first, first + len(rows), dtype=np.uint64)
            vectors = np.ascontiguousarray(rows) if as_is else as_floats(rows, task.metric)
            index.add(ids, vectors, threads=task.threads, dtype=kind)
        index.save(str(task.out / FILE))
        return {"degree": degree, "build_list": build_list, "memory": "mmap", "kept_as": kind}

    def open(self, task: Open) -> Opened:
        from usearch.index import Index

        mapped = task.option("memory", "mmap") == "mmap"
        index = Index.restore(str(task.directory / FILE), view=mapped)
        exact = task.made["metric"] == "l2"
        kind = task.made["parameters"]["kept_as"]
        return UsearchOpened(index, kind, exact, mapped)


if __name__ == "__main__":
    run(Usearch())
