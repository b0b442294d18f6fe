"""Rows, queries and middles: sets.py DATA DIR. DATA holds the sets' files, DIR gets SET.base, SET.like, SET.own, SET.between."""
import sys

import numpy as np

data, out = sys.argv[1:3]
SETS = (
    ("text", "text-wordnet-80k.base.fbin", "text-wordnet.query.fbin"),
    ("gist", "photo-gist-24k.base.fbin", "photo-gist.query.fbin"),
    ("sift", "photo-sift-1m.base.u8bin", "photo-sift.query.u8bin"),
)


def read(name):
    element = np.float32 if name.endswith("fbin") else np.uint8
    count, dimension = np.fromfile(f"{data}/{name}", np.int32, 2)
    return np.fromfile(f"{data}/{name}", element, offset=8).reshape(count, dimension)


def write(name, rows):
    with open(f"{out}/{name}", "wb") as file:
        np.array(rows.shape, np.int32).tofile(file)
        np.ascontiguousarray(rows).tofile(file)


random = np.random.default_rng(3)
for name, base, queries in SETS:
    rows, end = read(base), base.rsplit(".", 1)[1]
    drawn = random.choice(len(rows), 202_000, replace=False) if name == "sift" else random.permutation(len(rows))
    kept = rows[np.sort(drawn[2000:])]
    one, other = random.integers(0, len(kept), (2, 1000))
    middles = (kept[one].astype(np.float32) + kept[other]) / 2
    write(f"{name}.base.{end}", kept)
    write(f"{name}.like.{end}", rows[drawn[:2000]])
    write(f"{name}.own.{end}", read(queries)[:2000])
    write(f"{name}.between.{end}", middles.astype(kept.dtype))
