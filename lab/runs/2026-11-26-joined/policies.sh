#!/bin/sh
# What an update and a search take by design and policy; a line of JSON for each.
#
#     sh lab/runs/2026-11-26-joined/policies.sh DATA WORK UPDATES > policies.jsonl
#
# UPDATES is `examples/updates` of crates/engine. 64,000 rows of photo-sift-1m, 40 % of memory, 8,000
# changes, a flush after each 2,000.
set -eu
data=$1 work=$2 updates=$3
sift="$data/photo-sift-1m.base.u8bin l2 $data/photo-sift.query.u8bin"
mkdir -p "$work"
for preset in pageway freshdiskann odinann ipdiskann; do
  rm -rf "$work/built"
  "$updates" delete $sift "$work/built" first=64000 memory=40% rows=0 preset=$preset >/dev/null
  for deletes in 1 9; do
    rm -rf "$work/copy"
    cp -r "$work/built" "$work/copy"
    sync
    "$updates" mixed $sift "$work/copy" first=64000 memory=40% rows=8000 flush=2000 every=8000 \
      inserts=$((10 - deletes)) deletes=$deletes preset=$preset queries=2000
  done
done
