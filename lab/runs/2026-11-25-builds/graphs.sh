#!/bin/sh
# PiPNN and Vamana at equal list sizes: graphs.sh BIN DATA WORK [ROUNDS] > graphs.jsonl
# Alternating, so that what else the machine does falls on both.
set -e
bin=$1 data=$2 work=$3
mkdir -p "$work"
if [ ! -e "$work/sift200k.gt.ibin" ]; then
    "$bin/pageway" slice "$data/photo-sift-1m.base.u8bin" "$work/sift200k.u8bin" --rows 0..200000
    "$bin/pageway" slice "$data/photo-sift.query.u8bin" "$work/q1k.u8bin" --rows 0..1000
    "$bin/pageway" ground-truth --data "$work/sift200k.u8bin" --queries "$work/q1k.u8bin" \
        --metric l2 -k 10 --out "$work/sift200k.gt.ibin"
fi >&2
one() { # name base queries truth memory graph
    out=$work/$1-$6
    nice -n 10 "$bin/pageway" build --data "$2" --out "$out" --metric l2 --memory "$5" \
        --graph "$6" --json > "$out.build.json"
    for list in 20 40 80 160; do
        "$bin/pageway" search --index "$out" --queries "$3" --truth "$4" -k 10 --list-size $list \
            --threads 1 --json > "$out.$list.json"
    done
    python3 - "$1" "$6" "$5" "$out" <<'PY'
import json, sys
name, graph, memory, out = sys.argv[1:]
build = json.load(open(out + ".build.json"))
record = {"set": name, "graph": graph, "memory": memory}
for key in ("cpu_seconds", "peak_memory_bytes", "index_bytes", "raw_bytes", "mean_degree", "seconds"):
    record[key] = build[key]
record["searches"] = []
for size in (20, 40, 80, 160):
    found = json.load(open(f"{out}.{size}.json"))
    record["searches"].append([size, found["recall"], found])
print(json.dumps(record), flush=True)
PY
    rm -r "$out"
}
for round in $(seq ${4:-1}); do
    for graph in vamana pipnn; do
        one text "$data/text-wordnet-80k.base.fbin" "$data/text-wordnet.query.fbin" \
            "$data/text-wordnet-80k.gt.ibin" 20% $graph
        one gist "$data/photo-gist-24k.base.fbin" "$data/photo-gist.query.fbin" \
            "$data/photo-gist-24k.gt.ibin" 20% $graph
        one sift200k "$work/sift200k.u8bin" "$work/q1k.u8bin" \
            "$work/sift200k.gt.ibin" 10% $graph
    done
done
