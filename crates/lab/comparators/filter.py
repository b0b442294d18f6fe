"""Other libraries search among rows that match: what `pageway lab filter` asks ours.

    python filter.py LIBRARY --cells DIR --data BASE --queries Q --metric l2|ip|cosine
        [-k 10] [--efforts 50,100,200] [--threads 1] [--rounds 3] [--most N] [--directory DIR]

DIR is what `pageway lab filter --out` left: ``questions.jsonl`` (filters, queries, exact answers)
and ``ranks.ibin`` (the attributes). LIBRARY is hnswlib (a function that is called for each row),
faiss (HNSW with a bitmap), usearch (no filters in Python: as many rows as the effort are asked for,
and what does not match is dropped), lancedb (`where` before the search), qdrant (its local mode,
which is brute force), numpy, sqlite and duckdb (brute force: the floor). Vectors are in memory but
for lancedb, sqlite and duckdb. Standard output holds a line of JSON for each cell and effort, with the names of
``cells.jsonl``. Turning a filter into what a library takes is in the time of its queries, as it is
with ours. Exit codes are those of the other scripts.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import sqlite3
import sys
import time
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Dict, Iterator, List

# First: it says so where numpy is missing.
from common import FAILED, METRICS, MISSING, ComparatorError, Line, as_floats, read_vectors
from measuring import limit_threads, memory_bytes, recall
import numpy as np

#: Rows that are added at a time.
BATCH = 10_000
#: Links and list of builds, as in the other scripts.
DEGREE, BUILD_LIST = 24, 100

Question = Dict[str, Any]


class Filtering:
    """An index of another library over rows of float32, of length 1 under cosine."""

    requirement = ""
    #: What `effort` is called there.
    effort_means = ""
    #: How it searches among rows that match.
    way = ""

    def __init__(self, rows: np.ndarray, ranks: np.ndarray, arguments: argparse.Namespace) -> None:
        raise NotImplementedError

    def set_effort(self, effort: int) -> None:
        """Sets what the library trades speed for recall by."""

    def search(self, queries: np.ndarray, k: int, column: int, below: int) -> np.ndarray:
        """Ids of shape ``(queries, k)`` among rows whose rank in `column` is below."""
        raise NotImplementedError


class Hnswlib(Filtering):
    """HNSW; a function says of each row that is met whether it may be an answer."""

    requirement, effort_means = "hnswlib", "ef"
    way = "a function called for each row met, which keeps it to one thread"

    def __init__(self, rows: np.ndarray, ranks: np.ndarray, arguments: argparse.Namespace) -> None:
        import hnswlib

        self._ranks = ranks
        self._index = hnswlib.Index("ip" if arguments.metric == "ip" else "l2", rows.shape[1])
        self._index.init_index(len(rows), BUILD_LIST, DEGREE, 1)
        self._index.add_items(rows, np.arange(len(rows)), num_threads=arguments.build_threads)

    def set_effort(self, effort: int) -> None:
        self._index.set_ef(effort)

    def search(self, queries: np.ndarray, k: int, column: int, below: int) -> np.ndarray:
        matches = (self._ranks[column] < below).tolist()
        found = np.full((len(queries), k), -1, np.int64)
        for row, query in enumerate(queries):
            found[row] = self._one(query, k, min(k, below), matches)
        return found

    def _one(self, query: np.ndarray, k: int, owed: int, matches: List[bool]) -> np.ndarray:
        """It raises where it finds fewer than are asked for: fewer are, until there are so many."""
        found = np.full(k, -1, np.int64)
        for count in range(owed, 0, -1):
            try:
                ids, _ = self._index.knn_query(query, count, 1, matches.__getitem__)
            except RuntimeError as error:
                if "contiguous 2D array" not in str(error):
                    raise
                continue
            found[:count] = ids[0]
            break
        return found


class Faiss(Filtering):
    """HNSW with a bitmap of the rows that may be answers."""

    requirement, effort_means = "faiss-cpu", "efSearch"
    way = "IDSelectorBitmap"

    def __init__(self, rows: np.ndarray, ranks: np.ndarray, arguments: argparse.Namespace) -> None:
        import faiss

        self._faiss, self._ranks, self._effort = faiss, ranks, 100
        is_ip = arguments.metric == "ip"
        kind = faiss.METRIC_INNER_PRODUCT if is_ip else faiss.METRIC_L2
        self._index = faiss.IndexHNSWFlat(rows.shape[1], DEGREE, kind)
        self._index.hnsw.efConstruction = BUILD_LIST
        faiss.omp_set_num_threads(arguments.build_threads)
        self._index.add(rows)
        faiss.omp_set_num_threads(arguments.threads)

    def set_effort(self, effort: int) -> None:
        self._effort = effort

    def search(self, queries: np.ndarray, k: int, column: int, below: int) -> np.ndarray:
        bits = np.packbits(self._ranks[column] < below, bitorder="little")
        selector = self._faiss.IDSelectorBitmap(bits)
        effort = max(self._effort, k)
        settings = self._faiss.SearchParametersHNSW(sel=selector, efSearch=effort)
        return self._index.search(queries, k, params=settings)[1]


class Usearch(Filtering):
    """HNSW without filters: more rows are asked for, and what does not match is dropped."""

    requirement, effort_means = "usearch", "rows asked for before those that match are kept"
    way = "no filter in Python: dropped afterwards"

    def __init__(self, rows: np.ndarray, ranks: np.ndarray, arguments: argparse.Namespace) -> None:
        from usearch.index import Index

        self._ranks, self._threads, self._effort = ranks, arguments.threads, 100
        self._index = Index(
            ndim=rows.shape[1],
            metric="ip" if arguments.metric == "ip" else "l2sq",
            dtype="f32",
            connectivity=DEGREE,
            expansion_add=BUILD_LIST,
        )
        self._index.add(np.arange(len(rows)), rows, threads=arguments.build_threads)

    def set_effort(self, effort: int) -> None:
        self._effort = self._index.expansion_search = effort

    def search(self, queries: np.ndarray, k: int, column: int, below: int) -> np.ndarray:
        asked = min(max(self._effort, k), len(self._index))
        matches = self._index.search(queries, asked, threads=self._threads)
        found = np.full((len(queries), k), -1, np.int64)
        for row, count in enumerate(np.atleast_1d(matches.counts)):
            ids = np.atleast_2d(matches.keys)[row, :count].astype(np.int64)
            ids = ids[self._ranks[column][ids] < below][:k]
            found[row, : len(ids)] = ids
        return found


class Lancedb(Filtering):
    """A table with an index of kind IVF_PQ and one for each field; ten times k rows are refined."""

    requirement, effort_means = "lancedb", "lists probed"
    way = "where, before the search (prefilter)"

    def __init__(self, rows: np.ndarray, ranks: np.ndarray, arguments: argparse.Namespace) -> None:
        import lancedb
        import pyarrow

        if arguments.directory is None:
            raise ComparatorError("lancedb lives in files: give --directory")
        self._effort = 20
        flat = pyarrow.array(rows.reshape(-1))
        vectors = pyarrow.FixedSizeListArray.from_arrays(flat, rows.shape[1])
        fields = {f"f{column}": own for column, own in enumerate(ranks)}
        table = pyarrow.table({"id": np.arange(len(rows)), "vector": vectors, **fields})
        database = lancedb.connect(str(arguments.directory))
        self._table = database.create_table("rows", table, mode="overwrite")
        self._is_indexed = len(rows) >= 5000
        if self._is_indexed:
            self._table.create_index(
                metric="dot" if arguments.metric == "ip" else "l2",
                num_partitions=max(1, int(len(rows) ** 0.5)),
                num_sub_vectors=max(1, rows.shape[1] // 8),
            )
        for name in fields:
            self._table.create_scalar_index(name, index_type="BTREE")

    def set_effort(self, effort: int) -> None:
        self._effort = effort

    def search(self, queries: np.ndarray, k: int, column: int, below: int) -> np.ndarray:
        found = np.full((len(queries), k), -1, np.int64)
        for row, query in enumerate(queries):
            search = self._table.search(query).where(f"f{column} < {below}", prefilter=True)
            search = search.limit(k).select(["id", "_distance"])
            if self._is_indexed:
                search = search.nprobes(self._effort).refine_factor(10)
            ids = search.to_arrow()["id"].to_numpy()
            found[row, : len(ids)] = ids
        return found


class Qdrant(Filtering):
    """The local mode of qdrant-client: the same calls as of the server, answered by numpy."""

    requirement, effort_means = "qdrant-client", "none: every search is exact"
    way = "local mode, which is brute force: no measure of the server"

    def __init__(self, rows: np.ndarray, ranks: np.ndarray, arguments: argparse.Namespace) -> None:
        from qdrant_client import QdrantClient, models

        self._models, self._client = models, QdrantClient(":memory:")
        distance = models.Distance.DOT if arguments.metric == "ip" else models.Distance.EUCLID
        settings = models.VectorParams(size=rows.shape[1], distance=distance)
        self._client.create_collection("rows", settings)
        for first in range(0, len(rows), BATCH):
            ids = range(first, min(first + BATCH, len(rows)))
            payloads = [
                {f"f{column}": int(own[row]) for column, own in enumerate(ranks)} for row in ids
            ]
            vectors = rows[ids.start : ids.stop].tolist()
            batch = models.Batch(ids=list(ids), vectors=vectors, payloads=payloads)
            self._client.upsert("rows", batch)

    def search(self, queries: np.ndarray, k: int, column: int, below: int) -> np.ndarray:
        bound = self._models.Range(lt=below)
        condition = self._models.FieldCondition(key=f"f{column}", range=bound)
        wanted = self._models.Filter(must=[condition])
        found = np.full((len(queries), k), -1, np.int64)
        for row, query in enumerate(queries):
            points = self._client.query_points("rows", query, query_filter=wanted, limit=k).points
            found[row, : len(points)] = [point.id for point in points]
        return found


class Numpy(Filtering):
    """All rows that match are compared, in one product of matrices."""

    requirement, effort_means = "numpy", "none: every search is exact"
    way = "brute force over the rows that match"

    def __init__(self, rows: np.ndarray, ranks: np.ndarray, arguments: argparse.Namespace) -> None:
        self._rows, self._ranks, self._metric = rows, ranks, arguments.metric

    def search(self, queries: np.ndarray, k: int, column: int, below: int) -> np.ndarray:
        own = np.flatnonzero(self._ranks[column] < below)
        return nearest(self._rows[own], own, queries, k, self._metric)


class Sqlite(Filtering):
    """A table with an index for each field; vectors that match are read and compared by numpy."""

    requirement, effort_means = "", "none: every search is exact"
    way = "brute force over the rows that match, read from SQLite for each query"

    def __init__(self, rows: np.ndarray, ranks: np.ndarray, arguments: argparse.Namespace) -> None:
        if arguments.directory is None:
            raise ComparatorError("sqlite lives in a file: give --directory")
        arguments.directory.mkdir(parents=True, exist_ok=True)
        path = arguments.directory / "rows.sqlite"
        path.unlink(missing_ok=True)
        self._database = sqlite3.connect(path)
        self._metric, self._dimension = arguments.metric, rows.shape[1]
        fields = [f"f{column}" for column in range(len(ranks))]
        columns = ["id integer primary key", "vector blob", *fields]
        self._database.execute(f"create table rows ({', '.join(columns)})")
        marks = ", ".join("?" * (len(fields) + 2))
        values = ((row, rows[row].tobytes(), *ranks[:, row].tolist()) for row in range(len(rows)))
        self._database.executemany(f"insert into rows values ({marks})", values)
        for name in fields:
            self._database.execute(f"create index by_{name} on rows ({name})")
        self._database.commit()

    def search(self, queries: np.ndarray, k: int, column: int, below: int) -> np.ndarray:
        sql = f"select id, vector from rows where f{column} < ?"
        found = np.full((len(queries), k), -1, np.int64)
        for row, query in enumerate(queries):
            chosen = self._database.execute(sql, (below,)).fetchall()
            ids = np.array([label for label, _ in chosen], np.int64)
            vectors = np.frombuffer(b"".join(blob for _, blob in chosen), np.float32)
            vectors = vectors.reshape(len(ids), self._dimension)
            found[row] = nearest(vectors, ids, query[None], k, self._metric)[0]
        return found


class Duckdb(Filtering):
    """A table in a file; DuckDB compares the vectors that match itself."""

    requirement, effort_means = "duckdb", "none: every search is exact"
    way = "brute force over the rows that match, by DuckDB"

    def __init__(self, rows: np.ndarray, ranks: np.ndarray, arguments: argparse.Namespace) -> None:
        import duckdb
        import pyarrow

        if arguments.directory is None:
            raise ComparatorError("duckdb lives in a file: give --directory")
        arguments.directory.mkdir(parents=True, exist_ok=True)
        path = arguments.directory / "rows.duckdb"
        path.unlink(missing_ok=True)
        self._database = duckdb.connect(str(path), config={"threads": arguments.threads})
        flat = pyarrow.array(rows.reshape(-1))
        vectors = pyarrow.FixedSizeListArray.from_arrays(flat, rows.shape[1])
        fields = {f"f{column}": own for column, own in enumerate(ranks)}
        table = pyarrow.table({"id": np.arange(len(rows)), "vector": vectors, **fields})
        self._database.register("given", table)
        self._database.execute("create table rows as select * from given")
        self._database.unregister("given")
        is_ip = arguments.metric == "ip"
        self._distance = "array_negative_inner_product" if is_ip else "array_distance"
        self._type = f"FLOAT[{rows.shape[1]}]"

    def search(self, queries: np.ndarray, k: int, column: int, below: int) -> np.ndarray:
        sql = (
            f"select id from rows where f{column} < ? "
            f"order by {self._distance}(vector, ?::{self._type}) limit {k}"
        )
        found = np.full((len(queries), k), -1, np.int64)
        for row, query in enumerate(queries):
            ids = self._database.execute(sql, [below, query.tolist()]).fetchall()
            found[row, : len(ids)] = [label for (label,) in ids]
        return found


LIBRARIES = {
    "hnswlib": Hnswlib,
    "faiss": Faiss,
    "usearch": Usearch,
    "lancedb": Lancedb,
    "qdrant": Qdrant,
    "numpy": Numpy,
    "sqlite": Sqlite,
    "duckdb": Duckdb,
}


def nearest(
    rows: np.ndarray, ids: np.ndarray, queries: np.ndarray, k: int, metric: str
) -> np.ndarray:
    """The `k` nearest of `rows` by comparing all; -1 where there are fewer."""
    found = np.full((len(queries), k), -1, np.int64)
    count = min(k, len(ids))
    if count:
        distances = -2 * (queries @ rows.T)
        if metric != "ip":
            distances += (rows * rows).sum(axis=1)
        best = np.argpartition(distances, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(distances, best, axis=1), axis=1, kind="stable")
        found[:, :count] = ids[np.take_along_axis(best, order, axis=1)]
    return found


def read_ranks(path: Path) -> np.ndarray:
    """Ranks of shape ``(fields, rows)``."""
    fields, rows = (int(number) for number in np.fromfile(path, np.uint32, 2))
    return np.fromfile(path, np.int32, fields * rows, offset=8).reshape(fields, rows)


def read_cells(path: Path, most: int) -> List[List[Question]]:
    """Questions of up to `most` queries each, cell by cell."""
    questions = [json.loads(line) for line in path.read_text().splitlines()]
    if any("tags" in question for question in questions):
        raise ComparatorError(f"{path}: questions of tags, which other libraries are not asked")
    for question in questions:
        question.update({name: question[name][:most] for name in ("queries", "ids", "distances")})
    by_cell = groupby(questions, itemgetter("selectivity", "correlation"))
    return [list(own) for _, own in by_cell]


def measure_cell(
    index: Filtering,
    cell: List[Question],
    asked: np.ndarray,
    ranks: np.ndarray,
    arguments: argparse.Namespace,
) -> Line:
    """Recall, what came back, and speed; the first pass is not timed."""
    k, rounds = arguments.k, arguments.rounds
    queries = [asked[question["queries"]] for question in cell]
    owed = min(k, cell[0]["matches"])
    hits, least, short, wrong, seconds = [], k, 0, 0, []
    for question, own in zip(cell, queries):
        found = index.search(own, k, question["column"], question["below"])
        counts = (found >= 0).sum(axis=1)
        least, short = min(least, int(counts.min())), short + int((counts < owed).sum())
        ids = found[found >= 0]
        wrong += int((ranks[question["column"]][ids] >= question["below"]).sum())
        truth = np.array(question["ids"], np.int64), np.array(question["distances"], np.float32)
        hits.append(recall((found, None), truth, owed) if owed else 1.0)
    for _ in range(rounds):
        begin = time.perf_counter()
        for question, own in zip(cell, queries):
            index.search(own, k, question["column"], question["below"])
        seconds.append(time.perf_counter() - begin)
    count = sum(len(own) for own in queries)
    return {
        "selectivity": cell[0]["selectivity"],
        "correlation": cell[0]["correlation"],
        "matches": cell[0]["matches"],
        "queries": count,
        "owed": owed,
        "recall": float(np.mean(hits)),
        "least_returned": least,
        "short": short,
        "wrong": wrong,
        "queries_per_second": count / sorted(seconds)[len(seconds) // 2] if seconds else None,
    }


def measure(arguments: argparse.Namespace) -> Iterator[Line]:
    """Builds, then a record for each cell and effort."""
    kind = LIBRARIES[arguments.library]
    cells = read_cells(arguments.cells / "questions.jsonl", arguments.most)
    ranks = read_ranks(arguments.cells / "ranks.ibin")
    data = read_vectors(arguments.data)
    if len(data) < ranks.shape[1]:
        raise ComparatorError(f"the data have {len(data)} rows, the cells {ranks.shape[1]}")
    rows = as_floats(data[: ranks.shape[1]], arguments.metric)
    asked = as_floats(read_vectors(arguments.queries), arguments.metric)
    limit_threads(max(arguments.threads, arguments.build_threads))
    begin = time.perf_counter()
    index = kind(rows, ranks, arguments)
    common = {
        "library": arguments.library,
        "version": version(kind),
        "way": kind.way,
        "effort_means": kind.effort_means,
        "build_seconds": time.perf_counter() - begin,
        "threads": arguments.threads,
    }
    limit_threads(arguments.threads)
    has_effort = not kind.effort_means.startswith("none")
    for effort in arguments.efforts if has_effort else [None]:
        if effort is not None:
            index.set_effort(effort)
        for cell in cells:
            record = measure_cell(index, cell, asked, ranks, arguments)
            yield {**common, "effort": effort, **record, "memory_bytes": memory_bytes("VmRSS")}


def version(kind: type) -> str:
    """The version of the installed package."""
    requirement: str = kind.requirement
    return importlib.metadata.version(requirement) if requirement else sqlite3.sqlite_version


def numbers(text: str) -> List[int]:
    """Numbers between commas."""
    return [int(part) for part in text.split(",")]


def main() -> int:
    """Does what the command line says; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=sorted(LIBRARIES))
    for name in ("--cells", "--data", "--queries"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--metric", choices=METRICS, required=True)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--efforts", type=numbers, default=[50, 100, 200])
    parser.add_argument("--rounds", type=int, default=3, help="timed, after one that is not")
    parser.add_argument("--most", type=int, default=100, help="queries of a question, first ones")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--build-threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--directory", type=Path)
    arguments = parser.parse_args()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        for line in measure(arguments):
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
