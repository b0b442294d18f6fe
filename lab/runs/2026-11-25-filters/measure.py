"""Recall, pages and codes among rows that match, by share, correlation and strategy; and what
filtering after the search reads.

    python measure.py BASE QUERIES METRIC OUT [--rows N] [--queries N] [--memory 0.1,0.2]
        [--presets pageway,diskann] [--batch 1,100] [--recall 0.95] [--forced] [--post]

BASE and QUERIES are .fbin or .u8bin. Four queries are anchors; a row has its rank by distance to
each, and one at random; a filter is ``rank < n``. Prints a line of JSON for each cell: counts, no
times. `--forced` asks every strategy; `--post` adds the pages of a search without a filter whose
answers are filtered after, at the recall that the filtered search had.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pageway

K, ANCHORS = 10, 4
SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
WAYS = ("walk", "scan-codes", "scan-vectors")


def read(path, count):
    """Rows of a file, the first `count` of them."""
    kind = {"fbin": "<f4", "u8bin": "u1"}[Path(path).name.rsplit(".", 1)[1]]
    rows, dimension = (int(one) for one in np.fromfile(path, "<u4", 2))
    rows = min(rows, count or rows)
    return np.fromfile(path, kind, rows * dimension, offset=8).reshape(rows, dimension)


class Data:
    """Rows, queries, and distances of some queries to all rows."""

    def __init__(self, arguments):
        self.base = read(arguments.base, arguments.rows)
        self.queries = read(arguments.queries_file, None)
        self.metric = arguments.metric
        self.floats = self._floats(self.base)
        self.squares = (self.floats * self.floats).sum(axis=1)
        draw = np.random.default_rng(3)
        anchors = draw.choice(len(self.queries), ANCHORS, replace=False)
        near = self.distances(self.queries[anchors])
        self.ranks = np.empty((ANCHORS + 1, len(self.base)), np.int64)
        for own, distances in zip(self.ranks, near):
            own[np.argsort(distances, kind="stable")] = np.arange(len(self.base))
        self.ranks[ANCHORS] = draw.permutation(len(self.base))
        among = self._floats(self.queries)
        each = arguments.queries // ANCHORS
        nearness = [((among - among[anchor]) ** 2).sum(axis=1) for anchor in anchors]
        self.asked = {
            "positive": [(at, np.argsort(own)[:each]) for at, own in enumerate(nearness)],
            "none": [
                (ANCHORS, draw.choice(len(self.queries), each, replace=False)) for _ in anchors
            ],
            "negative": [(at, np.argsort(own)[-each:]) for at, own in enumerate(nearness)],
        }
        self.known = {
            correlation: [self.distances(self.queries[which]) for _, which in asked]
            for correlation, asked in self.asked.items()
        }

    def _floats(self, rows):
        rows = rows.astype(np.float32)
        if self.metric != "cosine":
            return rows
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def distances(self, queries):
        """Squared, of shape (queries, rows); by which cosine ranks unit vectors too."""
        return self.squares - 2 * (self._floats(queries) @ self.floats.T)

    def documents(self):
        """One for each row."""
        names = [f"a{at}" for at in range(ANCHORS)] + ["mixed"]
        return [dict(zip(names, own)) for own in self.ranks.T.tolist()]


def field(column):
    """Its name."""
    return "mixed" if column == ANCHORS else f"a{column}"


def hits(ids, distances, truth):
    """Of the ids of one query: those no farther than the last true one."""
    own = ids[ids >= 0]
    return float((distances[own] <= truth + 1e-5 * abs(truth)).sum())


def ask(index, data, correlation, share, arguments, batch, strategy=None):
    """One cell."""
    below = int(len(data.base) * share)
    found, wanted, wrong, queries = 0.0, 0, 0, 0
    pages = codes = vectors = spent = 0.0
    ways, rescued = {}, 0
    for (column, which), known in zip(data.asked[correlation], data.known[correlation]):
        matches = data.ranks[column] < below
        for first in range(0, len(which), batch):
            own, part = which[first : first + batch], known[first : first + batch]
            filter = None if share == 1 else f"{field(column)} < {below}"
            result = index.search(
                data.queries[own], K, recall=arguments.recall, filter=filter, strategy=strategy
            )
            for ids, distances in zip(result.ids, part):
                owed = min(K, below)
                truth = np.partition(distances[matches], owed - 1)[owed - 1]
                found, wanted = found + min(owed, hits(ids, distances, truth)), wanted + owed
                there = ids[ids >= 0]
                wrong += int((~matches[there]).sum()) + (len(there) != owed)
            queries += len(own)
            pages += sum(result.stats.pages)
            codes += sum(result.stats.approximate_distances)
            vectors += sum(result.stats.exact_distances)
            if result.filter:
                way = result.filter["strategy"]
                ways[way] = ways.get(way, 0) + len(own)
                rescued += result.filter["rescued"]
                spent += result.filter["spent_cost"] * len(own)
    return {
        "correlation": correlation,
        "share": share,
        "batch": batch,
        "forced": strategy,
        "queries": queries,
        "recall": round(found / wanted, 4),
        "wrong": wrong,
        "pages": round(pages / queries, 2),
        "codes": round(codes / queries),
        "vectors": round(vectors / queries, 1),
        "ways": ways,
        "rescued": rescued,
        "spent": round(spent / queries),
    }


def post(index, data, correlation, share, recall):
    """Pages of searches without a filter, filtered after, with the shortest list that reaches a
    recall among matches."""
    below = int(len(data.base) * share)
    for deep in (1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32):
        k = int(min(len(data.base) - 1, K / share * deep))
        found, wanted, pages, queries = 0.0, 0, 0.0, 0
        for (column, which), known in zip(data.asked[correlation], data.known[correlation]):
            matches = data.ranks[column] < below
            try:
                result = index.search(data.queries[which], k, list_size=k)
            except pageway.InvalidInputError:
                return None
            for ids, distances in zip(result.ids, known):
                owed = min(K, below)
                truth = np.partition(distances[matches], owed - 1)[owed - 1]
                own = ids[ids >= 0]
                own = own[matches[own]][:owed]
                found, wanted = found + hits(own, distances, truth), wanted + owed
            pages, queries = pages + sum(result.stats.pages), queries + len(which)
        if found / wanted >= recall:
            return {"k": k, "recall": round(found / wanted, 4), "pages": round(pages / queries, 1)}
    return None


def main():
    """Measures."""
    parser = argparse.ArgumentParser()
    for name in ("base", "queries_file", "metric", "out"):
        parser.add_argument(name)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--memory", default="0.1,0.2")
    parser.add_argument("--presets", default="pageway")
    parser.add_argument("--batch", default="100")
    parser.add_argument("--recall", type=float, default=0.95)
    parser.add_argument("--shares", default=",".join(str(one) for one in SHARES))
    parser.add_argument("--forced", action="store_true")
    parser.add_argument("--post", action="store_true")
    arguments = parser.parse_args()
    data, documents = Data(arguments), None
    shares = [1.0] + [float(one) for one in arguments.shares.split(",")]
    for preset in arguments.presets.split(","):
        for memory in arguments.memory.split(","):
            place = Path(arguments.out, f"{preset}-{memory}.index")
            if place.exists():
                index = pageway.open(place)
            else:
                documents = documents or data.documents()
                index = pageway.build(
                    place,
                    data.base,
                    metric=arguments.metric,
                    preset=preset,
                    memory=float(memory),
                    attributes=documents,
                )
            for correlation in data.asked:
                for share in shares:
                    for batch in (int(one) for one in arguments.batch.split(",")):
                        ways = [None, *(WAYS if arguments.forced and share < 1 else ())]
                        for way in ways:
                            try:
                                cell = ask(index, data, correlation, share, arguments, batch, way)
                            except pageway.UnsupportedError:
                                continue
                            if arguments.post and way is None and share < 1:
                                recall = min(cell["recall"], arguments.recall)
                                cell["post"] = post(index, data, correlation, share, recall)
                            print(json.dumps({"design": preset, "memory": memory, **cell}), flush=True)
            index.close()


if __name__ == "__main__":
    main()
