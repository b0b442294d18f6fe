"""Reads and latency of queries asked one at a time: early.py LABEL OUT.jsonl INDEX BASE.fbin

Needs the Python package and numpy. INDEX is made of the texts of ones.py, if it is not there.
"""
import json
import pathlib
import sys

import numpy as np
import pageway

label, out, place, base = sys.argv[1:5]
rows = np.fromfile(base, np.float32)[2:].reshape(np.fromfile(base, np.uint32, 2))
rows = np.random.default_rng(17).permutation(rows)
queries, rows = rows[:1500], rows[1500:]
if not pathlib.Path(place).exists():
    pageway.build(place, rows, metric="l2", memory="20%").close()
with pageway.open(place) as index, open(out, "a") as records:
    for k, asked in ((10, 0.8), (10, 0.9), (10, 0.95), (1, 0.95), (50, 0.95)):
        found = [index.search(query[None], k=k, recall=asked) for query in queries][500:]
        exact = np.concatenate([np.argsort(-(part @ rows.T), axis=1)[:, :k] for part in np.array_split(queries[500:], 10)])
        hits = [len(np.intersect1d(own.ids[0], near)) for own, near in zip(found, exact)]
        cell = {"build": label, "k": k, "asked": asked, "got": round(float(np.mean(hits)) / k, 4)}
        for name in ("pages", "early_reads", "unused_reads", "hops"):
            cell[name] = round(float(np.mean([own.stats[name][0] for own in found])), 2)
        micros = [own.stats["latency_ns"][0] / 1000 for own in found]
        cell |= {"mean_us": round(float(np.mean(micros)), 1), "p50_us": round(float(np.median(micros)), 1), "p99_us": round(float(np.quantile(micros, 0.99)), 1)}
        print(json.dumps(cell), file=records, flush=True)
