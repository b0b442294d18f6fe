"""Recall asked and got of three sets in four memories: sixty cells.

    python cells.py PAGEWAY DATA OUT [SET ...]

Default builds without sample queries, all queries of the set, k 10, 5, 10, 20 and 30 % of the raw
rows, asked .80, .90, .95, .98 and .99. A line of OUT/cells.jsonl for each; a summary is printed.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

SETS = {
    "text-wordnet-80k": ("fbin", "text-wordnet.query.fbin"),
    "photo-gist-24k": ("fbin", "photo-gist.query.fbin"),
    "photo-sift-1m": ("u8bin", "photo-sift.query.u8bin"),
}
MEMORIES = ("5%", "10%", "20%", "30%")
ASKED = (0.8, 0.9, 0.95, 0.98, 0.99)


def run(command, *words):
    done = subprocess.run([command, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main(command, data, out, *names):
    data, out = Path(data), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    off = []
    with (out / "cells.jsonl").open("a") as records:
        for name in names or SETS:
            extension, queries = SETS[name]
            for memory in MEMORIES:
                index = out / f"{name}.{memory}"
                run(command, "build", "--data", data / f"{name}.base.{extension}", "--metric", "l2",
                    "--memory", memory, "--out", index)  # fmt: skip
                for recall in ASKED:
                    told = run(command, "search", index, "--queries", data / queries, "-k", 10,
                               "--recall", recall, "--truth", data / f"{name}.gt.ibin",
                               "--threads", 2)  # fmt: skip
                    cell = {"set": name, "memory": memory, "asked": recall, "got": told["recall"],
                            "got_p5": told["recall_p5"], "pages": told["pages_per_query"],
                            "unlike": told["unlike"]}  # fmt: skip
                    records.write(json.dumps(cell) + "\n")
                    off.append(told["recall"] - recall)
                    print(" ".join(map(str, cell.values())), flush=True)
                shutil.rmtree(index)
    mean = sum(map(abs, off)) / len(off)
    print(f"{len(off)} cells: {min(off):+.4f} to {max(off):+.4f}, mean of absolute {mean:.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
