"""Other clients of the same wire, as they are published: stores of frameworks, and a client of another language.

Each does with a server what its users do: makes a collection, puts documents in, searches with and without a
filter, deletes. A client of JavaScript is tried where npm is there.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import judge

PORT = 6336
URL = f"http://127.0.0.1:{PORT}"
PACKAGES = ["langchain-qdrant==1.1.0", "llama-index-vector-stores-qdrant==0.10.4", "qdrant-haystack==13.1.0", "numpy"]
SCRIPT = "@qdrant/js-client-rest@1.19.0"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=pathlib.Path, help="the program pageway-server")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.only:
        return globals()[chosen.only]()
    python = judge.environment("clients", PACKAGES)
    failed = []
    with judge.server(chosen.server, PORT):
        for name in ("langchain", "llama_index", "haystack", "javascript"):
            if name == "javascript":
                code = run_script()
            else:
                code = subprocess.run([python, __file__, "--only", name], check=False, env={**os.environ, "HF_HUB_OFFLINE": "1"}).returncode
            print(f"clients: {name} {'not run: no npm' if code is None else 'fails' if code else 'works'}", flush=True)
            failed += [name] if code else []
    return 1 if failed else 0


def vector(text):
    """A vector that tells texts apart by their letters."""
    return [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnop"]


def langchain():
    from langchain_core.embeddings import Embeddings
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import models

    class Letters(Embeddings):
        def embed_documents(self, texts):
            return [vector(text) for text in texts]

        def embed_query(self, text):
            return vector(text)

    store = QdrantVectorStore.from_texts(["abba", "deed", "noon"], Letters(), metadatas=[{"n": at} for at in range(3)], url=URL, collection_name="langchain")
    assert store.similarity_search("abba", k=1)[0].page_content == "abba"
    only = models.Filter(must=[models.FieldCondition(key="metadata.n", match=models.MatchValue(value=1))])
    assert [own.page_content for own in store.similarity_search("abba", k=3, filter=only)] == ["deed"]
    assert store.similarity_search_with_score("noon", k=1)[0][1] > 0.99
    assert len(store.max_marginal_relevance_search("abba", k=2, fetch_k=3)) == 2
    ids = store.add_texts(["mamma"])
    assert store.get_by_ids(ids)[0].page_content == "mamma"
    store.delete(ids)
    assert not store.get_by_ids(ids)
    again = QdrantVectorStore.from_existing_collection("langchain", Letters(), url=URL)
    assert again.similarity_search("noon", k=1)[0].page_content == "noon"


def llama_index():
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters, VectorStoreQuery
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

    store = QdrantVectorStore("llama", client=QdrantClient(URL))
    nodes = []
    for at, text in enumerate(["abba", "deed", "noon"]):
        node = TextNode(text=text, embedding=vector(text), metadata={"n": at, "even": at % 2 == 0})
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=f"doc{at}")
        nodes.append(node)
    store.add(nodes)
    found = store.query(VectorStoreQuery(query_embedding=vector("abba"), similarity_top_k=1))
    assert found.nodes[0].text == "abba"
    only = MetadataFilters(filters=[MetadataFilter(key="n", value=1, operator=FilterOperator.GTE)])
    found = store.query(VectorStoreQuery(query_embedding=vector("abba"), similarity_top_k=5, filters=only))
    assert {own.text for own in found.nodes} == {"deed", "noon"}
    assert len(store.get_nodes(node_ids=[nodes[0].node_id])) == 1
    store.delete("doc0")
    found = store.query(VectorStoreQuery(query_embedding=vector("abba"), similarity_top_k=5))
    assert {own.text for own in found.nodes} == {"deed", "noon"}
    store.clear()


def haystack():
    from haystack import Document
    from haystack.document_stores.types import DuplicatePolicy
    from haystack_integrations.components.retrievers.qdrant import QdrantEmbeddingRetriever
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    store = QdrantDocumentStore(url=URL, index="haystack", embedding_dim=16, recreate_index=True, return_embedding=True, wait_result_from_api=True)
    documents = [Document(content=text, embedding=vector(text), meta={"n": at, "kind": "w"}) for at, text in enumerate(["abba", "deed", "noon"])]
    assert store.write_documents(documents) == 3
    assert store.count_documents() == 3
    assert store.write_documents(documents, policy=DuplicatePolicy.SKIP) == 0
    retriever = QdrantEmbeddingRetriever(document_store=store, top_k=1)
    assert retriever.run(query_embedding=vector("noon"))["documents"][0].content == "noon"
    only = {"field": "meta.n", "operator": ">=", "value": 1}
    assert {own.content for own in store.filter_documents(only)} == {"deed", "noon"}
    groups = QdrantEmbeddingRetriever(document_store=store, top_k=3, group_by="meta.kind", group_size=2)
    assert len(groups.run(query_embedding=vector("noon"))["documents"]) == 2
    store.delete_documents([documents[0].id])
    assert store.count_documents() == 2


JAVASCRIPT = """
import { QdrantClient } from "@qdrant/js-client-rest";
import assert from "node:assert";
const client = new QdrantClient({ url: process.argv[2] });
const name = "script";
await client.createCollection(name, { vectors: { size: 2, distance: "Cosine" } });
assert((await client.getCollections()).collections.some((own) => own.name === name));
await client.createPayloadIndex(name, { field_name: "n", field_schema: "integer", wait: true });
await client.upsert(name, { wait: true, points: [
  { id: 1, vector: [1, 0], payload: { n: 1 } },
  { id: "5c56c793-69f3-4fbf-87e6-c4bf54c28c26", vector: [0, 1], payload: { n: 2 } },
] });
const { points } = await client.query(name, { query: [0.1, 1], limit: 1, with_payload: true });
assert.equal(points[0].payload.n, 2);
const both = await client.query(name, { prefetch: [{ query: [1, 0] }, { query: [0, 1] }], query: { fusion: "rrf" } });
assert.equal(both.points.length, 2);
assert.equal((await client.scroll(name, { filter: { must: [{ key: "n", range: { gt: 1 } }] } })).points.length, 1);
assert.equal((await client.count(name)).count, 2);
assert.equal((await client.retrieve(name, { ids: [1] }))[0].payload.n, 1);
await client.setPayload(name, { wait: true, payload: { n: 5 }, points: [1] });
assert.equal((await client.facet(name, { key: "n" })).hits.length, 2);
await client.delete(name, { wait: true, points: [1] });
assert.equal((await client.count(name)).count, 1);
await client.updateCollectionAliases({ actions: [{ create_alias: { collection_name: name, alias_name: "other" } }] });
assert.equal((await client.getCollection("other")).points_count, 1);
await client.deleteCollection(name);
assert.equal((await client.collectionExists(name)).exists, false);
"""


def run_script():
    """What the client of JavaScript ends with; none where there is no npm."""
    if not shutil.which("npm"):
        return None
    place = judge.WORK / "javascript"
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "node_modules").exists():
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", SCRIPT], cwd=place, check=True)
    (place / "smoke.mjs").write_text(JAVASCRIPT)
    return subprocess.run(["node", "smoke.mjs", URL], cwd=place, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
