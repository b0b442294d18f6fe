"""Made rows of 0068, into DIR: tight clusters one after the other, copies of rows in any order and a copy
of all in each part, Gaussian rows; six clusters of bytes with their truth.

    python lab/runs/2026-11-26-joined/sets.py DIR
"""

import sys
from pathlib import Path

import numpy as np

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)


def write(name, rows, dtype=np.float32):
    rows = np.ascontiguousarray(rows, dtype=dtype)
    (out / name).write_bytes(np.array(rows.shape, dtype=np.uint32).tobytes() + rows.tobytes())


random = np.random.default_rng(1)
middles = random.normal(size=(16, 48)) * 10
tight = [middle + 0.3 * random.normal(size=(1250, 48)) for middle in middles]
write("tight.fbin", np.concatenate(tight))
write("tight.query.fbin", middles[random.integers(0, 16, 500)] + 0.3 * random.normal(size=(500, 48)))
groups = random.normal(size=(2500, 48))
queries = groups[random.integers(0, 2500, 500)] + 0.3 * random.normal(size=(500, 48))
write("copies.fbin", np.repeat(groups, 8, 0)[random.permutation(20000)])
write("copies.query.fbin", queries)
write("tiles.fbin", np.tile(groups, (8, 1)))
write("tiles.query.fbin", queries)
write("gauss.fbin", random.normal(size=(20000, 48)))
write("gauss.query.fbin", random.normal(size=(500, 48)))

random = np.random.default_rng(1)
middles = random.integers(40, 216, size=(6, 12))


def near(count):
    rows = middles[random.integers(0, 6, count)] + random.normal(size=(count, 12)) * 6
    return np.clip(rows, 0, 255).astype(np.uint8)


base, queries = near(60000), near(500)
write("six.u8bin", base, np.uint8)
write("six.query.u8bin", queries, np.uint8)
squares = [((base.astype(int) - query) ** 2).sum(1) for query in queries.astype(int)]
nearest = np.argsort(squares, 1, kind="stable")[:, :10]
distances = np.take_along_axis(np.array(squares), nearest, 1).astype(np.float32)
head = np.array(nearest.shape, dtype=np.uint32).tobytes()
(out / "six.gt.ibin").write_bytes(head + nearest.astype(np.uint32).tobytes() + distances.tobytes())
