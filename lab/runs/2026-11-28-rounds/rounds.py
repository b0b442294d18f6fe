"""Pages and rounds of the design on disk, by how rounds of reads grow.

    python rounds.py PAGEWAY DATA WORK OUT

PAGEWAY is the program, DATA the directory of the vectors, WORK one for indexes, OUT a file of records. In DATA are, cut
from the set, the first 200,000 rows of photo-sift-1m, its first 2,000 queries, and the exact truth of both. Each way is
built, since it is part of the design, over one graph of each set. All counts.
"""
import json
import pathlib
import subprocess
import sys

program, data, work, out = sys.argv[1:5]
WAYS = {
    "5": ("overlapped", 5),
    "1": ("overlapped", 1),
    "doubling to 5": ("overlapped:doubling=true", 5),
    "doubling to 8": ("overlapped:doubling=true", 8),
    "doubling to 16": ("overlapped:doubling=true", 16),
}
SETS = {
    "photo-sift, 200,000": ("photo-sift-200k.u8bin", "photo-sift-2k.query.u8bin", "photo-sift-2k.gt.ibin", "l2", "10%"),
    "text-wordnet-80k": ("text-wordnet-80k.base.fbin", "text-wordnet.query.fbin", "text-wordnet-80k.gt.ibin", "cosine", "4%"),
    "photo-gist-24k": ("photo-gist-24k.base.fbin", "photo-gist.query.fbin", "photo-gist-24k.gt.ibin", "l2", "4%"),
}
GRAPH = ("--graph", "vamana:alpha=1.2,build_list=100,max_degree=48")
LISTS = (10, 12, 15, 19, 24, 30, 38, 48, 60, 76)


def run(*words):
    done = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    with open(out, "w") as records:
        for name, (base, queries, truth, metric, memory) in SETS.items():
            base, queries, truth = (pathlib.Path(data, file) for file in (base, queries, truth))
            graph = pathlib.Path(work, f"{name} graph")
            common = ("--data", base, "--metric", metric, "--calibration-queries", 0)
            if not graph.exists():
                run("build", *common, "--preset", "diskann", "--out", graph)
            for way, (schedule, beam) in WAYS.items():
                index = pathlib.Path(work, f"{name} {way}")
                if not index.exists():
                    design = ("--form", "on-disk", "--schedule", schedule, "--beam", beam, "--memory", memory)
                    run("build", *common, *GRAPH, *design, "--graph-from", graph, "--out", index)
                for size in LISTS:
                    asked = ("--truth", truth, "-k", 10, "--list-size", size, "--memory", memory, "--threads", 2)
                    found = run("search", index, "--queries", queries, *asked)
                    record = {"set": name, "memory": memory, "rounds_of": way, "list_size": size}
                    for key in ("recall", "recall_p5", "pages_per_query", "rounds_per_query"):
                        record[key] = found[key]
                    records.write(json.dumps(record) + "\n")
                    records.flush()


main()
