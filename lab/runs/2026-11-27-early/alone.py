"""One query at a time beside a published preset, and beside hnswlib, as in the trust run.

    python alone.py PAGEWAY DATA OUT

The scripts of ../2026-11-25-trust with that mode alone and ROUNDS rounds: lists that get recall@10 of
.95, exact answers, searches in turns. Every search is in OUT/SET.speed.jsonl or SET.hnswlib.jsonl.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "2026-11-25-trust"))

import beside_hnswlib  # noqa: E402
import measure  # noqa: E402

ROUNDS = 9
CELLS = {"text-wordnet-80k": ["10%", "20%", "30%"], "photo-gist-24k": ["20%", "30%"]}


def main(command, data, out):
    """Measures all cells."""
    for script in (measure, beside_hnswlib):
        script.ROUNDS = ROUNDS
        script.MODES = {"one at a time": (1, 1)}
    for name, cells in CELLS.items():
        measure.main(command, data, out, name, *cells)
    for name in CELLS:
        beside_hnswlib.main(command, data, out, name, "20%")


if __name__ == "__main__":
    main(*sys.argv[1:])
