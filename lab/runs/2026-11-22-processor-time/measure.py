"""Processor time per query of two programs, in alternation.

    measure.py BEFORE AFTER FOLDER RECORDS

FOLDER holds the indexes and queries that CELLS names; RECORDS is written, a line per search.
"""

import json
import statistics
import subprocess
import sys

# Name, index, queries, list size, queries in flight.
CELLS = [
    ("text-clustered", "idx-text-pageway-clustered", "q2k-text.fbin", 60, 16),
    ("sift-clustered", "idx-sift-pageway-clustered", "q2k-sift.u8bin", 60, 16),
    ("text-resident-80k", "big-pageway-1", "q2k-text.fbin", 40, 16),
    ("sift-on-disk", "idx-sift-pageway-on-disk", "q2k-sift.u8bin", 25, 1),
    ("text-clustered-single", "idx-text-pageway-clustered", "q2k-text.fbin", 60, 1),
]
KEPT = (
    "cpu_us_per_query",
    "approximate_distances_per_query",
    "pages_per_query",
    "hops_per_query",
    "rounds_per_query",
    "list_size",
    "queries",
)
RUNS = 7


def search(program, folder, cell):
    _, index, queries, list_size, interleave = cell
    sizes = ["-k", "10", "--list-size", str(list_size), "--interleave", str(interleave), "--threads", "1"]
    command = [program, "search", "--index", index, "--queries", queries, *sizes, "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    return json.loads(done.stdout)


def main(before, after, folder, records):
    times = {cell[0]: {"before": [], "after": []} for cell in CELLS}
    with open(records, "w") as out:
        for run in range(RUNS):
            for cell in CELLS:
                sides = [("before", before), ("after", after)]
                for side, program in sides if run % 2 == 0 else sides[::-1]:
                    found = search(program, folder, cell)
                    kept = {key: found[key] for key in KEPT if key in found}
                    line = {"run": run, "cell": cell[0], "side": side, "interleave": cell[4], **kept}
                    out.write(json.dumps(line) + "\n")
                    times[cell[0]][side].append(found["cpu_us_per_query"])
    for name, of in times.items():
        ratio = statistics.median(b / a for a, b in zip(of["before"], of["after"]))
        medians = [statistics.median(of[side]) for side in ("before", "after")]
        print(name, *(f"{median:.0f}" for median in medians), f"{ratio:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:5])
