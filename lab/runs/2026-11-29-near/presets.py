"""Recall and pages by two programs, of published designs that one of them built: presets.py BEFORE AFTER DIR OUT.jsonl. DIR is of ../2026-11-28-held/sets.py."""
import json
import pathlib
import subprocess
import sys

before, after, place, out = sys.argv[1:5]
KINDS = {"text": ("cosine", "fbin"), "gist": ("l2", "fbin"), "sift": ("l2", "u8bin")}


def run(program, *words):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True)


with open(out, "w") as records:
    for name, (metric, end) in KINDS.items():
        base = f"{place}/{name}.base.{end}"
        for preset in ("diskann", "starling", "pageann", "gorgeous"):
            index = f"{place}/{name}-{preset}"
            if not pathlib.Path(index).exists():
                wishes = ("--metric", metric, "--memory", "10%", "--preset", preset, "--quiet")
                run(after, "build", "--data", base, "--out", index, *wishes).check_returncode()
            for kind in ("like", "own"):
                queries = ("--queries", f"{place}/{name}.{kind}.{end}", "--truth", f"{place}/{name}.{kind}.gt.ibin")
                for asked in (0.8, 0.9, 0.95, 0.99):
                    for label, program in (("before", before), ("after", after)):
                        found = run(program, "search", index, *queries, "-k", 10, "--recall", asked, "--json")
                        found = json.loads(found.stdout) if found.returncode == 0 else {}
                        cell = {"program": label, "set": name, "preset": preset, "queries": kind, "asked": asked}
                        keys = ("recall", "pages_per_query", "list_size", "unlike")
                        print(json.dumps(cell | {key: found.get(key) for key in keys}), file=records, flush=True)
