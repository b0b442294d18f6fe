"""Vectors of bf16, for which numpy has no numbers: they come as float32 and go as float32."""

import numpy as np
import pageway
import pytest
from pageway._arrays import cast_to
from pageway._elements import BF16, cast, numbers

DRAW = np.random.default_rng(5)
ROWS = DRAW.normal(size=(600, 16)).astype(np.float32)


def test_rounding_is_to_nearest_even_and_keeps_what_is_no_number():
    cases = {
        0x3F800000: 0x3F80,  # 1
        0x3F808000: 0x3F80,  # a tie, to even
        0x3F818000: 0x3F82,
        0x3F808001: 0x3F81,
        0x80000001: 0x8000,
    }
    given = np.array(list(cases), "<u4").view("<f4")
    assert cast(given, BF16).view("<u2").tolist() == list(cases.values())
    infinite = np.array([0x7F800000, 0xFF800000], "<u4").view("<f4")
    assert cast(infinite, BF16).view("<u2").tolist() == [0x7F80, 0xFF80]
    largest = np.array([0x7F7FFFFF], "<u4").view("<f4")
    with pytest.raises(pageway.InvalidInputError, match="component 0 is 3.4.*bfloat16 cannot"):
        cast(largest, BF16)
    nothing = np.array([0x7FFFFFFF, 0xFF800001], "<u4").view("<f4")
    assert np.isnan(numbers(cast(nothing, BF16))).all()
    every = np.arange(0x7F80, dtype="<u2").view(BF16)
    assert (cast(numbers(every), BF16) == every).all()


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("bf16") / "index"
    with pageway.build(path, ROWS, store="bfloat16", memory="4MB") as built:
        assert 0 < built.build_report["worst_rounding"] <= 2**-8
        yield built


def test_vectors_come_back_as_float32(index):
    rounded = numbers(cast(ROWS, BF16))
    assert index.dtype == np.float32
    assert "bfloat16" in repr(index)
    np.testing.assert_array_equal(index.vectors(np.arange(len(ROWS))), rounded)
    np.testing.assert_array_equal(index.vectors(7), rounded[7])
    for batch in index.export():
        np.testing.assert_array_equal(batch.vectors, rounded[batch.ids.astype(int)])
    page = index.scroll(limit=3, vectors=True)
    np.testing.assert_array_equal(page.rows[0].vector, rounded[int(page.rows[0].id)])


def test_distances_are_of_rounded_vectors(index):
    rounded = numbers(cast(ROWS, BF16)).astype(float)
    found = index.search(ROWS[:50], k=5, effort=600)
    expected = ((rounded[:50, None] - rounded[found.ids.astype(int)]) ** 2).sum(-1)
    np.testing.assert_allclose(found.distances, expected, rtol=1e-5, atol=1e-6)
    assert (found.ids[:, 0] == np.arange(50)).all()


def test_arrays_of_bf16_and_batches_build_what_store_builds(index, tmp_path):
    halves = cast(ROWS, BF16)
    sources = {
        "untyped": (halves, {}),
        "cast": (ROWS.astype(np.float64), {"dtype": "bfloat16"}),
        "batches": ((ROWS[at : at + 100] for at in range(0, 600, 100)), {"dtype": "bfloat16"}),
        "half": (ROWS, {"store": "torch.bfloat16"}),
    }
    for name, (source, options) in sources.items():
        with pageway.build(tmp_path / name, source, memory="4MB", **options) as own:
            np.testing.assert_array_equal(own.vectors([3, 4]), index.vectors([3, 4]))


def test_an_index_of_bf16_changes(tmp_path):
    with pageway.create(
        tmp_path / "index", dimension=16, metric="cosine", dtype="bfloat16"
    ) as index:
        index.insert(ROWS[:100])
        assert index.search(ROWS[42], k=1).ids.tolist() == [42]


def test_what_bf16_cannot_hold_is_refused(tmp_path):
    with pytest.raises(pageway.InvalidInputError, match="row 1, component 0 is 257.*bfloat16"):
        cast_to(np.array([[256], [257]]), BF16, "data")
    with pytest.raises(pageway.InvalidInputError, match="u8 are not stored as bf16"):
        pageway.build(tmp_path / "no", np.zeros((9, 4), np.uint8), store="bfloat16")
    with pytest.raises(pageway.InvalidInputError, match="row 1"):
        pageway.build(
            tmp_path / "no", np.array([[1, 2], [3.4e38, 1]], np.float32), store="bfloat16"
        )
    assert not (tmp_path / "no").exists()
