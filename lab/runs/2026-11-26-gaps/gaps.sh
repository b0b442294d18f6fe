#!/bin/sh
# Searches beside inserts on one core, before and after, with and without a target; JSON lines.
#
#     sh lab/runs/2026-11-26-gaps/gaps.sh DATA WORK BEFORE AFTER > gaps.jsonl
#
# DATA holds the sets unpacked; BEFORE and AFTER are builds of the example `updates`.
set -eu
data=$1 work=$2 before=$3 after=$4
text="$data/text-wordnet-80k.base.fbin cosine $data/text-wordnet.query.fbin"
mkdir -p "$work"
if [ ! -e "$work/text/MANIFEST" ]; then
  "$before" delete $text "$work/text" first=64000 rows=0 >/dev/null
fi
run() {
  case " ${WAYS:-before after target loose} " in *" $1 "*) ;; *) return ;; esac
  rm -rf "$work/copy"
  cp -r "$work/text" "$work/copy"
  sync
  echo "{\"turn\": $turn, \"way\": \"$1\", \"rate\": $rate}"
  taskset -c "${CORES:-1}" "$2" beside $text "$work/copy" first=64000 rows=40000 \
    seconds="${SECONDS_EACH:-15}" rate="$rate" $3
}
for turn in ${TURNS:-1 2 3}; do
  for rate in ${RATES:-1000 1500}; do
    run before "$before" ""
    run after "$after" ""
    run target "$after" target_us=6000
    run loose "$after" target_us=20000
  done
done
