"""Pages and bytes of designs over vectors of a power of two dimensions, with two programs.

    python dimensions.py BEFORE AFTER BASE QUERIES DIR > dimensions.jsonl

BASE and QUERIES are float .fbin files of text embeddings; 20,000 rows and 500 queries of them are
turned into other dimensions by a random rotation or projection, with a little noise, and brought to
length 1. Counts only.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

DIMENSIONS = [128, 256, 384, 512, 768, 1024, 1536, 2048]
CELLS = [("pageway", "10%"), ("pageway", "20%"), ("gorgeous", "20%"), ("dgai", "20%")]
RECALLS = [0.9, 0.95, 0.99]


def read(path, count):
    rows, dimension = np.fromfile(path, np.uint32, 2)
    return np.fromfile(path, np.float32, offset=8).reshape(rows, dimension)[:count]


def write(path, rows):
    with open(path, "wb") as file:
        np.array(rows.shape, np.uint32).tofile(file)
        rows.astype(np.float32).tofile(file)


def turned(sets, dimension, random):
    own = sets[0].shape[1]
    if dimension < own:
        matrix = random.standard_normal((own, dimension)) / np.sqrt(dimension)
    else:
        matrix = np.linalg.qr(random.standard_normal((dimension, own)))[0].T
    for rows in sets:
        noise = random.standard_normal((len(rows), dimension)) * 0.2 / np.sqrt(dimension)
        rows = rows @ matrix + noise
        yield (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def run(*arguments):
    done = subprocess.run([str(one) for one in arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def cell(program, files, preset, memory, truth):
    base, queries, index = files
    chosen = [] if preset == "pageway" else ["--preset", preset]
    # The program of before reads no index of the one after.
    shutil.rmtree(index, ignore_errors=True)
    run(program, "build", "--data", base, "--metric", "cosine", "--memory", memory, "--out", index, *chosen)
    about = json.loads(run(program, "inspect", index, "--json"))
    record = {"disk_over_raw": round(about["index_bytes"] / about["raw_bytes"], 3), "vectors_per_page": about["vectors_per_page"], "pages_per_read": about["pages_per_read"]}
    for recall in RECALLS:
        out = index.with_suffix(".npy")
        told = json.loads(run(program, "search", index, "--queries", queries, "-k", "10", "--recall", recall, "--json", "--out", out))
        found = np.load(out)
        got = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, truth)])
        record[str(recall)] = {"recall": round(float(got), 4), "pages": round(told["pages_per_query"], 2), "reads": round(told["reads_per_query"], 2)}
    return record


def main():
    before, after, base, queries, place = sys.argv[1:]
    sets = read(base, 20_000), read(queries, 500)
    place = Path(place)
    place.mkdir(parents=True, exist_ok=True)
    for dimension in DIMENSIONS:
        rows, asked = turned(sets, dimension, np.random.default_rng(5))
        files = place / "base.fbin", place / "queries.fbin", place / "index"
        write(files[0], rows)
        write(files[1], asked)
        truth = np.argsort(-(asked @ rows.T), axis=1)[:, :10]
        for preset, memory in CELLS:
            for label, program in (("before", before), ("after", after)):
                told = {"dimension": dimension, "preset": preset, "memory": memory, "program": label}
                try:
                    told |= cell(program, files, preset, memory, truth)
                except RuntimeError as error:
                    told["error"] = str(error)
                print(json.dumps(told), flush=True)


main()
