"""Other libraries live through a runbook: what `pageway lab stream` does with ours.

    python stream.py LIBRARY --runbook out/runbook.yaml --data BASE --queries Q
        --metric l2|ip|cosine -k 10 --effort E [--threads N] [--most-queries N] [--directory DIR]

LIBRARY is hnswlib, usearch, diskannpy (its dynamic index in memory) or lancedb. Runbooks are in the
YAML that `pageway lab stream` leaves beside its records. Standard output holds a line of JSON for
each step, then one of the whole: the names are those of ``steps.jsonl`` and ``summary.json``. Exact
answers are those of all rows that are in. What a library indexes only when it is asked to
(lancedb) it is asked to before each search, in the time of updates. Exit codes are those of the
other scripts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

# First: it says so where numpy is missing.
from common import FAILED, METRICS, MISSING, ComparatorError, Line, as_floats, read_vectors
from measuring import directory_bytes, limit_threads, memory_bytes
import numpy as np

#: Rows of a call, as of ours.
BATCH = 1000
#: Rows whose distances to all queries are held while the truth is found.
TRUTH_ROWS = 20_000

Step = Dict[str, Any]


def read_runbook(path: Path) -> Tuple[int, List[Step]]:
    """Rows that live at once at most, and the steps of the only runbook in a file."""
    steps: Dict[int, Step] = {}
    most, step = 0, None
    for line in path.read_text().splitlines():
        found = re.fullmatch(r"\s*([\w-]+):\s*\"?([\w.-]*)\"?\s*", line)
        if not found:
            continue
        name, value = found.groups()
        if name == "max_pts":
            most = int(value)
        elif name.isdigit() and not value:
            step = steps.setdefault(int(name), {})
        elif step is not None and value:
            step[name] = value if name == "operation" else int(value)
    numbers = range(1, len(steps) + 1)
    if not steps or any(number not in steps for number in numbers):
        raise ComparatorError(f"{path}: steps are not numbered from 1 without gaps")
    return most, [steps[number] for number in numbers]


class Changing:
    """An index of another library that changes. Vectors are float32, of length 1 under cosine."""

    def __init__(self, dimension: int, most: int, arguments: argparse.Namespace) -> None:
        raise NotImplementedError

    def insert(self, ids: np.ndarray, rows: np.ndarray) -> None:
        raise NotImplementedError

    def delete(self, ids: np.ndarray) -> None:
        raise NotImplementedError

    def replace(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Gives ids other rows."""
        self.delete(ids)
        self.insert(ids, rows)

    def settle(self) -> None:
        """Does what was put off before it is searched."""

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        """Ids of shape ``(queries, k)``."""
        raise NotImplementedError


class Hnswlib(Changing):
    """Deleted rows are marked, and new ones take their places."""

    requirement = "hnswlib"

    def __init__(self, dimension: int, most: int, arguments: argparse.Namespace) -> None:
        import hnswlib

        self._threads = arguments.threads
        self._index = hnswlib.Index("ip" if arguments.metric == "ip" else "l2", dimension)
        self._index.init_index(most, 100, 24, 1, allow_replace_deleted=True)
        self._index.set_ef(arguments.effort)

    def insert(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self._index.add_items(rows, ids, num_threads=self._threads, replace_deleted=True)

    def delete(self, ids: np.ndarray) -> None:
        for label in ids:
            self._index.mark_deleted(int(label))

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        return self._index.knn_query(queries, k, num_threads=self._threads)[0]


class Usearch(Changing):
    """Deleted rows go, and their slots are used again."""

    requirement = "usearch"

    def __init__(self, dimension: int, most: int, arguments: argparse.Namespace) -> None:
        from usearch.index import Index

        self._threads = arguments.threads
        self._index = Index(
            ndim=dimension,
            metric="ip" if arguments.metric == "ip" else "l2sq",
            dtype="f32",
            connectivity=24,
            expansion_add=100,
            expansion_search=arguments.effort,
        )

    def insert(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self._index.add(ids, rows, threads=self._threads)

    def delete(self, ids: np.ndarray) -> None:
        self._index.remove(ids.astype(np.uint64))

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        found = self._index.search(queries, k, threads=self._threads)
        return found.keys.astype(np.int64).reshape(len(queries), -1)


class DiskannMemory(Changing):
    """`DynamicMemoryIndex`: deletes are marked, and consolidated before each search. Ids are tags
    above 0."""

    requirement = "diskannpy"

    def __init__(self, dimension: int, most: int, arguments: argparse.Namespace) -> None:
        import diskannpy

        self._threads, self._effort, self._is_dirty = arguments.threads, arguments.effort, False
        self._index = diskannpy.DynamicMemoryIndex(
            distance_metric="mips" if arguments.metric == "ip" else "l2",
            vector_dtype=np.float32,
            dimensions=dimension,
            max_vectors=most + BATCH,
            complexity=100,
            graph_degree=48,
            alpha=1.2,
            num_threads=arguments.threads,
            initial_search_complexity=max(arguments.effort, 100),
            search_threads=arguments.threads,
        )

    def insert(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self._index.batch_insert(rows, ids.astype(np.uint32) + 1, num_threads=self._threads)

    def delete(self, ids: np.ndarray) -> None:
        for label in ids:
            self._index.mark_deleted(np.uint32(label + 1))
        self._is_dirty = True

    def replace(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self.delete(ids)
        self.settle()
        self.insert(ids, rows)

    def settle(self) -> None:
        if self._is_dirty:
            self._index.consolidate_delete()
        self._is_dirty = False

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        found = self._index.batch_search(queries, k, max(self._effort, k), self._threads)
        return found.identifiers.astype(np.int64) - 1


class Lancedb(Changing):
    """A table with an index of kind IVF_PQ, which takes in what came since before each search;
    effort is the lists probed, and ten times k rows are refined by their vectors."""

    requirement = "lancedb"

    def __init__(self, dimension: int, most: int, arguments: argparse.Namespace) -> None:
        import lancedb
        import pyarrow

        if arguments.directory is None:
            raise ComparatorError("lancedb lives in files: give --directory")
        vector = pyarrow.list_(pyarrow.float32(), dimension)
        schema = pyarrow.schema([("id", pyarrow.int64()), ("vector", vector)])
        self._pyarrow, self._schema, self._effort = pyarrow, schema, arguments.effort
        self._metric = "dot" if arguments.metric == "ip" else "l2"
        self._codes = max(1, dimension // 8)
        database = lancedb.connect(str(arguments.directory))
        self._table = database.create_table("rows", schema=schema)
        self._is_indexed = False

    def insert(self, ids: np.ndarray, rows: np.ndarray) -> None:
        flat = self._pyarrow.array(rows.reshape(-1))
        vectors = self._pyarrow.FixedSizeListArray.from_arrays(flat, rows.shape[1])
        table = self._pyarrow.table({"id": ids, "vector": vectors}, schema=self._schema)
        self._table.add(table)

    def delete(self, ids: np.ndarray) -> None:
        self._table.delete(f"id in ({', '.join(str(label) for label in ids)})")

    def settle(self) -> None:
        if self._is_indexed:
            self._table.optimize()
        elif self._table.count_rows() >= 5000:
            self._table.create_index(
                metric=self._metric, num_partitions=64, num_sub_vectors=self._codes
            )
            self._is_indexed = True

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        found = np.full((len(queries), k), -1, np.int64)
        for row, query in enumerate(queries):
            search = self._table.search(query).limit(k).select(["id", "_distance"])
            if self._is_indexed:
                search = search.nprobes(self._effort).refine_factor(10)
            ids = search.to_arrow()["id"].to_numpy()
            found[row, : len(ids)] = ids
        return found


LIBRARIES = {
    "hnswlib": Hnswlib,
    "usearch": Usearch,
    "diskannpy": DiskannMemory,
    "lancedb": Lancedb,
}


class Live:
    """Which row of the data each id has, and what is near among those."""

    def __init__(self, rows: np.ndarray, queries: np.ndarray, metric: str) -> None:
        self._rows, self._queries, self._metric = rows, queries, metric
        self._row_of: Dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._row_of)

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self._row_of.update(zip(ids.tolist(), rows.tolist()))

    def remove(self, ids: np.ndarray) -> None:
        for label in ids.tolist():
            del self._row_of[label]

    def nearest(self, k: int) -> np.ndarray:
        """Ids of the nearest to each query."""
        ids = np.fromiter(self._row_of, np.int64, len(self._row_of))
        at = np.fromiter(self._row_of.values(), np.int64, len(ids))
        best = np.full((len(self._queries), k), -1, np.int64)
        away = np.full((len(self._queries), k), np.inf, np.float32)
        for first in range(0, len(ids), TRUTH_ROWS):
            own = ids[first : first + TRUTH_ROWS]
            rows = as_floats(self._rows[at[first : first + TRUTH_ROWS]], self._metric)
            distances = -2 * (self._queries @ rows.T)
            if self._metric != "ip":
                distances += (rows * rows).sum(axis=1)
            both = np.concatenate([away, distances], axis=1)
            labels = np.concatenate([best, np.broadcast_to(own, distances.shape)], axis=1)
            order = np.argsort(both, axis=1, kind="stable")[:, :k]
            away = np.take_along_axis(both, order, axis=1)
            best = np.take_along_axis(labels, order, axis=1)
        return best


def live_through(arguments: argparse.Namespace) -> Iterator[Line]:
    """Lives through the runbook: a record of each step, then the whole."""
    most, steps = read_runbook(arguments.runbook)
    data = read_vectors(arguments.data)
    queries = as_floats(read_vectors(arguments.queries)[: arguments.most_queries], arguments.metric)
    live = Live(data, queries, arguments.metric)
    index = LIBRARIES[arguments.library](data.shape[1], most, arguments)
    recalls: List[float] = []
    updates, seconds, searching = 0, 0.0, 0.0
    for number, step in enumerate(steps, 1):
        operation = step["operation"]
        record = {"step": number, "operation": operation}
        if operation == "search":
            begin = time.perf_counter()
            index.settle()
            seconds += time.perf_counter() - begin
            truth, begin = live.nearest(arguments.k), time.perf_counter()
            found = index.search(queries, arguments.k)
            took = time.perf_counter() - begin
            searching += took
            hits = [len(set(own) & set(true)) for own, true in zip(found.tolist(), truth.tolist())]
            recalls.append(float(np.mean(hits)) / arguments.k)
            record.update(rows=len(queries), seconds=took, recall=recalls[-1])
        else:
            took, rows = change(index, live, data, step, arguments.metric)
            updates, seconds = updates + rows, seconds + took
            record.update(rows=rows, seconds=took)
        yield {**record, "live": len(live)}
    yield {
        "library": arguments.library,
        "version": version(arguments.library),
        "effort": arguments.effort,
        "searches": len(recalls),
        "recall": {
            "mean": float(np.mean(recalls)),
            "min": min(recalls),
            "p5": sorted(recalls)[len(recalls) // 20],
            "slope_per_100": 100 * slope(recalls),
        },
        "updates": updates,
        "updates_per_second": updates / max(seconds, 1e-9),
        "queries_per_second": len(recalls) * len(queries) / max(searching, 1e-9),
        "peak_memory_bytes": memory_bytes("VmHWM"),
        "disk_bytes": directory_bytes(arguments.directory) if arguments.directory else None,
    }


def change(
    index: Changing, live: Live, data: np.ndarray, step: Step, metric: str
) -> Tuple[float, int]:
    """Makes a change of the runbook, in calls of `BATCH` rows: seconds in the library, and rows."""
    operation, seconds = step["operation"], 0.0
    is_replace = operation == "replace"
    prefix = "tags_" if is_replace else ""
    first, end = step[prefix + "start"], step[prefix + "end"]
    shift = step["ids_start"] - first if is_replace else 0
    for start in range(first, end, BATCH):
        ids = np.arange(start, min(end, start + BATCH))
        rows = None if operation == "delete" else as_floats(data[ids + shift], metric)
        begin = time.perf_counter()
        if rows is None:
            index.delete(ids)
        elif is_replace:
            index.replace(ids, rows)
        else:
            index.insert(ids, rows)
        seconds += time.perf_counter() - begin
        live.remove(ids) if rows is None else live.put(ids, ids + shift)
    return seconds, end - first


def slope(values: List[float]) -> float:
    """The slope of the line of least squares through values at 0, 1, 2, .."""
    return float(np.polyfit(range(len(values)), values, 1)[0]) if len(values) > 1 else 0.0


def version(library: str) -> str:
    """The version of the installed package."""
    import importlib.metadata

    return importlib.metadata.version(LIBRARIES[library].requirement)


def main() -> int:
    """Does what the command line says; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=sorted(LIBRARIES))
    for name in ("--runbook", "--data", "--queries"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--metric", choices=METRICS, required=True)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--effort", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--most-queries", type=int, default=1000)
    parser.add_argument("--directory", type=Path)
    arguments = parser.parse_args()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    limit_threads(arguments.threads)
    try:
        for line in live_through(arguments):
            print(json.dumps(line), file=out, flush=True)
        return 0
    except ImportError as error:
        line = {"library": arguments.library, "available": False, "reason": str(error)}
        print(json.dumps({**line, "version": None}), file=out, flush=True)
        return MISSING
    except Exception as error:  # libraries raise what they like
        failure = f"{type(error).__name__}: {error}"
        print(json.dumps({"library": arguments.library, "error": failure}), file=out, flush=True)
        return FAILED


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # some libraries have threads that never end
