"""diskannpy 0.7.0: the disk index of DiskANN, read with direct I/O.

Effort is the candidate list size (its "complexity"). Options of the build: ``degree``,
``build_list``, ``code_bytes`` (bytes per vector kept in memory), ``memory_gib`` (of the build);
of a search: ``beam``, ``cached_nodes``. The wheel is for CPython 3.11 and wants numpy 1, so it
needs an environment of its own. float32, uint8 and int8 under l2, float32 under ip; cosine is
searched as l2 over vectors of length 1, which it orders alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

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

GIB = 2**30
CONVERTED = "converted.fbin"
#: What a build leaves and no search reads.
LEFTOVERS = (CONVERTED, "ann_mem.index.data", "ann_sample_data.bin", "ann_sample_ids.bin")
#: What diskannpy takes off its memory for cached nodes once there is more than a GiB beside it.
CACHE_SHARE = GIB // 4
#: Its constructor waits for ever when it is asked for a single context.
LEAST_CONTEXTS = 2
BREADTH_FIRST, NO_CACHE = 2, 0


class DiskAnnOpened(Opened):
    """A `StaticDiskIndex`; its calls hold Python's lock, so single queries come one by one."""

    concurrent = False

    def __init__(self, index: Any, beam: int, exact: bool) -> None:
        self._index, self._beam, self._exact = index, beam, exact
        self._list_size = 0

    def set_effort(self, effort: int) -> None:
        self._list_size = effort

    def one(self, query: np.ndarray, k: int) -> Answers:
        size = max(self._list_size, k)
        found = self._index.search(query, k, size, beam_width=self._beam)
        return self._answers(found)

    def many(self, queries: np.ndarray, k: int, threads: int) -> Answers:
        size = max(self._list_size, k)
        found = self._index.batch_search(
            queries, k, size, num_threads=threads, beam_width=self._beam
        )
        return self._answers(found)

    def _answers(self, found: Any) -> Answers:
        return found.identifiers, found.distances if self._exact else None


class DiskAnn(Library):
    """Builder and opener."""

    name, module, requirement = "diskannpy", "diskannpy", "diskannpy==0.7.0"
    effort_means = "list_size"
    dtypes = ("float32", "uint8", "int8")

    def build(self, task: Build) -> Line:
        import diskannpy

        converted = self._converted(task)
        parameters = {
            "degree": task.option("degree", 48),
            "build_list": task.option("build_list", 100),
            "code_bytes": task.option("code_bytes", 32),
            "memory_gib": task.option("memory_gib", 8.0),
        }
        code_bytes = (parameters["code_bytes"] + 0.5) * len(task.rows)
        spare = CACHE_SHARE if code_bytes > GIB else 0
        diskannpy.build_disk_index(
            data=str(converted or task.path),
            distance_metric="mips" if task.metric == "ip" else "l2",
            index_directory=str(task.out),
            complexity=parameters["build_list"],
            graph_degree=parameters["degree"],
            search_memory_maximum=(code_bytes + spare) / GIB,
            build_memory_maximum=parameters["memory_gib"],
            num_threads=task.threads,
            vector_dtype=np.float32 if converted else task.rows.dtype.type,
        )
        for leftover in LEFTOVERS:
            (task.out / leftover).unlink(missing_ok=True)
        return parameters

    def _converted(self, task: Build) -> Optional[Path]:
        """A file of the rows as diskannpy takes them, where they are not so already."""
        known = str(task.rows.dtype) in self.dtypes and task.metric != "cosine"
        if task.metric == "ip" and str(task.rows.dtype) != "float32":
            raise ComparatorError(f"ip wants float32 here, not {task.rows.dtype}")
        if known:
            return None
        path = task.out / CONVERTED
        with path.open("wb") as file:
            np.array(task.rows.shape, np.uint32).tofile(file)
            for _, rows in blocks(task.rows):
                as_floats(rows, task.metric).tofile(file)
        return path

    def open(self, task: Open) -> Opened:
        import diskannpy

        cached = task.option("cached_nodes", 0)
        index = diskannpy.StaticDiskIndex(
            index_directory=str(task.directory),
            num_threads=max(task.threads, LEAST_CONTEXTS),
            num_nodes_to_cache=cached,
            cache_mechanism=BREADTH_FIRST if cached else NO_CACHE,
        )
        return DiskAnnOpened(index, task.option("beam", 4), task.made["metric"] == "l2")


if __name__ == "__main__":
    run(DiskAnn())
