#!/bin/sh
# Rows that are put into text-wordnet, before and after merges joined graphs, and recall over
# generations; a line of JSON for each.
#
#     sh lab/runs/2026-11-26-joined/insert.sh DATA WORK BEFORE AFTER > insert.jsonl
#
# DATA holds the sets unpacked; BEFORE and AFTER are `examples/updates` of crates/engine.
set -eu
data=$1 work=$2 before=$3 after=$4
text="$data/text-wordnet-80k.base.fbin cosine $data/text-wordnet.query.fbin"
mkdir -p "$work"
for first in 40000 64000; do
  if [ ! -e "$work/$first/MANIFEST" ]; then
    "$after" delete $text "$work/$first" first=$first rows=0 >/dev/null
  fi
done
run() {
  way=$1 binary=$2 from=$3 scenario=$4
  shift 4
  rm -rf "$work/copy"
  cp -r "$work/$from" "$work/copy"
  sync
  "$binary" "$scenario" $text "$work/copy" first="$from" "$@" | sed "s/^{/{\"way\":\"$way\",/"
}
for turn in 1 2; do
  for way in before after; do
    eval binary=\$$way
    run $way "$binary" 40000 insert rows=40000
    run $way "$binary" 64000 insert rows=40000
  done
done
