"""Medians of `gaps.jsonl`: python lab/runs/2026-11-26-gaps/table.py gaps.jsonl"""

import json
import statistics
import sys
from collections import defaultdict


def main(path: str) -> None:
    """Prints a line for each way and rate."""
    rows, way = defaultdict(list), ("", 0)
    with open(path, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "way" in line:
                way = (line["rate"], line["way"])
            elif line["what"] == "quiet":
                rows[way].append([line["call_us"]["p50"], line["call_us"]["p99"]])
            else:
                call, changes = line["call_us"], line["changes"]
                merge = [one for one in changes["background"] if one["work"] == "merge"]
                stage = ", ".join(f"{one['stage']} {one['done']}/{one['total']}" for one in merge)
                figures = [line["searches"], call["p50"], call["p90"], call["p99"]]
                figures += [round(line["inserts_per_second"]), line["insert_us"]["p99"]]
                rows[way][-1] += [*figures, changes["flushes"]]
                print(*way, rows[way][-1], stage, changes.get("latency"))
    for way, runs in sorted(rows.items()):
        full = [run for run in runs if len(run) > 2]
        print(*way, [statistics.median(figures) for figures in zip(*full)])


if __name__ == "__main__":
    main(sys.argv[1])
