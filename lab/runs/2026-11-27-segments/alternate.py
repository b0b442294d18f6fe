"""Searches of indexes of several segments, before and after, in turns: lines of JSON.

    python lab/runs/2026-11-27-segments/alternate.py DATA WORK BEFORE AFTER [TURNS] > alternate.jsonl

DATA holds the sets unpacked; BEFORE and AFTER are `pageway`. Indexes are made by AFTER, once.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

DATA, WORK = Path(sys.argv[1]), Path(sys.argv[2])
WAYS = {"before": sys.argv[3], "after": sys.argv[4]}
TURNS = int(sys.argv[5]) if len(sys.argv) > 5 else 7
COUNTS = ("recall", "recall_p5", "approximate_distances_per_query", "pages_per_query")

SIFT = ("photo-sift-1m.base.u8bin", "photo-sift.query.u8bin", "l2")
TEXT = ("text-wordnet-80k.base.fbin", "text-wordnet.query.fbin", "cosine")
GIST = ("photo-gist-24k.base.fbin", "photo-gist.query.fbin", "l2")

# Name, set, design, share of memory, rows of each segment.
INDEXES = [
    ("sift, three small", SIFT, ["--form", "clustered"], 20, [800_000, 4096, 4096, 4096]),
    ("sift, one large and one small", SIFT, ["--form", "clustered"], 20, [800_000, 196_608, 3392]),
    ("text, three small", TEXT, ["--form", "resident"], 20, [64_000, 4000, 4000, 4000]),
    ("text, a fifth", TEXT, ["--form", "resident"], 20, [64_000, 16_000]),
    ("text, scanned", TEXT, ["--form", "clustered"], 10, [62_000, 15_000, 3000]),
    ("text, read from disk", TEXT, [], 3, [64_000, 4000, 4000, 4000]),
    ("text, diskann", TEXT, ["--preset", "diskann"], 10, [64_000, 4000, 4000, 4000]),
    ("gist, two", GIST, ["--form", "resident"], 20, [18_000, 4500, 1500]),
]


def run(*arguments: object) -> str:
    words = [str(one) for one in arguments]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def cut(rows: tuple[int, int], base: Path) -> Path:
    out = WORK / f"rows-{rows[0]}-{rows[1]}{base.suffix}"
    run(WAYS["after"], "slice", base, out, "--rows", f"{rows[0]}..{rows[1]}", "-q")
    return out


def make(
    index: Path, data: tuple[str, str, str], design: list[str], share: int, counts: list[int]
) -> Path:
    base, queries, metric = DATA / data[0], DATA / data[1], data[2]
    truth = index.with_suffix(".ibin")
    few = index.with_suffix(queries.suffix)
    if not truth.exists():
        first = 0
        for count in counts:
            part = cut((first, first + count), base)
            if first == 0:
                wishes = ("--metric", metric, "--memory", f"{share}%", *design)
                run(WAYS["after"], "build", "--data", part, "--out", index, *wishes, "-q")
            else:
                wishes = ("--update-memory", "256MB")
                run(WAYS["after"], "insert", index, "--data", part, *wishes, "-q")
            part.unlink()
            first += count
        every = cut((0, first), base)
        run(WAYS["after"], "slice", queries, few, "--rows", "0..2000", "-q")
        exact = ("ground-truth", "--data", every, "--queries", few, "--metric", metric)
        run(WAYS["after"], *exact, "-k", 10, "--out", truth, "-q")
        every.unlink()
    return few


def search(way: str, index: Path, few: Path, share: int, recall: float) -> dict[str, float]:
    wishes = ("--memory", f"{share}%", "--recall", recall, "--threads", 1, "--interleave", 1)
    about = ("--queries", few, "--truth", index.with_suffix(".ibin"), *wishes)
    out = run(WAYS[way], "search", index, *about, "--json")
    return json.loads(out.splitlines()[0])


for name, data, design, share, counts in INDEXES:
    index = WORK / name.replace(",", "").replace(" ", "-")
    few = make(index, data, design, share, counts)
    for recall in (0.9, 0.95, 0.99):
        found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        try:
            for turn in range(TURNS):
                for way in sorted(WAYS, reverse=turn % 2 == 0):
                    found[way].append(search(way, index, few, share, recall))
        except subprocess.CalledProcessError:
            print(json.dumps({"index": name, "asked": recall, "refused": True}))
            continue
        for way, own in found.items():
            line = {"index": name, "segments": counts, "memory": share, "asked": recall, "way": way}
            line |= {key: own[0][key] for key in COUNTS}
            line["latency_us"] = statistics.median(one["latency_us"]["mean"] for one in own)
            line["cpu_us"] = statistics.median(one["cpu_us_per_query"] for one in own)
            print(json.dumps(line), flush=True)
