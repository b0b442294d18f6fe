"""A plug-in of pytest: every client of the congruence suite speaks REST."""

from qdrant_client import QdrantClient
from tests.congruence_tests import test_common


def init_remote(prefer_grpc=False, **options):
    return QdrantClient(host="localhost", port=6333, timeout=60, prefer_grpc=False, **options)


test_common.init_remote = init_remote
