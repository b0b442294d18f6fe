"""Recall of answers by codes, before and after a change.

    python by_codes.py BEFORE AFTER DATA DIR

BEFORE and AFTER are `pageway` commands; DATA holds the text and image sets; DIR is for what is
made. Writes DIR/by_codes.jsonl: for each set, each command, number of neighbours, recall asked and
tolerance, what was got, pages and processor time. Needs numpy.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ASKED = ("0.8", "0.9", "0.95", "0.99")
RANKS = (1, 10, 100, 1000)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def split(source, base, queries, count):
    """Rows of a file, every so many as queries and the others as a base."""
    rows, dimension = np.fromfile(source, np.uint32, 2)
    all_rows = np.memmap(source, np.float32, "r", 8, (rows, dimension))
    asked = np.zeros(rows, bool)
    asked[:: rows // count] = True
    for path, own in ((base, all_rows[~asked]), (queries, all_rows[asked])):
        with open(path, "wb") as file:
            np.array(own.shape, np.uint32).tofile(file)
            np.ascontiguousarray(own).tofile(file)


def sets(data, work):
    text = data / "text-wordnet-80k.base.fbin"
    split(text, work / "text.fbin", work / "text.query.fbin", 1000)
    like = work / "text.fbin", work / "text.query.fbin", "cosine"
    yield "text, rows as queries", *like, "10%"
    yield "text, rows as queries", *like, "20%"
    yield "text, its own queries", text, data / "text-wordnet.query.fbin", "cosine", "10%"
    gist = data / "photo-gist-24k.base.fbin", data / "photo-gist.query.fbin"
    yield "photo-gist, its own queries", *gist, "l2", "10%"


def main():
    before, after, data, work = (Path(part) for part in sys.argv[1:])
    out = open(work / "by_codes.jsonl", "w")
    for name, base, queries, metric, memory in sets(data, work):
        truth = work / "truth.ibin"
        made = ("ground-truth", "-q", "--data", base, "--queries", queries, "--metric", metric)
        subprocess.run([after, *made, "-k", "1000", "--out", truth], check=True)
        for label, command in (("before", before), ("after", after)):
            index = work / "index"
            subprocess.run(["rm", "-rf", index], check=True)
            wishes = ("--metric", metric, "--memory", memory, "--recall", "0.95")
            built = run(command, "build", "--data", base, *wishes, "--out", index, "--json")
            seconds = dict(built["seconds"])["calibrate"]
            cells = [(k, asked, "any") for k in RANKS for asked in ASKED]
            cells += [(k, "0.95", "0") for k in RANKS]
            for k, asked, tolerance in cells:
                search = ("search", index, "--queries", queries, "-k", k, "--truth", truth)
                options = ("--memory", memory, "--recall", asked, "--tolerance", tolerance)
                got = run(command, *search, *options, "--json")
                record = {"set": name, "memory": memory, "command": label, "k": k}
                record |= {"asked": float(asked), "tolerance": tolerance, "calibrate_s": seconds}
                for key in ("recall", "pages_per_query", "cpu_us_per_query", "list_size"):
                    record[key] = got[key] if got else None
                out.write(json.dumps(record) + "\n")
                out.flush()


main()
