"""Recall and pages of queries asked one at a time, in the order of calls: ones.py LABEL OUT.jsonl BASE.fbin QUERIES.fbin

Needs the Python package and numpy. Two made sets, and texts; 1,500 queries of each kind, of an index that was just opened.
"""
import json
import pathlib
import sys
import tempfile
import time

import numpy as np
import pageway

label, out, base, asked_of_base = sys.argv[1:5]
QUERIES = 1500


def bits(rng):
    """Bits of 200 kinds of rows, and as queries of 50 other kinds."""
    own = (rng.random((200, 256)) < rng.beta(0.5, 0.5, (200, 256))) * 0.8 + 0.1
    other = (rng.random((50, 256)) < 0.4) * 0.8 + 0.1

    def draw(count, kinds):
        return (rng.random((count, 256)) < kinds[rng.integers(len(kinds), size=count)]).astype(np.uint8)

    return draw(36000, own), {"like": draw(QUERIES, own), "other": draw(QUERIES, other)}


def mixtures(rng):
    """Points about 300 middles, and as queries mixtures of two rows and points farther off."""
    scale = np.arange(1, 129) ** -0.4
    middles = rng.standard_normal((300, 128))

    def draw(count, noise):
        return ((0.7 * middles[rng.integers(300, size=count)] + noise * rng.standard_normal((count, 128))) * scale).astype(np.float32)

    rows = draw(40000, 1)
    pairs = rows[rng.integers(len(rows), size=(QUERIES, 2))].mean(1)
    return rows, {"like": draw(QUERIES, 1), "mixed": pairs, "farther": draw(QUERIES, 1.5)}


def texts(rng):
    """Rows that were left out, and the set's own queries."""
    rows, own = (np.fromfile(path, np.float32)[2:].reshape(np.fromfile(path, np.uint32, 2)) for path in (base, asked_of_base))
    rows = rng.permutation(rows)
    return rows[QUERIES:], {"like": rows[:QUERIES], "own": own[:QUERIES]}


def nearest(rows, queries, k):
    rows = rows.astype(np.float32)
    norms = (rows**2).sum(1)
    return np.concatenate([np.argpartition(norms - 2 * part.astype(np.float32) @ rows.T, k)[:, :k] for part in np.array_split(queries, 10)])


def share(rows, query, ids, truth):
    """A row as near as the kth counts."""

    def distances(own):
        return ((rows[own].astype(np.float32) - query.astype(np.float32)) ** 2).sum(1)

    near = distances(ids[ids < len(rows)]) <= distances(truth).max() * (1 + 1e-6)
    return min(int(near.sum()), len(truth)) / len(truth)


with tempfile.TemporaryDirectory() as place, open(out, "a") as records:
    for make in (bits, mixtures, texts):
        rows, kinds = make(np.random.default_rng(17))
        path = pathlib.Path(place) / make.__name__
        pageway.build(path, rows, metric="l2", memory="20%").close()
        for kind, queries in kinds.items():
            for k in (1, 10, 50):
                truth = nearest(rows, queries, k)
                for asked in (0.8, 0.9, 0.95):
                    with pageway.open(path) as index:
                        found, begun = [], time.perf_counter()
                        for query in queries:
                            found.append(index.search(query[None], k=k, recall=asked))
                        seconds = time.perf_counter() - begun
                    got = [share(rows, query, own.ids[0].astype(int), near) for query, own, near in zip(queries, found, truth)]
                    pages = [int(own.stats["pages"][0]) for own in found]
                    parts = (slice(0, 128), slice(128, 500), slice(500, None))
                    cell = {"build": label, "set": make.__name__, "queries": kind, "k": k, "asked": asked, "seconds": round(seconds, 2), "unlike": float(found[-1].unlike)}
                    cell["got"] = [round(float(np.mean(got[part])), 4) for part in parts]
                    cell["pages"] = [round(float(np.mean(pages[part])), 1) for part in parts]
                    print(json.dumps(cell), file=records, flush=True)
