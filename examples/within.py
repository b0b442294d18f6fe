"""Everything within a distance: definitions that say nearly the same."""

import tempfile
from pathlib import Path

import numpy as np

import pageway

DATA = Path(__file__).resolve().parent.parent / "data" / "demo"

vectors = np.load(DATA / "wordnet-10k.npy", mmap_mode="r")[:4000]
definitions = (DATA / "wordnet-10k.txt").read_text(encoding="utf-8").splitlines()

with tempfile.TemporaryDirectory() as place:
    with pageway.build(Path(place, "texts.index"), vectors, metric="cosine", memory="60%") as index:
        lims, ids, distances = index.range(vectors[:1000], radius=0.15, limit=50)
        shown = 0
        for row in range(1000):
            near = [int(other) for other in ids[lims[row] : lims[row + 1]] if int(other) > row]
            if near and shown < 5:
                shown += 1
                print(definitions[row])
                for other in near:
                    print(f"    ~ {definitions[other]}")
        pairs = int((lims[1:] - lims[:-1]).sum()) - 1000
        print(f"\n{pairs} other vectors lie within 0.15 of one of the first 1,000")
