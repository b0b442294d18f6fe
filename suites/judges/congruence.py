"""The congruence suite of qdrant-client against our server.

Runs the client's own tests, unchanged, which compare a remote server with the client's local mode. Their
source is cloned at a tag, or taken from a directory; clients speak REST (`rest_only.py`). Tests that are out
of scope stand in `congruence-out.txt`, each with a reason; one that passes nevertheless fails the run.
"""

import argparse
import pathlib
import sys

import judge

TAG = "v1.18.0"
SOURCE = "https://github.com/qdrant/qdrant-client"
PACKAGES = [
    "qdrant-client==1.18.0",
    "pytest<8",
    "pytest-asyncio<0.22",
    "pytest-mock",
    "pytest-timeout",
    "numpy",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, help="a checkout of qdrant-client instead of a clone")
    parser.add_argument("--server", type=pathlib.Path, help="the program pageway-server")
    parser.add_argument("tests", nargs="*", default=["tests/congruence_tests"], help="some tests alone")
    chosen = parser.parse_args()
    source = chosen.source or judge.clone(SOURCE, TAG)
    python = judge.environment("congruence", PACKAGES)
    here = pathlib.Path(__file__).parent
    with judge.server(chosen.server, 6333):
        results = judge.pytest(
            python,
            source,
            ["-p", "rest_only", "--timeout", "300", *chosen.tests],
            {"PYTHONPATH": f"{source}:{here}"},
        )
    return judge.verdict("congruence", results, here / "congruence-out.txt", whole=not chosen.tests[1:])


if __name__ == "__main__":
    sys.exit(main())
