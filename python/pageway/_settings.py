"""Settings of `build`, `open`, `search` and `range`, checked and named as the engine takes them."""

from __future__ import annotations

import json
import warnings
from typing import Any, Literal, Mapping, Optional, Tuple, Union

import numpy as np

from . import _native
from ._checks import (
    as_memory,
    checked_count,
    checked_flag,
    checked_number,
    checked_optional,
    checked_text,
)
from ._paths import PathLike, as_path
from .errors import InvalidInputError, PagewayWarning

Memory = Union[str, int]
#: A share of the distance, or ``"any"``.
Tolerance = Union[str, float]
#: Results of a query for all within a radius, where nobody gives a limit.
RANGE_LIMIT = 10_000
#: Per policy the name of a choice, or its fields.
Overrides = Mapping[str, Union[None, str, int, Mapping[str, Any]]]

#: Names that the engine knows; a test compares.
Metric = Literal["l2", "inner_product", "cosine", "l1", "hamming", "jaccard"]
SegmentCut = Literal["arrival", "space"]
PresetName = Literal[
    "diskann",
    "aisaq",
    "starling",
    "gorgeous",
    "pageann",
    "pageann-disk",
    "pipeann",
    "dgai",
    "freshdiskann",
    "odinann",
    "ipdiskann",
    "pageway",
]
Form = Literal["resident", "clustered", "on-disk"]

#: What builds and searches take where nobody says, from the engine.
DEFAULTS = _native.defaults()


def design(
    preset: str,
    form: Optional[str],
    overrides: Optional[Overrides],
    degree: int,
    build_list: int,
    code_bytes: Optional[int],
    page_bytes: int,
    beam: Optional[int],
    seed: int,
) -> _native._Design:
    """What an index is to be."""
    return {
        "preset": checked_text("preset", preset),
        "form": optional_text("form", form),
        "overrides": None if overrides is None else _as_json(overrides),
        "degree": checked_count("degree", degree),
        "build_list": checked_count("build_list", build_list),
        "code_bytes": checked_optional("code_bytes", code_bytes),
        "page_bytes": checked_count("page_bytes", page_bytes),
        "beam": checked_optional("beam", beam),
        "seed": checked_count("seed", seed, 2**64 - 1),
    }


def budgets(
    memory: Optional[Memory], build_memory: Optional[Memory], disk: Optional[Memory]
) -> _native._Budgets:
    """What an index, its build and its files may take."""
    return {
        "memory": as_memory("memory", memory),
        "build_memory": as_memory("build_memory", build_memory),
        "disk": as_memory("disk", disk),
    }


def _as_json(overrides: Overrides) -> str:
    """Overrides as the engine reads them; numbers may be those of numpy."""
    if not isinstance(overrides, Mapping):
        kind = type(overrides).__name__
        raise InvalidInputError(
            f"overrides: give a dict such as {{'placement': 'bnf'}}, not a {kind}"
        )
    for policy, wish in overrides.items():
        try:
            json.dumps({policy: wish}, default=_plain, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"overrides: {policy}: {error}") from error
    return json.dumps(overrides, default=_plain)


def _plain(value: Any) -> Any:
    """What JSON can write of a number of numpy, or of a mapping that is no dict."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is neither a name, a number nor a dict")


def open_options(
    memory: Optional[Memory],
    threads: int,
    interleave: int,
    k: int,
    list_size: Optional[int],
    beam: Optional[int],
    follow: Optional[float] = None,
    recent_queries: int = 0,
    cache: Optional[Tuple[str, str, str]] = None,
) -> _native._OpenOptions:
    """What an open index may hold, and the largest searches to come."""
    return {
        "memory": as_memory("memory", memory),
        "threads": checked_count("threads", threads),
        "interleave": checked_count("interleave", interleave),
        "k": checked_count("k", k),
        "list_size": checked_optional("list_size", list_size),
        "beam": checked_optional("beam", beam),
        "follow": _optional_number("follow", follow),
        "recent_queries": checked_count("recent_queries", recent_queries),
        "cache": cache,
    }


def cache_options(
    cache: Optional[PathLike], size: Memory, mode: str
) -> Optional[Tuple[str, str, str]]:
    """The cache of an index in object storage."""
    if cache is None:
        return None
    return as_path(cache, "cache"), as_memory("cache_bytes", size) or "", checked_text("cache_mode", mode)


def update_options(
    memory: Optional[Memory], salvage: bool, latency_target: Optional[float]
) -> _native._UpdateOptions:
    """What an index that is open to be changed may take for that."""
    return {
        "memory": as_memory("update_memory", memory),
        "build_memory": None,
        "threads": 1,
        "salvage": checked_flag("salvage", salvage),
        "latency_target": _optional_number("latency_target", latency_target),
    }


def one_size(list_size: Optional[int], effort: Optional[int]) -> Optional[int]:
    """The list size, by either of its names."""
    if list_size is not None and effort is not None:
        raise InvalidInputError("list_size and effort are names of one setting: give one of them")
    return effort if list_size is None else list_size


def search_options(
    k: int,
    recall: Optional[float] = None,
    list_size: Optional[int] = None,
    beam: Optional[int] = None,
    threads: int = 0,
    tolerance: Tolerance = 0.0,
    timeout: Optional[float] = None,
    strategy: Optional[str] = None,
) -> _native._SearchOptions:
    """How to search for the nearest."""
    if recall is not None and list_size is not None:
        raise InvalidInputError("recall and list_size both say how hard to try: give one of them")
    if recall is None and list_size is None:
        recall = DEFAULTS["recall"]
    return {
        "k": checked_count("k", k),
        "radius": None,
        "recall": _optional_number("recall", recall),
        "list_size": checked_optional("list_size", list_size),
        "beam": checked_optional("beam", beam),
        "threads": checked_count("threads", threads),
        "tolerance": _as_share(tolerance),
        "timeout": _optional_number("timeout", timeout),
        "strategy": optional_text("strategy", strategy),
    }


def _as_share(tolerance: Tolerance) -> str:
    """A tolerance as the engine reads it."""
    if isinstance(tolerance, str):
        return tolerance
    return repr(checked_number("tolerance", tolerance))


def range_options(
    radius: float,
    list_size: int,
    limit: Optional[int],
    beam: Optional[int],
    threads: int,
    tolerance: Tolerance,
    timeout: Optional[float],
    strategy: Optional[str],
) -> _native._SearchOptions:
    """How to search for all within a radius."""
    size = checked_count("list_size", list_size)
    limit = checked_count("limit", RANGE_LIMIT if limit is None else limit)
    nearest = search_options(limit, None, size, beam, threads, tolerance, timeout, strategy)
    return {**nearest, "radius": checked_number("radius", radius)}


def warn_of_limit(limit: Optional[int], truncated: int) -> None:
    """Tells the caller of `Index.range` where a limit that nobody gave cut answers."""
    if limit is None and truncated:
        words = f"queries that found {RANGE_LIMIT:,} results: {truncated}"
        warnings.warn(f"{words}; there may be more, give a `limit`", PagewayWarning, stacklevel=3)


def optional_text(name: str, value: Optional[str]) -> Optional[str]:
    """`checked_text` where there is a value."""
    return None if value is None else checked_text(name, value)


def _optional_number(name: str, value: Optional[float]) -> Optional[float]:
    return None if value is None else checked_number(name, value)
