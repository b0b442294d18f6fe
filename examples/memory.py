"""The same vectors in four memories. Less memory means more pages per query, never less recall."""

import tempfile
from pathlib import Path

import numpy as np

import pageway

DATA = Path(__file__).resolve().parent.parent / "data" / "demo"

vectors = np.load(DATA / "wordnet-10k.npy", mmap_mode="r")[:4000]
queries = np.load(DATA / "wordnet-queries.npy")
sample, asked = queries[:100], queries[100:]

with tempfile.TemporaryDirectory() as place:
    print("memory of a search    recall@10    pages a query")
    for number, memory in enumerate(["100%", "60%", "40%", "1500kB"]):
        path = Path(place, f"{number}.index")
        with pageway.build(path, vectors, metric="cosine", memory=memory, queries=sample) as index:
            report = index.measure_recall(asked, k=10, recall=0.95)
            print(f"{memory:>16} {report.recall:14.3f} {report.pages_per_query:14.1f}")

    # A budget that nothing works in is refused before work, with the smallest that does.
    try:
        pageway.build(Path(place, "tiny.index"), vectors, metric="cosine", memory="10kB")
    except pageway.InvalidInputError as refusal:
        print(f"\n10kB: {refusal}")
