"""What an update with its searches takes by policy, from the lines of policies.sh.

    python lab/runs/2026-11-26-joined/policies.py policies.jsonl
"""

import json
import sys

WORKLOADS = {
    "read-heavy": (1, 100.0),
    "balanced": (1, 10.0),
    "write-heavy": (1, 0.1),
    "delete-heavy": (9, 1.0),
}


def search(record):
    """Microseconds of a search with recall .95, between the measured lists around it."""
    rows = sorted((row["recall"], row["us"]) for row in record["recall"] if row["list"])
    for (low, cheap), (high, dear) in zip(rows, rows[1:]):
        if low <= 0.95 <= high:
            return cheap + (dear - cheap) * (0.95 - low) / max(high - low, 1e-9)
    return rows[0][1] if rows[0][0] > 0.95 else float("inf")


records = [json.loads(line) for line in open(sys.argv[1])]
costs = {}
for record in records:
    keys = record["keys"]
    update = 1e6 * record["cpu_seconds"] / record["since"]
    costs[keys["preset"], int(keys["deletes"])] = (update, search(record))
    print(f"{keys['preset']:13} {keys['deletes']} of 10 deletes: "
          f"{update:6.0f} us an update, {search(record):5.0f} us a search")
for name, (deletes, reads) in WORKLOADS.items():
    totals = {
        preset: update + reads * search
        for (preset, share), (update, search) in costs.items()
        if share == deletes
    }
    best = min(totals.values())
    line = ", ".join(f"{preset} {total / best:.2f}" for preset, total in totals.items())
    print(f"{name} ({deletes} of 10 deletes, {reads:g} searches an update), times the best: {line}")
