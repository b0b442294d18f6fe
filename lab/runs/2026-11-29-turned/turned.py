"""Queries a second, and seconds of encoding, of two programs over long vectors, in turns.

    python turned.py BEFORE AFTER DATA DIR > turned.jsonl

DATA holds text-wordnet and photo-gist unpacked. Vectors of 1,024 and 1,536 dimensions are the first
20,000 of text by a random projection beside cosines of another, so that variances fall slowly. Each
program builds by itself; the list is the shortest of the program before that finds .95 of ten, by
exact truth of its own.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROUNDS = 5
MEMORIES = ("10%", "20%", "30%")
MODES = {"1 thread": (1, 16), "2 threads": (2, 16), "one at a time": (1, 1)}


def read(path, count):
    rows, dimension = np.fromfile(path, np.uint32, 2)
    return np.fromfile(path, np.float32, offset=8).reshape(rows, dimension)[:count]


def write(path, rows):
    with open(path, "wb") as file:
        np.array(rows.shape, np.uint32).tofile(file)
        rows.astype(np.float32).tofile(file)
    return path


def longer(sets, dimension):
    random = np.random.default_rng(1)
    own = sets[0].shape[1]
    matrices = random.standard_normal((2, own, dimension)).astype(np.float32)
    phases = random.uniform(0, 2 * np.pi, dimension).astype(np.float32)
    for rows in sets:
        rows = rows @ matrices[0] / np.sqrt(own) + 1.2 / np.sqrt(dimension) * np.cos(1.5 * rows @ matrices[1] + phases)
        yield rows / np.linalg.norm(rows, axis=1, keepdims=True)


def run(*arguments):
    done = subprocess.run([str(one) for one in arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    return done.stdout


def search(program, index, files, memory, size, mode):
    threads, interleave = MODES[mode]
    return json.loads(run(
        program, "search", index, "--queries", files["queries"], "-k", 10, "--memory", memory, "--truth", files["truth"],
        "--list-size", size, "--threads", threads, "--interleave", interleave, "--json",
    ))  # fmt: skip


def shortest(program, index, files, memory):
    low, high = 9, 10
    found = lambda size: search(program, index, files, memory, size, "2 threads")["recall"]
    while found(high) < 0.95:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if found(middle) < 0.95 else (low, middle)
    return high


def cell(programs, name, files, metric, memory, directory):
    indexes = {}
    for program, path in programs.items():
        indexes[program] = directory / f"{program}.index"
        shutil.rmtree(indexes[program], ignore_errors=True)
        built = json.loads(run(
            path, "build", "--data", files["base"], "--metric", metric, "--memory", memory, "--out", indexes[program], "--json",
        ))  # fmt: skip
        print(json.dumps({"set": name, "memory": memory, "program": program, "code_bytes": built["code_bytes"],
            "cpu_seconds": built["cpu_seconds"], "seconds": dict(built["seconds"])}), flush=True)  # fmt: skip
    size = shortest(programs["before"], indexes["before"], files, memory)
    for mode in MODES:
        for _ in range(ROUNDS):
            for program, path in programs.items():
                one = search(path, indexes[program], files, memory, size, mode)
                keys = ("qps", "cpu_us_per_query", "pages_per_query", "recall", "interleave")
                record = {"set": name, "memory": memory, "program": program, "mode": mode, "list_size": size}
                print(json.dumps({**record, **{key: one[key] for key in keys}, "mean_us": one["latency_us"]["mean"]}), flush=True)


def compare(programs, sets, directory):
    """Cells of each set: its file, queries, metric and memories."""
    for name, (path, asked, metric, memories) in sets.items():
        files = {"base": path, "queries": write(directory / "queries.fbin", np.tile(asked, (4, 1))), "truth": directory / "truth.ibin"}
        run(programs["after"], "ground-truth", "--data", path, "--queries", files["queries"], "--metric", metric, "-k", 10, "--out", files["truth"])
        for memory in memories:
            cell(programs, name, files, metric, memory, directory)


def main(before, after, data, directory):
    data, directory = Path(data), Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    programs = {"before": before, "after": after}
    base, queries = read(data / "text-wordnet-80k.base.fbin", 20_000), read(data / "text-wordnet.query.fbin", 1000)
    sets = {
        "photo-gist": (data / "photo-gist-24k.base.fbin", read(data / "photo-gist.query.fbin", 1000), "l2", MEMORIES),
        "text-wordnet": (data / "text-wordnet-80k.base.fbin", queries, "cosine", MEMORIES),
    }
    for dimension in (1024, 1536):
        rows, asked = longer([base, queries], dimension)
        sets[f"text of {dimension}"] = (write(directory / f"{dimension}.fbin", rows), asked, "cosine", MEMORIES)
    compare(programs, sets, directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
