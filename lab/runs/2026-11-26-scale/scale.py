"""Builds of growing size in little memory: time, memory, disk, pages and recall, and what the
device model makes of a billion.

    python3 scale.py --base photo-sift-1m.base.u8bin --queries photo-sift.query.u8bin \
        --millions 1 3 10 30 --work DIR --bin target/release

Rows beyond those of the base are made (`pageway lab data grow`). One line of JSON per size goes to
standard output; a directory of work holds the set, its truth and the trace of its searches. The
index of a size is removed when it was measured. `--f16` grows floats and stores them as half floats.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

FOUND = ("recall", "list_size", "pages_per_query", "cpu_us_per_query", "qps")
ELEMENT_BYTES = {".u8bin": 1, ".i8bin": 1, ".fbin": 4, ".f16bin": 2}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--most-queries", type=int, default=1000)
    parser.add_argument("--millions", type=float, nargs="+", required=True)
    parser.add_argument("--build-memory", type=int, nargs="*", default=[], help="by size, bytes")
    parser.add_argument("--memory", default="10%")
    parser.add_argument("--recall", default="0.95")
    parser.add_argument("--f16", action="store_true")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--device", default="nvme-pcie4")
    parser.add_argument("--build", nargs=argparse.REMAINDER, default=[], help="more of the build")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    queries = asked.work / f"queries{asked.queries.suffix}"
    run(asked, "slice", asked.queries, queries, "--rows", f"0..{asked.most_queries}")
    traces = []
    for number, millions in enumerate(asked.millions):
        rows = round(millions * 1_000_000)
        # 64 MB and one in a hundred of the raw vectors.
        raw = rows * header(asked.base)[1] * ELEMENT_BYTES[asked.base.suffix]
        least = 64_000_000 + raw // (200 if asked.f16 else 100)
        memory = (asked.build_memory + [least] * len(asked.millions))[number]
        record = measure(asked, queries, (rows, memory), traces)
        print(json.dumps(record), flush=True)


def run(asked, *words):
    """Runs a command; what it said."""
    first = str(words[0])
    program, words = ("pageway-lab", words[1:]) if first == "lab" else ("pageway", words)
    command = [str(asked.bin / program), *map(str, words)]
    print("+", *command, file=sys.stderr, flush=True)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def told(asked, *words):
    return json.loads(run(asked, *words, "--json"))


def measure(asked, queries, size, traces):
    rows, memory = size
    base, name = asked.base, f"{rows}"
    data = rows_of(asked, rows)
    truth = asked.work / f"{name}.gt.ibin"
    if not truth.exists():
        searched = ["--data", data, "--queries", queries, "--metric", "l2"]
        run(asked, "ground-truth", *searched, "-k", 10, "--out", truth)
    row_bytes = header(data)[1] * ELEMENT_BYTES[base.suffix]
    raw = rows * row_bytes
    index = asked.work / f"{name}.index"
    build = ["--data", data, "--out", index, "--metric", "l2", "--memory", asked.memory]
    build += ["--build-memory", memory, "--recall", asked.recall]
    build += ["--store", "f16"] if asked.f16 else []
    report = told(asked, "build", *build, *asked.build)
    trace = asked.work / f"{name}.trace"
    search = ["--index", index, "--queries", queries, "--truth", truth, "-k", 10]
    search += ["--threads", 1, "--interleave", 1]
    found = told(asked, "search", *search, "--recall", asked.recall)
    size = enough(asked, search, float(asked.recall))
    told(asked, "search", *search, "--list-size", size, "--trace", trace)
    record = {
        "rows": rows,
        "made_rows": max(0, rows - header(base)[0]),
        "raw_bytes": raw,
        "build_memory": memory,
        "seconds": report["total_seconds"],
        "cpu_seconds": report["cpu_seconds"],
        "peak_memory_bytes": report["peak_memory_bytes"],
        "temporary_bytes": report["temporary_bytes"],
        "index_bytes": report["index_bytes"],
        "shards": report["shards"],
        "warnings": report["warnings"],
        "stages": report["seconds"],
        "search": {key: found.get(key) for key in FOUND},
        "list_for_recall": size,
    }
    traces.append(trace)
    if len(traces) > 1:
        others = [word for other in traces[:-1] for word in ("--growth", other)]
        asked_for = ["--trace", traces[-1], *others, "--rows", 10**9, "--device", asked.device]
        try:
            record["billion"] = told(asked, "lab", "predict", *asked_for)
        except (OSError, subprocess.CalledProcessError) as refused:
            record["billion"] = f"refused: {refused}"
    for file in index.iterdir():
        file.unlink()
    index.rmdir()
    return record


def enough(asked, search, recall):
    """The smallest list of a grid with this recall: what traces of several sizes are compared at."""
    size = 10
    while told(asked, "search", *search, "--list-size", size)["recall"] < recall and size < 5000:
        size = round(size * 1.15) + 1
    return size


def rows_of(asked, rows):
    """The file with so many rows: a cut of the base, or grown from it."""
    there = header(asked.base)[0]
    if rows == there:
        return asked.base
    data = asked.work / f"{rows}{asked.base.suffix}"
    if data.exists():
        return data
    if rows < there:
        run(asked, "slice", asked.base, data, "--rows", f"0..{rows}")
    else:
        run(asked, "lab", "data", "grow", asked.base, "--rows", rows, "--out", data)
    return data


def header(path):
    with open(path, "rb") as file:
        words = file.read(8)
    return int.from_bytes(words[:4], "little"), int.from_bytes(words[4:], "little")


if __name__ == "__main__":
    main()
