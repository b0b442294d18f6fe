"""Pages of designs on 200,000 of photo-sift-1m in little memory: little.py PAGEWAY BASE QUERIES TRUTH OUT > records

Published designs share the graph of one build of `diskann`; `pageway` has its own."""
import json
import pathlib
import subprocess
import sys

program, base, queries, truth, out = sys.argv[1:6]
LISTS = (10, 14, 16, 20, 24, 28, 34, 40, 48, 58, 70, 84, 100, 120, 144, 172, 206)


def run(*words):
    done = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(words)}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def build(preset, memory, *others):
    index = f"{out}/{preset}-{memory}"
    words = ("build", "--data", base, "--metric", "l2", "--preset", preset, "--memory", memory, "--out", index)
    return index if pathlib.Path(index).exists() or run(*words, *others) else None


graph = build("diskann", "20%")
for memory in ("10%", "5%"):
    for preset in ("pageway", "pageann", "starling", "gorgeous", "diskann", "aisaq", "pipeann"):
        own = () if preset == "pageway" else ("--graph-from", graph)
        index = build(preset, memory, *own)
        for size in LISTS if index else ():
            words = ("search", index, "--queries", queries, "--truth", truth, "-k", "10", "--list-size", str(size))
            found = run(*words, "--memory", memory)
            if found is None:
                break
            record = {"preset": preset, "memory": memory, "list_size": size}
            for key in ("recall", "recall_p5", "pages_per_query"):
                record[key] = found[key]
            print(json.dumps(record), flush=True)
            if found["recall"] > 0.992:
                break
