"""Many collections in one budget: each is asked again and again, cold and warm, while others change.

Makes them, asks every one once in an order of its own (most are closed then: the time of a cold answer), and
then asks, changes and describes them by chance for a while. The process must stay within budget and 64 MB.
With `--idle` it tells what a server takes that has ten collections open and rests, and how long it takes to start.
"""

import argparse
import http.client
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

import harness

SIZE = 16
BUDGET = 256 << 20
BESIDE = 64 << 20
# What a server has where nobody says: ten collections are open at once in it.
IDLE_BUDGET = 1 << 30


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=pathlib.Path, help="the program pageway-server")
    parser.add_argument("--collections", type=int, default=1000)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=3600, help="of mixed load")
    parser.add_argument("--idle", action="store_true", help="look at a server that rests instead")
    chosen = parser.parse_args()
    return idle(chosen) if chosen.idle else many(chosen)


def vector(collection, number):
    numbers = random.Random(collection * 1_000_003 + number)
    return [round(numbers.uniform(-1, 1), 3) for _ in range(SIZE)]


def make(running, chosen, count):
    for collection in range(count):
        running.result("PUT", f"/collections/c{collection}", {"vectors": {"size": SIZE, "distance": "Euclid"}})
        points = [{"id": own, "vector": vector(collection, own), "payload": {"n": own}} for own in range(chosen.points)]
        running.result("PUT", f"/collections/c{collection}/points?wait=true", {"points": points})


def nearest(connection, collection, number):
    """Asks for a point by its vector; what it took."""
    began = time.monotonic()
    query = {"query": vector(collection, number), "limit": 1}
    status, answer = harness.ask(connection, "POST", f"/collections/c{collection}/points/query", query)
    took = time.monotonic() - began
    assert status == 200, (status, answer)
    assert answer["result"]["points"][0]["id"] == number, (collection, number, answer)
    return took


def many(chosen):
    wrong = []
    with harness.server(chosen.server, str(BUDGET)) as running:
        began = time.monotonic()
        make(running, chosen, chosen.collections)
        made = time.monotonic() - began
        order = list(range(chosen.collections))
        random.Random(1).shuffle(order)
        connection = http.client.HTTPConnection(harness.HOST, running.port, timeout=60)
        cold = sorted(nearest(connection, own, own % chosen.points) for own in order)
        told = {"collections": len(order), "made_seconds": round(made, 1), "cold_p50_ms": ms(cold, 50), "cold_p99_ms": ms(cold, 99), "peak_mib_cold": peak(running)}
        told |= mixed(running, chosen, wrong)
        count = sum(running.result("POST", f"/collections/c{own}/points/count", {})["count"] for own in order)
        told["points"] = count
        code = running.stop()
    if told["peak_mib"] * (1 << 20) > BUDGET + BESIDE:
        wrong.append(f"{told['peak_mib']} MiB resident")
    if count < chosen.points * chosen.collections or code:
        wrong.append(f"{count} points, ended with {code}")
    print(json.dumps(told))
    for one in wrong[:10]:
        print(f"many: {one}")
    return 1 if wrong else 0


def mixed(running, chosen, wrong):
    """Asks and changes by chance until the time is up."""
    ends, counts, waits = time.monotonic() + chosen.seconds, {}, []

    def work(seed):
        numbers = random.Random(seed)
        connection = http.client.HTTPConnection(harness.HOST, running.port, timeout=60)
        while time.monotonic() < ends:
            own, number = numbers.randrange(chosen.collections), numbers.randrange(chosen.points)
            kind = numbers.choice(["query", "query", "query", "scroll", "upsert", "describe"])
            try:
                if kind == "query":
                    waits.append(nearest(connection, own, number))
                    counts[kind] = counts.get(kind, 0) + 1
                    continue
                path = f"/collections/c{own}"
                if kind == "scroll":
                    status, answer = harness.ask(connection, "POST", f"{path}/points/scroll", {"limit": 20, "with_vector": True})
                elif kind == "upsert":
                    points = [{"id": at, "vector": vector(own, at), "payload": {"n": at}} for at in range(number, min(number + 20, chosen.points))]
                    status, answer = harness.ask(connection, "PUT", f"{path}/points?wait=true", {"points": points})
                else:
                    status, answer = harness.ask(connection, "GET", path)
                counts[kind] = counts.get(kind, 0) + 1
                if status != 200:
                    wrong.append(f"{kind}: {status} {answer}")
            except (AssertionError, OSError) as error:
                wrong.append(f"{kind}: {error!r}"[:200])
                connection.close()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waits = sorted(waits) or [0]
    return {"mixed_seconds": chosen.seconds, "requests": counts, "query_p50_ms": ms(waits, 50), "query_p99_ms": ms(waits, 99), "failed": len(wrong), "peak_mib": peak(running)}


def idle(chosen):
    with tempfile.TemporaryDirectory() as data:
        running = harness.Server(chosen.server, data, str(IDLE_BUDGET))
        make(running, chosen, 10)
        running.stop()
        starts = []
        for _ in range(5):
            running = harness.Server(chosen.server, data, str(IDLE_BUDGET))
            starts.append(1e3 * running.start_seconds)
            running.stop()
        running = harness.Server(chosen.server, data, str(IDLE_BUDGET))
        connection = http.client.HTTPConnection(harness.HOST, running.port, timeout=60)
        for collection in range(10):
            nearest(connection, collection, 1)
        connection.close()
        time.sleep(5)
        status, text = running.ask("GET", "/metrics")
        is_open = [line for line in text.decode().splitlines() if line.startswith("pageway_collections_open ")]
        resident = running.memory()[0] / (1 << 20)
        running.stop()
    told = {"open": is_open, "resident_mib": round(resident, 1), "start_ms": round(sorted(starts)[2], 1)}
    print(json.dumps(told))
    return 0 if resident * 1.048576 < 30 and sorted(starts)[2] < 100 else 1


def ms(waits, part):
    return round(1e3 * waits[min(len(waits) - 1, len(waits) * part // 100)], 2)


def peak(running):
    return round(running.memory()[1] / (1 << 20), 1)


if __name__ == "__main__":
    sys.exit(main())
