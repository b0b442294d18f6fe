"""Graphs by inner product over rows of unequal lengths, by two programs: products.py BEFORE AFTER DIR OUT.jsonl"""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np

before, after, place, out = sys.argv[1:5]
ROWS, QUERIES, DIMENSION = 20_000, 500, 64
SPREADS = (0.0, 0.3, 0.6)


def run(program, *words):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True)


def write(path, rows):
    with open(path, "wb") as file:
        np.array(rows.shape, "<u4").tofile(file)
        rows.astype("<f4").tofile(file)


def unequal(random, count, spread):
    """Rows of falling variances, whose lengths differ by exp(spread N(0, 1)) beside."""
    rows = random.normal(size=(count, DIMENSION)) / np.sqrt(1 + np.arange(DIMENSION) / 8)
    return rows * np.exp(spread * random.normal(size=(count, 1)))


with open(out, "w") as records:
    for spread in SPREADS:
        random = np.random.default_rng(1)
        base, queries, truth = (f"{place}/products-{spread}.{end}" for end in ("base.fbin", "fbin", "gt.ibin"))
        write(base, unequal(random, ROWS, spread))
        write(queries, unequal(random, QUERIES, spread))
        asks = ("--data", base, "--queries", queries, "--metric", "ip", "-k", 10, "--out", truth)
        run(after, "ground-truth", *asks).check_returncode()
        for graph in ("pipnn", "vamana", "hnsw", "nsg"):
            for label, program in (("before", before), ("after", after)):
                index = pathlib.Path(place) / "products-index"
                wishes = ("--metric", "ip", "--memory", "12MB", "--graph", graph)
                shutil.rmtree(index, ignore_errors=True)
                built = run(program, "build", "--data", base, "--out", index, *wishes, "--json")
                built.check_returncode()
                cell = {"program": label, "spread": spread, "graph": graph}
                cell["graph_seconds"] = dict(map(tuple, json.loads(built.stdout)["seconds"]))["build graph"]
                for effort in ("--list-size 10", "--list-size 30", "--list-size 100", "--list-size 300", "--recall 0.9", "--recall 0.95", "--recall 0.99"):
                    asks = ("--queries", queries, "--truth", truth, "-k", 10, *effort.split(), "--json")
                    found = run(program, "search", index, *asks)
                    found = json.loads(found.stdout) if found.returncode == 0 else {}
                    keys = ("recall", "list_size", "pages_per_query")
                    record = cell | {"effort": effort} | {key: found.get(key) for key in keys}
                    print(json.dumps(record), file=records, flush=True)
