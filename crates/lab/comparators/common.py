"""What comparator scripts share: files, threads, timing, recall, and the lines of JSON.

A comparator is another library, measured in a process of its own and by the same rules. Each script
beside this file says how one library builds, opens and searches (a `Library`); this file does the
rest, with ``measuring.py``. The contract, in full in ``docs/lab/comparators.md``:

    python SCRIPT check                                   is the library there?
    python SCRIPT build --data BASE --out DIR --metric l2 ...
    python SCRIPT search --index DIR --queries Q --truth GT -k 10 --effort 50 ...
    python SCRIPT sweep --index DIR --queries Q --truth GT -k 10 --efforts 10,20,40 ...

Standard output holds nothing but lines of JSON: what libraries print goes to standard error. Exit
codes: 0 done, 1 failed (``error`` in the line says how), 2 wrong arguments, 3 library missing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from measuring import (
    Answers,
    bytes_read,
    difference,
    directory_bytes,
    drop_from_page_cache,
    latencies_us,
    limit_threads,
    memory_bytes,
    read_truth,
    recall,
)
import numpy as np

METRICS = ("l2", "ip", "cosine")
DTYPES = {".fbin": np.float32, ".f16bin": np.float16, ".u8bin": np.uint8, ".i8bin": np.int8}
#: What a build leaves beside the library's own files, for the searches to come.
RECORD = "comparator.json"
#: What searches repeat of it.
KEPT = ("index_bytes", "build_seconds", "build_peak_memory_bytes")
#: Rows that are converted at a time.
BLOCK_ROWS = 50_000
FAILED, MISSING = 1, 3

Line = Dict[str, Any]


class ComparatorError(Exception):
    """What a comparator cannot do, in words for the reader of a report."""


@dataclass(frozen=True)
class Task:
    """What builds and searches have in common; `options` are text as given."""

    threads: int
    options: Dict[str, str]

    def option(self, name: str, default: Any) -> Any:
        """The option `name`, in the type of `default`, which stands in for it."""
        if name not in self.options:
            return default
        try:
            return type(default)(self.options[name])
        except ValueError:
            kind, text = type(default).__name__, self.options[name]
            raise ComparatorError(f"option {name} is {text!r}, not of type {kind}") from None


@dataclass(frozen=True)
class Build(Task):
    """What to build: `rows` is mapped, not read."""

    path: Path
    rows: np.ndarray
    out: Path
    metric: str
    seed: int


@dataclass(frozen=True)
class Open(Task):
    """What to open: `made` is the record that the build left in `directory`."""

    directory: Path
    made: Line


class Opened:
    """An open index. A library says how one query or all of them are answered."""

    #: "resident", or "mmap page cache" where the operating system decides what stays in memory.
    memory_kind = "resident"
    #: False where a call keeps other threads of Python waiting; latency is then that of one thread.
    concurrent = True

    def set_effort(self, effort: int) -> None:
        """Sets what the library trades speed for recall by."""
        raise NotImplementedError

    def one(self, query: np.ndarray, k: int) -> Answers:
        """The neighbours of one query, shape ``(d,)``, with one thread."""
        raise NotImplementedError

    def many(self, queries: np.ndarray, k: int, threads: int) -> Answers:
        """The neighbours of all queries, by `threads` threads: the library's own way."""
        with ThreadPoolExecutor(threads) as pool:
            rows = list(pool.map(lambda query: self.one(query, k), queries))
        ids = np.stack([row[0] for row in rows])
        known = all(row[1] is not None for row in rows)
        return ids, np.stack([row[1] for row in rows]) if known else None


class Library:
    """Another library. `dtypes` are the element types it takes; others become float32."""

    name = ""
    module = ""
    requirement = ""
    #: What `effort` is called there.
    effort_means = ""
    dtypes: Tuple[str, ...] = ("float32",)

    def build(self, task: Build) -> Line:
        """Builds into ``task.out``; returns the parameters, defaults included."""
        raise NotImplementedError

    def open(self, task: Open) -> Opened:
        """Opens what `build` left."""
        raise NotImplementedError

    def version(self) -> str:
        """The version of the installed package."""
        return importlib.metadata.version(self.requirement.split("==")[0])

    def missing(self) -> Optional[str]:
        """Why the library cannot be used, or None."""
        try:
            importlib.import_module(self.module)
        except ImportError as error:
            return f"pip install {self.requirement} ({error})"
        return None


# Files


def read_vectors(path: Path) -> np.ndarray:
    """The rows of a ``.fbin .f16bin .u8bin .i8bin`` file, mapped into memory."""
    dtype = DTYPES.get(path.suffix)
    if dtype is None:
        raise ComparatorError(f"{path}: not one of {' '.join(DTYPES)}")
    rows, dimension = (int(number) for number in np.fromfile(path, np.uint32, 2))
    return np.memmap(path, dtype, "r", offset=8, shape=(rows, dimension))


def as_floats(rows: np.ndarray, metric: str) -> np.ndarray:
    """A float32 copy of `rows`, of length 1 each under cosine."""
    floats = np.ascontiguousarray(rows, np.float32)
    if metric == "cosine":
        lengths = np.linalg.norm(floats, axis=-1, keepdims=True)
        floats = floats / np.maximum(lengths, np.finfo(np.float32).tiny)
    return floats


def blocks(rows: np.ndarray, size: int = BLOCK_ROWS) -> Iterator[Tuple[int, np.ndarray]]:
    """`rows` in pieces, each with the number of its first row."""
    for first in range(0, len(rows), size):
        yield first, rows[first : first + size]


# Commands


def run(library: Library) -> None:
    """Does what the command line says, and ends the process."""
    arguments = _parser(library).parse_args()
    out = _own_stdout()
    limit_threads(getattr(arguments, "threads", 1))
    try:
        reason = library.missing()
        lines = [_check(library, reason)]
        if reason is None and arguments.command != "check":
            lines = _COMMANDS[arguments.command](library, arguments)
        for line in lines:
            print(json.dumps(line), file=out, flush=True)
        code = 0 if reason is None else MISSING
    except Exception as error:  # libraries raise what they like
        failure = f"{type(error).__name__}: {error}"
        print(json.dumps({"library": library.name, "error": failure}), file=out, flush=True)
        code = FAILED
    sys.stderr.flush()
    os._exit(code)  # some libraries have threads that never end


def _own_stdout() -> Any:
    """The standard output for this script alone; what libraries print goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def _check(library: Library, reason: Optional[str]) -> Line:
    version = None if reason else library.version()
    return {"library": library.name, "version": version, "available": not reason, "reason": reason}


def _named(library: Library, metric: str, parameters: Line) -> Line:
    named = {"library": library.name, "version": library.version()}
    return {**named, "metric": metric, "parameters": parameters}


def _build(library: Library, arguments: argparse.Namespace) -> Iterator[Line]:
    rows = read_vectors(arguments.data)
    _clear(arguments.out)
    task = Build(
        threads=arguments.threads,
        options=_options(arguments.option),
        path=arguments.data,
        rows=rows,
        out=arguments.out,
        metric=arguments.metric,
        seed=arguments.seed,
    )
    begin = time.perf_counter()
    parameters = library.build(task)
    seconds = time.perf_counter() - begin
    parameters["element"] = str(rows.dtype) if str(rows.dtype) in library.dtypes else "float32"
    made = {
        **_named(library, task.metric, {**parameters, "seed": task.seed}),
        "rows": rows.shape[0],
        "dimensions": rows.shape[1],
        "build_seconds": seconds,
        "build_peak_memory_bytes": memory_bytes("VmHWM"),
    }
    size = directory_bytes(task.out)
    (task.out / RECORD).write_text(json.dumps({**made, "index_bytes": size}))
    peak = made["build_peak_memory_bytes"]
    yield {**made, "index_bytes": size, "raw_bytes": rows.nbytes, "peak_memory_bytes": peak}


def _clear(directory: Path) -> None:
    """Makes `directory` empty; refuses to remove what is not the index of a comparator."""
    if directory.exists() and any(directory.iterdir()) and not (directory / RECORD).exists():
        raise ComparatorError(f"{directory} holds something else than an index of a comparator")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / RECORD).write_text("{}")


def _search(library: Library, arguments: argparse.Namespace) -> Iterator[Line]:
    efforts = arguments.efforts if arguments.command == "sweep" else [arguments.effort]
    queries, truth = _questions(arguments)
    made = _made(arguments.index)
    if arguments.drop_cache:
        drop_from_page_cache(arguments.index)
    before, read_before = memory_bytes("VmRSS"), bytes_read()
    task = Open(arguments.threads, _options(arguments.option), arguments.index, made)
    begin = time.perf_counter()
    opened = library.open(task)
    open_ms = (time.perf_counter() - begin) * 1000
    parameters = {**made["parameters"], **task.options, "effort_means": library.effort_means}
    common = {
        **_named(library, made["metric"], parameters),
        "open_ms": open_ms,
        "open_read_bytes": difference(bytes_read(), read_before),
        "memory_before_open_bytes": before,
        "memory_kind": opened.memory_kind,
        **{name: made[name] for name in KEPT},
        "threads": arguments.threads,
    }
    rows = _as_questions(library, queries, made["metric"])
    for effort in efforts:
        opened.set_effort(effort)
        yield {**common, "effort": effort, **_measure(opened, rows, truth, arguments)}


def _measure(
    opened: Opened, queries: np.ndarray, truth: Answers, arguments: argparse.Namespace
) -> Line:
    """One pass over all queries for speed and recall, another one query at a time for latency."""
    k, threads = arguments.k, arguments.threads
    if arguments.warm_up:
        opened.many(queries[: arguments.warm_up], k, threads)
    read_before, begin = bytes_read(), time.perf_counter()
    found = opened.many(queries, k, threads)
    seconds = time.perf_counter() - begin
    read = difference(bytes_read(), read_before)
    alone = threads if opened.concurrent else 1
    single = queries[: arguments.latency_queries]
    return {
        "queries": len(queries),
        "k": k,
        "recall": recall(found, truth, k),
        "qps": len(queries) / seconds,
        "seconds": seconds,
        **latencies_us(lambda query: opened.one(query, k), single, alone),
        "os_read_bytes": read,
        "peak_memory_bytes": memory_bytes("VmHWM"),
        "anonymous_memory_bytes": memory_bytes("RssAnon"),
        "mapped_memory_bytes": memory_bytes("RssFile"),
    }


def _questions(arguments: argparse.Namespace) -> Tuple[np.ndarray, Answers]:
    """Queries and their truth, as many as both files and the limit have."""
    queries, (ids, distances) = read_vectors(arguments.queries), read_truth(arguments.truth)
    if len(ids) != len(queries):
        raise ComparatorError(f"{len(queries)} queries, but the truth is of {len(ids)}")
    if not 1 <= arguments.k <= ids.shape[1] or not len(queries):
        has = f"{len(queries)} queries, the truth has {ids.shape[1]} neighbours of each"
        raise ComparatorError(f"k is {arguments.k}, there are {has}")
    count = min(len(queries), arguments.limit or len(queries))
    return queries[:count], (ids[:count], None if distances is None else distances[:count])


def _as_questions(library: Library, queries: np.ndarray, metric: str) -> np.ndarray:
    if str(queries.dtype) in library.dtypes and metric != "cosine":
        return np.ascontiguousarray(queries)
    return as_floats(queries, metric)


def _made(directory: Path) -> Line:
    """The record of the build in `directory`."""
    try:
        made: Line = json.loads((directory / RECORD).read_text())
    except FileNotFoundError:
        raise ComparatorError(f"{directory} holds no index of a comparator") from None
    if not made:
        raise ComparatorError(f"the build of {directory} was not finished")
    return made


def _options(pairs: Sequence[str]) -> Dict[str, str]:
    """``name=value`` as a mapping."""
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise ComparatorError(f"option {wrong[0]!r}: write name=value")
    return dict(pair.split("=", 1) for pair in pairs)


_COMMANDS: Dict[str, Callable[[Library, argparse.Namespace], Iterator[Line]]] = {
    "build": _build,
    "search": _search,
    "sweep": _search,
}


def _parser(library: Library) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=f"{library.name}, to be compared with")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="is the library there?")
    build = commands.add_parser("build", help="build an index")
    build.add_argument("--data", type=Path, required=True)
    build.add_argument("--out", type=Path, required=True)
    build.add_argument("--metric", choices=METRICS, default="l2")
    build.add_argument("--seed", type=int, default=42)
    search = commands.add_parser("search", help="search with one effort")
    search.add_argument("--effort", type=int, required=True)
    sweep = commands.add_parser("sweep", help="search with several efforts, opened once")
    sweep.add_argument("--efforts", type=_numbers, required=True)
    for command in (search, sweep):
        _add_search_arguments(command)
    for command in (build, search, sweep):
        command.add_argument("--threads", type=_positive, default=1)
        command.add_argument("--option", action="extend", nargs="+", default=[])
    return parser


def _add_search_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--index", type=Path, required=True)
    command.add_argument("--queries", type=Path, required=True)
    command.add_argument("--truth", type=Path, required=True)
    command.add_argument("--data", type=Path, help="of the build; no library needs it so far")
    command.add_argument("-k", type=int, default=10)
    command.add_argument("--limit", type=int, default=0, help="first queries only; 0 for all")
    command.add_argument("--warm-up", type=int, default=100, help="queries before the clock")
    command.add_argument("--latency-queries", type=_positive, default=2000)
    command.add_argument("--drop-cache", action="store_true", help="begin with a cold page cache")


def _positive(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return int(text)


def _numbers(text: str) -> List[int]:
    return [_positive(part) for part in text.split(",")]
