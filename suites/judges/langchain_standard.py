"""The standard suite of vector stores, over an empty store for each test."""

import pytest
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from pageway.langchain import PagewayVectorStore


class TestStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path):
        with PagewayVectorStore(self.get_embeddings(), tmp_path / "index") as store:
            yield store
