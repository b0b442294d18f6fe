"""A new index every night: built beside the old one, with its codebook, and switched to without a gap."""

import tempfile
from pathlib import Path

import numpy as np

import pageway

DATA = Path(__file__).resolve().parent.parent / "data" / "demo"

vectors = np.load(DATA / "wordnet-10k.npy", mmap_mode="r")
queries = np.load(DATA / "wordnet-queries.npy")
settings = {"metric": "cosine", "memory": "3MB", "preset": "diskann", "degree": 24}

with tempfile.TemporaryDirectory() as place:
    monday, tuesday = Path(place, "monday.index"), Path(place, "tuesday.index")
    pageway.build(monday, vectors[:3000], **settings).close()
    serving = pageway.open(monday)
    print("monday: ", len(serving), "vectors, nearest", serving.search(queries[0], k=1).ids)

    # Codes of one vector space may share what they mean: it is trained and loaded once.
    pageway.build(tuesday, vectors[:4000], codebook_from=monday, **settings).close()
    assert pageway.open(tuesday).verify().sound

    fresh = serving.switch(tuesday)  # searches of the old one go on until it is closed
    serving.close()
    print("tuesday:", len(fresh), "vectors, nearest", fresh.search(queries[0], k=1).ids)
    fresh.close()
