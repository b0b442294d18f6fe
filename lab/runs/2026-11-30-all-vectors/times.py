"""Seconds and recall of large calls of unlike queries by two builds in turns: times.py BEFORE AFTER OUT.jsonl

BEFORE and AFTER are directories of the Python package. Indexes are built once, by AFTER; one process a call.
"""
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

CALL = """
import json, sys, time
import numpy as np
import pageway

place, threads = sys.argv[1], int(sys.argv[2])
queries, farthest = np.load(place + ".queries.npy"), np.load(place + ".kth.npy")
with pageway.open(place) as index:
    begun = time.perf_counter()
    found = index.search(queries, k=10, recall=0.95, threads=threads)
    seconds = time.perf_counter() - begun
got = np.mean(found.distances <= farthest[:, None] * (1 + 1e-6))
print(json.dumps({"seconds": round(seconds, 3), "got": round(float(got), 4), "pages": round(float(np.mean(found.stats["pages"])), 1)}))
"""


def kth(numpy, rows, queries, near):
    """Squared distance of the farthest of the nearest."""
    apart = (rows[own].astype(numpy.float32) - query.astype(numpy.float32) for query, own in zip(queries, near))
    return numpy.array([(own**2).sum(1).max() for own in apart])


def main():
    before, after, out = sys.argv[1:4]
    sys.path.insert(0, after)
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "2026-11-29-large-calls"))
    import calls
    import numpy as np
    import pageway

    with tempfile.TemporaryDirectory() as place, open(out, "a") as records:
        for make in (calls.bits, calls.counts):
            name = make.__name__
            rows, kinds = make(np.random.default_rng(23))
            queries = next(iter(kinds.values()))
            farthest = kth(np, rows, queries, calls.nearest(rows, queries, 10))
            for memory in ("10%", "20%"):
                path = f"{place}/{name}-{memory}"
                pageway.build(path, rows, metric="l2", memory=memory).close()
                np.save(path + ".queries.npy", queries)
                np.save(path + ".kth.npy", farthest)
                for threads, turn, (label, package) in itertools.product((1, 2), range(2), (("before", before), ("after", after))):
                    call = [sys.executable, "-c", CALL, path, str(threads)]
                    told = subprocess.run(call, env={"PYTHONPATH": package}, capture_output=True, text=True, check=True)
                    cell = {"build": label, "set": name, "memory": memory, "k": 10, "asked": 0.95, "threads": threads, "turn": turn}
                    print(json.dumps({**cell, **json.loads(told.stdout)}), file=records, flush=True)


main()
