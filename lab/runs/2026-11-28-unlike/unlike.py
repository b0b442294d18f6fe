"""Recall of queries unlike the rows, by two builds of the command.

    python unlike.py make CONTRACT BIN DIR SET... [FILE METRIC]   sets of suites/contract.py
    python unlike.py compare DIR BEFORE AFTER [K...]              a line for each cell

DIR holds one directory for each set: an index, and queries of each kind with their exact truth.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ASKED = (0.8, 0.9, 0.95, 0.99)


def make(contract, binary, place, names):
    sys.path.insert(0, str(Path(contract).parent))
    import contract as suite

    if len(names) == 2 and Path(names[0]).exists():
        file, metric = Path(names[0]), names[1]
        suite.SETS[file.stem] = lambda rng, n: suite.Set(metric, suite.drawn(rng, file, n))
        names, rows = [file.stem], 40_000
    else:
        rows = 20_000
    for name in names:
        asked = argparse.Namespace(
            bin=Path(binary), work=place, queries=1024, rows=rows, seed=1, preset="pageway"
        )
        trial = suite.Trial(asked, name, 20)
        trial.place = place / name
        trial.place.mkdir(parents=True)
        trial.index = trial.place / "index"
        base = trial.rows[:rows]
        trial.write("base", base)
        memory = int(base.nbytes * 0.2 + 1_500_000)
        build = ["build", "--data", trial.file("base"), "--out", trial.index]
        trial.run(*build, "--metric", trial.metric, "--memory", memory)
        for kind, queries in [("like", trial.queries), *trial.shifted.items()]:
            trial.write(kind, queries)
            truth = ["ground-truth", "--data", trial.file("base"), "-k", 100]
            truth += ["--queries", trial.file(kind), "--metric", trial.metric]
            command = [asked.bin, *truth, "--out", trial.place / f"{kind}.gt.ibin"]
            subprocess.run([str(word) for word in command], check=True, capture_output=True)


def searched(binary, place, kind, k, recall):
    queries = next(path for path in place.glob(f"{kind}.*bin") if ".gt." not in path.name)
    command = [binary, "search", place / "index", "--queries", queries, "-k", k, "--json"]
    command += ["--truth", place / f"{kind}.gt.ibin", "--recall", recall]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        return None
    told = json.loads(done.stdout)
    return {
        "got": round(told["recall"], 4),
        "expected": round(told["expected_recall"], 4),
        "unlike": round(told["unlike"], 3),
        "pages": round(told["pages_per_query"], 2),
        "codes": round(told["approximate_distances_per_query"]),
    }


def compare(place, binaries, ks):
    for own in sorted(path.parent for path in place.glob("*/index")):
        for truth in sorted(own.glob("*.gt.ibin")):
            kind = truth.name.split(".")[0]
            for k in ks:
                for recall in ASKED:
                    cells = [searched(binary, own, kind, k, recall) for binary in binaries]
                    cell = {"set": own.name, "queries": kind, "k": k, "asked": recall}
                    print(json.dumps(cell | dict(zip(("before", "after"), cells))), flush=True)


def summary(lines):
    cells = [cell for cell in map(json.loads, lines) if cell["before"] and cell["after"]]
    for own in sorted({(cell["set"], cell["queries"]) for cell in cells}):
        mine = [cell for cell in cells if (cell["set"], cell["queries"]) == own]
        row = [*own]
        for when in ("before", "after"):
            off = np.array([cell[when]["got"] - cell["asked"] for cell in mine])
            pages, codes = (np.mean([cell[when][what] for cell in mine]) for what in ("pages", "codes"))
            row += [f"{off.min():+.3f}", f"{(off < -0.005).sum()} of {len(off)}"]
            row += [f"{np.abs(off).mean():.3f}", f"{pages:.1f}", f"{codes:.0f}"]
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], Path(sys.argv[4]), sys.argv[5:])
    elif sys.argv[1] == "compare":
        compare(Path(sys.argv[2]), sys.argv[3:5], [int(k) for k in sys.argv[5:]] or [1, 2, 5, 10, 50])
    else:
        summary(Path(sys.argv[2]).read_text().splitlines())
