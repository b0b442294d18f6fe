"""Builds every preset over one graph, and measures reads, recall and speed.

    python measure.py PAGEWAY DATA WORK > results.jsonl

PAGEWAY is the command, DATA the folder with photo-sift-1m and text-wordnet-80k as plain big-ann files,
WORK a folder for indexes. Graph (R 48, list 128) and codebook (32 bytes) of photo-sift-1m are built once,
by `diskann`, and laid out anew for the others, as in the published comparison. Nothing is cached unless a
row says so. One line of JSON per search.
"""

import json
import pathlib
import subprocess
import sys

SIFT = {
    "base": "photo-sift-1m.base.u8bin",
    "queries": "photo-sift.query.u8bin",
    "truth": "photo-sift-1m.gt.ibin",
    "build": ["--code-bytes", "32", "--build-list", "128"],
}
WORDNET = {
    "base": "text-wordnet-80k.base.fbin",
    "queries": "text-wordnet.query.fbin",
    "truth": "text-wordnet-80k.gt.ibin",
    "build": ["--code-bytes", "96"],
}
UNCACHED = ["--cache-nodes", "none", "--cache-pages", "none"]

# name, preset, further build flags, memory, list sizes
SIFT_ROWS = [
    ("diskann", "diskann", UNCACHED, "45%", (20, 28, 30, 31, 32, 80)),
    ("starling", "starling", [], "45%", (16, 18, 19, 20, 30)),
    ("pageann", "pageann", UNCACHED, "45%", (10, 18, 20, 21, 30)),
    ("pipeann", "pipeann", [], "45%", (20, 25, 26, 28, 30)),
    ("aisaq", "aisaq", [], "10%", (20, 28, 30, 31, 32, 80)),
    ("gorgeous", "gorgeous", [], "45%", (30, 40, 50)),
    ("dgai", "dgai", [], "45%", (40, 60, 80)),
    ("pageann 0 %", "pageann-disk", UNCACHED, "3MB", (25, 30, 35)),
    ("pageann 5 %", "pageann", UNCACHED, "5%", (22, 25, 30)),
    ("pageann 10 %", "pageann", UNCACHED, "10%", (20, 22, 25)),
    ("pageann 20 %", "pageann", UNCACHED, "20%", (18, 20, 22)),
    ("pageann 30 %", "pageann", UNCACHED, "30%", (18, 20, 22)),
]
WORDNET_ROWS = [
    ("diskann", "diskann", [], "20%", (20, 25, 30, 40)),
    ("starling", "starling", [], "20%", (15, 20, 25, 30)),
    ("gorgeous", "gorgeous", [], "20%", (30, 35, 40, 50)),
]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def build(pageway, data, work, rows, options):
    first = None
    for name, preset, flags, memory, _ in rows:
        index = work / name.replace(" ", "-")
        shared = ["--graph-from", first, "--codebook-from", first] if first else []
        if preset == "dgai":
            # Its first code is half as long as those of the others.
            shared = shared[:2]
        run([pageway, "build", "--data", data / options["base"], "--out", index, "--metric", "l2",
             "--preset", preset, "--memory", memory, *options["build"], *flags, *shared, "--quiet"])
        first = first or index


def search(pageway, data, work, row, options, how):
    name, preset, _, _, lists = row
    for list_size in lists:
        found = json.loads(run([
            pageway, "search", "--index", work / name.replace(" ", "-"),
            "--queries", data / options["queries"], "--truth", data / options["truth"],
            "-k", "10", "--list-size", str(list_size), "--threads", "1", "--json", *how]))
        keep = ("list_size", "beam", "interleave", "recall", "pages_per_query", "rounds_per_query",
                "cache_hits_per_query", "qps", "latency_us", "peak_memory_bytes", "memory_budget_bytes")
        print(json.dumps({"data": options["base"], "name": name, "preset": preset,
                          **{key: found[key] for key in keep}}), flush=True)


def main(pageway, data, work):
    data, work = pathlib.Path(data), pathlib.Path(work)
    for rows, options, folder in ((SIFT_ROWS, SIFT, "sift"), (WORDNET_ROWS, WORDNET, "wordnet")):
        place = work / folder
        if not place.exists():
            place.mkdir(parents=True)
            build(pageway, data, place, rows, options)
        for row in rows:
            for how in (["--interleave", "1"], ["--interleave", "16"]):
                search(pageway, data, place, row, options, how)


if __name__ == "__main__":
    main(*sys.argv[1:4])
