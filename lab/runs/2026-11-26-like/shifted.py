"""Recall asked and got by queries that are like the rows, and by others.

    python shifted.py PAGEWAY DATA OUT SET MEMORY PRESET [KIND ...]

PAGEWAY is the command, DATA holds the sets unpacked. 1,000 rows and the 2,000 nearest to one row
are left out of SET (of photo-sift-1m 200,000 rows are drawn first), an index of the others is built
in OUT as by default, if it is not there, and asked for .80, .90, .95, .99 of 1, 10 and 100
neighbours, with queries of each KIND:

    like      the rows that were left out         own       the queries of the set
    noiseX    rows, moved by X times the median distance of a 10th neighbour
    between   points half way between two rows    cut       rows of the part that was left out

Brute force is the oracle. A line of OUT/SET.jsonl for each search.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

QUERIES, CUT, DRAWN = 1000, 2000, 200_000
KINDS = ("like", "own", "noise1", "between", "cut")
ASKED = (0.8, 0.9, 0.95, 0.99)
SETS = {
    "text-wordnet-80k": ("fbin", np.float32, "text-wordnet.query"),
    "photo-gist-24k": ("fbin", np.float32, "photo-gist.query"),
    "photo-sift-1m": ("u8bin", np.uint8, "photo-sift.query"),
}


def read(path, kind):
    rows, dimension = np.fromfile(path, np.uint32, 2)
    return np.fromfile(path, kind, offset=8).reshape(rows, dimension)


def write(path, rows):
    with path.open("wb") as file:
        np.array(rows.shape, np.uint32).tofile(file)
        np.ascontiguousarray(rows).tofile(file)


def squares(some, others):
    some, others = some.astype(np.float32), others.astype(np.float32)
    apart = (some**2).sum(1)[:, None] + (others**2).sum(1)[None] - 2 * (some @ others.T)
    return np.maximum(apart, 0)


class Shifted:
    """A set, its rows that are built, and the queries."""

    def __init__(self, data, name):
        self.rng = np.random.default_rng(7)
        self.extension, self.kind, queries = SETS[name]
        base = read(data / f"{name}.base.{self.extension}", self.kind)
        if len(base) > DRAWN:
            base = base[self.rng.choice(len(base), DRAWN, False)]
        self.own = self.some(read(data / f"{queries}.{self.extension}", self.kind))
        self.has_unit_rows = name.startswith("text")
        middle = base[self.rng.integers(len(base))]
        near = np.argsort(squares(middle[None], base)[0])[:CUT]
        left = np.delete(np.arange(len(base)), near)
        drawn = self.rng.choice(left, QUERIES, False)
        self.cut, self.like = base[near], base[drawn]
        self.rows = np.delete(base, np.concatenate([near, drawn]), axis=0)

    def some(self, rows):
        return rows[self.rng.choice(len(rows), min(QUERIES, len(rows)), False)]

    def queries(self, kind):
        if kind.startswith("noise"):
            return self.noisy(float(kind[5:]))
        if kind == "between":
            halves = self.some(self.rows).astype(np.float32) + self.some(self.rows)
            return self.typed(halves / 2)
        return self.some(self.cut) if kind == "cut" else getattr(self, kind)

    def noisy(self, times):
        sample = self.some(self.rows)[:200]
        far = np.sqrt(np.median(np.partition(squares(sample, self.rows), 10, axis=1)[:, 10]))
        rows = self.some(self.rows).astype(np.float32)
        noise = self.rng.normal(size=rows.shape).astype(np.float32)
        return self.typed(rows + times * far * noise / np.linalg.norm(noise, axis=1)[:, None])

    def typed(self, rows):
        if self.has_unit_rows:
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        if self.kind == np.uint8:
            rows = np.clip(np.rint(rows), 0, 255)
        return rows.astype(self.kind)


def run(command, *words):
    done = subprocess.run([command, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main(command, data, out, name, memory, preset, *kinds):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    shifted = Shifted(Path(data), name)
    base, asked = (out / f"{name}.{own}.{shifted.extension}" for own in ("base", "asked"))
    found = out / f"{name}.found.jsonl"
    index = out / f"{name}.{preset}.{memory}"
    if not index.exists():
        write(base, shifted.rows)
        run(command, "build", "--data", base, "--metric", "l2", "--memory", memory,
            "--preset", preset, "--out", index)  # fmt: skip
    with (out / f"{name}.jsonl").open("a") as records:
        for kind in kinds or KINDS:
            queries = shifted.queries(kind)
            write(asked, queries)
            parts = np.array_split(queries, 4)
            distances = np.concatenate([squares(part, shifted.rows) for part in parts])
            for k in (1, 10, 100):
                limit = np.partition(distances, k - 1, axis=1)[:, k - 1] * (1 + 1e-5) + 1e-6
                for recall in ASKED:
                    told = run(command, "search", index, "--queries", asked, "-k", k,
                               "--recall", recall, "--out", found, "--threads", 2)  # fmt: skip
                    rows = [json.loads(row)["ids"] for row in found.read_text().splitlines()]
                    near = np.take_along_axis(distances, np.array(rows), 1) <= limit[:, None]
                    got = near.mean(1)
                    cell = {
                        "set": name, "memory": memory, "preset": preset, "queries": kind, "k": k,
                        "asked": recall, "got": round(float(got.mean()), 4),
                        "got_p5": round(float(np.quantile(got, 0.05)), 3),
                        "pages": told["pages_per_query"], "list_size": told["list_size"],
                        "unlike": told["unlike"],
                    }  # fmt: skip
                    records.write(json.dumps(cell) + "\n")
                    print(" ".join(map(str, cell.values())), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
