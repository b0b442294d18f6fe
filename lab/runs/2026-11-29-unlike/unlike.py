"""Recall of made sets beside what was asked: unlike.py PAGEWAY LABEL DIR OUT.jsonl, the command line of a build, 512 queries."""
import json
import pathlib
import subprocess
import sys

import numpy as np

program, label, place, out = sys.argv[1:5]
place = pathlib.Path(place)
QUERIES, HELD = 512, 700


def bits():
    """Bits of 200 kinds of rows, and as queries of 50 other kinds."""
    rng = np.random.default_rng(17)
    own = (rng.random((200, 256)) < rng.beta(0.5, 0.5, (200, 256))) * 0.8 + 0.1
    other = (rng.random((50, 256)) < 0.4) * 0.8 + 0.1

    def draw(count, kinds):
        return (rng.random((count, 256)) < kinds[rng.integers(len(kinds), size=count)]).astype(np.uint8)

    rows = draw(36000 + HELD, own)
    return "u8bin", "l2", "20%", rows[HELD:], {"like": rows[:HELD], "other": draw(HELD, other)}


def lengths():
    """Products with rows of which one in a hundred is 3 to 10 times as long."""
    rng = np.random.default_rng(26)
    scale = np.arange(1, 97) ** -0.6
    middles = rng.standard_normal((300, 96))[rng.integers(300, size=20000 + HELD)]
    rows = (0.7 * middles + rng.standard_normal((20000 + HELD, 96))) * scale
    long = rng.random(len(rows)) < 0.01
    rows[long] *= rng.uniform(3, 10, (long.sum(), 1))
    rows = rows.astype(np.float32)
    return "fbin", "ip", "30%", rows[HELD:], {"like": rows[:HELD]}


def write(path, rows):
    with open(path, "wb") as file:
        np.array(rows.shape, np.uint32).tofile(file)
        np.ascontiguousarray(rows).tofile(file)


def run(*words):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True)


with open(out, "a") as records:
    for name, make in (("bits", bits), ("lengths", lengths)):
        end, metric, memory, base, kinds = make()
        data, index = place / f"{name}.{end}", place / f"{label}-{name}"
        write(data, base)
        run("build", "--data", data, "--metric", metric, "--memory", memory, "--out", index, "--quiet").check_returncode()
        for kind, rows in kinds.items():
            queries, truth = place / f"{name}.{kind}.{end}", place / f"{name}.{kind}.ibin"
            write(queries, rows[:QUERIES])
            asks = ("--data", data, "--queries", queries, "--metric", metric, "-k", 100, "--out", truth)
            run("ground-truth", *asks).check_returncode()
            for k in (1, 10, 30, 50, 100):
                for asked in (0.8, 0.9, 0.95, 0.99):
                    found = run("search", index, "--queries", queries, "--truth", truth, "-k", k, "--recall", asked, "--json")
                    cell = {"build": label, "set": name, "queries": kind, "k": k, "asked": asked}
                    if found.returncode:
                        cell["refused"] = found.stderr.strip()[-200:]
                    else:
                        told = json.loads(found.stdout)
                        cell |= {"got": told["recall"], "list": told["list_size"], "pages": told["pages_per_query"]}
                    print(json.dumps(cell), file=records, flush=True)
