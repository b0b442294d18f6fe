"""Two builds and a published design on the same indexes, in turns, at recall@10 of .95.

    python turns.py BEFORE AFTER DATA OWN OTHERS > turns.jsonl

DATA holds the sets with their queries and exact neighbours; OWN has default builds, SET-PERCENT
each, and OTHERS those of `gorgeous`, SET-gorgeous-PERCENT. The shortest lists that reach the recall
are found, then all three are searched, three times: with one thread, with two, and one at a time.
"""

import json
import subprocess
import sys
from pathlib import Path

SETS = {"text-wordnet-80k": "text-wordnet.query.fbin", "photo-gist-24k": "photo-gist.query.fbin"}
MEMORIES = (20, 30)
MODES = ((1, 16), (2, 16), (1, 1))
RECALL, TURNS = 0.95, 3
KEPT = ("recall", "pages_per_query", "qps", "cpu_us_per_query", "approximate_distances_per_query")


def search(pageway, index, wishes, size, mode):
    """What a search reports."""
    threads, in_flight = map(str, mode)
    wishes = (*wishes, "--list-size", str(size), "--threads", threads, "--interleave", in_flight)
    command = [pageway, "search", index, "-k", "10", "--json", *wishes]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def shortest(pageway, index, wishes):
    """The shortest list that reaches the recall."""
    low, high = 4, 8
    while search(pageway, index, wishes, high, MODES[1])["recall"] < RECALL:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = search(pageway, index, wishes, middle, MODES[1])["recall"] >= RECALL
        low, high = (low, middle) if enough else (middle, high)
    return high


def main(before, after, data, own, others):
    for name, queries in SETS.items():
        for memory in MEMORIES:
            truth = Path(data) / f"{name}.gt.ibin"
            wishes = ("--queries", Path(data) / queries, "--truth", truth, "--memory", f"{memory}%")
            ours = Path(own) / f"{name}-{memory}"
            theirs = Path(others) / f"{name}-gorgeous-{memory}"
            cells = [
                ("before", before, ours, shortest(after, ours, wishes)),
                ("after", after, ours, shortest(after, ours, wishes)),
                ("gorgeous", after, theirs, shortest(after, theirs, wishes)),
            ]
            for mode in MODES:
                for turn in range(TURNS):
                    for label, pageway, index, size in cells:
                        found = search(pageway, index, wishes, size, mode)
                        line = {"set": name, "memory": memory, "build": label, "list": size}
                        line |= {"threads": mode[0], "in_flight": mode[1], "turn": turn}
                        line |= {key: round(found[key], 4) for key in KEPT}
                        line |= {key: round(found["latency_us"][key], 1) for key in ("mean", "p99")}
                        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
