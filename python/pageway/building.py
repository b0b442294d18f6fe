"""`build`: from vectors to an index."""

from __future__ import annotations

import json
import warnings
from typing import Any, Dict, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import (
    as_ids,
    as_memory,
    as_path,
    as_source,
    checked_count,
    checked_optional,
    is_path,
)
from ._progress import ProgressWish, Reporting
from .errors import PagewayWarning
from .index import DEFAULT_RECALL, Index, Memory, PathLike, open

__all__ = ["build"]


def build(
    path: PathLike,
    data: Any,
    *,
    metric: str = "l2",
    recall: float = DEFAULT_RECALL,
    memory: Optional[Memory] = None,
    build_memory: Optional[Memory] = None,
    preset: str = "diskann",
    threads: int = 0,
    ids: Any = None,
    queries: Any = None,
    progress: ProgressWish = False,
    degree: int = 48,
    build_list: int = 100,
    code_bytes: Optional[int] = None,
    page_bytes: int = 4096,
    seed: int = 42,
) -> Index:
    """Builds an index over vectors and opens it.

    The index appears at `path` whole or not at all: an error, Ctrl-C or a power cut leaves what was
    there before. The same vectors, settings and seed give the same bytes on any number of threads.

    Parameters
    ----------
    path : path
        Directory of the index.
    data : path or array_like, shape (n, d)
        A file (``.fbin .f16bin .u8bin .i8bin .fvecs .bvecs .npy``), which is streamed; or an array.
        Arrays of float32, float16, uint8 or int8 in C order are not copied, memory maps included.
        Other layouts are copied, float64 is copied to float32. Arrays of other libraries are taken
        by ``__array__``, DLPack (CPU) or as Arrow fixed-size lists. Must not be written to while
        the build runs.
    metric : {"l2", "inner_product", "cosine"}
        Distance.
    recall : float
        Recall@10 that searches are meant to have. Sets no parameter: the build measures whether the
        index can reach it, and warns with `PagewayWarning` when it cannot.
    memory : int or str, optional
        Memory of a search over the finished index, everything included: bytes, ``"200MB"``, or a
        share of the raw vectors (``"20%"``). Sizes the codes, and is the default of `open`. 20 % by
        default, and at least 16 MB.
    build_memory : int or str, optional
        Memory of the build itself, without the array that is passed in; half of the machine's by
        default. When vectors and graph do not fit, the index is built in parts and merged.
    preset : {"diskann"}
        Design of the index.
    threads : int
        Threads of the build; 0 for all cores.
    ids : array_like of int, shape (n,), or path, optional
        Unique ids from 0 to 2**64 - 1, one per row; row numbers by default.
    queries : path or array_like, shape (m, d), optional
        Example queries, for the measurement that turns a recall into an effort. Give some when
        queries are unlike the vectors (text that asks for images); rows of `data` by default.
    progress : bool or callable
        True shows a line with the time left on stderr. A callable gets ``(stage, done, total)``
        about ten times a second; what it raises stops the build.
    degree : int
        Longest adjacency list (R).
    build_list : int
        Candidate list size (L) while building.
    code_bytes : int, optional
        Bytes per compressed vector, instead of as many as fit into `memory`.
    page_bytes : int
        Bytes of a page: a power of two from 4096 to 65536.
    seed : int
        Seed of every random choice.

    Returns
    -------
    Index
        Open, with what the build measured in ``build_report``.

    Raises
    ------
    InvalidInputError
        Vectors that cannot be indexed (NaN, a zero vector under cosine, duplicate ids, none at
        all), named by row; settings out of range; a budget that is too small, with the smallest
        that works.
    NoSpaceError
        The disk cannot take the index; found out before the work begins.
    BusyError
        Another process is building at `path`.
    KeyboardInterrupt
        Ctrl-C.
    """
    directory = as_path(path)
    examples = None if queries is None else as_source(queries, "queries")
    vectors = (as_source(data, "data"), _ids(ids), examples)
    options: _native._BuildOptions = {
        "metric": metric,
        "recall": float(recall),
        "memory": as_memory("memory", memory),
        "build_memory": as_memory("build_memory", build_memory),
        "preset": preset,
        "threads": checked_count("threads", threads),
        "degree": checked_count("degree", degree),
        "build_list": checked_count("build_list", build_list),
        "code_bytes": checked_optional("code_bytes", code_bytes),
        "page_bytes": checked_count("page_bytes", page_bytes),
        "seed": checked_count("seed", seed, 2**64 - 1),
    }
    with Reporting(progress) as callback:
        text = _native.build(directory, vectors, options, callback)
    return _opened(directory, json.loads(text))


def _opened(directory: str, report: Dict[str, Any]) -> Index:
    """The new index with the report of its build, whose warnings point at the caller of `build`."""
    for warning in report["warnings"]:
        warnings.warn(warning, PagewayWarning, stacklevel=3)
    index = open(directory)
    index.build_report = report
    return index


def _ids(ids: Any) -> Union[None, str, npt.NDArray[np.uint64]]:
    """Ids as the native build takes them: a path, or an array."""
    if ids is None:
        return None
    if is_path(ids):
        return as_path(ids)
    return as_ids(ids)


