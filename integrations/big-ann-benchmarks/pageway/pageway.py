"""Pageway in big-ann-benchmarks, track T2: an index on an SSD, searched within a budget of memory; and
the track of filters, where a query asks for vectors with all of its tags.

The index lies in ``data/indices/T2/Pageway/DATASET/PARAMETERS``. It is built from the file of the
data set, which is streamed; searches answer whole batches. ``docs/lab/plugins.md`` of Pageway says
how to install this file.
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pageway
from benchmark.algorithms.base import BaseANN
from benchmark.datasets import DATASETS

METRICS = {"euclidean": "l2", "ip": "inner_product", "angular": "cosine"}
EXTENSIONS = {"float32": ".fbin", "uint8": ".u8bin", "int8": ".i8bin"}
#: Files of an index, by preset, beside those of every index: what to download before it is there.
COMMON = ("MANIFEST", "codebook-1.pw", "records-1.pw")
FILES = {
    "diskann": ("codes-1.pw", "hot-1.pw"),
    "aisaq": ("entry-1.pw",),
    "starling": ("codes-1.pw", "entry-1.pw"),
    "gorgeous": ("codes-1.pw", "entry-1.pw", "hot-1.pw"),
    "pageann": ("codes-1.pw", "entry-1.pw", "hot-1.pw"),
    "pageann-disk": ("entry-1.pw", "hot-1.pw"),
}
#: Files that are no part of an index that is complete.
LOCAL = ("LOCK",)
COUNTED = ("exact_distances", "approximate_distances")


class Pageway(BaseANN):
    """One index. `index_params` are arguments of `pageway.build`.

    Query arguments are one dictionary: ``list_size``, ``threads`` (0 for all cores), ``beam``,
    ``interleave``, ``memory``, and for ranges ``limit``, the most results per query.
    """

    def __init__(self, metric, index_params):
        if metric not in METRICS:
            raise NotImplementedError(f"Pageway has no metric for {metric}")
        self._metric = METRICS[metric]
        self._params = dict(index_params)
        self._query = {}
        self._count = 10
        self._directory = None
        self._index = None
        self.res = None
        self._forget_costs()

    def track(self):
        return "T2"

    def fit(self, dataset):
        """Builds the index of a data set and leaves it open."""
        self.done()
        self._directory = self._directory_of(dataset)
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir(parents=True)
        rows, extra = _rows_of(DATASETS[dataset](), self._directory)
        path = self._directory / "index"
        own = self._attributes_of(DATASETS[dataset]())
        pageway.build(path, rows, metric=self._metric, overwrite=True, **own, **self._params).close()
        if extra is not None:
            extra.unlink()
        self._open()

    def load_index(self, dataset):
        """Opens the index of a data set; False when it has not been built."""
        directory = self._directory_of(dataset)
        if not (directory / "index" / "MANIFEST").exists():
            return False
        self.done()
        self._directory = directory
        self._open()
        return True

    def index_files_to_store(self, dataset):
        """Directory, prefix and names of the files: those there are, or those there will be."""
        directory = self._directory_of(dataset) / "index"
        if (directory / "MANIFEST").exists():
            names = [file.name for file in directory.iterdir() if file.name not in LOCAL]
            return str(directory), "", sorted(names)
        preset = self._params.get("preset")
        if preset not in FILES or self._params.get("overrides"):
            raise NotImplementedError(f"the files of this index are known once it is built: {self}")
        directory.mkdir(parents=True, exist_ok=True)
        return str(directory), "", sorted(COMMON + FILES[preset])

    def set_query_arguments(self, query_args):
        self._query = dict(query_args)
        self._open()

    def query(self, X, k):
        if k > self._count:
            self._count = k
            self._open()
        found = self._index.search(
            self._as_queries(X),
            k=k,
            effort=self._query.get("list_size"),
            beam=self._query.get("beam"),
        )
        self._add_costs(found.stats)
        self.res = found.ids.astype(np.int64)

    def range_query(self, X, radius):
        """All within `radius`, squared for the Euclidean distance as the data sets have it."""
        asked = {name: self._query[name] for name in ("list_size", "limit") if name in self._query}
        found = self._index.range(
            self._as_queries(X), float(radius), beam=self._query.get("beam"), **asked
        )
        self._add_costs(found.stats)
        self.res = found.lims, found.distances, found.ids.astype(np.int64)

    def get_results(self):
        return self.res

    def get_range_results(self):
        """Limits, distances, ids: the order in which the framework stores them."""
        return self.res

    def get_additional(self):
        """Costs of the last batch; ``dist_comps`` is that of all since `set_query_arguments`."""
        if self._stats is None:
            return {}
        latency = self._stats["latency_ns"] / 1000
        return {
            "mean_ssd_ios": float(self._stats["reads"].mean()),
            "mean_pages": float(self._stats["pages"].mean()),
            "mean_latency": float(latency.mean()),
            "latency_999": float(np.percentile(latency, 99.9)),
            "dist_comps": self._distances,
            "memory_bytes": self._memory_bytes(),
            "disk_bytes": self._index.stats()["index_bytes"],
        }

    def get_memory_usage(self):
        """What the index may hold, in kB: its budget, which it keeps. 0 before one is open.

        Not the resident set of the process: after `fit` that has the leftovers of the build in it.
        """
        return self._memory_bytes() / 1024

    def done(self):
        if self._index is not None:
            self._index.close()
            self._index = None

    def __str__(self):
        return "Pageway"

    def _attributes_of(self, dataset):
        return {}

    def _directory_of(self, dataset):
        name = DATASETS[dataset]().short_name()
        parameters = [f"{key}-{value}" for key, value in sorted(self._params.items())]
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in "_".join(parameters))
        own = Path(str(self), name, safe or "default")
        return Path(os.getcwd(), "data", "indices", self.track()) / own

    def _open(self):
        """Opens the index with memory for the searches to come, where one is known."""
        if self._directory is None:
            return
        self.done()
        limit = self._query.get("limit", 0)
        self._index = pageway.open(
            self._directory / "index",
            memory=self._query.get("memory"),
            threads=self._query.get("threads", 0),
            interleave=self._query.get("interleave", 8),
            k=max(self._count, limit),
            effort=max(self._query.get("list_size", 0), limit) or None,
            beam=self._query.get("beam"),
        )
        self._forget_costs()

    def _as_queries(self, X):
        """Queries in the type of the vectors: the framework hands out float32 for all of them."""
        queries = np.ascontiguousarray(X, self._index.dtype)
        if not np.array_equal(queries, X):
            raise ValueError(f"queries are no {self._index.dtype}")
        return queries

    def _forget_costs(self):
        self._stats, self._distances = None, 0

    def _add_costs(self, stats):
        self._stats = stats
        self._distances += sum(int(stats[name].sum()) for name in COUNTED)

    def _memory_bytes(self):
        return self._index.stats()["memory"]["budget_bytes"] if self._index else 0


class PagewayFilter(Pageway):
    """One index with the tags of its vectors."""

    def track(self):
        return "filter"

    def filtered_query(self, X, filter, k):
        """The nearest that have all tags of their row of `filter`; -1 where there are fewer than k."""
        if k > self._count:
            self._count = k
            self._open()
        queries = self._as_queries(X)
        self.res = np.full((len(queries), k), -1, np.int64)
        asked = {}
        for row, (start, end) in enumerate(zip(filter.indptr, filter.indptr[1:])):
            tags = tuple(sorted(filter.indices[start:end].tolist()))
            asked.setdefault(tags, []).append(row)
        for tags, rows in asked.items():
            conditions = [{"key": "tags", "match": {"value": tag}} for tag in tags]
            found = self._index.search(
                queries[rows],
                k=k,
                effort=self._query.get("list_size"),
                beam=self._query.get("beam"),
                filter={"must": conditions} if conditions else None,
            )
            self._add_costs(found.stats)
            self.res[rows] = found.ids.astype(np.int64)

    def _attributes_of(self, dataset):
        return {"attributes": dataset.get_dataset_metadata()}


def _rows_of(dataset, directory):
    """The vectors as `pageway.build` takes them, and a file to remove afterwards, or None.

    Files have endings of their own, ``.crop_nb_10000000`` or none, so a link with the right one is
    made. A file with more rows than the data set, as of a larger one, is mapped and cut.
    """
    path = Path(dataset.get_dataset_fn()).absolute()
    rows, dimension = (int(number) for number in np.fromfile(path, np.uint32, 2))
    if rows != dataset.nb:
        shape = dataset.nb, dimension
        return np.memmap(path, dataset.dtype, "r", offset=8, shape=shape), None
    link = directory / ("vectors" + EXTENSIONS[str(dataset.dtype)])
    link.symlink_to(path)
    return link, link
