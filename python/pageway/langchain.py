"""A vector store of LangChain over an index on disk, without a server.

::

    pip install "pageway[langchain]"

    from pageway.langchain import PagewayVectorStore
    store = PagewayVectorStore(embedding, "texts.index", memory="200MB")
    store.add_texts(["a fox", "a hen"], [{"legs": 4}, {"legs": 2}])
    store.similarity_search("animals", k=1, filter="legs = 4", recall=0.98)

Texts and metadata are attributes of rows, ids their names. One process changes an index. Any number
of others search it as it was at the last flush: by itself, or by ``store.client.flush()``.
"""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union
from uuid import uuid4

import numpy as np

try:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
except ImportError as error:  # pragma: no cover
    raise ImportError('langchain-core is not installed: pip install "pageway[langchain]"') from error

from ._attributes import Filter
from ._conditions import equal, one_of, path_of
from ._settings import Metric
from ._store import Closes, Hit, Place, Store, similarity
from .errors import InvalidInputError

__all__ = ["PagewayVectorStore"]

#: What makes a mapping a filter of Qdrant's.
_CLAUSES = {"must", "should", "must_not", "min_should"}


class PagewayVectorStore(Closes, VectorStore):
    """Documents in an index, found by the vectors of their texts.

    Any number of threads may use one store. What is added is durable, and found, when the call
    returns. Every search takes the settings of `pageway.Index.search`: ``recall=``, ``list_size=``,
    ``timeout=``, ``tolerance=``.

    Parameters
    ----------
    embedding : Embeddings
        Makes vectors of texts.
    index : path or Index
        Directory of the index, which is made at the first document where none stands; or an index
        that is open already.
    metric : {"cosine", "l2", "inner_product", "l1"}, optional
        Distance; of an index that stands its own, else cosine.
    recall : float, optional
        Recall of searches that name none; 0.95 by default.
    text_key : str
        Attribute that holds the text, which filters see: ``"page_content contains 'fox'"``.
    metadata_key : str, optional
        Attribute that holds the metadata; by default its fields are attributes themselves.
        ``"metadata"`` reads what ``langchain-qdrant`` wrote, imported.
    relevance_score_fn : callable, optional
        Makes relevances from 0 to 1 of distances; by default the cosine, not below 0, and of L2 and
        L1 distances d 1 / (1 + d). Needed for inner products, which have no scale.
    **opening
        Settings of `pageway.open`: ``memory``, ``update_memory``, ``threads``; ``writable=False``
        to search alone.

    Raises
    ------
    InvalidInputError
        An index of another metric; a memory that is too small.
    BusyError
        Another process, or another store, changes the index.
    """

    def __init__(
        self,
        embedding: Embeddings,
        index: Place,
        *,
        metric: Optional[Metric] = None,
        recall: Optional[float] = None,
        text_key: str = "page_content",
        metadata_key: Optional[str] = None,
        relevance_score_fn: Optional[Callable[[float], float]] = None,
        **opening: Any,
    ) -> None:
        self._embedding = embedding
        self._recall = recall
        self._text_key, self._metadata_key = text_key, metadata_key
        self._relevance = relevance_score_fn
        if text_key == metadata_key:
            raise InvalidInputError(f"text_key and metadata_key are both {text_key!r}")
        self._store = Store(index, metric, opening)

    @classmethod
    def from_texts(
        cls,
        texts: List[str],
        embedding: Embeddings,
        metadatas: Optional[List[Dict[str, Any]]] = None,
        *,
        ids: Optional[List[str]] = None,
        index: Optional[Place] = None,
        **settings: Any,
    ) -> "PagewayVectorStore":
        """A store with some texts, in an index that is made, or added to where one stands.

        Parameters
        ----------
        texts, metadatas, ids
            As for `add_texts`.
        embedding, index, **settings
            As for the class; `index` must be given.

        Returns
        -------
        PagewayVectorStore
        """
        if index is None:
            raise InvalidInputError("index: give the directory of the index")
        store = cls(embedding, index, **settings)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @property
    def embeddings(self) -> Embeddings:
        """What makes vectors of texts."""
        return self._embedding

    def __len__(self) -> int:
        return len(self._store)

    def __bool__(self) -> bool:
        return True

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Optional[List[Dict[str, Any]]] = None,
        *,
        ids: Optional[Sequence[Optional[str]]] = None,
        batch_size: Optional[int] = None,
        **kwargs: Any,
    ) -> List[str]:
        """Puts texts in, each in place of the one of its id.

        Parameters
        ----------
        texts : iterable of str
            Up to 1 MiB each, with its metadata.
        metadatas : list of mapping, optional
            Of each text, such as JSON holds; moments become texts.
        ids : list of str, optional
            Texts of up to 256 bytes; a UUID where there is none. Of equal ids the last counts.
        batch_size : int, optional
            Texts that are embedded and put in at a time; all by default.

        Returns
        -------
        list of str
            The ids.

        Raises
        ------
        InvalidInputError
            Metadata that JSON cannot hold, or with a field of the name `text_key`; vectors of
            another length. Nothing of the batch is put in then.
        """
        rows, keys = self._rows(texts, metadatas, ids, kwargs)
        for at in _batches(len(rows), batch_size):
            vectors = self._embedding.embed_documents([row[self._text_key] for row in rows[at]])
            self._store.put(keys[at], vectors, rows[at])
        return keys

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Optional[List[Dict[str, Any]]] = None,
        *,
        ids: Optional[Sequence[Optional[str]]] = None,
        batch_size: Optional[int] = None,
        **kwargs: Any,
    ) -> List[str]:
        """As `add_texts`, awaited."""
        rows, keys = self._rows(texts, metadatas, ids, kwargs)
        for at in _batches(len(rows), batch_size):
            texts = [row[self._text_key] for row in rows[at]]
            vectors = await self._embedding.aembed_documents(texts)
            await asyncio.to_thread(self._store.put, keys[at], vectors, rows[at])
        return keys

    def delete(
        self,
        ids: Optional[List[str]] = None,
        *,
        filter: Optional[Filter] = None,
        **kwargs: Any,
    ) -> bool:
        """Deletes documents by their ids, or those that match a filter; all without either.

        Parameters
        ----------
        ids : list of str, optional
            Those that no document has are passed over.
        filter : optional
            As for `similarity_search`.

        Returns
        -------
        bool
            True.
        """
        _refuse(kwargs)
        if ids is not None and filter is not None:
            raise InvalidInputError("give either ids or a filter")
        self._store.delete(ids, "true" if filter is None else self._matching(filter))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> List[Document]:
        """The documents of some ids, in their order, without those that there are not."""
        rows = self._store.rows(ids)
        return [self._document(str(row.id), row.attributes or {}) for row in rows]

    def similarity_search(
        self, query: str, k: int = 4, *, filter: Optional[Filter] = None, **kwargs: Any
    ) -> List[Document]:
        """The `k` nearest documents of a text.

        Parameters
        ----------
        query : str
            What is looked for.
        k : int
            How many, at most.
        filter : str, mapping or iterable of str, optional
            What documents must be: an expression (``"year >= 2020 and lang = 'de'"``), fields of
            the metadata with their values (``{"lang": "de"}``, or one of a list), a filter of
            Qdrant's, or ids. As many are returned as match, up to `k`.
        **kwargs
            Settings of `pageway.Index.search`: ``recall=``, ``list_size=``, ``timeout=``.

        Returns
        -------
        list of Document
        """
        return _alone(self.similarity_search_with_score(query, k, filter=filter, **kwargs))

    async def asimilarity_search(
        self, query: str, k: int = 4, *, filter: Optional[Filter] = None, **kwargs: Any
    ) -> List[Document]:
        """As `similarity_search`, awaited."""
        return _alone(await self.asimilarity_search_with_score(query, k, filter=filter, **kwargs))

    def similarity_search_by_vector(
        self, embedding: List[float], k: int = 4, *, filter: Optional[Filter] = None, **kwargs: Any
    ) -> List[Document]:
        """As `similarity_search`, by a vector."""
        return _alone(self._with_scores(self._near(embedding, k, filter, kwargs)))

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Optional[Filter] = None, **kwargs: Any
    ) -> List[Tuple[Document, float]]:
        """As `similarity_search`, with distances: smaller is nearer."""
        if not len(self._store):
            return []
        vector = self._embedding.embed_query(query)
        return self._with_scores(self._near(vector, k, filter, kwargs))

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Optional[Filter] = None, **kwargs: Any
    ) -> List[Tuple[Document, float]]:
        """As `similarity_search_with_score`, awaited."""
        if not len(self._store):
            return []
        vector = await self._embedding.aembed_query(query)
        return self._with_scores(await asyncio.to_thread(self._near, vector, k, filter, kwargs))

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Optional[Filter] = None,
        **kwargs: Any,
    ) -> List[Document]:
        """Documents that are near, and unlike each other: `k` of the `fetch_k` nearest.

        Parameters
        ----------
        query, k, filter, **kwargs
            As for `similarity_search`.
        fetch_k : int
            How many to choose from.
        lambda_mult : float
            From 0, as different as can be, to 1, as near as can be.

        Returns
        -------
        list of Document
        """
        if not len(self._store):
            return []
        vector = self._embedding.embed_query(query)
        return self._diverse(vector, (k, fetch_k, lambda_mult), filter, kwargs)

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Optional[Filter] = None,
        **kwargs: Any,
    ) -> List[Document]:
        """As `max_marginal_relevance_search`, awaited."""
        if not len(self._store):
            return []
        vector = await self._embedding.aembed_query(query)
        sizes = k, fetch_k, lambda_mult
        return await asyncio.to_thread(self._diverse, vector, sizes, filter, kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: List[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Optional[Filter] = None,
        **kwargs: Any,
    ) -> List[Document]:
        """As `max_marginal_relevance_search`, by a vector."""
        return self._diverse(embedding, (k, fetch_k, lambda_mult), filter, kwargs)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        metric = self._store.metric
        if self._relevance is not None:
            return self._relevance
        if metric == "inner_product":
            raise InvalidInputError("inner products have no scale: give relevance_score_fn")
        return lambda distance: min(1.0, max(0.0, similarity(metric, distance)))

    def _rows(
        self,
        texts: Iterable[str],
        metadatas: Optional[List[Dict[str, Any]]],
        ids: Optional[Sequence[Optional[str]]],
        unknown: Mapping[str, Any],
    ) -> Tuple[List[Dict[str, Any]], List[str]]:
        """Attributes and ids of texts."""
        _refuse(unknown)
        own = list(texts)
        beside = [{}] * len(own) if metadatas is None else metadatas
        keys = [None] * len(own) if ids is None else list(ids)
        for name, given in (("metadatas", beside), ("ids", keys)):
            if len(given) != len(own):
                raise InvalidInputError(f"{len(own)} texts, but {len(given)} {name}")
        known = [str(uuid4()) if key is None else str(key) for key in keys]
        return [self._attributes(*row) for row in zip(known, own, beside)], known

    def _attributes(self, id: str, text: str, metadata: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
        if self._metadata_key is not None:
            return {self._text_key: text, self._metadata_key: dict(metadata or {})}
        if metadata and self._text_key in metadata:
            words = f"metadata of {id!r} has {self._text_key!r}, where the text lies"
            raise InvalidInputError(f"{words}: give another text_key, or a metadata_key")
        return {self._text_key: text, **(metadata or {})}

    def _document(self, id: str, attributes: Dict[str, Any]) -> Document:
        own = dict(attributes)
        text = own.pop(self._text_key, None)
        if not isinstance(text, str):
            words = f"{self._store.path}: the row {id!r} has no text at {self._text_key!r}"
            raise InvalidInputError(f"{words}: say where with text_key")
        metadata = own if self._metadata_key is None else own.get(self._metadata_key) or {}
        return Document(id=id, page_content=text, metadata=metadata)

    def _matching(self, filter: Optional[Filter]) -> Optional[Filter]:
        """A filter as an index takes it."""
        if callable(filter):
            raise InvalidInputError("filter: an expression, a mapping or ids, not a function")
        if not isinstance(filter, Mapping) or _CLAUSES & set(filter):
            return filter
        within = () if self._metadata_key is None else (self._metadata_key,)
        return {"must": [_has(path_of(*within, name), own) for name, own in filter.items()]}

    def _near(
        self, vector: Any, k: int, filter: Optional[Filter], settings: Mapping[str, Any]
    ) -> List[Hit]:
        how = dict(settings)
        if self._recall is not None and not how.keys() & {"list_size", "effort"}:
            how.setdefault("recall", self._recall)
        return self._store.nearest(vector, k, self._matching(filter), **how)

    def _diverse(
        self,
        vector: Any,
        sizes: Tuple[int, int, float],
        filter: Optional[Filter],
        settings: Mapping[str, Any],
    ) -> List[Document]:
        k, fetch_k, lambda_mult = sizes
        hits = self._near(vector, max(k, fetch_k), filter, settings)
        stored = self._store.vectors(hits)
        there = [hit for hit in hits if hit.id in stored]
        asked = np.asarray(vector, np.float32)
        rows = [stored[hit.id].astype(np.float32) for hit in there]
        chosen = maximal_marginal_relevance(asked, rows, lambda_mult, k)  # type: ignore[arg-type]
        return _alone(self._with_scores([there[at] for at in chosen]))

    def _with_scores(self, hits: List[Hit]) -> List[Tuple[Document, float]]:
        return [(self._document(hit.id, hit.attributes), hit.distance) for hit in hits]


def _batches(count: int, size: Optional[int]) -> List[slice]:
    step = max(1, count if size is None else size)
    return [slice(first, first + step) for first in range(0, count, step)]


def _alone(scored: List[Tuple[Document, float]]) -> List[Document]:
    return [document for document, _ in scored]


def _has(path: str, value: Union[Any, Sequence[Any]]) -> Dict[str, Any]:
    if isinstance(value, Mapping):
        raise InvalidInputError(f"filter: {path}: a value or a list of values is expected")
    return one_of(path, list(value)) if isinstance(value, (list, tuple, set)) else equal(path, value)


def _refuse(unknown: Mapping[str, Any]) -> None:
    if unknown:
        raise TypeError(f"unknown: {', '.join(unknown)}")
