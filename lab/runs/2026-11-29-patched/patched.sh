#!/bin/sh
# Rows put into one segment page by page, one core: patched.sh DATA WORK BEFORE AFTER OUT. BEFORE and AFTER are builds of
# the example `updates` of the engine. Each line is of a fresh copy of one index, before and after one after the other.
set -e
data=$1; work=$2; out=$5
base=$data/photo-sift-1m.base.u8bin; queries=$data/photo-sift.query.u8bin
run() { # PRESET FIRST OPEN ROWS
    keys="first=$2 preset=$1 update=24000000"
    index=$work/$1-$2
    test -e "$index/MANIFEST" || "$3" insert "$base" l2 "$queries" "$index" $keys open=$4 rows=100 callers=1 > /dev/null
}
turn() { # NAME PROGRAM PRESET FIRST OPEN ROWS CALLERS
    rm -rf "$work/copy"; cp -r "$work/$3-$4" "$work/copy"; sync
    taskset -c 0 "$2" insert "$base" l2 "$queries" "$work/copy" first=$4 preset=$3 open=$5 rows=$6 callers=$7 ids=2000000000000 |
        sed "s/^{/{\"build\":\"$1\",\"preset\":\"$3\",/" >> "$out"
}
run odinann 800000 "$3" 22000000
run ipdiskann 200000 "$3" 6000000
run dgai 200000 "$3" 6000000
for turn in 1 2; do
    for build in before after; do
        if test $build = before; then program=$3; else program=$4; fi
        turn $build "$program" odinann 800000 22000000 10000 16
        turn $build "$program" odinann 800000 22000000 2000 1
        turn $build "$program" ipdiskann 200000 6000000 8000 16
        turn $build "$program" dgai 200000 6000000 8000 16
    done
done
