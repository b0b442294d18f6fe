"""Build an index over dictionary definitions, and find the ones that sentences are about."""

import tempfile
from pathlib import Path

import numpy as np

import pageway

DATA = Path(__file__).resolve().parent.parent / "data" / "demo"

vectors = np.load(DATA / "wordnet-10k.npy", mmap_mode="r")  # float16, (10000, 384)
queries = np.load(DATA / "wordnet-queries.npy")  # float16, (300, 384)
definitions = (DATA / "wordnet-10k.txt").read_text(encoding="utf-8").splitlines()
sentences = (DATA / "wordnet-queries.txt").read_text(encoding="utf-8").splitlines()

with tempfile.TemporaryDirectory() as place:
    # Sentences are unlike definitions: some of them calibrate the index.
    index = pageway.build(
        Path(place, "glosses.index"), vectors, metric="cosine", memory="40%", queries=queries[:100]
    )
    with index:
        result = index.search(queries[290:295], k=3, recall=0.95)
        for sentence, ids, distances in zip(sentences[290:295], result.ids, result.distances):
            print(f"\n{sentence}")
            for row, distance in zip(ids, distances):
                print(f"  {1 - distance:.2f}  {definitions[int(row)]}")
        pages = np.mean(result.stats["pages"])
        print(f"\n{pages:.1f} pages were read per query")
