"""`build`, from vectors to an index, and `create`, an index to be filled."""

from __future__ import annotations

import json
import warnings
from typing import Any, List, Optional, cast

import numpy as np

from . import _native
from ._attributes import Attributes, Schema, as_schema
from ._build import carry_out, place_of, refuse_to_replace
from ._checks import as_memory, checked_count, checked_optional, checked_text
from ._elements import as_element
from ._paths import PathLike, as_directory
from ._progress import ProgressWish
from ._settings import (
    DEFAULTS,
    Form,
    Memory,
    Metric,
    Overrides,
    PresetName,
    SegmentCut,
    optional_text,
)
from .errors import PagewayWarning
from .index import Index, open
from .reports import BuildReport
from .results import Preset

__all__ = ["build", "create", "presets"]


def build(
    path: PathLike,
    data: Any,
    *,
    metric: Metric = "l2",
    recall: float = DEFAULTS["recall"],
    memory: Optional[Memory] = None,
    build_memory: Optional[Memory] = None,
    disk: Optional[Memory] = None,
    preset: PresetName = "pageway",
    form: Optional[Form] = None,
    overrides: Optional[Overrides] = None,
    codebook_from: Optional[PathLike] = None,
    graph_from: Optional[PathLike] = None,
    scratch: Optional[PathLike] = None,
    resume: bool = False,
    threads: int = 0,
    ids: Any = None,
    queries: Any = None,
    dtype: Any = None,
    column: Optional[str] = None,
    id_column: Optional[str] = None,
    overwrite: bool = False,
    progress: ProgressWish = False,
    segments: int = 1,
    cut: SegmentCut = "arrival",
    calibration_queries: Optional[int] = None,
    degree: int = DEFAULTS["degree"],
    build_list: int = DEFAULTS["build_list"],
    code_bytes: Optional[int] = None,
    page_bytes: int = DEFAULTS["page_bytes"],
    beam: Optional[int] = None,
    seed: int = DEFAULTS["seed"],
    attributes: Optional[Attributes] = None,
    schema: Optional[Schema] = None,
    store: Any = None,
) -> Index:
    """Builds an index over vectors and opens it.

    The index appears at `path` whole or not at all: an error, Ctrl-C or a power cut leaves what was
    there before. The same vectors, settings and seed give the same bytes on any number of threads.

    Parameters
    ----------
    path : path
        Directory of the index.
    data : path, array_like of shape (n, d), table, or iterable of batches
        A file (``.fbin .f16bin .bf16bin .u8bin .i8bin .bin .fvecs .bvecs .npy``), which is streamed; or an
        array. Arrays of float32, float16, uint8 or int8 in C order are not copied, memory maps
        included. Other layouts are copied, float64 is copied to float32. Arrays of other libraries
        are taken by ``__array__``, DLPack (CPU) or as Arrow fixed-size lists. Must not be written
        to while the build runs.

        Or what comes in batches: Parquet, Arrow, HDF5 and JSON-lines files (``.parquet .arrow
        .h5 .hdf5 .jsonl .ndjson``, ``.gz`` after the last two), a directory or a list of Parquet
        files; tables, data sets and readers of pyarrow; frames of polars, lazy ones too, and
        pandas; tensors of torch; a list or any iterator of arrays, of tables, or of pairs ``(ids,
        vectors)``. These are read once and never held whole: beyond 16 MB rows wait in a file
        beside `path` until the build is over.
    metric : {"l2", "inner_product", "cosine", "l1", "hamming", "jaccard"}
        Distance.
    recall : float
        Recall@10 that searches are meant to have. Sets no parameter: the build measures whether the
        index can reach it, and warns with `PagewayWarning` when it cannot.
    memory : int or str, optional
        Memory of a search over the finished index, everything included: bytes, ``"200MB"``, or a
        share of the raw vectors (``"20%"``). Sizes the codes, and is the default of `open`. 20 % by
        default, and at least 16 MB.
    build_memory : int or str, optional
        Memory of the build itself, without the array that is passed in; half of the machine's, or of
        what its container has, by default. When vectors and graph do not fit, the index is built in parts and merged.
    disk : int or str, optional
        Most that the index may take on disk, as bytes, text or share like `memory`. Lists are
        packed, pages doubled, codes in pages shortened until it does; a limit that is too small
        all the same is refused, with the smallest that works.
    preset : str
        Design of the index: our own, ``"pageway"``, or one by the name of the system that published
        it; `presets` lists them. Where codes are sure that a vector is an answer, and of its distance
        within the ``tolerance`` of a search, ours does not read it; distances are exact by default.
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
    scratch : path, optional
        Directory for temporary files, such as one on another disk; by default they lie beside the
        index. It must be there.
    resume : bool
        Keep finished stages when the build is stopped, and go on with what an earlier build of the
        same data with the same options kept. The index has the bytes of one that was never stopped.
    threads : int
        Threads of the build, up to eight per core, or 64; 0 for all cores.
    ids : array_like of int, str or UUID, shape (n,), or path, optional
        Unique ids from 0 to 2**64 - 2, one per row, or names, texts of up to 256 bytes or UUIDs; row
        numbers by default.
    queries : as `data`, optional
        Example queries, for the measurement that turns a recall into an effort. Give some when
        queries are unlike the vectors (text that asks for images); rows of `data` by default.
    attributes : path, table or iterable of mapping, optional
        Attributes of the rows, to filter by, in the order of the rows: a file of JSON lines, a mapping
        per row (None for a row without), or columns: a frame of pandas or polars, a table or data set of
        Arrow, ``.parquet`` or a directory of such files, ``.arrow``, ``.lance``, ``.csv`` or ``.tsv``,
        without what is missing; or a sparse matrix of rows and tags, of scipy or ``.spmat``, whose
        columns become the list ``tags``. JSON lines, ``.csv`` and ``.tsv``
        may be packed, ``.gz``. Where it is `data`, vectors and the `id_column` are no attributes. All
        but JSON lines that are not packed are held as JSON in memory.
    schema : mapping of str to str, or path, optional
        What values of some fields must be, now and when rows change, such as ``{"lex": "keyword"}``:
        keyword, integer, float, bool, datetime, text, geo or uuid; a path of a JSON file. Other
        fields may be anything.
    dtype : dtype, optional
        Element type of files that do not say theirs (``.bin``); wins over the extension of others.
        Of arrays, ``.npy`` and batches: what they are converted to; numbers that would be lost are
        refused.
        With ``"bit"``, bytes are taken as eight bits each, as `numpy.packbits` packs them.
    store : dtype, optional
        Float type to store floats as: float16 or ``"bfloat16"`` halve what float32 takes on disk and in
        pages. Each number is rounded to nearest; `build_report` says how far that moved a vector.
        By default floats are stored as they come, and float32 that float16 holds exactly as float16:
        queries, answers and vectors stay float32 then.
    column : str, optional
        Column of the vectors, where `data` has columns (in HDF5 the data set); by default the only
        column of lists.
    id_column : str, optional
        Column of ids, instead of `ids`.
    overwrite : bool
        Replaces the index at `path`, in one step at the end. Without it a build where an index
        stands is refused.
    progress : bool, callable or tqdm
        True shows a line on stderr with the share of the whole and the time left. A callable gets
        ``(stage, done, total)`` about ten times a second; what it raises stops the build. ``tqdm``, class or object, shows
        the share of the whole; `pageway.progress_share` gives it to a callable.
    segments : int
        Runs of rows that are built one after the other in the same memory, and searched together.
    cut : {"arrival", "space"}
        How rows become segments: as they come; or near rows in one segment, so that a query asks
        those that it is near. Rows without ids then have their numbers in `data` as such.
        `build_step` builds segments in processes of their own.
    calibration_queries : int, optional
        Queries that recall is measured with; more are more exact, fewer build faster. One of 80
        rows, 500 at least and 1,000 at most, where it is ``None``; as many as there are rows where
        it is more. With 0, or a build memory that does not hold searches, the first search that
        asks for a recall measures it, or `Index.calibrate`.
    degree : int
        Longest adjacency list (R).
    build_list : int
        Candidate list size (L) of the searches of a build, where its graph is made by searches:
        those of all presets but ``pageway``.
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
    ExistsError
        An index stands at `path`, and `overwrite` is False.
    BusyError
        Another process is building at `path`.
    UnsupportedError
        A library that `data` needs is not installed.
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
                           ``pipnn`` (alpha=1.2, fanout=12, leaf=512, knn=5); of all these:
                           max_degree=degree, build_list=build_list; ``clusters`` (members=64)
    ``vectors``            ``in_record``, ``separate``, ``coded`` (a fine code in the record)
    ``codes``              ``memory``, ``in_page``, ``split``
    ``quantizer``          ``pq``, ``rabitq`` (rotation=``principal`` or ``hadamard``)
    ``second_code_bytes``  a number; 0 for no second code
    ``ids_in_memory``      True or False: whether ``bounded`` need not read what is sure
    ``codec``              ``packed``, ``inline_codes``, ``replicated`` (lists=4), ``split``,
                           ``page_node`` (min_degree=degree/2)
    ``placement``          ``by_id``, ``bnp``, ``bnf`` and ``bns`` (rounds=8, gain=0.01),
                           ``grouped`` (hops=2), ``clustered``, ``nearest``
    ``lists``              ``plain``, ``packed`` (sorted, in about a third of the bytes)
    ``cache``              a dict of nodes (``none``, ``records``, ``clock``, ``lists``), pages
                           (``none``, ``hot``, ``lru``, ``clock``), selection (``breadth_first``,
                           ``visits``) and page_share
    ``entry``              ``medoid``, ``fixed`` (count=8), ``upper_layers`` (list_size=10),
                           ``navigation`` (one_in=100, max_degree=24, list_size=10),
                           ``hash`` (one_in=20, radius=2, limit=200), ``clusters``
    ``schedule``           ``lockstep``, ``overlapped`` (doubling=False: whether rounds begin with
                           one read and double) and ``prefetch``, each with beam=4;
                           ``pipelined`` (least=4, most=32, completion=``as_they_come`` or
                           ``in_order``); `beam` takes the place of 4, and of 32
    ``harvest``            ``target``, ``near`` (share=0.3), ``all``, ``held``
    ``refine``             ``inline``, ``deferred`` (share=0.5), ``cascade`` (scored=1, read=0.5),
                           ``bounded`` (deviations=2)
    ``stop``               ``exhausted``, ``horizon`` (growth=15)
    ``slack``              a number from 0 to 1: how much farther what needs no read may be
    ``update``             ``static``, ``segments``, ``rewrite``, ``patch``, ``overwrite``
    ``repair``             ``sweep``, ``local``, ``replace`` (with ``patch`` and ``overwrite``)
    ``delta``              ``scan``, ``linked`` (with ``patch`` and ``overwrite``)
    =====================  ========================================================================

    Examples
    --------
    >>> index = pageway.build("pages.index", vectors, preset="starling")
    >>> own = {"placement": {"kind": "bnf", "rounds": 4}, "harvest": "all"}
    >>> index = pageway.build("own.index", vectors, preset="diskann", overrides=own)
    >>> index.stats()["spec"]["layout"]["placement"]
    {'kind': 'bnf', 'rounds': 4, 'gain': 0.01}
    """
    given = dict(locals())
    place = place_of(path, data)
    refuse_to_replace(place, overwrite)
    text, beside = carry_out(given, _native.build)
    report = json.loads(text)
    report.update(beside)
    return _opened(place, cast(BuildReport, report))


def create(
    path: PathLike,
    *,
    dimension: int,
    metric: str = "l2",
    dtype: Any = np.float32,
    memory: Optional[Memory] = None,
    update_memory: Optional[Memory] = None,
    expected: Optional[int] = None,
    preset: str = "pageway",
    form: Optional[str] = None,
    degree: int = 48,
    schema: Optional[Schema] = None,
) -> Index:
    """Makes an empty index and opens it to be filled.

    Parameters
    ----------
    path : path
        Directory of the index, which does not exist or is empty.
    dimension : int
        Components of a vector.
    metric : {"l2", "inner_product", "cosine", "l1", "hamming", "jaccard"}
        Distance.
    dtype : dtype
        Element type: float32, float16, "bfloat16", uint8, int8 or "bit".
    memory : int or str, optional
        Memory of a search, as bytes or ``"200MB"``, however many rows come; by default 64 MB, and
        more as they come. Form of the design and length of codes follow from it: from `expected`
        first, and from the rows there are whenever all are merged.
    update_memory : int or str, optional
        As for `open`.
    expected : int, optional
        Vectors to come; by default so many that they are five times `memory`, or as many as it
        holds codes for, where these are fewer.
    preset, form, degree, schema
        As for `build`.

    Returns
    -------
    Index
        Open, empty and writable.

    Raises
    ------
    InvalidInputError
        There is an index already, or the memory is too small, with the smallest that works.

    Examples
    --------
    >>> with pageway.create("new.index", dimension=24, memory="2MB", expected=2000) as new:
    ...     done = new.insert(vectors[:100])
    ...     ids, distances = new.search(vectors[7], k=1, list_size=100)
    >>> done.inserted, int(ids[0])
    (100, 7)
    """
    options: _native._CreateOptions = {
        "dimension": checked_count("dimension", dimension),
        "element": as_element(dtype),
        "metric": checked_text("metric", metric),
        "preset": checked_text("preset", preset),
        "form": optional_text("form", form),
        "memory": as_memory("memory", memory),
        "expected": checked_optional("expected", expected),
        "degree": checked_count("degree", degree),
        "schema": as_schema(schema),
    }
    _native.create(as_directory(path), options)
    return open(path, writable=True, update_memory=update_memory)


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


def _opened(path: str, report: BuildReport) -> Index:
    """The new index with the report of its build, whose warnings point at the caller of `build`."""
    for warning in report["warnings"]:
        warnings.warn(warning, PagewayWarning, stacklevel=3)
    index = open(path)
    index.build_report = report
    return index
