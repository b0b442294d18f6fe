"""Recall beside what was asked, for a few neighbours, of default builds.

    python measure.py BIN DATA OUT.jsonl [SETS] [MEMORIES] [SEEDS]

DATA holds SET.base.EXT, SET.like.EXT (rows that are not in base), SET.own.EXT (the set's queries)
and their truths SET.like.gt.ibin and SET.own.gt.ibin.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

METRICS = {"text": ("cosine", "fbin"), "gist": ("l2", "fbin"), "sift": ("l2", "u8bin")}
ASKED = (0.8, 0.9, 0.95, 0.99)
NEIGHBORS = (1, 2, 5, 10, 50)


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    return done.stdout


def cells(binary, data, name, memory, seed):
    metric, ext = METRICS[name]
    with tempfile.TemporaryDirectory() as place:
        index = Path(place) / "index"
        base = data / f"{name}.base.{ext}"
        wishes = ("--metric", metric, "--memory", memory, "--seed", seed, "--quiet")
        run(binary, "build", "--data", base, "--out", index, *wishes)
        for kind in ("like", "own"):
            files = ("--queries", data / f"{name}.{kind}.{ext}")
            files += ("--truth", data / f"{name}.{kind}.gt.ibin")
            for k in NEIGHBORS:
                for asked in ASKED:
                    wish = ("-k", k, "--recall", asked, "--json")
                    found = json.loads(run(binary, "search", index, *files, *wish))
                    yield {
                        "set": name,
                        "mem": memory,
                        "seed": seed,
                        "q": kind,
                        "k": k,
                        "asked": asked,
                        "got": found["recall"],
                        "exp": found["expected_recall"],
                        "pages": found["pages_per_query"],
                        "hops": found["hops_per_query"],
                        "L": found["list_size"],
                    }


def main(binary, data, out, sets="text,gist,sift", memories="20%,10%", seeds="1,2"):
    with Path(out).open("a") as records:
        for name in sets.split(","):
            for memory in memories.split(","):
                for seed in seeds.split(","):
                    for cell in cells(binary, Path(data), name, memory, seed):
                        print(json.dumps(cell), file=records, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
