"""Queries a second, and latency alone, of two programs over long vectors, in turns.

    python narrow.py BEFORE AFTER DATA DIR > narrow.jsonl

As ../2026-11-29-turned/turned.py, whose functions it takes, over other sets: DATA holds text-wordnet
and photo-gist unpacked, and text is made 768, 1,536 and 3,072 long.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "2026-11-29-turned"))
from turned import compare, longer, read, write


def main(before, after, data, directory):
    data, directory = Path(data), Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    programs = {"before": before, "after": after}
    base, queries = read(data / "text-wordnet-80k.base.fbin", 20_000), read(data / "text-wordnet.query.fbin", 1000)
    gist = (data / "photo-gist-24k.base.fbin", read(data / "photo-gist.query.fbin", 1000), "l2", ("20%", "30%"))
    sets = {"photo-gist": gist}
    for dimension in (768, 1536, 3072):
        rows, asked = longer([base, queries], dimension)
        sets[f"text of {dimension}"] = (write(directory / f"{dimension}.fbin", rows), asked, "cosine", ("20%",))
    compare(programs, sets, directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
