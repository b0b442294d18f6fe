"""How comparators measure: threads, memory, bytes read, latency, recall.

Recall is that of ``pageway search``: distinct ids among the true k; ids at the distance of the k-th
count as found, whether the truth lists them further down or the library reports that distance.
Numbers of the operating system come from ``/proc`` and are None where there is none.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

try:
    import numpy as np
except ImportError as missing:
    # Every script comes by here before it does anything.
    library, reason = Path(sys.argv[0]).stem.replace("with_", ""), f"pip install numpy ({missing})"
    print(json.dumps({"library": library, "version": None, "available": False, "reason": reason}))
    sys.exit(3)

#: Ids and distances of shape ``(queries, k)``; no distances where a library has no exact ones.
Answers = Tuple[np.ndarray, Optional[np.ndarray]]
#: Without LANCE_IO_THREADS: with 1, a build of lancedb waits for ever.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TOKIO_WORKER_THREADS",
    "LANCE_CPU_THREADS",
)


def read_truth(path: Path) -> Answers:
    """Ids and, where the file has them, distances of the true neighbours, nearest first."""
    rows, width = (int(number) for number in np.fromfile(path, np.uint32, 2))
    ids = np.fromfile(path, np.uint32, rows * width, offset=8).reshape(rows, width)
    rest = np.fromfile(path, np.float32, rows * width, offset=8 + 4 * rows * width)
    return ids, rest.reshape(rows, width) if rest.size == ids.size else None


def recall(found: Answers, truth: Answers, k: int) -> float:
    """Mean recall@k; rows of `found` may hold negative ids where nothing was found."""
    hits = sum(
        _hits(found[0][row, :k], _row(found[1], row), truth[0][row], _row(truth[1], row))
        for row in range(len(found[0]))
    )
    return hits / (len(found[0]) * k)


def _hits(ids: np.ndarray, own: Sequence[float], near: np.ndarray, away: Sequence[float]) -> int:
    """How many distinct `ids`, at distances `own`, are true, or at the distance of the last true.

    `near` and `away` are the ids and distances of the truth, nearest first.
    """
    k = len(ids)
    bound = away[k - 1] if len(away) else None
    ties = (near[rank] for rank in range(k, len(away)) if away[rank] == bound)
    listed = {int(node) for node in near[:k]} | {int(node) for node in ties}
    equal = {int(node) for node, distance in zip(ids, own) if distance == bound}
    return len({int(node) for node in ids if node >= 0} & (listed | equal))


def _row(table: Optional[np.ndarray], row: int) -> Sequence[float]:
    return () if table is None else table[row]


def memory_bytes(field: str) -> Optional[int]:
    """A field of ``/proc/self/status`` such as ``VmHWM``, in bytes; None where there is none."""
    return _proc("status", field + ":", 1024)


def bytes_read() -> Optional[int]:
    """Bytes that this process has caused to be read from a disk; None where nobody counts."""
    return _proc("io", "read_bytes:", 1)


def bytes_written() -> Optional[int]:
    """Bytes that this process has caused to be written to a disk; None where nobody counts."""
    return _proc("io", "write_bytes:", 1)


def _proc(file: str, field: str, unit: int) -> Optional[int]:
    try:
        lines = Path("/proc/self", file).read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * unit for line in lines if line.startswith(field)), None)


def directory_bytes(directory: Path) -> int:
    """Bytes of all files below `directory`, but for those that go while they are counted."""
    total = 0
    for file in directory.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue
    return total


def drop_from_page_cache(directory: Path) -> None:
    """Asks the operating system to forget the pages of all files below `directory`."""
    for file in (file for file in directory.rglob("*") if file.is_file()):
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def limit_threads(threads: int) -> None:
    """Holds every pool of the process, also those of libraries to be loaded, to `threads` cores."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(threads)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def latencies_us(
    search: Callable[[np.ndarray], Any], queries: np.ndarray, threads: int
) -> Dict[str, Any]:
    """Latency of single queries, `threads` of them at a time, and their common speed."""

    def timed(query: np.ndarray) -> int:
        begin = time.perf_counter_ns()
        search(query)
        return time.perf_counter_ns() - begin

    begin = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        times = np.array(list(pool.map(timed, queries))) / 1000
    seconds = time.perf_counter() - begin
    p50, p99 = np.percentile(times, [50, 99])
    return {
        "latency_us": {"mean": float(times.mean()), "p50": float(p50), "p99": float(p99)},
        "latency_queries": len(queries),
        "latency_threads": threads,
        "qps_one_at_a_time": len(queries) / seconds,
    }


def difference(after: Optional[int], before: Optional[int]) -> Optional[int]:
    """What a count has grown by; None where it is not known."""
    return None if after is None or before is None else after - before
