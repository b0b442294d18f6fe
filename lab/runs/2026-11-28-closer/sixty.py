"""Recall beside what was asked of ten neighbours: sixty.py PAGEWAY DIR LABEL OUT.jsonl [SETS] [MEMORIES]. DIR is of sets.py."""
import json
import pathlib
import subprocess
import sys

program, place, label, out = sys.argv[1:5]
sets, memories = (sys.argv[5:7] + ["gist,text,sift", "5%,10%,20%,30%"][len(sys.argv) - 5 :])[:2]
KINDS = {"text": ("cosine", "fbin"), "gist": ("l2", "fbin"), "sift": ("l2", "u8bin")}


def run(*words):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True)


with open(out, "a") as records:
    for name in sets.split(","):
        metric, end = KINDS[name]
        files = {kind: f"{place}/{name}.{kind}" for kind in ("base", "like", "own")}
        for kind in ("like", "own"):
            if not pathlib.Path(f"{files[kind]}.gt.ibin").exists():
                asks = ("--data", f"{files['base']}.{end}", "--queries", f"{files[kind]}.{end}", "--metric", metric)
                run("ground-truth", *asks, "-k", 100, "--out", f"{files[kind]}.gt.ibin").check_returncode()
        for memory in memories.split(","):
            index = f"{place}/{label}-{name}-{memory.strip('%')}"
            if not pathlib.Path(index).exists():
                wishes = ("--metric", metric, "--memory", memory, "--quiet")
                run("build", "--data", f"{files['base']}.{end}", "--out", index, *wishes).check_returncode()
            for kind in ("like", "own"):
                asks = ("--queries", f"{files[kind]}.{end}", "--truth", f"{files[kind]}.gt.ibin", "-k", 10)
                for asked in (0.8, 0.9, 0.95, 0.98, 0.99):
                    found = run("search", index, *asks, "--recall", asked, "--json", "--threads", 2)
                    if found.returncode:
                        print(name, memory, kind, asked, found.stderr.strip()[-150:], file=sys.stderr)
                        continue
                    found = json.loads(found.stdout)
                    cell = {"bin": label, "set": name, "mem": memory, "q": kind, "asked": asked}
                    cell |= {"got": found["recall"], "p5": found["recall_p5"], "pages": found["pages_per_query"]}
                    cell |= {"L": found["list_size"], "unlike": found["unlike"]}
                    print(json.dumps(cell), file=records, flush=True)
