#!/bin/sh
# Four workloads by four policies: LAB is `pageway-lab`, DATA holds the sets unpacked.
#
#     sh lab/runs/2026-11-28-policies/policies.sh LAB DATA OUT
set -eu
lab=$1 data=$2 out=$3
run() {
  name=$1 mix=$2 reads=$3 operations=$4
  "$lab" updates --base "$data/photo-sift-1m.base.u8bin" --rows 60000 \
    --queries "$data/photo-sift.query.u8bin" --most-queries 1000 --metric l2 --memory 640000 \
    --first 20000 --operations "$operations" --every "$operations" --callers 16 --list-size 30 \
    --no-merge --mix "$mix" --reads "$reads" --design diskann+update=segments \
    --design diskann+update=rewrite --design diskann+update=patch \
    --design diskann+update=overwrite+repair=local --out "$out/$name"
}
run write 1:1 .1 36000
run balanced 1:1 1 24000
run delete 1:3 1 20000
run read 1:1 10 4000
