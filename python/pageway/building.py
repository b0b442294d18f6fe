"""`build`: from vectors to an index."""

from __future__ import annotations

import json
import warnings
from typing import Any, Dict, List, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import File, Rows, as_ids, as_path, as_source, checked_count, is_path
from ._progress import ProgressWish, Reporting
from ._settings import DEFAULT_RECALL, Memory, Overrides, PathLike, budgets, design
from .errors import PagewayWarning
from .index import Index, open
from .results import Preset

__all__ = ["build", "presets"]


def build(
    path: PathLike,
    data: Any,
    *,
    metric: str = "l2",
    recall: float = DEFAULT_RECALL,
    memory: Optional[Memory] = None,
    build_memory: Optional[Memory] = None,
    disk: Optional[Memory] = None,
    preset: str = "pageway",
    form: Optional[str] = None,
    overrides: Optional[Overrides] = None,
    codebook_from: Optional[PathLike] = None,
    graph_from: Optional[PathLike] = None,
    threads: int = 0,
    ids: Any = None,
    queries: Any = None,
    dtype: Any = None,
    progress: ProgressWish = False,
    degree: int = 48,
    build_list: int = 100,
    code_bytes: Optional[int] = None,
    page_bytes: int = 4096,
    beam: Optional[int] = None,
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
        A file (``.fbin .f16bin .u8bin .i8bin .bin .fvecs .bvecs .npy``), which is streamed; or an
        array. Arrays of float32, float16, uint8 or int8 in C order are not copied, memory maps
        included. Other layouts are copied, float64 is copied to float32. Arrays of other libraries
        are taken by ``__array__``, DLPack (CPU) or as Arrow fixed-size lists. Must not be written
        to while the build runs.
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
    disk : int or str, optional
        Most that the index may take on disk, as bytes, text or share like `memory`. Designs that
        keep adjacency lists several times (``"gorgeous"``) keep fewer; a limit that is too small
        all the same is refused, with the smallest that works.
    preset : str
        Design of the index: our own, ``"pageway"``, or one by the name of the system that published
        it; `presets` lists them. Where codes are sure that a vector is an answer, ours does not
        read it: its distance is an estimate then, unless a search asks for exact ones.
    form : str, optional
        Form of a preset that has several: of ``"pageway"`` ``"resident"``, ``"clustered"`` or
        ``"on-disk"``. None takes the first that `memory` holds.
    overrides : dict, optional
        Choices in place of those of the preset; any legal combination works. See below.
    codebook_from : path, optional
        Directory of an index over the same kind of vectors, whose codebook is taken instead of
        training one: `Index.switch` then loads it once for both.
    graph_from : path, optional
        Directory of an index over the same vectors, with the same graph settings and placement
        ``by_id``, whose graph is laid out anew instead of building one.
    threads : int
        Threads of the build; 0 for all cores.
    ids : array_like of int, shape (n,), or path, optional
        Unique ids from 0 to 2**64 - 1, one per row; row numbers by default.
    queries : path or array_like, shape (m, d), optional
        Example queries, for the measurement that turns a recall into an effort. Give some when
        queries are unlike the vectors (text that asks for images); rows of `data` by default.
    dtype : dtype, optional
        Element type of files that do not say theirs (``.bin``); wins over the extension of others.
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
    beam : int, optional
        Reads in flight (W), from 1 to 64, instead of the design's own.
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
        all), named by row; settings out of range; overrides that do not exist, named by key and
        field, or do not go together, with what would; a budget that is too small, with the smallest
        that works.
    NoSpaceError
        The disk cannot take the index; found out before the work begins.
    BusyError
        Another process is building at `path`.
    KeyboardInterrupt
        Ctrl-C.

    Notes
    -----
    Each key of `overrides` is one policy, each value a name, or a dict of fields that may give the
    name as ``kind``. Fields that are left out have the defaults below; in a dict without ``kind``
    they, and the choice itself, are those of the preset in the form that is built. None leaves the
    preset's choice alone.

    =====================  ========================================================================
    key                    names, with their fields
    =====================  ========================================================================
    ``graph``              ``vamana`` (alpha=1.2), ``nsg`` (knn=2 degree), ``hnsw``,
                           ``pipnn`` (alpha=1.2, fanout=8, leaf=512, knn=5); of all these:
                           max_degree=degree, build_list=build_list; ``clusters`` (members=64)
    ``vectors``            ``in_record``, ``separate``, ``coded`` (a fine code in the record)
    ``codes``              ``memory``, ``in_page``, ``split``
    ``quantizer``          ``pq``, ``rabitq`` (rotation=``principal`` or ``hadamard``)
    ``second_code_bytes``  a number; 0 for no second code
    ``ids_in_memory``      True or False: whether ``bounded`` need not read what is sure
    ``codec``              ``packed``, ``inline_codes``, ``replicated`` (lists=4), ``split``,
                           ``page_node`` (min_degree=degree/2)
    ``placement``          ``by_id``, ``bnp``, ``bnf`` and ``bns`` (rounds=8, gain=0.01),
                           ``grouped`` (hops=2), ``clustered``
    ``lists``              ``plain``, ``packed`` (sorted, in about a third of the bytes)
    ``cache``              a dict of nodes (``none``, ``records``, ``clock``, ``lists``), pages
                           (``none``, ``hot``, ``lru``, ``clock``), selection (``breadth_first``,
                           ``visits``) and page_share
    ``entry``              ``medoid``, ``fixed`` (count=8), ``upper_layers`` (list_size=10),
                           ``navigation`` (one_in=100, max_degree=24, list_size=10),
                           ``hash`` (one_in=20, radius=2, limit=200), ``clusters``
    ``schedule``           ``lockstep``, ``overlapped`` and ``prefetch`` (beam=4),
                           ``pipelined`` (least=4, most=32, completion=``as_they_come`` or
                           ``in_order``); `beam` takes the place of 4, and of 32
    ``harvest``            ``target``, ``near`` (share=0.3), ``all``, ``held``
    ``refine``             ``inline``, ``deferred`` (share=0.5), ``cascade`` (scored=1, read=0.5),
                           ``bounded`` (deviations=2)
    ``stop``               ``exhausted``, ``horizon`` (growth=15)
    ``slack``              a number from 0 to 1: how much farther what needs no read may be
    =====================  ========================================================================

    Examples
    --------
    >>> index = pageway.build("pages.index", vectors, preset="starling")
    >>> own = {"placement": {"kind": "bnf", "rounds": 4}, "harvest": "all"}
    >>> index = pageway.build("own.index", vectors, preset="diskann", overrides=own)
    >>> index.stats()["spec"]["layout"]["placement"]
    {'kind': 'bnf', 'rounds': 4, 'gain': 0.01}
    """
    vectors = (as_source(data, "data", dtype), _ids(ids), _examples(queries, dtype))
    options: _native._BuildOptions = {
        "metric": metric,
        "design": design(
            preset, form, overrides, degree, build_list, code_bytes, page_bytes, beam, seed
        ),
        "recall": float(recall),
        "budgets": budgets(memory, build_memory, disk),
        "codebook_from": _optional(codebook_from),
        "graph_from": _optional(graph_from),
        "threads": checked_count("threads", threads),
    }
    with Reporting(progress) as callback:
        text = _native.build(as_path(path), vectors, options, callback)
    return _opened(path, json.loads(text))


def presets() -> List[Preset]:
    """The designs that `build` knows, ours and the published ones.

    Returns
    -------
    list of Preset
        Name and summary of each.

    Examples
    --------
    >>> [name for name, summary in pageway.presets()][:3]
    ['diskann', 'aisaq', 'starling']
    """
    return [Preset(name, summary) for name, summary in _native.presets()]


def _opened(path: PathLike, report: Dict[str, Any]) -> Index:
    """The new index with the report of its build, whose warnings point at the caller of `build`."""
    for warning in report["warnings"]:
        warnings.warn(warning, PagewayWarning, stacklevel=3)
    index = open(path)
    index.build_report = report
    return index


def _examples(queries: Any, dtype: Any) -> Union[None, str, File, Rows]:
    """Example queries as the native build takes them."""
    return None if queries is None else as_source(queries, "queries", dtype)


def _ids(ids: Any) -> Union[None, str, npt.NDArray[np.uint64]]:
    """Ids as the native build takes them: a path, or an array."""
    if ids is None:
        return None
    if is_path(ids):
        return as_path(ids)
    return as_ids(ids)


def _optional(path: Optional[PathLike]) -> Optional[str]:
    """A path as the native build takes it, where there is one."""
    return None if path is None else as_path(path)
