"""Recall is a wish, and what it was is measured: against exact answers to your own queries."""

import tempfile
from pathlib import Path

import numpy as np

import pageway

DATA = Path(__file__).resolve().parent.parent / "data" / "demo"

vectors = np.load(DATA / "wordnet-10k.npy", mmap_mode="r")[:4000]
queries = np.load(DATA / "wordnet-queries.npy")
sample, asked = queries[:100], queries[100:]

exact = pageway.ground_truth(vectors, asked, k=10, metric="cosine")

with tempfile.TemporaryDirectory() as place:
    path = Path(place, "texts.index")
    with pageway.build(path, vectors, metric="cosine", memory="60%", queries=sample) as index:
        print("asked    recall@10    list size    pages a query")
        for wish in (0.8, 0.9, 0.95, 0.98):
            result = index.search(asked, k=10, recall=wish)
            pairs = zip(result.ids.tolist(), exact.ids.tolist())
            found = sum(len(set(ours) & set(true)) for ours, true in pairs)
            recall = found / exact.ids.size
            pages = np.mean(result.stats["pages"])
            print(f"{wish:5.2f} {recall:12.3f} {result.settings['list_size']:12} {pages:16.1f}")
