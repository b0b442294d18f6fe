#!/bin/sh
# Searches beside inserts before and after rows of deltas were compared in blocks, two turns; rows
# put in, after: lines of JSON in OUT.
#
#     sh lab/runs/2026-11-27-growth/scan.sh DATA WORK BEFORE AFTER OUT
#
# WORK holds the indexes that growth.sh makes.
set -eu
data=$1 work=$2 before=$3 after=$4 out=$5
text="$data/text-wordnet-80k.base.fbin cosine $data/text-wordnet.query.fbin"
sift="$data/photo-sift-1m.base.u8bin l2 $data/photo-sift.query.u8bin"
mkdir -p "$out"
run() {
  way=$1 name=$2 scenario=$3
  shift 3
  rm -rf "$work/copy"
  cp -r "$work/$name" "$work/copy"
  sync
  case $way in before) binary=$before ;; *) binary=$after ;; esac
  "$binary" "$scenario" "$@" 2>/dev/null | sed "s/^{/{\"way\":\"$way\",\"set\":\"$name\",/"
}
{
  for turn in 1 2; do
    for way in before after; do
      run $way sift beside $sift "$work/copy" first=800000 rows=200000 rate=1000 seconds=15
      run $way share beside $text "$work/copy" first=64000 rows=40000 rate=500 seconds=15
    done
  done
  run after sift insert $sift "$work/copy" first=800000 rows=200000
  run after share insert $text "$work/copy" first=64000 rows=40000
} >"$out/scan.jsonl"
