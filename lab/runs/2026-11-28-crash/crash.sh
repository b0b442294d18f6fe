# A life of each policy for each seed, one after the other: crash.sh PROGRAM OUT SEED...
# PROGRAM is the test program of suites/tests/crash_update, as `cargo test --no-run` names it.
program=$1 out=$2
shift 2
policies="freshdiskann odinann dgai"
for update in patch overwrite; do
    for delta in scan linked; do
        for repair in sweep local replace; do
            policies="$policies $update-$delta-$repair"
        done
    done
done
policies="$policies pageway"
for seed in "$@"; do
    for policy in $policies; do
        PAGEWAY_SUITE=long PAGEWAY_CRASH_IMAGES=1 PAGEWAY_CRASH_SEED=$seed PAGEWAY_CRASH_POLICY=$policy \
            "$program" every_policy --nocapture --test-threads 1 2>&1 |
            grep -E 'violations|panicked|seed|FAILED' | sed "s/^.*crash_update, /seed $seed: /" >> "$out"
    done
done
