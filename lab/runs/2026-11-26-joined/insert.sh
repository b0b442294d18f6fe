#!/bin/sh
# Rows that are put into text-wordnet before and after merges joined graphs, searches beside them,
# and `odinann` over photo-sift: lines of JSON in OUT.
#
#     sh lab/runs/2026-11-26-joined/insert.sh DATA WORK BEFORE AFTER OUT
#
# DATA holds the sets unpacked; BEFORE and AFTER are `examples/updates` of crates/engine.
set -eu
data=$1 work=$2 before=$3 after=$4 out=$5
text="$data/text-wordnet-80k.base.fbin cosine $data/text-wordnet.query.fbin"
sift="$data/photo-sift-1m.base.u8bin l2 $data/photo-sift.query.u8bin"
mkdir -p "$work" "$out"
for first in 40000 64000; do
  if [ ! -e "$work/$first/MANIFEST" ]; then
    "$after" delete $text "$work/$first" first=$first rows=0 >/dev/null
  fi
done
if [ ! -e "$work/odinann/MANIFEST" ]; then
  "$after" delete $sift "$work/odinann" first=200000 rows=0 preset=odinann >/dev/null
fi
copy() {
  rm -rf "$work/copy"
  cp -r "$work/$1" "$work/copy"
  sync
}
run() {
  way=$1 from=$2 scenario=$3
  shift 3
  case $way in before) binary=$before ;; *) binary=$after ;; esac
  copy "$from"
  "$binary" "$scenario" $text "$work/copy" first="$from" rows=40000 "$@" | sed "s/^{/{\"way\":\"$way\",/"
}
for first in 40000 64000; do
  for way in before after; do
    run $way $first insert
  done
done >"$out/insert.jsonl"
{
  run before 64000 beside rate=500 seconds=40
  run after 64000 beside rate=500 seconds=40
  run target 64000 beside rate=500 seconds=40 target_us=1000
} >"$out/beside.jsonl"
{
  copy odinann
  "$after" insert $sift "$work/copy" first=200000 rows=5000 preset=odinann callers=1
  copy odinann
  "$after" beside $sift "$work/copy" first=200000 rows=20000 rate=500 seconds=15 preset=odinann
} >"$out/odinann.jsonl"
