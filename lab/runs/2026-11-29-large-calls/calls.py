"""Recall, pages and seconds of one call of many queries unlike the rows: calls.py LABEL OUT.jsonl BASE.fbin QUERIES.fbin

Needs the Python package and numpy. Three made sets, and texts with the set's own queries.
"""
import json
import pathlib
import sys
import tempfile
import time

import numpy as np
import pageway

QUERIES = 3000


def bits(rng):
    """Bits of 200 kinds of rows, and as queries of 50 other kinds."""
    own = (rng.random((200, 256)) < rng.beta(0.5, 0.5, (200, 256))) * 0.8 + 0.1
    other = (rng.random((50, 256)) < 0.4) * 0.8 + 0.1

    def draw(count, kinds):
        return (rng.random((count, 256)) < kinds[rng.integers(len(kinds), size=count)]).astype(np.uint8)

    return draw(36000, own), {"other": draw(QUERIES, other)}


def mixtures(rng):
    """Points about 300 middles, and as queries mixtures of two rows and points farther off."""
    scale = np.arange(1, 129) ** -0.4
    middles = rng.standard_normal((300, 128))

    def draw(count, noise):
        return ((0.7 * middles[rng.integers(300, size=count)] + noise * rng.standard_normal((count, 128))) * scale).astype(np.float32)

    rows = draw(40000, 1)
    pairs = rows[rng.integers(len(rows), size=(QUERIES, 2))].mean(1)
    return rows, {"mixed": pairs, "farther": draw(QUERIES, 1.5)}


def counts(rng):
    """Words of 60 topics, 256 words, counted; as queries mixtures of four topics."""
    topics = rng.dirichlet(np.full(256, 0.05), 60)

    def draw(count, mixed):
        weights = rng.dirichlet(np.full(60, mixed), count)
        return np.minimum(rng.poisson(80 * (weights @ topics)), 255).astype(np.uint8)

    return draw(30000, 0.02), {"mixed": draw(QUERIES, 0.2)}


def texts(rng):
    """All rows, and the set's own queries."""
    rows, own = (np.fromfile(path, np.float32)[2:].reshape(np.fromfile(path, np.uint32, 2)) for path in (base, asked_of_base))
    return rows, {"own": own[:QUERIES]}


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


if __name__ == "__main__":
    label, out, base, asked_of_base = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as place, open(out, "a") as records:
        for make in (bits, mixtures, counts, texts):
            rows, kinds = make(np.random.default_rng(23))
            for memory in ("10%", "20%"):
                path = pathlib.Path(place) / f"{make.__name__}-{memory}"
                pageway.build(path, rows, metric="l2", memory=memory).close()
                for (kind, queries), k in ((kind, k) for kind in kinds.items() for k in (10, 50)):
                    truth = nearest(rows, queries, k)
                    for asked in (0.8, 0.9, 0.95):
                        with pageway.open(path) as index:
                            begun = time.perf_counter()
                            found = index.search(queries, k=k, recall=asked)
                            seconds = time.perf_counter() - begun
                        got = [share(rows, query, ids.astype(int), near) for query, ids, near in zip(queries, found.ids, truth)]
                        cell = {"build": label, "set": make.__name__, "queries": kind, "memory": memory, "k": k, "asked": asked, "unlike": float(found.unlike), "seconds": round(seconds, 3)}
                        cell["got"], cell["error"] = round(float(np.mean(got)), 4), round(float(np.std(got) / len(got) ** 0.5), 4)
                        cell["pages"] = round(float(np.mean(found.stats["pages"])), 2)
                        print(json.dumps(cell), file=records, flush=True)
