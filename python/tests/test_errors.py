"""Bad input: the right class, a sentence that names the row or field, and nothing left behind."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import clustered

import pageway

ROWS = clustered(np.float32, count=60)


def broken(row, column, value):
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


ZERO_ROW = ROWS.copy()
ZERO_ROW[9] = 0

BAD_BUILDS = {
    "nan": (broken(41, 3, np.nan), {}, "data: row 41, component 3 is NaN"),
    "infinity": (broken(5, 0, np.inf), {}, "data: row 5, component 0 is inf"),
    "overflow": (ROWS.astype(np.float64) * 1e300, {}, "row 0"),
    "zero vector": (ZERO_ROW, {"metric": "cosine"}, "row 9"),
    "duplicate ids": (ROWS, {"ids": [*range(59), 4]}, "4"),
    "too few ids": (ROWS, {"ids": [1, 2]}, "ids|2"),
    "empty": (ROWS[:0], {}, "data: holds no"),
    "no components": (ROWS[:, :0], {}, "imension"),
    "too wide": (np.zeros((2, 20_000), np.uint8), {}, "16384"),
    "metric": (ROWS, {"metric": "chebyshev"}, "use l2, inner_product, cosine"),
    "preset": (ROWS, {"preset": "hnsw"}, "diskann"),
    "memory": (ROWS, {"memory": "much"}, "200MB"),
    "memory too small": (ROWS, {"memory": 1000}, "smallest that works"),
    "build memory": (ROWS, {"build_memory": "1kB"}, "smallest that works"),
    "page bytes": (ROWS, {"page_bytes": 5000}, "5000"),
    "degree": (ROWS, {"degree": 0}, "degree"),
    "recall": (ROWS, {"recall": 1.5}, "recall"),
    "negative": (ROWS, {"threads": -1}, "threads is -1"),
    "store": (ROWS, {"store": "float64"}, "store is 'float64': an index holds"),
    "file": ("vectors.xyz", {}, "unknown extension.* .npy .parquet .* .jsonl .*h5"),
    "file of ids": ("truth.ibin", {}, "not vectors.* .npy .parquet .* .jsonl"),
}


@pytest.mark.parametrize("name", BAD_BUILDS)
def test_bad_builds_are_refused_and_leave_nothing(tmp_path, name):
    rows, settings, words = BAD_BUILDS[name]
    with pytest.raises(pageway.InvalidInputError, match=words):
        pageway.build(tmp_path / "i", rows, **{"memory": "2MB", **settings})
    with pytest.raises(pageway.NotFoundError):
        pageway.open(tmp_path / "i")
    assert not (tmp_path / "i").exists() or not any((tmp_path / "i").iterdir())


def test_a_failed_build_leaves_the_old_index(tmp_path):
    pageway.build(tmp_path / "i", ROWS, memory="2MB").close()
    with pytest.raises(pageway.InvalidInputError):
        pageway.build(tmp_path / "i", broken(3, 3, np.nan), memory="2MB", overwrite=True)
    assert pageway.verify(tmp_path / "i").sound
    with pageway.open(tmp_path / "i") as index:
        assert index.search(ROWS[5], k=1).ids[0] == 5


BAD_SEARCHES = {
    "k of 0": (ROWS[0], {"k": 0}, "k"),
    "k above the most": (ROWS[0], {"k": 100_001}, "give 1 to 100000"),
    "negative k": (ROWS[0], {"k": -1}, "k is -1"),
    "effort": (ROWS[0], {"effort": 0}, "list size 0"),
    "both": (ROWS[0], {"effort": 50, "recall": 0.9}, "recall and list_size.*one of them"),
    "two names": (ROWS[0], {"effort": 50, "list_size": 50}, "list_size and effort.*one of them"),
    "timeout": (ROWS[0], {"timeout": -1.0}, "timeout is -1"),
    "recall": (ROWS[0], {"recall": 1.5}, "recall"),
    "beam": (ROWS[0], {"beam": 0}, "beam"),
    "dimension": (ROWS[0, :5], {}, "have 5 components.* index 24"),
    "type": (ROWS.astype(np.uint8), {}, "uint8"),
    "nan": (broken(1, 2, np.nan), {}, "1"),
    "none": (None, {}, "queries: come as an array or a list, not as NoneType"),
    "path": ("q.npy", {}, "queries: 'q.npy' is a text or a path"),
}


@pytest.mark.parametrize("name", BAD_SEARCHES)
def test_bad_searches_are_refused(index, name):
    query, settings, words = BAD_SEARCHES[name]
    with pytest.raises(pageway.InvalidInputError, match=words):
        index.search(query, **settings)


def test_a_zero_query_has_no_cosine(tmp_path):
    with pageway.build(tmp_path / "i", ROWS, metric="cosine", memory="2MB") as index:
        with pytest.raises(pageway.InvalidInputError, match="zero|direction"):
            index.search(np.zeros(24, np.float32))


def test_whole_numbers_are_whole(index):
    with pytest.raises(TypeError, match="k must be an int, not float"):
        index.search(ROWS[0], k=1.5)
    with pytest.raises(TypeError, match="k must be an int, not str"):
        index.search(ROWS[0], k="10")


def test_arguments_of_a_wrong_type_are_named(tmp_path, index):
    cases = [
        (lambda: pageway.build(tmp_path / "i", ROWS, metric=None), "metric must be a str"),
        (lambda: pageway.build(tmp_path / "i", ROWS, preset=None), "preset must be a str"),
        (lambda: pageway.build(tmp_path / "i", ROWS, form=3), "form must be a str"),
        (lambda: pageway.build(tmp_path / "i", ROWS, recall="a"), "recall must be a number"),
        (lambda: pageway.create(tmp_path / "i", dimension=3, metric=None), "metric must be a str"),
        (lambda: pageway.ground_truth(ROWS, ROWS[:1], k=1, metric=3), "metric must be a str"),
        (lambda: index.search(index.vectors(0), strategy=3), "strategy must be a str"),
        (lambda: index.search(index.vectors(0), timeout="x"), "timeout must be a number"),
        (lambda: index.search(index.vectors(0), tolerance=[1]), "tolerance must be a number"),
        (lambda: index.range(index.vectors(0), "x"), "radius must be a number"),
        (lambda: pageway.build(b"i", ROWS), "path must be a str or a pathlib.Path, not bytes"),
        (lambda: pageway.build(None, ROWS), "path must be .* not NoneType$"),
        (lambda: pageway.build(ROWS, tmp_path / "i"), "path must be .* not ndarray: .*build.path, data"),
        (lambda: pageway.build(tmp_path / "i", ROWS, scratch=3), "scratch must be a str or"),
        (lambda: pageway.build(tmp_path / "i", ROWS, overwrite="no"), "overwrite must be True or False"),
        (lambda: pageway.build(tmp_path / "i", ROWS, resume=0), "resume must be True or False, not 0"),
        (lambda: pageway.build(tmp_path / "i", ROWS, progress=5), "progress must be a bool, .* not 5"),
        (lambda: pageway.open(index.path, writable="no"), "writable must be True or False"),
        (lambda: pageway.open(3), "path must be .* not int"),
        (lambda: index.verify(progress="yes"), "progress must be a bool"),
        (lambda: index.search(index.vectors(0), with_attributes="no"), "with_attributes must be True"),
        (lambda: index.range(index.vectors(0), 1, with_attributes=1), "with_attributes must be True"),
        (lambda: index.rows([0], vectors="no"), "vectors must be True or False, not 'no'"),
        (lambda: index.rows([0], attributes=None), "attributes must be True or False"),
        (lambda: index.rows(None), "ids must be ids or names, not None"),
        (lambda: index.scroll(vectors=0), "vectors must be True or False, not 0"),
        (lambda: index.scroll(limit="9"), "limit must be an int, not str"),
        (lambda: index.scroll(offset=1.5), "offset must be an int, not float"),
    ]
    for call, words in cases:
        with pytest.raises(TypeError, match=words):
            call()
    assert not any(tmp_path.iterdir())
    assert index.verify(progress=np.False_).sound and index.verify(progress=None).sound
    with pytest.raises(pageway.InvalidInputError, match="recall is larger"):
        index.search(index.vectors(0), recall=10**400)
    with pytest.raises(pageway.InvalidInputError, match="ids: row 1 is .* is no text"):
        pageway.build(tmp_path / "i", ROWS[:2], ids=["a", "\ud800"])


def test_a_file_where_an_index_should_be_is_no_failure_of_the_disk(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(pageway.InvalidInputError, match="file"):
        pageway.open(tmp_path / "file")


def test_files_are_checked(tmp_path):
    header = np.array(ROWS.shape, dtype="<u4").tobytes()
    cut = tmp_path / "cut.fbin"
    cut.write_bytes(header + ROWS.tobytes()[:-1])
    with pytest.raises(pageway.InvalidInputError, match="cut.fbin.*truncated"):
        pageway.build(tmp_path / "i", cut)
    with pytest.raises(pageway.NotFoundError, match="none.fbin"):
        pageway.build(tmp_path / "i", tmp_path / "none.fbin")
    (tmp_path / "flat.faiss").write_bytes(b"IxF2")
    with pytest.raises(pageway.InvalidInputError, match="flat.faiss: .*'pageway import' takes"):
        pageway.build(tmp_path / "i", tmp_path / "flat.faiss")


def test_kinds_are_classes(tmp_path, built):
    with pytest.raises(FileNotFoundError) as missing:
        pageway.open(tmp_path / "none")
    assert isinstance(missing.value, pageway.PagewayError)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for file in built.iterdir():
        (damaged / file.name).write_bytes(file.read_bytes()[:-10])
    with pytest.raises(pageway.CorruptError):
        pageway.open(damaged)


@pytest.mark.parametrize(
    "kind, builtin",
    [
        ("InvalidInputError", ValueError),
        ("NotFoundError", FileNotFoundError),
        ("StorageError", OSError),
        ("NoSpaceError", OSError),
        ("BusyError", OSError),
        ("ReadOnlyError", PermissionError),
        ("CancelledError", Exception),
        ("TimedOutError", TimeoutError),
        ("OutOfMemoryError", MemoryError),
        ("CorruptError", Exception),
        ("IncompatibleError", Exception),
        ("UnsupportedError", Exception),
        ("InternalError", Exception),
    ],
)
def test_every_kind_is_a_pageway_error_with_its_sentence(kind, builtin):
    error = getattr(pageway, kind)("the sentence")
    assert isinstance(error, pageway.PagewayError) and isinstance(error, builtin)
    assert str(error) == "the sentence"


def test_an_index_that_is_being_built_is_busy(tmp_path):
    """Another process holds the lock while its build waits in the progress callback."""
    held = tmp_path / "held"
    script = f"""
import sys, numpy as np, pageway
def wait(stage, done, total):
    print("building", flush=True)
    sys.stdin.readline()
pageway.build({str(held)!r}, np.random.default_rng(0).normal(size=(60_000, 32)).astype("f4"),
              progress=wait)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        try:
            assert child.stdout.readline() == b"building\n"
            with pytest.raises(pageway.BusyError):
                pageway.build(held, ROWS, memory="2MB")
        finally:
            child.kill()
