"""Recall and pages of the default design by two programs, at the same list sizes.

python pages.py BEFORE AFTER DATA DIR OUT

BEFORE and AFTER are commands of pageway, DATA the directory of the sets, DIR takes the indexes
(those that are there are not built again), OUT the records, one line for each.
"""

import json
import subprocess
import sys
from pathlib import Path

SETS = {
    "text-wordnet-80k": ("text-wordnet-80k.base.fbin", "text-wordnet.query.fbin"),
    "photo-gist-24k": ("photo-gist-24k.base.fbin", "photo-gist.query.fbin"),
    "photo-sift-1m": ("photo-sift-1m.base.u8bin", "photo-sift.query.u8bin"),
}
# photo-sift at 5 and 10 % has pages that are nodes, which nothing changed.
MEMORY = {"text-wordnet-80k": (5, 10, 20, 30), "photo-gist-24k": (5, 10, 20, 30)}
MEMORY["photo-sift-1m"] = (20, 30)
LISTS = (20, 30, 60, 100, 200)


def run(*words):
    done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def build(program, base, index, memory):
    report = index.with_suffix(".json")
    if not report.exists():
        words = ["--metric", "l2", "--memory", f"{memory}%", "--json"]
        made = run(program, "build", "--data", base, "--out", index, *words)
        report.write_text(json.dumps(made))
    return json.loads(report.read_text())


def main():
    before, after, data, indexes, out = map(Path, sys.argv[1:])
    with out.open("w") as records:
        for name, (base, queries) in SETS.items():
            for memory in MEMORY[name]:
                for side, program in (("before", before), ("after", after)):
                    index = indexes / side / f"{name}-{memory}"
                    index.parent.mkdir(parents=True, exist_ok=True)
                    made = build(program, data / base, index, memory)
                    for size in LISTS:
                        words = ["--truth", data / f"{name}.gt.ibin", "-k", 10, "--json"]
                        words += ["--queries", data / queries, "--list-size", size]
                        found = run(after, "search", index, *words)
                        found = found[0] if isinstance(found, list) else found
                        record = {
                            "set": name,
                            "memory": memory,
                            "side": side,
                            "list_size": size,
                            "recall": found["recall"],
                            "pages": found["pages_per_query"],
                            "build_cpu_seconds": made["cpu_seconds"],
                        }
                        records.write(json.dumps(record) + "\n")
                        records.flush()


main()
