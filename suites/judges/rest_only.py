"""A plug-in of pytest: every client of the congruence suite speaks REST and asks for exact searches, as local
mode does, and local mode matches whole tokens.

Rows that are in a segment are searched with a recall, unless a query says `exact`, and when rows get there
depends on the moment. Whether approximate searches find enough is for `make filters` and `make contract`.
The local mode of 1.18 looks for parts of words. The server matches tokens since 1.19.1, with an index and
without (qdrant/qdrant#10341), and so does ours; tests of random filters would fail by chance otherwise.
"""

import re

from qdrant_client import QdrantClient, models
from qdrant_client.http.api.search_api import _SearchApi
from qdrant_client.local import payload_filters
from tests.congruence_tests import test_common


def init_remote(prefer_grpc=False, **options):
    return QdrantClient(host="localhost", port=6333, timeout=60, prefer_grpc=False, **options)


def exactly(query):
    """A query, and those that it is over, with every vector compared."""
    params = query.params or models.SearchParams()
    prefetch = query.prefetch or []
    over = [exactly(own) for own in (prefetch if isinstance(prefetch, list) else [prefetch])]
    more = {"params": params.model_copy(update={"exact": True}), "prefetch": over or None}
    return query.model_copy(update=more)


def asks_exactly(name, part, change):
    """Has a request of the client say so."""
    build = getattr(_SearchApi, name)

    def changed(self, *own, **options):
        options[part] = change(options[part])
        return build(self, *own, **options)

    setattr(_SearchApi, name, changed)


def all_exactly(batch):
    return batch.model_copy(update={"searches": [exactly(own) for own in batch.searches]})


asks_exactly("_build_for_query_points", "query_request", exactly)
asks_exactly("_build_for_query_points_groups", "query_groups_request", exactly)
asks_exactly("_build_for_query_batch_points", "query_request_batch", all_exactly)
test_common.init_remote = init_remote
check_match_of_parts = payload_filters.check_match


def tokens(text):
    return set(re.findall(r"\w+", text.lower()))


def check_match(condition, value):
    if isinstance(value, str) and isinstance(condition, models.MatchText):
        return tokens(condition.text) <= tokens(value)
    if isinstance(value, str) and isinstance(condition, models.MatchTextAny):
        return bool(tokens(condition.text_any) & tokens(value))
    return check_match_of_parts(condition, value)


payload_filters.check_match = check_match
