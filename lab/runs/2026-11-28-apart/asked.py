"""Recall and pages of an index by list size or asked recall: asked.py PAGEWAY INDEX QUERIES TRUTH SIZE|rRECALL..."""
import json
import pathlib
import subprocess
import sys

program, index, queries, truth = sys.argv[1:5]
for wish in sys.argv[5:]:
    effort = ["--recall", wish[1:]] if wish.startswith("r") else ["--list-size", wish]
    words = [program, "search", index, "--queries", queries, "--truth", truth, "-k", "10", "--json", *effort]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    record = {"index": pathlib.Path(index).name, "queries": pathlib.Path(queries).name, "wish": wish}
    for key in ("recall", "recall_p5", "pages_per_query", "list_size", "unlike"):
        record[key] = found[key]
    print(json.dumps(record))
