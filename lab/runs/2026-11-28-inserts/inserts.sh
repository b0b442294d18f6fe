#!/bin/sh
# Inserts, a full merge and searches before and after, in turns: lines of JSON in OUT.
#
#     sh lab/runs/2026-11-28-inserts/inserts.sh DATA WORK BEFORE AFTER OUT [TURNS]
#
# BEFORE and AFTER are `pageway` commands. WORK is made, and keeps the indexes that both grow from,
# built by BEFORE. Quality is asked in the last turn: it is the same in all.
set -eu
data=$1 work=$2 before=$3 after=$4 out=$5 turns=${6:-3}
mkdir -p "$work" "$out"
cd "$work"

# prepare SET FIRST ALL METRIC MEMORY BASE QUERIES
prepare() {
  set=$1 first=$2 all=$3 metric=$4 memory=$5 base=$6 queries=$7 end=${6##*.}
  [ -d "$set.index" ] && return
  "$after" slice --rows "0..$first" "$base" "$set.first.$end" -q
  "$after" slice --rows "$first..$all" "$base" "$set.rest.$end" -q
  "$after" slice --rows "0..$all" "$base" "$set.all.$end" -q
  "$after" slice --rows 0..2000 "$queries" "$set.queries.$end" -q
  seq "$first" $((all - 1)) >"$set.ids.txt"
  "$after" ground-truth --data "$set.all.$end" --queries "$set.queries.$end" --metric "$metric" \
    -k 10 --out "$set.truth.ibin" -q
  "$before" build --data "$set.first.$end" --out "$set.index" --metric "$metric" \
    --memory "$memory" -q >&2
}

# timed WAY SET STEP COMMAND...: its processor seconds, by the shell's own clock.
timed() {
  way=$1 set=$2 step=$3
  shift 3
  times >times
  json=$("$@" 2>/dev/null)
  times >>times
  sed -n '2p;4p' times | tr '\n' ' ' | sed 's/[ms]/ /g' | awk -v way="$way" -v set="$set" -v step="$step" \
    -v json="$json" '{
      printf "{\"way\":\"%s\",\"set\":\"%s\",\"step\":\"%s\",", way, set, step
      printf "\"user_seconds\":%.2f,\"system_seconds\":%.2f,", \
        60 * ($5 - $1) + $6 - $2, 60 * ($7 - $3) + $8 - $4
      print substr(json, 2) }'
}

# searched WAY SET STEP BINARY INDEX: recall and costs by list size.
searched() {
  for list in 20 40 80 160; do
    "$4" search --index "$5" --queries "$2.queries.$end" --truth "$2.truth.ibin" -k 10 \
      --list-size $list --json 2>/dev/null | sed "s/^{/{\"way\":\"$1\",\"set\":\"$2\",\"step\":\"$3\",/"
  done
}

grow() {
  set=$1 end=$2
  for turn in $(seq "$turns"); do
    for way in before after; do
      case $way in before) binary=$before ;; *) binary=$after ;; esac
      rm -rf copy
      cp -r "$set.index" copy
      timed $way "$set" insert "$binary" insert copy --data "$set.rest.$end" --ids "$set.ids.txt" --json
      [ "$turn" = "$turns" ] && searched $way "$set" inserted "$binary" copy
      timed $way "$set" merge "$binary" merge copy --full --json
      [ "$turn" = "$turns" ] && searched $way "$set" merged "$binary" copy
    done
  done
}

prepare text 64000 80000 cosine 20% "$data/text-wordnet-80k.base.fbin" \
  "$data/text-wordnet.query.fbin"
prepare sift 200000 250000 l2 10% "$data/photo-sift-1m.base.u8bin" \
  "$data/photo-sift.query.u8bin"
{
  grow text fbin
  grow sift u8bin
} >"$out/inserts.jsonl"

# Whole builds of all rows, for what they take and find.
{
  for way in before after; do
    case $way in before) binary=$before ;; *) binary=$after ;; esac
    for set in text sift; do
      case $set in
        text) end=fbin metric=cosine memory=20% ;;
        *) end=u8bin metric=l2 memory=10% ;;
      esac
      rm -rf copy
      timed $way $set build "$binary" build --data "$set.all.$end" --out copy --metric $metric \
        --memory $memory --json
      searched $way $set built "$binary" copy
    done
  done
} >"$out/builds.jsonl"
