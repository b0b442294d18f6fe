"""A build as it was asked for, handed to the engine."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._attributes import as_documents, as_schema
from ._checks import (
    checked_count,
    checked_flag,
    checked_number,
    checked_optional,
    checked_text,
)
from ._elements import as_element
from ._ids import as_keys
from ._paths import PathLike, as_directory, as_path, is_path
from ._progress import Reporting, check_wish
from ._settings import budgets, design
from ._sources import as_input
from ._sources.documents import same_table
from .errors import ExistsError, InvalidInputError, naming

#: What the engine does with a path, rows, options and a callback.
Act = Callable[..., Tuple[str, Optional[float]]]


def carry_out(given: Mapping[str, Any], act: Act) -> Tuple[str, Dict[str, Any]]:
    """Does `act` with the arguments of `pageway.build`, by name.

    Gives what it says, as JSON, and what reading the rows took beside it.
    """
    place = as_directory(given["path"])
    options = _options(given)
    check_wish(given["progress"])
    with ExitStack() as stack:
        stack.enter_context(naming(place))
        read = partial(as_input, dtype=given["dtype"], beside=place)
        data, column, id_column = given["data"], given["column"], given["id_column"]
        vectors = stack.enter_context(read(data, "data", column=column, id_column=id_column))
        examples = None
        if given["queries"] is not None:
            examples = stack.enter_context(read(given["queries"], "queries")).vectors
        attributes = given["attributes"]
        own = (column, id_column) if same_table(attributes, data) else None
        documents = as_documents(attributes, own)
        rows = (vectors.vectors, _ids(given["ids"], vectors.ids), examples, documents)
        callback = stack.enter_context(Reporting(given["progress"], f"build {place}"))
        text, worst_rounding = act(place, rows, options, callback)
    return text, {"scratch_bytes": vectors.scratch_bytes, "worst_rounding": worst_rounding}


def place_of(path: PathLike, data: Any) -> str:
    """The directory of the index as text; says so where `data` stands in its place."""
    if is_path(data) and not is_path(path):
        raise TypeError(
            f"path must be a str or a pathlib.Path, not {type(path).__name__}: the directory of the "
            "index comes first, then the vectors, build(path, data)"
        )
    return as_path(path)


def refuse_to_replace(path: str, overwrite: bool) -> None:
    """Says so where an index stands that nobody said to replace."""
    if not checked_flag("overwrite", overwrite) and os.path.exists(os.path.join(path, "MANIFEST")):
        raise ExistsError(
            f"{path}: an index stands here; pass overwrite=True to replace it, or open it with "
            "pageway.open",
            filename=path,
        )


def _options(given: Mapping[str, Any]) -> _native._BuildOptions:
    store = given["store"]
    return {
        "metric": checked_text("metric", given["metric"]),
        "design": design(
            given["preset"],
            given["form"],
            given["overrides"],
            given["degree"],
            given["build_list"],
            given["code_bytes"],
            given["page_bytes"],
            given["beam"],
            given["seed"],
        ),
        "recall": checked_number("recall", given["recall"]),
        "budgets": budgets(given["memory"], given["build_memory"], given["disk"]),
        "codebook_from": _optional("codebook_from", given["codebook_from"]),
        "graph_from": _optional("graph_from", given["graph_from"]),
        "scratch": {
            "dir": _optional("scratch", given["scratch"]),
            "resume": checked_flag("resume", given["resume"]),
        },
        "threads": checked_count("threads", given["threads"]),
        "segments": {
            "count": checked_count("segments", given["segments"]),
            "cut": checked_text("cut", given["cut"]),
        },
        "calibration_queries": checked_optional(
            "calibration_queries", given["calibration_queries"]
        ),
        "schema": as_schema(given["schema"]),
        "store": None if store is None else as_element(store, "store"),
    }


def _ids(
    ids: Any, own: Union[None, str, List[str], npt.NDArray[np.uint64]]
) -> _native._Ids:
    """Ids as the native build takes them: a path, an array, or names; `own` are those of the source."""
    if ids is None:
        return own
    if own is not None:
        raise InvalidInputError("the data bring ids of their own: leave ids, or id_column, away")
    if is_path(ids):
        return as_path(ids)
    return as_keys(ids)


def _optional(name: str, path: Optional[PathLike]) -> Optional[str]:
    """A path as the native build takes it, where there is one."""
    return None if path is None else as_path(path, name)
