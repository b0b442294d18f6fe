"""What recall an index has: measured once, or stored for searches to go by."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from ._arrays import as_queries, as_rows
from ._attributes import Filter, as_filter
from ._checks import checked_count
from ._progress import ProgressWish, Reporting
from ._settings import one_size, search_options
from .errors import PagewayWarning
from .reports import Calibration
from .results import RecallReport

if TYPE_CHECKING:
    from .index import Index


class Measured:
    """The recall of an index."""

    def measure_recall(  # type: ignore[misc]
        self: "Index",
        queries: Any = None,
        k: int = 10,
        recall: Optional[float] = None,
        effort: Optional[int] = None,
        *,
        list_size: Optional[int] = None,
        filter: Optional[Filter] = None,
        rows: int = 200,
        progress: ProgressWish = False,
    ) -> RecallReport:
        """Measures the recall@k that a search with these settings has now on these queries.

        The exact answer comes from a scan of all vectors, rows that came or went since the build
        included: a pass over the whole index, within the memory of searches.

        Parameters
        ----------
        queries : array_like, shape (n, d) or (d,), optional
            As for `search`. Without them rows of the index stand for queries, each of which does
            not find itself.
        k, recall, list_size, effort, filter
            As for `search`; a filter needs queries.
        rows : int
            How many rows of the index stand for queries.
        progress : bool or callable
            As for `build`.

        Returns
        -------
        RecallReport

        Raises
        ------
        InvalidInputError, CorruptError, StorageError
            As `search`.
        """
        own = None
        if queries is not None:
            own = as_rows(as_queries(queries, self._native.dimension, self._dtype))
        options = search_options(k, recall, one_size(list_size, effort))
        how = (options, checked_count("rows", rows))
        with Reporting(progress) as callback:
            found = self._native.measure_recall(own, how, as_filter(filter), callback)
        return RecallReport(**found)

    def calibrate(  # type: ignore[misc]
        self: "Index",
        queries: Optional[npt.ArrayLike] = None,
        *,
        k: Union[int, Sequence[int]] = (),
        calibration_queries: int = 500,
        seed: int = 42,
        progress: ProgressWish = False,
    ) -> Calibration:
        """Measures recall anew and stores it in the index, which needs no rebuild.

        What ``recall=`` of a search is read off. A build measures it on rows of the data, held
        out; queries that are unlike the data miss more, and some hundred of them say how much.
        Takes one pass over the index and some thousand searches. Other processes use it once they
        open or `refresh` the index. Lists that the memory of this index has no room for are not
        measured. Fewer than thirty queries tell little: a `PagewayWarning` says so.

        Parameters
        ----------
        queries : array_like, shape (n, d), optional
            Queries such as will be asked (`recent_queries`); held-out rows where absent.
        k : int or sequence of int, optional
            Numbers of neighbours to measure beside 1, 10, 30, 50, 100, 300 and 1000. Between measured
            ones list sizes are interpolated.
        calibration_queries : int
            Queries to measure with at most, evenly drawn.
        seed : int
            Of the draw.
        progress : bool or callable
            As for `build`.

        Returns
        -------
        dict (`pageway.reports.Calibration`)

        Raises
        ------
        InvalidInputError
            For no queries, or queries of another shape.
        BusyError
            Where a writer has the index.
        UnsupportedError
            For an index with dead rows.
        """
        rows = None
        if queries is not None:
            rows = as_rows(as_queries(queries, self._native.dimension, self._dtype))
        ranks = [int(k)] if isinstance(k, (int, np.integer)) else [int(one) for one in k]
        with Reporting(progress) as callback:
            options = (ranks, calibration_queries, seed)
            found, warning = self._native.calibrate(rows, options, callback)
        if warning is not None:
            warnings.warn(warning, PagewayWarning, stacklevel=2)
        calibration: Calibration = json.loads(found)
        return calibration

    @property
    def calibration(self: "Index") -> Calibration:  # type: ignore[misc]
        """What the build or `calibrate` measured: recall and page reads by k and list size."""
        calibration: Calibration = json.loads(self._native.calibration())
        return calibration
