#!/usr/bin/env bash
# Builds of photo-sift-1m at R 48 by pageway and by diskannpy: r48.sh DATA WORK BIN PYTHON_WITH_DISKANNPY
set -euo pipefail
data=$1 work=$2 bin=$3 python=$4
mkdir -p "$work"

ours() { # name, options
    local name=$1 size
    shift
    rm -rf "$work/ours"
    "$bin/pageway" build --data "$data/photo-sift-1m.base.u8bin" --out "$work/ours" --metric l2 --degree 48 \
        --build-list 100 --calibration-queries 100 --threads 2 --memory 36MB --preset diskann --json "$@" |
        sed "s/^/{\"run\":\"$name\",\"result\":/; s/\$/}/"
    for size in 20 30 50 80; do
        "$bin/pageway" search --index "$work/ours" --queries "$data/photo-sift.query.u8bin" -k 10 \
            --truth "$data/photo-sift-1m.gt.ibin" --list-size "$size" --threads 2 --json |
            sed "s/^/{\"run\":\"$name\",\"result\":/; s/\$/}/"
    done
}

theirs="$(dirname "$0")/r48_diskannpy.py"
ours "pipnn, free" --graph pipnn
"$python" "$theirs" "$data" "$work/theirs" 8 | grep '^{'
ours "pipnn, 150 MB" --graph pipnn --build-memory 150MB
"$python" "$theirs" "$data" "$work/theirs" 0.14 | grep '^{'
