"""Recall beside what was asked: cells.py PAGEWAY DIR LABEL OUT.jsonl [SETS] [MEMORIES]. DIR is of sets.py, with truths (SET.KIND.gt.ibin)."""
import json
import pathlib
import subprocess
import sys

program, place, label, out = sys.argv[1:5]
sets, memories = (sys.argv[5:7] + ["sift,gist,text", "20%,10%"][len(sys.argv) - 5 :])[:2]
KINDS = {"text": ("cosine", "fbin"), "gist": ("l2", "fbin"), "sift": ("l2", "u8bin")}


def run(*words):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True)


with open(out, "a") as records:
    for name in sets.split(","):
        metric, end = KINDS[name]
        for memory in memories.split(","):
            index = f"{place}/{label}-{name}-{memory.strip('%')}"
            if not pathlib.Path(index).exists():
                wishes = ("--metric", metric, "--memory", memory, "--quiet")
                run("build", "--data", f"{place}/{name}.base.{end}", "--out", index, *wishes).check_returncode()
            for kind in ("like", "own", "between"):
                asks = ("--queries", f"{place}/{name}.{kind}.{end}", "--truth", f"{place}/{name}.{kind}.gt.ibin")
                for k in (1, 2, 5, 10, 50):
                    for asked in (0.8, 0.9, 0.95, 0.98, 0.99):
                        found = run("search", index, *asks, "-k", k, "--recall", asked, "--json", "--threads", 2)
                        if found.returncode:
                            print(name, memory, kind, k, asked, found.stderr.strip()[-150:], file=sys.stderr)
                            continue
                        found = json.loads(found.stdout)
                        cell = {"bin": label, "set": name, "mem": memory, "q": kind, "k": k, "asked": asked}
                        cell |= {"got": found["recall"], "p5": found["recall_p5"], "pages": found["pages_per_query"]}
                        cell |= {"L": found["list_size"], "unlike": found["unlike"]}
                        print(json.dumps(cell), file=records, flush=True)
