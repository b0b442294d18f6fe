"""Processor time of a query, opening, recall and pages of two builds in turns.

    python digits.py BEFORE AFTER DATA DIR > digits.jsonl

DATA holds the sets with their queries and exact neighbours; DIR keeps indexes of them, by default
builds, made by BEFORE where they are missing. Lists of one size; a process a line, one thread.
"""

import json
import subprocess
import sys
from pathlib import Path

SETS = {
    "gist": ("photo-gist-24k.base.fbin", "photo-gist.query.fbin", "photo-gist-24k.gt.ibin", "l2"),
    "text": ("text-wordnet-80k.base.fbin", "text-wordnet.query.fbin", "text-wordnet-80k.gt.ibin", "cosine"),
    "sift": ("photo-sift-1m.base.u8bin", "photo-sift.query.u8bin", "photo-sift-1m.gt.ibin", "l2"),
}
CELLS = (("gist", "2%", 12), ("gist", "5%", 12), ("gist", "10%", 12), ("gist", "20%", 12), ("gist", "30%", 12), ("text", "5%", 30), ("text", "10%", 30), ("text", "20%", 30), ("text", "30%", 30), ("sift", "10%", 30), ("sift", "20%", 30))
TURNS = 5


def main():
    builds = dict(zip(("before", "after"), sys.argv[1:3]))
    data, work = (Path(part) for part in sys.argv[3:5])
    for name, memory, size in CELLS:
        base, queries, truth, metric = SETS[name]
        index = work / f"{name}-{memory}"
        if not index.exists():
            wishes = ("--metric", metric, "--memory", memory, "--out", index)
            subprocess.run([builds["before"], "build", "--data", data / base, *wishes], check=True, capture_output=True)
        for turn in range(TURNS):
            for label, pageway in builds.items():
                wishes = ("-k", "10", "--list-size", str(size), "--memory", memory, "--threads", "1")
                against = ("--queries", data / queries, "--truth", data / truth, "--json")
                done = subprocess.run([pageway, "search", index, *wishes, *against], capture_output=True, text=True, check=True)
                found = json.loads(done.stdout)
                line = {"build": label, "set": name, "memory": memory, "list": size, "turn": turn}
                line |= {"cpu_us": round(found["cpu_us_per_query"], 1), "open_ms": round(found["open_ms"], 1)}
                line |= {"recall": round(found["recall"], 4), "pages": round(found["pages_per_query"], 3)}
                line |= {"codes": round(found["approximate_distances_per_query"], 1)}
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
