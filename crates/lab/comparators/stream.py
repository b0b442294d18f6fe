"""Other libraries live through a runbook: what `pageway lab stream` does with ours.

    python stream.py LIBRARY --runbook out/runbook.yaml --data BASE --queries Q
        --metric l2|ip|cosine -k 10 --effort E [--threads N] [--most-queries N] [--directory DIR]
        [--memory BYTES] [--beside]

LIBRARY is hnswlib, usearch, diskannpy (its dynamic index in memory), lancedb, or pageway by its
Python package. Runbooks are in the YAML that `pageway lab stream` leaves beside its records.
Standard output holds a line of JSON for each step, then one of the whole: the names are those of
``steps.jsonl`` and ``summary.json``. Exact answers are those of all rows that are in. What a
library indexes only when it is asked to (lancedb) it is asked to before each search, in the time of
updates. With ``--beside`` a thread asks one query at a time, from the first search to the last, and
its latencies while nothing changes and while something does are told apart; not for libraries that
do not allow that. Exit codes are those of the other scripts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

# First: it says so where numpy is missing.
from common import FAILED, METRICS, MISSING, ComparatorError, Line, as_floats, read_vectors
from measuring import bytes_written, difference, directory_bytes, limit_threads, memory_bytes
import numpy as np

#: Rows of a call, as of ours.
BATCH = 1000
#: Single queries before each change at least, where latencies are measured.
QUIET_QUERIES = 50
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

    #: What the library cannot do of what is asked here.
    cannot: Tuple[str, ...] = ("no change survives the process before the whole is saved",)
    #: Whether it may be searched while it changes.
    is_searched_beside = True

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


class Pageway(Changing):
    """Ours: every call is synced before it returns."""

    requirement = "pageway"
    cannot = ()

    def __init__(self, dimension: int, most: int, arguments: argparse.Namespace) -> None:
        import pageway

        if arguments.directory is None:
            raise ComparatorError("pageway lives in files: give --directory")
        metric = "inner_product" if arguments.metric == "ip" else arguments.metric
        self._effort = arguments.effort
        self._index = pageway.create(
            arguments.directory / "index",
            dimension=dimension,
            metric=metric,
            memory=arguments.memory,
            expected=most,
        )

    def insert(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self._index.insert(rows, ids)

    def delete(self, ids: np.ndarray) -> None:
        self._index.delete(ids)

    def replace(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self._index.upsert(rows, ids)

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        found = self._index.search(queries, k, list_size=max(self._effort, k))
        return np.asarray(found.ids).astype(np.int64).reshape(len(queries), -1)


class Hnswlib(Changing):
    """Deleted rows are marked, and new ones take their places. A label that was marked cannot come
    back, so every row gets a new one."""

    requirement = "hnswlib"
    cannot = (*Changing.cannot, "no search while rows come in", "no deleted label comes back")
    is_searched_beside = False

    def __init__(self, dimension: int, most: int, arguments: argparse.Namespace) -> None:
        import hnswlib

        self._threads = arguments.threads
        self._index = hnswlib.Index("ip" if arguments.metric == "ip" else "l2", dimension)
        self._index.init_index(most, 100, 24, 1, allow_replace_deleted=True)
        self._index.set_ef(arguments.effort)
        self._label_of: Dict[int, int] = {}
        self._ids = np.zeros(0, np.int64)

    def insert(self, ids: np.ndarray, rows: np.ndarray) -> None:
        labels = np.arange(len(self._ids), len(self._ids) + len(ids))
        self._ids = np.concatenate([self._ids, ids])
        self._label_of.update(zip(ids.tolist(), labels.tolist()))
        self._index.add_items(rows, labels, num_threads=self._threads, replace_deleted=True)

    def delete(self, ids: np.ndarray) -> None:
        for label in ids.tolist():
            self._index.mark_deleted(self._label_of.pop(label))

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        labels = self._index.knn_query(queries, k, num_threads=self._threads)[0]
        return self._ids[labels.astype(np.int64)]


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
    cannot = ("a power cut may lose changes: files are written and not synced",)

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
    "pageway": Pageway,
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


class Beside:
    """A thread that asks one query at a time: latencies while nothing changes, and beside changes.

    Queries that begin in one and end in the other are left out.
    """

    def __init__(self, index: Changing, queries: np.ndarray, k: int) -> None:
        self.quiet: List[int] = []
        self.changing: List[int] = []
        self._index, self._queries, self._k = index, queries, k
        self._changes, self._is_over = 0, False
        self._thread = threading.Thread(target=self._ask)

    def start(self) -> None:
        """Begins, once."""
        if self._thread.ident is None:
            self._thread.start()

    def turn(self) -> None:
        """Says that changes begin or end; they begin only when enough was asked in quiet."""
        if self._changes % 2 == 0:
            wanted = len(self.quiet) + QUIET_QUERIES
            while len(self.quiet) < wanted and self._thread.is_alive():
                time.sleep(0.01)
        self._changes += 1

    def end(self) -> None:
        """Ends it."""
        self._is_over = True
        if self._thread.ident is not None:
            self._thread.join()

    def figures(self) -> Line:
        """Percentiles in microseconds, and how those of the tail compare."""
        if not self.quiet or not self.changing:
            return {}
        quiet, changing = (np.array(own) / 1000 for own in (self.quiet, self.changing))
        share = [np.percentile(changing, at) / np.percentile(quiet, at) for at in (50, 99)]
        return {
            "quiet_us": percentiles(quiet),
            "beside_changes_us": percentiles(changing),
            "p50_beside_over_quiet": float(share[0]),
            "p99_beside_over_quiet": float(share[1]),
        }

    def _ask(self) -> None:
        row = 0
        while not self._is_over:
            query, changes = self._queries[row : row + 1], self._changes
            begin = time.perf_counter_ns()
            self._index.search(query, self._k)
            took = time.perf_counter_ns() - begin
            if changes == self._changes:
                (self.changing if changes % 2 else self.quiet).append(took)
            row = (row + 1) % len(self._queries)


def percentiles(values: np.ndarray) -> Line:
    """The middle, the tail, and of how many."""
    p50, p99 = np.percentile(values, [50, 99])
    return {"p50": float(p50), "p99": float(p99), "queries": len(values)}


def live_through(arguments: argparse.Namespace) -> Iterator[Line]:
    """Lives through the runbook: a record of each step, then the whole."""
    most, steps = read_runbook(arguments.runbook)
    data = read_vectors(arguments.data)
    queries = as_floats(read_vectors(arguments.queries)[: arguments.most_queries], arguments.metric)
    live = Live(data, queries, arguments.metric)
    index = LIBRARIES[arguments.library](data.shape[1], most, arguments)
    is_asked = arguments.beside and index.is_searched_beside
    beside = Beside(index, queries, arguments.k) if is_asked else None
    try:
        yield from take_steps(arguments, (index, beside), (live, data, queries), steps)
    finally:
        if beside is not None:
            beside.end()


def take_steps(
    arguments: argparse.Namespace,
    measured: Tuple[Changing, Optional[Beside]],
    material: Tuple[Live, np.ndarray, np.ndarray],
    steps: List[Step],
) -> Iterator[Line]:
    """Takes the steps, then tells of the whole."""
    (index, beside), (live, data, queries) = measured, material
    recalls: List[float] = []
    updates, seconds, searching = 0, 0.0, 0.0
    came, coming, most_disk, before = 0, 0.0, 0.0, bytes_written()
    row_bytes = queries.shape[1] * queries.itemsize
    for number, step in enumerate(steps, 1):
        operation = step["operation"]
        record: Line = {"step": number, "operation": operation}
        if operation == "search":
            begin = time.perf_counter()
            index.settle()
            seconds += time.perf_counter() - begin
            if beside is not None:
                beside.start()
            truth, begin = live.nearest(arguments.k), time.perf_counter()
            found = index.search(queries, arguments.k)
            took = time.perf_counter() - begin
            searching += took
            hits = [len(set(own) & set(true)) for own, true in zip(found.tolist(), truth.tolist())]
            recalls.append(float(np.mean(hits)) / arguments.k)
            record.update(rows=len(queries), seconds=took, recall=recalls[-1])
            if arguments.directory:
                disk = directory_bytes(arguments.directory)
                most_disk = max(most_disk, disk / (len(live) * row_bytes))
        else:
            if beside is not None:
                beside.turn()
            took, rows = change(index, live, data, step, arguments.metric)
            if beside is not None:
                beside.turn()
            updates, seconds = updates + rows, seconds + took
            if operation != "delete":
                came, coming = came + rows, coming + took
            record.update(rows=rows, seconds=took)
        yield {**record, "live": len(live)}
    written = difference(bytes_written(), before)
    yield {
        "library": arguments.library,
        "version": version(arguments.library),
        "cannot": list(index.cannot),
        "effort": arguments.effort,
        "searches": len(recalls),
        "recall": {
            "mean": float(np.mean(recalls)),
            "min": min(recalls),
            "last": recalls[-1],
            "p5": sorted(recalls)[len(recalls) // 20],
            "slope_per_100": 100 * slope(recalls),
        },
        "updates": updates,
        "updates_per_second": updates / max(seconds, 1e-9),
        "inserts_per_second": came / max(coming, 1e-9),
        "queries_per_second": len(recalls) * len(queries) / max(searching, 1e-9),
        "peak_memory_bytes": memory_bytes("VmHWM"),
        "bytes_written_per_byte": None if written is None else written / max(came * row_bytes, 1),
        "disk_bytes": directory_bytes(arguments.directory) if arguments.directory else None,
        "most_disk_per_living_byte": most_disk if arguments.directory else None,
        **(beside.figures() if beside is not None else {}),
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

    if library == "pageway":
        import pageway

        return str(pageway.__version__)
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
    parser.add_argument("--memory", type=int)
    parser.add_argument("--beside", action="store_true")
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
