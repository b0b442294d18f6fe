#!/usr/bin/env bash
# The figures of the foundation: build, memory contract, partitioned build, search against diskannpy.
# Usage: run.sh DATA_DIR WORK_DIR PAGEWAY_BINARY [PYTHON_WITH_DISKANNPY]; writes JSON lines to the current folder.
set -euo pipefail
data=$1 work=$2 pageway=$3 python=${4:-}
base=$data/photo-sift-1m.base.u8bin
ask=(--queries "$data/photo-sift.query.u8bin" --truth "$data/photo-sift-1m.gt.ibin" -k 10)
mkdir -p "$work"

build() { # name, options
    local name=$1; shift
    rm -rf "$work/$name"
    "$pageway" build --data "$base" --out "$work/$name" --metric l2 --degree 48 --build-list 100 --threads 2 --json "$@" |
        sed "s/^/{\"run\":\"build $name\",\"result\":/; s/\$/}/" >>builds.jsonl
}
search() { # index, options
    local name=$1; shift
    "$pageway" search --index "$work/$name" "${ask[@]}" --json "$@" |
        sed "s/^/{\"run\":\"search $name\",\"result\":/; s/\$/}/" >>searches.jsonl
}

build one-shot --code-bytes 32 --memory 36MB
build sharded --code-bytes 32 --memory 36MB --build-memory 150MB
for share in 5 10 20 30; do
    build "memory-$share" --memory "$share%"
    search "memory-$share" --recall 0.95 --memory "$share%"
done
for list in 20 30 31 50 80; do
    search one-shot --list-size "$list" --memory 34MB
    search sharded --list-size "$list" --memory 34MB
done
for repeat in 1 2 3; do
    search one-shot --list-size 31 --interleave 16 --memory 36MB
    search one-shot --list-size 31 --interleave 1 --memory 34MB
    [ -z "$python" ] || "$python" "$(dirname "$0")/diskannpy_search.py" "$data" "$work/diskann" 31 >>diskannpy.txt
done
