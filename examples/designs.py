"""Published designs beside the default one, on the same vectors in the same memory."""

import tempfile
import warnings
from pathlib import Path

import numpy as np

import pageway

DATA = Path(__file__).resolve().parent.parent / "data" / "demo"

vectors = np.load(DATA / "wordnet-10k.npy", mmap_mode="r")[:3000]
queries = np.load(DATA / "wordnet-queries.npy")
sample, asked = queries[:100], queries[100:]
# A design may warn that it cannot reach a recall here: it is measured all the same.
warnings.simplefilter("ignore", pageway.PagewayWarning)

print(f"{'design':14} {'pages a query':>14} {'rounds of reads':>16}   in a sentence")
with tempfile.TemporaryDirectory() as place:
    for preset in pageway.presets():
        if preset.name not in ("pageway", "diskann", "starling", "pageann"):
            continue
        path = Path(place, preset.name)
        with pageway.build(
            path, vectors, metric="cosine", memory="60%", preset=preset.name, queries=sample, degree=32
        ) as index:
            result = index.search(asked, k=10, recall=0.9)
            pages, rounds = (np.mean(result.stats[name]) for name in ("pages", "rounds"))
            print(f"{preset.name:14} {pages:14.1f} {rounds:16.1f}   {preset.summary}")
