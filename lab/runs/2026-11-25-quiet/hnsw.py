"""Queries per second of hnswlib in memory at a recall of .95 or the next above.

python hnsw.py DATA
"""

import sys
import time
from pathlib import Path

import hnswlib
import numpy as np

SETS = {
    "text-wordnet-80k": "text-wordnet.query.fbin",
    "photo-gist-24k": "photo-gist.query.fbin",
}
BEAMS = (10, 14, 20, 28, 40, 56, 80, 110, 150)


def matrix(path, dtype):
    """The rows of a file of the big-ann shape."""
    rows, columns = np.fromfile(path, dtype=np.uint32, count=2)
    return np.fromfile(path, dtype=dtype, offset=8, count=rows * columns).reshape(rows, columns)


def main(data):
    """Prints queries per second of three rounds, for each set and M, on one and two threads."""
    for name, queries in SETS.items():
        base = matrix(Path(data) / f"{name}.base.fbin", np.float32)
        asked = matrix(Path(data) / queries, np.float32)
        truth = matrix(Path(data) / f"{name}.gt.ibin", np.uint32)[:, :10]
        for degree in (16, 32):
            index = hnswlib.Index("l2", base.shape[1])
            index.init_index(len(base), M=degree, ef_construction=200, random_seed=1)
            index.set_num_threads(2)
            index.add_items(base)
            for beam in BEAMS:
                index.set_ef(beam)
                found, _ = index.knn_query(asked, 10)
                recall = np.mean([len({*a} & {*b}) / 10 for a, b in zip(found, truth)])
                if recall >= 0.95:
                    break
            for threads in (1, 2):
                speeds = []
                for _ in range(3):
                    start = time.time()
                    index.knn_query(asked, 10, num_threads=threads)
                    speeds.append(round(len(asked) / (time.time() - start)))
                print(name, f"M {degree} ef {beam} recall {recall:.4f} threads {threads}", speeds)


if __name__ == "__main__":
    main(sys.argv[1])
