"""Searches an index of diskannpy 0.7.0: batch, one thread, then one query at a time. Builds it first if it is missing.

Usage: diskannpy_search.py DATA_DIR INDEX_DIR LIST_SIZE
"""

import os
import shutil
import sys
import time

import diskannpy
import numpy as np

data, index_dir, list_size = sys.argv[1], sys.argv[2], int(sys.argv[3])
QUERIES, K, BEAM = 3000, 10, 4

if not os.path.isdir(index_dir):
    os.makedirs(index_dir)
    base = os.path.join(index_dir, "base.bin")
    shutil.copy(os.path.join(data, "photo-sift-1m.base.u8bin"), base)
    begin = time.time()
    diskannpy.build_disk_index(
        data=base,
        distance_metric="l2",
        index_directory=index_dir,
        complexity=100,
        graph_degree=48,
        search_memory_maximum=0.032,  # GiB: 34 bytes per code
        build_memory_maximum=8.0,
        num_threads=2,
        pq_disk_bytes=0,
        vector_dtype=np.uint8,
        index_prefix="ann",
    )
    print(f"build seconds {time.time() - begin:.1f}")

queries = np.fromfile(os.path.join(data, "photo-sift.query.u8bin"), dtype=np.uint8)[8:]
queries = queries.reshape(-1, 128)[:QUERIES]
truth = np.fromfile(os.path.join(data, "photo-sift-1m.gt.ibin"), dtype=np.int32)
truth = truth[2 : 2 + truth[0] * truth[1]].reshape(truth[0], truth[1])[:QUERIES, :K]
# Two contexts: with one, the constructor of 0.7.0 waits for ever.
index = diskannpy.StaticDiskIndex(
    index_directory=index_dir,
    num_threads=2,
    num_nodes_to_cache=0,
    cache_mechanism=0,
    vector_dtype=np.uint8,
    distance_metric="l2",
    index_prefix="ann",
)
begin = time.time()
found = index.batch_search(queries, K, list_size, BEAM, 1)
seconds = time.time() - begin
recall = np.mean([len(set(a) & set(b)) / K for a, b in zip(found.identifiers, truth)])
latencies = []
for query in queries[:500]:
    begin = time.perf_counter()
    index.search(query, K, list_size, BEAM)
    latencies.append((time.perf_counter() - begin) * 1e6)
print(
    f"list {list_size} recall {recall:.4f} batch qps {QUERIES / seconds:.0f} "
    f"single mean us {np.mean(latencies):.0f} p99 us {np.percentile(latencies, 99):.0f}"
)
