"""hnswlib in memory and an index of pageway, in turn: QPS and recall@10 over 1,000 queries.

    python beside_hnswlib.py PAGEWAY INDEX BASE.fbin QUERIES.fbin TRUTH.ibin ROUNDS
"""
import json
import subprocess
import sys
import time

import hnswlib
import numpy as np

PAGEWAY, INDEX, BASE, QUERIES, TRUTH, ROUNDS = sys.argv[1:7]
K, COUNT = 10, 1000


def rows(path, kind):
    count, dimension = np.fromfile(path, dtype=np.uint32, count=2)
    return np.fromfile(path, dtype=kind, offset=8, count=int(count) * int(dimension)).reshape(count, dimension)


def main():
    base, queries = rows(BASE, np.float32), rows(QUERIES, np.float32)[:COUNT]
    truth = rows(TRUTH, np.uint32)[:COUNT, :K]
    graph = hnswlib.Index("l2", base.shape[1])
    graph.init_index(len(base), ef_construction=100, M=16)
    graph.set_num_threads(2)
    graph.add_items(base)
    best = {}

    def note(*key, qps, recall):
        found = best.get(key, (0, 0))
        best[key] = (max(found[0], qps), recall)

    for _ in range(int(ROUNDS)):
        for threads in (1, 2):
            for list_size in (16, 24, 32, 48, 64, 96):
                graph.set_ef(list_size)
                start = time.time()
                labels, _ = graph.knn_query(queries, k=K, num_threads=threads)
                qps = len(queries) / (time.time() - start)
                hits = [len(set(a) & set(b)) for a, b in zip(labels, truth)]
                note("hnswlib", threads, list_size, qps=qps, recall=sum(hits) / (K * len(queries)))
                command = [PAGEWAY, "search", "--index", INDEX, "--queries", QUERIES, "--truth", TRUTH, "-k", str(K)]
                command += ["--list-size", str(list_size), "--threads", str(threads), "--interleave", "16", "--json"]
                found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
                note("pageway", threads, list_size, qps=found["qps"], recall=found["recall"])
    for (system, threads, list_size), (qps, recall) in sorted(best.items()):
        print(f"{system} threads={threads} list={list_size} recall={recall:.4f} qps={qps:.0f}")


main()
