"""Builds and searches an index of diskannpy 0.7.0 at R 48: r48_diskannpy.py DATA INDEX GIB"""

import json
import os
import resource
import shutil
import sys
import time

import diskannpy
import numpy as np

data, index_dir, memory = sys.argv[1], sys.argv[2], float(sys.argv[3])
shutil.rmtree(index_dir, ignore_errors=True)
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
    search_memory_maximum=0.032,
    build_memory_maximum=memory,
    num_threads=2,
    pq_disk_bytes=0,
    vector_dtype=np.uint8,
    index_prefix="ann",
)
seconds = time.time() - begin
usage = resource.getrusage(resource.RUSAGE_SELF)
record = {"run": f"diskannpy {memory} GiB", "seconds": seconds}
record |= {"cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_memory_bytes": usage.ru_maxrss * 1024}
print(json.dumps(record), flush=True)
queries = np.fromfile(os.path.join(data, "photo-sift.query.u8bin"), dtype=np.uint8)[8:].reshape(-1, 128)
truth = np.fromfile(os.path.join(data, "photo-sift-1m.gt.ibin"), dtype=np.int32)
k = truth[1]
truth = truth[2 : 2 + truth[0] * k].reshape(truth[0], k)[:, :10]
index = diskannpy.StaticDiskIndex(
    index_directory=index_dir,
    num_threads=2,
    num_nodes_to_cache=0,
    cache_mechanism=0,
    vector_dtype=np.uint8,
    distance_metric="l2",
    index_prefix="ann",
)
for size in (20, 30, 50, 80):
    found = index.batch_search(queries, 10, size, 2, 4)
    pairs = zip(found.identifiers, truth)
    recall = np.mean([len(set(map(int, own)) & set(map(int, true))) / 10 for own, true in pairs])
    print(json.dumps({"run": record["run"], "list_size": size, "recall": recall}), flush=True)
