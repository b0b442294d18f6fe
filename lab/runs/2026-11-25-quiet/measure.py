"""Queries per second and latency of exact answers: the default against published designs, alternating.

    python measure.py PAGEWAY DATA OUT SET SHARES PRESETS RECALL

All designs share the graph of one build of `diskann`. For each the smallest list size that reaches
RECALL is searched for; then the cells are measured three times in turn: 8 queries in flight on one
and on two threads, and one query at a time. Every search goes to OUT/SET.jsonl.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

SETS = {
    "text-wordnet-80k": ("fbin", "text-wordnet.query.fbin"),
    "photo-gist-24k": ("fbin", "photo-gist.query.fbin"),
    "photo-sift-1m": ("u8bin", "photo-sift.query.u8bin"),
}
WAYS = {"1 thread": (1, 8), "2 threads": (2, 8), "one at a time": (1, 1)}
ROUNDS = 3


class Runs:
    """Builds and searches by the command."""

    def __init__(self, command, data, out, name):
        self.command, self.data, self.out, self.name = command, Path(data), Path(out), name
        self.records = open(self.out / f"{name}.jsonl", "a", encoding="utf-8")

    def run(self, *arguments):
        """What the command prints as JSON."""
        done = subprocess.run(
            [self.command, *map(str, arguments), "--json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)

    def build(self, preset, share, graph=None):
        """An index, built unless it is there."""
        index = self.out / f"{self.name}.{preset}.{share}"
        if not index.exists():
            shared = ("--graph-from", graph) if graph else ()
            self.run(
                "build", "--data", self.data / f"{self.name}.base.{SETS[self.name][0]}",
                "--metric", "l2", "--preset", preset, "--memory", share, "--degree", 32,
                "--build-list", 100, "--out", index, *shared,
            )  # fmt: skip
        return index

    def search(self, index, share, size, threads, interleave, tolerance="0"):
        """One search with its costs."""
        return self.run(
            "search", index, "--queries", self.data / SETS[self.name][1], "-k", 10,
            "--memory", share, "--truth", self.data / f"{self.name}.gt.ibin", "--list-size", size,
            "--threads", threads, "--interleave", interleave, "--tolerance", tolerance,
        )  # fmt: skip

    def smallest_list(self, index, share, recall):
        """The smallest list size that reaches a recall."""
        low, high = 10, 400
        while low < high:
            middle = (low + high) // 2
            if self.search(index, share, middle, 2, 8)["recall"] >= recall:
                high = middle
            else:
                low = middle + 1
        return low


def main(command, data, out, name, shares, presets, recall):
    """Measures the cells of one set and prints the medians."""
    runs = Runs(command, data, out, name)
    graph = runs.build("diskann", "20%")
    for share in shares.split(","):
        lists = {}
        for preset in presets.split(","):
            index = runs.build(preset, share, graph)
            lists[preset] = (index, runs.smallest_list(index, share, float(recall)))
        found = {}
        for _ in range(ROUNDS):
            for preset, (index, size) in lists.items():
                for tolerance in ("0", "0.01") if preset == "pageway" else ("0",):
                    for way, (threads, interleave) in WAYS.items():
                        result = runs.search(index, share, size, threads, interleave, tolerance)
                        key = (preset, tolerance, way)
                        found.setdefault(key, []).append(result)
                        record = {"index": index.name, "way": way, **result}
                        runs.records.write(json.dumps(record) + "\n")
        for (preset, tolerance, way), results in found.items():
            print(name, share, preset, tolerance, way, *(
                f"{key} {statistics.median(result[key] for result in results):.4g}"
                for key in ("list_size", "recall", "pages_per_query", "qps", "cpu_us_per_query")
            ), *(
                f"{key} {statistics.median(result['latency_us'][key] for result in results):.4g}"
                for key in ("mean", "p99")
            ), flush=True)  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
