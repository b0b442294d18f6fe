"""Queries per second of the default and of hnswlib, which holds all in memory, in turns.

    python beside_hnswlib.py PAGEWAY DATA OUT SET MEMORY [MEMORY ...]

The default is built for each MEMORY, hnswlib with M 16 and 32 and an ef_construction of 200, in OUT.
The list size, or ef, of each that gets recall@10 of .95 is found; all are searched in turns ROUNDS
times: 1 and 2 threads (the default with 16 queries in flight), and one query at a time. Pageway for
exact answers and for a tolerance of .01. Medians are printed, and lines of OUT/SET.hnswlib.jsonl.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import hnswlib
import numpy as np
from measure import RECALL, Cell

ROUNDS = 5
MODES = {"1 thread": (1, 16), "2 threads": (2, 16), "one at a time": (1, 1)}


class Hnsw:
    """An index of hnswlib, its queries and their truth."""

    def __init__(self, cell, degree):
        rows, self.queries = (self.read(path) for path in (cell.base, cell.queries))
        self.name = f"hnswlib M {degree}"
        self.index = hnswlib.Index("l2", rows.shape[1])
        self.index.init_index(len(rows), 200, degree, 1)
        self.index.add_items(rows, num_threads=2)
        truth = np.fromfile(cell.data / f"{cell.name}.gt.ibin", np.uint32)
        count, width = truth[:2]
        self.truth = truth[2 : 2 + count * width].reshape(count, width)[:, :10]
        self.effort = next(size for size in range(10, 2000) if self.recall(size) >= RECALL)

    @staticmethod
    def read(path):
        rows, dimension = np.fromfile(path, np.uint32, 2)
        kind = np.float32 if path.suffix == ".fbin" else np.uint8
        return np.fromfile(path, kind, offset=8).reshape(rows, dimension).astype(np.float32)

    def recall(self, effort):
        self.index.set_ef(effort)
        found, _ = self.index.knn_query(self.queries, 10, num_threads=2)
        same = found[:, :, None] == self.truth[:, None, :]
        return same.any(1).sum(1).mean() / 10

    def qps(self, threads, interleave):
        self.index.set_ef(self.effort)
        begin = time.perf_counter()
        if interleave == 1:
            for query in self.queries:
                self.index.knn_query(query, 10, num_threads=1)
        else:
            self.index.knn_query(self.queries, 10, num_threads=threads)
        return len(self.queries) / (time.perf_counter() - begin)


class Pageway:
    """An index of the default, at a tolerance."""

    def __init__(self, cell, index, size, tolerance):
        self.cell, self.index, self.effort = cell, index, size
        self.tolerance = tolerance
        self.name = f"pageway {index.name.rsplit('.', 1)[1]}, tolerance {tolerance}"

    def qps(self, threads, interleave):
        words = ("--tolerance", self.tolerance) if self.tolerance else ()
        found, _ = self.cell.run(
            "search", self.index, "--queries", self.cell.queries, "-k", 10, "--memory",
            self.index.name.rsplit(".", 1)[1], "--list-size", self.effort, "--threads", threads,
            "--interleave", interleave, *words,
        )  # fmt: skip
        return found["qps"]


def main(command, data, out, name, *memories):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    cell = Cell(command, Path(data), out, name)
    contestants = [Hnsw(cell, degree) for degree in (16, 32)]
    for memory in memories:
        index = cell.build("pageway", memory)
        size = cell.list_size(index)
        contestants += [Pageway(cell, index, size, tolerance) for tolerance in (0, 0.01)]
    with (out / f"{name}.hnswlib.jsonl").open("a") as records:
        for mode, (threads, interleave) in MODES.items():
            rates = [[] for _ in contestants]
            for _ in range(ROUNDS):
                for own, contestant in zip(rates, contestants):
                    own.append(contestant.qps(threads, interleave))
            for own, contestant in zip(rates, contestants):
                line = {
                    "set": name, "mode": mode, "index": contestant.name,
                    "effort": contestant.effort, "qps": round(statistics.median(own), 1),
                }  # fmt: skip
                records.write(json.dumps(line) + "\n")
                print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
