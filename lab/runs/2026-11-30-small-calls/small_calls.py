"""Recall and pages of small calls of many neighbours, for queries unlike the rows.

    python small_calls.py LABEL OUT.jsonl DATA DIR

DATA holds the text set; DIR keeps its exact neighbours and indexes of it, made where they are
missing. Appends a line for each memory, number of neighbours and recall asked: what all queries
got, what the second half of them got, and pages of a query. Needs the Python package and numpy.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pageway

CALL = 128


def read(path):
    shape = np.fromfile(path, np.uint32, 2)
    return np.fromfile(path, np.float32, offset=8).reshape(shape)


def main():
    label, out, data, work = sys.argv[1], *map(Path, sys.argv[2:])
    rows = read(data / "text-wordnet-80k.base.fbin")
    queries = read(data / "text-wordnet.query.fbin")
    truth = work / "truth.npy"
    if not truth.exists():
        ids, _ = pageway.ground_truth(rows, queries, k=1000, metric="cosine")
        np.save(truth, ids)
    truth = np.load(truth)
    for memory in ("5%", "10%"):
        path = work / f"text-{memory}"
        if not path.exists():
            pageway.build(path, rows, metric="cosine", memory=memory).close()
        for k in (10, 100, 300, 500):
            for asked in (0.8, 0.85, 0.9, 0.95):
                found, pages = [], []
                with pageway.open(path, memory=memory) as index:
                    for first in range(0, len(queries), CALL):
                        own = index.search(queries[first : first + CALL], k=k, recall=asked)
                        near = truth[first : first + CALL, :k]
                        pairs = zip(np.asarray(own.ids), near)
                        found += [len(np.intersect1d(*pair)) / k for pair in pairs]
                        pages += list(own.stats["pages"])
                line = {
                    "label": label,
                    "memory": memory,
                    "k": k,
                    "asked": asked,
                    "recall": round(float(np.mean(found)), 4),
                    "later": round(float(np.mean(found[len(found) // 2 :])), 4),
                    "pages": round(float(np.mean(pages)), 1),
                    "later_pages": round(float(np.mean(pages[len(pages) // 2 :])), 1),
                }
                with open(out, "a") as file:
                    file.write(json.dumps(line) + "\n")


main()
