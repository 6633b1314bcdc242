#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What check.sh and mutants.sh share: one exhaustive search of one configuration. Sourced, not run.
# Takes spin and the compiler from PATH, and works in a temporary directory that goes when the
# shell ends.

model_dir=$(cd "$(dirname "$0")" && pwd) || exit 3
for tool in spin "${CC:-cc}"; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "$0: $tool is not installed (on Debian: apt-get install spin gcc)" >&2
        exit 3
    fi
done
work_dir=$(mktemp -d) || exit 3
trap 'rm -rf "$work_dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
report=$work_dir/report
wanted=" $* "
searched=0
failed=0

# wants NAME: whether the command line names it, or nothing.
wants() {
    case $wanted in
    "  " | *" $1 "*) searched=$((searched + 1)) ;;
    *) return 1 ;;
    esac
}

# search MODEL SWITCHES...: leaves pan's report in $report, and its figures in $states, $megabytes,
# $seconds and $errors. Not 0: there was no search at all, and $report says why.
search() {
    rm -rf "$work_dir/run"
    mkdir "$work_dir/run" || return 1
    model=$1
    shift
    states=- megabytes=- seconds=- errors=
    (
        cd "$work_dir/run" || exit 1
        cp "$model_dir/$model" . &&
            spin "$@" -a "$model" &&
            "${CC:-cc}" -w "${optimise:--O2}" -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c &&
            ./pan -w23 -m20000
    ) >"$report" 2>&1 || return 1
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$report")
    megabytes=$(sed -n 's/^ *\([0-9]*\)[.0-9]*.total actual memory usage.*/\1/p' "$report")
    seconds=$(sed -n 's/^pan: elapsed time \([0-9.e+-]*\) seconds.*/\1/p' "$report")
    errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' "$report")
    [ -n "$states" ] && [ -n "$errors" ]
}

# Whether the search was cut short by depth or memory.
cut_short() {
    grep -q -e 'Search not completed' -e 'max search depth too small' -e 'out of memory' \
        -e 'reached -DMEMLIM bound' -e 'hash table full' "$report"
}

# The first error of the report, in pan's words.
first_error() {
    sed -n 's/^pan:[0-9]*: \(.*\) (at depth [0-9]*)$/\1/p' "$report" | head -n 1
}

# say NAME VERDICT: one line of the table.
say() {
    printf '%-24s %12s %6s %8s  %s\n' "$1" "$states" "$megabytes" "$seconds" "$2"
}

# Ends the script: 0 if something was searched and nothing failed.
finish() {
    if [ "$searched" = 0 ]; then
        echo "$0: none of these is known:$wanted" >&2
        exit 2
    fi
    exit "$failed"
}
