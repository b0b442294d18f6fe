#!/bin/sh
# What an update and a search take by design and policy; a line of JSON for each.
#
#     sh lab/runs/2026-11-26-joined/policies.sh DATA WORK UPDATES > policies.jsonl
#
# UPDATES is `examples/updates` of crates/engine. 64,000 rows of photo-sift-1m, 20 % of memory, 32,000
# changes, a flush after each 4,000.
set -eu
data=$1 work=$2 updates=$3
sift="$data/photo-sift-1m.base.u8bin l2 $data/photo-sift.query.u8bin"
mkdir -p "$work"
for preset in pageway diskann freshdiskann odinann ipdiskann dgai; do
  rm -rf "$work/built"
  "$updates" delete $sift "$work/built" first=64000 rows=0 preset=$preset >/dev/null
  for deletes in 1 5 9; do
    rm -rf "$work/copy"
    cp -r "$work/built" "$work/copy"
    sync
    "$updates" mixed $sift "$work/copy" first=64000 rows=32000 flush=4000 every=32000 \
      inserts=$((10 - deletes)) deletes=$deletes preset=$preset queries=2000
  done
done
