"""Presets and forms built in little memory and in free memory: peak, recall and pages at equal lists.

    python3 forms.py --base photo-sift-1m.base.u8bin --queries photo-sift.query.u8bin \\
        --truth photo-sift-1m.gt.ibin --build-memory 66MB --work DIR --bin target/release

One line of JSON per build goes to standard output. Designs with lists take the graph over for the
build in free memory, where they can: that of a plain index, which is built once. Each index is
removed when it was searched. `--designs` names some of the table below.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

#: Preset, form and memory of searches.
DESIGNS = {
    "pageway-on-disk": ("pageway", "on-disk", "10%"),
    "pageway-clustered": ("pageway", "clustered", "20%"),
    "pageway-resident": ("pageway", "resident", "100%"),
    "diskann": ("diskann", None, "20%"),
    "starling": ("starling", None, "20%"),
    "gorgeous": ("gorgeous", None, "30%"),
    "pageann": ("pageann", None, "10%"),
    "dgai": ("dgai", None, "20%"),
    "pageann-disk": ("pageann-disk", None, "5%"),
    "pipeann": ("pipeann", None, "20%"),
    "aisaq": ("aisaq", None, "10%"),
    "freshdiskann": ("freshdiskann", None, "20%"),
    "odinann": ("odinann", None, "20%"),
    "ipdiskann": ("ipdiskann", None, "20%"),
}
LISTS = (30, 80)
TOLD = ("total_seconds", "cpu_seconds", "peak_memory_bytes", "temporary_bytes", "index_bytes", "shards")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("base", "queries", "truth", "work", "bin"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--build-memory", required=True)
    parser.add_argument("--build-list", default="100")
    parser.add_argument("--calibration-queries", default="100")
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS))
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    for name in asked.designs:
        for memory in (asked.build_memory, None):
            print(json.dumps(measure(asked, name, memory)), flush=True)


def measure(asked, name, build_memory):
    preset, form, memory = DESIGNS[name]
    index = asked.work / name
    words = ["--preset", preset, "--memory", memory, *(["--form", form] if form else [])]
    if build_memory is not None:
        words += ["--build-memory", build_memory]
    elif preset != "pageway":
        words += ["--graph-from", donor(asked)]
    record = {"design": name, "memory": memory, "build_memory": build_memory}
    try:
        report = build(asked, index, *words)
        record.update({key: report.get(key) for key in TOLD})
        record["searches"] = [search(asked, index, size) for size in LISTS]
    except subprocess.CalledProcessError as refused:
        record["refused"] = refused.stderr[-300:]
    shutil.rmtree(index, ignore_errors=True)
    return record


def donor(asked):
    """A plain index in free memory, whose graph is laid out anew."""
    index = asked.work / "donor"
    if not (index / "MANIFEST").exists():
        build(asked, index, "--preset", "diskann", "--memory", "20%")
    return index


def build(asked, index, *words):
    shared = ["--data", asked.base, "--out", index, "--metric", "l2", "--build-list", asked.build_list]
    return told(asked, "build", *shared, "--calibration-queries", asked.calibration_queries, *words)


def search(asked, index, size):
    shared = ["--index", index, "--queries", asked.queries, "--truth", asked.truth, "-k", 10]
    found = told(asked, "search", *shared, "--list-size", size, "--threads", 1)
    return {key: found.get(key) for key in ("list_size", "recall", "pages_per_query")}


def told(asked, *words):
    command = [str(asked.bin / "pageway"), *map(str, words), "--json"]
    print("+", *command, file=sys.stderr, flush=True)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
