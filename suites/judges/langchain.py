"""The standard suite of langchain-tests against our own store for LangChain, over an embedded index.

Needs the package `pageway`: what is installed, or this checkout's where its extension was built
(`make test-python` and `make py` do).
"""

import argparse
import pathlib
import sys

import judge

PACKAGES = ["langchain-tests==1.1.9", "numpy"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=pathlib.Path, default=judge.ROOT / "python", help="where the package lies")
    chosen = parser.parse_args()
    python = judge.environment("langchain", PACKAGES)
    here = pathlib.Path(__file__).parent
    results = judge.pytest(
        python,
        here,
        ["-c", "/dev/null", "--rootdir", ".", "-p", "no:cacheprovider", "--asyncio-mode=auto", "-o", "asyncio_default_fixture_loop_scope=function", "langchain_standard.py"],
        {"PYTHONPATH": str(chosen.package.resolve())},
    )
    return judge.verdict("langchain", results, here / "langchain-out.txt", whole=True)


if __name__ == "__main__":
    sys.exit(main())
