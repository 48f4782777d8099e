#!/usr/bin/env bash
# Builds the native ledger with a sanitizer and runs its tests and a stress of threads, forks and restarts under it:
#   scripts/sanitize.sh [address] [undefined] [thread] [valgrind]        (all four if none is named)
# Needs gcc with its sanitizer libraries; valgrind for the last. Works on a copy: this checkout's build stays.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${PYTHON:-python}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r harness scenarios tests setup.py pyproject.toml README.md "$scratch"
suppressions=$PWD/tests/sanitizers
cd "$scratch"
export PYTHONPATH=$scratch${PYTHONPATH:+:$PYTHONPATH} OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

build() {
    rm -f harness/ledger/_native*.so harness/retainers/_heapwalk*.so
    HARNESS_SANITIZE=$1 HARNESS_STRICT_C=1 "$python" setup.py -q build_ext --inplace --force
    ls harness/ledger/_native*.so harness/retainers/_heapwalk*.so
}

library() { gcc -print-file-name="lib$1.so"; }

run() { # preloaded library, then environment settings
    local preload=$1
    shift
    # libstdc++ beside it: the sanitizer takes over its throw, and Python alone does not load it
    env LD_PRELOAD="$preload $(library stdc++)" "$@" "$python" -m tests.sanitizers.stress
}

address() {
    build address
    # Leaks are not looked for: Python and torch keep what they have until the end.
    run "$(library asan)" ASAN_OPTIONS=detect_leaks=0:halt_on_error=1:exitcode=66
}

undefined() {
    build undefined
    run "$(library ubsan)" UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
}

thread() {
    build thread
    # No forks: the sanitizer's own allocator may be locked in the child, which then waits for ever.
    run "$(library tsan)" STRESS_FORKS=0 \
        TSAN_OPTIONS="suppressions=$suppressions/tsan.supp:die_after_fork=0:halt_on_error=1:exitcode=66:report_bugs=1"
}

under_valgrind() {
    build ""
    # Python, torch and the loader have reports of their own: one with a function of ours in its stack is ours.
    PYTHONMALLOC=malloc STRESS=1 STRESS_FORKS=0 valgrind -q --log-file="$scratch/valgrind.log" \
        "$python" -m tests.sanitizers.stress
    if grep -A20 -E '^==[0-9]+== +(at|by) .*\((hooks|table|sites|scopes|frames|names|threads|events|interpose|module)\.c:' \
        "$scratch/valgrind.log"; then
        return 66
    fi
}

for kind in "${@:-address undefined thread valgrind}"; do
    for one in $kind; do
        printf '== %s\n' "$one"
        if [ "$one" = valgrind ]; then under_valgrind; else "$one"; fi
    done
done
echo "clean"
