#!/bin/sh
# Rates, latencies and bytes of an index that changes, on a quiet machine; a line of JSON for each.
#
#     sh lab/runs/2026-11-25-changes/quiet.sh DATA WORK > quiet.jsonl
#
# DATA holds the sets unpacked. Needs target/release/examples/updates and target/release/pageway.
set -eu
data=$1 work=$2
sift="$data/photo-sift-1m.base.u8bin l2 $data/photo-sift.query.u8bin"
text="$data/text-wordnet-80k.base.fbin cosine $data/text-wordnet.query.fbin"
mkdir -p "$work"
run() {
  scenario=$1 name=$2 files=$3
  shift 3
  rm -rf "$work/copy"
  if [ ! -e "$work/$name/MANIFEST" ]; then
    # Nothing but the build: no row is put in.
    target/release/examples/updates delete $files "$work/$name" "$@" rows=0 >/dev/null
  fi
  cp -r "$work/$name" "$work/copy"
  sync
  target/release/examples/updates "$scenario" $files "$work/copy" "$@"
}
target/release/pageway doctor --json "$work" 2>/dev/null || true
for turn in 1 2; do
  run insert sift "$sift" first=800000 rows=6000
  run insert sift "$sift" first=800000 rows=200000
  run insert sift "$sift" first=800000 rows=3000 callers=1
  run delete sift "$sift" first=800000 rows=100000 batch=1000 callers=1
  run beside sift "$sift" first=800000 rows=200000 rate=1000 seconds=40
  run insert text "$text" first=64000 rows=40000
  run beside text "$text" first=64000 rows=40000 rate=500 seconds=40
done
run recover sift "$sift" first=800000 rows=4000
