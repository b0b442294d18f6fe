#!/bin/sh
# Searches of an index of several segments before and after queries were prepared once and small
# segments searched less: lines of JSON in OUT.
#
#     sh lab/runs/2026-11-27-segments/segments.sh DATA WORK BEFORE AFTER OUT
#
# DATA holds the sets unpacked; BEFORE and AFTER are `examples/updates` of crates/engine. Beside
# inserts, threads that search have core 1 and all others core 0. Indexes are built once.
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
build sift $sift "$work/sift" first=800000
on_two_cores() {
  taskset -c 0 "$@" 2>/dev/null &
  program=$!
  while kill -0 "$program" 2>/dev/null; do
    for thread in /proc/"$program"/task/*; do
      if [ "$(cat "$thread/comm" 2>/dev/null)" = searches ]; then
        taskset -cp 1 "${thread##*/}" >/dev/null 2>&1 || true
      fi
    done
    sleep .2
  done
  wait "$program"
}
beside() {
  way=$1 name=$2
  shift 2
  rm -rf "$work/copy"
  cp -r "$work/$name" "$work/copy"
  sync
  case $way in before) binary=$before ;; *) binary=$after ;; esac
  on_two_cores "$binary" beside "$@" | sed "s/^{/{\"way\":\"$way\",\"index\":\"$name\",/"
}
for turn in 1 2; do
  for way in before after; do
    beside $way sift $sift "$work/copy" first=800000 rows=200000 rate=1000 seconds=15
    beside $way share $text "$work/copy" first=64000 rows=40000 rate=500 seconds=25
  done
done >"$out/beside.jsonl"
for way in before after; do
  case $way in before) binary=$before ;; *) binary=$after ;; esac
  for set in text sift; do
    rm -rf "$work/copy"
    case $set in
      text) "$binary" churn $text "$work/copy" first=40000 share=6 generations=3 every=3 queries=1000 ;;
      sift) "$binary" churn $sift "$work/copy" first=200000 share=6 generations=3 every=3 queries=1000 ;;
    esac 2>/dev/null | sed "s/^{/{\"way\":\"$way\",\"set\":\"$set\",/"
  done
done >"$out/churn.jsonl"
