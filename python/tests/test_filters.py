"""Searches among rows that match, against brute force, and filters against those of Qdrant."""

import datetime
import gzip
import json
import random

import numpy as np
import pageway
import pytest

ROWS = 1500


def attributes(row):
    if row % 40 == 3:
        return None
    return {
        "row": row,
        "kind": ["one", "two", "three"][row % 3],
        "tags": [f"t{row % 100}", "all"],
        "half": row / 2,
        "day": datetime.date(2026, 1, 1) + datetime.timedelta(days=row % 60),
        "kids": [{"age": np.int64(row % 7), "name": "Ann"}, {"age": 3, "name": "Bo"}],
    }


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(4).normal(size=(ROWS, 24)).astype(np.float32)


@pytest.fixture(scope="module")
def index(tmp_path_factory, vectors):
    path = tmp_path_factory.mktemp("filters") / "rows.index"
    rows = [attributes(row) for row in range(ROWS)]
    with pageway.build(path, vectors, attributes=rows, calibration_queries=50) as index:
        yield index


CASES = [
    ("kind = 'one' and half < 100", lambda row: row % 3 == 0 and row < 200),
    ({"must": {"key": "tags", "match": {"value": "t7"}}}, lambda row: row % 100 == 7),
    ("day >= date'2026-02-20'", lambda row: row % 60 >= 50),
    ("any(kids, age = 6 and name = 'Ann')", lambda row: row % 7 == 6),
    ("any(kids, age = 6 and name = 'Bo')", lambda row: False),
    ("row = 77", lambda row: row == 77),
]


@pytest.mark.parametrize("given, matches", CASES)
def test_finds_the_nearest_of_those_that_match(index, vectors, given, matches):
    rows = [row for row in range(ROWS) if row % 40 != 3 and matches(row)]
    assert index.count(given) == len(rows)
    queries = vectors[:5] + 0.1
    found = index.search(queries, k=10, filter=given, with_attributes=True)
    assert found.filter["matches"] == len(rows)
    distances = ((queries[:, None] - vectors[rows]) ** 2).sum(2)
    hits = 0
    for own, truth in zip(found.ids, distances):
        own = own[own >= 0]
        assert len(own) == min(10, len(rows)) and set(own) <= set(rows)
        best = {rows[at] for at in np.argsort(truth)[:10]}
        hits += len(best & set(own))
    assert hits >= 0.9 * 5 * min(10, len(rows))
    shown = found.attributes[0]
    assert shown is None or shown["row"] == found.ids[0, 0]


def test_masks_select_and_what_is_no_id_is_refused(index, vectors):
    mask = np.random.default_rng(6).random(ROWS) < 0.01
    rows = np.flatnonzero(mask)
    for given in (mask, mask.tolist(), list(mask), rows, set(rows.tolist())):
        assert index.count(given) == len(rows)
        found = index.search(vectors[9], k=ROWS, filter=given).ids
        assert sorted(found[found >= 0]) == rows.tolist()
    assert index.count(np.zeros(ROWS, bool)) == 0
    assert index.count(np.ones(1_000_000, bool)) == index.count(range(20_000)) == ROWS
    assert index.count(np.arange(5, 5 * ROWS, 5, dtype=np.uint64)) == len(range(5, ROWS, 5))
    with pytest.raises(pageway.InvalidInputError, match="from 0 to"):
        index.count([3, -1])
    for given in (7, datetime.date(2026, 1, 1)):
        with pytest.raises(pageway.InvalidInputError, match="an expression, a mapping"):
            index.count(given)
    for given in ([7.0], np.array([7.5]), [True, 3], [None], np.ones((2, 3), bool)):
        with pytest.raises(pageway.InvalidInputError, match="is no id"):
            index.count(given)


def test_bitmaps_select(index):
    # The portable format: cookie, containers, then (key, cardinality - 1), offset, values.
    ids = [3, 8, 1499, 60_000]
    head = np.array([12346, 1], "<u4").tobytes() + np.array([0, len(ids) - 1], "<u2").tobytes()
    bitmap = head + np.array([16], "<u4").tobytes() + np.array(ids, "<u2").tobytes()
    assert index.count(bitmap) == index.count(memoryview(bitmap)) == 3
    for wrong in (b"", bitmap[:-1], bitmap + b"x", b"lex = 1"):
        with pytest.raises(pageway.InvalidInputError, match="filter: bitmap"):
            index.count(wrong)


def test_ids_ranges_fields_and_mistakes(index, vectors):
    found = index.search(vectors[9], k=4, filter=[9, 11, 5000])
    assert found.ids.tolist() == [9, *found.ids[1:2].tolist(), -1, -1]
    assert set(found.ids[:2].tolist()) == {9, 11}
    lims, ids, distances = index.range(vectors[:3], radius=30.0, list_size=100, filter="kind = 'two'")
    assert len(lims) == 4 and all(row % 3 == 1 for row in ids)
    fields = index.fields()
    assert fields["kind"] == (["text"], 3)
    assert fields["kids[].age"][0] == ["integer"]
    with pytest.raises(pageway.InvalidInputError, match="did you mean 'kind'"):
        index.search(vectors[0], filter="kindd = 'one'")
    with pytest.raises(pageway.InvalidInputError, match="column 6"):
        index.count("kind ~ 3")
    with pytest.raises(pageway.InvalidInputError, match=r"filter.must\[0\].match"):
        index.count({"must": [{"key": "kind", "match": {"values": 1}}]})


@pytest.mark.parametrize("strategy", ["walk", "scan-codes", "scan-vectors"])
def test_a_strategy_can_be_forced(index, vectors, strategy):
    filter = "kind = 'one' and row < 900"
    found = index.search(vectors[:3], k=4, filter=filter, strategy=strategy)
    assert found.filter["strategy"] == strategy
    matching = {row for row in range(900) if row % 40 != 3 and row % 3 == 0}
    assert set(found.ids.ravel().tolist()) <= matching
    with pytest.raises(pageway.InvalidInputError, match="without a filter"):
        index.search(vectors[0], strategy=strategy)
    with pytest.raises(pageway.InvalidInputError, match="known are walk"):
        index.search(vectors[0], filter=filter, strategy="scan")


def test_what_a_field_cannot_be_is_named(index):
    with pytest.raises(pageway.InvalidInputError, match="kind is compared with a number"):
        index.count("kind > 3")
    with pytest.raises(pageway.InvalidInputError, match="name: has 300 bytes"):
        index.count("has_id('" + "x" * 300 + "')")
    assert index.count({"must": [{"key": "kind", "range": {"gt": 3}}]}) == 0


def test_moments_are_texts_that_name_them(tmp_path, vectors):
    moments = [np.datetime64("2026-01-31T12:00:00.5", "ns"), np.datetime64("2026-02-01"), None]
    rows = [{"at": moment, "all": np.array(["2026-01-01"], "M8[ns]")} for moment in moments]
    with pageway.build(tmp_path / "i", vectors[:3], attributes=rows, memory="2MB") as index:
        assert index.count("at > '2026-01-31'") == 2 and index.count("at < '2026-02-01'") == 1
        assert index.count("all = date'2026-01-01T00:00:00Z'") == 3


NOON = datetime.datetime(2026, 1, 31, 12, 0, 0, 500_000, datetime.timezone.utc)


def holds_noon(path, vectors, own):
    with pageway.build(path, vectors[:4], attributes=own, memory="2MB") as index:
        at = index.count("at = '2026-01-31T12:00:00.5Z'")
        return at == index.count("at = date'2026-01-31T14:00:00.5+02:00'") == 4


def test_equal_moments_are_equal_texts(tmp_path, vectors):
    ahead = datetime.timezone(datetime.timedelta(hours=2))
    numpy_noon = np.datetime64("2026-01-31T12:00:00.5", "ns")
    moments = [NOON, NOON.astimezone(ahead), NOON.replace(tzinfo=None), numpy_noon]
    assert holds_noon(tmp_path / "a", vectors, [{"at": moment} for moment in moments])
    days = [datetime.date(2026, 1, 31), np.datetime64("2026-01-31")]
    hours = [np.datetime64("2026-01-31T12", "h"), datetime.datetime(2026, 1, 31, 12)]
    rows = [{"at": moment} for moment in days + hours]
    with pageway.build(tmp_path / "b", vectors[:4], attributes=rows, memory="2MB") as index:
        assert index.count("at = '2026-01-31'") == index.count("at = '2026-01-31T12:00:00Z'") == 2
    far = [{"at": datetime.datetime(1, 1, 1, tzinfo=ahead)}]
    with pytest.raises(pageway.InvalidInputError, match="row 0.*outside of the years"):
        pageway.build(tmp_path / "c", vectors[:1], attributes=far)


def test_moments_of_a_table_are_those_of_its_file(tmp_path, vectors):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"at": pyarrow.array([NOON] * 4, pyarrow.timestamp("us", "UTC"))})
    parquet.write_table(table, tmp_path / "rows.parquet")
    assert holds_noon(tmp_path / "a", vectors, table)
    assert holds_noon(tmp_path / "b", vectors, tmp_path / "rows.parquet")


def test_other_ways_to_say_a_filter(index):
    class Model:
        def model_dump(self, **how):
            return {"must": [{"key": "row", "range": {"lt": 3}}]}

    class Chunks:
        def __iter__(self):
            return iter([object()])

        def to_pylist(self):
            return [1, 2]

    assert index.count(Model()) == 3 and index.count(Chunks()) == 2
    assert index.count("kind in ('one', 'two')") == index.count("kind <> 'three' and row >= 0")


def test_attributes_that_cannot_be_are_refused(tmp_path, vectors):
    few = vectors[:20]
    nothing = [{}] * 19
    for rows, words in [
        (nothing, "19 rows"),
        ([*nothing, 3], "row 19"),
        ([{"a": {1, 2}}, *nothing], "row 0"),
        ([{"a": 1, "b": float("nan")}, *nothing], "row 0, field 'b': NaN .* give None"),
        ([{"a": np.datetime64("NaT")}, *nothing], "row 0, field 'a': NaT is no moment"),
        ([{"a": np.timedelta64(1, "ns")}, *nothing], "field 'a': timedelta64 is no value"),
    ]:
        with pytest.raises(pageway.InvalidInputError, match=words):
            pageway.build(tmp_path / "no.index", few, attributes=rows)
    lines = tmp_path / "rows.jsonl"
    lines.write_text("\n".join(json.dumps({"a": row}) for row in range(20)))
    with pageway.build(tmp_path / "yes.index", few, attributes=lines) as index:
        assert index.count("a >= 15") == 5


TABLE = [
    {"n": 1, "share": 0.5, "name": "one, \"two\"", "tags": ["a", "b"], "on": True},
    {"n": -2, "share": 2.0, "name": "007", "tags": [], "on": False},
    {"n": 3, "name": "x\ny"},
]
CSV = (
    "n,share,name,tags,on\r\n"
    '1,0.5,"one, ""two""","[""a"", ""b""]",true\r\n\r\n-2,2,007,[],false\r\n3,,"x\ny",,\r\n'
)


def tables(tmp_path):
    yield TABLE
    path = tmp_path / "rows.csv"
    path.write_text(CSV, newline="")
    yield path
    yield tmp_path / "rows.parquet"
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pylist(TABLE)
    yield table
    yield table.to_batches()[0]
    yield pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches())
    polars = pytest.importorskip("polars")
    yield polars.DataFrame(TABLE)
    yield polars.LazyFrame(TABLE)
    yield pytest.importorskip("pandas").DataFrame(TABLE)


def test_tables_are_rows(tmp_path, vectors):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.Table.from_pylist(TABLE), tmp_path / "rows.parquet")
    for at, table in enumerate(tables(tmp_path)):
        path = tmp_path / f"{at}.index"
        with pageway.build(path, vectors[:3], attributes=table) as index:
            found = [row.attributes for row in index.rows([0, 1, 2])]
            assert found == TABLE, type(table)


def files_and_data_sets(folder):
    """The same table as files of other kinds, as directories, and as an open data set."""
    import pyarrow
    import pyarrow.dataset
    import pyarrow.feather
    import pyarrow.parquet

    table = pyarrow.Table.from_pylist(TABLE)
    for name in ("rows.feather", "rows.arrow"):
        pyarrow.feather.write_feather(table, folder / name)
        yield folder / name
    for name in ("parts", "parts.parquet"):
        (folder / name).mkdir()
        pyarrow.parquet.write_table(table[:2], folder / name / "0.parquet")
        pyarrow.parquet.write_table(table[2:], folder / name / "1.parquet")
        yield folder / name
    yield pyarrow.dataset.dataset(folder / "parts")


def test_what_holds_vectors_holds_attributes(tmp_path, vectors):
    pytest.importorskip("pyarrow")
    for at, source in enumerate(files_and_data_sets(tmp_path)):
        with pageway.build(tmp_path / f"{at}.index", vectors[:3], attributes=source) as index:
            assert [row.attributes for row in index.rows([0, 1, 2])] == TABLE, source


def test_what_holds_no_attributes_is_refused_in_words(tmp_path, vectors):
    np.save(tmp_path / "x.npy", vectors)
    (tmp_path / "empty").mkdir()
    deep = "[" * 100_000
    (tmp_path / "deep.jsonl.gz").write_bytes(gzip.compress(b"\n".join([b"{}", b"{}", deep.encode()])))
    nested = []
    for _ in range(100_000):
        nested = [nested]
    cases = [
        (5, "not as int"),
        ({"year": [1, 2, 3]}, "is one dict; give a mapping per row"),
        (tmp_path / "x.npy", "is a file of vectors"),
        (tmp_path / "empty", "without Parquet files"),
        ([{}, {"a": nested}, {}], "row 1.*nested too deeply"),
        (tmp_path / "deep.jsonl.gz", "row 2|line 3|deep"),
    ]
    for source, words in cases:
        with pytest.raises(pageway.InvalidInputError, match=words):
            pageway.build(tmp_path / "no.index", vectors[:3], attributes=source)


def test_packed_lines_are_attributes(tmp_path, vectors):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(row) for row in [*TABLE, {}]).encode()))
    with pageway.build(tmp_path / "a.index", vectors[:4], attributes=path) as index:
        assert [row.attributes for row in index.rows([0, 1, 2])] == TABLE
    with pageway.create(tmp_path / "b.index", dimension=vectors.shape[1]) as index:
        index.insert(vectors[:4], attributes=path)
        assert [row.attributes for row in index.rows([0, 1, 2])] == TABLE
    path.write_bytes(gzip.compress(b"{}\n\xff"))
    with pytest.raises(pageway.InvalidInputError, match="rows.jsonl.gz, line 2"):
        pageway.build(tmp_path / "no.index", vectors[:2], attributes=path)


def test_a_table_of_vectors_has_other_columns_as_attributes(tmp_path, vectors):
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    days = [datetime.datetime(2026, 1, 1 + row) for row in range(20)]
    frame = polars.DataFrame({"emb": list(vectors[:20]), "id": range(50, 70), "day": days})
    with pageway.build(tmp_path / "f.index", frame, column="emb", id_column="id", attributes=frame) as index:
        assert set(index.fields()) == {"day"}
        assert index.search(vectors[0], k=5, filter="day > date'2026-01-19'").ids[:1].tolist() == [69]


def test_lines_of_vectors_have_other_fields_as_attributes(tmp_path, vectors):
    rows = [{"key": 50 + row, "v": vectors[row].tolist(), "n": row} for row in range(20)]
    text = "\n\n".join(map(json.dumps, rows)).encode()
    (tmp_path / "rows.jsonl").write_bytes(text)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(text))
    pandas = pytest.importorskip("pandas")
    for at, data in enumerate([tmp_path / "rows.jsonl", tmp_path / "rows.jsonl.gz", pandas.DataFrame(rows)]):
        path = tmp_path / f"{at}.index"
        with pageway.build(path, data, id_column="key", attributes=data, memory="2MB") as index:
            assert set(index.fields()) == {"n"}
            assert index.search(vectors[3], k=1, filter="n >= 3").ids.tolist() == [53]


def test_tables_that_cannot_be_are_refused(tmp_path, vectors):
    for text, words in [
        ("", "is empty"),
        ("a,b\n1\n", "line 2: 1 cells for 2"),
        ("a,a\n", "two columns are called 'a'"),
        ("a\n\"1\n", "line"),
        ("a\n1\n", "3 rows|1 documents|1 "),
    ]:
        path = tmp_path / "bad.csv"
        path.write_text(text)
        with pytest.raises(pageway.InvalidInputError, match=words):
            pageway.build(tmp_path / "no.index", vectors[:3], attributes=path)
    with pytest.raises(pageway.NotFoundError, match="nowhere"):
        pageway.build(tmp_path / "no.index", vectors[:3], attributes=tmp_path / "nowhere.csv")
    with pytest.raises(pageway.InvalidInputError, match="row 1, field 'b'"):
        pageway.build(tmp_path / "no.index", vectors[:3], attributes=[{}, {"a": 1, "b": float("nan")}, {}])


def test_a_schema_is_kept_and_holds_for_changes(tmp_path, vectors):
    schema = {"n": "integer", "name": "keyword", "tags": "keyword", "share": "float"}
    with pageway.build(tmp_path / "s.index", vectors[:3], attributes=TABLE, schema=schema) as index:
        assert index.stats()["schema"] == schema
    with pageway.open(tmp_path / "s.index", writable=True) as index:
        index.insert(vectors[3:4], attributes=[{"n": 4}])
        with pytest.raises(pageway.InvalidInputError, match="row 1.*n: holds \"x\", the schema says integer"):
            index.insert(vectors[4:6], attributes=[{"n": 5}, {"n": "x"}])
        with pytest.raises(pageway.InvalidInputError, match="tags: holds 3"):
            index.set({"tags": [3]}, [0])
        assert index.count("n >= 0") == 3
    with pytest.raises(pageway.InvalidInputError, match="row 0.*name: holds \"007\", the schema says geo"):
        pageway.build(tmp_path / "no.index", vectors[:3], attributes=TABLE[1:] + TABLE[:1], schema={"name": "geo"})
    with pytest.raises(pageway.InvalidInputError, match="there are keyword"):
        pageway.build(tmp_path / "no.index", vectors[:3], attributes=TABLE, schema={"n": "number"})


def some_value(draw, depth=0):
    kind = draw.randrange(9 if depth < 2 else 6)
    if kind == 0:
        return None
    if kind == 1:
        return draw.random() < 0.5
    if kind == 2:
        return draw.randrange(-2, 4)
    if kind == 3:
        return draw.randrange(-4, 8) / 2
    if kind == 4:
        return draw.choice(["red", "Red fox", "fox red", "", "2026-01-31", "2026-02-01T10:00:00Z"])
    if kind == 5:
        return {"lat": draw.randrange(-2, 3), "lon": draw.randrange(-2, 3)}
    if kind == 6:
        return {key: some_value(draw, depth + 1) for key in draw.sample("abc", draw.randrange(3))}
    return [some_value(draw, depth + 1) for _ in range(draw.randrange(4))]


def some_bounds(draw, values):
    names = draw.sample(["gt", "gte", "lt", "lte"], draw.randrange(1, 3))
    return {name: draw.choice(values) for name in names}


def some_condition(draw, depth=0):
    path = draw.choice(["a", "b", "c", "a[]", "a.b", "a[].b", "a[].b[]", "c[0]", "a[1].b", "b.a"])
    scalars = [True, False, -1, 0, 1, 2, "red", "fox red", ""]
    place = {"lat": draw.randrange(-2, 3), "lon": draw.randrange(-2, 3)}
    kind = draw.randrange(15 if depth < 2 else 13)
    if kind == 0:
        return {"key": path, "match": {"value": draw.choice(scalars)}}
    if kind in (1, 2):
        listed = draw.sample(["red", "fox red", ""] if draw.random() < 0.5 else [0, 1, 2], draw.randrange(3))
        return {"key": path, "match": {"any" if kind == 1 else "except": listed}}
    if kind == 3:
        how = draw.choice(["text", "text_any", "phrase", "prefix"])
        return {"key": path, "match": {how: draw.choice(["red", "fox red", "Red FOX", "r", ""])}}
    if kind in (4, 5):
        return {"key": path, "range": some_bounds(draw, [-1, 0, 0.5, 1, 2])}
    if kind == 6:
        return {"key": path, "range": some_bounds(draw, ["2026-01-31T00:00:00Z", "2026-02-01T10:00:00Z"])}
    if kind == 7:
        return {"key": path, "values_count": some_bounds(draw, [0, 1, 2])}
    if kind == 8:
        return {"is_empty": {"key": path}}
    if kind == 9:
        return {"is_null": {"key": path}}
    if kind == 10:
        other = {"lat": place["lat"] - 2, "lon": place["lon"] + draw.choice([-2, 2])}
        return {"key": path, "geo_bounding_box": {"top_left": place, "bottom_right": other}}
    if kind == 11:
        return {"key": path, "geo_radius": {"center": place, "radius": draw.choice([1e5, 3e5])}}
    if kind == 12:
        return {"has_id": draw.sample(range(80), 5)}
    if kind == 13:
        return {"nested": {"key": draw.choice(["a", "b[]", "c"]), "filter": some_filter(draw, depth + 1)}}
    return some_filter(draw, depth + 1)


def some_filter(draw, depth=0):
    made = {}
    for name in draw.sample(["must", "should", "must_not", "min_should"], draw.randrange(1, 3)):
        conditions = [some_condition(draw, depth) for _ in range(draw.randrange(1, 4))]
        made[name] = {"conditions": conditions, "min_count": 2} if name == "min_should" else conditions
    return made


def test_filters_mean_what_those_of_qdrant_mean(tmp_path, vectors):
    models = pytest.importorskip("qdrant_client.models")
    from qdrant_client.local.payload_filters import check_filter

    draw = random.Random(11)
    rows = [{key: some_value(draw) for key in draw.sample("abc", draw.randrange(4))} for _ in range(80)]
    with pageway.build(tmp_path / "oracle.index", vectors[:80], attributes=rows) as index:
        for _ in range(600):
            given = some_filter(draw)
            theirs = models.Filter(**given)
            expected = {row for row in range(80) if check_filter(theirs, rows[row], row, {})}
            found = index.search(vectors[0], k=80, filter=given).ids
            assert set(found[found >= 0].tolist()) == expected, given
