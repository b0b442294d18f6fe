"""The store for LlamaIndex; skipped where llama-index-core is not installed.

Answers and filters are compared with those of its own store in memory.
"""

import asyncio
import itertools
import random

import pytest

import pageway

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
pytestmark = pytest.mark.filterwarnings("default")

from conftest import example  # noqa: E402
from llama_index.core import StorageContext, VectorStoreIndex  # noqa: E402
from llama_index.core.embeddings import BaseEmbedding  # noqa: E402
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode  # noqa: E402
from llama_index.core.vector_stores import SimpleVectorStore  # noqa: E402
from llama_index.core.vector_stores.types import (  # noqa: E402
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from pageway.llama_index import PagewayVectorStore  # noqa: E402

CITIES = ["Oslo", "Rome", "Paris"]


class Letters(BaseEmbedding):
    """The share of each letter in a text."""

    def _get_text_embedding(self, text):
        return [text.count(letter) + 0.01 for letter in "abcdefgh"]

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


def made(count=40):
    numbers = random.Random(3)
    for at in range(count):
        metadata = {"n": at, "city": CITIES[at % 3], "price": at / 4, "tags": [f"t{at % 4}", "all"]}
        if at % 5 == 0:
            metadata.update(city=None, note="")
        node = TextNode(id_=f"node/{at}", text=f"text {at}", metadata=metadata)
        node.embedding = [numbers.gauss(0, 1) for _ in range(8)]
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=f"doc{at % 4}")
        yield node


NODES = list(made())


@pytest.fixture
def store(tmp_path):
    with PagewayVectorStore(tmp_path / "i") as store:
        yield store


@pytest.fixture
def filled(store):
    assert store.add(NODES) == [node.node_id for node in NODES]
    return store


def asked(**settings):
    return VectorStoreQuery(query_embedding=NODES[0].embedding, similarity_top_k=40, **settings)


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(example("pageway.llama_index"), {"embedding": Letters()})
    assert capsys.readouterr().out == "['a tall ship']\n"


def one(key, value, operator="=="):
    return MetadataFilter(key=key, value=value, operator=FilterOperator(operator))


def both(filled, query):
    theirs = SimpleVectorStore()
    theirs.add(NODES)
    return filled.query(query, recall=0.99), theirs.query(query)


def test_answers_are_those_of_the_store_in_memory(filled):
    ours, theirs = both(filled, asked())
    assert ours.ids == theirs.ids
    assert ours.similarities == pytest.approx(theirs.similarities, abs=1e-5)
    bare = [node.model_copy(update={"embedding": None}) for node in NODES]
    known = {node.node_id: node for node in bare}
    assert ours.nodes == [known[id] for id in ours.ids]
    assert ours.nodes[0].ref_doc_id == "doc0"


FILTERS = [
    one("n", 7),
    one("price", 2.5),
    one("price", 2),
    one("city", "Rome"),
    one("city", "Rome", "!="),
    one("n", 30, ">"),
    one("n", 30, ">="),
    one("price", 2.5, "<"),
    one("n", 3, "<="),
    one("city", ["Rome", "Oslo"], "in"),
    one("city", ["Rome"], "nin"),
    one("n", [1, 2, 99], "in"),
    one("n", [], "in"),
    one("tags", ["t1", "t9"], "any"),
    one("tags", ["t1", "all"], "all"),
    one("tags", "t1", "contains"),
    one("city", None, "is_empty"),
    one("note", None, "is_empty"),
    one("nowhere", None, "is_empty"),
]


@pytest.mark.parametrize("condition", FilterCondition)
def test_filters_mean_what_they_mean_in_memory(filled, condition):
    pairs = [(own,) for own in FILTERS] + list(itertools.combinations(FILTERS, 2))[::7]
    for filters in pairs:
        query = asked(filters=MetadataFilters(filters=list(filters), condition=condition))
        ours, theirs = both(filled, query)
        assert sorted(ours.ids) == sorted(theirs.ids), filters


def test_filters_nest_and_go_with_ids(filled):
    inner = MetadataFilters(filters=[one("n", 3), one("n", 5)], condition=FilterCondition.OR)
    nested = MetadataFilters(filters=[inner, one("n", 4, ">")])
    assert filled.query(asked(filters=nested)).ids == ["node/5"]
    assert filled.query(asked(node_ids=["node/5", "node/6"], filters=nested)).ids == ["node/5"]
    assert len(filled.query(asked(doc_ids=["doc1", "doc2"])).ids) == 20
    assert [node.node_id for node in filled.get_nodes(["node/9", "none"])] == ["node/9"]
    assert [node.node_id for node in filled.get_nodes(filters=nested)] == ["node/5"]
    words = MetadataFilters(filters=[one("city", "PARIS", "text_match_insensitive")])
    assert {node.metadata["city"] for node in filled.get_nodes(filters=words)} == {"Paris"}
    assert len(filled.get_nodes()) == 40


def test_nodes_are_deleted(filled):
    filled.delete("doc0")
    filled.delete_nodes(["node/1", "none"])
    filled.delete_nodes(["node/2", "node/3"], MetadataFilters(filters=[one("n", 3)]))
    filled.delete_nodes([], MetadataFilters(filters=[one("n", 7)]))
    assert len(filled.query(asked()).ids) == 28
    with pytest.raises(pageway.InvalidInputError, match="clear"):
        filled.delete_nodes()
    asyncio.run(filled.aclear())
    assert filled.query(asked()).ids == [] and filled.get_nodes() == []


def test_modes_and_settings(filled):
    diverse = filled.query(asked(mode=VectorStoreQueryMode.MMR, mmr_threshold=0.3))
    assert len(set(diverse.ids)) == 40 and diverse.ids[0] == "node/0"
    for mode in (VectorStoreQueryMode.HYBRID, "hybrid"):
        with pytest.raises(pageway.UnsupportedError, match="mode hybrid"):
            filled.query(asked(mode=mode))
    with pytest.raises(TypeError, match="fetch"):
        filled.query(asked(), fetch=3)
    with pytest.raises(pageway.InvalidInputError, match="n >: a value"):
        filled.query(asked(filters=MetadataFilters(filters=[one("n", None, ">")])))


def test_an_index_of_the_framework_uses_it(store, tmp_path):
    context = StorageContext.from_defaults(vector_store=store)
    nodes = [TextNode(text=text, id_=text) for text in ("abba", "egg", "fade")]
    index = VectorStoreIndex(nodes, storage_context=context, embed_model=Letters())
    retriever = index.as_retriever(similarity_top_k=1, vector_store_kwargs={"recall": 0.99})
    assert [found.text for found in retriever.retrieve("gee")] == ["egg"]
    assert [found.text for found in asyncio.run(retriever.aretrieve("bb"))] == ["abba"]
    index.storage_context.persist(tmp_path / "storage")
    assert not (tmp_path / "storage" / "default__vector_store.json").exists()
    store.persist(tmp_path / "copy")
    with PagewayVectorStore(tmp_path / "copy", recall=0.99) as copy:
        again = VectorStoreIndex.from_vector_store(copy, embed_model=Letters())
        assert [found.text for found in again.as_retriever(similarity_top_k=1).retrieve("gee")] == ["egg"]
    index.delete_nodes(["egg"])
    assert len(store.get_nodes()) == 2
