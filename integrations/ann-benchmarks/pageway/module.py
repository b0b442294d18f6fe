"""Pageway in ann-benchmarks: an index on disk, searched within a budget of memory.

The index is a directory below the temporary directory (``TMPDIR``), which should be on an SSD; it
is removed at the end. ``docs/lab/plugins.md`` of Pageway says how to install this folder.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pageway

from ..base.module import BaseANN

METRICS = {"euclidean": "l2", "angular": "cosine"}
#: Keys of the settings that name the design; the rest goes to `pageway.build` as it is.
NAMED = ("preset", "memory", "degree")
#: What a share of a small set is raised to; the default of Pageway has the same floor.
LEAST_MEMORY = 16_000_000
ALL_CORES = 0


class Pageway(BaseANN):
    """One index. `settings` are arguments of `pageway.build`; queries are searched by list size.

    `count` is the number of neighbours that will be asked for: memory is set aside for it.
    """

    def __init__(self, metric, count, settings):
        if metric not in METRICS:
            raise NotImplementedError(f"Pageway has no metric for {metric}")
        self._metric = METRICS[metric]
        self._count = int(count)
        self._settings = dict(settings)
        self._list_size = None
        self._index = None
        self._directory = None
        self._threads = 1
        self._asked = self._found = None
        self._forget_costs()

    def fit(self, X):
        self._directory = Path(tempfile.mkdtemp(prefix="pageway-"))
        rows, ids = np.asarray(X), None
        if self._metric == "cosine" and not rows.any(axis=1).all():
            # A zero vector has no direction, so it is no neighbour under this metric.
            ids = np.flatnonzero(rows.any(axis=1))
            rows = rows[ids]
        path = self._directory / "index"
        arguments = {**self._settings, "memory": self._memory_of(rows)}
        pageway.build(path, rows, metric=self._metric, ids=ids, overwrite=True, **arguments).close()
        self._open()

    def set_query_arguments(self, list_size):
        """Searches with this candidate list size; memory for it is set aside by opening anew."""
        self._list_size = int(list_size)
        self._open()

    def query(self, q, n):
        if self._metric == "cosine" and not q.any():
            return []
        found = self._index.search(q, k=n, effort=self._list_size)
        self._add_costs(found.stats)
        return found.ids.astype(np.int64)

    def prepare_batch_query(self, X, n):
        """Not timed: opens the index for as many threads as there are cores."""
        if self._threads != ALL_CORES:
            self._threads = ALL_CORES
            self._open()
        self._asked = np.asarray(X), n

    def run_batch_query(self):
        rows, n = self._asked
        asked = np.arange(len(rows))
        if self._metric == "cosine":
            asked = np.flatnonzero(rows.any(axis=1))
        found = self._index.search(rows[asked], k=n, effort=self._list_size)
        self._add_costs(found.stats)
        self._found = [np.empty(0, np.int64)] * len(rows)
        for row, ids in zip(asked, found.ids.astype(np.int64)):
            self._found[row] = ids

    def batch_query(self, X, n):
        self.prepare_batch_query(X, n)
        self.run_batch_query()

    def get_batch_results(self):
        return self._found

    def get_additional(self):
        """Costs since `set_query_arguments`; ``dist_comps`` is a total, as the plots expect it."""
        searched = max(self._searched, 1)
        return {
            "dist_comps": self._costs["exact_distances"] + self._costs["approximate_distances"],
            "exact_distances_per_query": self._costs["exact_distances"] / searched,
            "pages_per_query": self._costs["pages"] / searched,
            "reads_per_query": self._costs["reads"] / searched,
            "memory_bytes": self._memory_bytes(),
            "disk_bytes": self._index.stats()["index_bytes"] if self._index else 0,
        }

    def get_memory_usage(self):
        """What the index may hold, in kB: its budget, which it keeps. 0 before `fit`.

        Not the resident set of the process: that has the leftovers of the build in it.
        """
        return self._memory_bytes() / 1024

    def done(self):
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def __str__(self):
        named = [f"{key}={self._settings[key]}" for key in NAMED if key in self._settings]
        if self._list_size is not None:
            named.append(f"list_size={self._list_size}")
        return f"Pageway({', '.join(named)})"

    @property
    def name(self):
        return str(self)

    def _memory_of(self, rows):
        """The budget of a search: as the settings say, a share no smaller than `LEAST_MEMORY`."""
        wish = str(self._settings.get("memory", "20%"))
        if not wish.endswith("%"):
            return wish
        return max(int(float(wish[:-1]) / 100 * rows.nbytes), LEAST_MEMORY)

    def _open(self):
        """Opens the index with memory for the searches to come."""
        if self._directory is None:
            return
        if self._index is not None:
            self._index.close()
        path = self._directory / "index"
        self._index = pageway.open(
            path, threads=self._threads, k=self._count, effort=self._list_size
        )
        self._forget_costs()

    def _forget_costs(self):
        names = ("exact_distances", "approximate_distances", "pages", "reads")
        self._costs, self._searched = dict.fromkeys(names, 0), 0

    def _add_costs(self, stats):
        for name in self._costs:
            self._costs[name] += int(stats[name].sum())
        self._searched += stats["pages"].size

    def _memory_bytes(self):
        return self._index.stats()["memory"]["budget_bytes"] if self._index else 0
