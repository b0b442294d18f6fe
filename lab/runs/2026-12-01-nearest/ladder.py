"""Pages at recall@10 of .95 and .99, on the line between the two list sizes around each.

python ladder.py PAGEWAY QUERIES TRUTH MEMORY INDEX [INDEX ...] >> ladder.jsonl
"""

import json
import subprocess
import sys

LISTS = [4, 10, 14, 20, 25, 30, 35, 40, 50, 60, 80, 100, 140, 200, 300, 400, 600]
ASKED = (0.95, 0.99)


def search(pageway, queries, truth, memory, index, size, tolerance):
    words = ["--truth", truth, "-k", "10", "--memory", memory, "--json"]
    words += ["--list-size", str(size), "--tolerance", tolerance]
    command = [pageway, "search", index, "--queries", queries, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    found = found[0] if isinstance(found, list) else found
    return found["recall"], found["pages_per_query"]


def main():
    pageway, queries, truth, memory, *indexes = sys.argv[1:]
    for index in indexes:
        for tolerance in ("0", "0.01"):
            points = []
            for size in LISTS:
                points.append(search(pageway, queries, truth, memory, index, size, tolerance))
                if points[-1][0] >= ASKED[-1]:
                    break
            record = {"index": index.split("/")[-1], "memory": memory, "tolerance": tolerance}
            for asked in ASKED:
                around = [pair for pair in zip(points, points[1:]) if pair[0][0] < asked]
                (low, few), (high, many) = around[-1]
                is_reached = high >= asked
                pages = few + (many - few) * (asked - low) / (high - low) if is_reached else None
                record[f"pages_at_{asked}"] = pages and round(pages, 2)
            print(json.dumps(record), flush=True)


main()
