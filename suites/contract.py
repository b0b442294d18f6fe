"""Is the recall that was asked for got, on data that nothing was tuned for?

    python suites/contract.py --bin target/release/pageway --work DIR [--sets mixture,copies]
        [--data FILE --metric METRIC] [--memory 20 10] [--preset pageway] [--rows 20000]
        [--json cells.jsonl]

Rows are drawn from FILE (.fbin or .u8bin), or sets are made: mixtures, copies, rows far from zero, heavy tails, counts of words, lines, norms that
differ. Each is built, searched with queries like the rows and with others (rows with noise, points
between two rows, a part of the space that was left out), searched among rows that match a filter,
changed (a third of the
rows goes, others come), searched again, merged, and searched again. Brute force over the rows that
are there is the oracle. A cell is what was asked and got; exit code 1 where one misses by more than
--below. By how much others are above is printed and not judged: where pages hardly change with the
list, shorter ones save nothing. Needs numpy.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np

Set = namedtuple("Set", "metric rows")
Cell = namedtuple("Cell", "set memory phase k asked got pages")

KS = (1, 10, 50)
ASKED = (0.8, 0.9, 0.95, 0.99)
#: Shares of the rows that match a filter.
SHARES = (0.5, 0.1, 0.01)
SUFFIX = {"f": "fbin", "u": "u8bin"}
ELEMENT = {".fbin": np.float32, ".u8bin": np.uint8}


def mixture(rng, rows, dimension, centres, spread, weights=None):
    at = rng.choice(centres, size=rows, p=weights)
    middle = rng.normal(size=(centres, dimension))
    return (middle[at] + spread * rng.normal(size=(rows, dimension))).astype(np.float32)


def scaled(rng, vectors, deviation):
    lengths = np.exp(deviation * rng.normal(size=(len(vectors), 1)))
    return (vectors * lengths).astype(np.float32)


def words(rng, rows, terms=256, each=30):
    """Counts of words with inverse document frequencies."""
    drawn = np.minimum(rng.zipf(1.3, size=(rows, each)) - 1, terms - 1)
    counts = np.zeros((rows, terms), np.float32)
    np.add.at(counts, (np.arange(rows)[:, None], drawn), 1)
    return counts * np.log(1 + rows / (1 + (counts > 0).sum(0)))


def line(rng, rows, dimension):
    along = np.outer(rng.random(rows), rng.normal(size=dimension))
    return (along + 0.001 * rng.normal(size=(rows, dimension))).astype(np.float32)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def drawn(rng, file, rows):
    """Rows of a file, in the order that they have there."""
    count, dimension = np.fromfile(file, np.uint32, 2)
    shape = (int(count), int(dimension))
    there = np.memmap(file, ELEMENT[file.suffix], "r", offset=8, shape=shape)
    if rows > len(there):
        sys.exit(f"{file} has {len(there)} rows, and {rows} are needed: see --rows and --queries")
    return there[np.sort(rng.choice(len(there), rows, False))]


def falling(count):
    weights = 1 / np.arange(1, count + 1) ** 1.2
    return weights / weights.sum()


SETS = {
    "mixture": lambda rng, n: Set("l2", mixture(rng, n, 96, 200, 0.5)),
    "uniform": lambda rng, n: Set("l2", rng.random((n, 32)).astype(np.float32)),
    "copies": lambda rng, n: Set("l2", np.repeat(mixture(rng, n // 8 + 1, 64, 100, 0.5), 8, 0)),
    "far": lambda rng, n: Set("l2", mixture(rng, n, 96, 200, 0.5) + np.float32(300)),
    "tails": lambda rng, n: Set("l2", rng.standard_t(2, (n, 48)).clip(-1e3, 1e3).astype("f4")),
    "words": lambda rng, n: Set("cosine", words(rng, n)),
    "skewed": lambda rng, n: Set("cosine", mixture(rng, n, 128, 50, 0.3, falling(50))),
    "unit": lambda rng, n: Set("ip", unit(mixture(rng, n, 96, 200, 0.6))),
    "norms": lambda rng, n: Set("ip", scaled(rng, mixture(rng, n, 96, 200, 0.6), 0.3)),
    "long": lambda rng, n: Set("ip", scaled(rng, mixture(rng, n, 64, 200, 0.6), 0.8)),
    "city": lambda rng, n: Set("l1", mixture(rng, n, 48, 100, 0.5)),
    "bytes": lambda rng, n: Set(
        "l2", (128 + 40 * mixture(rng, n, 64, 150, 0.5)).clip(0, 255).astype(np.uint8)
    ),
    "line": lambda rng, n: Set("l2", line(rng, n, 24)),
    "few": lambda rng, n: Set("l2", rng.random((n, 3)).astype(np.float32)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sets", help="default: all that are made, or FILE")
    parser.add_argument("--data", type=Path, metavar="FILE")
    parser.add_argument("--metric", default="l2", help="of FILE")
    parser.add_argument(
        "--memory", nargs="+", type=float, default=[20, 10], help="%% of the raw rows, beside 2 MB"
    )
    parser.add_argument("--preset", default="pageway")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--below", type=float, default=0.02, help="how far below what was asked")
    parser.add_argument("--json", type=Path, help="a line for each cell")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    cells = []
    names = asked.sets or ",".join(SETS)
    if asked.data:
        names = f"{asked.data.stem}-{asked.metric}"
        SETS[names] = lambda rng, n: Set(asked.metric, drawn(rng, asked.data, n))
    for name in names.split(","):
        for memory in asked.memory:
            for cell in Trial(asked, name, memory).cells():
                cells.append(cell)
                print(line_of(cell), flush=True)
                if asked.json:
                    with asked.json.open("a") as file:
                        file.write(json.dumps(cell._asdict()) + "\n")
    return judge(cells, asked.below)


def line_of(cell):
    off = cell.got - cell.asked
    place = f"{cell.set:8} {cell.memory:g} % {cell.phase:12} k {cell.k:<3}"
    return f"{place} asked {cell.asked:.2f} got {cell.got:.4f} ({off:+.3f}) {cell.pages:.1f} pages"


def judge(cells, below):
    off = np.array([cell.got - cell.asked for cell in cells])
    print(f"{len(cells)} cells: off by {off.min():+.3f} to {off.max():+.3f}, ", end="")
    print(f"mean {off.mean():+.4f}, mean of absolute {np.abs(off).mean():.4f}")
    missed = [cell for cell in cells if cell.got < cell.asked - below]
    for cell in missed:
        print("MISSED", line_of(cell))
    return 1 if missed or not cells else 0


class Trial:
    """One set in one memory, from its build to its merge."""

    def __init__(self, asked, name, memory):
        self.asked, self.name, self.memory = asked, name, memory
        self.rng = np.random.default_rng(asked.seed)
        # Half as many rows again come later.
        made = SETS[name](self.rng, 2 * asked.queries + asked.rows * 3 // 2)
        order = self.rng.permutation(len(made.rows))
        rows = made.rows[order]
        self.metric = made.metric
        if rows.dtype == np.float64:
            rows = rows.astype(np.float32)
        self.suffix = SUFFIX[rows.dtype.kind]
        self.queries, rows = rows[: asked.queries], rows[asked.queries :]
        # A part of the space that no row is in.
        near = np.argsort(self.distances(rows[:1], rows)[0])[: asked.queries]
        self.rows = np.delete(rows, near, axis=0)
        self.shifted = {"left out": rows[near], **self.moved()}
        self.place = asked.work / f"{name}-{memory:g}"
        self.index = self.place / "index"
        self.share = self.rng.random(len(self.rows))

    def cells(self):
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        first = np.arange(self.asked.rows)
        self.write("base", self.rows[first])
        shares = self.place / "rows.jsonl"
        shares.write_text("".join(f'{{"share": {own:.6f}}}\n' for own in self.share[first]))
        build = ["build", "--data", self.file("base"), "--out", self.index]
        # Small sets hold less than a query and the filters of one take.
        memory = int(self.rows[first].nbytes * self.memory / 100 + 2_000_000)
        build += ["--metric", self.metric, "--memory", memory, "--preset", self.asked.preset]
        self.run(*build, "--attributes", shares)
        yield from self.phase("built", first, KS)
        for kind, queries in self.shifted.items():
            yield from self.phase(kind, first, KS, queries=queries)
        for share in SHARES:
            matching = first[self.share[first] < share]
            words = ["--filter", f"share < {share}"]
            yield from self.phase(f"among {share}", matching, (10,), words)
        yield from self.changed(first)

    def changed(self, first):
        """A third of the rows goes, first spread evenly, so few that dead nodes stay, then by place
        too, for which segments are merged; half as many as there were come."""
        gone = self.rng.choice(first, len(first) // 4, False)
        evenly = gone[: len(first) // 7]
        left = np.setdiff1d(first, evenly)
        assert self.delete(evenly)["dead"] == len(evenly), "merged already"
        yield from self.phase("dead", left, KS)
        near = np.argsort(self.distances(self.queries[:1], self.rows[first])[0])
        gone = np.union1d(near[: len(first) // 10], gone)
        self.delete(np.intersect1d(gone, left))
        left = np.setdiff1d(first, gone)
        yield from self.phase("gone", left, KS)
        come = np.arange(len(first), len(self.rows))
        self.write("come", self.rows[come])
        (self.place / "come.txt").write_text("\n".join(map(str, come)))
        self.run("insert", self.index, "--data", self.file("come"), "--ids", self.place / "come.txt")
        there = np.concatenate([left, come])
        yield from self.phase("inserted", there, KS)
        self.run("merge", self.index, "--full")
        yield from self.phase("merged", there, KS)

    def delete(self, ids):
        (self.place / "gone.txt").write_text("\n".join(map(str, ids)))
        return self.run("delete", self.index, "--ids", self.place / "gone.txt")

    def moved(self):
        """Queries that lie where rows do not."""
        drawn = self.rng.integers(self.asked.rows, size=(2, self.asked.queries))
        some, others = self.rows[drawn].astype(np.float32)
        far = np.sqrt(np.square(some - others).sum(1, keepdims=True).mean())
        noise = self.rng.normal(size=some.shape)
        noise *= 0.3 * far / np.linalg.norm(noise, axis=1, keepdims=True)
        return {"noise": self.typed(some + noise), "between": self.typed((some + others) / 2)}

    def typed(self, rows):
        if self.suffix == "u8bin":
            rows = rows.round().clip(0, 255)
        return rows.astype(self.queries.dtype)

    def phase(self, phase, there, ks, words=(), queries=None):
        queries = self.queries if queries is None else queries
        self.write("queries", queries)
        distances = self.distances(queries, self.rows[there])
        for k in (k for k in ks if k <= len(there)):
            limit = np.partition(distances, k - 1, axis=1)[:, k - 1]
            limit = limit + 1e-5 * np.abs(limit)
            place_of = np.full(len(self.rows), -1)
            place_of[there] = np.arange(len(there))
            for recall in ASKED:
                found, pages = self.search(k, recall, words)
                if found is None:
                    continue
                places = place_of[found]
                assert (places >= 0).all(), "an answer that is dead or does not match"
                assert all(len(set(own)) == k for own in found.tolist()), "an answer twice"
                near = np.take_along_axis(distances, places, 1) <= limit[:, None]
                got = float(near.sum(1).mean() / k)
                yield Cell(self.name, self.memory, phase, k, recall, got, pages)

    def distances(self, queries, rows):
        rows, queries = rows.astype(np.float64), queries.astype(np.float64)
        if self.metric == "l1":
            return np.stack([np.abs(rows - query).sum(1) for query in queries])
        if self.metric == "cosine":
            return 1 - unit(queries) @ unit(rows).T
        product = queries @ rows.T
        if self.metric == "ip":
            return -product
        squares = (rows**2).sum(1)[None] + (queries**2).sum(1)[:, None] - 2 * product
        return np.maximum(squares, 0)

    def search(self, k, recall, words):
        """Ids of a row for each query, and pages; none where a recall, or memory for a list that
        long, is said to be out of reach."""
        out = self.place / "found.jsonl"
        search = ["search", self.index, "--queries", self.file("queries"), "-k", k]
        search += ["--recall", recall, "--out", out, "--threads", 2, *words]
        told = self.run(*search, allowed=("cannot promise recall", "a memory budget of"))
        if told is None:
            print(f"{self.name} {self.memory:g} %: k {k} at {recall} is refused", flush=True)
            return None, 0
        rows = [json.loads(row) for row in out.read_text().splitlines()]
        return np.array([row["ids"] for row in rows]), told["pages_per_query"]

    def write(self, name, rows):
        with self.file(name).open("wb") as file:
            np.array(rows.shape, np.uint32).tofile(file)
            np.ascontiguousarray(rows).tofile(file)

    def file(self, name):
        return self.place / f"{name}.{self.suffix}"

    def run(self, *words, allowed=()):
        """What a command says as JSON; none where it fails with words that are allowed."""
        command = [str(self.asked.bin), *map(str, words), "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode and any(reason in done.stderr for reason in allowed):
            return None
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
