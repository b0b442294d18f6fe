"""One ranking of several: of an index and of a text search, or of two indexes."""

from __future__ import annotations

import math
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union
from uuid import UUID

import numpy as np
import numpy.typing as npt

from ._checks import checked_count
from .errors import InvalidInputError
from .results import Ids, SearchResult

__all__ = ["FusedResult", "fuse"]

#: Ids of one query, or of many; -1 is a place without a result.
Ranking = Union[SearchResult, npt.NDArray[Any], Sequence[Any]]


class FusedResult(NamedTuple):
    """A ranking made of several.

    Attributes
    ----------
    ids : ndarray, shape (k,) or (n, k)
        Ids, best first, -1 where there are fewer; int64, or objects where there are names.
    scores : ndarray of float64, same shape
        Scores; larger is better, 0 where there is no result.
    """

    ids: Ids
    scores: npt.NDArray[np.float64]


def fuse(
    rankings: Sequence[Ranking],
    k: int = 10,
    *,
    weights: Optional[Sequence[float]] = None,
    constant: float = 60.0,
) -> FusedResult:
    """Reciprocal rank fusion: ids that several rankings place high come first.

    An id at place ``r`` (from 1) of ranking ``i`` gets ``weights[i] / (constant + r)``, summed over
    the rankings that have it. Distances and scores are not looked at, so rankings of any kind can be
    fused. Ask each ranking for more than `k`: what none of them has cannot come.

    Parameters
    ----------
    rankings : sequence of SearchResult, array_like of ids, or (for one query) sequence of ids
        Best first, of one query (shape ``(m,)``) or all of as many (``(n, m)``); ``m`` may differ.
        Ids are whole numbers or names; -1 is no result. An id counts once in a ranking.
    k : int
        Ids wanted of each query.
    weights : sequence of float, optional
        What each ranking counts, 0 or more; 1 by default.
    constant : float
        0 or more. The larger, the less the first places count beside those behind them.

    Returns
    -------
    FusedResult
        Of equal scores the one comes first that comes first in a ranking; of equal places that of
        the first ranking.

    Raises
    ------
    InvalidInputError
        No ranking, other shapes, another number of queries, weights or a constant that are negative
        or no numbers.

    Notes
    -----
    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009; 60 is theirs. Costs the sum of all lengths.

    Examples
    --------
    >>> fuse([[3, 1, 2], [1, 4]], k=2).ids
    array([1, 3])
    """
    k = checked_count("k", k)
    tables = [_table(ranking, at) for at, ranking in enumerate(rankings)]
    if not tables:
        raise InvalidInputError("rankings: there is none to fuse")
    shapes = {(table.ndim, len(table) if table.ndim == 2 else 1) for table in tables}
    if len(shapes) > 1:
        raise InvalidInputError(
            "rankings: are of different queries, with shapes "
            + ", ".join(str(table.shape) for table in tables)
        )
    counted = _counted(weights, len(tables))
    if not (math.isfinite(constant) and constant >= 0):
        raise InvalidInputError(f"constant is {constant}: a number of 0 or more")
    dimensions, queries = shapes.pop()
    rows = [np.atleast_2d(table) for table in tables]
    best = [_best([own[query] for own in rows], counted, constant, k) for query in range(queries)]
    ids = _ids([own for own, _ in best], k)
    padded = [own + [0.0] * (k - len(own)) for _, own in best]
    scores = np.array(padded, np.float64).reshape(queries, k)
    return FusedResult(ids, scores) if dimensions == 2 else FusedResult(ids[0], scores[0])


def _table(ranking: Ranking, at: int) -> npt.NDArray[Any]:
    """Ids of a ranking as an array of one axis or two; numbers of any type and names as objects."""
    ids = getattr(ranking, "ids", ranking)
    table = ids if isinstance(ids, np.ndarray) else np.array(list(ids), dtype=object)
    if table.ndim not in (1, 2):
        raise InvalidInputError(
            f"rankings: number {at} has shape {table.shape}, not (m,) or (n, m)"
        )
    if table.dtype.kind not in "iuUO":
        raise InvalidInputError(f"rankings: number {at} holds {table.dtype}, which are no ids")
    return table


def _counted(weights: Optional[Sequence[float]], count: int) -> List[float]:
    own = [1.0] * count if weights is None else [float(weight) for weight in weights]
    if len(own) != count:
        raise InvalidInputError(f"weights: {len(own)} for {count} rankings")
    for weight in own:
        if not (math.isfinite(weight) and weight >= 0):
            raise InvalidInputError(f"weights: {weight} is not a number of 0 or more")
    return own


def _best(
    rankings: List[npt.NDArray[Any]], weights: List[float], constant: float, k: int
) -> Tuple[List[Any], List[float]]:
    """Ids of a query with their scores."""
    scores: Dict[Any, float] = {}
    first: Dict[Any, Tuple[int, int]] = {}
    for number, (ranking, weight) in enumerate(zip(rankings, weights)):
        there = (_id(one) for one in ranking if one is not None)
        for place, one in enumerate(dict.fromkeys(one for one in there if one != -1), start=1):
            scores[one] = scores.get(one, 0.0) + weight / (constant + place)
            first[one] = min(first.get(one, (place, number)), (place, number))
    order = sorted(scores, key=lambda one: (-scores[one], first[one]))[:k]
    return order, [scores[one] for one in order]


def _id(one: Any) -> Union[int, str]:
    """An id as Python has it."""
    if isinstance(one, (int, np.integer)):
        return int(one)
    if isinstance(one, (str, UUID)):
        return str(one)
    raise InvalidInputError(f"rankings: {one!r} is no id: whole numbers and names are")


def _ids(rows: List[List[Any]], k: int) -> Ids:
    """Ids of all queries with -1 at the end, as numbers where all are."""
    filled = [row + [-1] * (k - len(row)) for row in rows]
    numbers = [one for row in filled for one in row]
    whole = all(isinstance(one, int) for one in numbers)
    small = whole and all(-1 <= one < 2**63 for one in numbers)
    table = np.empty((len(filled), k), np.int64 if small else object)
    for at, row in enumerate(filled):
        table[at] = row
    return table
