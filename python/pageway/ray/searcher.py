"""`batch_search`: queries of a data set, by actors that each have the index open."""

from __future__ import annotations

import os
import uuid
from typing import Any, Dict, Mapping, Optional, Tuple, Union

import numpy as np
import ray

import pageway

from .._paths import PathLike, as_path, is_url
from .._settings import Memory

__all__ = ["batch_search"]

#: What a process takes beside the memory of the index.
_BESIDE_BYTES = 128 << 20


def batch_search(
    index: PathLike,
    dataset: Any,
    k: int = 10,
    *,
    recall: Optional[float] = None,
    column: str = "vector",
    batch_size: int = 256,
    actors: Union[int, Tuple[int, int]] = 1,
    num_cpus: float = 1,
    memory: Optional[Memory] = None,
    cache: Optional[PathLike] = None,
    search: Optional[Mapping[str, Any]] = None,
    **opening: Any,
) -> Any:
    """Searches an index for every row of a data set.

    Parameters
    ----------
    index : path or URL
        The index, which every machine of the cluster sees.
    dataset : ray.data.Dataset
        Queries: one a row, in `column`.
    k : int
        Neighbours.
    recall : float, optional
        As for `Index.search`.
    column : str
        Column of the queries.
    batch_size : int
        Queries of a call: a call of Ray costs about a millisecond, a query less.
    actors : int or (int, int)
        Processes that have the index open at the same time, or the least and the most.
    num_cpus : float
        Processors that each asks Ray for, and threads that it searches with.
    memory : int or str, optional
        As for `pageway.open`.
    cache : path, optional
        Of an index in object storage: a directory of each machine; every actor has its own in it.
    search : mapping, optional
        More that `Index.search` takes: list_size, filter, timeout, ...
    **opening
        More that `pageway.open` takes.

    Returns
    -------
    ray.data.Dataset
        The rows of `dataset` with the columns ``ids`` and ``distances``, k each.
    """
    place = as_path(index)
    place = place if is_url(place) else os.path.abspath(place)
    threads = max(1, int(num_cpus))
    opened = {"memory": memory, "threads": threads, "k": k, **opening}
    asked = {"k": k, "recall": recall, "threads": threads, **(search or {})}
    folder = None if cache is None else as_path(cache)
    options: Dict[str, Any] = {"num_cpus": num_cpus}
    if isinstance(memory, int):
        options["memory"] = memory + _BESIDE_BYTES
    return dataset.map_batches(
        Searcher,
        fn_constructor_args=(place, opened, asked, column, folder),
        batch_size=batch_size,
        batch_format="numpy",
        compute=_pool(actors),
        **options,
    )


def _pool(actors: Union[int, Tuple[int, int]]) -> Any:
    if isinstance(actors, int):
        return ray.data.ActorPoolStrategy(size=actors)
    return ray.data.ActorPoolStrategy(min_size=actors[0], max_size=actors[1])


class Searcher:
    """An open index, and how it is searched."""

    def __init__(
        self,
        place: str,
        opened: Dict[str, Any],
        asked: Dict[str, Any],
        column: str,
        cache: Optional[str],
    ) -> None:
        if cache is not None:
            # A cache belongs to one process.
            opened = {**opened, "cache": os.path.join(cache, uuid.uuid4().hex)}
        self._index = pageway.open(place, **opened)
        self._asked, self._column = asked, column

    def __call__(self, batch: Dict[str, Any]) -> Dict[str, Any]:
        queries = np.stack(list(batch[self._column]))
        found = self._index.search(queries, **self._asked)
        return {**batch, "ids": found.ids, "distances": found.distances}
