"""Recall that is asked and got where rows have copies.

    python copies.py PAGEWAY DATA OUT > copies.jsonl

PAGEWAY is the command; DATA holds wordnet-10k.npy and wordnet-queries.npy of data/demo. Indexes are
built in OUT and removed again. A line of JSON for each index and number of neighbours.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROWS, COPIED, NOISE = 4000, 1600, 1e-3


def sets(data):
    """Rows with no copies, with some, with some that are nearly equal, and all twice."""
    base = np.load(data / "wordnet-10k.npy")[:ROWS].astype(np.float32)
    some = base[:COPIED]
    noise = np.random.default_rng(0).normal(0, NOISE, some.shape).astype(np.float32)
    return {"none": base[:0], "exact": some, "near": some + noise, "all": base}, base


def run(command, *arguments):
    """What the command prints as JSON, or its last words."""
    done = subprocess.run(
        [command, *map(str, arguments), "--json"], capture_output=True, text=True
    )
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()}


def main(command, data, out):
    """Builds, searches and prints."""
    data, out = Path(data), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    queries = out / "queries.npy"
    np.save(queries, np.load(data / "wordnet-queries.npy").astype(np.float32))
    copies, base = sets(data)
    for name, beside in copies.items():
        rows, index = out / f"{name}.npy", out / f"{name}.index"
        np.save(rows, np.concatenate([base, beside]))
        for preset in ("pageway", "diskann"):
            shutil.rmtree(index, ignore_errors=True)
            run(
                command, "build", "--data", rows, "--out", index, "--metric", "cosine",
                "--memory", "20%", "--preset", preset,
            )  # fmt: skip
            for k in (1, 10):
                asked = (command, "recall", index, "-k", k, "--recall", 0.95)
                others, own = run(*asked, "--queries", queries), run(*asked)
                record = {"copies": name, "preset": preset, "k": k, "asked": 0.95}
                print(json.dumps({**record, "queries": others, "rows": own}), flush=True)
            shutil.rmtree(index, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
