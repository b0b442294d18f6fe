"""Recall among rows that match and pages read, by share of the rows and by correlation.

    python measure.py DATA OUT RECALL [DESIGN ...]

DATA holds text-wordnet-80k.base.fbin and text-wordnet.query.fbin; indexes are built in OUT once.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pageway

K, ANCHORS, EACH = 10, 4, 100
SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 10, 1, 0)
DESIGNS = {
    "own10": {"share": 0.1},
    "own20": {"share": 0.2},
    "diskann20": {"share": 0.2, "preset": "diskann"},
    "pageann20": {"share": 0.2, "preset": "pageann"},
}


def fbin(path):
    """Rows of a file of f32."""
    rows, dimension = np.fromfile(path, "<i4", 2)
    return np.fromfile(path, "<f4", offset=8).reshape(rows, dimension)


def unit(rows):
    """Rows at length 1."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Fields:
    """Ranks of rows by distance to each anchor, and at random; queries near and far from each."""

    def __init__(self, base, queries):
        draw = np.random.default_rng(3)
        self.base, self.queries = unit(base), unit(queries)
        self.count = len(base)
        anchors = draw.choice(len(queries), ANCHORS, replace=False)
        self.rank = np.empty((ANCHORS, self.count), np.int64)
        for own, anchor in zip(self.rank, anchors):
            own[np.argsort(-(self.base @ self.queries[anchor]))] = np.arange(self.count)
        self.mixed = draw.permutation(self.count)
        nearness = [self.queries @ self.queries[anchor] for anchor in anchors]
        self.asked = {
            "none": [draw.choice(len(queries), EACH, replace=False) for _ in anchors],
            "positive": [np.argsort(-own)[:EACH] for own in nearness],
            "negative": [np.argsort(own)[:EACH] for own in nearness],
        }

    def write(self, path):
        """One JSON document a row."""
        with open(path, "w", encoding="utf-8") as out:
            for row in range(self.count):
                ranks = {f"a{at}": int(self.rank[at, row]) for at in range(ANCHORS)}
                out.write(json.dumps({"mixed": int(self.mixed[row]), **ranks}) + "\n")

    def cases(self):
        """Share and kind, filter, mask of the rows that match, numbers of queries."""
        for share in SHARES:
            most = int(share * self.count) if 0 < share < 1 else int(share)
            for kind, asked in self.asked.items():
                for at, chosen in enumerate(asked):
                    name = "mixed" if kind == "none" else f"a{at}"
                    values = self.mixed if kind == "none" else self.rank[at]
                    yield (share, kind), f"{name} < {most}", values < most, chosen

    def truth(self, mask, chosen):
        """The nearest rows that match."""
        rows = np.flatnonzero(mask)
        scores = self.queries[chosen] @ self.base[rows].T
        return rows[np.argsort(-scores, axis=1)[:, :K]]


def recalls(found, truth):
    """Recall of each query; 1 where no row matches."""
    pairs = zip(found, truth)
    return [len(set(own[own >= 0]) & set(best)) / max(1, len(best)) for own, best in pairs]


def measure(index, fields, queries, asked):
    """Prints a line for each share and kind."""
    cells = {}
    for cell, text, mask, chosen in fields.cases():
        found = index.search(queries[chosen], k=K, recall=asked, filter=text)
        ids = found.ids
        assert ((ids >= 0).sum(1) == min(mask.sum(), K)).all(), f"{text}: not k rows"
        assert mask[ids[ids >= 0]].all(), f"{text}: a row that does not match"
        own = cells.setdefault(cell, ([], [], [], set(), []))
        own[0].extend(recalls(ids, fields.truth(mask, chosen)))
        own[1].append(found.stats["pages"].mean())
        own[2].append(found.stats["approximate_distances"].mean())
        own[3].add(found.filter["strategy"])
        own[4].append(found.filter["rescued"])
    for (share, kind), (recall, pages, codes, ways, rescued) in cells.items():
        print(
            f"{share:>6} {kind:8} recall {np.mean(recall):.3f} pages {np.mean(pages):8.1f} "
            f"codes {np.mean(codes):9.0f} {'/'.join(sorted(ways))} given up {sum(rescued)}"
        )


def main(data, out, asked, *names):
    """Builds what is not built, and measures."""
    data, out, asked = Path(data), Path(out), float(asked)
    base = fbin(data / "text-wordnet-80k.base.fbin")
    queries = fbin(data / "text-wordnet.query.fbin")
    fields = Fields(base, queries)
    out.mkdir(parents=True, exist_ok=True)
    attributes = out / "attributes.jsonl"
    if not attributes.exists():
        fields.write(attributes)
    for name in names or DESIGNS:
        options = dict(DESIGNS[name])
        options["memory"] = int(options.pop("share") * base.nbytes)
        path = out / f"{name}.index"
        if not path.exists():
            pageway.build(path, base, metric="cosine", attributes=attributes, **options).close()
        print(name)
        with pageway.open(path) as index:
            measure(index, fields, queries, asked)


if __name__ == "__main__":
    main(*sys.argv[1:])
