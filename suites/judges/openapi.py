"""Qdrant's own tests of its REST interface against our server: every answer is checked against their schema.

Their source is cloned at a tag, or taken from a directory. Tests that are out of scope stand in
`openapi-out.txt`, each with a reason; one that passes nevertheless fails the run.
"""

import argparse
import pathlib
import sys

import judge

TAG = "v1.19.0"
SOURCE = "https://github.com/qdrant/qdrant"
# Waits without an end for an index of 100 vectors, which are searched without one.
ENDLESS = "tests/openapi/test_vector_config.py::test_disable_indexing"
PACKAGES = [
    "schemathesis>=3.39,<4",
    "pytest>=8.4,<9",
    "requests",
    "retry",
    "more-itertools",
    "pytest-timeout",
    "jsonschema",
    "qdrant-client",
    "numpy",
    "jsons",
    "pytest-cases",
    "pytest-subtests",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, help="a checkout of qdrant instead of a clone")
    parser.add_argument("--server", type=pathlib.Path, help="the program pageway-server")
    parser.add_argument("tests", nargs="*", default=["tests/openapi"], help="some tests alone")
    chosen = parser.parse_args()
    source = chosen.source or judge.clone(SOURCE, TAG)
    python = judge.environment("openapi", PACKAGES)
    here = pathlib.Path(__file__).parent
    variables = {
        "QDRANT_HOST": "http://localhost:6333",
        "OPENAPI_FILE": str(source / "docs/redoc/master/openapi.json"),
    }
    with judge.server(chosen.server, 6333):
        arguments = ["-c", "/dev/null", "--rootdir", ".", "--timeout", "120", "--deselect", ENDLESS]
        results = judge.pytest(python, source, [*arguments, *chosen.tests], variables)
    return judge.verdict("openapi", results, here / "openapi-out.txt", whole=not chosen.tests[1:])


if __name__ == "__main__":
    sys.exit(main())
