"""Times exact neighbours and builds of two programs in turns, and measures what recall is got.

    python calibrate.py BEFORE AFTER DATA DIR > calibrate.jsonl

DATA holds the vectors as they are named below; DIR is for files that are made again.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS = 3
ASKED = (0.95,)
NEIGHBORS = (10, 200, 1000)
# Vectors, queries, metric; then rows of them, and memory or neighbours.
TEXT = ("text-wordnet-80k.base.fbin", "text-wordnet.query.fbin", "cosine")
IMAGES = ("photo-gist-24k.base.fbin", "photo-gist.query.fbin", "l2")
BYTES = ("photo-sift-1m.base.u8bin", "photo-sift.query.u8bin", "l2")
CELLS = [
    (*TEXT, 80_000, "10%"),
    (*TEXT, 80_000, "20%"),
    (*TEXT, 3_000, "20%"),
    (*IMAGES, 24_000, "10%"),
    (*IMAGES, 24_000, "20%"),
    (*BYTES, 100_000, "20%"),
]
TRUTHS = [
    *((*TEXT[:2], metric, 80_000, k) for metric in ("cosine", "l2", "ip") for k in (10, 100, 1000)),
    (*IMAGES, 24_000, 100),
    (*BYTES, 100_000, 100),
]


def run(program, *words):
    """The outcome of a command, or nothing where memory has no room for it."""
    done = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def cut(data, base, rows, directory):
    path = directory / f"{rows}-{base}"
    if not path.exists():
        subprocess.run([programs["after"], "slice", "-q", data / base, path, "--rows", f"0..{rows}"],
                       check=True, stdout=subprocess.DEVNULL)
    return path


def truth(program, rows, queries, metric, k, path):
    before = os.times()
    told = run(program, "ground-truth", "--data", rows, "--queries", queries, "--metric", metric,
               "-k", k, "--threads", 1, "--out", path)
    after = os.times()
    return told, after.children_user - before.children_user, path.read_bytes()


def main(data, directory):
    for base, queries, metric, count, k in TRUTHS:
        rows = cut(data, base, count, directory)
        found = {name: [] for name in programs}
        for _ in range(ROUNDS):
            for name, program in programs.items():
                path = directory / f"{name}.ibin"
                found[name].append(truth(program, rows, data / queries, metric, k, path)[1:])
        seconds = {name: round(statistics.median(own[0] for own in each), 3) for name, each in found.items()}
        same = len({own[1] for each in found.values() for own in each}) == 1
        print(json.dumps({"truth": base, "metric": metric, "k": k, "cpu_seconds": seconds, "same_bytes": same}), flush=True)
    for base, queries, metric, count, memory in CELLS:
        rows = cut(data, base, count, directory)
        told = directory / "truth.ibin"
        truth(programs["after"], rows, data / queries, metric, max(NEIGHBORS), told)
        spent = {name: [] for name in programs}
        for _ in range(ROUNDS):
            for name, program in programs.items():
                index = directory / name
                shutil.rmtree(index, ignore_errors=True)
                built = run(program, "build", "--data", rows, "--metric", metric, "--memory", memory,
                            "--recall", 0.95, "--out", index)
                spent[name].append((built["total_seconds"], dict(built["seconds"])["calibrate"], built["cpu_seconds"]))
        line = {"build": base, "rows": count, "memory": memory}
        for name, program in programs.items():
            line[name] = dict(zip(("seconds", "calibrate", "cpu_seconds"),
                                  (round(statistics.median(each), 2) for each in zip(*spent[name]))))
            got = {}
            for k in NEIGHBORS:
                for asked in ASKED:
                    answers = run(programs["after"], "search", directory / name, "--queries", data / queries,
                                  "-k", k, "--memory", memory, "--recall", asked, "--truth", told)
                    got[f"{k}/{asked}"] = answers and round(answers["recall"], 4)
            line[name]["recall"] = got
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    programs = {"before": sys.argv[1], "after": sys.argv[2]}
    main(Path(sys.argv[3]), Path(sys.argv[4]))
