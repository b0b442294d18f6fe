"""Small vectors, an exact search in numpy to compare with, and one index that tests may share."""

import re
from pathlib import Path

import numpy as np
import pytest

import pageway

COUNT, DIMENSION = 1500, 24


def clustered(dtype, count=COUNT, dimension=DIMENSION, seed=7):
    """Vectors around 40 centres, as embeddings are; integers spread over their range."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, dimension))
    rows = centres[rng.integers(40, size=count)] + 0.4 * rng.normal(size=(count, dimension))
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rows.astype(dtype)
    middle = 128 if dtype == np.uint8 else 0
    return np.clip(np.round(rows * 30 + middle), np.iinfo(dtype).min, np.iinfo(dtype).max).astype(
        dtype
    )


def distances(base, queries, metric):
    """All distances, in float64."""
    base, queries = base.astype(np.float64), np.atleast_2d(queries).astype(np.float64)
    products = queries @ base.T
    if metric == "l2":
        squares = (queries**2).sum(1)[:, None] + (base**2).sum(1)[None, :]
        return squares - 2 * products
    if metric == "cosine":
        lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(base, axis=1)[None, :]
        return 1 - products / lengths
    return -products


def recall(found, base, queries, metric):
    """Share of the answers that are as near as the k-th true neighbour (ties count)."""
    exact = distances(base, queries, metric)
    k = found.shape[1]
    bound = np.sort(exact, axis=1)[:, k - 1 : k]
    reached = np.take_along_axis(exact, found.astype(np.int64), axis=1)
    distinct = all(len(set(row)) == k for row in found.tolist())
    assert distinct, "an id was found twice"
    return float((reached <= bound + 1e-6 * np.abs(bound)).mean())


def example(module):
    """The example of the guide for frameworks that imports a module."""
    guide = Path(__file__).resolve().parents[2] / "docs/howto/frameworks.md"
    blocks = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    return next(block for block in blocks if f"from {module} import" in block)


@pytest.fixture(scope="session")
def vectors():
    return clustered(np.float32)


@pytest.fixture(scope="session")
def queries():
    return clustered(np.float32, count=COUNT + 40)[COUNT:]


@pytest.fixture(scope="session")
def built(tmp_path_factory, vectors):
    """Directory of an index over `vectors`; tests must not change it."""
    path = tmp_path_factory.mktemp("shared") / "l2.index"
    pageway.build(path, vectors, memory="2MB").close()
    return path


@pytest.fixture
def index(built):
    with pageway.open(built) as opened:
        yield opened
