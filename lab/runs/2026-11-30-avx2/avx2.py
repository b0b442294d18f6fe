"""Queries a second, latency alone and builds of two programs on a machine without AVX-512, in turns.

    python avx2.py BEFORE AFTER DATA DIR > avx2.jsonl

As ../2026-11-29-turned/turned.py, whose functions it takes, over fewer sets and memories: DATA holds
text-wordnet and photo-gist unpacked, and 20,000 rows of text are made 1,536 long.
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
    rows, asked = longer([base, queries], 1536)
    sets = {
        "text-wordnet": (data / "text-wordnet-80k.base.fbin", queries, "cosine", ("10%", "20%", "30%")),
        "photo-gist": (data / "photo-gist-24k.base.fbin", read(data / "photo-gist.query.fbin", 1000), "l2", ("20%",)),
        "text of 1536": (write(directory / "1536.fbin", rows), asked, "cosine", ("20%",)),
    }
    compare(programs, sets, directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
