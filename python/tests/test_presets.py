"""Every published design, and choices of one's own in place of a design's."""

import numpy as np
import pytest
from conftest import clustered, distances, recall

import pageway

PRESETS = [name for name, _ in pageway.presets()]
SIZES = {"memory": "8MB", "degree": 24, "build_list": 50}
#: A design in whose place any choice can be put alone.
PLAIN = {"preset": "diskann", **SIZES}
#: The policies of `overrides`, as a spec groups them.
POLICIES = {
    "storage": ["vectors", "codes", "quantizer"],
    "layout": ["codec", "placement", "lists"],
    "execution": ["entry", "schedule", "harvest", "refine", "stop", "slack"],
}


@pytest.fixture(scope="session")
def designs(tmp_path_factory, vectors, queries):
    """Directory of an index over `vectors` by preset; built once, tests must not change them."""
    directory = tmp_path_factory.mktemp("designs")
    for name in PRESETS:
        pageway.build(directory / name, vectors, preset=name, queries=queries, **SIZES).close()
    return directory


@pytest.fixture(params=PRESETS)
def design(request, designs):
    """An open index of each design."""
    with pageway.open(designs / request.param) as opened:
        yield opened


def spec_of(path, rows, **settings):
    """The spec of an index that is built with these settings, plain where they leave it open."""
    with pageway.build(
        path, rows, queries=rows[:40], overwrite=True, **{**PLAIN, **settings}
    ) as index:
        return index.stats()["spec"]


def test_there_are_ten_designs_with_a_summary_each():
    assert PRESETS == [
        "diskann",
        "aisaq",
        "starling",
        "gorgeous",
        "pageann",
        "pageann-disk",
        "pipeann",
        "dgai",
        "freshdiskann",
        "odinann",
        "ipdiskann",
        "pageway",
    ]
    for preset in pageway.presets():
        assert isinstance(preset, pageway.Preset) and len(preset.summary) > 40, preset.name


def test_our_own_is_the_default(tmp_path, vectors):
    few = vectors[:300]
    with pageway.build(tmp_path / "i", few, **SIZES) as index:
        chosen = index.stats()["spec"]
    assert chosen == spec_of(tmp_path / "j", few, preset="pageway")
    assert chosen["execution"]["refine"]["kind"] == "bounded"


def test_a_form_is_built_by_its_name(tmp_path, vectors):
    few = vectors[:300]
    for form, entry in [("clustered", "clusters"), ("on-disk", "hash"), (None, "medoid")]:
        spec = spec_of(tmp_path / str(form), few, preset="pageway", form=form)
        assert spec["execution"]["entry"]["kind"] == entry, form
    with pytest.raises(pageway.InvalidInputError, match="no form 'cloudy': it has resident"):
        pageway.build(tmp_path / "wrong", few, form="cloudy", **SIZES)
    with pytest.raises(pageway.InvalidInputError, match="no form 'resident'"):
        pageway.build(tmp_path / "wrong", few, preset="diskann", form="resident", **SIZES)


def test_every_design_finds_the_neighbours(design, vectors, queries):
    result = design.search(queries, k=10, effort=60)
    assert recall(result.ids, vectors, queries, "l2") >= 0.95
    exact = distances(vectors, queries, "l2")
    exact = np.take_along_axis(exact, result.ids.astype(np.int64), axis=1)
    np.testing.assert_allclose(result.distances, exact, rtol=1e-4, atol=1e-4)
    assert recall(design.search(queries, recall=0.95).ids, vectors, queries, "l2") >= 0.9


def test_every_design_finds_what_lies_in_a_radius(design, vectors, queries):
    exact = distances(vectors, queries, "l2")
    radius = float(np.median(np.sort(exact, axis=1)[:, 15]))
    lims, ids, _ = design.range(queries, radius, list_size=80)
    found = [set(ids[low:high].tolist()) for low, high in zip(lims, lims[1:])]
    inside = [set(np.nonzero(row <= radius)[0].tolist()) for row in exact]
    assert all(len(one) == high - low for one, low, high in zip(found, lims, lims[1:]))
    assert not any(one - all_ for one, all_ in zip(found, inside))
    shared = sum(len(one & all_) for one, all_ in zip(found, inside))
    assert shared >= 0.95 * sum(map(len, inside))


def test_every_design_says_how_it_lies_in_pages(design):
    stats = design.stats()
    assert 0 <= stats["overlap"] <= 1 and 0 < stats["page_utilisation"] <= 1
    separate = stats["spec"]["storage"]["vectors"] == "separate"
    assert stats["nodes_per_page"] >= 1 and (stats["vectors_per_page"] >= 1) == separate
    assert design.verify().sound


def test_designs_differ_as_they_are_meant_to(designs, queries):
    indexes = {name: pageway.open(designs / name) for name in PRESETS}
    stats = {name: index.stats() for name, index in indexes.items()}
    assert stats["starling"]["overlap"] > 3 * stats["diskann"]["overlap"]
    parts = {name: dict(stats[name]["memory"]["parts"]) for name in PRESETS}
    assert parts["aisaq"]["codes"] == 0 < parts["diskann"]["codes"]
    assert indexes["dgai"].search(queries, effort=60).stats["refine_reads"].sum() > 0
    assert indexes["diskann"].search(queries, effort=60).stats["refine_reads"].sum() == 0
    assert indexes["pageann"].search(queries, effort=60).stats["page_hits"].sum() > 0
    for index in indexes.values():
        index.close()


def test_the_beam_is_that_of_the_caller(tmp_path, vectors):
    few = vectors[:200]
    assert spec_of(tmp_path / "i", few)["execution"]["schedule"]["beam"] == 4
    assert spec_of(tmp_path / "i", few, beam=7)["execution"]["schedule"]["beam"] == 7
    spec = spec_of(tmp_path / "i", few, beam=9, overrides={"schedule": "pipelined"})
    assert spec["execution"]["schedule"]["most"] == 9


CHOICES = [
    ("layout", "placement", "bnp", {"kind": "bnp"}),
    ("layout", "placement", "bnf", {"kind": "bnf", "rounds": 8, "gain": 0.01}),
    ("layout", "placement", {"kind": "bnf", "rounds": 3}, {"rounds": 3, "gain": 0.01}),
    ("layout", "placement", {"kind": "bns", "rounds": np.int64(2)}, {"kind": "bns", "rounds": 2}),
    ("layout", "placement", "grouped", {"kind": "grouped", "hops": 2}),
    ("layout", "placement", "clustered", {"kind": "clustered"}),
    ("layout", "lists", "packed", "packed"),
    ("layout", "codec", {"kind": "packed"}, {"kind": "packed"}),
    ("execution", "entry", {"kind": "fixed", "count": 3}, {"kind": "fixed", "count": 3}),
    ("execution", "entry", "navigation", {"kind": "navigation", "list_size": 10}),
    ("execution", "entry", {"kind": "hash", "radius": 1}, {"kind": "hash", "radius": 1}),
    ("execution", "schedule", {"beam": 6}, {"kind": "lockstep", "beam": 6}),
    ("execution", "schedule", "prefetch", {"kind": "prefetch", "beam": 4}),
    (
        "execution",
        "schedule",
        {"kind": "pipelined", "completion": "in_order"},
        {"least": 4, "most": 32, "completion": "in_order"},
    ),
    ("execution", "harvest", {"kind": "near", "share": np.float32(0.5)}, {"share": 0.5}),
    ("execution", "harvest", "all", {"kind": "all"}),
    ("execution", "refine", {"kind": "deferred", "share": 0.75}, {"share": 0.75}),
    ("execution", "stop", "horizon", {"kind": "horizon", "growth": 15.0}),
    ("execution", "stop", {"kind": "horizon", "growth": 9}, {"growth": 9.0}),
    ("execution", "slack", np.float32(0.25), 0.25),
]


@pytest.mark.parametrize("axis, policy, wish, expected", CHOICES)
def test_a_choice_takes_the_place_of_the_designs_own(
    tmp_path, vectors, queries, axis, policy, wish, expected
):
    with pageway.build(tmp_path / "i", vectors, overrides={policy: wish}, **PLAIN) as index:
        chosen = index.stats()["spec"][axis][policy]
        if isinstance(expected, dict):
            chosen = {name: chosen[name] for name in expected}
        assert chosen == expected
        found = index.search(queries, effort=80).ids
    assert recall(found, vectors, queries, "l2") >= 0.95


GRAPHS = ["hnsw", {"kind": "nsg", "knn": 48}, {"algorithm": "nsg", "knn": 64}]


@pytest.mark.parametrize("graph", GRAPHS)
def test_graphs_take_the_sizes_of_the_build(tmp_path, vectors, queries, graph):
    with pageway.build(tmp_path / "i", vectors, overrides={"graph": graph}, **PLAIN) as index:
        chosen = index.stats()["spec"]["graph"]
        assert recall(index.search(queries, effort=80).ids, vectors, queries, "l2") >= 0.95
    assert (chosen["max_degree"], chosen["build_list"]) == (24, 50)
    if isinstance(graph, dict):
        assert chosen["knn"] == graph["knn"]


def test_what_is_left_out_is_as_in_the_preset(tmp_path, vectors):
    few = vectors[:300]
    overrides = {"cache": {"pages": "clock", "page_share": 0.25}, "placement": None}
    own = spec_of(tmp_path / "i", few)
    assert spec_of(tmp_path / "i", few, overrides={}) == own
    cache = spec_of(tmp_path / "i", few, overrides=overrides)["cache"]
    assert cache == {**own["cache"], "pages": "clock", "page_share": 0.25}
    starling = spec_of(
        tmp_path / "i", few, preset="starling", overrides={"placement": {"rounds": 2}}
    )
    assert starling["layout"]["placement"] == {"kind": "bnf", "rounds": 2, "gain": 0.01}


@pytest.mark.parametrize("form", ["resident", "clustered", "on-disk"])
def test_what_is_left_out_is_as_in_the_form(tmp_path, vectors, form):
    def spec(name, overrides):
        chosen = {"preset": "pageway", "form": form, "overrides": overrides, "code_bytes": 24}
        return spec_of(tmp_path / name, vectors[:300], **chosen)

    own = spec("own", None)
    share = own["cache"]["page_share"] if own["cache"]["nodes"] == "none" else 0.5
    cache = {"pages": "lru", "page_share": share}
    assert spec("cache", {"cache": cache}) == {**own, "cache": {**own["cache"], **cache}}
    refined = spec("refine", {"refine": {"deviations": 1.5}})
    own["execution"]["refine"]["deviations"] = 1.5
    assert refined == own


def test_what_is_left_out_is_as_in_the_form_that_memory_holds(tmp_path, vectors):
    settings = {**SIZES, "memory": 690_000, "queries": vectors[:40]}

    def spec(name, overrides):
        with pageway.build(tmp_path / name, vectors, overrides=overrides, **settings) as index:
            return index.stats()["spec"]

    own = spec("own", None)
    assert own["graph"]["algorithm"] == "clusters"
    chosen = spec("lru", {"cache": {"pages": "lru"}, "refine": {"deviations": 1.5}})
    # Where pages are cached, codes may take what further queries would have.
    chosen["storage"] = own["storage"]
    own["cache"]["pages"] = "lru"
    own["execution"]["refine"]["deviations"] = 1.5
    assert chosen == own


#: Ways to clusters: by what the default does with less memory, by its graph alone, and policy by
#: policy from a design of lists.
CLUSTERED = {
    "graph": {"preset": "pageway", "overrides": {"graph": "clusters"}},
    "members": {"preset": "pageway", "overrides": {"graph": {"kind": "clusters", "members": 30}}},
    "policies": {
        "preset": "diskann",
        "overrides": {
            "graph": "clusters",
            "entry": "clusters",
            "placement": "clustered",
            "vectors": "separate",
            "codec": "split",
            "quantizer": "rabitq",
            "harvest": "all",
            "refine": {"kind": "bounded", "deviations": 0.5},
            "cache": {"nodes": "none"},
        },
    },
}


@pytest.mark.parametrize("way", CLUSTERED)
def test_clusters_take_the_place_of_lists(tmp_path, vectors, queries, way):
    chosen = {**SIZES, **CLUSTERED[way]}
    with pageway.build(tmp_path / "i", vectors, queries=queries, **chosen) as index:
        spec = index.stats()["spec"]
        assert spec["graph"]["algorithm"] == "clusters"
        assert spec["graph"]["members"] == (30 if way == "members" else 64)
        assert spec["execution"]["entry"] == {"kind": "clusters"}
        assert spec["layout"]["placement"] == {"kind": "clustered"}
        assert spec["cache"]["nodes"] == "none"
        found = index.search(queries, effort=80)
        assert recall(found.ids, vectors, queries, "l2") >= 0.95
        assert found.stats["rounds"].max() <= 2
        assert index.verify().sound


def test_clusters_need_what_goes_with_them(tmp_path, vectors):
    with pytest.raises(pageway.InvalidInputError, match="choose entry clusters"):
        spec_of(tmp_path / "i", vectors[:300], overrides={"graph": "clusters"})
    with pytest.raises(pageway.InvalidInputError, match="graph clusters"):
        spec_of(tmp_path / "i", vectors[:300], overrides={"entry": "clusters"})


def test_a_cache_of_records_learns(tmp_path, vectors, queries):
    overrides = {"cache": {"nodes": "clock"}}
    with pageway.build(tmp_path / "i", vectors, overrides=overrides, **PLAIN) as index:
        assert index.stats()["spec"]["cache"]["nodes"] == "clock"
        least = sum(size for part, size in index.stats()["memory"]["parts"] if "cached" not in part)
    with pageway.open(tmp_path / "i", memory=least + 60_000, effort=60) as index:
        reads = [index.search(queries[:3], effort=60).stats["reads"].sum() for _ in range(4)]
        assert index.stats()["memory"]["cached_nodes"] > 100
    assert reads[-1] < reads[0] / 2, reads


def test_a_second_code_comes_and_goes(tmp_path, vectors):
    few = vectors[:300]
    cascade = {"second_code_bytes": 5, "refine": "cascade"}
    storage = spec_of(tmp_path / "i", few, overrides=cascade)["storage"]
    assert storage["second_quantizer"] == {"kind": "pq", "code_bytes": 5}
    single = {"second_code_bytes": 0, "refine": "deferred"}
    storage = spec_of(tmp_path / "i", few, preset="dgai", overrides=single)["storage"]
    assert storage["second_quantizer"] is None


@pytest.mark.parametrize("name", PRESETS)
def test_the_parts_of_a_spec_are_overrides(tmp_path, designs, vectors, name):
    with pageway.open(designs / name) as index:
        spec = index.stats()["spec"]
    parts = {
        policy: spec[axis][policy] for axis, policies in POLICIES.items() for policy in policies
    }
    second = spec["storage"]["second_quantizer"]
    parts["second_code_bytes"] = second["code_bytes"] if second else 0
    parts["ids_in_memory"] = spec["storage"]["ids_in_memory"]
    code_bytes = spec["storage"]["quantizer"]["code_bytes"]
    parts["update"] = spec["update"]
    parts["repair"] = spec.get("repair", "sweep")
    parts["delta"] = spec.get("delta", "scan")
    overrides = {"graph": spec["graph"], "cache": spec["cache"], **parts}
    found = spec_of(tmp_path / "i", vectors, overrides=overrides, code_bytes=code_bytes)
    assert found == spec


BAD_OVERRIDES = {
    "not a dict": ("bnf", "overrides: give a dict such as .*, not a str"),
    "policy": ({"placment": "bnf"}, "there is no 'placment'; choose graph, .*placement"),
    "policy of another type": ({1: "bnf"}, "there is no '1'"),
    "name": ({"placement": "bfn"}, "placement: there is no 'bfn'; choose by_id, .*bns"),
    "graph": ({"graph": "hsnw"}, "graph: there is no 'hsnw'; choose vamana, nsg, hnsw"),
    "kind": ({"entry": {"kind": 3}}, "entry: kind is 3: give the name of a choice"),
    "field": (
        {"placement": {"kind": "bnf", "round": 3}},
        "placement bnf has no field 'round'; its fields: gain, rounds",
    ),
    "field of another kind": (
        {"placement": {"rounds": 3}},
        "placement by_id has no field 'rounds'; its fields: none",
    ),
    "text": ({"entry": {"kind": "fixed", "count": "many"}}, "entry: count is \"many\": .*whole"),
    "negative": ({"entry": {"kind": "fixed", "count": -1}}, "entry: count is -1: .*such as [0-9]+"),
    "fraction": ({"entry": {"kind": "fixed", "count": 2.5}}, "entry: count is 2.5: .*whole"),
    "out of range": ({"placement": {"kind": "bnf", "rounds": 0}}, "rounds = 0 .*between 1 and"),
    "not a number": ({"harvest": {"kind": "near", "share": float("nan")}}, "overrides: harvest: "),
    "object": ({"harvest": {"kind": "near", "share": object()}}, "overrides: harvest: .*neither"),
    "number": ({"harvest": 3}, "harvest is 3: give a name or a dict"),
    "list": ({"harvest": ["all"]}, "harvest is .*: give a name or a dict"),
    "cache by name": ({"cache": "lru"}, "cache: there is no 'lru'; give a dict of its parts"),
    "cache part": ({"cache": {"page": "lru"}}, "cache has no field 'page'; its fields: nodes"),
    "cache choice": ({"cache": {"pages": "big"}}, "cache_pages: there is no 'big'; choose none, .*lru"),
    "second code": ({"second_code_bytes": "4"}, "second_code_bytes is \"4\": give a number of"),
    "slack": ({"slack": "much"}, "slack is \"much\": give a number from 0 to 1"),
    "clash": ({"codec": "split"}, "codec = split .*choose vectors separate"),
    "second code for nothing": ({"second_code_bytes": 4}, "only refine cascade uses second codes"),
    "upper layers": ({"entry": "upper_layers"}, "only graph hnsw has upper layers"),
}


@pytest.mark.parametrize("name", BAD_OVERRIDES)
def test_bad_overrides_are_refused_by_key(tmp_path, vectors, name):
    overrides, words = BAD_OVERRIDES[name]
    with pytest.raises(pageway.InvalidInputError, match=words):
        pageway.build(tmp_path / "i", vectors[:100], overrides=overrides, **PLAIN)
    assert not (tmp_path / "i").exists() or not any((tmp_path / "i").iterdir())


@pytest.mark.parametrize("policy", sorted({"graph", *sum(POLICIES.values(), [])} - {"slack"}))
def test_the_documentation_names_what_there_is_to_choose(tmp_path, vectors, policy):
    with pytest.raises(pageway.InvalidInputError) as info:
        pageway.build(tmp_path / "i", vectors[:100], overrides={policy: "?"}, **PLAIN)
    names = str(info.value).split("choose ")[1].split(", ")
    table = pageway.build.__doc__.split("names, with their fields")[1]
    assert len(names) >= 2 and all(f"``{name}``" in table for name in [policy, *names])


def test_a_disk_limit_is_kept(tmp_path, vectors):
    def build(name, disk):
        return pageway.build(tmp_path / name, vectors, preset="gorgeous", disk=disk, **SIZES)

    with build("free", None) as free, build("bound", "4MB") as bound:
        bytes_of = [index.stats()["index_bytes"] for index in (free, bound)]
        lists = [index.stats()["spec"]["layout"]["codec"]["lists"] for index in (free, bound)]
    assert bytes_of[1] <= 4_000_000 < bytes_of[0] and lists[1] < lists[0]
    with pytest.raises(pageway.InvalidInputError, match="disk limit .*smallest that works"):
        build("tight", 1000)


def test_a_graph_is_laid_out_anew(tmp_path, designs, vectors, queries):
    path = designs / "diskann"
    found = []
    for name, donor in [("own", None), ("given", path)]:
        settings = {"preset": "starling", "graph_from": donor, **SIZES}
        with pageway.build(tmp_path / name, vectors, **settings) as index:
            found.append(index.search(queries, effort=60).ids)
    np.testing.assert_array_equal(*found)
    with pytest.raises(pageway.InvalidInputError, match="graph .*cannot be taken over"):
        pageway.build(tmp_path / "k", clustered(np.float32, count=99), graph_from=path, **PLAIN)
