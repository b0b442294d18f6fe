#!/bin/sh
# Inserts alone, and searches beside them, on a machine that does nothing else: lines of JSON in OUT.
#
#     sh lab/runs/2026-11-28-quiet/quiet.sh DATA WORK UPDATES OUT
#
# DATA holds the sets unpacked; UPDATES is `examples/updates` of crates/engine, a release build.
set -eu
data=$1 work=$2 updates=$3 out=$4
text="$data/text-wordnet-80k.base.fbin cosine $data/text-wordnet.query.fbin"
sift="$data/photo-sift-1m.base.u8bin l2 $data/photo-sift.query.u8bin"
mkdir -p "$work" "$out"
"$updates" delete $sift "$work/sift" first=800000 rows=0 >/dev/null
"$updates" delete $text "$work/40000" first=40000 rows=0 >/dev/null
"$updates" delete $text "$work/64000" first=64000 rows=0 >/dev/null
copy() {
  rm -rf "$work/copy"
  cp -r "$work/$1" "$work/copy"
  sync
}
for turn in 1 2; do
  copy sift
  "$updates" beside $sift "$work/copy" first=800000 rows=200000 rate=1000 seconds=20
  copy 64000
  "$updates" beside $text "$work/copy" first=64000 rows=40000 rate=500 seconds=20
done >"$out/beside.jsonl"
{
  copy sift
  "$updates" insert $sift "$work/copy" first=800000 rows=200000
  for turn in 1 2; do
    copy 40000
    "$updates" insert $text "$work/copy" first=40000 rows=40000
  done
} >"$out/insert.jsonl"
