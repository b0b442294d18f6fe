"""A plug-in of pytest: every client of the congruence suite speaks REST, and local mode matches whole tokens.

The local mode of 1.18 looks for parts of words. The server matches tokens since 1.19.1, with an index and
without (qdrant/qdrant#10341), and so does ours; tests of random filters would fail by chance otherwise.
"""

import re

from qdrant_client import QdrantClient, models
from qdrant_client.local import payload_filters
from tests.congruence_tests import test_common


def init_remote(prefer_grpc=False, **options):
    return QdrantClient(host="localhost", port=6333, timeout=60, prefer_grpc=False, **options)


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
