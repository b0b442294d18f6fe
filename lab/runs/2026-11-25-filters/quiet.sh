#!/bin/sh
# QPS among rows that match, on a quiet machine: ours at 10 and 20 % of memory, faiss and LanceDB.
#
#     sh lab/runs/2026-11-25-filters/quiet.sh DATA OUT PYTHON
#
# DATA holds text-wordnet-80k.base.fbin and text-wordnet.query.fbin; PYTHON has numpy, faiss-cpu and
# lancedb. Needs target/release/pageway. About half an hour of one core.
set -eu
data=$1 out=$2 python=$3
here=$(dirname "$0")
base=$data/text-wordnet-80k.base.fbin queries=$data/text-wordnet.query.fbin
mkdir -p "$out"
for memory in 10 20; do
  for batch in 1 100; do
    target/release/pageway lab filter --base "$base" --queries "$queries" --metric cosine \
      --memory $memory% --preset pageway --preset diskann --batch $batch --rounds 3 \
      --out "$out/own-$memory-$batch" >"$out/own-$memory-$batch.txt"
  done
done
for library in faiss lancedb; do
  efforts=20,50,100,200,400,800
  "$python" crates/lab/comparators/filter.py $library --cells "$out/own-10-1" --data "$base" \
    --queries "$queries" --metric cosine --efforts $efforts --rounds 3 --most 50 \
    --directory "$out/$library" >"$out/$library.jsonl"
done
"$python" "$here/table.py" "$out"
