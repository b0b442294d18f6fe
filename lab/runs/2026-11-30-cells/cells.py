"""Recall beside what was asked, and pages: three sets, four memories, five recalls.

    python cells.py PAGEWAY DATA DIR K,K... > cells.jsonl

DATA holds the sets with their queries and exact neighbours; DIR keeps indexes of them, by default
builds, made where they are missing. A line for each cell; exact answers, the sets' own queries.
"""

import json
import subprocess
import sys
from pathlib import Path

SETS = (
    ("gist", "photo-gist-24k.base.fbin", "photo-gist.query.fbin", "photo-gist-24k.gt.ibin", "l2"),
    ("text", "text-wordnet-80k.base.fbin", "text-wordnet.query.fbin", "text-wordnet-80k.gt.ibin", "cosine"),
    ("sift", "photo-sift-1m.base.u8bin", "photo-sift.query.u8bin", "photo-sift-1m.gt.ibin", "l2"),
)


def main():
    pageway, data, work = (Path(part) for part in sys.argv[1:4])
    for name, base, queries, truth, metric in SETS:
        for memory in ("5%", "10%", "20%", "30%"):
            index = work / f"{name}-{memory}"
            if not index.exists():
                wishes = ("--metric", metric, "--memory", memory, "--out", index, "--json")
                made = [pageway, "build", "--data", data / base, *wishes]
                subprocess.run(made, check=True, capture_output=True)
            for k in sys.argv[4].split(","):
                for asked in ("0.8", "0.85", "0.9", "0.95", "0.99"):
                    wishes = ("-k", k, "--recall", asked, "--memory", memory)
                    against = ("--queries", data / queries, "--truth", data / truth)
                    command = [pageway, "search", index, *wishes, *against, "--json"]
                    done = subprocess.run(command, capture_output=True, text=True)
                    line = {"set": name, "memory": memory, "k": int(k), "asked": float(asked)}
                    if done.returncode:
                        line["refused"] = done.stderr.strip()
                    else:
                        found = json.loads(done.stdout)
                        line |= {
                            "recall": round(found["recall"], 4),
                            "recall_p5": round(found["recall_p5"], 2),
                            "pages": round(found["pages_per_query"], 1),
                            "unlike": round(found["unlike"], 2),
                        }
                    print(json.dumps(line), flush=True)


main()
