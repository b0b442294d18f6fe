"""A vector store of LlamaIndex over an index on disk, without a server.

::

    pip install "pageway[llama-index]"

    from pageway.llama_index import PagewayVectorStore
    store = PagewayVectorStore("texts.index", memory="200MB")
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex(nodes, storage_context=context)
    index.as_retriever(similarity_top_k=3, vector_store_kwargs={"recall": 0.98}).retrieve("animals")

Metadata are attributes of rows, ids of nodes their names; the nodes lie beside, where no filter sees
them. One process changes an index. Any number of others search it as it was at the last flush: by
itself, or by ``store.client.flush()``.
"""

from __future__ import annotations

import asyncio
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
    from llama_index.core.schema import BaseNode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError as error:  # pragma: no cover
    words = 'llama-index-core is not installed: pip install "pageway[llama-index]"'
    raise ImportError(words) from error

from ._conditions import Condition, equal, one_of, path_of
from ._settings import Metric
from ._store import Closes, Hit, Place, Store, similarity
from .errors import InvalidInputError, UnsupportedError

__all__ = ["PagewayVectorStore"]

#: Where a node lies as JSON: filters see no key that begins so.
_NODE = "\0node"
#: Where other stores have it.
_NODE_ELSEWHERE = "_node_content"
#: How many times as many as are wanted a diverse answer is chosen from.
_PREFETCH = 4

_RANGES = {
    FilterOperator.GT: "gt",
    FilterOperator.GTE: "gte",
    FilterOperator.LT: "lt",
    FilterOperator.LTE: "lte",
}
_TEXTS = (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE)


class PagewayVectorStore(Closes, BasePydanticVectorStore):
    """Nodes in an index, found by their embeddings.

    Any number of threads may use one store. What is added is durable, and found, when the call
    returns; a node takes the place of the one of its id.

    Parameters
    ----------
    index : path or Index
        Directory of the index, which is made at the first node where none stands; or an index that
        is open already.
    metric : {"cosine", "l2", "inner_product", "l1"}, optional
        Distance; of an index that stands its own, else cosine.
    recall : float, optional
        Recall of queries that name none; 0.95 by default.
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

    stores_text: bool = True
    is_embedding_query: bool = True
    recall: Optional[float] = None
    _store: Store = PrivateAttr()

    def __init__(
        self,
        index: Place,
        *,
        metric: Optional[Metric] = None,
        recall: Optional[float] = None,
        **opening: Any,
    ) -> None:
        super().__init__(stores_text=True)
        self.recall = recall
        self._store = Store(index, metric, opening)

    @classmethod
    def class_name(cls) -> str:
        """The name of the class."""
        return "PagewayVectorStore"

    def add(self, nodes: Sequence[BaseNode], **add_kwargs: Any) -> List[str]:
        """Puts nodes in, each in place of the one of its id.

        Parameters
        ----------
        nodes : sequence of BaseNode
            With embeddings; up to 1 MiB each, its metadata twice. Ids of up to 256 bytes.

        Returns
        -------
        list of str
            Their ids.

        Raises
        ------
        InvalidInputError
            Metadata that JSON cannot hold; embeddings of another length. Nothing is put in then.
        """
        ids = [node.node_id for node in nodes]
        embeddings = [node.get_embedding() for node in nodes]
        self._store.put(ids, embeddings, [_attributes(node) for node in nodes])
        return ids

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> List[str]:
        """As `add`, awaited."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Deletes the nodes of a document."""
        self._store.delete(filter={"must": [equal("ref_doc_id", ref_doc_id)]})

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """As `delete`, awaited."""
        await asyncio.to_thread(self.delete, ref_doc_id)

    def delete_nodes(
        self,
        node_ids: Optional[List[str]] = None,
        filters: Optional[MetadataFilters] = None,
        **delete_kwargs: Any,
    ) -> None:
        """Deletes nodes by their ids, by filters, or those of some ids that match.

        Raises
        ------
        InvalidInputError
            Neither is given: `clear` deletes all.
        """
        conditions = _of_filters(filters)
        if node_ids is None and not conditions:
            raise InvalidInputError("give node_ids or filters; clear() deletes all nodes")
        if not conditions:
            self._store.delete(node_ids)
        elif node_ids is None or node_ids:
            self._store.delete(filter=_all_of([*_of_ids(node_ids), *conditions]))

    async def adelete_nodes(
        self,
        node_ids: Optional[List[str]] = None,
        filters: Optional[MetadataFilters] = None,
        **delete_kwargs: Any,
    ) -> None:
        """As `delete_nodes`, awaited."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters)

    def clear(self) -> None:
        """Deletes all nodes."""
        self._store.delete(filter="true")

    async def aclear(self) -> None:
        """As `clear`, awaited."""
        await asyncio.to_thread(self.clear)

    def get_nodes(
        self,
        node_ids: Optional[List[str]] = None,
        filters: Optional[MetadataFilters] = None,
    ) -> List[BaseNode]:
        """The nodes of some ids, those that match, or all; without embeddings."""
        conditions = _of_filters(filters)
        if node_ids is not None and not conditions:
            rows = iter(self._store.rows(node_ids))
        else:
            rows = self._store.matching(_all_of([*_of_ids(node_ids), *conditions]))
        return [self._node(str(row.id), row.attributes or {}) for row in rows]

    async def aget_nodes(
        self,
        node_ids: Optional[List[str]] = None,
        filters: Optional[MetadataFilters] = None,
    ) -> List[BaseNode]:
        """As `get_nodes`, awaited."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The nearest nodes of an embedding.

        Parameters
        ----------
        query : VectorStoreQuery
            Its mode is ``DEFAULT`` or ``MMR``. Filters mean what they mean in LlamaIndex, but: a
            list in metadata counts as each of its values; texts are matched by whole words in a
            row, upper and lower case being equal.
        **kwargs
            Settings of `pageway.Index.search`: ``recall=``, ``list_size=``, ``timeout=``; of MMR
            ``mmr_threshold=`` (0.5) and ``mmr_prefetch_factor=`` (4).

        Returns
        -------
        VectorStoreQueryResult
            With similarities: the cosine, the inner product, or of L2 and L1 distances d
            1 / (1 + d).

        Raises
        ------
        UnsupportedError
            Other modes.
        """
        if query.mode not in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR):
            mode = getattr(query.mode, "value", query.mode)
            raise UnsupportedError(f"mode {mode}: default and mmr are there")
        if query.query_embedding is None:
            raise InvalidInputError("query: has no embedding")
        settings = dict(kwargs)
        threshold = settings.pop("mmr_threshold", query.mmr_threshold)
        factor = settings.pop("mmr_prefetch_factor", _PREFETCH)
        if query.mode == VectorStoreQueryMode.DEFAULT:
            return self._result(self._near(query, 1, settings))
        hits = self._near(query, factor, settings)
        return self._result(*self._diverse(query, hits, threshold))

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """As `query`, awaited."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Copies the index into a new directory; what is added is durable without.

        Of the ``.json`` that a StorageContext asks for nothing is written: rows stay where they
        are, and the store is opened again by its path.

        Raises
        ------
        InvalidInputError
            There is an index already.
        UnsupportedError
            A file system other than this machine's.
        """
        index = self._store.index
        if index is None or str(persist_path).endswith(".json"):
            return
        if fs is not None and "file" not in (fs.protocol, *fs.protocol):
            raise UnsupportedError(f"{persist_path}: an index is copied to a local directory")
        index.snapshot(persist_path)

    def _near(self, query: VectorStoreQuery, times: int, settings: Mapping[str, Any]) -> List[Hit]:
        # An index of the framework gives an empty list where it means all nodes.
        conditions = [*_of_ids(query.node_ids or None), *_of_filters(query.filters)]
        if query.doc_ids:
            conditions.append(one_of("doc_id", query.doc_ids))
        how = dict(settings)
        if self.recall is not None and not how.keys() & {"list_size", "effort"}:
            how.setdefault("recall", self.recall)
        matching = _all_of(conditions) if conditions else None
        wanted = query.similarity_top_k * times
        return self._store.nearest(query.query_embedding, wanted, matching, **how)

    def _diverse(
        self, query: VectorStoreQuery, hits: List[Hit], threshold: Optional[float]
    ) -> Tuple[List[Hit], List[float]]:
        stored = self._store.vectors(hits)
        there = {hit.id: hit for hit in hits if hit.id in stored}
        if not there:
            return [], []
        scores, ids = get_top_k_mmr_embeddings(
            query.query_embedding or [],
            [stored[id] for id in there],  # type: ignore[misc]
            similarity_top_k=query.similarity_top_k,
            embedding_ids=list(there),
            mmr_threshold=threshold,
        )
        return [there[id] for id in ids], [float(score) for score in scores]

    def _result(
        self, hits: List[Hit], scores: Optional[List[float]] = None
    ) -> VectorStoreQueryResult:
        metric = self._store.metric
        own = [similarity(metric, hit.distance) for hit in hits] if scores is None else scores
        nodes = [self._node(hit.id, hit.attributes) for hit in hits]
        return VectorStoreQueryResult(nodes=nodes, similarities=own, ids=[hit.id for hit in hits])

    def _node(self, id: str, attributes: Mapping[str, Any]) -> BaseNode:
        content = attributes.get(_NODE, attributes.get(_NODE_ELSEWHERE))
        if not isinstance(content, str):
            raise InvalidInputError(f"{self._store.path}: the row {id!r} is no node of LlamaIndex")
        known = {_NODE_ELSEWHERE: content, "_node_type": attributes.get("_node_type")}
        return metadata_dict_to_node(known)


def _attributes(node: BaseNode) -> Dict[str, Any]:
    """Metadata, which filters see, and the node."""
    attributes = node_to_metadata_dict(node)
    attributes[_NODE] = attributes.pop(_NODE_ELSEWHERE)
    return attributes


def _all_of(conditions: List[Condition]) -> Dict[str, Any]:
    return {"must": conditions}


def _of_ids(ids: Optional[List[str]]) -> List[Condition]:
    return [] if ids is None else [{"has_id": list(ids)}]


def _of_filters(filters: Optional[MetadataFilters]) -> List[Condition]:
    """What must hold, as conditions of Qdrant's."""
    if filters is None or not filters.filters:
        return []
    conditions = [_of_filter(own) for own in filters.filters]
    if filters.condition == FilterCondition.OR:
        return [{"should": conditions}]
    if filters.condition == FilterCondition.NOT:
        return [{"must_not": conditions}]
    return conditions


def _of_filter(filter: Any) -> Condition:
    if isinstance(filter, MetadataFilters):
        return _all_of(_of_filters(filter))
    key, operator = path_of(filter.key), filter.operator
    if operator == FilterOperator.IS_EMPTY:
        return {"should": [{"is_empty": {"key": key}}, equal(key, "")]}
    if filter.value is None:
        raise InvalidInputError(f"filter: {filter.key} {operator.value}: a value is missing")
    if operator in _RANGES:
        return {"key": key, "range": {_RANGES[operator]: filter.value}}
    if operator in _TEXTS:
        return {"key": key, "match": {"phrase": filter.value}}
    return _of_values(key, filter)


def _of_values(key: str, filter: MetadataFilter) -> Condition:
    """A condition on values that are equal to others."""
    given, operator = filter.value, filter.operator
    values = given if isinstance(given, list) else [given]
    if operator in (FilterOperator.EQ, FilterOperator.CONTAINS, FilterOperator.ALL):
        return _all_of([equal(key, value) for value in values])
    if operator == FilterOperator.NE:
        return {"must_not": [equal(key, value) for value in values]}
    if operator == FilterOperator.NIN:
        return {"must_not": [one_of(key, values)]}
    if operator in (FilterOperator.IN, FilterOperator.ANY):
        return one_of(key, values)
    raise UnsupportedError(f"filter: {filter.key}: the operator {operator.value} is not there")
