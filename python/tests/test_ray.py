"""Builds, searches and servers over Ray; skipped where ray, or for servers the server, is not.

Workers, drivers and nodes are killed. What a step did is told by the times of its files.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="ray is not installed")

from conftest import clustered, distances, recall  # noqa: E402

import pageway  # noqa: E402
import pageway.ray  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BUDGET = "64MB"
#: What the budget is, and Python, numpy and the engine's code beside it.
MOST_BYTES = 64_000_000 + (128 << 20)
SETTINGS = {"segments": 3, "memory": "2MB", "build_memory": BUDGET, "calibration_queries": 100}

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster():
    """Three raylets in processes of their own."""
    from ray.cluster_utils import Cluster

    # Workers have the environment of their raylet.
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT / "python/tests")])
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0", PYTHONPATH=path)
    own = {"num_cpus": 2, "memory": 1 << 30, "object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args=own)
    for _ in range(2):
        cluster.add_node(**own)
    ray.init(address=cluster.address)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def rows():
    return clustered(np.float32, count=6000)


@pytest.fixture(scope="module")
def asked():
    return clustered(np.float32, count=6100)[6000:]


def files(path):
    return {own.name: own.read_bytes() for own in path.iterdir() if own.name != "LOCK"}


def records(work):
    """When the records of each finished segment were written."""
    found = work.glob("*/segment-*/index/records-*.pw")
    done = [own for own in found if (own.parent / "MANIFEST").exists()]
    return {own.parent.parent.name: own.stat().st_mtime_ns for own in done}


def test_import_of_the_package_needs_no_ray():
    code = "import sys, pageway; sys.exit('ray' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})


def test_a_build_is_that_of_one_machine_within_its_memory(cluster, tmp_path, rows, asked):
    built = pageway.ray.build(rows, tmp_path / "ray.index", **SETTINGS)
    settings = {**SETTINGS, "cut": "space"}
    pageway.build(tmp_path / "one.index", rows, **settings).close()
    assert files(tmp_path / "ray.index") == files(tmp_path / "one.index")
    assert [step.step for step in built.steps] == ["prepare", "0", "1", "2", "join"]
    assert [step.rows for step in built.steps] == [6000, 2000, 2000, 2000, 6000]
    assert not any(step.done_before for step in built.steps)
    assert len({step.node for step in built.steps}) > 1
    for step in built.steps:
        assert 0 < step.peak_bytes <= MOST_BYTES, step
    assert not (tmp_path / "ray.index.work").exists()
    with pageway.open(tmp_path / "ray.index") as index:
        found = index.search(asked, k=10, recall=0.95)
    assert recall(found.ids, rows, asked, "l2") >= 0.94
    with pytest.raises(pageway.ExistsError):
        pageway.ray.build(rows, tmp_path / "ray.index", **SETTINGS)


def test_a_data_set_with_ids_and_a_batch_search(cluster, tmp_path, rows, asked):
    ids = np.arange(6000, dtype=np.int64) * 3 + 5
    table = ray.data.from_items(
        [{"id": int(own), "vector": row.tolist()} for own, row in zip(ids, rows)],
        override_num_blocks=4,
    )
    table = table.map_batches(
        lambda batch: {**batch, "vector": np.stack(batch["vector"]).astype(np.float32)}
    )
    place = tmp_path / "set.index"
    pageway.ray.build(
        table, place, column="vector", id_column="id", cut="arrival", metric="cosine", **SETTINGS
    )
    queries = ray.data.from_numpy(asked).rename_columns({"data": "query"})
    found = pageway.ray.batch_search(
        place, queries, k=10, recall=0.95, column="query", batch_size=32, actors=2
    )
    answers = found.take_all()
    assert len(answers) == len(asked)
    nearest = np.stack([own["ids"] for own in answers])
    given = np.stack([own["query"] for own in answers])
    assert set(nearest.ravel().tolist()) <= set(ids.tolist())
    assert recall((nearest.astype(np.int64) - 5) // 3, rows, given, "cosine") >= 0.94
    exact = np.sort(distances(rows, given, "cosine"), axis=1)[:, 0]
    np.testing.assert_allclose([own["distances"][0] for own in answers], exact, atol=1e-2)


def test_parquet_is_read_by_ray(cluster, tmp_path, rows):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    flat = arrow.FixedSizeListArray.from_arrays(arrow.array(rows[:2000].ravel()), rows.shape[1])
    parquet.write_table(arrow.table({"v": flat}), tmp_path / "rows.parquet")
    built = pageway.ray.build(
        tmp_path / "rows.parquet", tmp_path / "p.index", column="v", **SETTINGS
    )
    assert built.report["nodes"] == 2000
    with pageway.open(tmp_path / "p.index") as index:
        np.testing.assert_array_equal(index.vectors([7, 1999]), rows[[7, 1999]])


def test_killed_workers_and_processes_cost_their_step_alone(cluster, tmp_path, rows):
    """Each process of a step and each worker that is found is killed once, mid-step."""
    big = np.tile(rows, (4, 1)) + np.linspace(0, 1, 24000, dtype=np.float32)[:, None]
    place, work = tmp_path / "killed.index", tmp_path / "killed.index.work"
    settings = {**SETTINGS, "preset": "diskann", "max_retries": 8}
    killed, ended = [], threading.Event()

    def kill():
        while not ended.wait(0.05):
            for process in step_processes():
                parent = parent_of(process)
                victim = process if len(killed) % 2 else parent
                if len(killed) >= 4 or process in killed or victim is None:
                    continue
                # Segments alone: what they have in common is there.
                if not list(work.glob("*/segment-*/index/LOCK")):
                    continue
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(process)
                time.sleep(1.0)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        pageway.ray.build(big, place, keep_work=True, **settings)
    finally:
        ended.set()
        killer.join()
    assert killed
    pageway.build(tmp_path / "one.index", big, **{**SETTINGS, "cut": "space", "preset": "diskann"})
    assert files(place) == files(tmp_path / "one.index")


DRIVER = """
    import sys, numpy as np, ray, pageway.ray
    ray.init(address=sys.argv[1])
    rows = np.load(sys.argv[2])
    pageway.ray.build(rows, sys.argv[3], **eval(sys.argv[4]))
"""


def test_a_killed_driver_goes_on_and_no_finished_segment_is_built_again(cluster, tmp_path, rows):
    big = np.tile(rows, (4, 1)) + np.linspace(0, 1, 24000, dtype=np.float32)[:, None]
    np.save(tmp_path / "rows.npy", big)
    place, work = tmp_path / "driver.index", tmp_path / "driver.index.work"
    settings = {**SETTINGS, "segments": 8, "preset": "diskann", "num_cpus": 2}
    words = [cluster.address, str(tmp_path / "rows.npy"), str(place), repr(settings)]
    command = [sys.executable, "-c", textwrap.dedent(DRIVER), *words]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while len(records(work)) < 2 and time.monotonic() < until and driver.poll() is None:
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    # Its workers end with it, and their processes with them.
    while step_processes() and time.monotonic() < until:
        time.sleep(0.1)
    before = records(work)
    assert 2 <= len(before) < 8, "the driver was to die in the middle"
    built = pageway.ray.build(big, place, keep_work=True, **settings)
    after = records(work)
    assert {name: after[name] for name in before} == before
    kept = {f"segment-{step.step}" for step in built.steps[1:-1] if step.done_before}
    assert set(before) <= kept
    assert built.steps[0].done_before
    one = {**SETTINGS, "segments": 8, "cut": "space", "preset": "diskann"}
    pageway.build(tmp_path / "one.index", big, **one).close()
    assert files(place) == files(tmp_path / "one.index")
    # One that was cut off after its last step ends its work.
    pageway.ray.build(big, place, **settings)
    assert not work.exists()


def test_what_cannot_be_is_refused_before_work(cluster, tmp_path, rows):
    def refused(match, *more, **settings):
        with pytest.raises(pageway.InvalidInputError, match=match):
            given = {**SETTINGS, **settings}
            pageway.ray.build(*(more or (rows,)), tmp_path / "no.index", **given)

    refused("a share|give bytes", build_memory="10%")
    refused("no machine of the cluster", build_memory="50GB", work=tmp_path / "w1")
    refused("no machine of the cluster", resources={"nvme": 1}, work=tmp_path / "w2")
    refused("attributes: a list", work=tmp_path / "w3", attributes=[object()])
    refused("no columns", work=tmp_path / "w4", column="v")
    refused("say which of its columns", ray.data.range(10), work=tmp_path / "w5")
    refused("has no column 'v'", ray.data.range(10), work=tmp_path / "w6", column="v")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "mine").touch()
    refused("not the work of a build", work=tmp_path / "foreign")
    np.save(tmp_path / "rows.npy", rows)
    refused("a share|give bytes", tmp_path / "rows.npy", build_memory="10%")
    refused("cosin", tmp_path / "rows.npy", metric="cosin")
    assert not (tmp_path / "no.index.work").exists()


def step_processes():
    """The processes of steps on this machine, that live."""
    found = []
    for own in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = own.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"pageway._step" in words:
            found.append(int(own.parent.name))
    return found


def parent_of(process):
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    return int(stat.rsplit(")", 1)[1].split()[1])


SERVER = os.environ.get("PAGEWAY_SERVER") or shutil.which("pageway-server")
served = pytest.mark.skipif(SERVER is None, reason="pageway-server is not on PATH")


@pytest.fixture(scope="module")
def shards(tmp_path_factory, rows):
    """Two indexes with half of the rows each, and two of others for a next version."""
    folder = tmp_path_factory.mktemp("shards")
    made = {}
    for version, sign in ((1, 1.0), (2, -1.0)):
        for half in range(2):
            own = np.arange(half, 2000, 2)
            place = folder / f"v{version}-{half}"
            vectors = (sign * rows[own]).astype(np.float32)
            payloads = [{"n": int(one), "version": version} for one in own]
            settings = {"metric": "cosine", "memory": "2MB", "attributes": payloads}
            pageway.build(place, vectors, ids=own, **settings).close()
            made[version, half] = place
    return made


def query(address, vector, **more):
    body = {"query": vector.tolist(), "limit": 10, **more}
    url = f"http://{address}/collections/texts/points/query"
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise OSError(f"{error.code}: {error.read().decode()}") from None


def ids_of(answer):
    return [own["id"] for own in answer["result"]["points"]]


def nearest(rows, vector):
    return np.argsort(distances(rows[:2000], vector, "cosine")[0])[:10].tolist()


@served
def test_a_cluster_survives_its_processes_and_rolls(cluster, tmp_path, rows, asked, shards):
    both = {"texts": [shards[1, 0], shards[1, 1]]}
    with pageway.ray.serve(both, 2, state=tmp_path / "s", memory="64MB", command=SERVER) as own:
        exact = {"params": {"exact": True}}
        assert ids_of(query(own.address, asked[0], **exact)) == nearest(rows, asked[0])
        for name in ("node-0", "node-1", "router"):
            check_recovery(own, name, lambda: query(own.address, asked[1], **exact))
        assert own.map().count('nodes = ["node-') == 2
        for name in ("node-1", "router"):
            check_recovery_of_worker(own, name, lambda: query(own.address, asked[1], **exact))
        failed, done = [], threading.Event()

        def ask():
            while not done.wait(0.01):
                try:
                    query(own.address, asked[2])
                except (OSError, urllib.error.URLError) as error:
                    failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        own.update({"texts": [shards[2, 0], shards[2, 1]]})
        done.set()
        asking.join()
        assert not failed
        answer = ids_of(query(own.address, asked[0], **exact))
        assert answer == nearest(-rows, asked[0])
        assert "v2" in own.map() and "v1" not in own.map()
        processes = own.processes()
    for process in processes.values():
        assert not is_alive(process)


def check_recovery(cluster, name, asks):
    """A process that is killed is there again within five seconds, and answers are complete."""
    before = cluster.processes()[name]
    os.kill(before, signal.SIGKILL)
    killed = time.monotonic()
    while True:
        try:
            asks()
            after = cluster.processes()[name]
            if after not in (None, before) and is_whole(cluster):
                break
        except OSError:
            pass
        assert time.monotonic() - killed < 5, f"{name} is not there again"
        time.sleep(0.05)
    assert time.monotonic() - killed < 5


def is_whole(cluster):
    """Whether the router has every node in rotation."""
    with urllib.request.urlopen(f"http://{cluster.address}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    up = [line.rsplit(" ", 1)[1] for line in lines if line.startswith("pageway_node_up{")]
    return up == ["1", "1"]


def check_recovery_of_worker(cluster, name, asks):
    """A worker that is killed takes its server with it; Ray starts both again. Nodes have replicas."""
    before = cluster.processes()[name]
    os.kill(parent_of(before), signal.SIGKILL)
    killed = time.monotonic()
    while cluster.processes()[name] in (None, before) or not is_whole_now(cluster):
        if name != "router":
            asks()
        assert time.monotonic() - killed < 60, f"{name} is not there again"
        time.sleep(0.1)
    asks()
    assert not is_alive(before)


def is_alive(process):
    """Whether a process runs: one that nobody waits for is none."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def is_whole_now(cluster):
    try:
        return is_whole(cluster)
    except OSError:
        return False


@served
def test_what_no_cluster_can_be_is_refused(cluster, tmp_path, shards):
    with pytest.raises(pageway.InvalidInputError, match="replicas = 3"):
        pageway.ray.serve({"a": shards[1, 0]}, 2, state=tmp_path / "a", replicas=3)
    with pytest.raises(pageway.NotFoundError, match="no-such-server"):
        pageway.ray.serve(
            {"a": shards[1, 0]}, 1, replicas=1, state=tmp_path / "b", command="no-such-server"
        )
    pageway.build(tmp_path / "bare", clustered(np.float32), memory="2MB").close()
    with pytest.raises(pageway.InvalidInputError, match="build the index with attributes"):
        pageway.ray.serve(
            {"a": tmp_path / "bare"}, 1, replicas=1, state=tmp_path / "d", command=SERVER
        )
    with pytest.raises(pageway.InvalidInputError, match="give an index, or an archive"):
        pageway.ray.serve(
            {"a": tmp_path / "x"}, 1, replicas=1, state=tmp_path / "c", command=SERVER
        )
