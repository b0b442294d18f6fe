"""Searches that an event loop can await; they run on threads, with the interpreter's lock released."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .results import RangeResult, SearchResult

if TYPE_CHECKING:
    from .index import Index


class Asynchronous:
    """The searches of an index as coroutines."""

    async def asearch(self: "Index", q: Any, k: int = 10, **settings: Any) -> SearchResult:  # type: ignore[misc]
        """As `search`, awaited; the event loop goes on meanwhile.

        Searches at the same time share the memory that ``threads`` of `pageway.open` set aside.

        Parameters
        ----------
        q, k, **settings
            As for `search`.

        Returns
        -------
        SearchResult

        Raises
        ------
        PagewayError
            As `search`. A task that is cancelled leaves its search to end by itself; bound it with
            ``timeout``.

        Examples
        --------
        >>> import asyncio
        >>> async def both():
        ...     return await asyncio.gather(index.asearch(query), index.asearch(query, k=3))
        >>> [len(found.ids) for found in asyncio.run(both())]
        [10, 3]
        """
        return await asyncio.to_thread(self.search, q, k, **settings)

    async def arange(self: "Index", queries: Any, radius: float, **settings: Any) -> RangeResult:  # type: ignore[misc]
        """As `range`, awaited.

        Parameters
        ----------
        queries, radius, **settings
            As for `range`.

        Returns
        -------
        RangeResult
        """
        return await asyncio.to_thread(self.range, queries, radius, **settings)
