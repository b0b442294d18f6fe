"""Queries per second and latency of the default against a published preset, in turns.

    python measure.py PAGEWAY DATA OUT SET MEMORY[:PRESET] [MEMORY[:PRESET] ...]

PAGEWAY is the command; DATA holds SET.base.*, the queries and SET.gt.ibin. For each MEMORY the
default and PRESET (the one that read fewest pages in the runs before, where none is given) are
built in OUT, the list size of either that gets recall@10 of .95 is found, and both are searched in
turns, ROUNDS times, for exact answers: with 1 and 2 threads and 16 queries in flight, and one query
at a time. Every search goes to OUT/SET.speed.jsonl with its command; medians are printed.
"""

import json
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

RECALL = 0.95
ROUNDS = 5
LONGEST = 4000
MODES = {"1 thread": (1, 16), "2 threads": (2, 16), "one at a time": (1, 1)}
SETS = {
    "text-wordnet-80k": ("fbin", "text-wordnet.query.fbin"),
    "photo-gist-24k": ("fbin", "photo-gist.query.fbin"),
    "photo-sift-1m": ("u8bin", "photo-sift.query.u8bin"),
}
BEST = {"5%": "pageann", "10%": "gorgeous", "20%": "gorgeous", "30%": "gorgeous"}


class Cell:
    """A set in a memory: two indexes, and what is found in them."""

    def __init__(self, command, data, out, name):
        self.command, self.data, self.out, self.name = command, data, out, name
        extension, queries = SETS[name]
        self.base, self.queries = data / f"{name}.base.{extension}", data / queries
        self.records = open(out / f"{name}.speed.jsonl", "a", encoding="utf-8")

    def run(self, *arguments):
        """What the command prints as JSON, and the processor time that it took."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [self.command, *map(str, arguments), "--json"], capture_output=True, text=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return json.loads(done.stdout), spent

    def build(self, preset, memory):
        """Builds an index, a preset over the graph of the first build of all."""
        graph = self.out / f"{self.name}.graph"
        index = self.out / f"{self.name}.{preset}.{memory}"
        # The default has a graph of its own.
        is_shared = graph.exists() and preset != "pageway"
        shared = ("--graph-from", graph) if is_shared else ()
        if index.exists():
            shutil.rmtree(index)
        self.run(
            "build", "--data", self.base, "--metric", "l2", "--preset", preset, "--memory", memory,
            "--degree", 32, "--build-list", 100, "--out", index, *shared,
        )  # fmt: skip
        return index

    def search(self, index, size, threads, interleave):
        """One search for exact answers; its report."""
        memory = index.name.rsplit(".", 1)[1]
        arguments = (
            "search", index, "--queries", self.queries, "-k", 10, "--memory", memory,
            "--truth", self.data / f"{self.name}.gt.ibin", "--list-size", size,
            "--threads", threads, "--interleave", interleave,
        )  # fmt: skip
        found, spent = self.run(*arguments)
        command = " ".join(map(str, arguments))
        command = command.replace(f"{self.data}/", "").replace(f"{self.out}/", "")
        record = {"index": index.name, "command": command, "processor_seconds": spent, **found}
        self.records.write(json.dumps(record) + "\n")
        self.records.flush()
        return found

    def list_size(self, index):
        """The shortest list that reaches the recall."""
        low, high = 9, 10
        while self.search(index, high, 2, 16)["recall"] < RECALL:
            low, high = high, 2 * high
            if high > LONGEST:
                raise SystemExit(f"{index.name}: no list up to {LONGEST} reaches {RECALL}")
        while high - low > 1:
            middle = (low + high) // 2
            if self.search(index, middle, 2, 16)["recall"] < RECALL:
                low = middle
            else:
                high = middle
        return high

    def compare(self, memory, preset):
        """Builds both, searches in turns, prints a row for each mode."""
        graph = self.out / f"{self.name}.graph"
        if not graph.exists():
            self.build("diskann", "20%").rename(graph)
        indexes = [self.build(own, memory) for own in ("pageway", preset)]
        sizes = [self.list_size(index) for index in indexes]
        for mode, (threads, interleave) in MODES.items():
            found = [[], []]
            for _ in range(ROUNDS):
                for own, index, size in zip(found, indexes, sizes):
                    own.append(self.search(index, size, threads, interleave))
            print(self.row(memory, preset, mode, sizes, found), flush=True)
        for index in indexes:
            shutil.rmtree(index)

    def row(self, memory, preset, mode, sizes, found):
        """Medians of both, and their ratios."""
        def median(own, key):
            return statistics.median(key(one) for one in own)

        keys = {
            "qps": lambda one: one["qps"],
            "mean us": lambda one: one["latency_us"]["mean"],
            "p99 us": lambda one: one["latency_us"]["p99"],
        }
        ours, theirs = found
        cells = [
            f"{name} {median(ours, key):.0f} / {median(theirs, key):.0f}"
            f" = {median(ours, key) / median(theirs, key):.2f}"
            for name, key in keys.items()
        ]
        about = f"lists {sizes[0]} / {sizes[1]}, recall {ours[0]['recall']} / {theirs[0]['recall']}"
        pages = f"pages {ours[0]['pages_per_query']:.1f} / {theirs[0]['pages_per_query']:.1f}"
        title = f"{self.name} {memory} pageway / {preset}, {mode}"
        return " | ".join([title, *cells, pages, about])


def main(command, data, out, name, *cells):
    """Compares in every memory."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        memory, _, preset = cell.partition(":")
        Cell(command, Path(data), out, name).compare(memory, preset or BEST.get(memory, "gorgeous"))


if __name__ == "__main__":
    main(*sys.argv[1:])
