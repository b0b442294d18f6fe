"""QPS and pages by selectivity, as shares of those of a search without a filter; and other libraries
at equal recall.

    python table.py OUT                 # what quiet.sh left there
"""

import json
import sys
from pathlib import Path

OTHERS = ("faiss", "lancedb")


def lines(path):
    """Records of a file, none of one that is not there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def best(records, selectivity, correlation, recall):
    """The fastest of a library at no less recall, else the one of most recall."""
    own = [
        one
        for one in records
        if (one["selectivity"], one["correlation"]) == (selectivity, correlation)
    ]
    there = [one for one in own if one["recall"] >= recall]
    if there:
        return max(there, key=lambda one: one["queries_per_second"])
    return max(own, key=lambda one: one["recall"], default=None)


def main(out):
    """Prints a table of Markdown."""
    others = {name: lines(out / f"{name}.jsonl") for name in OTHERS}
    names = "run | design | selectivity | correlation | recall | pages | of unfiltered | QPS | of unfiltered"
    head = names.split(" | ") + [f"{name}: recall, QPS, ours to it" for name in OTHERS]
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for run in sorted(out.glob("own-*-*/cells.jsonl")):
        records = lines(run)
        plain = {
            (one["design"], one["correlation"]): one
            for one in records
            if one["selectivity"] is None
        }
        for one in records:
            if one["selectivity"] not in ("1", "0.1", "0.01", "0.001"):
                continue
            without = plain[one["design"], one["correlation"]]
            cells = [
                run.parent.name,
                one["design"],
                one["selectivity"],
                one["correlation"],
                f"{one['recall']:.3f}",
                f"{one['pages']:.1f}",
                f"{one['pages'] / max(without['pages'], 1e-9):.2f}",
                f"{one['queries_per_second']:.0f}",
                f"{one['queries_per_second'] / without['queries_per_second']:.2f}",
            ]
            for records_of in others.values():
                key = (one["selectivity"], one["correlation"])
                other = best(records_of, *key, one["recall"])
                words = ""
                if other:
                    speed = other["queries_per_second"]
                    ratio = one["queries_per_second"] / speed
                    words = f"{other['recall']:.3f}, {speed:.0f}, {ratio:.1f}"
                cells.append(words)
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
