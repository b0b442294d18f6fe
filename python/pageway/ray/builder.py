"""`build`: the steps of a build as tasks of Ray."""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, cast

import ray

from .._build import refuse_to_replace
from .._paths import PathLike, as_directory, as_path, is_path
from .._settings import Metric, SegmentCut
from ..errors import BusyError, InvalidInputError
from ..reports import BuildReport
from .process import LostProcessError, run_step
from .rows import row_files, write_ids, write_queries

__all__ = ["BuildResult", "StepResult", "build"]

#: What a process takes beside the budget of the build: Python, numpy, the engine's code.
BESIDE_BYTES = 128 << 20
#: Says that a directory is the work of a build, and ours to remove.
_MARK = "pageway-ray.json"
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}


class StepResult(NamedTuple):
    """What a step did, and where."""

    step: str
    #: The machine, by the id that Ray has for it.
    node: str
    #: Whether an earlier process had finished it.
    done_before: bool
    #: Vectors: of the segment, or of all.
    rows: int
    #: Most memory that its process held.
    peak_bytes: int
    seconds: float


class BuildResult(NamedTuple):
    """An index that was built."""

    path: str
    report: BuildReport
    steps: List[StepResult]


def build(
    dataset: Any,
    out: PathLike,
    *,
    segments: int,
    cut: SegmentCut = "space",
    metric: Metric = "l2",
    build_memory: str = "1GB",
    work: Optional[PathLike] = None,
    column: Optional[str] = None,
    id_column: Optional[str] = None,
    ids: Any = None,
    queries: Any = None,
    overwrite: bool = False,
    keep_work: bool = False,
    num_cpus: int = 1,
    resources: Optional[Mapping[str, float]] = None,
    max_retries: int = 3,
    **settings: Any,
) -> BuildResult:
    """Builds an index whose segments are built at the same time, by processes on many machines.

    All machines see `out`, `work` and, where it is a path, `dataset`. What segments have in common,
    each segment, and their calibration are a task each, in a process that keeps within
    `build_memory`. The index has the bytes of `pageway.build` with the same segments.

    A worker that is lost costs the step that it did: the others stay, and Ray starts that one again.
    Where the driver is lost, the same call goes on with what is finished.

    Parameters
    ----------
    dataset : path, array_like of shape (n, d), or ray.data.Dataset
        A file as `pageway.build` streams it, read where it lies; Parquet, or a data set, whose rows
        tasks write to one file in `work`, in the order of the data set; or an array. A data set
        that was written stays in `work`, and is not read again by a build that goes on.
    out : path
        Directory of the index.
    segments, cut
        As for `pageway.build`; segments are what is built at the same time.
    metric : as for `pageway.build`
    build_memory : str
        Memory of each process of the build: bytes, or ``"2GB"``. Ray is asked for it and 128 MB for
        Python beside it; a share of the rows is refused, since that is the same on no machine.
    work : path, optional
        Directory for what waits to be joined; `out` with ``.work`` by default. It goes once the
        index is there.
    column, id_column : str, optional
        Columns of a data set with vectors and ids; ids are the numbers of rows by default.
    ids, queries
        As for `pageway.build`, as arrays or paths.
    overwrite : bool
        Replaces the index at `out`, in one step at the end.
    keep_work : bool
        Leaves `work` where it is.
    num_cpus : int
        Processors that a step asks Ray for, and threads that it has.
    resources : mapping, optional
        Other resources that it asks for, such as ``{"nvme": 1}``.
    max_retries : int
        How often a step is begun again whose worker or process was lost.
    **settings
        All else that `pageway.build` takes: memory, recall, preset, ...

    Returns
    -------
    BuildResult
        The report of the index, and of each step where it ran and the memory that it took.

    Raises
    ------
    InvalidInputError
        As `pageway.build`; no machine of the cluster has the memory; `work` has other things in it.
    ExistsError
        An index stands at `out`, and `overwrite` is False.
    """
    place = os.path.abspath(as_directory(out))
    folder = os.path.abspath(as_path(work)) if work is not None else f"{place}.work"
    goes_on = os.path.exists(os.path.join(folder, _MARK))
    # A build that was cut off after its last step ends its work.
    refuse_to_replace(place, overwrite or goes_on)
    memory_bytes = _bytes_of(build_memory) + BESIDE_BYTES
    _take(folder, goes_on)
    try:
        files = row_files(dataset, folder, column, id_column)
        if ids is not None and files.ids is not None:
            words = "the data bring ids of their own: leave ids, or id_column, away"
            raise InvalidInputError(words)
        asked = {
            "path": place,
            "data": files.vectors,
            "work": folder,
            "ids": files.ids or write_ids(ids, folder),
            "queries": write_queries(queries, folder),
            "segments": segments,
            "cut": cut,
            "metric": metric,
            "build_memory": build_memory,
            "threads": num_cpus,
            "resume": True,
            **settings,
        }
        asked = {name: os.fspath(own) if is_path(own) else own for name, own in asked.items()}
        _check_words(asked)
        options = {
            "num_cpus": num_cpus,
            "memory": memory_bytes,
            "resources": dict(resources or {}),
            "max_retries": max_retries,
            "retry_exceptions": [LostProcessError, BusyError],
            "scheduling_strategy": "SPREAD",
        }
        _check_cluster(options)
        steps = _run(asked, options, segments)
    except BaseException:
        _give_back(folder)
        raise
    report = cast(BuildReport, steps[-1].pop("index"))
    if not keep_work:
        shutil.rmtree(folder)
    return BuildResult(place, report, [StepResult(**step) for step in steps])


def _run(
    asked: Dict[str, Any], options: Dict[str, Any], segments: int
) -> List[Dict[str, Any]]:
    task = ray.remote(_step).options(**options)
    prepared = ray.get(task.remote(asked, "prepare"))
    waiting = [task.remote(asked, number) for number in range(segments)]
    try:
        built = ray.get(waiting)
    except BaseException:
        for own in waiting:
            ray.cancel(own)
        raise
    return [prepared, *built, ray.get(task.remote(asked, "join"))]


def _step(asked: Mapping[str, Any], step: Any) -> Dict[str, Any]:
    """A task: one step, in a process of its own."""
    answer = run_step({**asked, "step": step})
    report = answer["report"]
    return {
        "step": report["step"],
        "node": ray.get_runtime_context().get_node_id(),
        "done_before": report["done_before"],
        "rows": report["nodes"],
        "peak_bytes": answer["peak_bytes"],
        "seconds": sum(seconds for _, seconds in report["seconds"]),
        **({"index": report["index"]} if step == "join" else {}),
    }


def _take(folder: str, goes_on: bool) -> None:
    """Makes the directory of the work, or refuses one that is none."""
    os.makedirs(folder, exist_ok=True)
    if goes_on:
        return
    others = sorted(os.listdir(folder))
    if others:
        raise InvalidInputError(
            f"{folder} is not the work of a build and not empty (it holds {others[0]}): give "
            "another as work"
        )
    with open(os.path.join(folder, _MARK), "w", encoding="utf-8") as file:
        json.dump({"work": "of pageway.ray.build: goes when the index is there"}, file)


def _give_back(folder: str) -> None:
    """Removes the directory of the work where nothing was done in it."""
    if os.listdir(folder) == [_MARK]:
        os.remove(os.path.join(folder, _MARK))
        os.rmdir(folder)


def _bytes_of(memory: Any) -> int:
    """Bytes of an amount of memory that does not depend on the rows."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)b?\s*", str(memory).lower())
    if found is None:
        raise InvalidInputError(f"build_memory = {memory!r}: give bytes, such as '2GB'")
    return int(float(found[1]) * _UNITS[found[2]])


def _check_words(asked: Mapping[str, Any]) -> None:
    """Refuses settings that cannot go to another process."""
    for name, value in asked.items():
        try:
            json.dumps(value)
        except TypeError:
            kind = type(value).__name__
            raise InvalidInputError(
                f"{name}: a {kind} cannot go to other machines: give a path, text or numbers"
            ) from None


def _check_cluster(options: Mapping[str, Any]) -> None:
    """Refuses what no machine has: Ray would wait for one to come."""
    wished = {
        "CPU": options["num_cpus"],
        "memory": options["memory"],
        **options["resources"],
    }
    all_nodes: List[Dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    nodes = [node["Resources"] for node in all_nodes if node["Alive"]]
    if any(all(node.get(kind, 0) >= own for kind, own in wished.items()) for node in nodes):
        return
    raise InvalidInputError(
        f"no machine of the cluster has {wished}, which each step asks for: its machines have "
        f"{nodes}"
    )
