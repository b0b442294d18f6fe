"""The store for LangChain; skipped where langchain-core is not installed.

`suites/judges/langchain.py` runs LangChain's own suite of stores.
"""

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pageway

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from conftest import example  # noqa: E402
from langchain_core.documents import Document  # noqa: E402
from langchain_core.embeddings import Embeddings  # noqa: E402

from pageway.langchain import PagewayVectorStore  # noqa: E402


class Letters(Embeddings):
    """The share of each letter in a text."""

    def embed_query(self, text):
        return [text.count(letter) + 0.01 for letter in "abcdefgh"]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


ANIMALS = ["abba", "cab", "dada", "egg", "fade", "gabe", "head", "hahaha"]


@pytest.fixture
def store(tmp_path):
    with PagewayVectorStore(Letters(), tmp_path / "i", metric="cosine") as store:
        yield store


@pytest.fixture
def filled(store):
    metadatas = [{"n": n, "lang": "de" if n % 2 else "en", "a.b": n, "tags": ["x", n]} for n in range(8)]
    store.add_texts(ANIMALS, metadatas, ids=[f"id/{n}" for n in range(8)])
    return store


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(example("pageway.langchain"), {"embedding": Letters()})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ship a tall ship {") and sorted(eval(lines[1])) == ["boat", "ship"]


def texts(documents):
    return [document.page_content for document in documents]


def test_nothing_is_found_before_the_first_text(store, tmp_path):
    assert store.similarity_search("a") == store.max_marginal_relevance_search("a") == []
    assert store.get_by_ids(["a"]) == [] and store.delete(["a"]) and len(store) == 0
    assert store.client is None and not (tmp_path / "i").exists()
    (key,) = store.add_documents([Document(page_content="egg")])
    assert str(uuid.UUID(key)) == key and store
    assert store.similarity_search("egg", k=9) == [Document(page_content="egg", id=key)]


def test_what_is_added_is_there_when_opened_again(filled, tmp_path):
    before = filled.similarity_search_with_score("egg", k=8)
    with pytest.raises(pageway.BusyError):
        PagewayVectorStore(Letters(), tmp_path / "i")
    filled.client.flush()
    with PagewayVectorStore(Letters(), tmp_path / "i", writable=False) as reader:
        assert reader.similarity_search_with_score("egg", k=8) == before
        with pytest.raises(pageway.ReadOnlyError):
            reader.add_texts(["more"])
    filled.close()
    with pytest.raises(pageway.InvalidInputError, match="closed"):
        filled.similarity_search("egg")
    with PagewayVectorStore(Letters(), pageway.open(tmp_path / "i", writable=True)) as again:
        assert again.similarity_search_with_score("egg", k=8) == before


@pytest.mark.parametrize(
    "filter, expected",
    [
        ("n >= 6", [6, 7]),
        ("page_content contains 'egg'", [3]),
        ({"lang": "de"}, [1, 3, 5, 7]),
        ({"lang": ["de", "fr"], "n": [1, 2, 7.0]}, [1, 7]),
        ({"a.b": 5}, [5]),
        ({"tags": 4}, [4]),
        ({"n": []}, []),
        ({"must_not": [{"key": "lang", "match": {"value": "de"}}]}, [0, 2, 4, 6]),
        (["id/1", "id/5", "none"], [1, 5]),
    ],
)
def test_filters_return_all_that_match(filled, filter, expected):
    found = filled.similarity_search("abcdefgh", k=8, filter=filter, recall=0.99)
    assert sorted(document.metadata["n"] for document in found) == expected
    assert len(filled.max_marginal_relevance_search("a", k=8, filter=filter)) == len(expected)


def test_a_search_says_what_it_cannot_take(filled):
    for filter in (lambda document: True, {"lang": {"$eq": "de"}}, {'a"b': 1}):
        with pytest.raises(pageway.InvalidInputError, match="filter"):
            filled.similarity_search("a", filter=filter)
    with pytest.raises(TypeError, match="fetch"):
        filled.similarity_search("a", fetch=3)
    with pytest.raises(TypeError, match="namespace"):
        filled.add_texts(["a"], namespace="b")
    with pytest.raises(TypeError, match="memry"):
        PagewayVectorStore(Letters(), "nowhere", memry="1GB")
    with pytest.raises(pageway.InvalidInputError, match="2 texts, but 1 ids"):
        filled.add_texts(["a", "b"], ids=["a"])
    with pytest.raises(pageway.InvalidInputError, match="page_content"):
        filled.add_texts(["a"], [{"page_content": "b"}])
    with pytest.raises(pageway.InvalidInputError, match="cosine"):
        PagewayVectorStore(Letters(), filled.client, metric="l2")
    assert len(filled) == 8


def test_scores_are_distances_and_relevances_lie_between_0_and_1(filled, tmp_path):
    scored = filled.similarity_search_with_score("egg", k=3)
    assert scored[0][0].page_content == "egg" and abs(scored[0][1]) < 1e-5
    near = filled.similarity_search_with_relevance_scores("egg", k=8, score_threshold=0.9)
    assert texts(document for document, _ in near) == ["egg"] and near[0][1] > 0.999
    with PagewayVectorStore(Letters(), tmp_path / "l2", metric="l2") as other:
        other.add_texts(["aaa", "aa"])
        ((_, same), (_, next_)) = other.similarity_search_with_relevance_scores("aaa", k=2)
        assert same == pytest.approx(1) and next_ == pytest.approx(0.5)
    with PagewayVectorStore(Letters(), tmp_path / "ip", metric="inner_product") as other:
        other.add_texts(["aaa", "aa"])
        assert texts(other.similarity_search("a")) == ["aaa", "aa"]
        with pytest.raises(pageway.InvalidInputError, match="relevance_score_fn"):
            other.similarity_search_with_relevance_scores("a")


def test_diverse_answers_and_retrievers(filled):
    filled.add_texts(["abba"] * 3)
    assert texts(filled.similarity_search("abba", k=3)) == ["abba"] * 3
    diverse = texts(filled.max_marginal_relevance_search("abba", k=3, lambda_mult=0.2))
    assert diverse[0] == "abba" and len(set(diverse)) == 3
    kinds = {"k": 2, "filter": "n > 0", "recall": 0.9}
    retriever = filled.as_retriever(search_type="mmr", search_kwargs={**kinds, "fetch_k": 30})
    assert len(retriever.invoke("egg")) == 2
    assert texts(asyncio.run(filled.as_retriever(search_kwargs=kinds).ainvoke("egg")))[0] == "egg"


def test_coroutines_do_what_functions_do(store):
    async def both():
        ids = await store.aadd_texts(ANIMALS, ids=list("12345678"), batch_size=3)
        found = await asyncio.gather(*(store.asimilarity_search(text, k=1) for text in ANIMALS))
        far = await store.amax_marginal_relevance_search("egg", k=2)
        scored = await store.asimilarity_search_with_score("egg", k=1)
        await store.adelete(["1"])
        return ids, [texts(one)[0] for one in found], texts(far)[0], scored[0][0].id

    assert asyncio.run(both()) == (list("12345678"), ANIMALS, "egg", "4")
    assert len(store) == 7 and store.get_by_ids(["1", "2", "2"])[0].page_content == "cab"


def test_one_text_is_no_list_of_ids(store):
    store.add_texts(["fox", "owl"], ids=["f", "fox"])
    for call in (store.delete, store.get_by_ids):
        with pytest.raises(pageway.InvalidInputError, match="'fox': give a list of ids"):
            call("fox")
    assert len(store) == 2


def test_many_threads_add_search_and_delete(store):
    def work(own):
        for turn in range(6):
            ids = [f"{own}/{turn}/{at}" for at in range(5)]
            store.add_texts([f"{'abcdefgh'[own]}{turn}"] * 5, ids=ids)
            assert {document.id for document in store.get_by_ids(ids)} == set(ids)
            assert store.similarity_search("abcdefgh"[own], k=5, recall=0.9)
            store.delete(ids[:2])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(store) == 8 * 6 * 3
    store.delete(filter="page_content = 'a0'")
    store.delete()
    assert len(store) == 0 and store.similarity_search("a") == []


def test_an_index_that_was_built_elsewhere_is_a_store(tmp_path):
    rows = np.random.default_rng(1).normal(size=(500, 8)).astype(np.float32)
    attributes = [{"text": f"text {n}", "metadata": {"n": n}} for n in range(500)]
    pageway.build(tmp_path / "i", rows, metric="l2", memory="20MB", attributes=attributes).close()
    keys = {"text_key": "text", "metadata_key": "metadata"}
    with PagewayVectorStore(Letters(), tmp_path / "i", recall=0.9, **keys) as store:
        found = store.similarity_search_by_vector(rows[7].tolist(), k=60, filter={"n": list(range(100))})
        assert (found[0].id, found[0].page_content, found[0].metadata) == ("7", "text 7", {"n": 7})
        assert len(found) == 60
        assert store.add_texts(["new"], ids=["name"]) == ["name"] and len(store) == 501
    with PagewayVectorStore(Letters(), tmp_path / "i", writable=False) as store:
        with pytest.raises(pageway.InvalidInputError, match="text_key"):
            store.similarity_search("a")


def test_of_equal_ids_the_last_counts(store):
    store.add_texts(["a", "b"], ids=["x", "x"])
    assert texts(store.get_by_ids(["x"])) == ["b"] and len(store) == 1
    index = PagewayVectorStore.from_texts(["a"], Letters(), ids=["x"], index=store.client)
    assert texts(index.get_by_ids(["x"])) == ["a"]
    with pytest.raises(pageway.InvalidInputError, match="index"):
        PagewayVectorStore.from_texts(["a"], Letters())
