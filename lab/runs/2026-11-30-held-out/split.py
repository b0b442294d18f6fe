"""Rows that no build sees, as queries of the others: DIR/NAME.base, DIR/NAME.query, DIR/NAME.gt.ibin.

    python split.py PAGEWAY DATA DIR

DATA holds the three sets. Needs numpy.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

#: Name, file, metric, rows and those of them that are held out.
SETS = (
    ("gist", "photo-gist-24k.base.fbin", "l2", 24_000, 3_000),
    ("text", "text-wordnet-80k.base.fbin", "cosine", 80_000, 3_000),
    ("sift", "photo-sift-1m.base.u8bin", "l2", 250_000, 5_000),
)


def main():
    pageway, data, work = (Path(part) for part in sys.argv[1:4])
    work.mkdir(exist_ok=True)
    rng = np.random.default_rng(7)
    for name, file, metric, rows, held in SETS:
        path = data / file
        element = np.uint8 if path.suffix == ".u8bin" else np.float32
        count, dimension = np.fromfile(path, np.uint32, 2)
        shape = (int(count), int(dimension))
        vectors = np.memmap(path, element, "r", offset=8, shape=shape)
        chosen = np.sort(rng.choice(len(vectors), min(rows, len(vectors)), False))
        is_held = np.zeros(len(chosen), bool)
        is_held[rng.choice(len(chosen), held, False)] = True
        files = {part: work / f"{name}.{part}{path.suffix}" for part in ("base", "query")}
        write(files["base"], vectors[chosen[~is_held]])
        write(files["query"], vectors[chosen[is_held]])
        wishes = ("-k", "100", "--metric", metric, "--out", work / f"{name}.gt.ibin")
        inputs = ("--data", files["base"], "--queries", files["query"])
        subprocess.run([pageway, "ground-truth", *inputs, *wishes], check=True, capture_output=True)


def write(path, rows):
    with path.open("wb") as out:
        np.array(rows.shape, np.uint32).tofile(out)
        np.ascontiguousarray(rows).tofile(out)


main()
