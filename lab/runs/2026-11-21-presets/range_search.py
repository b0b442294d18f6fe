"""Range search against repeated k-NN search with doubled k, on the same index.

    python range_search.py INDEX BASE.u8bin QUERIES.u8bin

The radius is the 20th percentile of the distances of the 50th neighbour; the truth is exact, by brute force. Average
precision is the share of the vectors within the radius that were found (none beyond it ever is).
Repeated search asks for 10 neighbours, then 20, 40, ... until the farthest lies beyond the radius.
"""

import sys

import numpy as np

import pageway

QUERIES = 300


def read_u8bin(path, rows=None):
    count, dimension = np.fromfile(path, dtype="<u4", count=2)
    count = int(count) if rows is None else min(rows, int(count))
    return np.fromfile(path, dtype="u1", offset=8, count=count * int(dimension)).reshape(count, int(dimension))


def exact_distances(base, queries):
    norms = np.einsum("ij,ij->i", base.astype(np.float32), base.astype(np.float32))
    for start in range(0, len(queries), 20):
        block = queries[start : start + 20].astype(np.float32)
        products = base.astype(np.float32) @ block.T
        yield from (norms[:, None] - 2 * products + np.einsum("ij,ij->i", block, block)[None, :]).T


def precision(found, truth):
    shares = [len(set(f) & set(t)) / len(t) for f, t in zip(found, truth) if len(t)]
    return float(np.mean(shares))


def pages(stats):
    return np.asarray(stats["pages"], dtype=float)


def repeated(index, queries, radius, factor):
    found, reads = [None] * len(queries), np.zeros(len(queries))
    open_rows, k = np.arange(len(queries)), 10
    while len(open_rows) and k <= 8192:
        result = index.search(queries[open_rows], k, effort=max(int(k * factor), 1))
        reads[open_rows] += pages(result.stats)
        done = []
        for place, row in enumerate(open_rows):
            inside = result.distances[place] <= radius
            found[row] = result.ids[place][inside]
            if not inside.all():
                done.append(place)
        open_rows, k = np.delete(open_rows, done), k * 2
    return found, reads.mean()


def main(path, base, queries):
    base, queries = read_u8bin(base), read_u8bin(queries, QUERIES)
    distances = [np.asarray(row) for row in exact_distances(base, queries)]
    radius = float(np.quantile([np.partition(row, 49)[49] for row in distances], 0.2))
    truth = [np.flatnonzero(row <= radius) for row in distances]
    sizes = [len(t) for t in truth]
    print(f"radius {radius:.0f}: {np.mean(sizes):.0f} results on average, {np.max(sizes)} at most")
    with pageway.open(path, interleave=1, effort=10_000, k=8192, memory="1GB") as index:
        for list_size in (10, 15, 20, 40):
            result = index.range(queries, radius, list_size=list_size, limit=4096)
            lims, ids = result.lims, result.ids
            found = [ids[lims[i] : lims[i + 1]] for i in range(len(queries))]
            print(f"range     list {list_size:3}: AP {precision(found, truth):.3f}, {pages(result.stats).mean():.1f} pages")
        for factor in (1.0, 1.5):
            found, reads = repeated(index, queries, radius, factor)
            print(f"repeated  list {factor} k: AP {precision(found, truth):.3f}, {reads:.1f} pages")


if __name__ == "__main__":
    main(*sys.argv[1:4])
