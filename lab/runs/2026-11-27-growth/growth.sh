#!/bin/sh
# Searches of an index that grows, in a share of its rows and in bytes, before and after what
# outgrew its memory was merged: lines of JSON in OUT.
#
#     sh lab/runs/2026-11-27-growth/growth.sh DATA WORK BEFORE AFTER OUT
#
# DATA holds the sets unpacked; BEFORE and AFTER are `examples/updates` of crates/engine.
set -eu
data=$1 work=$2 before=$3 after=$4 out=$5
text="$data/text-wordnet-80k.base.fbin cosine $data/text-wordnet.query.fbin"
sift="$data/photo-sift-1m.base.u8bin l2 $data/photo-sift.query.u8bin"
mkdir -p "$work" "$out"
build() {
  name=$1
  shift
  if [ ! -e "$work/$name/MANIFEST" ]; then
    "$after" delete "$@" rows=0 >/dev/null
  fi
}
build share $text "$work/share" first=64000
build bytes $text "$work/bytes" first=64000 memory=19.66MB
build sift $sift "$work/sift" first=800000
run() {
  way=$1 name=$2
  shift 2
  rm -rf "$work/copy"
  cp -r "$work/$name" "$work/copy"
  sync
  case $way in before) binary=$before ;; *) binary=$after ;; esac
  "$binary" beside "$@" 2>/dev/null | sed "s/^{/{\"way\":\"$way\",\"memory_is\":\"$name\",/"
}
{
  for way in before after; do
    run $way share $text "$work/copy" first=64000 rows=40000 rate=500 seconds=40
    run $way bytes $text "$work/copy" first=64000 rows=40000 rate=500 seconds=60
  done
  run after sift $sift "$work/copy" first=800000 rows=200000 rate=1000 seconds=20
} >"$out/growth.jsonl"
# The same where rows are replaced: a fresh build beside.
for way in before after; do
  case $way in before) binary=$before ;; *) binary=$after ;; esac
  rm -rf "$work/copy"
  "$binary" churn $text "$work/copy" first=40000 share=6 generations=3 every=3 queries=1000 2>/dev/null |
    sed "s/^{/{\"way\":\"$way\",/"
done >"$out/churn.jsonl"
