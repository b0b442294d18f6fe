"""Writes the index files of other libraries that the tests and the fuzz corpus read.

    python make_libraries.py faiss|hnswlib|diskannpy ../../../../fuzz/corpus/library

faiss-cpu 1.15.1, hnswlib 0.8.0 and diskannpy 0.7.0 (CPython 3.9 to 3.11, numpy 1.25) wrote those that
are there. The vectors come from `vector` below, so that the tests can tell them.
"""

import os
import shutil
import sys
import tempfile

import numpy as np


def vectors(rows, dtype):
    """Row r, component c: (37 r + 11 c) modulo 101; floats are an eighth of it."""
    whole = (37 * np.arange(rows)[:, None] + 11 * np.arange(4)) % 101
    return (whole / 8).astype(dtype) if dtype == np.float32 else whole.astype(dtype)


def with_faiss(out):
    import faiss

    x = vectors(20, np.float32)

    def write(name, index):
        faiss.write_index(index, os.path.join(out, name))

    def filled(index):
        index.train(x)
        index.add(x)
        return index

    def lists(count):
        return faiss.IndexIVFFlat(faiss.IndexFlatL2(4), 4, count)

    write("flat.faiss", filled(faiss.IndexFlatL2(4)))
    write("flat-ip.faiss", filled(faiss.IndexFlatIP(4)))
    write("flat-l1.faiss", filled(faiss.IndexFlat(4, faiss.METRIC_L1)))
    write("hnsw.faiss", filled(faiss.IndexHNSWFlat(4, 4)))
    write("ivf.faiss", filled(lists(3)))
    write("ivf-hnsw.faiss", filled(faiss.index_factory(4, "IVF3_HNSW4,Flat")))
    write("sq.faiss", filled(faiss.index_factory(4, "SQ8")))
    write("pca.faiss", filled(faiss.index_factory(4, "PCA2,Flat")))
    sparse = lists(15)
    sparse.train(x)
    sparse.add_with_ids(x[:3], np.array([70, 80, 90]))
    write("ivf-sparse.faiss", sparse)
    mapped = lists(3)
    mapped.train(x)
    mapped.set_direct_map_type(faiss.DirectMap.Hashtable)
    mapped.add(x)
    write("ivf-map.faiss", mapped)
    numbered = faiss.IndexIDMap2(faiss.IndexFlatL2(4))
    numbered.add_with_ids(x, np.arange(100, 120))
    write("idmap.faiss", numbered)


def with_hnswlib(out):
    import hnswlib

    index = hnswlib.Index(space="l2", dim=4)
    index.init_index(max_elements=30, M=4, ef_construction=20)
    index.add_items(vectors(20, np.float32), np.arange(500, 520))
    index.mark_deleted(503)
    index.mark_deleted(519)
    index.save_index(os.path.join(out, "hnswlib.bin"))


def with_diskannpy(out):
    import diskannpy

    usual = {"complexity": 20, "graph_degree": 8, "num_threads": 1}
    with tempfile.TemporaryDirectory() as place:
        diskannpy.build_disk_index(
            vectors(300, np.float32),
            "l2",
            place,
            search_memory_maximum=0.1,
            build_memory_maximum=0.5,
            pq_disk_bytes=0,
            **usual,
        )
        shutil.copy(f"{place}/ann_disk.index", f"{out}/diskann_disk.index")
        shutil.copy(f"{place}/ann_metadata.bin", f"{out}/diskann_metadata.bin")
    with tempfile.TemporaryDirectory() as place:
        diskannpy.build_memory_index(
            vectors(300, np.uint8), "cosine", place, alpha=1.2, use_pq_build=False, **usual
        )
        shutil.copy(f"{place}/ann.data", f"{out}/diskann-memory.data")
        shutil.copy(f"{place}/ann_metadata.bin", f"{out}/diskann-memory_metadata.bin")


if __name__ == "__main__":
    library, where = sys.argv[1:]
    {"faiss": with_faiss, "hnswlib": with_hnswlib, "diskannpy": with_diskannpy}[library](where)
