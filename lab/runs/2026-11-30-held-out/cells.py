"""Recall beside what was asked, and pages, for rows that no build saw.

    python cells.py PAGEWAY DIR INDEXES K,K... > cells.jsonl

DIR is what split.py wrote; INDEXES keeps default builds, made where they are missing. A line for
each cell; exact answers.
"""

import json
import subprocess
import sys
from pathlib import Path

SETS = (("gist", "fbin", "l2"), ("text", "fbin", "cosine"), ("sift", "u8bin", "l2"))


def main():
    pageway, data, indexes = (Path(part) for part in sys.argv[1:4])
    indexes.mkdir(exist_ok=True)
    for name, suffix, metric in SETS:
        for memory in ("5%", "10%", "20%", "30%"):
            index = indexes / f"{name}-{memory}"
            if not index.exists():
                wishes = ("--metric", metric, "--memory", memory, "--out", index, "--json")
                made = [pageway, "build", "--data", data / f"{name}.base.{suffix}", *wishes]
                subprocess.run(made, check=True, capture_output=True)
            for k in sys.argv[4].split(","):
                for asked in ("0.8", "0.85", "0.9", "0.95", "0.99"):
                    wishes = ("-k", k, "--recall", asked, "--memory", memory, "--json")
                    inputs = ("--queries", data / f"{name}.query.{suffix}")
                    against = ("--truth", data / f"{name}.gt.ibin")
                    command = [pageway, "search", index, *wishes, *inputs, *against]
                    done = subprocess.run(command, capture_output=True, text=True)
                    line = {"set": name, "memory": memory, "k": int(k), "asked": float(asked)}
                    print(json.dumps(line | told(done)), flush=True)


def told(done):
    if done.returncode:
        return {"refused": done.stderr.strip()}
    found = json.loads(done.stdout)
    return {
        "recall": round(found["recall"], 4),
        "recall_p5": round(found["recall_p5"], 2),
        "pages": round(found["pages_per_query"], 1),
        "unlike": round(found["unlike"], 2),
    }


main()
