"""One query at a time, before and after, in pairs of runs that take turns.

    python pairs.py BEFORE AFTER DATA OUT ROUNDS [SET:MEMORY[:TOLERANCE] ...]

BEFORE and AFTER are commands of two commits; DATA holds SET.base.*, the queries and SET.gt.ibin. The
default is built for each MEMORY in OUT by AFTER and searched by both, ROUNDS times each, for a
recall of .95 and exact answers, or such as are off by a share TOLERANCE of their distance. Every
search is a line of OUT/pairs.jsonl; medians are printed, and the median of the ratios of the pairs,
which a machine whose speed drifts moves least.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

SETS = {
    "text-wordnet-80k": ("fbin", "text-wordnet.query.fbin", "cosine"),
    "photo-gist-24k": ("fbin", "photo-gist.query.fbin", "l2"),
    "photo-sift-1m": ("u8bin", "photo-sift.query.u8bin", "l2"),
}
CELLS = [f"text-wordnet-80k:{memory}" for memory in ("10%", "20%", "30%")]
CELLS += ["photo-gist-24k:20%", "photo-gist-24k:30%", "photo-sift-1m:20%"]
FIGURES = {
    "mean us": lambda one: one["latency_us"]["mean"],
    "p99 us": lambda one: one["latency_us"]["p99"],
    "processor us": lambda one: one["cpu_us_per_query"],
}
COUNTS = ("pages_per_query", "recall", "approximate_distances_per_query")


def run(command, *arguments):
    """What the command prints as JSON."""
    words = [str(word) for word in (command, *arguments, "--json")]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def compare(commands, data, out, rounds, cell):
    """Alternates in one cell; prints a line."""
    name, memory, *tolerance = cell.split(":")
    extension, queries, metric = SETS[name]
    index = out / f"{name}.{memory}"
    if not index.exists():
        base = data / f"{name}.base.{extension}"
        run(
            commands["after"], "build", "--data", base, "--metric", metric, "--memory", memory,
            "--out", index,
        )  # fmt: skip
    arguments = (
        "search", index, "--queries", data / queries, "--truth", data / f"{name}.gt.ibin",
        "--recall", 0.95, "--threads", 1, "--interleave", 1, "--tolerance", *(tolerance or [0]),
    )  # fmt: skip
    found = {side: [] for side in commands}
    with open(out / "pairs.jsonl", "a", encoding="utf-8") as records:
        for turn in range(rounds):
            for side in sorted(commands, reverse=turn % 2 == 0):
                one = run(commands[side], *arguments)
                found[side].append(one)
                records.write(json.dumps({"cell": cell, "side": side, **one}) + "\n")
    words = [cell]
    for figure, of in FIGURES.items():
        before, after = ([of(one) for one in found[side]] for side in ("before", "after"))
        ratio = statistics.median(late / early for early, late in zip(before, after))
        medians = f"{statistics.median(before):.0f} -> {statistics.median(after):.0f}"
        words.append(f"{figure} {medians} x{ratio:.2f}")
    for key in COUNTS:
        words.append(f"{key} " + " -> ".join(f"{found[side][0][key]:.4g}" for side in ("before", "after")))
    print(" | ".join(words), flush=True)


def main(before, after, data, out, rounds, *cells):
    """Compares in every cell."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for cell in cells or CELLS:
        compare({"before": before, "after": after}, Path(data), out, int(rounds), cell)


if __name__ == "__main__":
    main(*sys.argv[1:])
