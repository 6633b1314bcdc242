#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs a command that starts a device host, with a --timeout, and stops the host while it is at work, as one that
# stands still. A slow machine is given more time.
#
#   freeze.sh <command> <argument>...

for seconds in 2 10 40; do
    "$@" --timeout "$seconds" 2>freeze.err &
    run=$!
    sleep $((seconds / 2)) # one host may have come and gone by then, which told what there is
    read -r host _ 2>/dev/null <"/proc/$run/task/$run/children"
    kill -STOP "$host" 2>/dev/null # it may be over
    wait $run
    code=$?
    grep -q 'did not answer' freeze.err && break
done
sed "s/in $seconds s/in T s/" freeze.err >&2
exit "$code"
